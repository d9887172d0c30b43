"""What in a text belongs to one project: its names, its paths, its people.

Rules
- A project is known by the name of its folder, by the owner and name of its remotes, by the names
  of its packages and by the people in its files. A name counts in any spelling (`acme-billing`,
  `acme_billing`, "Acme billing"), even if it is an everyday word, and so does a part of it that is
  not.
- A path, an address, a ticket and an identifier of the code belong to a project, whichever it is.
- A capital letter inside a sentence marks a name. One that is not generally known (`general_names`)
  and not the person's own is taken for a project's: a person, a customer, a code name.
  A person who asks for a wider scope themself knows what their names are: there, only what is
  known of the project counts.
- In doubt a text is private: what is kept in the project by mistake can be promoted, what has been
  told to every other project cannot be taken back.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from memoryd.memories.rules.general_names import COMMON_PARTS, GENERAL_NAMES
from memoryd.text.lazy_regex import late

SHORTEST_NAME: Final = 3
SHORTEST_PART: Final = 4

_WORD = late(r"[^\W_]+")
_CAMEL = late(r"(?<=[a-z0-9])(?=[A-Z])")
_SENTENCE_END = late(r"(?:[.!?:;]\s+|\n\s*(?:[-*#>|\d.]+\s+)*|^\W*|[(\"]\s*)$")
_ADDRESS = late(
    r"\b[a-z][a-z+.-]*://\S+|\b[\w.+-]+@[\w-]+\.\w+|(?<!\w)@\w[\w-]+|\b[A-Z][A-Z0-9]+-\d+\b"
    r"|(?<!\w)#\d+\b|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b(?:[\w-]+\.)+(?:com|org|net|io|dev|internal)\b"
)
_PATH = late(
    r"(?<![\w/])(?:~|\.{1,2})?/[\w.-]+(?:/[\w.-]*)*"  # from a root, a home, here
    r"|\b[\w.-]+/[\w.-]+/[\w./-]*"
    r"|\b[\w-]*[_.\d-][\w.-]*/[\w-]+|\b\w+/[\w-]*[_.\d-](?=\w)[\w-]*"
    r"|\b(?:src|lib|libs|tests?|docs?|apps?|packages?|cmd|pkg|internal|scripts|bin|config)/\w+"
    r"|\b[\w-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|kt|rb|php|cs|cpp|c|h|hpp|swift|scala|sh|sql|md"
    r"|ya?ml|toml|json|ini|cfg|lock|env|tf|proto|html|css|scss|vue|ipynb)\b"
)
_IDENTIFIER = late(r"\b[a-z]+[a-z0-9]*(?:_[a-z0-9]+)+\b|\b[a-z]+[A-Z]\w*\b|\b\w+\(\)")
_ABOUT_HOME = late(
    r"\b(?:live|lives|living|based|born|grew up|come|comes|am|moved|located|native)"
    r" (?:in|near|from|to|at|of)\W+$"
    r"|\b(?:my name is|(?:the )?name is|i am called|call me|is called|address me as|i'?m|ich bin"
    r"|ich hei(?:ß|ss)e)\W+$",
    re.IGNORECASE,
)
_ACTS = late(
    r"\W+(?:is|was|has|wants?|said|says|will|asked|prefers|likes|reviews|owns|needs|and)\b"
)
_OPENERS = frozenset(
    """
    it he she this that these those what who which everything nothing something work code time one
    everyone nobody somebody anything there here person user they we you i always never please short
    long plain answers replies summaries explanations questions tests commits examples details
    """.split()  # noqa: SIM905 - three lines instead of forty
)


class ProjectNames(msgspec.Struct, frozen=True):
    """`names` are spellings of a project's own names, `people` those of its people.

    `folders` are the folders at the top of the project, `own` the names of the person.
    """

    names: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()

    def joined(self, other: "ProjectNames") -> "ProjectNames":
        return ProjectNames(
            self.names | other.names,
            self.people | other.people,
            self.folders | other.folders,
            self.own | other.own,
        )


def words_of(text: str) -> list[str]:
    """The words of a name or a text, in lower case; `HarborLedger` has two."""
    return [word.casefold() for part in _WORD.findall(text) for word in _CAMEL.split(part)]


def private_in(text: str, names: ProjectNames) -> str:
    """The first thing in a text that belongs to one project; empty if there is none."""
    return next(private_parts(text, names), "")


def private_parts(text: str, names: ProjectNames, *, guesses: bool = True) -> Iterator[str]:
    """Everything in a text that belongs to one project; with `guesses`, what may be a name too."""
    yield from _named(text, names.names | names.people)
    for pattern in (_ADDRESS, _PATH, _IDENTIFIER):
        for hit in pattern.finditer(text):
            if hit[0].casefold() not in GENERAL_NAMES:
                yield hit[0]
    for word in re.findall(r"([\w.-]+)/", text):
        if word in names.folders:
            yield word
    if guesses:
        yield from _unknown_names(text, names.own)


def _named(text: str, known: Iterable[str]) -> Iterator[str]:
    words = words_of(text)
    line, joined = f" {' '.join(words)} ", frozenset(words)
    for name in known:
        parts = words_of(name)
        if not parts:
            continue
        is_whole = f" {' '.join(parts)} " in line or "".join(parts) in joined
        telling = (part for part in parts if is_telling(part))
        if is_whole and len("".join(parts)) >= SHORTEST_NAME:
            yield name
        elif part := next((part for part in telling if part in joined), ""):
            yield part


def is_telling(part: str, shortest: int = SHORTEST_PART) -> bool:
    """Whether a part of a name gives the project away; `app` or `python` does not."""
    is_common = part in COMMON_PARTS or part in GENERAL_NAMES
    return len(part) >= shortest and not part.isdigit() and not is_common


def _unknown_names(text: str, own: frozenset[str]) -> Iterator[str]:
    """Capitalised words inside a sentence, or at its start where they act as a person does."""
    for hit in re.finditer(r"\b[^\W\d_][\w'’]*", text):  # noqa: RUF001 - both apostrophes
        word = re.split("['’]", hit[0])[0]  # noqa: RUF001 - as above
        plain = word.casefold()
        if not word[:1].isupper() or plain in GENERAL_NAMES or plain in own or word == "I":
            continue
        before = text[: hit.start()]
        if _ABOUT_HOME.search(before):
            continue
        starts = _SENTENCE_END.search(before) is not None
        acts = _ACTS.match(text, hit.end()) is not None and plain not in _OPENERS
        if not starts or acts:
            yield word
