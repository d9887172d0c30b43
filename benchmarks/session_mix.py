"""Made-up sessions whose lines have the shapes and the shares that the client's files have.

What a line says is drawn from words and code of no meaning. The shares are of bytes, for a session
of somebody who codes: results of tools (most of them in the line twice, as the client writes them),
screenshots, files as they were before an edit, what was sent to the model, snapshots, thinking with
its signature, and a little talk.
"""

import base64
import random
import string
from collections.abc import Callable, Iterator

from tests.support.session_script import SessionScript

SHARES = (
    ("read", 0.22),
    ("run", 0.12),
    ("edit", 0.14),
    ("image", 0.12),
    ("client_record", 0.14),
    ("attachment", 0.10),
    ("snapshot", 0.06),
    ("thinking", 0.05),
    ("write", 0.03),
    ("talk", 0.02),
)
_SYLLABLES = [one + other for one in "bdfgklmnprstvz" for other in "aeiou"]


class Mix:
    """Draws lines until each kind has its share; the same seed gives the same bytes."""

    def __init__(self, session_id: str, seed: int = 1, cwd: str = "/home/dev/work/app") -> None:
        self.script = SessionScript(session_id, cwd)
        self._chance = random.Random(seed)
        self._words = [self._word() for _ in range(2000)]

    def of_bytes(self, size_bytes: int) -> bytes:
        """A whole session of about this size."""
        made = dict.fromkeys((name for name, _ in SHARES), 0)
        makers: dict[str, Callable[[], object]] = {
            name: getattr(self, f"_{name}") for name, _ in SHARES
        }
        total, lines = 0, self.script.lines
        self._talk()
        while total < size_bytes:
            kind = max(SHARES, key=lambda share: share[1] * (total + 1) - made[share[0]])[0]
            before = len(lines)
            makers[kind]()
            added = sum(len(line) + 1 for line in lines[before:])
            made[kind] += added
            total += added
        self._talk()
        return self.script.data

    @property
    def noun(self) -> str:
        """Another word each time."""
        return self._chance.choice(self._words)

    # --- lines ------------------------------------------------------------------------------------

    def _talk(self) -> None:
        self.script.answer(self._prose(60), "end_turn")
        self.script.system("turn_duration", durationMs=1000)
        self.script.prompt(self._prose(25))

    def _read(self) -> None:
        text = self._code(self._chance.choice((40, 120, 400, 900)))
        numbered = "\n".join(f"{at:6}\t{line}" for at, line in enumerate(text.split("\n"), 1))
        path = f"/home/dev/work/app/src/{self._name()}.py"
        call = self.script.call("Read", {"file_path": path})
        kept = {"type": "text", "file": {"filePath": path, "content": text, "numLines": 100}}
        self.script.result(call, numbered, toolUseResult=kept)

    def _run(self) -> None:
        command = f"make {self._name()} && .venv/bin/pytest -q tests/{self._name()}.py | tail -40"
        call = self.script.call("Bash", {"command": command, "description": self._prose(5)})
        lines = self._chance.choice((2, 10, 60, 300))
        printed = "\n".join(
            f"tests/{self._name()}.py::test_{self._name()} PASSED [{at % 100:3}%]"
            for at in range(lines)
        )
        self.script.result(call, printed, toolUseResult={"stdout": printed, "stderr": ""})

    def _edit(self) -> None:
        path = f"/home/dev/work/app/src/{self._name()}.py"
        old, new = self._code(6), self._code(8)
        given = {"file_path": path, "old_string": old, "new_string": new}
        call = self.script.call("Edit", given)
        lines = [f"+{line}" for line in new.split("\n")]
        kept = given | {
            "originalFile": self._code(700),
            "structuredPatch": [{"oldStart": 1, "newStart": 1, "lines": lines}],
        }
        said = f"The file {path} has been updated. Here is a part of it:\n{new}"
        self.script.result(call, said, toolUseResult=kept)

    def _write(self) -> None:
        path = f"/home/dev/work/app/src/{self._name()}.py"
        given = {"file_path": path, "content": self._code(self._chance.choice((30, 150)))}
        call = self.script.call("Write", given)
        self.script.result(call, f"File created at {path}", toolUseResult=given)

    def _image(self) -> None:
        pixels = self._base64(self._chance.choice((60_000, 250_000)))
        source = {"type": "base64", "media_type": "image/png", "data": pixels}
        call = self.script.call("Read", {"file_path": f"/home/dev/shots/{self._name()}.png"})
        kept = {"type": "image", "file": {"base64": pixels, "type": "image/png"}}
        self.script.result(call, [{"type": "image", "source": source}], toolUseResult=kept)

    def _client_record(self) -> None:
        self.script.put("api-request-blob", content=self._prose(self._chance.choice((200, 6000))))

    def _attachment(self) -> None:
        kind = self._chance.choice(("prompt_snapshot", "skill_listing", "environment"))
        self.script.attach(kind, rendered=self._prose(3000), renderedRole="system")

    def _snapshot(self) -> None:
        files = {
            f"src/{self._name()}.py": {"backupFileName": f"{at}@v1", "version": at}
            for at in range(60)
        }
        self.script.put("file-history-snapshot", snapshot={"trackedFileBackups": files})

    def _thinking(self) -> None:
        block = {"type": "thinking", "thinking": self._prose(80), "signature": self._base64(1800)}
        self.script.assistant([block], None)

    # --- text -------------------------------------------------------------------------------------

    def _word(self) -> str:
        return "".join(self._chance.choices(_SYLLABLES, k=self._chance.randint(1, 4)))

    def _name(self) -> str:
        return "_".join(self._chance.sample(self._words, 2))

    def _prose(self, words: int) -> str:
        sentences: list[str] = []
        while words > 0:
            count = min(words, self._chance.randint(5, 14))
            sentences.append(" ".join(self._chance.choices(self._words, k=count)) + ".")
            words -= count
        return " ".join(sentences)

    def _code(self, lines: int) -> str:
        return "\n".join(self._code_lines(lines))

    def _code_lines(self, lines: int) -> Iterator[str]:
        choose = self._chance.choices
        for at in range(lines):
            one, other, third = choose(self._words, k=3)
            yield (
                f"def {one}_{other}(self, {third}: int = {at}) -> str:"
                if at % 9 == 0
                else f'        self.{one} = {other}.{third}("{one} {third}", {at})  # {other}'
                if at % 3
                else f"    if {one} and not {other}[{at}]:"
            )

    def _base64(self, size_bytes: int) -> str:
        pool = string.ascii_letters.encode() * 8
        drawn = bytes(self._chance.choices(pool, k=600))
        return base64.b64encode((drawn * (size_bytes // 600 + 1))[: size_bytes * 3 // 4]).decode()
