"""Secrets told in a sentence: "the PIN of the safe is 4711", "log in as bob with S3cret!".

1. The name of a secret, up to six words on what it is for, a verb or a colon, then the value.
2. The value is in quotes, or has a digit or a mark inside it: a plain word after "is" is prose
   ("the password is required").
3. Only what stands near a name is looked at, so that long texts stay cheap.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from memoryd.text.lazy_regex import late
from memoryd.text.masking.anchors import matches_at
from memoryd.text.masking.values import is_placeholder

_NAMES: Final = (
    r"pin(?: code)?|passwd|clave|zugangsdaten|secret answer|seed phrase|recovery phrase"
    r"|pass ?code|pass ?phrase|unseal key|shared secret|recovery code|backup code"
    r"|(?:2fa|otp|mfa) (?:code|secret)|access code|password|passwort|kennwort|contrase(?:ñ|n)a"
    r"|senha|mot de passe|パスワード|pw|pass|login|basic auth|credentials"
)
_HINT = late(
    r"\b(?:pin|pass(?:word|wort|wd|phrase|code)?|unseal key|shared secret|(?:recovery|backup"
    r"|access)"
    r" (?:codes?|phrase)|(?:2fa|otp|mfa)|kennwort|contrase[ñn]a|senha|mot de passe|pw|log ?in"
    r"|basic auth"
    r"|credentials|clave|zugangsdaten|secret answer|seed phrase|wifi|wlan|network)\b|パスワード"
)
# What a hint begins with.
TOLD_ANCHORS: Final = frozenset(
    {
        *("pin", "pass", "unseal key", "shared secret", "recovery code", "recovery phrase"),
        *("backup code", "backup phrase", "access code", "access phrase", "2fa", "otp", "mfa"),
        *("kennwort", "contrase", "senha", "mot de passe", "pw", "login", "log in", "basic auth"),
        *("credentials", "clave", "zugangsdaten", "secret answer", "seed phrase", "wifi", "wlan"),
        *("network", "パスワード"),
    }
)
# A secret is told within one sentence: what is further from its name is not looked at.
_BEFORE: Final = 80
_BEHIND: Final = 260
_IS: Final = r"(?:is|was|are|es|é|è|est|ist|lautet|は)"
_SHORT_NAME: Final = r"(?:the|my|our|its|his|her) (?:\w+ )?(?:pw|pass|password):"
# A digit or a mark inside: not a plain word, not a number with a unit, not a path or an address.
_VALUE: Final = (
    r"(?P<secret>[\"“'`][^\"”'`\n]{4,60}[\"”'`]|(?=[^\s,;]*(?:\d"
    r"|[!@#$%^&*+_.~-][^\s,;.!?]))(?![\d.,-]+\w{0,4}[%.]?(?:\s|$))"
    r"(?!(?:sha|md)-?\d|\w+-(?:encoded|hashed|protected|based|encrypted)|\d+-(?:bit|byte|char)"
    r"|[a-z]+-[a-z]+(?:\s|$))"
    r"(?!(?:https?|file)://|[/~.]|\[)[^\s,;:/\"'()\[\]]{5,80}?)(?=[.,;!?]?(?:\s|$)|だ)"
)
_TOLD = late(rf"(?i)\b(?:{_NAMES})\b(?: \w[\w.-]*){{0,6}}? ?{_IS}\s?{_VALUE}")
_TOLD_SHORT = late(rf"(?i)\b{_SHORT_NAME} {_VALUE}")
_TOLD_WIDE = late(rf"パスワード\s?は\s?{_VALUE}")
_PIN = late(r"(?i)\bpin\b(?: \w+){0,5}? (?:is|was|=|:)\s?(?P<secret>\d{4,8})(?!\S)")
_PAIR = late(
    r"(?i)\b(?:basic auth|login|credentials)\b[^\n.]{0,40}?(?::| is | are )\s?"
    r"[\w.@-]{2,30}\s?[:/]\s?(?P<secret>[^\s,;\[]{4,60})"
)
_WITH = late(
    r"(?i)\blog(?:s|ged)? ?in\b[^\n.]{0,40}? as \S{2,60} (?:with|using) (?:password )?"
    r"(?P<secret>(?=\S*\d)(?=\S*[^\W\d_])[^\s,;\[]{6,60})"
)
_PASS = late(r"(?i)(?<=, )pass(?:word)? (?P<secret>(?=\S*\d)(?=\S*[!@#$%^&*_-])[^\s,;\[]{5,60})")
_HAS = late(
    r"(?i)\b(?:has|have|use|with|uses) (?:the |a )?password (?P<secret>(?!is\b|for\b|that\b|and\b"
    r"|to\b|in\b|of\b|set\b|auth|protected|manager|reset|field|hash)[^\s,;.\[]{5,60})"
)
_WIFI = late(r"(?i)\b(?:wifi|wlan|network)\b[^\n]{0,40}\bkey (?P<secret>(?=\S*\d)[^\s,;\[]{8,60})")
_CODES = late(
    r"(?i)\b(?:backup|recovery|2fa|otp) codes?\b[^\n.]{0,40}?[:=] ?(?P<secret>[\dA-Z-]{6,20}"
    r"(?:, ?[\dA-Z-]{6,20})*)"
)
_PIN_PARTS = late(r"(?i)\bpin\b(?: \w+){0,6}? (?:is|was) (?P<secret>\d[\d-]{3,9}\d)(?!\S)")
_THEM = late(r"(?i)\bcredentials\b[^\n.]{0,30}: ?[\w.@-]{2,30}, (?P<secret>[^\s,;\[]{5,60})")
_AND = late(
    r"(?i)\b(?:zugangsdaten|credentials|login)\b[^\n.]{0,30} (?:sind|are|is) [\w.@-]{2,30} (?:und"
    r"|and)"
    r" (?P<secret>(?=\S*[\d.!@#$_-])[^\s,;\[]{5,60})"
)
_ANSWER = late(r"(?i)\bsecret answer\b(?: \w+){0,5}? is (?P<secret>[^\n.,;]{3,60})")
_SEED = late(r"(?i)\bseed phrase\b(?: \w+){0,6}? is (?P<secret>[a-z]+(?: [a-z]+){11,23})")
_UNZIP = late(
    r"(?i)\bpass(?:wd|word|wort)\b to (?:unzip|unlock|open"
    r"|decrypt) \S+ is (?P<secret>[^\s,;\[]{4,60})"
)
_PHRASE = late(
    r"(?i)\bpass ?phrase (?P<secret>(?!is |to |for |that |prompt)(?:[a-z]+ ){2,6}?[a-z]+)"
    r"(?= to (?:unlock|decrypt|open|sign|log))"
)
# The forms, and what each match of one holds in lower case: one of these. A pattern that ignores
# case also takes a few other letters for ASCII ones, so this holds for ASCII texts.
_FORMS: Final = (
    (_TOLD, TOLD_ANCHORS),
    (_TOLD_SHORT, ("pw:", "pass:", "password:")),
    (_TOLD_WIDE, ("パスワード",)),
    (_PIN, ("pin",)),
    (_PIN_PARTS, ("pin",)),
    (_PAIR, ("basic auth", "login", "credentials")),
    (_WITH, ("log in", "login", "logs in", "logsin", "logged in", "loggedin")),
    (_PASS, (", pass",)),
    (_PHRASE, ("phrase",)),
    (_HAS, (" password ",)),
    (_WIFI, ("key ",)),
    (_CODES, (" code",)),
    (_THEM, ("credentials",)),
    (_AND, ("zugangsdaten", "credentials", "login")),
    (_ANSWER, ("secret answer",)),
    (_SEED, ("seed phrase",)),
    (_UNZIP, (" to ",)),
)


def told_in(text: str, lowered: str, present: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    names = TOLD_ANCHORS & present
    if not names:
        return
    for start, end in _windows(matches_at(names, _HINT, lowered)):
        for match in _matches_in(text[start:end], lowered[start:end], names):
            if not is_placeholder(match["secret"]):
                found = match.span("secret")
                yield "password", start + found[0], start + found[1]


def _matches_in(part: str, lowered: str, names: frozenset[str]) -> Iterator[re.Match[str]]:
    if not part.isascii():
        for form, _ in _FORMS:
            yield from form.finditer(part)
        return
    yield from matches_at(names, _TOLD, part, lowered)
    for form, signs in _FORMS[1:]:
        if any(sign in lowered for sign in signs):
            yield from form.finditer(part)


def _windows(hints: Iterable[re.Match[str]]) -> Iterator[tuple[int, int]]:
    """The parts of a text around the names of secrets, apart from each other."""
    start = end = 0
    for hint in hints:
        if hint.start() - _BEFORE > end:
            if end:
                yield start, end
            start = max(0, hint.start() - _BEFORE)
        end = hint.end() + _BEHIND
    if end:
        yield start, end
