"""Secrets recognised by the name before them: `DB_PASSWORD=`, `"apiKey": "`, "the token is".

1. A name is one of password, secret, token or key with possible prefixes and suffixes:
   `twilio_auth_token`, `clientSecret2`, `X-Api-Key`. Not `tokens`, `password_hash`, `secret_name`;
   not every `key`, only one whose owner makes it a credential.
2. The value is assigned in some notation, given by a flag, quoted beside the name, or stated in a
   sentence ("the password of the lab is").
3. How much a value must look like a secret depends on both: after `password=` everything but a
   placeholder or code is one, words too (`words`); tokens are random; bare words in prose must be
   certain.
4. A value without quotes may be code; expressions and arguments are not secrets.
5. A known owner is part of the kind: `twilio-token`, `datadog-key`.
"""

import re
from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from memoryd.text.lazy_regex import late
from memoryd.text.masking import values, words

Role = Literal["password", "secret", "token", "key"]
SecretPosition = Literal["assigned", "stated", "beside"]

_ANCHORS: dict[str, Role] = {
    "pass": "password",
    "pw": "password",
    "kennwort": "password",
    "contrase": "password",
    "senha": "password",
    "wachtwoord": "password",
    "парол": "password",
    "密码": "password",
    "密碼": "password",
    "パスワード": "password",
    "비밀번호": "password",
    "identified by '": "password",
    "secret": "secret",
    "credential": "secret",
    "token": "token",
    "_auth": "token",
    "key": "key",
}
NAME_ANCHORS: Final = frozenset(_ANCHORS)
_NAME = late(
    r"""(?:pass(?:words?|wd|phrase|code|wort|e)?|pwd?|kennwort|contrase(?:ñ|n|\\+u00f1)a|senha
      |wachtwoord|hasło|heslo|пароль?|密码|密碼|パスワード|비밀번호|identified[ ]by|secret
      |credentials?      |token|_auth|key)
      (?: [_ -]?(?:access|key|value|base)
        | [_-]?(?:val|str|string|hex|b64|base64|encoded|prod|production|dev|staging|stg|test|live
          |local|default|old|new|current|primary|secondary|main|master|root|admin|db|app|[0-9]{1,3})
      ){0,3} (?![a-z0-9_-])""",
    re.VERBOSE,
)
_ASSIGNMENT = late(
    r"""\\{0,3}["'`]?[\])]?[*_]{0,3}
        (?: [ ]?:[ ]*[a-z][\w.\[\]|?]{0,30}[ ]+=[ ]*
          | [ \t]{0,8}(?:=>|:=|[=!]={1,2}|=|:(?!:)|[\uff1a\uff1d])[ \t]{0,8}[*_]{0,3}[ ]?
          | [ ]?[(,][ ]*(?=[brfu]?\\{0,3}["'`]) | [ ]+value=[ ]?(?=["']) )
      | >(?=[^\s<]{1,200}</)""",
    re.VERBOSE,
)
# Most names are followed by a plain word, which is not a secret without a digit or a sign.
_BESIDE = late(r"[ \t]++(?=[brfu]?\\{0,3}[\"'`]|\S{0,60}[0-9!#$%&*+?@^|~])")
_SENTENCE = late(
    r"""(?P<words>(?:[ ]++[^\s;:=!?"']{1,40}+){0,6}?)
        (?: [ ]++(?:is|was|be|are|ist|war|lautet|est|es|é|è|это|=|(?P<to>to))
            (?:[ ]+(?:now|still|currently|just|set[ ]to))? (?=[ ])
          | [ ]?:(?=[ ]) | [ ]?[是为は\uff1a] )
        [ ]*(?:\*\*)?""",
    re.VERBOSE,
)
_GIVEN_TO = late(r"$|.*\b(?:set|changed|reset|updated|rotated|switched|equal|back|now)$")
_VALUE = late(
    r"""[brfu@]{0,2}(?P<quote>\\{0,3}["'`])(?P<quoted>(?:(?!(?P=quote))\S){1,8192})(?:(?P=quote)|\Z)
      | (?P<bare>[^\s"'`<>\\]{1,200})""",
    re.VERBOSE,
)
# Not the semicolon between the pairs of a connection string.
_ENDS_AN_ARGUMENT = late(r"[),}]|;(?![A-Za-z])")
_REST = late(r"[\w+/=.~%-]*", re.ASCII)
# A name inside a value is judged by itself; a chain of them must not be read once for each.
_INNER_NAME = late(
    r"[\w.-]{0,20}?(?:pass|pw|secret|token|key|auth|credential)\w{0,20}[=:]", re.IGNORECASE
)
_USER_AND = late(r"[\w.@-]{1,40}[ ]?[/|][ ]?", re.ASCII)
# Where a bare value ends before a space: at the next pair, or at the entity of a quote.
_BARE_END = late(r"[&;,](?=[\w.-]{1,40}[=:])|&(?:quot|lt|gt|amp|#\w{1,6});")
_OWNER = late(r" ?[\w.-]*")

