"""The forms in which people say, beyond doubt, that something is for keeps.

Rules
- A row is matched on `prose.matchable` text: lower case, Latin accents folded, no apostrophes
  ("dont", "im"), quoted words blanked out.
- A row says how people talk, never what about. It stays only if most of what it finds in real
  messages is worth keeping; "don't", "should" and a bare "always" in mid-sentence do not.
- The rows are tried in order; the first one that fits names the statement. Requests to remember
  have a grammar of their own (`memory_requests`).
"""
# ruff: noqa: RUF001 - Cyrillic letters are what some rows are about

from collections.abc import Callable
from typing import Final, Literal

from memoryd.extraction.rules.memory_requests import (
    LEAD,
    asks_elsewhere,
    asks_for_memory,
    asks_weakly,
)
from memoryd.text.lazy_regex import late

Form = Literal[
    "remember",
    "from-now-on",
    "next-time",
    "always-here",
    "always",
    "standing-rule",
    "no-longer",
    "who-i-am",
    "remember-elsewhere",
    "from-now-on-elsewhere",
    "noted",
]

_HERE = (
    r"(?:in (?:this|our) (?:projects?|repos?|repository|codebase|code base|team|company)"
    r"|around here"
    r"|on this (?:project|team|repo))"
)
_OPENS = r"(?:^|[:;] )(?:\W|and |but |also |fyi |btw |so |ok |actually |heads up |hi |hey |oh )*"

_FROM_NOW_ON: Final = (
    r"\b(?:from now on(?:wards?)?|from here on(?: out| in)?|from this point on|from today on"
    r"|(?:going|moving) (?:forwards?|fwd)|henceforth|hereafter)\b"
    rf"|^{LEAD}(?:(?:starting|beginning) (?:from )?(?:today|now)|(?:as of|effective) today)\b"
    rf"|^{LEAD}in (?:the )?future,? (?:please|dont|do|use|always|never|run|ask|let|you|keep|make"
    r"|write|put|only|just)\b"
    r"|\b(?:please|dont|do not|always|never)\b.* in (?:the )?future[.!]*$"
)
_NEXT_TIME: Final = (
    # Reports ("next time I ran it", "next time the test failed") are about somebody or something.
    rf"^{LEAD}(?:the )?next time,? "
    r"(?:i ask|(?!(?:i|it|he|she|they|the|my|our|its|im|ill|well|theyll|around|round)\b)\w+)\b"
    r"|\b(?:please|dont|do not|just|let me|ask|check|run|use)\b.* next time[.!]*$"
    rf"|^{LEAD}(?:whenever|every time|each time|any time|anytime) "
    r"(?:you(?! are ready| can| have time| like| want)|i ask you|i say"
    r"|we (?:touch|change|add|release|deploy|merge))\b"
)
_ALWAYS_HERE: Final = (
    rf"\b(?:always|never)\b.*\b{_HERE}\b"
    rf"|\b{_HERE}\b.*\b(?:always|never|dont|do not)\b(?! (?:seems?|is|are|has|was|gets|fails))"
)
# At the start of a sentence, with something to do behind it; "never mind" and reports are not.
_ALWAYS: Final = (
    rf"^{LEAD}(?:always|never(?! ?mind)) (?!(?:been|had|was|were|seen|got|worked|fails|is|gets"
    r"|happens|shows?|returns?|signs|like that|like this|just|display|render|the|more|less|again"
    r"|gonna|going)\b)\w+(?: \S+){2,}"
    rf"|^{LEAD}(?:you (?:should|must|have to|need to) (?:always|never)|dont ever|never ever)\b"
)
_STANDING_RULE: Final = (
    r"\b(?:i|we) (?:always|never) want you to\b"
    r"|\bi (?:dont|do not|never) (?:ever )?want you to\b.*\b(?:again|without|unless|ever)\b"
    r"|\bi (?:already )?(?:told|asked) you (?:before |already |twice |again )?(?:to|not|never)\b"
    r"|\bas a (?:general )?rule,(?! (?:this|the|it|our)\b)|\bstanding (?:rule|order"
    r"|instruction)\b|\bhouse rule\b"
)
_NO_LONGER: Final = (
    rf"{_OPENS}(?:we|i|the team) (?:no longer (?!have|see|get|need)\w+|(?:dont|do not) (?:use|do"
    r"|deploy|support|run|want|work|ship|release|target|write|accept|maintain)\b.* any ?more)\b"
    r"|\byou (?:dont|do not|no longer) (?:need|have) to\b.*\bany ?more\b"
    r"|\byou no longer (?:need|have) to\b"
    rf"|{_OPENS}(?:we|weve|we have) (?:moved|switched|migrated) (?:\w+ ){{0,3}}(?:from|off|away)\b"
)
_WHO_I_AM: Final = (
    rf"{_OPENS}(?:im|i am) "
    r"(?:an? (?!hour|minute|day|week|bit|little|lot|fan|huge|idiot|moron|big|tad|fool|dummy"
    r"|user)\w+"
    r"|the (?:only|lead|sole|main|solo|owner|maintainer|author)\b"
    r"|new to\b(?! (?:this|the|that) (?:file|function|class|method|module|code|test|bit)\b)"
    r"|not an? (?:\w+ )?(?:expert|developer|programmer|engineer|coder|designer|native|dev)"
    r"|colou?r ?blind|dyslexic|deaf|blind)"
    rf"|{_OPENS}(?:i work (?:as|for|at)|my name is|my background is|my (?:native|first) language"
    r"|my (?:time ?zone|pronouns)|ive been (?:an? \w+ (?:for|since)|doing|writing|coding"
    r"|programming)|i have \d+ years|i speak)\b"
)
_FROM_NOW_ON_ELSEWHERE: Final = (
    r"\b(?:ab jetzt|ab sofort|von nun an|in zukunft|zukunftig|kunftig|beim nachsten mal"
    r"|nachstes mal|de ahora en adelante|a partir de ahora|la proxima vez|desormais|dorenavant"
    r"|a partir de maintenant|a lavenir|la prochaine fois|a partir de agora|daqui em diante"
    r"|de agora em diante"
    r"|da proxima vez|dora in poi|da ora in poi|la prossima volta|vanaf nu|volgende keer|od teraz"
    r"|впредь|с этого момента|отныне|в следующий раз)\b"
    r"|^bitte\b.* (?:immer|nie|niemals) |^bitte (?:immer|nie|niemals) "
    r"|从现在(?:起|开始)|以后(?:请|都|要|不要|别)|今后|下次(?:请|要|不要|别)"
    r"|今後(?:は|、)|これからは|次回から|앞으로는|다음부터"
)

