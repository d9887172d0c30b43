"""Does a value look like a secret? Judged by its letters, once its name has raised suspicion.

1. A placeholder is no secret: a template, a reference to where the secret lives, a row of stars or
   x, or words that everybody writes in examples (`my-secret-token`, `password123`).
2. Neither is what is plainly something else: code, a path, a URL, a type, a size, a hash's name.
3. A password is chosen by a person: letters together with digits or signs, six at least.
4. A token is drawn by a machine: it jumps between letters and digits, or cannot be pronounced.
"""

import re

from memoryd.text.lazy_regex import late

# These read lower case: a pattern that ignores case costs the engine ten times as much.
# What a template, a mask or a pointer to a vault contains or begins with.
_ELSEWHERE = late(
    r"""[$%#@]?\{ | \$\( | %[(sd] | \*{3} | x{4} | \.{3} | [\u2026\u2022\u25cf] | <[a-z] | \[secret:
      | your[-_ ] | change[-_]?(?:me|this|it) | placeholder | redacted | insert[-_]
      | replace[-_]?(?:me|this|with) | [-_]here\b | environ\b | process\.env | getenv | env\.
      | \[[a-z]+-[a-z] | \(\?[=!:] | \.[*+] | \\[dws]""",
    re.VERBOSE,
)
_POINTER = late(
    r"""[$<{\[(:] | -- | [&*!][a-z_]+$ | %\w+% | (?:\.{1,2}|~)/ | [a-z]:\\ | [a-z][a-z0-9+.-]*://
      | /(?:home|users|etc|var|run|usr|opt|tmp|mnt|srv|root|private|workspace|app|secrets|dev|proc)/
      | (?:arn|env|vault|ssm|file|op|ref|enc|sha\d+|md5|data|urn|did)[:\[-]""",
    re.VERBOSE,
)
_STOCK_WORD = late(
    r"""pass(?:word|wort|wd|phrase|code)?|pwd|pw|secret|token|api|key|auth|access|refresh|bearer|client
      |users?|name|admin|root|guest|postgres|mysql|redis|tests?|testing|demo|foo|bar|baz|qux|default
      |dummy|fake|sample|examples?|value|string|text|some|super|my|the|is|not|real|your?|new|old|valid
      |invalid|wrong|correct|none|null|true|false|undefined|abc(?:def(?:gh)?)?|xyz|x{2,}|0?123\d*
      |(?P<same>\w)(?P=same){2,}|(?<!\d)\d{1,2}(?!\d)|[\W_]""",
    re.VERBOSE,
)
_TECHNICAL_WORD = late(
    r"""(?:sha|md|rs|hs|es|ps|aes|rsa|utf|base|http|oauth|ipv?|tls|u?int|float|argon|pbkdf|ed|curve|x|p
      |pkcs|ec|s|k8|i18|v|py|python|node|h|r|c|col|id|step|part|row|line|env|oidc|totp|varchar|char
      |string|windows|iso|rfc|cve|sha3|blake|bcrypt|scrypt|web|html|css|es|log4|mp|vp|wpa|ntlmv)
      \d{1,5}(?:id|[a-z]|sum|array|encoded|url)?|\d+(?:bits?|bytes?|chars?|days?|hours?|min|[smhdkx]|mb|gb)?
      |[a-z]+""",
    re.VERBOSE,
)
_QUANTITY = late(r"[\dT.,:/x%+-]+(?:[a-z]{1,7})?", re.IGNORECASE)
_FILE = late(
    r"[\w./\\~-]+\.(?:json|ya?ml|toml|txt|pem|key|crt|env|ini|cfg|conf|log|md|py|[jt]sx?|go|rs|rb"
    r"|sh|java|php|html?|css|xml|csv|sql)",
    re.IGNORECASE,
)
_ADDRESS = late(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[\w-]+(?:\.[\w-]+)+:[0-9]{2,5}")
_MEMBER = late(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+[;,)]*")
_CALL = late(r"[*&]?[A-Za-z_$][\w$.:>-]*[(\[]")
_IDENTIFIER = late(r"[A-Za-z_$][\w$]*[;,)}\]]*")
_UUID = late(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

_PIECES = late(r"[A-Za-z0-9]+")
_LETTERS = late(r"[A-Za-z]")
_DIGIT = late(r"[0-9]")
_STRONG_SIGN = late(r"[!@#$%^&*+?~|]")
_JUMP = late(r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]|(?<=[a-z])[A-Z](?![a-z])")
_NUMBERED_WORD = late(
    r"(?:base|sha|utf|md|oauth|http|argon|pbkdf|int|x|ed|py)[-_]?(?:64|32|256|512|25519|16|1|2|3|5|8)",
    re.IGNORECASE,
)
_WORD = late(r"(?<![A-Za-z0-9])[A-Za-z]{1,2}(?![A-Za-z0-9])|[A-Z]?[a-z]{3,}|[A-Z]{3,}(?![a-z])")
_VOWEL = late(r"[aeiouy]", re.IGNORECASE)
_TONGUE_TWISTER = late(r"[bcdfghjklmnpqrstvwxz]{5}", re.IGNORECASE)

_FILL = late(r"[xX]{6}|[-_](?i:your|here|goes)(?![A-Za-z0-9])")

# A long value has shown what it is by then.
_ENOUGH = 80


def is_fill(token: str) -> bool:
    """Whether somebody padded a token's shape out by hand: `ghp_xxxxxxxx`, `sk-your-key-here`."""
    return len(set(token[-16:])) < 6 or _FILL.search(token) is not None


def is_placeholder(value: str) -> bool:
    lowered = value.lower()
    return (
        _POINTER.match(lowered) is not None
        or _ELSEWHERE.search(lowered, 0, _ENOUGH) is not None
        or (len(lowered) < _ENOUGH and len(_STOCK_WORD.sub("", lowered)) < 2)
    )


def is_uuid(value: str) -> bool:
    return _UUID.fullmatch(value) is not None


def is_code(value: str, *, is_argument: bool) -> bool:
    """Whether an unquoted value reads as an expression: a call, an index, a member.

    A single identifier is one where an argument may stand; elsewhere, or with a number as nobody
    gives to variables, it may be a password.
    """
    if _CALL.match(value):
        return True
    is_variable = is_argument and len(_DIGIT.findall(value)) < 3
    is_name = _MEMBER.fullmatch(value) or (is_variable and _IDENTIFIER.fullmatch(value))
    return bool(is_name) and not is_random(value)


def is_password(value: str, *, in_prose: bool = False) -> bool:
    """Whether a person may have chosen this to get in somewhere.

    In prose, words and numbers joined by hyphens are talk: "the password is base64-encoded".
    """
    if not 6 <= len(value) <= 256 or not (_is_mixed(value) or _is_unspeakable(value)):
        return False
    return not (
        is_placeholder(value)
        or _is_something_else(value)
        or (_LETTERS.search(value) and _is_technical(value, in_prose=in_prose))
    )


def is_strong_password(value: str) -> bool:
    """Whether it is a password even where no word says "is" before it."""
    digits = len(_DIGIT.findall(value))
    if len(value) < 8 or not digits:
        return False
    is_rich = digits >= 3 or _STRONG_SIGN.search(value) is not None or is_random(value)
    return is_rich and is_password(value, in_prose=True)


def is_token(value: str) -> bool:
    """Whether a machine drew this."""
    return (
        len(value) >= 10
        and _LETTERS.search(value) is not None
        and is_random(value)
        and not is_placeholder(value)
        and not _is_something_else(value)
    )


def is_certain_token(value: str) -> bool:
    """Whether it is a token even where no word says "is" before it; a hash could stand there."""
    return len(value) >= 20 and value.lower() != value != value.upper() and is_token(value)


def _is_mixed(value: str) -> bool:
    has_digit = _DIGIT.search(value) is not None
    return has_digit or _STRONG_SIGN.search(value.rstrip("!?")) is not None


def _is_unspeakable(value: str) -> bool:
    return len(value) >= 12 and is_random(value) and len(_STOCK_WORD.sub("", value.lower())) >= 12


def _is_something_else(value: str) -> bool:
    if _QUANTITY.fullmatch(value):
        return not (value.isdecimal() and len(value) >= 6)
    return _ADDRESS.fullmatch(value) is not None or _FILE.fullmatch(value) is not None


def _is_technical(value: str, *, in_prose: bool) -> bool:
    pieces = _PIECES.findall(value)
    return (
        (in_prose or len(pieces) == 1 or value.count("/") > 1)
        and all(_TECHNICAL_WORD.fullmatch(piece.lower()) for piece in pieces)
        and not _STRONG_SIGN.search(value.rstrip("!?"))
        and not is_random(value)
    )


def is_random(value: str) -> bool:
    """Whether it reads like a draw: it jumps between letters and digits, or has no syllables."""
    value = value[:_ENOUGH]
    jumps = len(_JUMP.findall(_NUMBERED_WORD.sub("-", value)))
    if jumps < 3 and len(value) < 10:
        return False
    return _readable_share(value) < (0.8 if jumps >= 3 else 0.5)


def _readable_share(value: str) -> float:
    """How much of the letters and digits a person could read aloud as words."""
    readable = sum(
        len(word)
        for word in _WORD.findall(value)
        if len(word) < 3
        or (len(_VOWEL.findall(word)) * 6 >= len(word) and not _TONGUE_TWISTER.search(word))
    )
    return readable / max(1, sum(map(len, _PIECES.findall(value))))
