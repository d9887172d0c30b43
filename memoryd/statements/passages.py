"""What the sentences of a message make of each other, and which of them are one statement.

Rules:
- A bare "remember this" reaches the sentences behind it when it opens the message or ends in a
  colon, else the one before it.
- An order is feedback when the reason or the quarrel beside it shows that it is for keeps.
- Praise of what the assistant did is feedback when it says why or for which cases.
- A statement takes the asides around it, up to a break or another statement. Sentences of one type
  in a row are one statement, unless a list, an "also" or a rule on something else begins a new one.
- "Wait, ignore that" and "just this once" take back the statement before them; "can you add that"
  shows that a fact was an order for now.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise, zip_longest

import msgspec

from memoryd.dates import dates_in
from memoryd.prose import plain
from memoryd.statements import feedback, forms, reference
from memoryd.statements.kinds import MASK, Heard, Kind, MemoryType, hear, is_meant, is_rule


class Passage(msgspec.Struct, frozen=True):
    """One statement: the sentence that makes it, and what was said around that."""

    type: MemoryType
    head: Heard
    around: tuple[Heard, ...] = ()


def passages_in(
    heard: Sequence[Heard], *, previous_assistant: str, said_at: datetime
) -> list[Passage]:
    """The statements that a message makes, in their order."""
    heard = _with_remembered(heard, said_at)
    heard = _with_reasoned_orders(heard, previous_assistant, said_at)
    return _grouped(_with_praise(heard, previous_assistant))


def _with_remembered(heard: Sequence[Heard], said_at: datetime) -> list[Heard]:
    result: list[Heard] = []
    reaches_on = False
    for number, one in enumerate(heard):
        if one.kind == "pointer":
            reaches_on = number == 0 or one.sentence.text.endswith(":")
            if not reaches_on and result and result[-1].kind == "aside":
                result[-1] = hear(result[-1].sentence, said_at, must_keep=True)
            continue
        reaches_on = reaches_on and one.kind != "break"
        keep = reaches_on and one.kind == "aside"
        result.append(hear(one.sentence, said_at, must_keep=True) if keep else one)
    return result


def _with_reasoned_orders(
    heard: Sequence[Heard], previous_assistant: str, said_at: datetime
) -> list[Heard]:
    opening = heard[0].said if heard and previous_assistant else ""
    is_correction = bool(feedback.STARTS_A_CORRECTION.search(opening))
    result = list(heard)
    for number, (one, behind) in enumerate(zip_longest(heard, heard[1:])):
        reason = behind.said if behind is not None and behind.kind == "aside" else ""
        is_dated = one.kind == "project" and bool(dates_in(one.sentence.text, said_at))
        if not is_dated and _is_order_for_keeps(one, reason, is_correction=is_correction):
            result[number] = Heard(one.sentence, "feedback", is_rule=True)
    return result


def _is_order_for_keeps(one: Heard, reason: str, *, is_correction: bool) -> bool:
    said = one.said
    if not is_meant(said):
        return False
    if is_correction and one.kind != "break" and feedback.CORRECTING_FACT.search(said):
        return True
    if one.kind == "aside" and is_rule(said, reason):
        return True
    order = feedback.DIRECTIVE.search(said) or feedback.STYLE_WISH.search(said)
    if not order or (one.kind not in {"aside", "break"} and order.start()):
        return False
    return _has_weight(order, said, reason, is_correction=is_correction)


def _has_weight(order: re.Match[str], said: str, reason: str, *, is_correction: bool) -> bool:
    """Whether an order is for a kind of thing and says why, rather than for the thing at hand."""
    words = order.groupdict()
    verb, what = words.get("verb"), words["what"] or ""
    does_harm = bool(feedback.HARM.search(f"{said} {reason}"))
    if verb in feedback.TASK_VERBS and not (is_correction or does_harm):
        return False
    is_general = not feedback.DEFINITE.search(what)
    is_forbidden = verb in {"dont", "do not"} and does_harm
    is_wish = bool(words.get("that"))
    reasons = (forms.REASON, forms.REASON_BEHIND_COMMA)
    has_reason = bool(reason or does_harm or is_wish or any(form.search(said) for form in reasons))
    return has_reason and (is_general or is_correction or is_forbidden)


def _with_praise(heard: Sequence[Heard], previous_assistant: str) -> list[Heard]:
    count = next((n for n, one in enumerate(heard) if not _may_praise(one)), len(heard))
    said = " ".join(one.said for one in heard[:count])
    if not previous_assistant or not _is_praise(said):
        return list(heard)
    praise = Heard(heard[0].sentence, "feedback", is_praise=True)
    return [praise, *(Heard(one.sentence, "aside") for one in heard[1:count]), *heard[count:]]


def _is_praise(said: str) -> bool:
    content = said
    for form in (feedback.LASTING_PRAISE, feedback.ENDORSES, feedback.APPROVES):
        content = form.sub(" ", content)
    is_approval = feedback.APPROVES.search(said) and feedback.ENDORSES.search(said)
    is_meant = is_approval or feedback.LASTING_PRAISE.search(said)
    return bool(is_meant) and len(re.findall(r"\w+", content)) >= 5


def _may_praise(one: Heard) -> bool:
    if one.sentence.opens_topic or forms.NEW_TOPIC.search(one.said):
        return False
    is_praise = feedback.LASTING_PRAISE.search(one.said) and is_meant(one.said)
    return bool(one.kind in {"aside", "feedback", "project"} or is_praise)


def _grouped(heard: Sequence[Heard]) -> list[Passage]:
    found: list[Passage] = []
    before: list[Heard] = []
    is_open = False
    for one in heard:
        memory_type = _memory_type(one.kind)
        if forms.TAKEN_BACK.search(one.said):
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


def _memory_type(kind: Kind) -> MemoryType | None:
    match kind:
        case "user" | "feedback" | "project" | "reference":
            return kind
        case _:
            return None


def _is_context(one: Heard) -> bool:
    return len(one.said.split()) > 4 and not MASK.search(one.said)


def _is_task(passage: Passage, behind: Heard) -> bool:
    return passage.type == "project" and bool(forms.TASK_BEHIND.search(behind.said))


def _continues(passage: Passage, one: Heard) -> bool:
    if one.kind != passage.type or one.sentence.opens_topic or forms.NEW_TOPIC.search(one.said):
        return False
    if one.kind == "reference":
        return not reference.SYSTEM.search(one.said)
    is_own_rule = bool(one.is_rule and forms.OWN_RULE.search(one.said))
    return not is_own_rule or bool(topic_words(one.said) & topic_words(passage.head.said))


def topic_words(text: str) -> frozenset[str]:
    """The words that say what a text is about; of scripts without spaces, the pairs of letters."""
    words = re.findall(r"[^\W_]+", plain(text).replace("'", ""))
    words += [a + b for word in words if max(word) > "\u2e80" for a, b in pairwise(word)]
    known = forms.SMALL_WORDS | forms.RULE_WORDS
    return frozenset(word for word in words if len(word) > 1 and word not in known)
