"""A dream in plain words: one sentence or two that say what became of the memories."""

import msgspec


class DreamCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How many memories a dream read, and what became of them; `left` are still current."""

    sessions: int = 0
    read: int = 0
    merged: int = 0
    retired: int = 0
    changed: int = 0
    new: int = 0
    left: int = 0
    due: int = 0
    questions: int = 0
    tool_calls: int = 0


def in_words(counts: DreamCounts) -> str:
    """What a person wants to know when a dream has ended."""
    done = [
        f"merged {counts.merged}" if counts.merged else "",
        f"retired {counts.retired}" if counts.retired else "",
        f"changed {counts.changed}" if counts.changed else "",
        f"added {counts.new}" if counts.new else "",
    ]
    did = ", ".join(one for one in done if one) or "changed nothing"
    sentences = [f"Read {_memories(counts.read)}: {did}; {counts.left} are left."]
    if counts.due:
        verb = "is" if counts.due == 1 else "are"
        sentences.append(f"{counts.due} {verb} due for review: memoryd review.")
    if counts.questions:
        noun = "question waits" if counts.questions == 1 else "questions wait"
        sentences.append(f"{counts.questions} {noun} in the inbox: memoryd inbox.")
    return " ".join(sentences)


def _memories(count: int) -> str:
    return f"{count} memory" if count == 1 else f"{count} memories"
