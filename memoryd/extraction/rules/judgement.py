"""What becomes of a memory that a model drafts: kept, marked or refused, sentence by sentence.

Rules
- In a user or feedback memory every sentence is judged; in others every one that orders, and all of
  them if the rule is the person's.
- The person's own sentence stays. So does one that the memory already had, unmarked.
- Any other sentence is marked as concluded. One that print says is refused in a user or feedback
  memory, as is a conclusion with a word that only print has, and in its rule an order with none of
  the person's words; in others if it orders.
- The memory is the person's if its rule is, every sentence of it, and if what is concluded in it is
  drawn from their words: at least half of it is theirs, and nothing in it only print has. What was
  concluded in a memory of theirs before was judged then. What may be another's voice in their
  message does not make it theirs.
- The title and the line that describes it are shown without the text, so they say no more: they are
  the person's, name what they spoke of, or repeat the rule. Otherwise the rule's first sentence
  takes their place; if that is concluded, they are marked.
- A user or feedback memory with none of the person's words, and an order with none in any other, is
  refused if anything was printed, unless the assistant proposed it: they may have agreed to it.
- A refusal quotes the phrase of the draft, and allows one more try where leaving it out helps.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from memoryd.extraction.rules.draft_sentences import (
    MARK,
    DraftSentence,
    is_marked,
    known_key,
    marked,
    sentences_of,
    without_mark,
)
from memoryd.extraction.rules.origin_evidence import (
    OriginEvidence,
    SentenceOrigin,
    speaks_for_person,
)
from memoryd.memories.rules.topics import Topic
from memoryd.text.masking.mask import presentable
from memoryd.text.shorten import cut_at_word, one_line

GUARDED_TYPES: Final = frozenset({"user", "feedback"})
TITLE_CHARACTERS: Final = 60
DESCRIPTION_CHARACTERS: Final = 150
QUOTED_CHARACTERS: Final = 80
NEAR_SHARE: Final = 0.5

_PRINTED = "only a tool or a pasted text says {phrase}; the person neither said nor wants it."
_FAR = "the person said nothing of {phrase}, and it may come from what was printed."
_WITHOUT_IT = " One retry is allowed: the same note without it."
_NO_RETRY = " No note is made of it; do not try again."
_UNSAID = (
    "user and feedback notes hold what the person said, and their words are not in {phrase}. One"
    " retry is allowed: word it in their language as they did, or make it project or reference."
)
_UNASKED = (
    "{phrase} is worded as an order or a wish, and the person said nothing of the kind. One retry"
    " is allowed: note what is the case, or nothing."
)


class Judged(msgspec.Struct, frozen=True):
    """A memory as it may be written; `refusal` says why it may not, else it is empty."""

    name: str
    description: str
    body: str
    is_said: bool
    refusal: str = ""


class Verdict(msgspec.Struct, frozen=True):
    """A sentence of the draft, and whose it is."""

    sentence: DraftSentence
    origin: SentenceOrigin

    @property
    def is_theirs(self) -> bool:
        return self.origin in {"said", "empty"} and not self.sentence.is_marked

    @property
    def orders(self) -> bool:
        return speaks_for_person(self.sentence.text)


def judged(draft: Topic, old: Topic, evidence: OriginEvidence) -> Judged:
    """`old` is the memory as it was; an empty one if nothing of it is to count."""
    known = known_sentences(old)
    corrected = [*unmarked_texts(old)] if old.trust == "user-said" else []
    verdicts = [_verdict(one, known, corrected, evidence) for one in sentences_of(draft.body)]
    rule = [one for one in verdicts if one.sentence.part == "rule"]
    is_guarded = draft.type in GUARDED_TYPES
    refusal = _refusal(draft, verdicts, known, evidence)
    rule_is_theirs = _is_theirs(rule)
    judged_before = map(known_key, all_texts(old) if old.trust == "user-said" else ())
    new = {known_key(one.sentence.text) for one in verdicts}.difference(judged_before)
    from_elsewhere = any(
        not one.is_theirs and known_key(one.sentence.text) in new and _is_foreign(one, evidence)
        for one in verdicts
    )
    doubtful = [
        one.sentence
        for one in verdicts
        if not one.is_theirs and (is_guarded or rule_is_theirs or one.orders)
    ]
    first = next((one for one in rule if one.origin != "empty"), None)
    safe = (
        first.sentence.text if first and (first.is_theirs or not _is_judged(draft, first)) else ""
    )
    lines = _HeadLines(draft, known, evidence, safe)
    return Judged(
        name=lines.line(draft.name, TITLE_CHARACTERS),
        description=lines.line(draft.description, DESCRIPTION_CHARACTERS),
        body=marked(draft.body, doubtful),
        is_said=rule_is_theirs
        and not from_elsewhere
        and all(_is_sure(one, known, corrected, evidence) for one in rule),
        refusal=refusal,
    )


def known_sentences(topic: Topic) -> frozenset[str]:
    """The sentences of a memory that are not marked, its title and description included."""
    lines = (topic.name, topic.description)
    unmarked = (one.text for one in sentences_of(topic.body) if not one.is_marked)
    shown = (one for one in lines if one and not is_marked(one))
    return frozenset(map(known_key, (*shown, *unmarked)))


def unmarked_texts(topic: Topic) -> Iterable[str]:
    """What a memory says that is not marked as concluded, line by line."""
    yield from (one for one in (topic.name, topic.description) if one and not is_marked(one))
    yield from (one.text for one in sentences_of(topic.body) if not one.is_marked)


def all_texts(topic: Topic) -> Iterable[str]:
    """What a memory says, marked or not, line by line."""
    yield from map(without_mark, filter(None, (topic.name, topic.description)))
    yield from (one.text for one in sentences_of(topic.body))


def gone_from(old: Topic, new: Topic) -> list[str]:
    """The sentences of a body that a new one no longer has."""
    left = {known_key(one.text) for one in sentences_of(new.body)}
    return [one.text for one in sentences_of(old.body) if known_key(one.text) not in left]


def quoted_phrase(text: str) -> str:
    """A phrase of a draft, fit to be shown in a refusal."""
    plain = one_line(presentable(text)).replace('"', "'")
    return f'"{cut_at_word(plain, QUOTED_CHARACTERS)}"'


def _verdict(
    one: DraftSentence, known: frozenset[str], corrected: Sequence[str], evidence: OriginEvidence
) -> Verdict:
    is_known = known_key(one.text) in known
    return Verdict(one, "said" if is_known else evidence.origin_of(one.text, corrected))


def _is_sure(
    one: Verdict, known: frozenset[str], corrected: Sequence[str], evidence: OriginEvidence
) -> bool:
    text = one.sentence.text
    is_empty = one.origin == "empty"
    return is_empty or known_key(text) in known or evidence.is_surely_theirs(text, corrected)


def _is_judged(draft: Topic, one: Verdict) -> bool:
    return draft.type in GUARDED_TYPES or one.orders


def _is_theirs(rule: Sequence[Verdict]) -> bool:
    return any(one.origin == "said" for one in rule) and all(one.is_theirs for one in rule)


def _is_foreign(one: Verdict, evidence: OriginEvidence) -> bool:
    """Whether a conclusion may be drawn from print rather than from what the person said."""
    text = one.sentence.text
    is_far = evidence.has_print and evidence.share_of(text) < NEAR_SHARE
    return is_far or evidence.has_printed_words(text)


def _refusal(
    draft: Topic, verdicts: Sequence[Verdict], known: frozenset[str], evidence: OriginEvidence
) -> str:
    """Why the draft may not be written; empty if it may."""
    heads = [
        Verdict(DraftSentence(without_mark(line), "rule", False, 0), evidence.origin_of(line))
        for line in (draft.name, draft.description)
        if line and known_key(line) not in known
    ]
    for one in (*verdicts, *heads):
        if one.origin == "printed" and _may_not_be_printed(draft, one):
            helps = any(other.origin == "said" for other in verdicts)
            phrase = quoted_phrase(one.sentence.text)
            return _PRINTED.format(phrase=phrase) + (_WITHOUT_IT if helps else _NO_RETRY)
    return _refusal_of_invention(draft, verdicts, evidence) or _refusal_of_print(
        draft, verdicts, evidence
    )


def _refusal_of_print(draft: Topic, verdicts: Sequence[Verdict], evidence: OriginEvidence) -> str:
    """Why a conclusion may not stand in a memory of the person's wishes."""
    for one in verdicts if draft.type in GUARDED_TYPES else ():
        text = one.sentence.text
        is_invented = (
            one.sentence.part == "rule" and one.orders and _is_out_of_nowhere(text, evidence)
        )
        if one.origin == "unsaid" and (is_invented or evidence.has_printed_words(text)):
            return _FAR.format(phrase=quoted_phrase(text)) + _WITHOUT_IT
    return ""


