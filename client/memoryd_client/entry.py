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
    if sys.argv[1:] == ["serve"]:
        return serve()
    from memoryd_client.cli import main as cli  # noqa: PLC0415 - hooks must not load argparse

    return cli.main(sys.argv[1:])


def serve() -> int:
    """The daemon, as a service starts it: the other commands are loaded only to tell a failure."""
    from memoryd_client import serve as daemon  # noqa: PLC0415 - only this command needs it
    from memoryd_client.connection.failures import Failure  # noqa: PLC0415

    try:
        return daemon.run()
    except (Failure, KeyboardInterrupt, OSError) as error:
        from memoryd_client.cli import main as cli  # noqa: PLC0415 - see above

        return cli.ended_by(error)
