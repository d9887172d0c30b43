"""`memoryd demo`: the life of a memory on sample sessions, with the real daemon, offline.

Rules:
- Everything printed was observed, in the daemon's answers or in its files. A step that does not
  happen ends the demo with exit code 1 and says what was missing.
- Nothing of the person's is touched: home, project, daemon and socket belong to the demo, and are
  removed when it ends.
"""

import secrets
import string
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from memoryd_client.cli.commands import Arguments
from memoryd_client.cli.render import one_line, paint, printable, wrapped
from memoryd_client.connection.answers import (
    Json,
    is_true_at,
    items_at,
    number_at,
    object_at,
    objects_at,
    text_at,
)
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import Failure, LocalFailure
from memoryd_client.demo.home import ThrowawayHome, throwaway_home
from memoryd_client.demo.session import Session

WAIT_SECONDS = 20.0
POLL_SECONDS = 0.05
NOTES_SHOWN = 14
PERSON = "  you: "

TWO_MEMORIES = (
    (
        "Shop deploys on Tuesdays",
        "Deploys of the shop go out on Tuesdays, from the main branch.",
        "**How to apply:** Have it merged the day before.",
    ),
    (
        "Tuesday deploys of the shop",
        "Deploys of the shop always go out on Tuesdays, from the main branch.",
        "**Why:** Mira watches the error rates on Tuesdays.",
    ),
)

Seen = TypeVar("Seen")


class NotSeen(Failure):
    """A step of the demo did not happen."""


def demo(arguments: Arguments) -> int:
    """Plays all steps in a throwaway home; raises NotSeen if one does not happen."""
    started = time.monotonic()
    print("The life of a memory, on sample sessions: no key, no network, none of your files.")
    with throwaway_home(keep=arguments.keep) as home:
        story = Story(home)
        for number, (title, step) in enumerate(STEPS, start=1):
            print(f"\n{paint(f'{number}. {title}', 'bold')}", flush=True)
            step(story)
    seconds = time.monotonic() - started
    print(f"\nAll {len(STEPS)} steps worked, in {seconds:.1f} s.")
    if arguments.keep:
        print(wrapped(f"The home is kept for you to look at: {home.root}. Its daemon is stopped."))
        return 0
    if home.root.exists():
        raise LocalFailure(f"{home.root} could not be removed", f"rm -r {home.root}")
    print("The throwaway home is removed. To use memoryd for real: memoryd install")
    return 0


