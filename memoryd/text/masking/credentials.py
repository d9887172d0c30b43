"""Hides credentials that people write in prose, where only the words around them show it.

Rules
- Masking lets words joined to a number pass in prose, since a model has to read what people talk
  about. What is saved is judged more strictly: anything with a number in it is hidden in a sentence
  that mentions a password, and next to the word for any other credential.
- So is anything that follows a password after an equals sign or a colon.
- Dates, tickets, names of algorithms and addresses are not credentials.
- A sentence about a credential is worthless without it, unless it also says where to go.
"""

import re
from collections.abc import Iterable

from memoryd.text.lazy_regex import late
from memoryd.text.masking.mentions import may_tell
from memoryd.text.masking.spoken import spoken_in
from memoryd.text.prose import BLANK, plain

HIDDEN = "[secret: password]"

# Credentials that people choose themselves.
_CHOSEN = (
    r"(?:(?<![a-z0-9])(?:pass(?:word|wd|phrase|code|wort)s?|pwd?"
    r"|pin(?= (?:code|number|is|for|of|was|de|del|da|do|der|vom|\d)|[:=]| ?\d)|puk|kennwort"
    r"|mot de passe|mdp"
    r"|contrasena|clave|senha|palavra-passe|parola dordine|wachtwoord|haslo|пароль|пин-?код"
    r"|(?:door|gate|access|alarm|unlock|entry)[ -]code|zugangscode|toegangscode"
    r"|code dacces)(?![a-z])"
    r"|パスワード|暗証番号|密码|密碼|口令|비밀번호|암호)"
)
_CREDENTIAL = (
    rf"(?:{_CHOSEN}|(?<![a-z])(?:log-?ins?|creds?|credentials?|token|secret|zugangsdaten"
    r"|anmeldedaten|(?:user(?:name)?|wifi|wlan|ssid|account)(?=[^.]{1,30} ?/ ?\S)|(?:api|access"
    r"|private|licen[cs]e|account|auth|deploy|signing|encryption)[ _-]?key|keys?(?= ?(?:is|are|for"
    r"|of|to)\b| ?[:=]))(?![a-z]))"
)
_LINK = (
    r"(?:(?<![a-z])(?:is|was|are|its|ist|war|lautet|sind|est|cest|sont|es|son|e|sao|sono|to|это)"
    r"(?![a-z])|[:=/\uff1a]|は|是|为|는|은)"
)
_WORD = late(r"[^\s,;\"'`<>()\[\]¤\u2e80-\uffff]+")
_NOT_SECRET = late(
    r"(?i:1password)|\d{4}-\d\d(?:-\d\d)?|[a-z][a-z0-9+.-]*://.*|[A-Z]{2,10}-\d+|[\w.+-]+@[\w.-]+"
    r"|(?:[\w-]+\.)+[a-z]{2,}(?:[:/].*)?|[\d.,:x%+-]+(?:min|sec|ms|days?|hours?|chars?|bytes?"
    r"|bits?|mb|gb|[smhdwkx%])?"
)
# "sha256", "oauth2", "base64-encoded": a short word with a short number is the name of something.
_TECHNICAL = late(r"(?:[a-z]{1,7}\d{1,5})?[a-z]*", re.IGNORECASE)
_ASSIGNED = late(rf"{_CHOSEN} ?[:=] ?(?P<value>[^\s,;¤]+)")
_NUMBER_BEHIND = late(r"\d[\d -]{2,12}\d(?![\w.-])")

_SENTENCES = late(r"(\n|(?<=[.!?]) +)")
_MASK = late(r"\[secret: [^\]]*\]")
_MENTION = late(_CREDENTIAL)
# "Xyz-12 is the ...": the value comes before its name.
_IS_THE = late(r"\b(?:is|was|ist|est|es|e) (?:\w+ ){0,3}$")
_MENTIONS_A_CHOSEN = late(_CHOSEN)
_UP_TO_VALUE = late(rf"(?: [^\s:=]+){{0,6}}? ?{_LINK} ?")


def without_credentials(text: str) -> str:
    """The text with a mask in place of each credential."""
    parts, before = [], ""
    for part in _SENTENCES.split(text):
        parts.append(_sentence_without(part, before))
        before = plain(part) if part.strip() else before
    return "".join(parts)


def _sentence_without(sentence: str, before: str) -> str:
    bare = _MASK.sub(lambda mask: BLANK * len(mask[0]), sentence)
    folded = plain(bare)
    if not may_tell(folded) and not may_tell(before):
        return sentence
    spoken = [one for one in spoken_in(folded, before) if BLANK not in folded[slice(*one)]]
    mention = _MENTION.search(folded)
    if mention is None:
        return _hidden(sentence, spoken)
    link = _UP_TO_VALUE.match(folded, mention.end())
    number = _NUMBER_BEHIND.match(folded, link.end()) if link else None
    is_anywhere = _MENTIONS_A_CHOSEN.search(folded) or _IS_THE.search(folded[: mention.start()])
    words = _WORD.finditer(bare, 0 if is_anywhere else mention.end())
    spans = [word.span() for word in words if _may_be_secret(word[0].strip(".!?:*"))]
    spans += [match.span("value") for match in _ASSIGNED.finditer(folded)]
    spans += [number.span()] if number else []
    return _hidden(sentence, spans + spoken)


def _may_be_secret(word: str) -> bool:
    if len(word) < 6 or not re.search(r"\d", word) or _NOT_SECRET.fullmatch(word):
        return False
    return not all(_TECHNICAL.fullmatch(piece) for piece in re.findall(r"[^\W_]+", word))


def _hidden(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts, done = [], 0
    for start, end in sorted(spans):
        if start >= done:
            parts += [text[done:start], HIDDEN]
        done = max(done, end)
    return "".join((*parts, text[done:]))