_KEY_OWNERS = (
    *("api", "access", "secret", "private", "auth", "encryption", "signing", "master", "account"),
    *("shared", "service", "storage", "consumer", "app", "application", "client", "jwt", "license"),
    *("deploy", "webhook", "hmac", "admin", "subscription", "registration", "integration", "bot"),
    *("sdk", "sandbox", "live", "prod", "production", "staging", "server", "personal", "session"),
)
# An access token may be a UUID; a plain "token" that is a UUID is an id, such as a request's.
_UUID_OWNERS = ("access", "auth", "api", "bearer", "refresh", "server", "account", "personal")
# These tokens are marks in a text or a list, not credentials.
_NO_OWNERS = (
    *("page", "next", "continuation", "sync", "mask", "eos", "bos", "pad", "sep", "unk", "cls"),
    *("stop", "start", "end", "special", "resume", "cancel", "cancellation", "design", "prev"),
)
_SERVICES = (
    *("aws", "azure", "gcp", "google", "digitalocean", "cloudflare", "heroku", "vercel", "netlify"),
    *("github", "gitlab", "bitbucket", "slack", "discord", "telegram", "twilio", "sendgrid"),
    *("mailgun", "mailchimp", "postmark", "stripe", "square", "paypal", "braintree", "shopify"),
    *("npm", "pypi", "rubygems", "cargo", "nuget", "docker", "openai", "anthropic", "mistral"),
    *("cohere", "linear", "notion", "figma", "sentry", "datadog", "newrelic", "grafana"),
    *("databricks", "vault", "terraform", "doppler", "atlassian", "jira", "okta", "auth0"),
    *("algolia", "circleci", "travis", "snyk", "linode", "hetzner", "fastly", "pagerduty"),
    *("firebase", "supabase", "mongodb", "redis", "postgres", "mysql", "elastic", "snowflake"),
    *("twitch", "twitter", "facebook", "dropbox", "zendesk", "hubspot", "intercom", "asana"),
)

_SERVICE = late("|".join(_SERVICES))


# A word beside the name of a password: who asks for it, who owns it, who sets it.
_OWNED = late(
    r"\b(?:my|our|your|his|her|their|the (?:\w+ ){0,2}?(?:admin|root|db|wifi|user|login))"
    r" (?:[\w-]+ ){0,2}$"
)
_BEGINS = late(r"(?:\A|[\n\t,;/|&?{(\"'`*_.-])[ ]{0,12}$|\b(?:user|admin|root|db|smtp|export) ?$")
_ASKS_FOR_IT = late(
    r"""(?: \b(?:with|using|and|enter)[ ](?:the[ ]|a[ ]|my[ ])?(?:\w+[ ])?
          | \b(?:user(?:[ ]?name)?|login|account|log[ ]in[ ]as|sign[ ]in[ ]as)[ :=]+
            [\w.@-]+[ ]?[,;/|]?[ ]?(?:and[ ])?
        )$""",
    re.VERBOSE,
)
_SETS_IT = late(r"\b(?:set|sets|chang|reset|rotat|updat|switch|mak|put)\w*\b[^.!?\n]{0,30}$")
_CLOSE_WORDS = late(r"|[ ](?:for|of|on|to|in|at|here|now|there)\b.*|[ ]\w+")
_NEXT_WORD = late(r"[ \t=]{0,3}(?P<mark>[*_\"'`]{0,3})(?P<secret>[^\s\"'`<>\\|*]{4,128})")
_QUOTED_PHRASE = late(
    r"[ ]?(?P<quote>\\{0,3}[\"'`])"
    r"(?P<secret>[A-Za-z]{2,20}(?:[ -][A-Za-z0-9]{2,20}){1,23})(?P=quote)"
)
_PUNCTUATION = ".,;:!?)]}*"
_SECRET_OWNERS = ("jwt", "session", "cookie", "signing", "shared", "app", "django", "flask", "hmac")


