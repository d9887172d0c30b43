"""What memoryd adds to a session of Claude Code: tokens of its text, and time at every prompt.

The first table is what the hooks print for one made-up project of 24 memories, two of the person's
own and an earlier session: at a session's start, and beside prompts that are about a memory or
about nothing. A token is four characters; the share is the part of the text that is the memories'
own. Before the text was shortened there were more words around each memory: to compare, run this
file, with --texts, in a checkout of that time.

The second is the time of the installed commands from start to exit, as the client runs them, with
the daemon running, frozen, stopped, and with the package removed. Each is beside the bare
interpreter at the same time; on a busy machine, look at the least and at the processor's time.
"""

import json
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.running import Daemon, make_home

RUNS = 30
CHARACTERS_PER_TOKEN = 4
BARE = "python -I -S -E -c pass"
SUBJECTS = (
    ("Invoices", "when invoices leave the house", "Invoices leave on Fridays, never before noon."),
    ("Staging", "where staging runs", "Staging runs on host zebra-7, behind the office gateway."),
    ("Releases", "how releases are tagged", "Tag a release only after the smoke tests are green."),
    ("Currency", "how amounts are stored", "Store amounts in cents; floats lost us a cent in May."),
    (
        "Reviews",
        "who reviews the parser",
        "Every change of the parser is reviewed by Ingrid first.",
    ),
    (
        "Backups",
        "how long backups stay",
        "Backups stay for 35 days because the auditors ask for it.",
    ),
    ("Colours", "which colours charts have", "Charts use the palette of the style guide, not red."),
    ("Fixtures", "where fixtures come from", "Fixtures are made by tools/seed.py, never by hand."),
)
OWN = {
    "Language": "Answer in English, also where the question is in German.",
    "Commits": "Commit messages are in the imperative, with a body for the why.",
}
NOTES = (
    "# Session Title\n\nThe importer of invoices\n\n"
    "# Current State\n\nThe parser reads all samples but two, with credit notes. Next: the sign.\n"
)
DETAILS = ("", " The reason is in the wiki.", " Ask before you change it.")
ABOUT = (
    "when do invoices leave the house?",
    "on which host does staging run?",
    "tag the release, please",
    "how are amounts of money stored here?",
    "who reviews a change of the parser?",
    "how long do backups stay?",
)
ABOUT_NOTHING = ("thanks, looks good", "rename the variable in this function", "and the next one?")


def tokens_in(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def printed(stdout: str) -> str:
    """What reaches the model of a hook's output."""
    return str(json.loads(stdout)["hookSpecificOutput"]["additionalContext"]) if stdout else ""


def fill(daemon: Daemon, cwd: str) -> list[str]:
    """The bodies of the memories that were saved."""
    bodies = []
    with daemon.peer() as peer:
        for number, detail in enumerate(DETAILS):
            for name, about, text in SUBJECTS:
                body = text if not number else f"{name}, part {number}:{detail} {text}"
                title = name if not number else f"{name} {number}"
                given = {"name": title, "description": about, "type": "project", "body": body}
                peer.call("memory/save", cwd=cwd, **given)
                bodies.append(body)
        for name, body in OWN.items():
            given = {"name": name, "description": body, "type": "user", "body": body}
            peer.call("memory/save", cwd=cwd, scope="user", **given)
        peer.call("recall", query="warm up", cwd=cwd)
    return bodies


def leave_a_session(home: Path, cwd: str) -> None:
    """An earlier session, which has ended, with its notes."""
    slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in cwd)
    folder = home / ".claude/projects" / slug
    (folder / "earlier/session-memory").mkdir(parents=True)
    line = {"type": "user", "cwd": cwd, "sessionId": "earlier", "entrypoint": "cli"}
    (folder / "earlier.jsonl").write_text(json.dumps(line) + "\n")
    (folder / "earlier/session-memory/summary.md").write_text(NOTES)


def texts(daemon: Daemon, cwd: str) -> Iterator[tuple[str, list[str]]]:
    """What the hooks print, by occasion."""
    with daemon.peer() as peer:

        def hook(name: str, session: str, **more: str) -> str:
            given = {"hook_event_name": name, "session_id": session, "cwd": cwd} | more
            return printed(peer.call("hook", **given)["stdout"])

        yield "session start", [hook("SessionStart", "start", source="startup")]
        for title, prompts in (("about a memory", ABOUT), ("about nothing", ABOUT_NOTHING)):
            told = [hook("UserPromptSubmit", f"s-{one}", prompt=one) for one in prompts]
            yield f"prompt {title}", told
        again = [hook("UserPromptSubmit", f"s-{one}", prompt=one) for one in ABOUT]
        yield "the same prompt again", again


