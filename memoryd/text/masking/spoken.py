"""Secrets that people tell in a sentence, found by the sentence and not by how they look.

Rules
- What stands in a slot for a secret is one, whatever it looks like: behind the name and a link
  ("the password for X is Y", "PIN: Y"), behind the bare name at a clause's end ("pw Y"), before
  the name ("Y is the password", "Y as password", "use Y when it asks for the password"), in the
  second place of a login ("log in with A / Y"), and behind a verb that opens something ("the vault
  opens with Y", "Y unlocks the phone").
- What only speaks of a secret is not one: a word on its state ("rotated", "required"), on its place
  ("in 1Password"), or on its length ("8 characters"), and the second half of "password manager".
- A token or a key must have a digit: "the secret is patience".
- "The password? It's Y": the name may stand in the sentence before.
- A sentence about one secret that is neither a rule nor says where it is, and whose slot we do not
  know, loses every word that may be the secret.
- This is only asked of what is saved; hiding a word too many costs a word.
"""

# ruff: noqa: RUF001 - quotation marks, dashes and Cyrillic letters are what is meant

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from memoryd.text.lazy_regex import late
from memoryd.text.masking.words import speaks_of_a_secret
from memoryd.text.prose import BLANK
from memoryd.text.terms import STOP_WORDS

Span = tuple[int, int]
# Nobody tells a secret in a longer sentence.
READ_CHARACTERS: Final = 1000
NAMES_MAX: Final = 8
LONGEST: Final = 200

