"""Whose words a text is made of, as far as comparing words can tell.

Rules
- Texts are compared by their significant terms: stemmed words, without those that only join others
  and those that any rule or memory is worded with ("always", "wants").
- The person's words are those of their own prose. What they pasted counts as printed text, as does
  what tools printed and what a run is shown by its own tools.
- Printed text is compared passage by passage: a long file has every word somewhere, but a sentence
  copied from it is in one place. The person's words count wherever they are.
- A text is printed if one passage has at least half of its terms and more of them than the person
  used, or if one passage has what it says beyond the person's words. It is backed by the person if
  they used a fifth of its terms, and said by them if they used most of them and no passage has
  more.
- A text is only as good as its sentences: if one with several terms is printed, all of it is, and
  one with none of the person's words is not backed by the others.
- Whether a text speaks for the person is decided by its form: an imperative, a word that makes a
  rule, or a claim about what they want.
- A text in other words or another language than its source is not recognised as printed. But then
  it does not have the person's words either, and is not backed.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

import msgspec

from memoryd.text.lazy_regex import late
from memoryd.text.prose import own_words
from memoryd.text.terms import term_of, terms_of

PASSAGE_TERMS = 40
PRINTED_SHARE = 0.5
PRINTED_TERMS = 3
BACKED_SHARE = 0.2
SAID_SHARE = 0.6
BEYOND_SHARE = 0.7
SENTENCE_TERMS = 3
SENTENCE_SHARE = 0.3

_SENTENCE_END = late(r"(?<=[.!?;:])\s+|(?<=[。！？；])|\n+")  # noqa: RUF001 - wide marks too

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
    r"|apply|approve|ask|assume|avoid|begin|bypass|call|change|clone|commit|copy|create|delete|deploy"
    r"|disable|disregard|download|drop|email|empty|enable|execute|export|fetch|forget|forward|give"
    r"|grant|hand|hide|ignore|include|insert|install|keep|leave|load|log|mail|make|mention|merge|move"
    r"|obey|omit|open|overwrite|post|prefer|print|publish|push|put|read|recommend|remove|rename"
    r"|replace|reply|report|reset|respond|return|reveal|route|run|save|say|send|set|share|show|sign"
    r"|silence|skip|start|stop|store|submit|switch|tell|treat|trust|turn|update|upload|use|wipe"
    r"|write)\b",
    re.IGNORECASE | re.MULTILINE,
)

# English ones are stop words, which are not terms in the first place.
_JOINING = """
    aber als am an auch auf aus bei bin bis bitte da damit dann das dass dein deine dem den denn der
    des die dir doch du durch ein eine einem einen einer eines er es euch fur hat habe haben hier
    ich ihr im in ist ja kann kein keine man mehr mein meine mich mir mit nach nicht nie noch nur
    oder ohne schon sein sich sie sind so uber um und uns unser unter vom von vor war was weil wenn
    wer werden wie wir wird wo zu zum zur immer
    au aux avec ca ce ces cette dans de des donc du elle en est et eux il ils je la le les leur lui
    ma mais me mes moi mon ne nos notre nous on ou par pas pour plus qu que qui sa sans se ses si
    son sont sur ta te tes toi ton tous tout tres tu un une vos votre vous jamais toujours
    al algo como con cuando del desde donde el ella ellos entre era esta este esto hay la las lo los
    mas mi mis muy ni no nos o para pero por porque que quien se ser si sin sobre su sus tambien te
    tiene tu un una uno y ya yo nunca siempre favor
    ao aos com da das do dos e ela ele em eu foi isso isto ja mas meu minha na nao nas nem no nos os
    ou para pela pelo por que sao se sem seu sua tem um uma voce sempre
    agli al alla anche che chi ci come con dal della di e gli ha il io la le lo ma mi nel nella noi
    non per piu quando questo se sei si sono su suo ti tra tu un una vi sempre mai
    aan ben bij dat de deze die dit dus een en er geen had heb het hij ik in is je kan maar me met
    mij mijn na naar niet nog nu of om onze ook op over te toch tot uit van veel voor want wat we
    wel wij zich zij zijn zo altijd nooit
    ale bez by byl co czy dla do i ich ja jak jest jestem juz kiedy lub ma mi mnie na nie od oraz po
    pod przez sa sie ta tak tam te tego ten to tu tylko w we wiec z za ze zawsze nigdy
    и в не на я что он с как это по но мы вы к у за из же то бы так все от для о или если ты мне
    меня есть уже только да нет при без до чтобы когда всегда никогда