def _refusal_of_invention(
    draft: Topic, verdicts: Sequence[Verdict], evidence: OriginEvidence
) -> str:
    """Why a memory that has nothing of the person may not be written."""
    is_guarded = draft.type in GUARDED_TYPES
    if is_guarded and any(one.origin == "said" for one in verdicts):
        return ""
    rule = [one for one in verdicts if one.sentence.part == "rule" and one.origin == "unsaid"]
    text = " ".join(one.sentence.text for one in rule if is_guarded or one.orders)
    if not text or not _is_out_of_nowhere(text, evidence):
        return ""
    return (_UNSAID if is_guarded else _UNASKED).format(phrase=quoted_phrase(text))


def _is_out_of_nowhere(text: str, evidence: OriginEvidence) -> bool:
    return not (evidence.shares_words(text) or evidence.can_be_heard(text))


def _may_not_be_printed(draft: Topic, one: Verdict) -> bool:
    return one.orders or draft.type in GUARDED_TYPES


class _HeadLines(msgspec.Struct, frozen=True):
    """Judges the title and the description of a draft; `safe` is what may take their place."""

    draft: Topic
    known: frozenset[str]
    evidence: OriginEvidence
    safe: str

    def line(self, text: str, characters: int) -> str:
        bare = without_mark(text)
        if not bare or self._may_stay(bare):
            return text
        if self.safe:
            return cut_at_word(one_line(self.safe).rstrip(".。"), characters)
        return f"{MARK} {bare}"

    def _may_stay(self, line: str) -> bool:
        if self.draft.type not in GUARDED_TYPES and not speaks_for_person(line):
            return True
        if known_key(line) in self.known or known_key(line) == known_key(self.safe):
            return True
        return self.evidence.origin_of(line) == "said" or self.evidence.names(line)
