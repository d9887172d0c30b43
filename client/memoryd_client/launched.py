"""What the launcher runs for the MCP server and the status line: `python -I -S -E .../launched.py`.

Isolated like that, the interpreter sees neither site packages nor the folder of this file, so a
repository's variables cannot put a module in our way. The package's own folder comes last: what the
standard library has is never looked for there.
"""

import sys

WORDS = {"mcp", "statusline"}


def main() -> int:
    package = __file__.rpartition("/")[0]
    sys.path.append(package.rpartition("/")[0])
    from memoryd_client import entry  # noqa: PLC0415 - only importable from here on

    return entry.main() if sys.argv[1:2] and sys.argv[1] in WORDS else 2


if __name__ == "__main__":
    sys.exit(main())
