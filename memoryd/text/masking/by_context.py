"""Secrets that are recognised by their context.

- Private key blocks, whole or truncated; on lines, or in one string with escaped line ends.
- The password in a URL, except a well-known default (`postgres:postgres@`).
- Credentials in an Authorization header; the values of session cookies.
- Passwords on the command lines of tools whose flags do not say "password".

Each search continues after what the last one has read, so hostile texts take linear time.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from memoryd.text.lazy_regex import late
from memoryd.text.masking.values import is_password, is_placeholder, is_token
from memoryd.text.masking.words import is_word_password

_KEY_MARK = late(r"-----(?P<side>BEGIN|END) (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PUTTY_HEADING = late("Private-Lines:")
_KEY_CHUNK = late(r"[A-Za-z0-9+/=]{16,}")
# Lines of a key, with line numbers, quotes and escapes that a tool may have added between them.
_KEY_LINES = late(
    r"""(?> (?: \\[nrt] | [^A-Za-z0-9+/=] | [0-9]{1,6}(?=[^A-Za-z0-9+/=])
              | (?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{0,200} ){0,60}+
            [A-Za-z0-9+/=]{16,} )++""",
    re.VERBOSE,
)
_KEY_LINES_BACKWARDS = late(
    r"""(?: (?:[nr]\\|[^A-Za-z0-9+/=]){0,12}+ [A-Za-z0-9+/=]{1,15}+ (?![A-Za-z0-9+/=]) )?+
        (?> (?:[nr]\\|[^A-Za-z0-9+/=]){0,12}+ [A-Za-z0-9+/=]{16,} )++""",
    re.VERBOSE,
)
_KEY_MAX = 20_000

_URL_LOGIN = late(
    r"://(?P<user>[^\s:/?#@\"'<>`\\]{0,64}):(?P<secret>[^\s/\"'<>`\\]{3,256})@(?=[\w\[$%{.])"
)
_CREDENTIAL = r"(?P<secret>[A-Za-z0-9._~+/=:-]{10,})"
_BEARER = late(rf"bearer[ \t]+{_CREDENTIAL}", re.IGNORECASE)
_BASIC = late(r"basic[ \t]+(?P<secret>[A-Za-z0-9+/]{8,}={0,2})", re.IGNORECASE)
_AUTHORIZATION = late(
    rf"""authorization \\{{0,3}}["'`]?\]? [ \t]*[:=,][ \t]* \\{{0,3}}["'`]?
         (?:[a-z-]{{3,20}}[ \t]+)? {_CREDENTIAL}""",
    re.IGNORECASE | re.VERBOSE,
)
_JAR = late(
    r"""cookies?\\{0,3}["'`]?[ \t]*[:= ,(][ \t]*\\{0,3}["'`]?
        (?P<cookies>(?:[\w.-]{1,80}+=[^\s;,"'`\\]*+(?:;[ ]?)?+)++)""",
    re.IGNORECASE | re.VERBOSE,
)
_COOKIE = late(r"(?P<name>[\w.-]{1,80})=(?P<value>[^\s;,\"'`\\]*)")
_SESSION_NAME = late(r"sess|sid\b|auth|token|jwt|remember|login|csrf|xsrf|secret", re.IGNORECASE)

_ARGUMENT = r"[ =]*[\"']?(?P<secret>[^\s\"'\\|;]+)"
_LOGIN_ARGUMENT = r"[ =]*[\"']?[^\s:\"']{1,64}:(?P<secret>[^\s\"'\\|;]+)"
# The flag, the tools that take it, the argument, and whether a plain word is a password there:
# `mysql -p shop` asks for one and names the database.
_FLAGS: tuple[tuple[str, tuple[str, ...], re.Pattern[str], bool], ...] = (
    (" -u", ("curl", "http "), late(f" -u{_LOGIN_ARGUMENT}"), True),
    (" --user", ("curl",), late(f" --user{_LOGIN_ARGUMENT}"), True),
    (" -p", ("mysql", "mariadb"), late(r" -p[\"']?(?P<secret>[^\s\"'\\|;=]+)"), True),
    (" -p", ("mysql",), late(f" -p{_ARGUMENT}"), False),
    (" -p", ("sshpass", "docker login", "mongo", "podman login"), late(f" -p{_ARGUMENT}"), True),
    (" -a ", ("redis-cli",), late(f" -a {_ARGUMENT}"), True),
    (" password ", ("login ",), late(f" password {_ARGUMENT}"), True),
)


_KEY_WORDS: Final = frozenset({"private key", "private-lines:"})
PLACE_ANCHORS: Final = _KEY_WORDS | frozenset(
    {"://", "bearer", "basic", "authorization", "cookie", *(flag for flag, *_ in _FLAGS)}
)


def placed_in(text: str, lowered: str, present: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of every secret recognised by its context."""
    if PLACE_ANCHORS.isdisjoint(present):
        return
    if not _KEY_WORDS.isdisjoint(present):
        yield from _private_keys(text)
    if "://" in present:
        yield from _url_passwords(text)
    yield from _headers(text, lowered, present)
    if "cookie" in present:
        yield from _cookies(text, lowered)
    yield from _flag_passwords(text, present)


def _matches(
    text: str, anchors: str, anchor: str, pattern: re.Pattern[str]
) -> Iterator[re.Match[str]]:
    """Matches at an anchor; `anchors` is the text itself or in lower case."""
    at = anchors.find(anchor)
    while at >= 0:
        match = pattern.match(text, at)
        if match:
            yield match
        at = anchors.find(anchor, match.end() if match else at + 1)


def _private_keys(text: str) -> Iterator[tuple[str, int, int]]:
    begun: re.Match[str] | None = None
    done = 0
    for mark in _KEY_MARK.finditer(text):
        if mark["side"] == "END" and begun and _is_mostly_key(text[begun.end() : mark.start()]):
            yield "private-key", begun.start(), mark.end()
        else:
            yield from _cut_key(text, begun)
            if mark["side"] == "END":
                yield from _headless_key(text, done, mark)
        begun = mark if mark["side"] == "BEGIN" else None
        done = mark.end()
    yield from _cut_key(text, begun)
    for heading in _PUTTY_HEADING.finditer(text):
        yield from _cut_key(text, heading)


def _is_mostly_key(body: str) -> bool:
    """Whether key lines fill most of the space between the marks, unlike code that names both."""
    return len(body) <= _KEY_MAX and 2 * sum(map(len, _KEY_CHUNK.findall(body))) >= len(body)


def _cut_key(text: str, begun: re.Match[str] | None) -> Iterator[tuple[str, int, int]]:
    if begun and (lines := _KEY_LINES.match(text, begun.end())):
        yield "private-key", begun.start(), lines.end()


def _headless_key(text: str, since: int, end: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    backwards = text[max(since, end.start() - _KEY_MAX) : end.start()][::-1]
    if lines := _KEY_LINES_BACKWARDS.match(backwards):
        yield "private-key", end.start() - lines.end(), end.end()


def _url_passwords(text: str) -> Iterator[tuple[str, int, int]]:
    for login in _matches(text, text, "://", _URL_LOGIN):
        if not _is_default(login["user"], login["secret"]):
            yield "url-password", *login.span("secret")


def _is_default(user: str, password: str) -> bool:
    return user == password or password.isdecimal() or is_placeholder(password)


def _headers(text: str, lowered: str, present: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    for word, pattern, kind, is_genuine in _HEADERS:
        if word in present:
            for match in _matches(text, lowered, word, pattern):
                if is_genuine(match["secret"]):
                    yield kind, *match.span("secret")


def _is_login(encoded: str) -> bool:
    try:
        login = base64.b64decode(encoded + "=" * (-len(encoded) % 4)).decode("ascii")
    except (ValueError, binascii.Error):
        return False
    user, colon, password = login.partition(":")
    return bool(colon) and login.isprintable() and not _is_default(user, password)


_HEADERS: Final = (
    ("bearer", _BEARER, "http-token", is_token),
    ("basic", _BASIC, "http-login", _is_login),
    ("authorization", _AUTHORIZATION, "http-token", is_token),
)


def _cookies(text: str, lowered: str) -> Iterator[tuple[str, int, int]]:
    for jar in _matches(text, lowered, "cookie", _JAR):
        for cookie in _COOKIE.finditer(text, *jar.span("cookies")):
            value = cookie["value"]
            known = _SESSION_NAME.search(cookie["name"]) and is_password(value)
            if known or (len(value) >= 20 and is_token(value)):
                yield "cookie", *cookie.span("value")


def _flag_passwords(text: str, present: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    for flag, tools, pattern, takes_words in _FLAGS:
        if flag not in present:
            continue
        for match in _matches(text, text, flag, pattern):
            line = text[max(0, match.start() - 300) : match.start()].rpartition("\n")[2]
            value = match["secret"]
            if any(tool in line for tool in tools) and (
                is_password(value) or (takes_words and is_word_password(value))
            ):
                yield "password", *match.span("secret")
