"""Finds what a person stated for good, by rules alone; prefers missing something to saving junk.

Rules:
- Only the person's own prose counts (`prose`). It is masked first, more strictly than for a model
  (`credentials`).
- "Don't remember this" silences the whole message. What CLAUDE.md already says is not feedback.
- A sentence is classified by itself (`classify`), then among its neighbours (`passages`). Where no
  phrase says what it is, signs are counted: of an order (`orders`), of a fact (`facts`).
- Feedback and project facts are written as the rule or fact, **Why:** if a reason was given, and
  **How to apply:**. The words stay the person's own; relative dates become ISO dates (`dates`).
- Dates are counted from the calendar day of `said_at`: pass the person's local time.
"""

import re
from collections.abc import Sequence
from datetime import datetime

import msgspec

from memoryd.extraction.rules.statements import feedback_phrases, order_phrases, phrases
from memoryd.extraction.rules.statements.classify import (
    MASK,
    ClassifiedSentence,
    MemoryType,
    classify,
)
from memoryd.extraction.rules.statements.credentials import without_credentials
from memoryd.extraction.rules.statements.passages import Passage, passages_in, topic_words
from memoryd.text.dates import with_absolute_dates
from memoryd.text.masking.mask import mask
from memoryd.text.prose import matchable, own_words, plain, sentences
from memoryd.text.shorten import cut_at_word, one_line

NAME_CHARACTERS = 60
DESCRIPTION_CHARACTERS = 150
# Longer messages were pasted, and a cut inside a paste could make it look like prose.
MESSAGE_CHARACTERS = 100_000
PROSE_CHARACTERS = 20_000


class Statement(msgspec.Struct, frozen=True):
    """One memory to save; `corrects` if it withdraws what was said before on its topic."""

    type: MemoryType
    name: str
    description: str
    body: str
    corrects: bool = False


def statements_in(
    message: str, *, previous_assistant: str = "", said_at: datetime
) -> list[Statement]:
    """The lasting things that one message of a person states, in order."""
    own = own_words(_masked(message[:MESSAGE_CHARACTERS]))[:PROSE_CHARACTERS]
    whole = matchable(own)
    if phrases.NOT_FOR_MEMORY.search(whole):
        return []
    classified = [classify(sentence, said_at) for sentence in sentences(own)]
    if phrases.IN_THE_RULES_FILE.search(whole):
        classified = [one for one in classified if one.kind != "feedback"]
    passages = passages_in(classified, previous_assistant=previous_assistant, said_at=said_at)
    found = [_written(passage, previous_assistant, said_at) for passage in passages]
    return [one for one in found if len(topic_words(MASK.sub(" ", one.description))) > 1]


def _masked(text: str) -> str:
    return without_credentials(mask(text))


# --- writing a memory -------------------------------------------------------------------------


def _written(passage: Passage, previous_assistant: str, said_at: datetime) -> Statement:
    parts = (passage.head, *passage.around)
    texts = [_tidy(with_absolute_dates(one.sentence.text, said_at)) for one in parts]
    whole = " ".join(map(_as_sentence, texts))
    rule, why = _rule_and_reason(passage, texts)
    praised = _praised_action(previous_assistant) if passage.head.is_praise else ""
    return Statement(
        type=passage.type,
        name=_name(rule if len(topic_words(rule)) > 1 else whole),
        description=cut_at_word(one_line(whole), DESCRIPTION_CHARACTERS),
        body=_body(passage.type, rule, why, praised),
        corrects=any(phrases.CORRECTS.search(one.said) for one in parts),
    )


def _rule_and_reason(passage: Passage, texts: Sequence[str]) -> tuple[str, str]:
    """The rule or fact, and the reasons that were given for it."""
    rule, why = _cut_at_reason(texts[0]) if passage.head.is_rule else (texts[0], "")
    rules, reasons = [rule], [why]
    for one, text in zip(passage.around, texts[1:], strict=True):
        (reasons if _is_reason(passage, one) else rules).append(text)
    return (
        " ".join(map(_as_sentence, rules)),
        " ".join(_as_sentence(reason) for reason in reasons if reason),
    )


def _is_reason(passage: Passage, one: ClassifiedSentence) -> bool:
    if passage.head.is_praise:
        return not feedback_phrases.ENDORSES.search(
            one.said
        ) and not feedback_phrases.LASTING_PRAISE.search(one.said)
    if passage.type == "feedback":
        return not one.is_rule
    return bool(phrases.GIVES_REASON.search(one.said) or order_phrases.HARM.search(one.said))


def _cut_at_reason(head: str) -> tuple[str, str]:
    """The sentence without its reason, and the reason if it gives one."""
    match = phrases.REASON.search(plain(head)) or phrases.REASON_BEHIND_COMMA.search(plain(head))
    why = head[match.end() :].strip(" ,") if match else ""
    if match and why and len(head[: match.start()].split()) > 2:
        return head[: match.start()], why
    return head, ""


def _body(kind: MemoryType, rule: str, why: str, praised: str) -> str:
    if kind in {"user", "reference"}:
        return f"{rule} {why}".strip() + "\n"
    parts = [
        rule,
        f"**Why:** {why}" if why else "",
        f"**How to apply:** {_how_to_apply(kind, praised)}",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _how_to_apply(kind: MemoryType, praised: str) -> str:
    if praised:
        return f"Keep working this way in similar cases. It was said about: {praised}"
    if kind == "feedback":
        return "Follow it without being told again, until the person says otherwise."
    return (
        "Take it into account in plans and suggestions; ask whether it still holds when it is old."
    )


def _praised_action(previous_assistant: str) -> str:
    """What the assistant said it had done, in its own first-person words."""
    own = sentences(own_words(_masked(previous_assistant[:PROSE_CHARACTERS])))
    actions = [one.text for one in own if re.search(r"\bi(?:ve)? (?!will|can|would)\w+", one.plain)]
    return cut_at_word(one_line(" ".join(actions or [one.text for one in own[:1]])), 200)


def _tidy(text: str) -> str:
    """The sentence without its lead-in words."""
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    lead = phrases.LEAD_IN.match(plain(text))
    return text[lead.end() if lead else 0 :].strip(" \t,;:-") or text


def _as_sentence(text: str) -> str:
    text = text.strip()
    ended = text if text.endswith((".", "!", "?", "…", "。")) else f"{text}."
    # A name ("iOS", "grafana.corp/d/x") keeps its spelling.
    is_word = re.match(r"[a-z]+(?:'[a-z]+)?(?:[\s,.]\s*|$)", ended)
    return ended[:1].upper() + ended[1:] if is_word else ended


def _name(rule: str) -> str:
    """A short title: the significant words of the rule."""
    words = [word.strip(".,;:!?()\"'") for word in MASK.sub(" ", rule).split()]
    small = phrases.SMALL_WORDS - phrases.NEGATIONS
    significant = [word for word in words if word and matchable(word) not in small]
    title = ""
    for word in significant or words:
        if len(title) + len(word) + 1 > NAME_CHARACTERS or title.count(" ") == 7:
            break
        title = f"{title} {word}".strip()
    title = title or rule[:NAME_CHARACTERS]
    return title[:1].upper() + title[1:]
