"""Ways to shorten a text.

A text that fits comes back as it is. Mask secrets first: one that a cut goes through may no longer
be recognised.
"""


def one_line(text: str) -> str:
    """The text with every run of white space as one space; nothing is cut."""
    return " ".join(text.split())


def cut_at_word(text: str, characters: int) -> str:
    """At most so many characters: cut at a space, and marked with an ellipsis."""
    if len(text) <= characters:
        return text
    return text[: characters - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"


def cut_at_line(text: str, characters: int, note: str) -> str:
    """The first lines that fit into so many characters, and the note on a line of its own."""
    if len(text) <= characters:
        return text
    kept = text[:characters]
    return (kept.rpartition("\n")[0] or kept) + f"\n{note}"


def cut_at_line_bytes(text: str, limit_bytes: int) -> str:
    """The first lines that fit into so many bytes of UTF-8, without a note."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit_bytes:
        return text
    kept = raw[:limit_bytes]
    end = kept.rfind(b"\n") + 1
    return (kept[:end] if end else kept).decode("utf-8", "ignore")


def cut_middle(text: str, characters: int) -> str:
    """The first three quarters and the end, around a note that says how much is missing."""
    if len(text) <= characters:
        return text
    head, tail = characters * 3 // 4, characters // 4
    return f"{text[:head]}\n[... {len(text) - head - tail} characters cut ...]\n{text[-tail:]}"