class Story:
    """What the steps share: the home, its sessions, and the files before the dream."""

    def __init__(self, home: ThrowawayHome) -> None:
        self.home = home
        self.cwd = str(home.project)
        self.first, self.second, self.third = (Session(home.claude, home.project) for _ in range(3))
        self.before_dream: dict[str, bytes] = {}

    # --- the steps ------------------------------------------------------------------------------

    def start(self) -> None:
        ping = call("ping")
        status = call("status", {"cwd": self.cwd})
        show(f"memoryd {text_at(ping, 'version')} is running as process {ping.get('pid')}")
        show(f"its throwaway home: {self.home.root}")
        show(f"its provider: {text_at(status, 'provider')}")

    def save(self) -> None:
        saved = self._said(self.first, "Please always run make check before you commit.")
        self._print_file(saved)

    def mask(self) -> None:
        # Made up on the spot: a program that is searched for secrets must not contain one.
        letters = string.ascii_letters + string.digits
        token = "ghp_" + "".join(secrets.choice(letters) for _ in range(36))
        where = "bugs are tracked in the board SHOP at https://bugs.example.net"
        saved = self._said(self.first, f"Remember that {where}/?token={token}.")
        if "[secret: " not in self._print_file(saved):
            raise NotSeen(f"the token is not masked in {saved}")
        written = self.home.files_written()
        leaks = [path for path in written if token.encode() in path.read_bytes()]
        if leaks:
            raise NotSeen(f"the token is not masked in {leaks[0]}")
        show(f"none of the {len(written)} files that memoryd wrote contains the token")

    def correct(self) -> None:
        saved = self._said(
            self.second, "From now on, run make verify before you commit, not make check."
        )
        self._print_file(saved)
        every = self._memories()
        retired = [name for name in every if is_true_at(every[name], "retired")]
        if not retired:
            raise NotSeen("the old rule was not retired")
        show(f"retired, but kept in the history: {', '.join(retired)}")

    def recall(self) -> None:
        query = "what do I have to run before a commit?"
        answer = call("recall", {"cwd": self.cwd, "query": query}, WAIT_SECONDS)
        found = list(objects_at(answer, "memories"))
        print(f"  question: {query}")
        if not found:
            raise NotSeen("recall found nothing")
        for memory in found:
            show(f"recalled: {text_at(memory, 'name')} (score {number_at(memory, 'score'):.2f})")
        show(f"answered in {number_at(answer, 'elapsed_ms'):.1f} ms, {text_at(answer, 'selector')}")
        if "make verify" not in text_at(found[0], "content"):
            raise NotSeen("the current rule did not come first")

    def take_notes(self) -> None:
        session = self.third
        long_session(session)
        notes = session.path.with_suffix("") / "session-memory" / "summary.md"
        until(notes.is_file, f"notes in {notes}")
        show(f"notes of the session: {len(notes.read_bytes())} bytes, {notes.name}")
        session.compact("The person wants the checkout to charge VAT by country.")
        print("  (the agent's context is full: it continues with a short summary)")
        answer = call("hook", session.hook("SessionStart", source="compact"), WAIT_SECONDS)
        given = text_at(answer, "stdout")
        if "Current State" not in given:
            raise NotSeen("the session did not get its notes again")
        show(f"the hook gives the session {len(given)} characters, which include")
        quote(notes.read_text("utf-8").splitlines()[:NOTES_SHOWN])

    def dream(self) -> None:
        for name, fact, more in TWO_MEMORIES:
            about = {"name": name, "description": fact, "type": "project"}
            call("memory/save", {"cwd": self.cwd, **about, "body": f"{fact}\n\n{more}"})
            show(f"saved by hand: {name}")
        self.before_dream = self._texts()
        number = call("dream/start", {"cwd": self.cwd, "force": True}, WAIT_SECONDS)["dream"]
        (dream,) = until(lambda: self._ended(number), "the end of the dream")
        summary = object_at(dream, "summary")
        files = list(objects_at(summary, "files"))
        seconds = number_at(summary, "seconds")
        show(f"the dream is {text_at(dream, 'state')}, in {seconds:.1f} s; it touched")
        for file in files:
            show(f"{text_at(file, 'deed')}: {text_at(file, 'file')}")
            quote(text_at(file, "diff").splitlines())
        if not any(text_at(file, "deed") == "retired" for file in files):
            raise NotSeen("the two memories were not merged")

    def undo(self) -> None:
        answer = call("dream/undo", {"cwd": self.cwd}, WAIT_SECONDS)
        show(f"restored: {', '.join(map(str, items_at(answer, 'restored')))}")
        changed = {name for name, text in self._texts().items() if self.before_dream[name] != text}
        if changed or self._texts().keys() != self.before_dream.keys():
            raise NotSeen(f"not restored: {', '.join(changed) or 'a file is missing'}")
        show(f"all {len(self.before_dream)} files are as before the dream, byte for byte")

    # --- helpers --------------------------------------------------------------------------------

    def _memories(self) -> dict[str, Json]:
        answer = call("memory/list", {"cwd": self.cwd, "retired": True})
        return {text_at(one, "file"): one for one in objects_at(answer, "memories")}

    def _current(self) -> set[str]:
        found = self._memories()
        return {name for name in found if not is_true_at(found[name], "retired")}

    def _texts(self) -> dict[str, bytes]:
        """The memories and their index, as they are on disk."""
        folders = self.home.claude.glob("projects/*/memory")
        return {path.name: path.read_bytes() for folder in folders for path in folder.glob("*.md")}

    def _ended(self, dream: object) -> list[Json]:
        answer = call("dream/log", {"cwd": self.cwd, "dream": dream})
        return [one for one in objects_at(answer, "dreams") if text_at(one, "finished")]

    def _said(self, session: Session, text: str) -> str:
        """Plays a turn with this prompt; returns the file of the memory that it becomes."""
        before = self._current()
        print(f"{PERSON}{one_line(text)}")
        session.say(text, "Understood.")
        started = time.monotonic()
        call("hook", session.hook("Stop"))
        (file,) = until(lambda: self._current() - before, "a new memory")
        show(f"saved {time.monotonic() - started:.1f} s after the answer: {file}")
        return file

    def _print_file(self, file: str) -> str:
        answer = call("memory/get", {"cwd": self.cwd, "path": file})
        text = Path(text_at(answer, "path")).read_text("utf-8")
        quote(printable(text).splitlines())
        return text


def long_session(session: Session) -> None:
    """Enough work for notes: a task, some tools, a mistake, a growing context."""
    ask = "Add VAT to the checkout, by country. Prices in the catalogue stay net."
    print(f"{PERSON}{ask}")
    session.prompt(ask)
    session.use_tool("Read", {"file_path": "checkout.py"}, "def total(cart): ...", 3000)
    session.use_tool("Edit", {"file_path": "checkout.py"}, "edited", 3000)
    session.use_tool("Bash", {"command": "make verify"}, "FAILED test_total: no rate for CH", 3000)
    session.use_tool("Edit", {"file_path": "vat_rates.py"}, "edited", 2000)
    session.use_tool("Bash", {"command": "make verify"}, "42 passed", 1000)
    answer = "VAT is added in checkout.py; vat_rates.py has the rates. Left: the invoice."
    session.answer(answer, 500)
    print(f"  agent: {answer}")
    call("hook", session.hook("Stop"))


STEPS: tuple[tuple[str, Callable[[Story], None]], ...] = (
    ("The daemon starts", Story.start),
    ("First session: a memory is saved from what the person says", Story.save),
    ("First session, later: a secret is masked", Story.mask),
    ("Second session: a correction replaces an old fact", Story.correct),
    ("Recall answers with the current rule", Story.recall),
    ("Third session: long, compacted, and given its notes again", Story.take_notes),
    ("A dream merges two memories that say the same", Story.dream),
    ("The dream is undone", Story.undo),
)


def until(look: Callable[[], Seen], what: str) -> Seen:
    """Polls until `look` returns something true."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise NotSeen(f"waited {WAIT_SECONDS:.0f} s for {what}, which did not come")
        time.sleep(POLL_SECONDS)
    return seen


def show(text: str) -> None:
    print(f"  {wrapped(one_line(text), 4)}", flush=True)


def quote(lines: list[str]) -> None:
    for line in lines:
        print(paint(f"  | {printable(line)}".rstrip(), "dim"))
