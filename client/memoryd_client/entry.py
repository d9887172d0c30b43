"""The entry point of the `memoryd` command; what the agent runs skips the rest of it."""

import sys


def main() -> int:
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from memoryd_client import hook  # noqa: PLC0415 - a hook loads nothing else

        hook.main()  # exits the process
    if sys.argv[1:] == ["mcp"]:
        from memoryd_client.mcp import server  # noqa: PLC0415 - the agent waits for its first answer

        return server.main()
    if sys.argv[1:2] == ["statusline"] and not {"-h", "--help"} & set(sys.argv):
        from memoryd_client import statusline  # noqa: PLC0415 - the agent asks often

        return statusline.main(sys.argv[2:])
    from memoryd_client.cli import main as cli  # noqa: PLC0415 - hooks must not load argparse

    return cli.main(sys.argv[1:])
