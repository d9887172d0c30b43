"""Which sentences are not for keeps, whatever form they have.

Rules
- Not kept: questions, hypotheses, jokes, what holds for the moment, what the program is to do,
  what can be read from the code or its history, details of the task at hand.
- An explicit "remember" outweighs every guess at what a sentence is about. What the code
  shows needs more than that: a rule, a reason, a person (`exclusions`). Nothing outweighs a
  question or a joke.
"""

# ruff: noqa: RUF001 - wide punctuation is what some patterns are about

from typing import Final

from memoryd.extraction.rules.exclusions import says_more_than_code
from memoryd.text.lazy_regex import late

_QUESTION: Final = late(
    r"[?？]\W*$|^(?:do|does|did|is|are|was|were(?= (?:there|the|you"
    r"|they|we|these|those|any|all)\b)|can|could|should|would|will|have|has|why|what"
    r"|where|how|who|which|when (?:do|does|did|is|are|was|were|will|can|could|should))\b(?!ever"
    r"| not | remember| (?:i|we) (?:\w+ )?(?:said|told|wrote|asked|mentioned))"
    r"(?! you (?:please )?(?:always |also )?(?:remember|keep in mind|never|make a note|memori))"
)
_ASKS_POLITELY: Final = late(
    r"^(?:\W|please |and |hey |hi |ok |also )*(?:can|could|would|will) you (?:please "
    r"|also )*(?:always )?"
    r"(?:remember(?! the (?!fact))|keep (?:this |that |it )?in mind|keep a note|make a note"
    r"|note (?:that|down)"
    r"|memori[sz]e|(?:save|store|write down) (?:this|that|it|the fact that))\b(?! (?:when|how"
    r"|what|where|why|if|the time|stuff"
    r"|things|anything|something)\b)"
)
# About the lines in front of both, however it is said.
_LOCAL: Final = late(
    r"\bin this (?:function|component|module|file|screen|method|class|loop|query|block|snippet"
    r"|case|line|call|branch)\b"
    r"|\b(?:can|could|may|might) be \w+ here\b"
    r"|^(?:\W|please |and )*remember to \w+(?: \S+){1,3}[.!]*$"
)
_NOT_MEANT: Final = late(
    r"\b(?:imagine|suppose|hypothetically|what if|maybe|perhaps|might|i think|i guess|i thought"
    r"|(?:im |i am )not sure|not sure (?:if|whether|what|why|how|about)|i wonder|wondering"
    r"|would be nice|in theory|seems? like|looks like)\b"
    r"|^(?:never|always) mind|^to (?:suppress|hide|avoid|disable|enable|fix)\b"
)
_JOKES: Final = late(
    r"\b(?:if i (?:were|was|had)|pretend|just kidding|jk|lol|haha\w*|said no one)\b|[🙃🙄😏🤡😂🤣]"
)
_PASSING: Final = late(
    r"\b(?:for now|for a (?:second|sec|moment|minute|bit|while)|for the moment|at the moment"
    r"|right now|rn|this time|just once|only once"
    r"|for today|for once|temporarily|(?:for|in|on) this (?:one|pr|branch|commit|task|file|ticket"
    r"|change|session|run|step|test|message|chat))\b"
)
# Says what the program does or is to do: the code will say it.
_SPECIFIES: Final = late(
    r"\b(?:the|this|that) (?:\w+ ){1,3}(?:should|must|shall) (?!(?:be asked|be told)\b)"
    r"|\b(?:modal|tooltip|layout|animation)s?\b"
    r"|\b(?:listed|mentioned|shown) (?:above|below)\b"
    r"|\b(?:button|page|function|method|class|field|column|table|api|endpoint|command|cli|server"
    r"|client|component|modal|widget|user|player|app|service|error|script|hook|value|flag|option"
    r"|row|line|output|response|cursor|icon|menu|screen|view|data)s? "
    r"(?:should|must|shall|will|needs? to|has to|can|may|is|are)\b"
)
# What holds from now on for a definite thing is what is being built; a rule is for people.
_OF_A_DEFINITE_THING: Final = late(
    r"\b(?:from now on|from here on|going forward|moving forward|ab jetzt|ab sofort|kunftig"
    r"|de ahora en adelante|a partir de ahora|desormais|a partir de maintenant"
    r"|a partir de agora|daqui em diante|de agora em diante|dorenavant|a lavenir"
    r"|da ora in poi|dora in poi|vanaf nu),? (?:is |ist |es |est )?(?:the|this|that|its?"
    r"|through|das|der|die|el|la|los"
    r"|le|les|o|a|il|lo|het) (?!team|company|office|customers?|clients?|rule|default|first"
    r"|project|product|release"
    r"|deadline|meeting|standup|budget)\w+"
    r"|\bfrom now on in this\b"
    r"|\b(?:ab jetzt|ab sofort|in zukunft|kunftig|zukunftig|von nun an) (?!bitte)\w+ "
    r"(?:das|der|die|diese[rmns]?) (?!team|kund|projekt)\w+|\bnext time (?:some|any)(?:one"
    r"|body)\b|\b(?:prochaine fois|proxima vez"
    r"|prossima volta) (?:que|che)\b"
    r"|\b(?:nachsten mal|nachstes mal) \w+t (?:es|er|sie|das|der|die)\b"
    r"|\b(?:whenever|every time|each time|any ?time) you\b.* (?:so \w+ (?:it|them)|look at|why)\b"
)
# Told once about the thing in front of both, and told what happened a moment ago.
_ONE_OFF: Final = late(
    r"\b(?:told|asked) you (?:\w+ )?to\b"
    r"(?!.*\b(?:instead|not|never|always|every|each|before|when|only|no|without|keep|stick"
    r"|avoid|stop)\b)"
    r"|\bthere(?:,|[.!]*$)"
    r"|\bwe no longer\b.*(?:\bthis \w+|, (?:so )?(?:drop|delete|remove|update|fix|change|adapt) )"
    r"|\b(?:told|asked) you\b.*(?:\b(?:it|them)\b|\bthat \w+|\bthis \w+|\bnot to\b"
    r"|\bthe (?:other|second|first|last|right|same|wrong|third)\b)"
    r"|\bwe(?:ve| have)? (?:moved|switched|migrated)\b.*\b(?:this morning|yesterday|just now"
    r"|update the"
    r"|branch|imports?|please rebase)\b"
    r"|^(?:\W|please )*(?:write|add|create|build|implement) (?:an? |the )(?!note)\w+ "
    r"(?:that|which)\b|\b(?:going|moving) forward: next\b"
    r"|^(?:\W|please )*(?:always|never) (?:on|off|true|false|in|at|null|none)\b"
)
# Readable from the code or the history, or a detail of the task at hand.
_DERIVABLE: Final = late(
    r"\b(?:that|this) (?:fix|bug|change|diff|patch|error)\b(?! (?:report|message|log|code)s?\b)"
    r"|\bthe (?:fix|bug|change|diff|patch|error) (?:is|was|in|for|from|we|i|you|that|which)\b"
    r"|\b(?:last|latest|these|those|that|\w+ed) (?:\w+ )?commits?\b"
    r"|\bmerged\b|#\d{2,}\b"
    r"|\b[\w/.-]+\.(?:py|tsx?|jsx?|rs|go|java|kt|c|cc|cpp|h|rb|php|swift|cs|gd|sql|css|html"
    r"|proto)\b|\b(?:src|lib|tests?|app|pkg|cmd|internal)/\w|\w\(\)|\blines? \d+|\bextends\b"
    r"|\b(?:is|are) [`¤]|\b[0-9a-f]{7,40}\b"
)
_FROM_NOW_ON: Final = late(r"\b(?:from now on|(?:going|moving) (?:forward|fwd)|henceforth)\b")
_TAKES_BACK: Final = late(
    r"\b(?:ignore that|scratch that|never ?mind|nvm|disregard that"
    r"|wrong (?:window|chat|repo|tab|project))\b"
    r"|(?<!dont )(?<!not )(?<!never )\bforget (?:that|it)(?:[,.;!]|\W*$)"
)
_NOT_FOR_MEMORY: Final = late(
    r"\b(?:dont|do not|no need to|never) (?:remember|save|store|memori[sz]e|note|record)"
    r" (?:this|that|it|any)\b|\boff the record\b|\bbetween (?:us|you and me)\b|\bunter uns\b"
    r"|\bmerk dir das nicht\b|\bno (?:lo )?(?:recuerdes|guardes)\b|\bne (?:retiens|note) pas\b"
)


