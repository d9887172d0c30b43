"""Turns prose and code into the terms that ranking counts.

A term is a lower-cased, accent-folded, stemmed word. The rules:

- Stop words give no term.
- An identifier gives its words and itself: `maxLossPercent`, `max_loss_percent` and
  `max-loss-percent` all give max, loss, percent and the one joined word.
- A dotted name or a path gives the terms of its segments, and itself as written.
- Numbers, versions and dates stay whole, and give their leading parts too: `3.11.7` also gives
  3.11, `2026-03-30` also gives 2026-03 and 2026. `v2.1` is also 2.1; `python3` is also python.
- A date is found by its ISO form and in words: `2026-03-30` also gives march and 03-30, and
  "March 30", "30th of March 2026" and "30. März" also give 03-30, with a year the whole date.
- Scripts written without spaces give every pair of adjacent characters.
- Only ASCII words are stemmed; other languages are matched by whole words.

The index and a query must be treated alike, so both use `terms_of`.
"""

import re
import unicodedata
from collections.abc import Container, Iterator, Sequence
from itertools import chain, pairwise
from string import ascii_lowercase

import Stemmer  # type: ignore[import-not-found]  # compiled, and ships no type information

from memoryd.base.remembered import remembered
from memoryd.text.date_words import MONTHS, SHORT_MONTHS
from memoryd.text.lazy_regex import late

STOP_WORDS = frozenset(
    """
    a about after again all also am an and any are aren as at be because been before being between
    both but by can cannot could couldn d did didn do does doesn doing don done for from further had
    hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn
    it its itself just ll m me more most my myself no nor not now of off on once only or other our
    ours ourselves out over own re s same shall she should shouldn so some such t than that the
    their theirs them themselves then there these they this those through to too under until up upon
    ve very was wasn we were weren what when where which while who whom whose why will with won
    would wouldn you your yours yourself yourselves
    """.split()  # noqa: SIM905 - nine lines instead of 150
)

LONGEST_TERM = 64
BEGINNING_LETTERS = 4
_REMEMBERED_TOKENS = 16_384
_REMEMBERED_STEMS = 4_096

