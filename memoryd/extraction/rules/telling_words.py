"""The telling words of a sentence, where they stand in it, and which of them are the same.

Rules
- Small words, words on when and how strictly, and the marks of change say nothing by themselves.
- A word counts by its stem; words that begin alike are forms of one. Names of languages are the
  same in all of them.
- A verb of being or having, or the one who speaks, parts the subject from what is said of it. Each
  preposition begins another phrase.
- Read from `prose.matchable` text.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

import msgspec

from memoryd.base.remembered import remembered
from memoryd.extraction.rules.word_classes import NUMBERS, joining
from memoryd.text.date_words import MONTHS, WEEKDAYS
from memoryd.text.lazy_regex import late
from memoryd.text.terms import STOP_WORDS, term_of

COMMON_LETTERS: Final = 5
LEAST_LETTERS: Final = 3
ALIKE_SHARE: Final = 0.6
READINGS_KEPT: Final = 4096
_STEMS_KEPT: Final = 8192
# Of a word of LEAST_LETTERS or more, by which it stays the same word.
ENDINGS: Final = frozenset({"er", "s", "e", "n", "en", "es", "ing"})

TOKEN: Final = late(
    r"[a-z0-9_#@<][\w./:@%+#<>-]*|[\u0430-\u044f]+|[\u30a1-\u30ff]+|[\u4e00-\u9fff]+"
    r"|[\uac00-\ud7af]+|は|(?:(?![\u3041-\u309f])[^\W\d_])+"
)
_LINKS: Final = frozenset(
    """
    is are was were be been isnt arent wasnt has have had hasnt havent got gets im youre its were
    weve ive will wird werden ist sind war hat haben es son esta estan era ha han est sont etait
    nest nont nai nas
    sera e sao foi faut hemos habemos avons avez ont temos esta estao is zijn heeft は sappelle
    """.split()  # noqa: SIM905 - several lines instead of a hundred
)
PERSONS: Final = frozenset(
    "i im ive we weve were you wir ich du nous je jai yo eu il".split()  # noqa: SIM905 - as above
)
_ELIDED: Final = frozenset("cdjlmnst")
_OURS: Final = frozenset(
    "my our mein meine unser unsere mi nuestro nuestra mon ma notre meu minha".split()  # noqa: SIM905 - as above
)
ARTICLES: Final = frozenset(
    "the a an der die das el la los las le les o os il".split()  # noqa: SIM905 - as above
)
_OTHERS: Final = frozenset(
    """
    other another others elsewhere colleague his her hers their theirs he she they theyve seine
    leur leurs ihre ihr
    """.split()  # noqa: SIM905 - as above
)
_PREPOSITIONS: Final = frozenset(
    """
    in on at to into from with for under via by as against of behind beside inside without per
    im am an auf bei mit fur in aus zu zum zur nach unter um en con para por de del sobre a al
    chez dans sur avec
    pour par sous au aux du des em com as os nel per su
    """.split()  # noqa: SIM905 - as above
)
_LIGHT: Final = frozenset(
    """
    now longer anymore more any instead rather than still just finally currently nowadays today
    these days day since last
    week month sprint year time wrong right true valid apply applies hold holds work works working
    worked run runs running make made put set take call called name named moved changed switched
    migrated replaced raised handed over new fyi heads hey hello need needs needed require required
    necessary dont doesnt theres avoir earlier old previous regel regle regla regra regola notiz
    didnt isnt arent wont no not never nobody stop please pls thanks anyway btw
    way remember note memory forget rule thing stuff part ones correction support compatibility
    lifted said told mentioned mind wrong small mistake fault
    ah oh ok well good news told gave info yes reorg ive weve theyre thats there
    nicht mehr kein keine jetzt sofort statt anstatt musst mussen brauchen brauchst brauch ya no
    ahora lugar vez
    ne plus pas desormais maintenant finalement nao ja agora mais besoin faut hace falta necesario
    precisa
    ist sind est nest sont es son esta era e das der die den dem le la les el los las o os un une
    una uma
    chez em au aux ans as
    """.split()  # noqa: SIM905 - as above
)
_HYPHEN: Final = late(r"(?!(?<=\b[a-z]{2})-[a-z]{2}\b)(?<=[^\W\d_])-(?=[^\W\d_])")
_NUMBER: Final = late(r"[v#]?\d[\w.:%/-]*|0x[0-9a-f]+")
_PLACE: Final = late(r"(?:https?://)?[\w-]+(?:\.[\w-]+)+(?:[:/]\S*)?|[\w.:-]*/[\w/.-]+")
# It opens a sentence and says nothing about where it holds.
_OPENING: Final = late(
    r"^(?:\W|(?:and|so|ok|oh|hi|hey|actually|please|also)\b)*(?:from (?:now|here) on"
    r"|by the way|as of \w+(?: \w+)?|for the record|in (?:the )?future"
    r"|von (?:jetzt|nun) an|a partir d\w+ \w+|de ahora en adelante|por cierto|au fait|en fait"
    r"|a lavenir|daqui em diante)\b"
)
_LANGUAGES: Final = {
    form: language
    for language, forms in {
        "english": "englisch anglais ingles inglese engels 英語 английском",
        "german": "deutsch allemand aleman alemao tedesco 独語 ドイツ語",
        "french": "franzosisch francais frances francese フランス語",
        "spanish": "spanisch espagnol espanol espanhol spagnolo スペイン語",
        "portuguese": "portugiesisch portugais portugues",
        "japanese": "japanisch japonais japones 日本語",
    }.items()
    for form in forms.split()
}  # fmt: skip


class Word(msgspec.Struct, frozen=True):
    """A telling word; `phrase` counts prepositions and verbs before it, `side` the verbs (0, 1)."""

    stem: str
    phrase: int
    side: int
    is_led: bool  # by a preposition


class Reading(msgspec.Struct, frozen=True):
    """`stems` are those of the words, each once."""

    words: tuple[Word, ...]
    stems: tuple[str, ...]
    has_verb: bool
    others: frozenset[str]
    opens_with_place: bool
    opens_with_subject: bool

    @property
    def value(self) -> tuple[str, ...]:
        """What it says of its subject; all of it where no subject comes first."""
        behind = [word.stem for word in self.words if word.side]
        if not behind and self.opens_with_subject:
            behind = [word.stem for word in self.words if word.phrase]
        return tuple(behind) or self.stems


@remembered(READINGS_KEPT)
def reading_of(text: str) -> Reading:
    """The telling words of a text, where they stand."""
    words: list[Word] = []
    phrase = side = 0
    is_led = has_verb = False
    others: set[str] = set()
    tokens = TOKEN.findall(_HYPHEN.sub(" ", _OPENING.sub("", text)))
    content = [token for token in tokens if token not in ARTICLES | _OURS]
    opens_with_subject = bool(content) and content[0] not in _skipped()
    opens_with_place = bool(tokens) and tokens[0] in _PREPOSITIONS
    for token in tokens:
        bare = token.strip(".:-<>/")
        if bare in _OTHERS:
            others.add(bare)
        if bare in _LINKS or bare in PERSONS:
            has_verb = True
            phrase, side, is_led = phrase + 1, side + (1 if words else 0), False
        elif bare in _PREPOSITIONS:
            phrase, is_led = phrase + 1, True
        is_elided = len(bare) > 4 and bare[0] in _ELIDED and bare[1:] in _skipped()
        if bare and bare not in _skipped() and not is_elided:
            words.append(Word(_stem(bare), phrase, min(side, 1), is_led))
    stems = tuple(dict.fromkeys(word.stem for word in words))
    return Reading(
        tuple(words), stems, has_verb, frozenset(others), opens_with_place, opens_with_subject
    )


@cache
def _skipped() -> frozenset[str]:
    return STOP_WORDS | joining() | _LIGHT | _LINKS | PERSONS | _OTHERS | _PREPOSITIONS


@remembered(_STEMS_KEPT)
def _stem(word: str) -> str:
    for ending in ("", "e", "n", "en", "er", "es", "s", "a", "as", "os"):
        if language := _LANGUAGES.get(word.removesuffix(ending)):
            return language
    if word in NUMBERS:
        return NUMBERS[word]
    if ordinal := re.fullmatch(r"(\d+)(?:st|nd|rd|th)", word):
        return ordinal[1]
    return term_of(word)


def is_number(stem: str) -> bool:
    return bool(_NUMBER.fullmatch(stem))


def is_value(stem: str) -> bool:
    return is_number(stem) or stem in _DAYS or stem in _MONTHS or bool(_PLACE.fullmatch(stem))


def kind_of(stems: Iterable[str]) -> str:
    found = list(stems)
    if any(stem in _DAYS for stem in found):
        return "day"
    if any(map(is_number, found)):
        return "number"
    if any(_PLACE.fullmatch(stem) for stem in found):
        return "place"
    return "month" if any(stem in _MONTHS for stem in found) else "word"


def share_of(wanted: Sequence[str], there: Sequence[str]) -> float:
    return sum(has_word(there, stem) for stem in wanted) / len(wanted) if wanted else 0.0


def has_word(stems: Sequence[str], one: str) -> bool:
    # Forms of one word begin with the same letters: most words need no closer look.
    start = one[:LEAST_LETTERS]
    return one in stems or any(_is_same(one, other) for other in stems if other.startswith(start))


def _is_same(one: str, other: str) -> bool:
    """Whether two words are forms of one: owns and owner, explain and explanation."""
    if one == other:
        return True
    if is_number(one) or is_number(other):
        return False
    short, long = sorted((one, other), key=len)
    if len(short) >= LEAST_LETTERS and long.startswith(short) and long[len(short) :] in ENDINGS:
        return True
    alike = 0
    while alike < len(short) and short[alike] == long[alike]:
        alike += 1
    return alike >= COMMON_LETTERS and alike >= ALIKE_SHARE * len(long)


_DAYS: Final = frozenset(term_of(day) for day in WEEKDAYS) | frozenset(
    term_of(f"{day}s") for day in WEEKDAYS
)
_MONTHS: Final = frozenset(term_of(month) for month in MONTHS)
