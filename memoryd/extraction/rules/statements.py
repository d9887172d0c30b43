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
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, Literal

import msgspec

from memoryd.extraction.rules.corrections import Correction, correction_in
from memoryd.extraction.rules.credentials import without_credentials
from memoryd.extraction.rules.durable import forbids_memory, is_question, is_ruled_out, takes_back
from memoryd.extraction.rules.explicit_forms import ANNOUNCES, ASKS_BACK, LEAD, Form, form_of
from memoryd.extraction.rules.foreign_text import may_be_anothers
from memoryd.extraction.rules.weak_signs import may_last
from memoryd.text.dates import with_absolute_dates
from memoryd.text.masking.cut import masked_beginning
from memoryd.text.prose import Sentence, matchable, own_words, sentences
from memoryd.text.shorten import cut_at_word, one_line

MemoryType = Literal["user", "feedback", "project", "reference"]
Certainty = Literal["sure", "likely", "maybe", "correction"]

# Nobody types more; what is longer was mostly pasted.
MESSAGE_CHARACTERS: Final = 1500
READ_CHARACTERS: Final = 20_000
STATEMENTS_MAX: Final = 5
MAYBES_MAX: Final = 3
TITLE_CHARACTERS: Final = 60
DESCRIPTION_CHARACTERS: Final = 150

