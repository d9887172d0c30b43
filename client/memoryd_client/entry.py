"""Where the `memoryd` command begins: a hook must not pay for the rest of it."""

import sys


def main() -> int:
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        from memoryd_client import hook  # noqa: PLC0415 - a hook loads nothing else

        hook.main()  # leaves the process
    if sys.argv[1:] == ["mcp"]:
        from memoryd_client.mcp import server  # noqa: PLC0415 - an agent waits for its first answer

        return server.main()
    from memoryd_client.cli import main as cli  # noqa: PLC0415 - argparse is not for hooks

    return cli.main(sys.argv[1:])
