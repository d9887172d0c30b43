"""What of a turn is kept, when the person asked for privacy in it.

Rules
- A prompt with a private part (`text/private`) keeps its public words. The answer and the tool
  calls that follow may repeat the private ones, so of them only the mark is kept; so is of what
  the person answers to a question that was asked by such a call.
- "Don't remember this" is for the whole turn: every part of it, what was said before in the same
  turn too, becomes the mark. Who talks about a program ("the cache does not remember this value")
  has not asked for it: it must be an order, and stand as a clause of its own.
- What goes on after such a turn was handed out belongs to it.
- The mark says that there was something. It is not worth extracting.
"""

import re
from typing import Final, Literal

from memoryd.text.lazy_regex import late
from memoryd.text.private import has_private

PERSONS_WORDS: Final = 1
NOTHING: Final = 2
Withholds = Literal[0, 1, 2]

_STARTS: Final = (
    r"(?:^|[.!?;:,(\n—–-]\s{0,3}"  # noqa: RUF001 - dashes
    r"|\b(?:please|and|but|so|also|ok|okay|bitte|und|aber|por favor|y|pero|et|mais|e|ma|mas|en"
    r"|maar|i|ale|и|но)[\s,:]{1,3})"
)
_ENDS: Final = r"(?=\s{0,3}(?:$|[.!?;:,)\n—–-]|\b(?:please|bitte|ok|okay|though|but|and)\b))"  # noqa: RUF001 - dashes
_MEMORY: Final = r"(?:to|in|into|from|of) (?:your |the |any |long[- ]term )*memor(?:y|ies)"
_THIS: Final = (
    r"(?:(?:any of |all of )?(?:this|that|it)(?: (?:message|prompt|turn|part|one|session|chat"
    r"|conversation))?|what i(?:'m| am)? (?:just )?(?:say|said|saying|wrote|told you|tell you)"
    r"(?: (?:here|now|just now|next))?|anything (?:i say|from this|about this|of this|here)"
    r"(?: (?:message|prompt|turn|here))?|my (?:last )?(?:message|prompt))"
)
_ASKS: Final = late(
    rf"{_STARTS}(?:"
    rf"(?:do not|don['’]?t|never|no need to|you (?:must|should) not|you shouldn['’]?t)"  # noqa: RUF001 - either
    rf"(?: (?:try to|ever|please))? (?:(?:remember|memori[sz]e) {_THIS}(?: {_MEMORY})?"
    rf"|(?:save|store|keep|put|record|note|write|add) {_THIS}(?: down)? {_MEMORY})"
    rf"|(?:keep|leave) {_THIS} out {_MEMORY}|(?:this is )?off the record"
    r"|merk(?:e)? dir (?:das|dies|diese nachricht)(?: hier| bitte)? (?:bitte )?nicht"
    r"|(?:das|dies)(?: hier)? (?:bitte )?nicht (?:merken|speichern|behalten)"
    r"|no (?:recuerdes|guardes|memorices) (?:esto|eso|nada de esto|este mensaje)"
    r"|ne (?:retiens|m[ée]morise|garde|retenez) pas (?:ça|cela|ceci|ce message)"
    r"|non (?:ricordare|memorizzare|salvare) (?:questo|ci[oò]|questo messaggio)"
    r"|n[ãa]o (?:lembre|guarde|memorize|grave) (?:disto|disso|isto|isso|esta mensagem)"
    r"|onthoud (?:dit|dat)(?: bericht)? niet"
    r"|nie (?:zapami[ęe]tuj|zapisuj) tego"
    r"|не (?:запоминай|сохраняй|запоминайте) (?:это|этого)"
    rf"){_ENDS}"
    r"|(?:これ|この話|今の話)(?:は|を)?(?:覚え|記憶し|保存し)ないで"
    r"|(?:不要|别|請不要|请不要)(?:记住|記住|保存|记下)(?:这个|这些|这件事|這個|這些|這件事|这条消息)",
    re.IGNORECASE,
)


def asks_not_to_remember(text: str) -> bool:
    """Whether a prompt asks that nothing of this turn be kept."""
    return _ASKS.search(text) is not None


def withheld_by(kind: str, text: str) -> Withholds:
    """What a new part of a turn asks to withhold."""
    if kind != "prompt":
        return 0
    if asks_not_to_remember(text):
        return NOTHING
    return PERSONS_WORDS if has_private(text) else 0


def is_kept(kind: str, withholds: Withholds) -> bool:
    """Whether the text of such a part is kept in a turn that withholds so much."""
    return not withholds or (withholds == PERSONS_WORDS and kind in {"prompt", "compaction"})