_LEANS_BACK = re.compile(
    rf"^{LEAD}(?:always |never |from now on,? |next time,? |remember (?:that|this)?+,? ?)*"
    r"(?:(?:do(?:nt)? )?(?:its?|thats?|this|those|these|them|theyre|so|like (?:that|this)"
    r"|the same)\b"
    r"|(?<=this|that)\W*$)"
)
_GIVES_REASON = re.compile(
    r"^(?:and )?(?:because|since|otherwise|so (?:that|the|our|we|it|they)\b|the reason|reason\b"
    r"|its |it |theres|there is"
    r"|that |this |they |last (?:time|week|month|quarter|year)|weil|sonst|denn|die |porque"
    r"|parce que|car )"
)
# The task goes on: what follows is no reason, whatever it begins with.
_GOES_ON = re.compile(
    r"\b(?:please|pls|look at|can you|could you|lets|let me|below|above|thats why|so (?:add|what"
    r"|how"
    r"|please|dont|write|remove|fix|update|run|check|use))\b"
)
_MASK = re.compile(r"\[secret: [^\]]*\]")
_PLACE = re.compile(
    r"https?://|\b(?:[\w-]+\.)+(?:com|org|net|io|dev|internal|example|local|cloud|app)\b"
    r"|\b(?:jira|linear|notion|slack|grafana|confluence|airtable|datadog|sentry|figma|wiki"
    r"|dashboard|runbook|sharepoint|trello|asana|github|gitlab|discord|bucket|drive|board|channel)"
    r"\b.*\b(?:in|at|on|under|is|are|lives?|filed|tracked|kept|look|there)\b"
    r"|\b(?:is|are|in|on|under) (?:the |our |an? )?(?:\w+ ){0,2}(?:jira|linear|notion|slack|grafana"
    r"|confluence|airtable|datadog|sentry|figma|wiki|runbook|sharepoint|trello|asana)\b"
    r"|\b(?:lives?|filed|tracked|documented|kept|stored|hosted|found|logged) (?:in|at|on|under)\b"
)
# Where something is: at a proper name, in quotes, or in a channel. Judged on the text as written.
_NAMED_PLACE = re.compile(
    r"(?:\b(?:is|are|lives?|liegen|sont|están|sono)\s+(?:all |now |kept )?"
    r"|\b(?:ends? up|goes|go|keep|managed|tracked|maintained|asked for|documented|found|stored"
    r"|hosted|reported|filed|look|reachable)\b[^.!?]{0,40}?\b)"
    r"(?:in|on|at|under|to|im|dans|en|su)\s+(?:the |our |an? |der |dem |la |el )?"
    r"(?:\w+ ){0,2}?(?:[\"“«]|#\w|(?!(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February"
    r"|March|April|May|June|July|August|September|October|November|December|English|German)"
    r"[A-Z][a-z]+[A-Za-z]*)"
    r"|(?<!\w)#[a-z][\w-]{2,}|\b(?:gs|s3|ftp|sftp|smb)://|(?<!\S)//\w|\b[\w-]+:/\w"
    r"|(?<!\S)/(?:\w+/){1,}\w"
)
_ABOUT_ME = re.compile(
    r"\b(?:im|i am)\b|\bmy (?:name|background|time ?zone"
    r"|pronouns|native|first|role|job)\b|\bi (?:work|live|speak|come) (?:as|in|at|for|from|\w+$)"
    r"|\bi (?:only |dont |do not |mostly |also )?(?:know|speak|understand|type|lead|wrote|moved|use"
    r"|work|read code|can read|have an? )\b|\babout me\b|\bin meinem beruf\b|\bich\b.*\bbin\b"
    r"|\bsou\b"
    r"|\bsono un\w* \b"
    r"|\bive been\b|\bi have \d+ years\b|\bich bin (?:ein|neu)|\bsoy\b|\bje suis\b|我是|私は"
)
# What the person wants of the agent, or how their team works; "must" and "never" alone also stand
# in facts.
_ORDERS = re.compile(
    r"\b(?:your?|dont|do not|please|ask me|tell me|show me|let me|without asking"
    r"|immer|nie|niemals|bitte|siempre|nunca|toujours|jamais|sempre|mai)\b"
    r"|^(?:\W|that |always |never |must )*(?:always|never|must)\b"
    r"|\bi (?:always |never |really )?(?:want|prefer|like|love|hate|dislike|need|expect|review)\b"
    r"|\bwe (?:only |always |never )*(?:use|write|name|prefer|format|indent|call|avoid)\b"
    r"|\b(?:every|each|any|all) (?:\w+ ){1,3}(?:needs?|must|should|gets?|has|have)\b"
    r"|\b(?:je veux|quiero|ich will|ich mochte|keine?\b)|\w(?:iere?|ez)-moi\b"
    rf"|^{LEAD}(?:from now on,? |next time,? |remember(?: that| to)?:?,? |to )*"
    r"(?:use|run|write|keep"
    r"|put|make|check|test|commit|push|answer|reply|explain|prefer|stick|avoid|stop|start|no \w+"
    r"|only|read|look|ask|add|call|name|format|leave|skip|do|bump|update|squash|split|tell|show)\b"
    r"(?! \S+ (?:is|are|was|were|has|have|can|will|gets?)\b)"
    r"|不要|请|してください|しないで|отвечай|пиши|используй"
)
_ASKS_FOR_MEMORY: Final = frozenset({"remember", "announced", "remember-elsewhere"})
_RULE_FORMS: Final = frozenset(
    {
        "from-now-on",
        "next-time",
        "always-here",
        "always",
        "standing-rule",
        "from-now-on-elsewhere",
    }
)
_EMPTY_WORDS: Final = frozenset(
    ("this", "that", "it", "one", "them", "these", "those", "so", "too", "the", "a")
)
_MEMORY_LEAD = re.compile(
    r"^(?:(?:please|pls|plz|hey|ok|okay|also|and|so|btw|fyi|oh|note|one thing|two things|can you"
    r"|could you|for later|for future ref(?:erence)?)[,:]?\s+)*"
    r"(?:(?:always )?remember(?: that| this| to)?|keep (?:this |that )?in mind(?: that)?"
    r"|bear in mind(?: that)?|(?:make a |take )?note(?: that| to self| for later)?"
    r"|(?:don['’]?t|do not) forget(?: that| to)?|never forget(?: that)?"
    r"|memori[sz]e(?: that| this)?|for future ref(?:erence)?|for the future"
    r"|save this(?: to (?:your )?memory)?|add (?:this )?to (?:your )?memory(?: that)?)\b[,:]?\s*",
    re.IGNORECASE,
)


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One thing said for keeps, or what takes something back.

    `said` is the sentence alone, with the dates as they were said; `dated` has them absolute, as
    memories have them, and `around` has its neighbours too. `correction` is what it takes back.
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
    typed = len(message) <= MESSAGE_CHARACTERS
    own_voice = typed and not may_be_anothers(message)
    found: list[Statement] = []
    for statement in _found(sentences(own), said_at, typed=typed, own_voice=own_voice):
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
    said: Sequence[Sentence], said_at: datetime, *, typed: bool, own_voice: bool
) -> Iterator[Statement | None]:
    """Statements in order; None takes the last one back."""
    announced = False
    for number, sentence in enumerate(said):
        words = sentence.plain
        correction = correction_in(words) if typed else None
        if correction is not None and correction.kind == "forgets":
            sure = bool(own_voice and correction.successor and form_of(words))
            how: Certainty = "sure" if sure else "correction"
            yield _statement(said, number, None, said_at, certainty=how)
        elif takes_back(words):
            announced = False
            yield None
        elif _asks_for_the_one_before(said, number):
            announced = False
            how = "sure" if own_voice else "likely"
            yield _statement(said, number - 1, "remember", said_at, certainty=how)
        elif ANNOUNCES.search(words):
            announced = True
        elif form := form_of(words) or ("announced" if announced else None):
            if _is_for_keeps(sentence, form, is_item=sentence.opens_topic and len(said) > 1):
                how = "sure" if own_voice else "likely"
                yield _statement(said, number, form, said_at, certainty=how)
            else:
                announced = announced and not is_question(words)
        elif typed and _says_enough(sentence) and (may_last(sentence) or correction is not None):
            how = "maybe" if may_last(sentence) else "correction"
            yield _statement(said, number, None, said_at, certainty=how)


