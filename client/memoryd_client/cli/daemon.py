"""The commands about the daemon itself: serve, doctor, logs, on, off, stop."""

import contextlib
import sys
import time

from memoryd_client.cli import logs
from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    add_json,
    add_project,
    length_of_time,
    project_of,
    whole_number,
)
from memoryd_client.cli.render import Colour, one_line, paint, print_json, wrapped
from memoryd_client.cli.times import parsed_time, short_time
from memoryd_client.connection.answers import items_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import DaemonError, LocalFailure
from memoryd_client.connection.locations import locations
from memoryd_client.doctor.fixes import restart
from memoryd_client.version import __version__

# A socket-activated service starts at the first call, slowly on a busy machine.
START_SECONDS = 15.0
VERDICT_COLOURS: dict[str, Colour] = {
    "ok": "green",
    "warn": "yellow",
    "fail": "red",
    "skipped": "dim",
}


def serve(arguments: Arguments) -> int:
    from memoryd_client import serve as daemon  # noqa: PLC0415 - only this command needs it

    return daemon.run(shows_log=arguments.log)


def run_doctor(arguments: Arguments) -> int:
    """Prints what the doctor found; the exit code is 1 if anything failed."""
    from memoryd_client.doctor import checks  # noqa: PLC0415 - only this command needs it

    findings = checks.examine(project_of(arguments), try_provider=arguments.provider)
    if arguments.json:
        print_json([finding.as_json() for finding in findings])
    else:
        for finding in findings:
            print_finding(*finding)
    return int(any(finding.verdict == "fail" for finding in findings))


def print_finding(check: str, verdict: str, reason: str, fix: str) -> None:
    painted = paint(verdict.ljust(8), VERDICT_COLOURS[verdict])
    print(f"{painted}{check.ljust(16)}{wrapped(one_line(reason), 24)}")
    if fix:  # never wrapped: it is there to be copied
        print(f"{'':24}{paint('-> ' + one_line(fix), 'bold')}")


def show_logs(arguments: Arguments) -> int:
    """Prints the newest lines of the log, and with -f the lines that follow."""
    path = locations().log
    if not arguments.follow and not path.exists():
        raise LocalFailure(f"there is no log yet at {path}", "memoryd serve creates it")
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


def switch_on(arguments: Arguments) -> int:
    return switch(arguments, enabled=True)


def switch_off(arguments: Arguments) -> int:
    return switch(arguments, enabled=False)


def switch(arguments: Arguments, *, enabled: bool) -> int:
    """Turns memory on or off, for one project or for all."""
    project, seconds = project_of(arguments), None if enabled else arguments.seconds
    params = {"enabled": enabled} | ({} if arguments.all else {"cwd": project})
    answer = call("switch", params | ({} if seconds is None else {"seconds": seconds}))
    if arguments.json:
        print_json(answer)
        return 0
    where = "for all projects" if arguments.all else f"for {one_line(project)}"
    until = parsed_time(answer.get("until"))
    when = f" until {short_time(until)}" if until else ""
    print(wrapped(f"memory is {'on' if enabled else 'off'} {where}{when}"))
    return 0


def stop(arguments: Arguments) -> int:
    answer = call("shutdown")
    if arguments.json:
        print_json(answer)
        return 0
    print("memoryd is stopping")
    if locations().service.exists() and sys.platform != "darwin":
        keep = "systemctl --user stop memoryd.socket memoryd.service"
        print(wrapped(f"As a service it starts again at the next call. To keep it stopped: {keep}"))
    return 0


def warn_of_trouble() -> None:
    """Tells people on stderr of a mistake in the settings, and of a daemon of another version."""
    with contextlib.suppress(DaemonError):
        answer = call("ping", timeout_seconds=START_SECONDS)
        for problem in items_at(answer, "problems"):
            print(f"memoryd: {one_line(str(problem))}", file=sys.stderr)
        version = text_at(answer, "version")
        if version and version != __version__:
            print(
                f"the daemon runs memoryd {version}, this command is {__version__};"
                f" {restart(locations())}",
                file=sys.stderr,
            )


def add_commands(commands: Commands) -> None:
    serving = commands.add(
        "serve",
        serve,
        "run the daemon in the foreground",
        example="memoryd serve --log",
        needs_daemon=False,
    )
    serving.add_argument(
        "--log", action="store_true", help="in a terminal, show the whole log, not only problems"
    )

    doctor = commands.add(
        "doctor",
        run_doctor,
        "check for problems and say how to fix them",
        example="memoryd doctor",
        needs_daemon=False,
    )
    add_project(doctor)
    doctor.add_argument(
        "--provider",
        action="store_true",
        help="also try the model with one small request; exit with 1 if it fails",
    )
    add_json(doctor)

    log = commands.add(
        "logs",
        show_logs,
        "show the daemon's log",
        example="memoryd logs -f --level warning",
        needs_daemon=False,
    )
    log.add_argument("-f", "--follow", action="store_true", help="keep printing new lines")
    log.add_argument(
        "-n",
        "--lines",
        metavar="N",
        type=whole_number,
        default=20,
        help="how many lines to start with (default: %(default)s)",
    )
    log.add_argument(
        "--level",
        metavar="LEVEL",
        choices=logs.LEVELS,
        default="debug",
        help="show messages of this level and above: %(choices)s (default: %(default)s)",
    )
    add_json(log)

    for name, run, example in (
        ("on", switch_on, "memoryd on --all"),
        ("off", switch_off, "memoryd off --project ~/src/secret"),
    ):
        switching = commands.add(name, run, f"turn memory {name} for this project", example=example)
        add_project(switching)
        switching.add_argument("--all", action="store_true", help="for all projects")
        if run is switch_off:
            switching.add_argument(
                "--for",
                dest="seconds",
                metavar="TIME",
                type=length_of_time,
                help="only for a time, such as 30m, 2h or 1d; then it is on again",
            )
        add_json(switching)

    stopping = commands.add("stop", stop, "stop the daemon", example="memoryd stop")
    add_json(stopping)