_FORMS: Final[tuple[tuple[Form, Callable[[str], object]], ...]] = (
    ("remember", asks_for_memory),
    ("from-now-on", late(_FROM_NOW_ON).search),
    ("next-time", late(_NEXT_TIME).search),
    ("always-here", late(_ALWAYS_HERE).search),
    ("always", late(_ALWAYS).search),
    ("standing-rule", late(_STANDING_RULE).search),
    ("no-longer", late(_NO_LONGER).search),
    ("who-i-am", late(_WHO_I_AM).search),
    ("remember-elsewhere", asks_elsewhere),
    ("from-now-on-elsewhere", late(_FROM_NOW_ON_ELSEWHERE).search),
    ("noted", asks_weakly),
)
# A sentence that only announces what the next ones say: "two things to remember."
ANNOUNCES: Final = late(
    rf"^{LEAD}(?:(?:a few|some|two|three|\d|one|(?:a )?couple of) )?(?:things?|rules?|notes?)? ?"
    r"(?:to remember|remember(?: this| the following)?|keep (?:this |these )?in mind|save this"
    r"|(?:for )?from now on|add to memory|note for later)\W*$"
    rf"|^{LEAD}(?:can|could|would|will) you (?:please )?(?:remember|keep in mind|note|save|store)"
    r" (?:down )?(?:something|this|one thing|two things|a few things|the following)"
    r"(?: for (?:me|us|later|the future|next time))?(?:,? please)?\W*$"
)


# A sentence that only asks to keep what was just said: "remember that."
ASKS_BACK: Final = late(
    rf"^{LEAD}(?:please |pls |do |just |and |also )*"
    r"(?:rem(?:em)?ber|keep|note|save|store|memori[sz]e|write|dont forget)"
    r"(?: (?:that|it|this))?(?: (?:down|in mind|for later|for next time|for the future"
    r"|(?:in|to) (?:your |the )?memory))?(?:,? (?:please|pls|ok|okay))?\W*$"
    r"|^(?:\W|bitte |por favor |per favore )*(?:merke? dir das|recuerdalo|ricordalo|ricordatelo"
    r"|lembre(?:-se)? disso|lembra disso|souviens-ten"
    r"|retiens(?:-le| ca)|覚えておいて(?:ください)?)\W*$"
)


def form_of(sentence: str) -> Form | None:
    """The form of a sentence in `matchable` text, if it has one."""
    return next((form for form, fits in _FORMS if fits(sentence)), None)