_CHOSEN: Final = (
    r"(?:(?<![a-z0-9])(?:[\w-]*(?:passwort|kennwort)|(?:door |gate )?pass ?(?:word|wd|phrase"
    r"|code)s?"
    r"|pass(?! ?: ?test)(?=(?: ?[:=])? [^\s,;]*[\d_!@#$%][^\s,;]*(?:[,;.]|\s|$))|pwd?"
    r"|(?:store|key)pass"
    r"|pin(?= (?:code|number|is|for|of|was)\b|[:=]|[^.\n]{0,60}?\b\d{3,8}\b)"
    r"|(?<=the |our |sim )pin|(?<=my )pin|puk|mot de passe|mdp"
    r"|contrasena|clave|senha|palavra-passe|parola d['’]ordine"
    r"|wachtwoord|haslo|пароль|пин-?код"
    r"|(?:door|gate|access|alarm|unlock|entry|safe|lock|garage|building|recovery|backup|2fa"
    r"|otp|mfa|security|one-time)"
    r"(?:['’]s)?[ -]codes?|[\w-]*(?:tur|zugangs|zutritts|sicherheits|toegangs)code|deurcode"
    r"|(?:code|codigo|codice) (?:for|of|to|de|del|der|fur|zum|zur|du|della|da|do"
    r"|d['’]) ?(?:the |la |le |el |die"
    r" |den |das |our |l['’]|a |o )?(?:\w+ ){0,2}?(?:door|gate|alarm|safe|lock|garage|building"
    r"|entrance|porte"
    r"|puerta|porta|tor|tur|portail|alarme?a?|cofre|caja|acces|acceso|acesso|entrada)"
    r"|code d['’]acces|(?:safe|lock|door)['’]?s? combination|combination (?:of|for"
    r"|to) the (?:\w+ )?(?:safe|lock|door)"
    r"|(?:seed|recovery|door|secret|unseal|unlock) phrase|(?:wallet|mnemonic) seed|seed words"
    r"|(?:secret|security) (?:answer|question)"
    r"|(?:safe|secret|security|magic|code) ?word|(?:totp|otp|2fa) (?:seed|secret)"
    r"|(?:phone|screen) unlock)(?![a-z])"
    r"|パスワード|暗証番号|密码|密碼|口令|비밀번호|암호)"
)
_ISSUED: Final = (
    r"(?<![a-z])(?:(?:api|access|private|licen[cs]e|account|auth|deploy|signing|encryption"
    r"|activation|unseal)"
    r"[ _-]?keys?|tokens?|keys?(?= is )|shared secret|client secret|secret)(?![a-z])"
)
_NAME: Final = rf"(?:{_CHOSEN}|{_ISSUED})"
# With these behind it, the name is not that of a secret.
_COMPOUND: Final = (
    r"[ -](?:manager|reset|polic|field|hash|prompt|rule|store|stores|generator|expir|length"
    r"|strength|rotation"
    r"|protect|auth|login|form|page|screen|input|check|change(?!d)|hint|vault|file|format"
    r"|entry|owner|holder|based"
    r"|less|requirement|validation|column|type|budget|scope|refresh|endpoint|handling|limit|count)"
)
_LINK: Final = late(
    r"(?:,? (?:it|which|that) (?:is|was)|[,:]? it['’]s|(?: (?:has|have|been|was|is"
    r"|now))* (?:changed|set|reset"
    r"|switched) to| used to be| (?:has|have)(?: \w+)? been| (?:is|was|are|reads|being|ist|war"
    r"|lautet|heisst|heißt|sind|est|c['’]est|sont|es|son|e|sao|sono|это)"
    r"(?: (?:now|jetzt|still|just|simply|ahora|maintenant))?)(?= )|(?<=haslo) to(?= )"
    r"| ?[:=\uff1a]| ?は| ?是| ?为| ?는| ?은"
)
_WORD: Final = r"(?:(?!: )[^\s,;\"'`<>()\[\]¤]){1,64}?"
_QUOTED: Final = r"[\"“«'`][^\"”»'`\n]{3,60}[\"”»'`]"
_CLAUSE_END: Final = (
    r"(?=[.!?]?(?:[,;)\]\uff0c\u3002]|$|\n)|[.!?](?=\s)|\s(?:[-–—]|and|or|for|on|in|at|but|if"
    r"|when|so|because|now"
    r"|und|fur|pour|para|per|por|remember|merk|keep|please)(?=\s|$|[,.])|だ)"
)
_VALUE: Final = late(
    rf"\s*\(?(?P<value>{_QUOTED}|{_WORD}(?: {_WORD}){{0,5}}?){_CLAUSE_END}", re.IGNORECASE
)
_FUNCTION_WORDS: Final = late(
    r"\b(?:the|an?|of|to|in|on|at|by|with|from|not|never|is|are|was|be|it|you|we|i|they|that"
    r"|this|than|as|our|my"
    r"|your|der|die|das|dem|den|ein|nicht|ist|wird|le|la|les|un|une|el|los|de|du|da|do|que"
    r"|dass|che)\b"
)
_LENGTH: Final = late(
    r"\d+[- ](?:digits?|char\w*|days?|times?|minutes?|hours?|letters?|months?|words?|attempts?"
    r"|bits?|bytes?"
    r"|zeichen|stellen|weeks?|years?)\b|\d{4}-\d\d(?:-\d\d)?$|(?:https?|file)://|[/~]"
)
_NAME_AT: Final = late(rf"(?P<chosen>{_CHOSEN})|{_ISSUED}")
_COMPOUND_AT: Final = late(_COMPOUND)
_CHOSEN_AT: Final = late(_CHOSEN)
# "pw sunrise", "password for the panel monkeybars", "everyone knows the password (nordlicht)".
_BARE: Final = late(
    r"(?: (?:for|of|to|do|da|de|del|der|fur|vom|zum|от|для|pour|du) (?:the |my |our |o |a |la "
    r"|le |el |das |den "
    rf"|die )?[\w-]+)? ?(?P<open>\()?(?P<value>{_QUOTED}|(?:\d{{2,4}}[ -]?){{2,4}}"
    rf"|{_WORD}){_CLAUSE_END}"
)
_NUMBER: Final = late(r" (?P<value>\d[\d -]{2,10}\d#?)(?![\w.-])(?! (?:times|digits|char))")
_DOES: Final = late(
    r"\b(?:use|uses|using|hash|reset|change|store|share|log|send|rotate|ask|asks|need|needs"
    r"|enter|type|check|test"
    r"|add|make|write|put|never|dont|don['’]t|not|always|show|print|commit|with|without|no|any"
    r"|every|each|only)\b"
)
_BEFORE: Final = late(
    rf"(?:^|[,;:] |\b(?:that|remember|dass|que|che|and|merk dir) )(?P<value>{_QUOTED}"
    rf"|{_WORD}(?: {_WORD}){{0,3}}?)"
    rf" (?:(?:is|was|ist|est|es|e) (?:the|our|my|its|das|le|la|el|il|a"
    rf"|o) (?:[\w'’-]+ ){{0,3}}?|as (?:the |its |a |my )?"
    rf"(?:[\w-]+ )?){_NAME}(?!{_COMPOUND})"
)
_AS: Final = late(
    rf"\b(?:uses?|using|with|take|takes|try|set|has|have|needs?) (?P<value>{_QUOTED}|{_WORD}) as"
    rf" (?:the |its |a |my )?(?:[\w-]+ )?{_NAME}(?!{_COMPOUND})"
)
_WHEN_ASKED: Final = late(
    rf"\b(?:use|type|enter|say|try|give|answer with|put in) (?P<value>{_QUOTED}|{_WORD})"
    rf" (?:when|if|at|for|once|whenever|as)\b[^.;]*?{_NAME}(?!{_COMPOUND})"
)
_OPENS_WITH: Final = late(
    r"\b(?:unlock(?:s|ed)?|opens|open it|decrypt(?:s|ed)?|encrypted|protected|locked|secured"
    r"|entsperrt|geoffnet)\b"
    rf"[^,;.]{{0,40}}? (?:with|using|by (?:saying|typing)|mit|avec|con"
    rf"|com) (?P<value>{_QUOTED}|{_WORD}(?: {_WORD}){{0,2}}?)"
    rf"{_CLAUSE_END}"
)
_TO_OPEN: Final = late(
    rf"\bto (?:unlock|open|decrypt|disarm)\b[^.;]{{2,40}}?,? (?:say|type|enter|use"
    rf"|dial) (?P<value>{_QUOTED}|{_WORD})"
    rf"{_CLAUSE_END}"
)
_UNLOCKS: Final = late(
    rf"(?:^|[,;:] |\b(?:that|remember) )(?P<value>{_QUOTED}|{_WORD}) (?:unlocks|decrypts"
    rf"|disarms|opens(?= (?:the|our|my)"
    r" (?:\w+ )?(?:door|safe|vault|gate|lock|garage|archive|zip|phone)))\b"
)
# "say the word rhubarb to the bot", "log in to the server with code GX41-77PL".
_SAID: Final = late(
    rf"\b(?:say|whisper|give|enter|type) (?:the )?(?:word|phrase|code) (?P<value>{_QUOTED}|{_WORD})"
    r"(?= (?:to|at|in|when|if)\b|[,.;!]|$)"
    rf"|\b(?:log|sign) ?in\b[^.;]{{0,60}}? (?:with|using) (?:the )?(?:code|key|number)"
    rf" (?P<code>[\w-]*\d[\w-]*){_CLAUSE_END}"
)
_TYPED: Final = late(
    r"\b(?:type|enter|dial|press|punch in|tippe|gib) (?:in )?(?P<value>\d{4,8}#?)(?= |[.,;!]|$)"
)
_LOGIN: Final = (
    r"(?:log-? ?ins?|sign-? ?in|credentials?|creds|basic auth|[\w-]*zugang(?:sdaten)?"
    r"|anmeldung|acceso|identifiants?"
    r"|acesso|accesso|username)"
)
_PAIR: Final = late(
    rf"(?<![a-z]){_LOGIN}\b[^.;\n]{{0,50}}?(?:[:=]| is| are| as| with| sind| ist"
    rf"| mit) [\"'`]?[\w.@+-]{{2,40}}"
    rf"[\"'`]?(?P<sep> ?[/|] ?|:(?! )|, | (?:and|with|und|et|y|e|con|avec"
    rf"|mit) )[\"'`]?(?P<value>{_WORD}){_CLAUSE_END}"
)
_SURE_PAIR: Final = late(r"basic auth|credential|creds|zugang|identifiant|anmelde")
_ANSWER: Final = late(
    rf"\banswer (?:to|for) (?:[^,;.]{{0,60}}(?:security|secret)[^,;.]{{0,30}}question"
    rf"|\"[^\"]+\"|\"¤+\")[^,;.]{{0,80}}?"
    rf"(?: is|:|=) (?P<value>{_QUOTED}|{_WORD}(?: {_WORD}){{0,3}}?){_CLAUSE_END}"
)
# "root/rosebud", "demo@acme.example with demo123", "mypass99": no name is needed.
_KNOWN_USER: Final = late(
    r"(?:^|[:,(] ?|\b(?:with|as|is|are|use) )(?:root|admin|administrator|postgres|guest|sa"
    r"|[\w.+-]+@[\w.-]+)"
    rf"(?: ?/ ?| (?:with|and|using) |, )(?P<value>{_WORD}){_CLAUSE_END}"
)
_CALLED_PASS: Final = late(r"(?<![\w/.-])(?P<value>\w*pass(?:word|wort)?\w*\d\w*)(?![\w/.-])")
_CHANGED: Final = late(
    rf"{_CHOSEN}(?!{_COMPOUND})[^,;.]{{0,40}}? from (?P<value>{_WORD}(?: {_WORD}){{0,3}}?)"
    rf" to (?P<other>{_WORD}){_CLAUSE_END}"
)
# The sentence is about a secret and is neither a rule, nor says where it is or how it fares.
_IS_ABOUT_ONE: Final = late(rf"{_CHOSEN}(?!s\b)(?!{_COMPOUND})")
_IS_A_RULE: Final = late(
    r"\b(?:never|always|must|should|dont|don['’]t|do not|cannot|can['’]t|not|no|rotat\w+"
    r"|reset\w*|expire\w*|hash\w*|logs?"
    r"|logged|stor\w+|kept|lives?|saved?|vault|1password|bitwarden|keepass\w*|keychain"
    r"|required?|polic\w+|characters?|length"
    r"|forg\w+|sen[dt]\w*|shar\w+|emails?|every|each|lock\w*|broken|fails?|manager|ask(?:s"
    r"|ed)? me|before|after|until"
    r"|nie|niemals|immer|nicht|muss|jamais|toujours|nunca|siempre|sempre|mai|steht|liegt"
    r"|gespeichert|guardada?|dans le"
    r"|twice|monthly|weekly|changes|prompts?|screen|page|form|field)\b"
)
_KEPT: Final = late(
    rf"{_NAME}|\b(?:the|our|my|its|a|an|das|der|die|den|dem|le|la|el|il|o|for|of|to|on|in|at"
    rf"|from|fur|pour|para|per)"
    r" [\w'’-]+(?: [\w'’-]+(?= (?:is|are|was|wants|asks|needs)\b))?|\b(?:admin|staging"
    r"|production|demo|test|wifi|users?|account"
    r"|server|database|panel|remember|note|please|keep|mind|merk|dir|bitte|gets?|wants?|asks?"
    r"|works?)\b"
)
_ITS: Final = late(r"^\W*(?:it['’]?s|it is|es ist|c['’]est|es|e)(?= )")
_TECHNICAL: Final = late(
    r"(?:sha|md|base|oauth|argon|utf|x|pbkdf|ed|aes|rsa|hs|rs|es|v|py|python|ec|s|k|h|p|i|web"
    r"|http|log|win|ipv|arm)"
    r"-?\d+\w{0,4}(?:-\w+)*|1password|\d+(?:st|nd|rd|th|ms|s|m|h|d|k|gb|mb|px|%|x)|[a-z]{2,8}-\d+"
)
_TOOLS: Final = frozenset(
    """
    gpg pgp sops age okta sso ssh oauth saml ldap face touch fingerprint key keys passkey kms
    aes tls enter escape
    das dies es ce cela eso esto isso questo google
    github gitlab apple microsoft azure care caution rest default vim code it
    """.split()  # noqa: SIM905 - two lines instead of thirty
)


