"""What no door saves: what the code shows, what is written down already, nothing but a secret.

Rules
- A text is judged sentence by sentence and refused only if no sentence is worth keeping.
- The code shows where something is, what it has, and what was changed or fixed. So a sentence that
  names code and says no more is excluded. A rule, a reason, a decision, a person, a time or a place
  outside the repository is more.
- A secret is never saved. A clause that only hands one over is worth nothing without it; what
  stands beside it is saved with a mask in the place of the secret.
- What CLAUDE.md, a rule or an import says needs no memory (`written_down`).
"""

import re
from typing import Final, Literal

import msgspec

from memoryd.extraction.rules.written_down import WrittenDown
from memoryd.text.lazy_regex import late
from memoryd.text.masking.credentials import without_credentials
from memoryd.text.masking.mask import mask
from memoryd.text.prose import BLANK, plain, sentences

ExclusionKind = Literal["code", "written-down", "secret"]

JUDGED_CHARACTERS: Final = 20_000
LEAST_WORDS: Final = 3

_SUFFIX = (
    r"(?:pyi?|[cm]?[jt]sx?|rs|go|java|kts?|c|cc|cpp|h|hpp|rb|php|swift|cs|gd|sql|s?css|html|vue"
    r"|svelte|proto|toml|ya?ml|json|sh|tf)"
)
_PRODUCT = late(r"\b(?:node|next|nuxt|vue|d3|three|express|react|nest|alpine)\.js\b", re.IGNORECASE)
_NAMES_CODE: Final = late(
    rf"(?<![\w/@.-])[\w/@.-]{{1,200}}\.{_SUFFIX}\b"
    r"|\b(?:src|lib|tests?|apps?|packages|pkg|cmd|internal|scripts)/\w"
    r"|\w\(\)|\blines? \d+|\bextends\b|\bsubclass(?:es)? of\b"
    r"|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b"
    r"|\b(?:function|method|class|struct|interface|enum|constant|variable|helper|hook|module"
    r"|component|trait|table|column) (?:called |named )?(?:`[^`]+`|\w+_\w+)"
)
# "the class OrderQueue": a name with a hump behind the word for what it is.
_NAMES_A_TYPE: Final = late(
    r"\b(?:class|struct|interface|enum|trait|component|type|function|method|module)"
    r" `?[A-Za-z]+[a-z][A-Z]\w*"
)
# What a piece of code does is in the code, named or not.
_TELLS_OF_CODE: Final = late(
    r"\b(?:the|this|that) (?:\w+ )?(?:function|method|class|constructor|struct|macro|loop"
    r"|callback|parameter"
    r"|argument|variable)s? (?:takes?|returns?|accepts?|calls?|throws?|expects?|inherits?"
    r"|holds?|starts?|is|are"
    r"|has|have)\b|\bin the loop\b"
)
_SAYS_WHAT_IS: Final = late(
    r"\b(?:is|are|was|were|lives?|sits?|resides?|located|defined|declared|implemented|found|has"
    r"|have|contains?|holds?|defines?|implements?|calls?|called|returns?|extends|subclass(?:es)?"
    r"|inherits?|imports?|exports?|handles?|parses?|reads?|writes|takes|uses|wraps|exposes"
    r"|registers?|renders?|adds?|raised|raises|throws)\b"
)
_WAS_CHANGED = (
    r"(?:fixed|renamed|refactored|moved|added|removed|deleted|updated|bumped|introduced|reverted"
    r"|merged|rewrote|changed|implemented|extracted|replaced|split|cleaned up)"
)
_TELLS_A_CHANGE: Final = late(rf"^(?:(?:i|we|you|it) (?:have |just |ve )*)?{_WAS_CHANGED}\b")
_TELLS_HISTORY: Final = late(
    r"\b(?:the|this|that) (?:bug|fix|crash|regression|off-by-one|stack trace)"
    r" (?:is|was|came|in|were)\b(?! to\b)|\b(?:this|that) (?:fix|diff|patch|commit)\b"
    r"|\b(?:last|latest|recent|previous|these|those) (?:\w+ )?commits?\b|\bcommit [0-9a-f]{7,40}\b"
    r"|\b(?:pr|pull request|merge request|mr) ?[#!]?\d+ (?:is|was|has been|got)\b"
    r"|^(?:i |we )?merged [#!]\d+|\bmerged\b.* [#!]\d+"
)
_SAYS_MORE: Final = late(
    r"\b(?:in|from|of|under|at) the (?!same|current|main)[\w-]+ (?:repo|repository)\b"
    r"|\bin the (?:repo|repository) [\w-]+/[\w-]+|\b(?:[\w-]+\.)+(?:com|org|net|io|dev"
    r"|internal|example)\b"
    r"|\b(?:always|never|dont|do not|cannot|cant|must(?:nt)?|should(?:nt)?|shall|only|avoid|prefer"
    r"|rather|instead|please|make sure|ensure|keep(?!(?: (?:this|that|it))? in mind)|kept|leave"
    r"|skip|stop|ask|tell|careful|by hand|manually|unless|when(?:ever)? (?:you|we|i)"
    r"|if (?:you|we|i)|before (?:you|we|i|\w+ing)|not allowed|forbidden|off limits|read-?only|alone"
    r"|because|since|so that|so it|so we|so you|otherwise|due to|reason|why|in order to|workaround"
    r"|on purpose|deliberate(?:ly)?|intentional(?:ly)?|historical(?:ly)?|legacy|deprecated|until"
    r"|till|flaky|broken|slow|fragile|harmless|expected|known"
    r"|decided|agreed|chose|wants?|owned|owns?|owner|belongs to|maintained|maintains|responsible"
    r"|team|customers?|(?:one|a|some|old) clients?|locally|legal|compliance|audit|vendor|contract"
    r"|prod|production|staging|budget|policy|convention"
    r"|slack|jira|notion|linear|confluence|grafana|datadog|sentry|figma|wiki|runbook"
    r"|immer|nie|niemals|nicht|weil|kein\w*|siempre|nunca|porque|toujours|jamais|parce)\b"
    r"|https?://"
)
_SAYS_WHEN: Final = late(
    r"\b(?:nightly|daily|weekly|deadline|(?:every|each) (?:night|day|week|month|morning|sprint|time"
    r"|release)|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    r"|next (?:week|month|quarter|release|year)|20\d\d-\d\d)\b"
)
# "Run scripts/seed.py first": an order is a rule, whatever it names.
_ORDERS: Final = late(
    r"^(?:use|run|read|look|start|treat|write|put|call|name|pass|build|test|check|add|copy|edit"
    r"|update|regenerate|ignore|skip|do|open|include|prefix|import)\b"
)
_MASK: Final = late(r"\[secret: [^\]]*\]")
_PASSWORD: Final = late(
    r"\b(?:pass(?:word|wd|phrase|code)s?|pwd|pin(?= (?:is|code|number)|:)|kennwort|passwort"
    r"|mot de passe|contrasena|(?:door|gate|access|alarm|entry) code)\b|密码|パスワード"
)
# A short password that follows its name: too short for the masks, which read code too.
_SPOKEN_PASSWORD: Final = late(
    r"\b(?P<name>pass(?:word|wd|phrase|code)|kennwort|passwort)\b(?P<link>[^.,;:\n]{0,30}?"
    r"(?:\bis\b|\bist\b|[:=]) ?)(?P<value>(?=\S{0,39}\d)[^\s,;.]{4,40})",
    re.IGNORECASE,
)
_CLAUSE: Final = late(r"[,;:]\s+|\s[-–—]\s|\s(?:and|but|und|aber)\s|\n")  # noqa: RUF001 - dashes are meant
_PLACE: Final = late(
    r"https?://|\b(?:[\w-]{1,63}\.){1,6}(?:com|org|net|io|dev|internal|example)\b"
    r"|\b(?:kept|stored|saved|lives?|found) (?:in|at|on|under)\b"
    r"|\b(?:1password|bitwarden|keepass\w*|vault|keychain|keyring|secrets? manager)\b",
    re.IGNORECASE,
)
_WORDS: Final = late(r"\w+")