def content_in(text: str, bodies: list[str]) -> int:
    """The characters of the text that are a memory's own."""
    return sum(len(one) for one in bodies if one in " ".join(text.replace("| ", "").split()))


def print_texts(daemon: Daemon, cwd: str) -> None:
    bodies = fill(daemon, cwd)
    leave_a_session(daemon.home, cwd)
    print(f"{'tokens of text, mean':30}{'tokens':>8}{'given':>8}{'content':>9}")
    for title, told in texts(daemon, cwd):
        some = [text for text in told if text]
        size = sum(map(tokens_in, told)) / len(told)
        own = sum(content_in(text, bodies) for text in some)
        share = own / max(1, sum(map(len, some)))
        print(f"{title:30}{size:8.1f}{f'{len(some)}/{len(told)}':>8}{share:9.0%}")


def print_times(home: Path) -> None:
    for words in (("--hooks", "claude-code"), ("--statusline",)):
        assert Daemon(home).run("install", *words).returncode == 0
    settings = json.loads((home / ".claude/settings.json").read_text())
    commands = {
        "prompt hook": settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"],
        "status line": settings["statusLine"]["command"],
    }
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(home)}
    given = json.dumps(payload | {"prompt": ABOUT[0]}).encode()
    print(f"\n{'milliseconds':30}{'least':>8}{'p50':>8}{'p95':>8}{'cpu':>8}{'ratio':>8}")
    for state, prepared in STATES.items():
        with prepared(home):
            print_rows(state, commands, given)


def print_rows(state: str, commands: dict[str, str], given: bytes) -> None:
    words = {name: ["/bin/sh", "-c", command] for name, command in commands.items()}
    words[BARE] = [sys.executable, "-I", "-S", "-E", "-c", "pass"]
    samples: dict[str, list[Sample]] = {name: [] for name in words}
    for _ in range(RUNS):
        for name, command in words.items():
            samples[name].append(timed(command, given))
    print(state)
    bare = statistics.median(one.ms for one in samples[BARE])
    for name, some in samples.items():
        times = [one.ms for one in some]
        middle, late = statistics.median(times), statistics.quantiles(times, n=20)[-1]
        cpu = statistics.median(one.cpu_ms for one in some)
        row = (min(times), middle, late, cpu)
        print(f"  {name:28}{''.join(f'{one:8.1f}' for one in row)}{middle / bare:8.2f}")


class Sample(NamedTuple):
    """One run: its time, and the processor's time in it, which other programs do not change."""

    ms: float
    cpu_ms: float


def timed(command: list[str], given: bytes) -> Sample:
    used, began = processor_seconds(), time.perf_counter()
    subprocess.run(command, input=given, capture_output=True, check=True)
    took = time.perf_counter() - began
    return Sample(took * 1000, (processor_seconds() - used) * 1000)


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def running(home: Path) -> Iterator[None]:
    daemon = Daemon(home).start()
    try:
        yield
    finally:
        daemon.end()


@contextmanager
def frozen(home: Path) -> Iterator[None]:
    daemon = Daemon(home).start()
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        daemon.process.send_signal(signal.SIGCONT)
        daemon.end()


@contextmanager
def stopped(_home: Path) -> Iterator[None]:
    yield


@contextmanager
def missing(home: Path) -> Iterator[None]:
    """The launcher as it is, but with paths to a package that is gone."""
    launcher = home / ".local/share/memoryd/bin/memoryd-launch"
    launcher.write_text(launcher.read_text().replace("memoryd_client/", "memoryd_client_gone/"))
    yield


STATES: dict[str, Callable[[Path], AbstractContextManager[None]]] = {
    "daemon running": running,
    "daemon frozen": frozen,
    "daemon stopped": stopped,
    "package missing": missing,
}


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        home = make_home(Path(made))
        (home / "app").mkdir()
        daemon = Daemon(home).start()
        try:
            print_texts(daemon, str(home / "app"))
        finally:
            daemon.end()
    if "--texts" in sys.argv:
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        print_times(make_home(Path(made)))


if __name__ == "__main__":
    main()
