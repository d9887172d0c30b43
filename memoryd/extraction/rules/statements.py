"""What a person said for keeps in one message, sentence by sentence, without a model.

Rules
- Only the person's own prose counts (`text/prose`), masked before anything looks at it, and harder
  than for a model (`credentials`).
- An explicit form counts (`explicit_forms`): "remember", "from now on", "I'm a ...". It is
  `sure` in a message short enough to have been typed, and only `likely` in a longer one, which
  was mostly pasted, and where anything shows another's voice (`foreign_text`). A weaker sign
  (`weak_signs`) makes a `maybe`. Only what is sure is saved; the
  others wait in the inbox. A sentence that only takes something back (`corrections`) is a
  `correction`: it counts if there is a memory that it corrects.
- The sentence is the memory, as it was said: relative dates become ISO dates, nothing else is
  changed or added. A sentence that leans on the one before it ("do that always") brings it along;
  a reason that follows in its own sentence becomes **Why:**. One that only asks to remember the
  one before it makes that one explicit.
- The title is the start of the sentence, cut at a word, never with words left out.
- "Don't remember this" silences the whole message; "scratch that" takes back the sentence before.
"""

# ruff: noqa: RUF001 - quotation marks and wide punctuation are what some patterns are about

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final, Literal

import msgspec

from memoryd.extraction.rules.change_marks import has_mark
from memoryd.extraction.rules.corrections import Correction, correction_in
from memoryd.extraction.rules.durable import forbids_memory, is_question, is_ruled_out, takes_back
from memoryd.extraction.rules.explicit_forms import ANNOUNCES, ASKS_BACK, Form, form_of
from memoryd.extraction.rules.foreign_lines import is_reported
from memoryd.extraction.rules.foreign_text import may_be_anothers
from memoryd.extraction.rules.memory_requests import LEAD, without_request
from memoryd.extraction.rules.memory_types import MemoryType, type_by_form
from memoryd.extraction.rules.weak_signs import may_last
from memoryd.text.dates import with_absolute_dates
from memoryd.text.lazy_regex import late
from memoryd.text.masking.credentials import without_credentials
from memoryd.text.masking.cut import masked_beginning
from memoryd.text.prose import Sentence, matchable, own_words, sentences
from memoryd.text.shorten import cut_at_word, one_line

Certainty = Literal["sure", "likely", "maybe", "correction"]

# Nobody types more; what is longer was mostly pasted.
MESSAGE_CHARACTERS: Final = 1500
READ_CHARACTERS: Final = 20_000
STATEMENTS_MAX: Final = 5
MAYBES_MAX: Final = 3
TITLE_CHARACTERS: Final = 60
DESCRIPTION_CHARACTERS: Final = 150

