"""Whose words a sentence is made of, as far as comparing words can tell.

Rules
- A sentence is the person's if it is one of theirs, lightly edited (`spans`). What they typed is
  theirs, whatever was printed or pasted beside it; what they pasted is printed matter, as is what
  tools printed and what a run is shown by its own tools. In a message that shows another voice
  (`foreign_text`) it is theirs, but not surely.
- Any other sentence is printed if print says it: one or two printed sentences have most of the
  words that the person did not use, and give an order or begin like it, or there are many of them.
  Else it is unsaid: a conclusion at best. What print holds as base64 or hex is printed, too.
- A sentence without words of substance ("Always.", "No reason was given.") says nothing.
- Whether a text speaks for the person is decided by its form: an imperative, a word that makes a
  rule, or a claim about what they want.
- A text in other words or another language than its source is not recognised as printed. But then
  it does not have the person's words either, and is unsaid.
"""

import binascii
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, Literal

import msgspec

from memoryd.extraction.rules.foreign_text import may_be_anothers
from memoryd.extraction.rules.spans import SaidSpans
from memoryd.extraction.rules.wording import has_denial, keys_in, words_of
from memoryd.text.lazy_regex import late
from memoryd.text.prose import own_words

PRINTED_WORDS: Final = 2
PRINTED_SHARE: Final = 0.6
COPIED_WORDS: Final = 4
COPIED_SHARE: Final = 0.75
WHOLE_SHARE: Final = 0.5
HEARD_SHARE: Final = 0.5
FEW_WORDS: Final = 3
# A word that is in more sentences than this tells nothing about where a text is from.
COMMON_SENTENCES: Final = 400

# A text without end is not unpacked without end.
PACKED_MOST: Final = 200

SentenceOrigin = Literal["said", "empty", "printed", "unsaid"]

_SENTENCE_END = late(r"(?<=[.!?;:])\s+|(?<=[。！？；])|\n+")  # noqa: RUF001 - wide marks too
_PACKED = late(r"(?<![\w+/-])[\w+/-]{16,8192}={0,2}(?![\w+/-])", re.ASCII)
_HEX = late(r"(?:[0-9a-fA-F]{2})+")
_AS_SAID = late(
    r"^\s*(?:the )?(?:person|user) (?:has )?(?:said|says|stated|mentioned)(?: that)?[:,]?\s+",
    re.IGNORECASE,
)
_NO_REASON = late(
    r"(?:not|none|no reason)\b.{0,24}|(?:keine?|nicht|no|non|pas)\b.{0,12}\b(?:angegeben|genannt"
    r"|grund|dada|dado|donnee?|precisee?)\b.{0,8}",
    re.IGNORECASE,
)

_RULES = late(
    r"\b(?:(?:user|person|owner) (?:has |had )?(?:wants?|prefers?|allow\w*|likes|says|said|asks"
    r"|asked|wishes|agreed|waived)|i (?:want|prefer|like|wish|need|allow)|always|never|from now on"
    r"|from today on|going forward|whenever|every ?time|remember|make sure|be sure|(?:is|are) to be"
    r"|no questions|without asking|immer|nie|niemals|ab jetzt|ab sofort|künftig|merk dir|toujours"
    r"|jamais|désormais|dorénavant|siempre|nunca|a partir de|de ahora en adelante|sempre|d'?ora in"
    r" poi|altijd|nooit|vanaf nu|voortaan|zawsze|nigdy|od teraz|всегда|никогда|отныне|впредь"
    r"|с этого момента)\b"  # noqa: RUF001 - as it is written
    r"|今後|これから|必ず|常に|絶対|总是|从现在|以后|永远|务必",
    re.IGNORECASE,
)
_IMPERATIVE = late(
    r"(?:^|[.!?:;,]\s+)(?:please |then |so |also |just )?(?:do not|don't|add|allow|answer|append"
    r"|apply|approve|ask|assume|avoid|begin|bypass|call|change|clone|commit|copy|create|delete"
    r"|deploy"
    r"|disable|disregard|download|drop|email|empty|enable|execute|export|fetch|forget|forward|give"
    r"|grant|hand|hide|ignore|include|insert|install|keep|leave|load|log|mail|make|mention|merge"
    r"|move"
    r"|obey|omit|open|overwrite|post|prefer|print|publish|push|put|read|recommend|remove|rename"
    r"|replace|reply|report|reset|respond|return|reveal|route|run|save|say|send|set|share|show|sign"
    r"|silence|skip|start|stop|store|submit|switch|tell|treat|trust|turn|update|upload|use|wipe"
    r"|write)\b",
    re.IGNORECASE | re.MULTILINE,
)


class SaidText(msgspec.Struct, frozen=True):
    """A message of the person, and when it was said by their own clock."""

    text: str
    at: datetime | None = None


