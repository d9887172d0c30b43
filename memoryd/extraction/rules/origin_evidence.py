"""Whose words a text is made of, as far as comparing words can tell.

Rules
- Texts are compared by their telling terms: stemmed words without those that only join others,
  and without those that any rule or note is worded with ("always", "wants").
- The person's are the words of their own prose. What they pasted is printed matter, like what
  tools printed, and so is whatever a run is shown by its own tools.
- Printed matter is compared passage by passage: a long file has every word somewhere, but a
  sentence that was taken from it stands in one place. The person's words count wherever they stand.
- A text is printed matter when one passage has at least half of its terms, and more of them than
  the person used; and when what it says beyond the person's words stands in one. It is backed by
  the person when they used a fifth of its terms, and said by them when they used most of them and
  no passage has more.
- A text is no better than its sentences: one of several terms that is printed matter makes all of
  it that, and one with none of the person's words is not backed by those around it.
- Whether a text speaks for the person is told by its form: an imperative, a word that makes a rule,
  or a claim about what they want.
- A text in other words or in another language than its source is not recognised as printed. Then
  the person's words are not in it either, and it is not backed.
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

# English ones give no term to begin with.
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


class Weight(msgspec.Struct, frozen=True):
    """How many telling terms a text has, how many the person used, how many one passage has.

    `beyond` of those that the person did not use are in one passage.
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
        return is_taken or self._goes_beyond(PRINTED_TERMS)

    @property
    def is_backed(self) -> bool:
        return self.person > 0 and self.person >= BACKED_SHARE * self.terms

    @property
    def is_said(self) -> bool:
        is_most = self.person >= max(self.printed, 1) and self.person >= SAID_SHARE * self.terms
        return is_most and not self._goes_beyond(PRINTED_TERMS - 1)

    def _goes_beyond(self, least: int) -> bool:
        """Whether the person's words were only put round what was printed."""
        unsaid = min(self.terms - self.person, PASSAGE_TERMS)
        return self.beyond >= max(least, BEYOND_SHARE * unsaid)


class Scales(msgspec.Struct, frozen=True):
    """A text weighed as a whole, and each of its sentences that has enough terms to tell."""

    whole: Weight
    sentences: tuple[Weight, ...]

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
    """What was said by the person, and what was printed, in the messages of one task."""

    def __init__(self, prompts: Iterable[str], printed: Iterable[str] = ()) -> None:
        self._person: set[str] = set()
        self._passages: list[frozenset[str]] = []
        self._unread = list(printed)
        for prompt in prompts:
            own = own_words(prompt)
            self._person |= set(telling_terms(own))
            kept = set(own.splitlines())
            self.add_printed("\n".join(one for one in prompt.splitlines() if one not in kept))

    def add_printed(self, text: str) -> None:
        """Costs nothing until something is weighed."""
        self._unread.append(text)

    def weigh(self, text: str) -> Scales:
        weights = [self._weight(sentence) for sentence in _SENTENCE_END.split(text)]
        telling = (weight for weight in weights if weight.terms >= SENTENCE_TERMS)
        return Scales(self._weight(text), tuple(telling))

    def _weight(self, text: str) -> Weight:
        while self._unread:
            self._passages += passages(telling_terms(self._unread.pop()))
        terms = frozenset(telling_terms(text))
        unsaid = terms - self._person
        printed = max((len(terms & passage) for passage in self._passages), default=0)
        beyond = max((len(unsaid & passage) for passage in self._passages), default=0)
        return Weight(len(terms), len(terms) - len(unsaid), printed, beyond)


def telling_terms(text: str) -> list[str]:
    """The terms that say what a text is about, in their order."""
    untelling = _untelling()
    return [term for term in terms_of(text) if term not in untelling and not _is_letter(term)]


@cache
def _untelling() -> frozenset[str]:
    return frozenset(term_of(word) for word in (*_JOINING.split(), *_OF_ANY_NOTE.split()))


def speaks_for_person(text: str) -> bool:
    """Whether it tells its reader what to do, or what the person wants, and not how things are."""
    return bool(_RULES.search(text) or _IMPERATIVE.search(text))


def passages(terms: Sequence[str]) -> list[frozenset[str]]:
    """The terms in overlapping stretches, so that half a stretch is whole in one of them."""
    starts = range(0, max(len(terms) - PASSAGE_TERMS // 2, 1), PASSAGE_TERMS // 2)
    found = (frozenset(terms[start : start + PASSAGE_TERMS]) for start in starts)
    return [passage for passage in found if passage]


def _is_letter(term: str) -> bool:
    return len(term) == 1 and term.isascii()