_NO_STATE: Final = late(r"^(?!agreed|freed|guaranteed|needed|decreed)\w+eed$")
_PATTERNS: Final = (
    *(_BEFORE, _AS, _WHEN_ASKED, _OPENS_WITH, _TO_OPEN, _UNLOCKS, _ANSWER, _KNOWN_USER),
)


def spoken_in(plain_text: str, before: str = "") -> list[Span]:
    """Where secrets stand in a sentence in plain lower case; `before` is the sentence before it."""
    if len(plain_text) > READ_CHARACTERS:
        return []
    found = list(_in_slots(plain_text, before))
    if found or BLANK in plain_text or len(plain_text) > LONGEST:
        return found
    if _IS_ABOUT_ONE.search(plain_text) and not _IS_A_RULE.search(plain_text):
        return list(_all_but_the_frame(plain_text))
    return []


def _all_but_the_frame(text: str) -> Iterator[Span]:
    """Every word that may be the secret, in a sentence about one where no slot gives it away."""
    kept = [match.span() for match in _KEPT.finditer(text)]
    for word in re.finditer(r"[^\s,;:.!?()]+", text):
        is_kept = any(start <= word.start() < end for start, end in kept)
        if not is_kept and word[0] not in STOP_WORDS and len(word[0]) > 2:
            yield word.span()


