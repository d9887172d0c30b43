"""Whose words a text is made of, as far as comparing words can tell.

Rules
- Texts are compared by their telling terms: stemmed words without those that only join others,
  and without those that any rule or note is worded with ("always", "wants").
- The person's are the words of their own prose. What they pasted is printed matter, like what
  tools printed, and so is whatever a run is shown by its own tools.
- Printed matter is compared passage by passage: a long file has every word somewhere, but a
  sentence that was taken from it stands in one place. The person's words count wherever they stand.
- A text is printed matter when one passage has at least half of its terms, and more of them than
  the person used. It is backed by the person when they used a fifth of its terms, and said by them
  when they used half and no passage has more.
- A text in other words or in another language than its source is not recognised as printed. Then
  the person's words are not in it either, and it is not backed.
"""

from collections.abc import Iterable, Sequence

import msgspec

from memoryd.prose import own_words
from memoryd.ranking.words import term_of, terms_of

PASSAGE_TERMS = 40
PRINTED_SHARE = 0.5
PRINTED_TERMS = 3
BACKED_SHARE = 0.2
SAID_SHARE = 0.5

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
_UNTELLING = frozenset(term_of(word) for word in (*_JOINING.split(), *_OF_ANY_NOTE.split()))


class Weight(msgspec.Struct, frozen=True):
    """How many telling terms a text has, how many the person used, how many one passage has."""

    terms: int
    person: int
    printed: int

    @property
    def is_printed(self) -> bool:
        enough = self.printed >= min(PRINTED_TERMS, max(self.terms, 2))
        in_one_place = self.printed >= PRINTED_SHARE * min(self.terms, PASSAGE_TERMS)
        return enough and in_one_place and self.printed > self.person

    @property
    def is_backed(self) -> bool:
        return self.person > 0 and self.person >= BACKED_SHARE * self.terms

    @property
    def is_said(self) -> bool:
        return self.person >= max(self.printed, 1) and self.person >= SAID_SHARE * self.terms


class Evidence:
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

    def weigh(self, text: str) -> Weight:
        while self._unread:
            self._passages += passages(telling_terms(self._unread.pop()))
        terms = frozenset(telling_terms(text))
        printed = max((len(terms & passage) for passage in self._passages), default=0)
        return Weight(len(terms), len(terms & self._person), printed)


def telling_terms(text: str) -> list[str]:
    """The terms that say what a text is about, in their order."""
    return [term for term in terms_of(text) if term not in _UNTELLING and not _is_letter(term)]


def passages(terms: Sequence[str]) -> list[frozenset[str]]:
    """The terms in overlapping stretches, so that half a stretch is whole in one of them."""
    starts = range(0, max(len(terms) - PASSAGE_TERMS // 2, 1), PASSAGE_TERMS // 2)
    found = (frozenset(terms[start : start + PASSAGE_TERMS]) for start in starts)
    return [passage for passage in found if passage]


def _is_letter(term: str) -> bool:
    return len(term) == 1 and term.isascii()
