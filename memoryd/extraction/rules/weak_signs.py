"""Signs that a sentence may be worth keeping, none of them sure: what waits in the inbox.

Rules
- A sign is a standing word ("always", "we use", "our policy is", "I prefer"), a place outside the
  repository, or a date that matters. Of real sentences with one, a few in a hundred are worth
  keeping; so they are offered to somebody who can tell, and never saved by themselves.
- Not offered: what is too short to stand alone or too long to be one thought, questions and
  everything else that `durable` rules out.
- Matched on `prose.matchable` text, as the explicit forms are.
"""

from typing import Final

from memoryd.extraction.rules.durable import is_ruled_out
from memoryd.text.lazy_regex import late
from memoryd.text.prose import Sentence

LEAST_CHARACTERS: Final = 12
MOST_CHARACTERS: Final = 300
LEAST_WORDS: Final = 4

_STANDING: Final = (
    r"\b(?:always|never|every time|whenever|in general|generally|usually|by default|as a rule"
    r"|at all times|ever again|no longer|each time)\b"
)
_ASKS: Final = (
    r"\b(?:dont|do not|please dont|you should(?:nt)?|you must(?:nt)?|you have to|you need to"
    r"|make sure|be sure|ensure|keep in mind|avoid|stop \w+ing|please use"
    r"|only use|without asking|ask me|ask first|before you|before (?:commit|push|merg|deploy)\w+)\b"
)
_OURS: Final = (
    r"\b(?:we|the team|our team|my team|everyone here) (?:all |also |only |just |now |currently )?"
    r"(?:use|run|deploy|ship|release|write|prefer|support|target|host|keep|track|store|follow"
    r"|dont|do not|never|always|have a|are (?:using|moving|on|migrating|going to|maintain\w+)"
    r"|decided|chose|agreed)\b"
    r"|\bour (?:\w+ ){0,2}(?:policy|convention|style|standard|rule|process|workflow|pipeline"
    r"|deadline|customers?|clients?|users?|team|company|stack|setup|release|server|cluster|repo"
    r"|budget|goal|brand|staging|production)\b"
)
_MINE: Final = (
    r"\b(?:i|id) (?:\w+ly )?(?:rather |would |do )?(?:prefer|like(?! to)|love|hate|dislike"
    r"|want you to|dont (?:like|want|need)|use|work|usually|always|never|care about"
    r"|am (?:using|running|working|on)|live|speak)\b"
    r"|\bim (?:using|running|on|working|more|not)\b|\bmy (?:\w+ ){0,2}(?:preference|machine|laptop"
    r"|setup|team|company|boss|manager|job|style|workflow|goal|editor|name|background|timezone)\b"
)
_PLACES: Final = (
    r"\b(?:is|are|at|in|see|under) https?://\S+|\bis (?:our|my|where)\b"
    r"|\b(?:lives?|tracked|documented|hosted|filed|kept|stored) (?:in|at|on)\b"
    r"|\b(?:jira|notion|slack|grafana|confluence|datadog|sentry|figma|trello|asana|runbook)\b"
)
_DATED: Final = (
    r"\b(?:deadline|due (?:on|by)|freeze|launch(?:es|ing)?|go live|goes live|until|till|by (?:mon|"
    r"tues|wednes|thurs|fri|satur|sun)day|by the end of|next (?:week|month|quarter|release)"
    r"|end of (?:the )?(?:week|month|quarter|year)|on (?:hold|vacation|holiday|leave))\b"
)
_OTHER: Final = (
    r"\b(?:immer|niemals|nie|nicht mehr|wir (?:nutzen|verwenden|benutzen|deployen|haben)|unser\w*"
    r"|ich (?:bevorzuge|mag|mochte|arbeite)|bitte (?:kein\w*|nicht)|siempre|nunca|ya no|usamos"
    r"|nuestr[oa]s?|prefiero|evita|toujours|jamais|ne plus|nous (?:utilisons|avons)|notre|nos"
    r"|je (?:prefere|travaille)|evite|sempre|mai|usiamo|preferisco|nunca|usamos|prefiro"
    r"|всегда|никогда|мы используем)\b"
    r"|总是|永远|不要|必须|我们(?:用|使用)|我(?:喜欢|偏好|是)|务必|避免|いつも|必ず|絶対に"
    r"|しないで|使って(?:い|ください)|私たちは|弊社|항상|절대|우리는"
)

_SIGNS: Final = late(f"{_STANDING}|{_ASKS}|{_OURS}|{_MINE}|{_PLACES}|{_DATED}|{_OTHER}")
_WORDS: Final = late(r"\w+")


def may_last(sentence: Sentence) -> bool:
    """Whether somebody should be asked if it is for keeps."""
    text, words = sentence.text, sentence.plain
    if not LEAST_CHARACTERS <= len(text) <= MOST_CHARACTERS:
        # A Chinese or Japanese sentence says as much in half the characters.
        if words.isascii() or not LEAST_CHARACTERS // 2 <= len(text) <= MOST_CHARACTERS:
            return False
    elif words.isascii() and len(_WORDS.findall(words)) < LEAST_WORDS:
        return False
    return bool(_SIGNS.search(words)) and not is_ruled_out(words, asked_for=False)
