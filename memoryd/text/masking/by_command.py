"""Secrets in commands, settings and calls whose names do not stand right before the value.

1. A command that names a user and takes a password by a letter: `-U sa -P X`, `/u:kim /p:X`; an
   archive with a password; a flag or a setting that ends in "pass" or "pw": `-storepass X`.
2. What is piped into a program that asks for a password, or typed for one: `echo X | kinit`.
3. A setting in two words (`ENV DB_PASSWORD X`), in a call (`define("DB_PASSWORD", "X")`) or as a
   pair of name and value (`name: DB_PASSWORD`, `value: X`).
4. A login with its user: `kim/X@shop`, a line of `.pgpass`.
5. A variable in capitals with a random value, whatever it is called, unless it names a hash.
"""

import re
from collections.abc import Iterator
from typing import Final

from memoryd.text.lazy_regex import late
from memoryd.text.masking import values, words
from memoryd.text.masking.slot import Slot, SlotTable, is_any_password

_QUOTE = r"""\\{0,2}["'`]"""
_VALUE = r"""(?P<secret>[^\s"'`\\|;<>]{4,128})"""
_QUOTED = rf"(?:{_QUOTE})(?P<secret>[^\s\"'`\\]{{4,128}})(?:\\[rn]|{_QUOTE})"
_NAME = r"(?:pass(?:word|wd|phrase|wort|code)?|pwd)"
_PIPED = (
    r"(?:sudo -S|passwd|smbpasswd|cryptsetup|kinit|vncpasswd|veracrypt"
    r"|su\b|[^|\n]{0,80}(?:password-stdin|passphrase-fd|pass(?:in|out)? stdin|--with-token))"
)


def _is_login_password(value: str) -> bool:
    return "/" not in value and values.is_password(value.rstrip(".,;:)"))


def _is_opaque(value: str) -> bool:
    return values.is_certain_token(value) and not value.startswith(("sha", "md5", "AAAA"))


def _is_told_in_prose(value: str) -> bool:
    value = value.rstrip(".,;:!?)")
    return any(letter.isdecimal() for letter in value) and values.is_password(value, in_prose=True)


def _is_told(value: str) -> bool:
    return is_any_password(value) and not words.speaks_of_a_secret(value)


