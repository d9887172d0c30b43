"""Which of a project's memories are for the team, by their type; decided without a model.

Rules
- `user`: never. It is about one person.
- `feedback`: private, unless its words say that it is a convention of the project.
- `project`: leans to the team. `reference`: usually the team's.
- This is what a person is shown. Nothing is shared until somebody says so.
"""

import re
from typing import Final, Literal

from memoryd.memories.rules.topics import Topic

Lean = Literal["never", "private", "team"]

_WHOLE: Final = (
    r"(?:project|repo|repository|codebase|code base|team|company|organi[sz]ation|service|package)"
)
_CONVENTION: Final = re.compile(
    rf"\b(?:we|our|ours|us|the team|everyone|everybody|all of us|nobody here)\b"
    rf"|\b(?:in|for|across|throughout) (?:this|the|our|the whole|the entire|all) {_WHOLE}s?\b"
    rf"|\b(?:project|repo|team|company)[- ](?:wide|convention|rule|policy|standard)\b",
    re.IGNORECASE,
)
_PERSONAL: Final = re.compile(
    r"\b(?:me|my|mine|i|i'm|i'd|myself)\b|\bthe (?:user|person)(?:'s)? (?:prefer|like|want|ask|is)",
    re.IGNORECASE,
)


def lean_of(topic: Topic) -> Lean:
    match topic.type:
        case "user":
            return "never"
        case "project" | "reference":
            return "team"
        case "feedback" if is_convention(f"{topic.description}\n{topic.body}"):
            return "team"
        case _:
            return "private"


def is_convention(text: str) -> bool:
    """Whether a rule is said of the whole project, and not of one person's taste."""
    return _CONVENTION.search(text) is not None and _PERSONAL.search(text) is None
