"""Secrets through a whole daemon: said, printed and typed in a session, then looked for on disk.

The turns are held, so that they stay in `state.db`; the rules save what is asked for; events and
answers of the socket are kept too. Everything that the daemon wrote or said is searched.
"""

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

from tests.security.tally import Tally
from tests.support.running import Daemon, make_home
from tests.support.secret_forms import DEVELOPED, FRESH, HELD_OUT, is_hidden, samples
from tests.support.secret_samples import KINDS, Sample, draws
from tests.support.session_script import SessionScript
from tests.support.unseen_forms import LATER, STRANGE, UNSEEN

WAIT_SECONDS = 120.0
VOWELS, CONSONANTS = "aeiou", "lmnrst"


def through_a_daemon(folder: Path, scale: float) -> Tally:
    found = _unique(scale)
    violations: list[str] = []
    for name, every_turns in (("saved", 1), ("held", 1000)):
        written = _run(folder / name, found, every_turns)
        violations += [f"{name}: {text[:70]}" for text, secret in found if _is_in(secret, written)]
    return Tally("secrets in what a daemon writes and answers", 2 * len(found), violations, 0.02)


def _unique(scale: float) -> list[Sample]:
    """One draw of each form, with a secret that no other form has; phrases are left out."""
    kinds = [draws(kind, 1)[0] for kind in KINDS]
    tables = (DEVELOPED, HELD_OUT, FRESH, UNSEEN, STRANGE, LATER)
    forms = [one for table in tables for one in samples(table, 1)]
    every = [*kinds, *forms]
    chosen = every if scale >= 1 else every[:: int(1 / scale) or 1]
    made: list[Sample] = []
    for number, (text, secret) in enumerate(chosen):
        if " " in secret or len(secret) < 6:
            continue
        if secret.isalpha():
            tail = VOWELS[number % 5] + CONSONANTS[number // 5 % 6] + VOWELS[number // 30 % 5]
            text, secret = text.replace(secret, secret + tail), secret + tail  # noqa: PLW2901
        made.append((text, secret))
    return made


def _run(folder: Path, found: list[Sample], every_turns: int) -> str:
    """Everything that a daemon wrote and answered, as one text."""
    home = make_home(folder)
    settings = home / ".config/memoryd/config.toml"
    settings.parent.mkdir()
    settings.write_text(f"[extraction]\nevery_turns = {every_turns}\n[log]\nlevel = 'debug'\n")
    project = home / "app"
    project.mkdir()
    script = SessionScript("s", str(project))
    for text, _ in found:
        _say(script, text)
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(project))
    transcript = home / ".claude/projects" / slug / "s.jsonl"
    transcript.parent.mkdir(parents=True)
    daemon = Daemon(home).start()
    try:
        transcript.write_bytes(script.data)
        answers = _answers(daemon, str(project), str(transcript))
        assert daemon.stop() == 0
    finally:
        daemon.end()
    transcript.unlink()
    files = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    return "\n".join([answers, *(data.decode("utf-8", "replace") for data in files)])


def _say(script: SessionScript, text: str) -> None:
    """Said by the person, typed into a tool, and printed by one at the place of a cut."""
    script.prompt(f"Remember for the deploy: {text}")
    call = script.call("Bash", {"command": f"echo start; {text}"})
    script.result(call, f"{'line of a log. ' * 203}{text} {'line of a log. ' * 203}{text}")
    script.answer(f"Noted. {text}")


def _answers(daemon: Daemon, cwd: str, transcript: str) -> str:
    given: list[Any] = []
    deadline = time.monotonic() + WAIT_SECONDS
    with daemon.peer() as peer:
        peer.call("turn/ended", session_id="s", transcript_path=transcript)
        while time.monotonic() < deadline:
            status = peer.call("status")
            queue = status["queue"]
            waiting = queue["waiting"] + queue["running"]
            is_read = not status["transcripts"]["behind"] and _turns(daemon)
            if is_read and (not waiting or queue["held"] or waiting == _turns(daemon)):
                break
        given += [
            status,
            peer.call("memory/list", cwd=cwd),
            peer.call("recall", cwd=cwd, query="what is remembered for the deploy?"),
            peer.call("context", cwd=cwd),
            peer.call("inbox/list", cwd=cwd),
        ]
    given += [daemon.run(*words).stdout for words in (("list",), ("sessions",), ("inbox",))]
    return json.dumps(given, ensure_ascii=False)


def _turns(daemon: Daemon) -> int:
    database = daemon.home / ".local/state/memoryd/state.db"
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        (count,) = connection.execute("select count(*) from turns").fetchone()
    connection.close()
    return int(count)


def _is_in(secret: str, written: str) -> bool:
    # The words of two forms differ only at their end.
    return secret in written if secret.isalpha() else not is_hidden(secret, written)


CHECKS = (through_a_daemon,)