def _in_slots(plain_text: str, before: str) -> Iterator[Span]:
    for name in islice(_NAME_AT.finditer(plain_text), NAMES_MAX):
        if _COMPOUND_AT.match(plain_text, name.end()):
            continue
        is_chosen = name["chosen"] is not None
        yield from _behind(plain_text, name.end(), is_chosen=is_chosen)
        yield from _bare(plain_text, name, is_chosen=is_chosen)
    if _CHOSEN_AT.search(before) and (link := _ITS.match(plain_text)):
        yield from _at(plain_text, link.end(), is_chosen=True)
    for match in _CHANGED.finditer(plain_text):
        yield from (match.span("value"), match.span("other"))
    yield from (match.span("value") for match in _CALLED_PASS.finditer(plain_text))
    for pattern in _PATTERNS:
        for match in pattern.finditer(plain_text):
            if _is_value(match["value"]):
                yield match.span("value")
    yield from _typed_or_said(plain_text)
    for match in _PAIR.finditer(plain_text):
        is_sure = match["sep"].strip() in {"/", "|", ":"} or _SURE_PAIR.search(match[0])
        if (is_sure or _is_marked(match["value"])) and _is_value(match["value"]):
            yield match.span("value")


def _typed_or_said(text: str) -> Iterator[Span]:
    yield from (match.span("value") for match in _TYPED.finditer(text))
    for match in _SAID.finditer(text):
        yield match.span("code" if match["code"] else "value")


