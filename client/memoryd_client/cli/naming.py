"""Types and scopes, and how a plain text gets a name and a description."""

TYPES = ("user", "feedback", "project", "reference")
# Without `agent`: a sub-agent's memories are reached by its name (--agent).
SCOPES = ("project", "group", "user", "team")
# Where a sub-agent may have memories.
WHERE = ("user", "project", "local")
# A longer name would leave no room for the description in the line of the index.
NAME_CHARACTERS = 60
DESCRIPTION_CHARACTERS = 150
CUT = "…"


def name_for(text: str) -> str:
    """The first sentence of a text from its start, cut at a word with an ellipsis."""
    import re  # noqa: PLC0415 - the types and scopes are wanted without it

    sentence = re.split(r"(?<=[.!?:;])\s", text.strip(), maxsplit=1)[0]
    words = (sentence if len(sentence.split()) > 1 else text).split()
    name = " ".join(words).strip(" .,:;-")
    if len(name) > NAME_CHARACTERS:
        name = name[: NAME_CHARACTERS - 1].rsplit(" ", 1)[0].rstrip(" .,:;-") + CUT
    return name or "note"


def description_for(text: str) -> str:
    """The first line of a text, cut where a line of the index would get too long."""
    from textwrap import shorten  # noqa: PLC0415 - likewise

    first = text.strip().partition("\n")[0]
    cut = shorten(first, DESCRIPTION_CHARACTERS, placeholder=CUT)
    # Where words are not apart, as in Japanese, there is none to cut at.
    return cut if cut != CUT else first[: DESCRIPTION_CHARACTERS - 1] + CUT


def title_of(name: str, description: str) -> str:
    """What to call a memory: not by a name that is only the start of its description."""
    is_cut = name.endswith(CUT) or description.startswith(name)
    return description if description and is_cut else name or description