"""  # noqa: RUF001 - Cyrillic letters are what is meant
_OF_ANY_NOTE = """
    always never ever only use using used please pls must should shall need needs want wants wanted
    prefer prefers like likes ask asks asked say says said tell tells told remember keep note notes
    memory person user users agent assistant rule apply applies why how when make sure let new do
"""


class TermCounts(msgspec.Struct, frozen=True):
    """How many significant terms a text has, how many the person used, how many one passage has.

    `beyond` counts those in one passage that the person did not use.
    """

    terms: int
    person: int
    printed: int
    beyond: int

    @property
    def is_printed(self) -> bool:
        enough = self.printed >= min(PRINTED_TERMS, max(self.terms, 2))
        in_one_place = self.printed >= PRINTED_SHARE * min(self.terms, PASSAGE_TERMS)
        is_taken = enough and in_one_place and self.printed > self.person
        return is_taken or self._adds_printed(PRINTED_TERMS)

    @property
    def is_backed(self) -> bool:
        return self.person > 0 and self.person >= BACKED_SHARE * self.terms

    @property
    def is_said(self) -> bool:
        is_most = self.person >= max(self.printed, 1) and self.person >= SAID_SHARE * self.terms
        return is_most and not self._adds_printed(PRINTED_TERMS - 1)

    def _adds_printed(self, least: int) -> bool:
        """Whether the person's words were only wrapped around printed text."""
        unsaid = min(self.terms - self.person, PASSAGE_TERMS)
        return self.beyond >= max(least, BEYOND_SHARE * unsaid)


class TextOrigin(msgspec.Struct, frozen=True):
    """The counts of a text as a whole, and of each sentence with enough terms to judge."""

    whole: TermCounts
    sentences: tuple[TermCounts, ...]

    @property
    def is_printed(self) -> bool:
        return any(one.is_printed for one in (self.whole, *self.sentences))

    @property
    def is_backed(self) -> bool:
        return self.whole.is_backed and all(one.person for one in self.sentences)

    @property
    def is_said(self) -> bool:
        in_part = all(one.person >= SENTENCE_SHARE * one.terms for one in self.sentences)
        return self.whole.is_said and in_part and not self.is_printed


class OriginEvidence:
    """What the person said and what was printed in the messages of one task."""

    def __init__(self, prompts: Iterable[str], printed: Iterable[str] = ()) -> None:
        self._person: set[str] = set()
        self._passages: list[frozenset[str]] = []
        self._unread = list(printed)
        for prompt in prompts:
            own = own_words(prompt)
            self._person |= set(significant_terms(own))
            kept = set(own.splitlines())
            self.add_printed("\n".join(one for one in prompt.splitlines() if one not in kept))

    def add_printed(self, text: str) -> None:
        """Costs nothing until `origin_of` is called."""
        self._unread.append(text)

    def origin_of(self, text: str) -> TextOrigin:
        sentences = (self._counts(sentence) for sentence in _SENTENCE_END.split(text))
        long_enough = (counts for counts in sentences if counts.terms >= SENTENCE_TERMS)
        return TextOrigin(self._counts(text), tuple(long_enough))

    def _counts(self, text: str) -> TermCounts:
        while self._unread:
            self._passages += passages(significant_terms(self._unread.pop()))
        terms = frozenset(significant_terms(text))
        unsaid = terms - self._person
        printed = max((len(terms & passage) for passage in self._passages), default=0)
        beyond = max((len(unsaid & passage) for passage in self._passages), default=0)
        return TermCounts(len(terms), len(terms) - len(unsaid), printed, beyond)


def significant_terms(text: str) -> list[str]:
    """The terms that say what a text is about, in order."""
    ignored = _insignificant()
    return [term for term in terms_of(text) if term not in ignored and not _is_letter(term)]


@cache
def _insignificant() -> frozenset[str]:
    return frozenset(term_of(word) for word in (*_JOINING.split(), *_OF_ANY_NOTE.split()))


def speaks_for_person(text: str) -> bool:
    """Whether it says what to do or what the person wants, rather than how things are."""
    return bool(_RULES.search(text) or _IMPERATIVE.search(text))


def passages(terms: Sequence[str]) -> list[frozenset[str]]:
    """The terms in overlapping passages, so that any half passage is whole in one of them."""
    starts = range(0, max(len(terms) - PASSAGE_TERMS // 2, 1), PASSAGE_TERMS // 2)
    found = (frozenset(terms[start : start + PASSAGE_TERMS]) for start in starts)
    return [passage for passage in found if passage]


def _is_letter(term: str) -> bool:
    return len(term) == 1 and term.isascii()
