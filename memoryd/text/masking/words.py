"""Whether a plain word is a password, once its place says that a password stands there.

1. In a slot for a password (`DB_PASSWORD=`, "use it as the password") syntax decides: everything is
   one but a placeholder, a type, a state, or a word of code.
2. In prose the word must also end its clause: "the password is swordfish", not "is rotated weekly";
   and it must not say something about the password: required, wrong, hashed.
3. A phrase in quotes is a password unless it speaks of passwords: "Enter your password".
"""

import re
from typing import Final

from memoryd.text.lazy_regex import late
from memoryd.text.masking.values import is_address_or_file, is_placeholder

SHORTEST: Final = 4


def set_of_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Types, states and values of code that stand where a password could.
_CODE_WORDS: Final = set_of_words(
    """
    string text varchar char bytes byte bytea blob secretstr optional required boolean bool number
    integer object array list dict none null undefined true false void hash hashed hashes salt
    salted encrypted plain plaintext plaintext raw input output prompt value values result results
    data field fields form request response config settings options params param args kwargs env
    environ environment variable default defaults empty missing unset disabled enabled hidden masked
    redacted omitted removed changed unchanged unknown invalid valid wrong correct incorrect weak
    strong expired rotated reset forgot confirm confirmation current previous label title
    placeholder type name user username email login logout admin root guest credentials credential
    include omit same-origin cors getpass ask never always file stdin vault keychain keyring
    secretkeyref valuefrom self this super await return lambda function func const static final
    private public protected override async expected actual given typed entered stored saved literal
    unique nullable writeonly write-only readonly read-only passwort kennwort senha contraseña heslo
    mot passe yes no off on todo tbd basic bearer oauth oauth2 digest oidc saml ldap
    role group roles owner fields form page screen dialog button minlength maxlength validator
    """
)
# What a sentence says of a password instead of telling it.
_SAID_OF_IT: Final = set_of_words(
    """
    about after again all allowed already also always another any applied available bad because
    before being best better both bound broken built by case-sensitive cached cheap checked chosen
    common compared complex computed considered correct different does done due each easy either
    else encoded enough entered even every exactly exposed fine fixed for found free from generated
    given good gone here how identical ignored important impossible in incorrect indeed inside
    insecure instead irrelevant it its just kept known later left less like likely local locked long
    lost lower mandatory many maybe mine more most much my necessary never new next nice nobody
    normal not nothing now obsolete obvious often okay old on once one only optional our out outside
    over pending possible probably problem public quite random rather read ready really recent same
    safe secure sensitive sent set shared short shown simple single slow so some somehow something
    somewhere soon still strong such temporary terrible that the their them then there these they
    falsch richtig leer erforderlich abgelaufen gesperrt geheim unbekannt vergessen incorrecte vide
    obligatoire incorrecta obligatoria errada inválida
    this those through too tricky typed unavailable unclear under unique unknown unnecessary unsafe
    until up upper useless usual vague visible visible wasted weak what when where which while who
    missing pending expiring coming using changing working failing nothing ending waiting pointing
    why with within without wrong yours yesterday today tomorrow easier harder stronger longer
    """
)
_SAID_ENDINGS: Final = ("ed", "able", "ible", "ly", "ory", "ful", "less", "ive", "ary")
_PASSWORD_TALK = late(
    r"\b(?:pass\w*|pwd?|please|enter|type|your|must|should|least|characters?|required|invalid|wrong"
    r"|incorrect|forgot|the|for|is|are|not|does|mot|choose|new|old|confirm|repeat|secrets?|tokens?"
    r"|from|in|with|no|an?|of|to|use|set|see|ask)\b"
)
_ONE_WORD = late(r"[^\W\d_][^\s\"'`<>()\[\]{}\\,;=]*")
_IDENTIFIER = late(r"[a-z]+(?:_[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|[A-Z]+(?:_[A-Z0-9]+)+")
_CLAUSE_END = late(
    r"""["'`*]* (?: [.!?,;)]* (?: \s*(?:\Z|\n|\\n|["'`|])
                           | \s+(?:for|on|and|but|now|btw|please|if|until|so|again|there)\b
                           | \s+(?:[-\u2013\#(]|//) )
                  | [.!?,;][ ] )""",
    re.VERBOSE,
)


def is_word_password(value: str) -> bool:
    """Whether a value in a slot for a password is one: anything but a placeholder or code."""
    lowered = value.lower()
    return (
        len(value) >= SHORTEST
        and _ONE_WORD.fullmatch(value) is not None
        and lowered.rstrip("!?.:") not in _CODE_WORDS
        and not lowered.endswith(":")
        and value.count("/") < 2
        and not is_placeholder(value)
        and not is_address_or_file(value)
    )


def is_variable(value: str) -> bool:
    """Whether it is written as a name in code: `user_input`, `newPassword`."""
    return _IDENTIFIER.fullmatch(value) is not None


def is_told_in_prose(value: str, text: str, end: int) -> bool:
    """Whether a sentence tells this word as the password, up to `end` in the text."""
    lowered = value.lower()
    return (
        is_word_password(value)
        and lowered not in _SAID_OF_IT
        and not lowered.endswith(_SAID_ENDINGS)
        and ends_clause(text, end)
    )


def speaks_of_a_secret(word: str) -> bool:
    """Whether a word says something about a secret, such as its state, instead of telling it."""
    lowered = word.lower().rstrip("!?.:")
    is_known = lowered in _CODE_WORDS or lowered in _SAID_OF_IT
    return is_known or lowered.endswith(_SAID_ENDINGS) or is_placeholder(word)


def ends_clause(text: str, end: int) -> bool:
    return _CLAUSE_END.match(text, end, end + 40) is not None


def is_phrase(value: str) -> bool:
    """Whether quoted words can be a passphrase, and do not speak of passwords."""
    lowered = value.lower()
    return (
        2 <= len(value.split(" ")) <= 24
        and len(value) <= 256
        and _PASSWORD_TALK.search(lowered) is None
        and not is_placeholder(value)
    )