class Exclusion(msgspec.Struct, frozen=True):
    """Why a text is not saved; `line` is the instruction that already says it."""

    kind: ExclusionKind
    line: str = ""


def savable(text: str) -> str:
    """The text with a mask in place of each secret, spoken passwords included."""
    masked = mask(text)
    if not _PASSWORD.search(plain(masked)):
        return without_credentials(masked)
    hidden = _SPOKEN_PASSWORD.sub(
        lambda found: f"{found['name']}{found['link']}[secret: password]", masked
    )
    return without_credentials(hidden)


def exclusion_of(text: str, known: WrittenDown) -> Exclusion | None:
    """Why nothing in this text is worth saving; None if something is, or if it is very long."""
    if len(text) > JUDGED_CHARACTERS:
        return None
    first: Exclusion | None = None
    for sentence in sentences(savable(text)):
        verdict = _exclusion_of_sentence(sentence.text, known)
        if verdict is None and not _says_little(sentence.text):
            return None
        first = first or verdict
    return first


def is_shown_by_code(sentence: str) -> bool:
    """Whether it only says where code is, what it has, or what was changed in it."""
    words = _matched(sentence)
    if says_more_than_code(words):
        return False
    if _TELLS_HISTORY.search(words) or _TELLS_OF_CODE.search(words):
        return True
    if not _names_code(sentence):
        return False
    return bool(_SAYS_WHAT_IS.search(words) or _TELLS_A_CHANGE.search(words))


def says_more_than_code(words: str) -> bool:
    """Whether a sentence in lower case is a rule, or gives a reason, a person, a time or a place.

    When a change was made is in the history too.
    """
    if _SAYS_MORE.search(words) or _ORDERS.match(words):
        return True
    return bool(_SAYS_WHEN.search(words) and not _TELLS_HISTORY.search(words))


def _matched(sentence: str) -> str:
    words = plain(_PRODUCT.sub(" ", sentence)).replace("'", "").replace("\u2019", "")
    return " ".join(words.split())


def _exclusion_of_sentence(sentence: str, known: WrittenDown) -> Exclusion | None:
    if _only_hands_over_a_secret(sentence):
        return Exclusion("secret")
    if line := known.line_saying(sentence):
        return Exclusion("written-down", line)
    is_bare_name = _says_little(sentence) and _names_code(sentence)
    return Exclusion("code") if is_bare_name or is_shown_by_code(sentence) else None


def _says_little(sentence: str) -> bool:
    """A word or two ("Note:", "parse()") make no statement; in scripts without spaces they may."""
    return sentence.isascii() and len(_WORDS.findall(sentence)) < LEAST_WORDS


def _names_code(sentence: str) -> bool:
    bare = _PRODUCT.sub(" ", sentence)
    return bool(_NAMES_CODE.search(plain(bare)) or _NAMES_A_TYPE.search(bare))


def _only_hands_over_a_secret(sentence: str) -> bool:
    if not _MASK.search(sentence) or _PLACE.search(sentence):
        return False
    clauses = _CLAUSE.split(_MASK.sub(BLANK, sentence))
    beside = [clause for clause in clauses if BLANK not in clause]
    return not any(len(_WORDS.findall(clause)) >= LEAST_WORDS for clause in beside)
