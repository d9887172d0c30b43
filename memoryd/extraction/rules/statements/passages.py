"""How the sentences of a message affect each other, and which of them are one statement.

Rules:
- A bare "remember this" points to the sentences after it if it opens the message or ends in a
  colon, otherwise to the one before it.
- An order is feedback if a reason or a dispute beside it shows that it is lasting.
- "Always." after a few words makes a rule of them.
- Praise of what the assistant did is feedback if it says why or for which cases.
- A statement takes the asides around it, up to a break or another statement. Consecutive sentences
  of one type are one statement, unless a list, an "also" or a rule on something else starts a new
  one.
- "Wait, ignore that" and "just this once" withdraw the statement before them; "can you add that"
  shows that a fact was an order for now.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise, zip_longest

import msgspec

from memoryd.extraction.rules.statements import (
    feedback_phrases,
    order_phrases,
    phrases,
    reference_phrases,
)
from memoryd.extraction.rules.statements.classify import (
    MASK,
    ClassifiedSentence,
    MemoryType,
    StatementKind,
    classify,
    is_sincere,
)
from memoryd.extraction.rules.statements.orders import (
    OrderContext,
    is_lasting_order,
    leads_with_lasting_order,
)
from memoryd.text.dates import dates_in
from memoryd.text.prose import plain

# "It crashes when I scroll. Every time." is not a rule; neither is anything long.
EMPHASISED_WORDS_MAX = 16


class Passage(msgspec.Struct, frozen=True):
    """One statement: the sentence that makes it, and the sentences around it that belong to it."""

    type: MemoryType
    head: ClassifiedSentence
    around: tuple[ClassifiedSentence, ...] = ()


def passages_in(
    classified: Sequence[ClassifiedSentence], *, previous_assistant: str, said_at: datetime
) -> list[Passage]:
    """The statements that a message makes, in order."""
    classified = _apply_emphasis(_resolve_pointers(classified, said_at))
    classified = _mark_reasoned_orders(classified, previous_assistant, said_at)
    return _grouped(_mark_praise(classified, previous_assistant))


def _resolve_pointers(
    classified: Sequence[ClassifiedSentence], said_at: datetime
) -> list[ClassifiedSentence]:
    result: list[ClassifiedSentence] = []
    reaches_on = False
    for number, one in enumerate(classified):
        if one.kind == "pointer":
            reaches_on = number == 0 or one.sentence.text.endswith(":")
            if not reaches_on and result and result[-1].kind == "aside":
                result[-1] = classify(result[-1].sentence, said_at, must_keep=True)
            continue
        reaches_on = reaches_on and one.kind != "break"
        keep = reaches_on and one.kind == "aside"
        result.append(classify(one.sentence, said_at, must_keep=True) if keep else one)
    return result


def _apply_emphasis(classified: Sequence[ClassifiedSentence]) -> list[ClassifiedSentence]:
    """An "always." after a few words makes a rule of them."""
    result: list[ClassifiedSentence] = []
    for one in classified:
        if order_phrases.EMPHASIS.fullmatch(one.said) and result and _may_be_a_rule(result[-1]):
            result[-1] = ClassifiedSentence(result[-1].sentence, "feedback", is_rule=True)
        result.append(one)
    return result


def _may_be_a_rule(one: ClassifiedSentence) -> bool:
    is_short = len(one.said.split()) <= EMPHASISED_WORDS_MAX
    return one.kind in {"aside", "break"} and is_short and is_sincere(one.said)


def _mark_reasoned_orders(
    classified: Sequence[ClassifiedSentence], previous_assistant: str, said_at: datetime
) -> list[ClassifiedSentence]:
    is_dispute = _is_dispute(classified, previous_assistant)
    result = list(classified)
    for number, (one, behind) in enumerate(zip_longest(classified, classified[1:])):
        reason = behind.said if behind is not None and behind.kind == "aside" else ""
        before = (
            classified[number - 1].said if number and classified[number - 1].kind == "aside" else ""
        )
        is_dated = one.kind == "project" and bool(dates_in(one.sentence.text, said_at))
        if not is_dated and _is_lasting_order(one, OrderContext(reason, before, is_dispute)):
            result[number] = ClassifiedSentence(one.sentence, "feedback", is_rule=True)
    return result


def _is_dispute(classified: Sequence[ClassifiedSentence], previous_assistant: str) -> bool:
    is_answer = bool(classified and previous_assistant)
    return bool(
        (is_answer and order_phrases.DISPUTES.search(classified[0].said))
        or any(order_phrases.REPEATS.search(one.said) for one in classified)
    )


def _is_lasting_order(one: ClassifiedSentence, context: OrderContext) -> bool:
    said = one.said
    if not is_sincere(said):
        return False
    if one.kind == "reference" or (one.kind == "break" and phrases.REMEMBER.search(said)):
        return False
    if one.kind in {"aside", "break"}:
        is_fact = one.kind == "aside" and feedback_phrases.CORRECTING_FACT.search(said)
        return is_lasting_order(said, context) or bool(context.is_dispute and is_fact)
    return leads_with_lasting_order(said, context)


def _mark_praise(
    classified: Sequence[ClassifiedSentence], previous_assistant: str
) -> list[ClassifiedSentence]:
    count = next((n for n, one in enumerate(classified) if not _may_praise(one)), len(classified))
    said = " ".join(one.said for one in classified[:count])
    if not previous_assistant or not _is_praise(said):
        return list(classified)
    praise = ClassifiedSentence(classified[0].sentence, "feedback", is_praise=True)
    return [
        praise,
        *(ClassifiedSentence(one.sentence, "aside") for one in classified[1:count]),
        *classified[count:],
    ]


def _is_praise(said: str) -> bool:
    """Whether it asks for more of the same, or approves and says of what or why."""
    if feedback_phrases.LASTING_PRAISE.search(said):
        return True
    content = feedback_phrases.APPROVES.sub(" ", feedback_phrases.ENDORSES.sub(" ", said))
    is_approval = feedback_phrases.APPROVES.search(said) and feedback_phrases.ENDORSES.search(said)
    return bool(is_approval) and len(re.findall(r"\w+", content)) >= 5


def _may_praise(one: ClassifiedSentence) -> bool:
    if one.sentence.opens_topic or phrases.NEW_TOPIC.search(one.said):
        return False
    is_praise = feedback_phrases.LASTING_PRAISE.search(one.said) and is_sincere(one.said)
    return bool(one.kind in {"aside", "feedback", "project"} or is_praise)


def _grouped(classified: Sequence[ClassifiedSentence]) -> list[Passage]:
    found: list[Passage] = []
    before: list[ClassifiedSentence] = []
    is_open = False
    for one in classified:
        memory_type = _memory_type(one.kind)
        if phrases.TAKEN_BACK.search(one.said):
            del found[-1:]
            before, is_open = [], False
        elif one.kind == "break":
            if is_open and _is_task(found[-1], one):
                del found[-1:]
            before, is_open = [], False
        elif memory_type is None and " " not in one.said and one.said.isascii():
            continue
        elif memory_type is None and not is_open:
            before.append(one)
        elif memory_type is None or (is_open and _continues(found[-1], one)):
            found[-1] = msgspec.structs.replace(found[-1], around=(*found[-1].around, one))
        else:
            leading = (said for said in before[-2:] if _is_context(said))
            found.append(Passage(memory_type, one, tuple(leading)))
            before, is_open = [], True
    return found


def _memory_type(kind: StatementKind) -> MemoryType | None:
    match kind:
        case "user" | "feedback" | "project" | "reference":
            return kind
        case _:
            return None


def _is_context(one: ClassifiedSentence) -> bool:
    return len(one.said.split()) > 4 and not MASK.search(one.said)


def _is_task(passage: Passage, behind: ClassifiedSentence) -> bool:
    return passage.type == "project" and bool(phrases.TASK_BEHIND.search(behind.said))


def _continues(passage: Passage, one: ClassifiedSentence) -> bool:
    if phrases.FOLLOWS.search(one.said) and passage.type != "reference":
        return True
    if one.kind != passage.type or one.sentence.opens_topic or phrases.NEW_TOPIC.search(one.said):
        return False
    if one.kind == "reference":
        return not reference_phrases.SYSTEM.search(one.said)
    is_own_rule = bool(one.is_rule and phrases.OWN_RULE.search(one.said))
    return not is_own_rule or bool(topic_words(one.said) & topic_words(passage.head.said))


def topic_words(text: str) -> frozenset[str]:
    """The words that say what a text is about; for scripts without spaces, pairs of letters."""
    words = re.findall(r"[^\W_]+", plain(text).replace("'", ""))
    words += [a + b for word in words if max(word) > "\u2e80" for a, b in pairwise(word)]
    known = phrases.SMALL_WORDS | phrases.RULE_WORDS
    return frozenset(word for word in words if len(word) > 1 and word not in known)