def _behind(text: str, start: int, *, is_chosen: bool) -> Iterator[Span]:
    """Behind the name, up to seven words on what it is for, and a link."""
    for link in _LINK.finditer(text, start, start + 90):
        if re.search(r"[;.!?]\s", text[start : link.start()]):
            return
        found = list(_at(text, link.end(), is_chosen=is_chosen))
        yield from found
        if found:
            return


def _at(text: str, at: int, *, is_chosen: bool) -> Iterator[Span]:
    match = _VALUE.match(text, at)
    if match is None or not _is_value(match["value"], is_assigned=text[at - 1] in ":=\uff1a"):
        return
    if is_chosen or _is_marked(match["value"]):
        yield match.span("value")


def _bare(text: str, name: re.Match[str], *, is_chosen: bool) -> Iterator[Span]:
    if is_chosen and (number := _NUMBER.match(text, name.end())):
        yield number.span("value")
    match = _BARE.match(text, name.end())
    if match is None or not _is_value(match["value"]):
        return
    clause = re.split(r"[,;:(] ?| and ", text[: name.start()])[-1]
    is_told = is_chosen and (match["open"] or not _DOES.search(clause))
    if is_told or re.search(r"\d", match["value"]):
        yield match.span("value")


def _is_marked(value: str) -> bool:
    return bool(re.search(r"\d|\w[!@#$%^&*+_~.-]\w?", value))


def _is_value(value: str, *, is_assigned: bool = False) -> bool:
    """Whether it can be a secret rather than words about one; behind a colon any phrase can."""
    if BLANK in value and not value.strip("\"'`" + BLANK):
        return True
    bare = value.strip("\"“”«»'`.!?*()")
    if len(bare) < 3 or _LENGTH.match(bare) or bare.startswith("[") or "/" in bare:
        return False
    if value[0] in '"“«`':
        return True
    words = bare.split()
    if re.fullmatch(r"[\d#* -]+", bare):
        return True
    if len(words) == 1 and re.search(r"\d", bare):
        return _TECHNICAL.fullmatch(bare) is None
    is_phrase = is_assigned and len(words) >= 3
    # "Rotated" says how it fares; no word of that kind but a few ends like "tumbleweed".
    fares = speaks_of_a_secret(words[0]) and not _NO_STATE.search(words[0])
    if words[0] in _TOOLS or (fares and not is_phrase):
        return False
    return len(words) == 1 or not _FUNCTION_WORDS.search(bare)
