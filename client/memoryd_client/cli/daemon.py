"""The commands about the daemon itself: serve, doctor, logs, on, off, stop."""

import contextlib
import sys
import time

from memoryd_client.cli import logs
from memoryd_client.cli.commands import JSON, PROJECT, Argument, Arguments, Command, project_of
from memoryd_client.cli.render import Colour, one_line, paint, print_json, wrapped
from memoryd_client.connection.answers import text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import DaemonError, LocalFailure
from memoryd_client.connection.locations import locations
from memoryd_client.doctor.hints import start_again
from memoryd_client.version import __version__

# A service that was stopped starts at the first call, on a busy machine slowly.
START_SECONDS = 15.0
VERDICT_COLOURS: dict[str, Colour] = {
    "ok": "green",
    "warn": "yellow",
    "fail": "red",
    "skipped": "dim",
}


def show_logs(arguments: Arguments) -> int:
    """Print the newest lines of the log, and go on with -f."""
    path = locations().log
    if not arguments.follow and not path.exists():
        raise LocalFailure(f"there is no log yet at {path}", "memoryd serve makes it")
    with logs.Follower(path) as follower:
        for line in logs.last_lines(follower, arguments.lines, arguments.level):
            print_line(line, arguments)
        if arguments.follow:
            for line in logs.follow(follower, lambda: time.sleep(logs.POLL_SECONDS)):
                if logs.is_at_least(line, arguments.level):
                    print_line(line, arguments)
    return 0


def print_line(line: logs.Line, arguments: Arguments) -> None:
    print(logs.as_json(line) if arguments.json else logs.rendered(line), flush=arguments.follow)


def examine(arguments: Arguments) -> int:
    """Print the doctor's findings; a failure among them makes the exit code 1."""
    from memoryd_client.doctor import checks  # noqa: PLC0415 - loads what no other command needs

    findings = checks.examine(project_of(arguments), try_provider=arguments.provider)
    if arguments.json:
        print_json([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            print_finding(*finding)
    return int(any(finding.verdict == "fail" for finding in findings))


def print_finding(check: str, verdict: str, reason: str, mend: str) -> None:
    painted = paint(verdict.ljust(8), VERDICT_COLOURS[verdict])
    print(f"{painted}{check.ljust(16)}{wrapped(one_line(reason), 24)}")
    if mend:  # in one line, however long: it is there to be copied
        print(f"{'':24}{paint('-> ' + one_line(mend), 'bold')}")


def switch_on(arguments: Arguments) -> int:
    return switch(arguments, enabled=True)


def switch_off(arguments: Arguments) -> int:
    return switch(arguments, enabled=False)


def switch(arguments: Arguments, *, enabled: bool) -> int:
    """Turn memory on or off, for one project or for all."""
    project = project_of(arguments)
    answer = call("switch", {"enabled": enabled} | ({} if arguments.all else {"cwd": project}))
    if arguments.json:
        print_json(answer)
        return 0
    where = "everywhere" if arguments.all else f"for {one_line(project)}"
    print(wrapped(f"memory is {'on' if enabled else 'off'} {where}"))
    return 0


def stop(arguments: Arguments) -> int:
    """Ask the daemon to finish what it does and to end."""
    answer = call("shutdown")
    if arguments.json:
        print_json(answer)
        return 0
    print("memoryd stops")
    if locations().service.exists() and sys.platform != "darwin":
        keep = "systemctl --user stop memoryd.socket memoryd.service"
        print(wrapped(f"As a service it starts again at the next call. To keep it down: {keep}"))
    return 0


def serve(_arguments: Arguments) -> int:
    """Be the daemon, in the foreground."""
    from memoryd_client import serve as daemon  # noqa: PLC0415 - the one command that needs it

    return daemon.run()


def tell_version_difference() -> None:
    """One line on stderr when the daemon that runs is not of this client's version."""
    with contextlib.suppress(DaemonError):
        version = text_at(call("ping", timeout_seconds=START_SECONDS), "version")
        if version and version != __version__:
            again = start_again(locations())
            print(
                f"memoryd {version} is running, and this command is {__version__}; {again}",
                file=sys.stderr,
            )


ALL = Argument(("--all",), "for every project", is_switch=True)

COMMANDS = (
    Command("serve", "be the daemon, in this terminal", "memoryd serve", serve, asks_daemon=False),
    Command(
        "doctor",
        "look for what is wrong and say how to mend it",
        "memoryd doctor",
        examine,
        (
            PROJECT,
            Argument(("--provider",), "also ask the model for one token", is_switch=True),
            JSON,
        ),
        asks_daemon=False,
    ),
    Command(
        "logs",
        "show what the daemon wrote to its log",
        "memoryd logs -f --level warning",
        show_logs,
        (
            Argument(("-f", "--follow"), "go on as new lines come", is_switch=True),
            Argument(
                ("-n", "--lines"), "how many lines to begin with", "N", default=20, is_number=True
            ),
            Argument(
                ("--level",), "only what is this grave, or graver", None, logs.LEVELS, "debug"
            ),
            JSON,
        ),
        asks_daemon=False,
    ),
    Command(
        "on", "turn memory on for this project", "memoryd on --all", switch_on, (PROJECT, ALL, JSON)
    ),
    Command(
        "off",
        "turn memory off for this project",
        "memoryd off --project ~/src/secret",
        switch_off,
        (PROJECT, ALL, JSON),
    ),
    Command("stop", "ask the daemon to end", "memoryd stop", stop, (JSON,)),
)