class _Name(msgspec.Struct, frozen=True):
    """A name: its role, its own word, the text to its left (in lower case), where it ends."""

    role: Role
    word: str
    left: str
    end: int

    @property
    def owner(self) -> str:
        backwards = _OWNER.match(self.left[::-1])
        return backwards[0][::-1] if backwards else ""

    @property
    def service(self) -> str | None:
        match = _SERVICE.search(self.owner)
        return match[0] if match else None

    @property
    def kind(self) -> str:
        service = self.service
        return f"{service}-{self.role}" if service else self.role

    @property
    def is_in_a_mask(self) -> bool:
        _, opened, inside = self.left.rpartition("[")
        return bool(opened) and "]" not in inside and f"{inside}{self.word}".startswith("secret")

    @property
    def is_in_a_template(self) -> bool:
        _, opened, inside = self.left.rpartition("${")
        return bool(opened) and "}" not in inside

    def is_env(self, text: str) -> bool:
        """Whether it is written as an environment variable: `DB_PASSWORD`."""
        own = text[self.end - len(self.word) : self.end]
        return own.isupper() and own.isascii()

    def belongs_to(self, owners: tuple[str, ...]) -> bool:
        return self.left.rstrip("_-. ").endswith(owners)


def named_in(text: str, lowered: str, present: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of every secret with a name before it."""
    if NAME_ANCHORS.isdisjoint(present):
        return
    for anchor, role in _ANCHORS.items():
        at = lowered.find(anchor) if anchor in present else -1
        while at >= 0:
            name = _name_at(text, lowered, at, role)
            span = _value_of(name, text, lowered) if name else None
            if name and span:
                yield name.kind, *span
            at = lowered.find(anchor, span[1] if span else at + len(anchor))


def _name_at(text: str, lowered: str, at: int, role: Role) -> _Name | None:
    match = _NAME.match(lowered, at)
    if not match:
        return None
    name = _Name(role, match[0], lowered[max(0, at - 40) : at], match.end())
    return name if _is_name(name, text, at) else None


def _is_name(name: _Name, text: str, at: int) -> bool:
    if name.is_in_a_mask or name.is_in_a_template:
        return False
    if name.word == "pass" and text[at : at + 6] in {"PASS: ", "PASS:\t"}:
        return False  # the report of a test
    if name.role == "key":
        return name.belongs_to(_KEY_OWNERS) or name.service is not None
    if name.role == "token":
        return not name.belongs_to(_NO_OWNERS)
    before = text[at - 1 : at]
    if name.role == "secret":
        return before != ":"  # part of a resource name
    if name.word.startswith(("password", "passwd", "passphrase")):
        return True
    is_inside = before.isalpha() and text[at - 2 : at - 1] != "\\"
    return not is_inside or before.isupper() != text[at].isupper()


def _value_of(name: _Name, text: str, lowered: str) -> tuple[int, int] | None:
    if link := _ASSIGNMENT.match(lowered, name.end):
        user = _USER_AND.match(text, link.end())
        return (
            _judged(name, text, link.end(), "assigned")
            or (_judged(name, text, user.end(), "assigned") if user else None)
            or _assigned_words(name, text, link)
        )
    if name.word == "pass" and not _OWNED.search(name.left):
        return None  # without an assignment or an owner it is the verb
    if beside := _BESIDE.match(lowered, name.end):
        manner: SecretPosition = "assigned" if name.owner.startswith("-") else "beside"
        if span := _judged(name, text, beside.end(), manner):
            return span
    if name.role == "password" and (span := _told_beside(name, text)):
        return span
    sentence = _SENTENCE.match(lowered, name.end)
    if sentence and (sentence["to"] is None or _GIVEN_TO.match(sentence["words"])):
        return _judged(name, text, sentence.end(), "stated") or _told(name, text, sentence)
    return None


def _told_beside(name: _Name, text: str) -> tuple[int, int] | None:
    """A word right after the name: `--password swordfish`, "user bob, password swordfish"."""
    is_flag = name.owner.lstrip(" ").startswith("-") or name.word == "identified by"
    if not is_flag and not _ASKS_FOR_IT.search(name.left):
        return None
    match = _NEXT_WORD.match(text, name.end) if text[name.end : name.end + 1] in " =\t" else None
    if not match or not words.is_word_password(match["secret"].rstrip(_PUNCTUATION)):
        return None
    value = match["secret"].rstrip(_PUNCTUATION)
    start, end = match.start("secret"), match.start("secret") + len(value)
    if is_flag or words.is_told_in_prose(value, text, end):
        return start, end
    return None


def _told(name: _Name, text: str, sentence: re.Match[str]) -> tuple[int, int] | None:
    """A plain word or a quoted phrase in a sentence: "the password is swordfish"."""
    if name.role != "password" or not _CLOSE_WORDS.fullmatch(sentence["words"]):
        return None
    if sentence["to"] and not sentence["words"] and not _SETS_IT.search(name.left):
        return None
    match = _NEXT_WORD.match(text, sentence.end())
    if match:
        value = _trimmed(match["secret"]).rstrip(_PUNCTUATION)
        start = match.start("secret")
        if words.is_told_in_prose(value, text, start + len(value)):
            return start, start + len(value)
    phrase = _QUOTED_PHRASE.match(text, sentence.end())
    return phrase.span("secret") if phrase and words.is_phrase(phrase["secret"]) else None


def _assigned_words(name: _Name, text: str, link: re.Match[str]) -> tuple[int, int] | None:
    """A plain word or a phrase in the slot of an assignment."""
    start = link.end()
    if "," in link[0] or not _is_word_slot(name, text):
        return None  # `"pwd", "name"` are two words of a list
    if name.word == "pass" and not _OWNED.search(name.left) and not _BEGINS.search(name.left):
        return None  # "as they pass: first"
    phrase = _QUOTED_PHRASE.match(text, start)
    if phrase and words.is_phrase(phrase["secret"]):
        return phrase.span("secret")
    match = None if _INNER_NAME.match(text, start) else _VALUE.match(text, start)
    if not match:
        return None
    quoted = match["bare"] is None
    value = match["quoted"] if quoted else _trimmed(match["bare"])
    begin = match.start("quoted" if quoted else "bare")
    end = begin + len(value)
    is_code = not quoted and values.is_code(match["bare"], is_argument=False)
    if is_code or not words.is_word_password(value):
        return None
    if quoted:
        return begin, end
    is_env = name.is_env(text) or (link[0] in {"=", ">"} and "(" not in text[end : end + 1])
    if is_env and text[end : end + 1] != ")":
        return begin, end
    if "==" in link[0] or words.is_variable(value) or text[end : end + 1] in {")", "}"}:
        return None
    return (begin, end) if words.ends_clause(text, end) else None


def _is_word_slot(name: _Name, text: str) -> bool:
    if name.role == "password":
        return True
    return name.role == "secret" and (name.is_env(text) or name.belongs_to(_SECRET_OWNERS))


def _judged(name: _Name, text: str, start: int, manner: SecretPosition) -> tuple[int, int] | None:
    match = None if _INNER_NAME.match(text, start) else _VALUE.match(text, start)
    if not match:
        return None
    quoted = match["bare"] is None
    value = match["quoted"] if quoted else _trimmed(match["bare"])
    begin = match.start("quoted" if quoted else "bare")
    end = begin + len(value)
    is_argument = manner == "assigned" and _ENDS_AN_ARGUMENT.match(text, end) is not None
    if not quoted and values.is_code(match["bare"], is_argument=is_argument):
        return None
    if not _is_secret(name, value, manner, quoted=quoted):
        return None
    rest = _REST.match(text, end) if end - begin >= 190 else None
    return begin, rest.end() if rest else end


def _trimmed(bare: str) -> str:
    cut = _BARE_END.search(bare)
    return (bare[: cut.start()] if cut else bare).rstrip(".,;:)]}*")


def _is_secret(name: _Name, value: str, manner: SecretPosition, *, quoted: bool) -> bool:
    is_sure = manner == "assigned" or quoted
    if name.role == "password":
        if manner == "beside" and not quoted:
            return values.is_strong_password(value)
        return values.is_password(value, in_prose=not is_sure)
    if name.role == "token" and values.is_uuid(value):
        return is_sure and (name.belongs_to(_UUID_OWNERS) or name.service is not None)
    if values.is_token(value):
        return manner != "beside" or quoted or values.is_certain_token(value)
    return name.role == "secret" and is_sure and values.is_strong_password(value)