_USER_FLAG = late(r"\s(?:-[uUlDL][ =]?|--?user(?:name)?[ =])[\w.@\\/-]+\s")
_LETTER_FLAGS: Final = (" -p", " -P", " -w", " -A", " -X", " -a")
_FLAG_VALUE = late(rf" -[pPwAXa][ =]?(?:{_QUOTE})?{_VALUE}")
_OTHER_TOOL = late(r"\b(?:mkdir|install|cp|ssh|scp|rsync|useradd|find|chown|ps)\s")
_PGPASS_LINE = late(
    r"^(?:[\w-]+(?:\.[\w-]+)*|\*):(?:\d{2,5}|\*):[\w*-]{1,63}:[\w.*-]{1,63}:"
    r"(?P<secret>[^\s:]{4,128})$",
    re.MULTILINE,
)
_VARIABLE_VALUE = late(r"=(?:\\{0,2}[\"'])?(?P<secret>[A-Za-z0-9_-]{20,200})(?![\w+/=.-])")
_VARIABLE_NAME = late(r"(?<![A-Za-z0-9_])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
_OTHER_VARIABLE = late(
    r"(?:^|_)(?:\w*HASH|SHA\d*|\w*SUM|DIGEST|INTEGRITY|COMMIT|REV(?:ISION)?|ETAG|VERSION|PATH|URL"
    r"|\w*NAME|PUB(?:LIC)?|FINGERPRINT|CACHE|NONCE|BUILD|U?U?ID|SIGNATURE|TAG|REF)(?:_|$)"
)

COMMANDS: Final = (
    Slot(
        "password",
        (" /p:", " -pw "),
        late(rf"[ ](?:/p:|-pw[ ])(?:{_QUOTE})?{_VALUE}", re.VERBOSE | re.IGNORECASE),
        _is_login_password,
        before=0,
    ),
    Slot(
        "password",
        ("zip ", "7z ", "7za ", "rar "),
        late(
            rf"(?:zip [^|;\n]{{0,100}}?-P ?|(?:7za?|rar) [^|;\n]{{0,100}}?-p)(?:{_QUOTE})?{_VALUE}"
        ),
        is_any_password,
        before=0,
    ),
    Slot(
        "password",
        ("pass ", "pw ", "pass=", "pw="),
        late(rf"(?:^|\s)--?[a-z-]*(?:pass|pw)[ =](?:{_QUOTE})?{_VALUE}", re.IGNORECASE),
        is_any_password,
        before=40,
    ),
    Slot(
        "password",
        ("pw ", "passwd ", "pass ", "pw\t", "passwd\t", "pass\t"),
        late(
            rf"^[ \t]*[a-z]{{3,20}}(?:pw|pass|passwd)[ \t]+(?:{_QUOTE})?{_VALUE}"
            rf"(?:{_QUOTE})?[ \t]*$",
            re.MULTILINE,
        ),
        is_any_password,
    ),
    Slot(
        "password",
        (" user ", " username "),
        late(rf" user(?:name)? [\w.@-]+,? pass(?:word|wd)? (?:{_QUOTE})?{_VALUE}", re.IGNORECASE),
        _is_told,
        before=0,
    ),
    Slot(
        "password",
        ("echo ", "printf "),
        late(
            rf"(?:echo|printf)(?: -\w+| '?%s(?:\\n)?'?){{0,2}} (?:{_QUOTE})?{_VALUE}(?:{_QUOTE})?"
            rf" ?\| ?(?:sudo )?{_PIPED}"
        ),
        is_any_password,
        before=0,
    ),
    Slot(
        "password",
        ("ftp -u ",),
        late(rf"ftp -u (?:{_QUOTE})?[\w.@-]+,{_VALUE}"),
        is_any_password,
        before=0,
    ),
    Slot(
        "password",
        ("<<<",),
        late(rf"<<< ?(?:{_QUOTE})?{_VALUE}"),
        is_any_password,
        before=0,
        left=late(r"(?:--with-token|-stdin|passphrase-fd \d|sudo -S|passwd|kinit)[^\n|;]{0,30}$"),
    ),
    Slot(
        "password",
        ("_password by ", "_password as ", "identified with "),
        late(rf"(?:_password|identified with \S+) (?:by|as) {_QUOTED}", re.IGNORECASE),
        is_any_password,
        before=0,
    ),
    Slot(
        "password",
        ("securestring ", "securestring("),
        late(rf"SecureString[ (](?:-String )?{_QUOTED}", re.IGNORECASE),
        is_any_password,
        before=0,
    ),
    Slot(
        "password",
        ("assword",),
        late(rf"assword\S{{0,8}}\s+(?:exp_)?send(?:line)?(?: --)? [{{]?{_QUOTED}", re.IGNORECASE),
        is_any_password,
        before=0,
    ),
    Slot(
        "password",
        ("sqlplus ", ":thin:", "userid=", "expdp ", "impdp ", "sqlldr "),
        late(
            r"(?:sqlplus (?:-\w+ )*|:thin:|userid=|(?:exp|imp)dp |sqlldr )[\"']?"
            r"[\w.$-]{1,40}/(?P<secret>[^\s\"'@]{4,64})(?=@|[\"']?(?:\s|$))",
            re.IGNORECASE,
        ),
        is_any_password,
        before=0,
    ),
)

SETTINGS: Final = (
    Slot(
        "password",
        ("env ", "arg ", "setx ", "setenv ", "set -", "fastcgi_param ", "secret set "),
        late(
            r"""(?:ENV|ARG|setx|SetEnv|setenv|set[ ]-\w{1,3}|fastcgi_param|env|secret[ ]set)[ ]+
                [A-Z0-9_]*(?:PASS(?:WORD|WD|PHRASE)?|PWD|SECRET)(?:_[A-Z0-9]+)?[ ]+"""
            rf"(?:{_QUOTE})?{_VALUE}",
            re.VERBOSE,
        ),
        is_any_password,
        before=0,
    ),
    Slot(
        "password",
        ("pass", "pwd"),
        late(rf"{_NAME}[\w-]{{0,12}}\]?[\"'`], ?{_QUOTED}", re.IGNORECASE),
        is_any_password,
        before=0,
        beside=('",', "',", "`,"),
        left=late(
            r"(?:define|set\w*|put|fill|type|append|add|input|keys|environ) ?\( ?[\"'`]"
            r"[\w.\[\]=#:-]{0,40}$",
            re.IGNORECASE,
        ),
    ),
    Slot(
        "password",
        ("pass", "pwd"),
        late(
            rf"""{_NAME}\w{{0,12}}\]?["'`][^\n]{{0,20}}\)[ ]?\.
                 (?:send_?keys|fill|type|set_?value|input|enter|press)[ ]?\({_QUOTED}""",
            re.VERBOSE | re.IGNORECASE,
        ),
        is_any_password,
        before=0,
        beside=(").", ") ."),
    ),
    Slot(
        "password",
        ("pass", "pwd"),
        late(rf"{_NAME}\"? {_QUOTED}", re.IGNORECASE),
        is_any_password,
        before=0,
        beside=("(set", "(def"),
        left=late(r"\((?:set[qf]|setenv|defvar|defconst|def|define) [\"']{0,2}[\w-]{0,40}$"),
    ),
    Slot(
        "password",
        ("pass", "pwd", "secret"),
        late(
            r"""(?:pass(?:word|wd|phrase)?|pwd|secret)\\{0,2}["']?[ ]*[{,]?\s{0,20}
                \\{0,2}["']?value\\{0,2}["']?[ ]?[:=][ ]?(?:\\{0,2}["'])?"""
            + _VALUE,
            re.VERBOSE | re.IGNORECASE,
        ),
        is_any_password,
        before=0,
        beside=("value",),
    ),
    Slot(
        "password",
        ("pass", "pwd"),
        late(
            r"(?:password|passwd|passphrase|pass|pwd)(?:[\"']| \w+=)[^<>\n]{0,40}>[ ]?"
            r"(?P<secret>[^\s<>]{4,128})[ ]?</",
            re.IGNORECASE,
        ),
        is_any_password,
        before=0,
        beside=("</",),
    ),
    Slot(
        "token",
        ("secret set ", "secrets set ", "config:set ", "secret put ", "env add "),
        late(
            r"(?:secrets? (?:set|put)|config:set|env add) [^\n]{0,80}?[ =](?:-b |--body[ =]|-v )?"
            r"[\"']?(?P<secret>[A-Za-z0-9_+/.-]{16,400})(?![\w=+/.-])"
        ),
        values.is_token,
        before=0,
    ),
)

SENTENCES: Final = (
    Slot(
        "password",
        ("key ",),
        late(
            r"key (?:to|for|of|in|on|at) (?:the |our |my )?(?:[\w-]+ ){1,4}?(?:is|was) "
            rf"(?:now |still )?(?:{_QUOTE})?{_VALUE}",
            re.IGNORECASE,
        ),
        _is_told_in_prose,
        before=0,
    ),
    Slot(
        "password",
        (" asks", " prompt", " asked"),
        late(
            r"\b(?:type|enter|give|answer|put in|use) [\"'`]?(?P<secret>[^\s\"'`]{4,64})[\"'`]? "
            r"(?:when|if|once|as soon as|whenever)\b[^.\n]{0,40} (?:ask(?:s|ed)|prompt(?:s|ed)?)\b",
            re.IGNORECASE,
        ),
        values.is_password,
        before=110,
        # "when" or another such word. The pattern takes a dotless i for an i.
        beside=(" when", " if", " \u0131f", " once", "oon a"),
    ),
    Slot(
        "password",
        tuple(
            f"for {whose} {what}"
            for whose in ("a", "the", "your", "my")
            for what in ("pass", "pin")
        ),
        late(
            r"for (?:an?|the|your|my) (?:pass\w*|pin),? (?:just |please |you |then )?"
            rf"(?:type|enter|give|use|put|answer)(?: in)? (?:{_QUOTE})?{_VALUE}",
            re.IGNORECASE,
        ),
        _is_told,
        before=0,
    ),
    Slot(
        "card-code",
        ("cvv", "cvc", "csc"),
        late(
            r"(?:cvv2?|cvc2?|csc)(?: code)?\\{0,2}[\"']?(?: is)? ?[:=]? ?[\"']?"
            r"(?P<secret>\d{3,4})(?![\w.-])",
            re.IGNORECASE,
        ),
        str.isdecimal,
        before=0,
    ),
)


_TABLE: Final = SlotTable((*COMMANDS, *SETTINGS, *SENTENCES))
_FLAG_ANCHORS: Final = frozenset(flag.lower() for flag in _LETTER_FLAGS)
_PGPASS_ANCHORS: Final = frozenset({":*:", "432:", "306:"})
COMMAND_ANCHORS: Final = _TABLE.anchors | _FLAG_ANCHORS | _PGPASS_ANCHORS


def commanded_in(
    text: str, lowered: str, present: frozenset[str]
) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of every secret in a command, a setting or a call."""
    if present:
        yield from _TABLE.found_in(text, lowered, present)
    if not _FLAG_ANCHORS.isdisjoint(present):
        yield from _letter_flags(text)
    if "=" in text:
        yield from _variables(text)
    if not _PGPASS_ANCHORS.isdisjoint(present):
        for line in _PGPASS_LINE.finditer(text):
            if is_any_password(line["secret"]):
                yield "password", *line.span("secret")


def _letter_flags(text: str) -> Iterator[tuple[str, int, int]]:
    """A password by one letter, in a command that names a user before it."""
    flags = [flag for flag in _LETTER_FLAGS if flag in text]
    if not flags or not _USER_FLAG.search(text):
        return
    for flag in flags:
        at = text.find(flag)
        while at >= 0:
            match = _FLAG_VALUE.match(text, at)
            if match and _is_login_password(match["secret"]):
                command = re.split(r"[\n|;]", text[max(0, at - 300) : at + 1])[-1]
                if _USER_FLAG.search(command) and not _OTHER_TOOL.search(command):
                    yield "password", *match.span("secret")
            at = text.find(flag, at + len(flag))


def _variables(text: str) -> Iterator[tuple[str, int, int]]:
    """A variable in capitals with a random value, such as `STRIPE_LIVE=...`."""
    for match in _VARIABLE_VALUE.finditer(text):
        if _is_opaque(match["secret"]):
            name = _VARIABLE_NAME.search(text, max(0, match.start() - 60), match.start())
            if name and not _OTHER_VARIABLE.search(name[0]):
                yield "token", *match.span("secret")