_LEANS_BACK = late(
    rf"^{LEAD}(?:always |never |from now on,? |next time,? |remember (?:that|this)?+,? ?)*"
    r"(?:(?:do(?:nt)? )?(?:its?|thats?|this|those|these|them|theyre|so|like (?:that|this)"
    r"|the same)\b"
    r"|(?<=this|that)\W*$)"
)
_GIVES_REASON = late(
    r"^(?:and )?(?:because|since|otherwise|so (?:that|the|our|we|it|they)\b|the reason|reason\b"
    r"|its |it |theres|there is"
    r"|that |this |they |last (?:time|week|month|quarter|year)|weil|sonst|denn|die |porque"
    r"|parce que|car )"
)
# The task goes on: what follows is no reason, whatever it begins with.
_GOES_ON = late(
    r"\b(?:please|pls|look at|can you|could you|lets|let me|below|above|thats why|so (?:add|what"
    r"|how"
    r"|please|dont|write|remove|fix|update|run|check|use))\b"
)
_MASK = late(r"\[secret: [^\]]*\]")
_ASKS_FOR_MEMORY: Final = frozenset({"remember", "announced", "remember-elsewhere"})
_EMPTY_WORDS: Final = frozenset(
    ("this", "that", "it", "one", "them", "these", "those", "so", "too", "the", "a")
)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One thing said for keeps, or what takes something back.

    `said` is the sentence alone, with the dates as they were said; `dated` has them absolute, as
    memories have them, and `around` has its neighbours too. `correction` is what it takes back;
    it `is_marked` if it says that something changed, whatever that is (`change_marks`).
    """

    type: MemoryType
    name: str
    description: str
    text: str
    reason: str = ""
    said: str = ""
    dated: str = ""
    around: str = ""
    correction: Correction | None = None
    is_marked: bool = False
    certainty: Certainty = "sure"

    @property
    def only_forgets(self) -> bool:
        """Whether it takes something back and puts nothing in its place."""
        one = self.correction
        return one is not None and one.kind == "forgets" and not one.successor

    @property
    def body(self) -> str:
        return f"{self.text}\n\n**Why:** {self.reason}\n" if self.reason else f"{self.text}\n"


def statements_in(message: str, *, said_at: datetime) -> list[Statement]:
    """What one message of a person states, in its order; dates count from `said_at`."""
    own = own_words(without_credentials(masked_beginning(message, READ_CHARACTERS)))
    if forbids_memory(matchable(own)):
        return []
    said = sentences(own)
    typed = len(message) <= MESSAGE_CHARACTERS
    voice = _OwnVoice(message, said) if typed else _nobodys
    found: list[Statement] = []
    for statement in _found(said, said_at, typed=typed, own_voice=voice):
        if statement is None:
            # "Forget it" after "that rule is over" says the same once more.
            found = found if found and found[-1].only_forgets else found[:-1]
        else:
            found.append(statement)
    explicit = [one for one in found if one.certainty in {"sure", "likely"}]
    known = {one.text for one in explicit}
    explicit = list({one.text: one for one in explicit}.values())
    left = [one for one in found if one.text not in known]
    correcting = [one for one in left if one.certainty == "correction"]
    maybe = [one for one in left if one.certainty == "maybe"]
    return explicit[:STATEMENTS_MAX] + correcting[:STATEMENTS_MAX] + maybe[:MAYBES_MAX]


def _found(
    said: Sequence[Sentence],
    said_at: datetime,
    *,
    typed: bool,
    own_voice: Callable[[int], bool],
) -> Iterator[Statement | None]:
    """Statements in order; None takes the last one back."""
    announced = False
    for number, sentence in enumerate(said):
        words = sentence.plain
        correction = correction_in(words) if typed else None
        corrects = typed and (correction is not None or has_mark(words))
        if correction is not None and correction.kind == "forgets":
            sure = bool(correction.successor and form_of(words) and own_voice(number))
            how: Certainty = "sure" if sure else "correction"
            yield _statement(said, number, None, said_at, certainty=how)
        elif takes_back(words):
            announced = False
            yield None
        elif _asks_for_the_one_before(said, number):
            announced = False
            how = "sure" if own_voice(number) else "likely"
            yield _statement(said, number - 1, "remember", said_at, certainty=how)
        elif ANNOUNCES.search(words) or (not number and ASKS_BACK.search(words)):
            announced = True
        elif form := form_of(words) or ("announced" if announced else None):
            if _is_for_keeps(sentence, form, is_item=sentence.opens_topic and len(said) > 1):
                how = "sure" if own_voice(number) else "likely"
                yield _statement(said, number, form, said_at, certainty=how)
            else:
                announced = announced and not is_question(words)
                if corrects and _says_enough(sentence):
                    yield _statement(said, number, None, said_at, certainty="correction")
        elif typed and _says_enough(sentence) and (may_last(sentence) or corrects):
            how = "maybe" if may_last(sentence) else "correction"
            yield _statement(said, number, None, said_at, certainty=how)


class _OwnVoice:
    """Whether a sentence is the person's own, as far as the message shows.

    What leads another's voice in counts for everything behind it (`may_be_anothers`).
    """

    def __init__(self, message: str, said: Sequence[Sentence]) -> None:
        self._message = message
        self._said = said
        self._ends: list[int] = []
        at = 0
        for sentence in said:
            found = message.find(sentence.text, at)
            at = found + len(sentence.text) if found >= 0 else len(message)
            self._ends.append(at)

    def __call__(self, number: int) -> bool:
        if is_reported(self._said[number].text):
            return False
        next_end = self._ends[min(number + 1, len(self._ends) - 1)]
        return not may_be_anothers(self._message, self._ends[number], next_end)


def _nobodys(_number: int) -> bool:
    return False


def _is_for_keeps(sentence: Sentence, form: Form | Literal["announced"], *, is_item: bool) -> bool:
    """Whether a sentence in an explicit form is really meant to last.

    A bare "always" in an item of a list specifies what is to be built.
    """
    if form == "always" and is_item:
        return False
    matter = matchable(without_request(sentence.text))
    asked_for = form in _ASKS_FOR_MEMORY
    is_out = is_ruled_out(sentence.plain, asked_for=asked_for, matter=matter)
    return not is_out and _says_enough(sentence)


def _asks_for_the_one_before(said: Sequence[Sentence], number: int) -> bool:
    """Whether a sentence only asks to keep the one before it, and that one is for keeps."""
    sentence = said[number]
    if not number or sentence.text.rstrip().endswith(":") or not ASKS_BACK.search(sentence.plain):
        return False
    before = said[number - 1]
    return not is_ruled_out(before.plain, asked_for=True) and _says_enough(before)


def _says_enough(sentence: Sentence) -> bool:
    """More than an empty "always like that"; what stands beside a secret is judged later."""
    left = _MASK.sub(" ", without_request(sentence.text))
    words = re.findall(r"\w+", left)
    if not sentence.plain.isascii():
        return bool(words)
    # Asked for in so many words, "no emojis" is enough.
    is_asked_for = left.strip() != sentence.text.strip()
    telling = [word for word in words if word.casefold() not in _EMPTY_WORDS]
    return len(telling) >= 2 if is_asked_for else len(words) >= 4


def _statement(
    said: Sequence[Sentence],
    number: int,
    form: Form | Literal["announced"] | None,
    said_at: datetime,
    *,
    certainty: Certainty,
) -> Statement:
    sentence = said[number]
    comparable = _comparable(sentence, said_at)
    bare = without_request(sentence.text)
    before = said[number - 1].text if number else ""
    after = said[number + 1] if number + 1 < len(said) else None
    text = with_absolute_dates(sentence.text, said_at)
    if before and _LEANS_BACK.match(sentence.plain) and not is_question(said[number - 1].plain):
        text = f"{_ended(with_absolute_dates(before, said_at))} {text}"
    reason = ""
    if after is not None and _is_reason(after):
        reason = with_absolute_dates(after.text, said_at)
    return Statement(
        type=type_by_form(form, matchable(bare) or sentence.plain, bare),
        name=titled(text),
        description=described(f"{_ended(text)} {reason}"),
        text=text,
        reason=reason,
        said=sentence.plain,
        dated=comparable,
        around=" ".join(_comparable(one, said_at) for one in said[max(0, number - 1) : number + 2]),
        correction=correction_in(sentence.plain),
        is_marked=has_mark(sentence.plain),
        certainty=certainty,
    )


def _comparable(sentence: Sentence, said_at: datetime) -> str:
    """As memories say it: dates are absolute, and a command in backticks counts."""
    return matchable(with_absolute_dates(sentence.text.replace("`", ""), said_at))


def _is_reason(sentence: Sentence) -> bool:
    words = sentence.plain
    return bool(
        _GIVES_REASON.match(words)
        and not _GOES_ON.search(words)
        and not sentence.opens_topic
        and not is_question(words)
        and form_of(words) is None
    )


def titled(text: str) -> str:
    """The sentence from its start, without the words that only ask for memory."""
    bare = without_request(text).strip() or text
    return cut_at_word(one_line(bare[:1].upper() + bare[1:]), TITLE_CHARACTERS).rstrip(".")


def described(text: str) -> str:
    """One line that says when it matters."""
    return cut_at_word(one_line(text), DESCRIPTION_CHARACTERS)


def _ended(text: str) -> str:
    return text if text[-1:] in ".!?…:。！？" else f"{text}."
