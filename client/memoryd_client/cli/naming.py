"""The words for types and scopes, and how a bare text gets a name and a description."""

TYPES = ("user", "feedback", "project", "reference")
# Not those of sub-agents: they are reached by the agent's name, which no command takes.
SCOPES = ("project", "user", "team")
NAME_WORDS = 6
NAME_CHARACTERS = 60
DESCRIPTION_CHARACTERS = 150


def name_for(text: str) -> str:
    """The first words of a text, as its name."""
    words = text.split()[:NAME_WORDS]
    return " ".join(words)[:NAME_CHARACTERS].strip(" .,:;-") or "note"


def description_for(text: str) -> str:
    """The first line of a text, or as much of it as one line of the index should hold."""
    line = " ".join(text.strip().splitlines()[0].split())
    if len(line) <= DESCRIPTION_CHARACTERS:
        return line
    return line[: DESCRIPTION_CHARACTERS - 1].rpartition(" ")[0] + "…"
