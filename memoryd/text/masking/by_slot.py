"""Secrets that stand in a slot which is not a name: a sentence, a pair, a command, a call.

1. "use X as the password"; "credentials: admin / X"; `login("bob", "X")`.
2. The argument that a tool takes as a password: `requirepass X`, `echo X | sudo -S`.
3. A user with the hash of a password, as in `.htpasswd` and `/etc/shadow`.
4. Short numbers and codes that only their slot gives away: a PIN, a door code, recovery codes.
5. A login or a key wrapped in base64; a URL whose user or query is a token.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from memoryd.text.lazy_regex import late
from memoryd.text.masking import values
from memoryd.text.masking.slot import Slot, SlotTable, is_any_password


def _is_pair_password(value: str) -> bool:
    return "/" not in value and is_any_password(value.rstrip(".,;:)"))


def _is_strong(value: str) -> bool:
    return not {"/", "(", "="} & set(value) and values.is_strong_password(value.rstrip(".,;:)"))


def _always(_value: str) -> bool:
    return True


def _has_digit(value: str) -> bool:
    return any(letter.isdecimal() for letter in value)


def _is_login(encoded: str) -> bool:
    text = _decoded(encoded)
    user, colon, password = text.partition(":")
    return (
        bool(colon and user and password)
        and text.isprintable()
        and user != password
        and not values.is_placeholder(password)
    )


def _is_private_key(encoded: str) -> bool:
    return "PRIVATE KEY" in _decoded(encoded[:80])


def _decoded(encoded: str) -> str:
    whole = encoded.rstrip("=")
    whole = whole[: len(whole) - (len(whole) % 4 == 1)]
    try:
        return base64.b64decode(whole + "=" * (-len(whole) % 4)).decode("ascii")
    except (ValueError, binascii.Error):
        return ""


_QUOTE = r"""\\{0,2}["'`]"""
_PASSWORD_WORD = r"(?:password|passwort|passwd|passphrase|passcode|pass|pwd?|pin)"  # noqa: S105
_VALUE = r"""(?P<secret>[^\s"'`\\|;<>]{4,128})"""

SLOTS: Final[tuple[Slot, ...]] = (
    Slot(
        "password",
        (" pass", " pwd", " pw", " pin"),
        late(
            rf"""\b(?:use|using|with|take|try|set|enter|put|pick|choose|have)[ ]
                 ["'`]?(?P<secret>[^\s"'`\\]{{4,64}})["'`]?[ ]as[ ]
                 (?:the[ ]|my[ ]|your[ ]|our[ ]|a[ ])?
                 (?:[a-z-]+[ ]){{0,2}}?{_PASSWORD_WORD}\b
                 (?![ ](?:field|store|source|manager|name|hash|policy))""",
            re.IGNORECASE | re.VERBOSE,
        ),
        is_any_password,
        beside=(" as ",),
    ),
    Slot(
        "password",
        ("credential", "creds", "login", "user/pass", "username/pass", "sign in", "log in"),
        late(
            rf"""\b(?:credentials?|creds|login|log[ ]in|sign[ ]in|user(?:name)?[ ]?/[ ]?pass\w*)
                 (?:[ ](?:is|are|with|as)|[ ]?:)?[ ]["'`]?(?P<user>[\w.@+-]{{2,40}})["'`]?
                 [ ]?[/:|][ ]?["'`]?{_VALUE}""",
            re.IGNORECASE | re.VERBOSE,
        ),
        _is_pair_password,
        before=0,
    ),
    Slot(
        "password",
        (" / ",),
        late(
            rf"(?:^|[\s(\"'`:])(?:admin|root|[a-z][\w.@-]{{1,30}}) / {_VALUE}"
            r"(?= (?:are|is) (?:the|my|our) (?:cred|login))",
            re.MULTILINE | re.IGNORECASE,
        ),
        _is_pair_password,
    ),
    Slot(
        "password",
        (" / ",),
        late(rf"(?:^|[\s(\"'`:])[a-z][a-z.@_-]{{1,30}} / {_VALUE}", re.MULTILINE),
        _is_strong,
    ),
    Slot(
        "password",
        ("login(", "auth(", "auth=(", "auth = (", "authenticate(", "signin(", "sign_in("),
        late(
            r"""(?:login|auth|authenticate|sign_?in)[ ]?=?[ ]?\([ ]?["'][^"'\s]{1,64}["'],[ ]?
                ["'](?P<secret>[^"'\s]{4,128})["']""",
            re.IGNORECASE | re.VERBOSE,
        ),
        is_any_password,
        before=0,
    ),
    Slot(
        "password",
        ("| pass", "|pass", "| **pass", "| `pass"),
        late(
            rf"""\|[ ]?[*`]{{0,2}}pass(?:word|phrase|code|wd)?[*`]{{0,2}}[ ]{{0,20}}\|
                 [ ]{{0,20}}[*`]{{0,2}}
                 {_VALUE[:-1]}(?<![*`]))[*`]{{0,2}}[ ]{{0,20}}\|?[ ]*$""",
            re.IGNORECASE | re.VERBOSE | re.MULTILINE,
        ),
        is_any_password,
    ),
    Slot(
        "password",
        (" role ", " user "),
        late(
            rf"(?:create|alter) (?:role|user) .{{1,80}}?\bpassword {_QUOTE}{_VALUE}", re.IGNORECASE
        ),
        is_any_password,
        # Not all of the word: the pattern takes a long s for an s.
        beside=('word "', "word '", "word `", "word \\"),
    ),
    Slot(
        "password",
        ("root:", "admin:", "administrator:", "postgres:", "ubuntu:"),
        late(r"(?:^|(?<=\s))\w+:(?P<secret>[^\s:/\"'`,;]{6,64})(?!\S)", re.MULTILINE),
        _is_strong,
    ),
    Slot(
        "password",
        ("set password",),
        late(
            rf"set password (?:for \S+ ?)?(?:=|to) ?(?:password ?\( ?)?{_QUOTE}{_VALUE}",
            re.IGNORECASE,
        ),
        is_any_password,
        before=0,
    ),
    Slot(
        "password",
        ("requirepass ", "masterauth "),
        late(rf"(?:requirepass|masterauth) {_QUOTE}?{_VALUE}", re.IGNORECASE),
        is_any_password,
        before=0,
    ),
    Slot(
        "password",
        (" pass:",),
        late(rf"-pass(?:in|out)? pass:{_VALUE}"),
        is_any_password,
    ),
    Slot("password", ("ldap",), late(rf"ldap\w+ .{{0,90}}?-w {_QUOTE}?{_VALUE}"), is_any_password),
    Slot(
        "password",
        ("smbclient ", "rpcclient ", "mount.cifs "),
        late(rf"\w+ .{{0,90}}?-U {_QUOTE}?[\w.\\/-]{{1,40}}%{_VALUE}"),
        is_any_password,
    ),
    Slot(
        "password",
        ("htpasswd ",),
        late(rf"htpasswd -\w*b\w* (?:-\w+ )*\S+ \S+ {_QUOTE}?{_VALUE}"),
        is_any_password,
    ),
    Slot(
        "password",
        ("net use ", "net user "),
        late(
            rf"net (?:use (?:\S+ ){{1,2}}|user \S+ )(?!/){_VALUE}(?= /(?:user|add|domain))",
            re.IGNORECASE,
        ),
        is_any_password,
    ),
    Slot(
        "password",
        ("sudo -s", "passwd --stdin"),
        late(
            rf"(?:echo|printf)(?: -\w+)? {_QUOTE}?{_VALUE}{_QUOTE}? ?\| ?(?:sudo -S|passwd --stdin)"
        ),
        is_any_password,
    ),
    Slot(
        "password",
        ("chpasswd",),
        late(
            rf"(?:echo|printf)(?: -\w+)? {_QUOTE}?[\w.-]+:{_VALUE}{_QUOTE}? ?\| ?(?:sudo )?chpasswd"
        ),
        is_any_password,
    ),
    Slot(
        "password",
        ("wpa_passphrase ",),
        late(rf"wpa_passphrase \S+ {_QUOTE}?{_VALUE}"),
        is_any_password,
    ),
    Slot(
        "password",
        ("psk=", "psk:", "psk =", 'psk"'),
        late(rf"(?<![a-z])psk(?:{_QUOTE})?[ ]?[=:][ ]?(?:{_QUOTE})?{_VALUE}", re.IGNORECASE),
        is_any_password,
    ),
    Slot(
        "password-hash",
        (":$", ": $"),
        late(
            r"""(?<![\w$])[\w.@-]{1,64}:[ ]?(?P<secret>\$(?:apr1|1|5|6|7|y|gy|2[abxy]|argon2\w{1,2})
                \$[\w./$=,+-]{20,200})""",
            re.VERBOSE,
        ),
        _always,
    ),
    Slot(
        "pin",
        ("pin",),
        late(
            r"""(?<![a-z])pin(?:[ _-]?(?:code|number))?\\{0,2}["'`*]{0,3}
                (?:[ ]?[=:][ ]?|[ ](?:is|was|to|ist|=)[ ]|(?<=code)[ ]|(?<=number)[ ])
                \\{0,2}["'`*]{0,3}
                (?P<secret>[0-9]{4,8})(?![\w.-])""",
            re.IGNORECASE | re.VERBOSE,
        ),
        _always,
        before=0,
    ),
    Slot(
        "code",
        tuple(
            f"{place}{gap}{word}"
            for place in ("door", "gate", "alarm", "safe", "lock")
            for gap in ("", " ")
            for word in ("code", "pin", "combination")
        ),
        late(
            r"(?:door|gate|alarm|safe|lock) ?(?:code|pin|combination)(?: is|:| =|=) ?[\"'`]?"
            r"(?P<secret>[0-9]{4,8}#?)(?![\w.-])",
            re.IGNORECASE,
        ),
        _always,
        before=0,
    ),
    Slot(
        "recovery-code",
        ("recovery code", "backup code", "recovery-code", "backup-code", "scratch code"),
        late(
            r"""(?:recovery|backup|scratch)[ -]codes?(?:[ ](?:is|are))?[ ]?[:=]?\s+
                (?P<secret>(?:[-*\d.)]{0,3}[ ]?
                [0-9a-z]{4,8}-[0-9a-z]{4,8}(?:-[0-9a-z]{4,8})*[,;\s]*){1,16}
                (?<=[0-9a-z]))""",
            re.IGNORECASE | re.VERBOSE,
        ),
        _has_digit,
        before=0,
    ),
    Slot(
        "http-login",
        ('auth"', "auth'"),
        late(r"""auth\\{0,2}["'][ ]?:[ ]?\\{0,2}["'](?P<secret>[A-Za-z0-9+/]{8,360}={0,2})"""),
        _is_login,
        before=0,
    ),
    Slot(
        "private-key",
        ("ls0tls1crudjti",),
        late(
            r"(?P<secret>LS0tLS1CRUdJTi(?:[A-Za-z0-9+/]|(?:\\n|\s)+(?=[A-Za-z0-9+/]{40})){40,}={0,2})"
        ),
        _is_private_key,
        before=0,
    ),
    Slot(
        "url-token",
        ("://",),
        late(r"://(?P<secret>[A-Za-z0-9_.~-]{16,256})@(?=[\w.-]{3})"),
        values.is_token,
        before=0,
    ),
    Slot(
        "url-token",
        ("code=", "auth=", "ticket=", "invite=", "otp=", "magic=", "sid=", "session="),
        late(r"(?<=[?&#])\w+=(?P<secret>[A-Za-z0-9_.~%-]{20,2000})"),
        values.is_token,
        before=1,
    ),
    Slot(
        "webhook",
        ("://hook", "/webhook", "/hooks/"),
        late(
            r"(?:://hooks?\.|/webhooks?/|/hooks/)[\w./-]{0,200}?(?P<secret>[\w-]{24,200})(?![\w./-])"
        ),
        values.is_token,
        before=0,
    ),
    Slot(
        "totp-secret",
        ("otp", "2fa", "mfa"),
        late(
            r"(?:totp|otp|2fa|mfa)(?: secret| seed| key)(?: is|:| =|=)? ?[\"'`]?"
            r"(?P<secret>[A-Z2-7]{16,64}=*)(?!\w)"
        ),
        _has_digit,
        before=0,
    ),
    Slot(
        "key",
        ("key", "wif"),
        late(
            r"(?:key|wif)(?: is|:| =|=)? ?[\"'`]?"
            r"(?P<secret>0x[0-9a-f]{64}|[0-9a-f]{64}|[5KL][1-9A-HJ-NP-Za-km-z]{50,51})(?!\w)",
        ),
        _always,
        before=0,
    ),
    Slot(
        "key",
        ("api key ", "api-key ", "apikey "),
        late(r"api[ -]?key (?:is )?[\"'`]?(?P<secret>[0-9a-f]{32,64})(?!\w)", re.IGNORECASE),
        _has_digit,
        before=0,
    ),
)


_TABLE: Final = SlotTable(SLOTS)
SLOT_ANCHORS: Final = _TABLE.anchors


def slotted_in(text: str, lowered: str, present: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of every secret that its slot gives away."""
    return _TABLE.found_in(text, lowered, present)
