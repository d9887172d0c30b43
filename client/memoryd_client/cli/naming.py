"""Types and scopes, and how a plain text gets a name and a description."""

import re
from textwrap import shorten

TYPES = ("user", "feedback", "project", "reference")
# Without `agent`: a sub-agent's memories are reached by its name, which no command takes.
SCOPES = ("project", "user", "team")
# A long name would leave no room for the description in the line of the index.
NAME_WORDS = 6
NAME_CHARACTERS = 60
DESCRIPTION_CHARACTERS = 150
CUT = "…"


def name_for(text: str) -> str:
    """The first sentence of a text, or its first words and an ellipsis."""
    sentence = re.split(r"(?<=[.!?:;])\s", text.strip(), maxsplit=1)[0].split()
    words = sentence if len(sentence) > 1 else text.split()
    name = " ".join(words[:NAME_WORDS])[:NAME_CHARACTERS].strip(" .,:;-")
    is_cut = len(words) > NAME_WORDS or len(" ".join(words)) > NAME_CHARACTERS
    return f"{name}{CUT * is_cut}" if name else "note"


def description_for(text: str) -> str:
    """The first line of a text, cut where a line of the index would get too long."""
    first = text.strip().partition("\n")[0]
    return shorten(first, DESCRIPTION_CHARACTERS, placeholder=CUT)


def title_of(name: str, description: str) -> str:
    """What to call a memory: not by a name that is only the start of its description."""
    is_cut = name.endswith(CUT) or description.startswith(name)
    return description if description and is_cut else name or description