def _is_for_keeps(sentence: Sentence, form: Form | Literal["announced"], *, is_item: bool) -> bool:
    """Whether a sentence in an explicit form is really meant to last.

    A bare "always" in an item of a list specifies what is to be built.
    """
    if form == "always" and is_item:
        return False
    matter = matchable(_MEMORY_LEAD.sub("", sentence.text))
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
    """More than an empty "always like that", and more than a secret without a place to use it."""
    if _MASK.search(sentence.text) and not _PLACE.search(sentence.plain):
        return False
    left = _MASK.sub(" ", _MEMORY_LEAD.sub("", sentence.text))
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
    bare = _MEMORY_LEAD.sub("", sentence.text)
    before = said[number - 1].text if number else ""
    after = said[number + 1] if number + 1 < len(said) else None
    text = with_absolute_dates(sentence.text, said_at)
    if before and _LEANS_BACK.match(sentence.plain) and not is_question(said[number - 1].plain):
        text = f"{_ended(with_absolute_dates(before, said_at))} {text}"
    reason = ""
    if after is not None and _is_reason(after):
        reason = with_absolute_dates(after.text, said_at)
    return Statement(
        type=_type(form, matchable(bare) or sentence.plain, bare),
        name=titled(text),
        description=described(f"{_ended(text)} {reason}"),
        text=text,
        reason=reason,
        said=sentence.plain,
        dated=comparable,
        around=" ".join(_comparable(one, said_at) for one in said[max(0, number - 1) : number + 2]),
        correction=correction_in(sentence.plain),
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


def _type(form: Form | Literal["announced"] | None, words: str, written: str = "") -> MemoryType:
    """The type by its form and plain words; `written` is the text with its capitals."""
    if form == "who-i-am":
        return "user"
    if form in _RULE_FORMS:
        is_place = _PLACE.search(words) or _NAMED_PLACE.search(written)
        return "reference" if is_place and re.search(r"\blook\b", words) else "feedback"
    if _ABOUT_ME.search(words):
        return "user"
    if _PLACE.search(words) or _NAMED_PLACE.search(written):
        return "reference"
    if form == "no-longer":
        return "feedback" if re.search(r"\byou\b", words) else "project"
    return "feedback" if _ORDERS.search(words) else "project"


def type_of(text: str) -> MemoryType:
    """What kind of memory a text makes that a person wants kept as it is."""
    return _type(None, matchable(text), text)


def titled(text: str) -> str:
    """The sentence from its start, without the words that only ask for memory."""
    bare = _MEMORY_LEAD.sub("", text).strip() or text
    return cut_at_word(one_line(bare[:1].upper() + bare[1:]), TITLE_CHARACTERS).rstrip(".")


def described(text: str) -> str:
    """One line that says when it matters."""
    return cut_at_word(one_line(text), DESCRIPTION_CHARACTERS)


def _ended(text: str) -> str:
    return text if text[-1:] in ".!?…:。！？" else f"{text}."