# Thai, Lao, Burmese, Khmer, kana, Han and Hangul: a run of them is not one word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Words are defined by exclusion: `\w` would split Hindi and Arabic at every vowel sign.
_OUTSIDE_WORDS = (
    r"\x00-/:-@\[-^`{-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf"
    "\u2000-\u206f\u2190-\u2bff\u3000-\u3040\ufe00-\ufe0f\uff00-\uff0f\uff1a-\uff20"
)
# Bounded, so that a megabyte without a space is many small tokens, not one huge cache entry.
_WORD = f"[^{_OUTSIDE_WORDS}{_UNSPACED}]{{1,64}}"
_JOINER = r"(?:::|[-./:@'’\\])"  # noqa: RUF001 - the typographic apostrophe is meant
_TOKEN = late(rf"[cC]\+\+|[cCfF]#|{_WORD}(?:{_JOINER}{_WORD}){{0,15}}|[{_UNSPACED}]{{1,256}}")
_UNSPACED_RUN = late(f"[{_UNSPACED}]+")
_SEGMENT_END = late(r"[./:@\\]+")
_JOINT = late("[-_'’]+")  # noqa: RUF001 - as above
_CONTRACTION = late("['’](?:s|t|re|ve|ll|d|m)$", re.IGNORECASE)  # noqa: RUF001 - as above
_NUMBER = late(r"[vV]?([0-9]+(?:[-./:][0-9]+)+)")
_HUMPED = late(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_HUMP = late(
    r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+[a-z]*"
)
_ISO_DATE = late(r"(?:19|20)[0-9]{2}-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-3][0-9]))?")
_MONTHS = MONTHS | SHORT_MONTHS
_MONTH_NAMES = "|".join(
    sorted({*_MONTHS, "märz", "février", "août", "décembre"}, key=len, reverse=True)
)
_LETTERS = late(r"[^\W\d_]+")
_MONTH_WORDS = frozenset(_MONTH_NAMES.split("|"))
_ORDINAL = "(?:st|nd|rd|th)?"
_DIGITS = late(r"[0-9]+")
# A month is this near to its day: the longest name, with "of", "the" and points between them.
_NEAR_A_DAY = 32
_MONTH_AND_DAY = late(
    rf"\b(?:(?P<day>[12]?[0-9]|3[01])(?:{_ORDINAL}|\.) (?:of |de )?(?P<month>{_MONTH_NAMES})"
    rf"|(?P<month_first>{_MONTH_NAMES})\.? (?:the )?(?P<day_second>[12]?[0-9]|3[01]){_ORDINAL})"
    r"\b(?:,? (?:de )?(?P<year>20[0-9]{2})\b)?",
    re.IGNORECASE,
)
_PARAGRAPH = late(r"\n+")
_SENTENCE = late(r"(?<=[.!?])\s+")


_MONTH_TERMS = (
    *("januari", "februari", "march", "april", "may", "june"),
    *("juli", "august", "septemb", "octob", "novemb", "decemb"),
)


def terms_of(text: str) -> list[str]:
    """The terms of a text in order, with repeats."""
    text = _composed(text)
    found = list(chain.from_iterable(map(_terms_of_token, _TOKEN.findall(text))))
    return found + _dates_in_words(text)


def compounds_of(text: str) -> set[str]:
    """Those terms of a text that repeat other terms of it as one: whole identifiers and paths."""
    return set(chain.from_iterable(map(_compounds_of_token, _TOKEN.findall(_composed(text)))))


def spoken_words(text: str) -> list[str]:
    """The words of a text, unstemmed and without stop words."""
    return list(chain.from_iterable(map(_words_of_token, _TOKEN.findall(_composed(text)))))


def term_of(word: str) -> str:
    """The term that one lower-cased word gives."""
    return _stem(word) if word.isascii() and word.isalpha() else word[:LONGEST_TERM]


def is_unspaced(text: str) -> bool:
    """Whether a text begins in a script that is written without spaces between words."""
    return _UNSPACED_RUN.match(text) is not None


def near_misses(word: str, beginnings: Sequence[Container[str]]) -> frozenset[str]:
    """The terms of the ASCII words that are one typo away from `word`, of four letters or more.

    A typo omits, adds, changes or swaps one letter, but never the first. Stemming hundreds of words
    is slow, so words that begin in none of the `beginnings` of terms are dropped first.
    """
    typos: list[str] = []
    for some in beginnings:
        for at in range(1, min(BEGINNING_LETTERS, len(word))):
            typos += _typos_at(word, at, some)
    if any(word[:BEGINNING_LETTERS] in some for some in beginnings):
        for at in range(BEGINNING_LETTERS, len(word) + 1):
            typos += _typos_at(word, at, None)
    return frozenset(_stemmer().stemWords(typos)) - {_stem(word)}


def _typos_at(word: str, at: int, beginnings: Container[str] | None) -> list[str]:
    """Those before a letter; the `beginnings` are None if they are like the word's."""
    head, tail, rest = word[:at], word[at:], word[at + 1 :]
    if beginnings is None:
        typos = [head + letter + tail for letter in ascii_lowercase]
        if tail:
            typos += [head + letter + rest for letter in ascii_lowercase]
            typos += [head + rest, head + rest[:1] + tail[0] + rest[1:]]
        return typos
    # Most begin like no term: their beginnings are made first.
    left = BEGINNING_LETTERS - at - 1
    begin, change = tail[:left], rest[:left]
    typos = [head + x + tail for x in ascii_lowercase if head + x + begin in beginnings]
    typos += [head + x + rest for x in ascii_lowercase if head + x + change in beginnings]
    both = head + rest, head + rest[:1] + tail[0] + rest[1:]
    return typos + [typo for typo in both if typo[:BEGINNING_LETTERS] in beginnings]


def passages_of(text: str, longest_chars: int) -> list[str]:
    """A text split at paragraphs and sentences into passages of about `longest_chars`."""
    found: list[str] = []
    current = ""
    for paragraph in _PARAGRAPH.split(text):
        for sentence in _SENTENCE.split(paragraph):
            if current and len(current) + len(sentence) > longest_chars:
                found.append(current)
                current = ""
            current = f"{current} {sentence}" if current else sentence
    return [*found, current] if current else found


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


@remembered(_REMEMBERED_TOKENS)
def _terms_of_token(token: str) -> tuple[str, ...]:
    if token.isascii() and token.isalpha() and not _HUMPED.search(token):
        word = token.lower()
        return () if word in STOP_WORDS else (term_of(word),)
    if token.endswith(("+", "#")):
        return (token.lower(),)
    if _UNSPACED_RUN.match(token):
        return (token,) if len(token) == 1 else tuple(a + b for a, b in pairwise(token))
    token = _CONTRACTION.sub("", token)
    number = _NUMBER.fullmatch(token)
    return _number_terms(token, number[1]) if number else _name_terms(token)


@remembered(_REMEMBERED_TOKENS)
def _words_of_token(token: str) -> tuple[str, ...]:
    if token.isascii() and token.isalpha() and not _HUMPED.search(token):
        word = token.lower()
        return () if word in STOP_WORDS else (word,)
    words = _folded_words(_CONTRACTION.sub("", token))
    return tuple(word for word in words if word not in STOP_WORDS)


@remembered(_REMEMBERED_TOKENS)
def _compounds_of_token(token: str) -> tuple[str, ...]:
    if (token.isascii() and token.isalpha() and not _HUMPED.search(token)) or is_unspaced(token):
        return ()
    token = _CONTRACTION.sub("", token)
    if _NUMBER.fullmatch(token):
        return ()
    segments = [segment for segment in _SEGMENT_END.split(token) if segment]
    found = [term_of("".join(words)) for each in segments if len(words := _folded_words(each)) > 1]
    return (*found, _folded(token)[:LONGEST_TERM]) if len(segments) > 1 else tuple(found)


def _dates_in_words(text: str) -> list[str]:
    found: list[str] = []
    # Asked first: few numbers are beside a month, and the names of months are many.
    near = " ".join(_near_numbers(text))
    if not near or _MONTH_WORDS.isdisjoint(_LETTERS.findall(near.lower())):
        return found
    for match in _MONTH_AND_DAY.finditer(text):
        month = _MONTHS[_folded(match["month"] or match["month_first"])]
        day = int(match["day"] or match["day_second"])
        found.append(f"{month:02}-{day:02}")
        if match["year"]:
            found.append(f"{match['year']}-{month:02}-{day:02}")
    return found


def _near_numbers(text: str) -> Iterator[str]:
    """The parts of a text around its numbers, apart from each other."""
    start = end = 0
    for number in _DIGITS.finditer(text):
        first, last = number.span()
        if first - _NEAR_A_DAY > end:
            yield text[start:end]
            start = first - _NEAR_A_DAY
        end = last + _NEAR_A_DAY
    yield text[start:end]


def _number_terms(token: str, number: str) -> tuple[str, ...]:
    cuts = (match.start() for match in re.finditer(r"[-./:]", number))
    forms = [number, *(number[:cut] for cut in cuts if cut > 2)]
    date = _ISO_DATE.fullmatch(number)
    if date:
        forms.append(_MONTH_TERMS[int(date["month"]) - 1])
        forms += [f"{date['month']}-{date['day']}"] if date["day"] else []
    if token[0] in "vV":
        forms.append(token.lower())
    return tuple(form[:LONGEST_TERM] for form in forms)


def _name_terms(token: str) -> tuple[str, ...]:
    segments = [segment for segment in _SEGMENT_END.split(token) if segment]
    found = [term for segment in segments for term in _segment_terms(segment)]
    if len(segments) > 1 and (whole := _folded(token)):
        found.append(whole[:LONGEST_TERM])
    return tuple(found)


def _segment_terms(segment: str) -> list[str]:
    words = _folded_words(segment)
    found = [term_of("".join(words))] if len(words) > 1 else []
    for word in words:
        if word not in STOP_WORDS:
            found.append(term_of(word))
            letters = word.rstrip("0123456789")
            if 1 < len(letters) < len(word):
                found.append(term_of(letters))
    return found


def _pieces_of(token: str) -> list[str]:
    """The words of an identifier, a name or a path, in their own case."""
    pieces: list[str] = []
    for part in chain.from_iterable(map(_JOINT.split, _SEGMENT_END.split(token))):
        if part.isascii() and _HUMPED.search(part):
            pieces += _HUMP.findall(part)
        elif part:
            pieces.append(part)
    return pieces


def _folded_words(token: str) -> list[str]:
    """The words as they are compared; a lone combining mark is not one."""
    return [word for piece in _pieces_of(token) if (word := _folded(piece))]


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    bare = unicodedata.normalize("NFD", word.casefold())
    return "".join(char for char in bare if not "\u0300" <= char <= "\u036f")


@remembered(_REMEMBERED_STEMS)
def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word[:LONGEST_TERM]))


def _stemmer() -> Stemmer.Stemmer:
    """A new one each time (under a microsecond): two threads must not share one."""
    return Stemmer.Stemmer("english", 0)
