"""A sentence as the words that carry its meaning, each with whether it is denied.

Rules
- Words are compared by their stem: case, accents, chat spelling, abbreviations, irregular forms and
  number words make no difference. Names with digits, dots or slashes are compared as written.
- Words that only join are left out. A denial is not a word but a property of the words that it
  denies: "don't use X", "stop using X" and "no X" deny X alike.
- A denial reaches to the end of its clause, and over a list that ends in "or". German, French and
  others place it freely: there it reaches over its whole clause. In Japanese it comes last.
- In scripts without spaces each ideograph is a word and kana between them join.
- Two spellings are the same word if one is a likely typo of the other; never for names and numbers.
"""
# ruff: noqa: RUF001 - wide marks and kana are what is meant

import re
import unicodedata

import msgspec

from memoryd.base.remembered import remembered
from memoryd.extraction.rules.word_classes import (
    ADDING,
    CLAUSE_OPENERS,
    DENYING,
    DENYING_ALL,
    DENYING_APART,
    DENYING_BEFORE,
    DENYING_PASSIVE,
    FORMS_OF_BE,
    IRREGULAR,
    LINKING,
    LISTING,
    NUMBERS,
    SPELT_OUT,
    joining,
)
from memoryd.text.lazy_regex import late
from memoryd.text.prose import spelt_out
from memoryd.text.terms import term_of

_TOKEN = late(
    r"[、。，；：！？,;:.!?()\[\]{}…—–\n]"
    r"|[\u4e00-\u9fff\u3400-\u4dbf々]"
    r"|[\u30a0-\u30ff]+|[\u3041-\u309f]+|[\uac00-\ud7af]+"
    r"|(?:(?![\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af])[\w@#/+~%$&=*'’.:-])+"
)
_NOT_A_DENIAL = late(
    r"\b(?:(?:do not|don['’]?t|never) (?:forget|hesitate)|vergiss nicht|n['’]oublie(?:z|s)? pas"
    r"|no olvides|no (?:problem|worries|matter)|not (?:bad|only))\b",
    re.IGNORECASE,
)
_FROM_NOW = late(
    r"\b(?:from (?:now|today|here) on(?:wards?)?|in (?:the )?future"
    r"|(?<!\w )as i (?:said|mentioned|told you)(?: (?:on )?(?:\w+day|before|earlier))?"
    r"|last (?:week|month|year|spring|summer|autumn|winter))\b",
    re.IGNORECASE,
)
_DISLIKE = late(
    r"\b(?:hate|dislike|(?:do not|don['’]?t) (?:like|want)) (?:it )?(?:when|if|that) "
    r"|\bforget about ",
    re.IGNORECASE,
)
_BREAKS = frozenset("、。，；：！？,;:.!?()[]{}…—–\n")
_ENGLISH = frozenset({"the", "is", "are", "and", "of", "you", "i", "it", "for", "to", "with", "an"})
_SAYING = frozenset({"say", "says", "said", "do", "think", "told"})
_COMMAS = frozenset(",，、")
_EDGES = "-.:/~'’*=_&$"
_PARTS = late(r"['’]")
_HYPHENS = late(r"[-‑]")
_ORDINAL = late(r"(\d+)(?:st|nd|rd|th|%|s|x)?")
_PREFIX_SHARE = 0.7
_SUFFIX_LETTERS = 4
_LEAST_LETTERS = 3


class Word(msgspec.Struct, frozen=True):
    """`key` is what is compared, `text` how it is written, `clause` the number of its clause.

    A linked word stands behind a preposition. `part` counts what "and" joins, too.
    """

    key: str
    text: str
    is_denied: bool
    clause: int
    is_linked: bool = False
    part: int = 0

    @property
    def plain(self) -> str:
        return _folded(self.text).strip(_EDGES)


class _Token(msgspec.Struct):
    key: str
    text: str
    clause: int
    is_denied: bool
    is_linked: bool
    part: int


class _Reader:
    """Reads a sentence token by token, and knows how far a denial reaches."""

    def __init__(self) -> None:
        self.found: list[_Token] = []
        self._clause = 0
        self._part = 0
        self._denies = False
        self._denied_at = 0
        self._is_english = False
        self._is_linked = False
        self._before: tuple[str, ...] = ()

    def read(self, tokens: list[str]) -> None:
        self._is_english = not _ENGLISH.isdisjoint(map(str.lower, tokens))
        for at, raw in enumerate(tokens):
            if raw in _BREAKS:
                if raw in _COMMAS and self._denies and _lists_on(tokens[at + 1 :]):
                    self._part += 1
                else:
                    self._end_clause()
            elif _is_hiragana(raw):
                self._read_hiragana(raw)
            else:
                behind = tokens[at + 1].lower() if at + 1 < len(tokens) else ""
                for word in _plain_words(raw):
                    self._read_word(word, raw, behind)
                    self._before = (*self._before[-1:], word)
                if raw.endswith(":"):
                    self._end_clause()
        self._end_clause()

    def _read_word(self, word: str, raw: str, behind: str) -> None:
        says_so = word == "so" and not _SAYING.isdisjoint(self._before[-1:])
        if (word in CLAUSE_OPENERS and not says_so) or word in DENYING_APART:
            self._end_clause()
        if word in DENYING or (word in {"instead", "rather"} and behind in {"of", "than"}):
            self._denies, self._denied_at = True, len(self.found)
            near = {word[:-2], behind, *self._before}
            if word in DENYING_PASSIVE and not near.isdisjoint(FORMS_OF_BE):
                self._deny_clause()
        elif word in DENYING_ALL:
            self._deny_clause()
            self._denies = True
        elif word not in joining():
            self.found += [
                _Token(key, raw, self._clause, self._denies, self._is_linked, self._part)
                for key in _keys(word)
            ]
            self._is_linked = False
        elif word in LINKING and not (word == "a" and self._is_english):
            self._is_linked = True
        elif word in ADDING:
            self._part += 1

    def _read_hiragana(self, raw: str) -> None:
        if any(mark in raw for mark in DENYING_BEFORE):
            self._deny_clause()
            self._end_clause()

    def _end_clause(self) -> None:
        if self._denies and self._denied_at == len(self.found):  # "guests can't": what comes before
            self._deny_clause()
        self._clause += 1
        self._part += 1
        self._denies = False

    def _deny_clause(self) -> None:
        for token in self.found:
            token.is_denied |= token.clause == self._clause