def is_question(sentence: str) -> bool:
    """Not if it asks the agent to remember: that is an order, however polite."""
    return bool(_QUESTION.search(sentence)) and not _ASKS_POLITELY.search(sentence)


def is_for_the_moment(sentence: str) -> bool:
    return bool(_PASSING.search(sentence))


def is_ruled_out(sentence: str, *, asked_for: bool, matter: str = "") -> bool:
    """Whether a sentence in an explicit form is still not for keeps.

    `asked_for` is true where the person asked for memory in so many words; `matter` is the sentence
    without these.
    """
    if is_question(sentence) or _JOKES.search(sentence) or _LOCAL.search(sentence):
        return True
    if asked_for:
        return bool(_DERIVABLE.search(sentence)) and not says_more_than_code(matter or sentence)
    if _FROM_NOW_ON.search(sentence):
        sentence = sentence.replace("()", "")  # "from now on the logger, not print()" is a rule
    guesses = (_NOT_MEANT, _PASSING, _DERIVABLE, _SPECIFIES, _OF_A_DEFINITE_THING, _ONE_OFF)
    return any(guess.search(sentence) for guess in guesses)


def takes_back(sentence: str) -> bool:
    """Whether it takes back what the same message said before it."""
    return bool(_TAKES_BACK.search(sentence))


def forbids_memory(message: str) -> bool:
    """Whether nothing of this message may be kept."""
    return bool(_NOT_FOR_MEMORY.search(message))