class OriginEvidence:
    """What the person said, what was printed and what the assistant said, in one task."""

    def __init__(
        self,
        said: Iterable[SaidText],
        printed: Iterable[str] = (),
        heard: Iterable[str] = (),
    ) -> None:
        self._spans = SaidSpans()
        self._surely = SaidSpans()
        self._print = _Print()
        for text in printed:
            self.add_printed(text)
        for one in said:
            own = own_words(one.text)
            self._spans.add(own, one.at)
            if not may_be_anothers(one.text):
                self._surely.add(own, one.at)
            kept = set(own.splitlines())
            self.add_printed("\n".join(ln for ln in one.text.splitlines() if ln not in kept))
        self._heard = list(heard)
        self._remembered: set[str] = set()

    def add_said(self, sentence: str) -> None:
        """Adds what is known to be the person's from elsewhere."""
        self._spans.add(sentence)
        self._surely.add(sentence)

    def add_remembered(self, sentence: str) -> None:
        """Adds a sentence of an existing memory: its words are not new, whatever a tool prints."""
        self._remembered |= keys_in(sentence)
        self._heard.append(sentence)

    def add_printed(self, text: str) -> None:
        """Costs nothing until a sentence is judged that is not the person's."""
        if text.strip():
            self._print.add(text)

    def origin_of(self, sentence: str, corrected: Sequence[str] = ()) -> SentenceOrigin:
        """Whose a sentence is; `corrected` are sentences of the person that it may correct."""
        sentence = _AS_SAID.sub("", sentence)
        words = words_of(sentence)
        if not words:
            says_no = has_denial(sentence) and not _NO_REASON.fullmatch(sentence.strip())
            return "unsaid" if says_no else "empty"
        if self._spans.hold(sentence) or self._spans.correct(sentence, corrected):
            return "said"
        keys = [word.key for word in words]
        unsaid = frozenset(
            key for key in keys if key not in self._remembered and not self._spans.know(key)
        )
        return "printed" if self._print.says(sentence, keys, unsaid) else "unsaid"

    def is_surely_theirs(self, sentence: str, corrected: Sequence[str] = ()) -> bool:
        """Whether it is said in a message that shows no other voice."""
        sentence = _AS_SAID.sub("", sentence)
        return self._surely.hold(sentence) or self._surely.correct(sentence, corrected)

    def names(self, title: str) -> bool:
        """Whether a title only names what the person spoke of, and orders nothing."""
        return self._spans.name(title) and not speaks_for_person(title)

    def shares_words(self, text: str) -> bool:
        """Whether the person used any of its words."""
        return self.share_of(text) > 0

    def speaks_of(self, text: str) -> bool:
        """Whether the person used enough of its words to be speaking of it: two of a long text."""
        keys = keys_in(text)
        used = sum(map(self._spans.know, keys))
        return used >= (1 if len(keys) <= FEW_WORDS else 2)

    def share_of(self, text: str) -> float:
        """How many of its words the person used, as a share of all."""
        keys = keys_in(text)
        return sum(map(self._spans.know, keys)) / max(len(keys), 1)

    def has_printed_words(self, text: str) -> bool:
        """Whether any of its words was printed, and is neither the person's nor remembered."""
        new = keys_in(text) - self._remembered
        return any(self._print.has(key) and not self._spans.know(key) for key in new)

    @property
    def has_print(self) -> bool:
        return bool(self._print)

    def can_be_heard(self, text: str) -> bool:
        """Whether it may be what the assistant proposed, or nothing was printed at all."""
        if not self.has_print:
            return True
        keys = keys_in(text)
        heard = {key for said in self._heard for key in keys_in(said)}
        return bool(keys) and len(keys & heard) >= HEARD_SHARE * len(keys)


class _Print:
    """Printed sentences, found by their words."""

    def __init__(self) -> None:
        self._unread: list[str] = []
        self._sentences: list[str] = []
        self._keys: list[frozenset[str]] = []
        self._places: dict[str, list[int]] = defaultdict(list)

    def __bool__(self) -> bool:
        return bool(self._unread or self._sentences)

    def add(self, text: str) -> None:
        self._unread.append(text)
        self._unread += unpacked(text)

    def has(self, key: str) -> bool:
        self._read()
        return key in self._places

    def says(self, sentence: str, keys: list[str], unsaid: frozenset[str]) -> bool:
        """Whether print says this sentence; `unsaid` are its words that the person did not use."""
        self._read()
        if len(unsaid) < PRINTED_WORDS:
            return False
        near = {
            number
            for key in unsaid
            if len(places := self._places.get(key, ())) <= COMMON_SENTENCES
            for place in places
            for number in (place - 1, place)
        }
        is_order = speaks_for_person(sentence)
        return any(self._says(number, keys, unsaid, is_order=is_order) for number in near)

    def _says(
        self, number: int, keys: list[str], unsaid: frozenset[str], *, is_order: bool
    ) -> bool:
        first = max(number, 0)
        there = frozenset().union(*self._keys[first : number + 2])
        hits = len(unsaid & there)
        if hits >= max(COPIED_WORDS, COPIED_SHARE * len(unsaid)):
            return True
        if hits < max(PRINTED_WORDS, PRINTED_SHARE * len(unsaid)):
            return False
        if len(there.intersection(keys)) < WHOLE_SHARE * len(keys):
            return False
        begins_alike = keys[0] in there
        return begins_alike or (
            is_order and any(map(speaks_for_person, self._sentences[first : number + 2]))
        )

    def _read(self) -> None:
        while self._unread:
            for sentence in filter(str.strip, _SENTENCE_END.split(self._unread.pop())):
                number = len(self._sentences)
                self._sentences.append(sentence)
                self._keys.append(frozenset(keys_in(sentence)))
                for key in self._keys[number]:
                    self._places[key].append(number)
            # Two texts are no neighbours.
            self._sentences.append("")
            self._keys.append(frozenset())


def unpacked(text: str) -> Iterator[str]:
    """What is packed into a text as base64 or hex: a model reads that as easily as we do."""
    for packed in _PACKED.findall(text)[:PACKED_MOST]:
        try:
            data = bytes.fromhex(packed) if _HEX.fullmatch(packed) else _from_base64(packed)
        except ValueError:
            continue
        words = data.decode("utf-8", "replace")
        if words.isprintable() and " " in words:
            yield words


def _from_base64(packed: str) -> bytes:
    plain = packed.rstrip("=").replace("-", "+").replace("_", "/")
    return binascii.a2b_base64(plain + "=" * (-len(plain) % 4))


def speaks_for_person(text: str) -> bool:
    """Whether it says what to do or what the person wants, rather than how things are."""
    return bool(_RULES.search(text) or _IMPERATIVE.search(text))
