"""The same exclusions at every door: reads what is written down, asks the rules, says what to do.

Blocking. What instruction files say is split into sentences once for each of their versions.
"""

from typing import TYPE_CHECKING, Final

from memoryd.base.errors import Refused
from memoryd.memories.catalog import By
from memoryd.memories.instruction_reader import InstructionReader
from memoryd.memories.rules.topics import Scope
from memoryd.memories.scopes import Project, Scopes
from memoryd.text.masking.mask import presentable
from memoryd.text.private import has_private, public_part
from memoryd.text.shorten import cut_at_word, one_line

if TYPE_CHECKING:
    from memoryd.extraction.rules.exclusions import Exclusion
    from memoryd.extraction.rules.written_down import WrittenDown

MOST_PROJECTS: Final = 50
SHOWN_CHARACTERS: Final = 100


class Exclusions:
    def __init__(self, scopes: Scopes, instructions: InstructionReader) -> None:
        self._scopes = scopes
        self._instructions = instructions
        self._known: dict[tuple[str, Scope], tuple[tuple[str, ...], WrittenDown]] = {}

    def written_texts(self, project: Project, scope: Scope = "project") -> tuple[str, ...]:
        """What instruction files say; of the user's own memory, only what holds everywhere."""
        loaded = self._instructions.every_rule(project.root, project)
        everywhere = {"managed", "user"}
        return tuple(
            one.text for one in loaded.instructions if scope != "user" or one.kind in everywhere
        )

    def written_down(self, project: Project, scope: Scope = "project") -> "WrittenDown":
        from memoryd.extraction.rules.written_down import written_down  # noqa: PLC0415 - its patterns take a while

        texts = self.written_texts(project, scope)
        known = self._known.get((project.root, scope))
        if known is not None and known[0] == texts:
            return known[1]
        found = written_down(texts)
        if len(self._known) >= MOST_PROJECTS:
            self._known.clear()
        self._known[project.root, scope] = (texts, found)
        return found

    def check(
        self, cwd: str, text: str, *, scope: Scope = "project", by: By, anyway: bool = False
    ) -> None:
        """Refused if nothing in the text is worth saving; a person may insist, an agent not."""
        from memoryd.extraction.rules.exclusions import exclusion_of  # noqa: PLC0415 - as above

        if not public_part(text).strip() and has_private(text):
            raise Refused(
                "not saved: all of it is marked as private",
                hint="leave the <private> tags away to save it",
            )
        if anyway and by == "user":
            return
        known = self.written_down(self._scopes.project(cwd), scope)
        found = exclusion_of(text, known)
        if found is not None:
            raise Refused(f"not saved: {reason_of(found)}", hint=next_step(found, by))


def without_secrets(text: str) -> str:
    """The text as it may be saved: masked, spoken passwords included."""
    from memoryd.extraction.rules.exclusions import savable  # noqa: PLC0415 - as above

    return savable(text)


def reason_of(found: "Exclusion") -> str:
    match found.kind:
        case "code":
            return "this only says what the code or its history shows"
        case "secret":
            return "there is nothing in this but a secret"
        case "written-down":
            # It goes to the caller, which may be a model.
            line = cut_at_word(one_line(presentable(found.line)), SHOWN_CHARACTERS)
            return f'your instruction files already say "{line}"'


def next_step(found: "Exclusion", by: By) -> str:
    if by == "agent":
        return {
            "code": "save what the code cannot show, such as the reason, or nothing",
            "secret": "save where the secret is kept, or nothing",
            "written-down": "there is nothing to do",
        }[found.kind]
    return {
        "code": "say why it matters, or add --anyway",
        "secret": "say what it is for and where it is kept; --anyway saves it with a mask",
        "written-down": "there is nothing to do; to save it all the same, add --anyway",
    }[found.kind]
