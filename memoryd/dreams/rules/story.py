"""A dream in plain words: what became of the memories, and each of its log lines as a sentence."""

from collections.abc import Mapping

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


def told(event: str, fields: Mapping[str, object]) -> str:
    """A log line about a dream as a sentence, so that its lines read as a story; else empty."""
    number = f"dream {fields.get('dream', '?')}"
    match event:
        case "dream-started":
            where = fields.get("project") or f"the {fields.get('scope')}'s own memories"
            how = "with a model" if fields.get("how") == "model" else "without a model"
            memories = _memories(fields.get("memories", 0))
            return f"{number} begins over {memories} of {where}, {how}"
        case "dream-phase":
            counts = "".join(
                f", {fields[name]} {name}"
                for name in ("read", "merged", "retired", "left")
                if fields.get(name)
            )
            return f"{number}: {fields.get('phase')}{counts}{_took(fields)}"
        case "dream-said":
            return f"{number} says: {fields.get('text')}{_took(fields)}"
        case "dream-file":
            return f"{number}: works on {fields.get('file')}"
        case "dream-applied" if fields.get("file"):
            return f"{number}: {fields.get('file')} {fields.get('action')}"
        case "dream-finished":
            words = fields.get("words") or fields.get("reason")
            return (
                f"{number} is {fields.get('state')}{f': {words}' if words else ''}{_took(fields)}"
            )
    return ""


def _took(fields: Mapping[str, object]) -> str:
    usd = fields.get("usd")
    cost = f", ${usd:.4f}" if isinstance(usd, float) and usd else ""
    return f" ({fields.get('seconds')} s{cost})"


def _memories(count: object) -> str:
    return f"{count} memory" if count == 1 else f"{count} memories"