def words_of(text: str) -> list[Word]:
    """The words of substance of a sentence, in order."""
    reader = _Reader()
    plain = _FROM_NOW.sub(" ", _DISLIKE.sub("not ", _NOT_A_DENIAL.sub(" ", _composed(text))))
    reader.read(_TOKEN.findall(plain))
    return [
        Word(one.key, one.text, one.is_denied, one.clause, one.is_linked, one.part)
        for one in reader.found
    ]


def has_denial(text: str) -> bool:
    """Whether any word of it denies."""
    kana = filter(_is_hiragana, _TOKEN.findall(_composed(text)))
    if any(mark in raw for raw in kana for mark in DENYING_BEFORE):
        return True
    return not (DENYING | DENYING_ALL).isdisjoint(plain_words(text))


def plain_words(text: str) -> list[str]:
    """Every word, those that only join included, in plain lower case."""
    tokens = _TOKEN.findall(_composed(text))
    return [word for raw in tokens if raw not in _BREAKS for word in _plain_words(raw)]


def keys_in(text: str) -> set[str]:
    """What the words of substance of any text are compared by."""
    return {key for raw in _TOKEN.findall(_composed(text)) for key in _keys_of_token(raw)}


@remembered(4_096)
def _keys_of_token(raw: str) -> tuple[str, ...]:
    if raw in _BREAKS or _is_hiragana(raw):
        return ()
    ignored = joining() | DENYING | DENYING_ALL
    return tuple(key for word in _plain_words(raw) if word not in ignored for key in _keys(word))


@remembered(4_096)
def are_alike(one: str, other: str) -> bool:
    """Whether two stems are forms or likely typos of one word."""
    if one == other:
        return True
    if not (one.isalpha() and other.isalpha()) or one[0] != other[0]:
        return False
    return _is_inflected(one, other) or _is_typo(one, other)


def _lists_on(rest: list[str]) -> bool:
    """Whether a list goes on behind a comma and ends in "or"."""
    for raw in rest:
        word = raw.lower()
        if word in LISTING:
            return True
        if (raw in _BREAKS and raw not in _COMMAS) or word in CLAUSE_OPENERS or word in DENYING:
            return False
    return False


def _is_hiragana(raw: str) -> bool:
    return "\u3041" <= raw[0] <= "\u309f"


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


@remembered(4_096)
def _plain_words(raw: str) -> tuple[str, ...]:
    """The words of one token: "don't" is one, "j'ai" are two, and "left-handed" too."""
    bare = spelt_out(_folded(raw).strip(_EDGES))
    if not bare:
        return ()
    if not bare.isascii() or bare.replace("'", "").replace("’", "").isalpha():
        joined = bare.replace("'", "").replace("’", "")
        if joined in DENYING or joined in joining():
            return (joined,)
        if joined.endswith("s") and bare.endswith(("'s", "’s")):
            return (bare[:-2],)
        return tuple(part for part in _PARTS.split(bare) if part)
    parts = [part for part in _HYPHENS.split(bare) if part]
    return tuple(parts) if all(part.isalpha() for part in parts) else (bare,)


@remembered(4_096)
def _keys(word: str) -> tuple[str, ...]:
    if word in NUMBERS:
        return (NUMBERS[word],)
    if ordinal := _ORDINAL.fullmatch(word):
        return (ordinal[1].lstrip("0") or "0",)
    spelt = SPELT_OUT.get(word, word)
    return tuple(_key(part) for part in spelt.split())


def _key(word: str) -> str:
    word = IRREGULAR.get(word, word)
    if word.isascii() and word.isalpha():
        word = re.sub(r"is(e[sdr]?|ing|ation)$", r"iz\1", word)
    return term_of(word)


def _folded(raw: str) -> str:
    if raw.isascii():
        return raw.lower()
    bare = unicodedata.normalize("NFD", raw.casefold())
    return "".join(letter for letter in bare if not "\u0300" <= letter <= "\u036f")


def _is_inflected(one: str, other: str) -> bool:
    """Whether they differ only in how they end."""
    short, long = sorted((one, other), key=len)
    same = 0
    for a, b in zip(short, long, strict=False):
        if a != b:
            break
        same += 1
    if len(long) - same > _SUFFIX_LETTERS:
        return False
    if same == len(short):
        return len(short) >= _LEAST_LETTERS and len(long) - same <= 1 + (
            len(short) > _LEAST_LETTERS
        )
    return same >= 4 and same >= _PREFIX_SHARE * len(long)


def _is_typo(one: str, other: str) -> bool:
    """Whether two letters are swapped, one is missing, or in a long word one is another."""
    short, long = sorted((one, other), key=len)
    if len(long) < 4 or len(long) - len(short) > 1:
        return False
    at = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    is_swap = short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    return is_swap or (len(long) >= 6 and short[at + 1 :] == long[at + 1 :])
