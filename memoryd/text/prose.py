"""Which part of a message is the person's own prose, and where its sentences end.

Rules:
- Pasted text is not the person's own: fenced and indented code, block quotes, tags and comments,
  logs, diffs, stack traces, shell sessions with what they printed, JSON, letters, chats, invented
  turns, documents with headings, and everything after a line that announces a paste ("she wrote:",
  or "sum up this mail" above an empty line). If what it announces is fenced, the rest is theirs.
  It is better to lose a sentence than to keep a stranger's.
- A message that says to ignore earlier instructions, other than in a fence, contains no prose at
  all, nor does one that tells a model who it is: that is a prompt for another.
- Words in quotation marks or backticks stay in `text` and are blanked in `plain`, so that no rule
  matches inside them.
- Rules are matched on `plain`: lower case, Latin accents folded, no apostrophes, chat abbreviations
  written out, and typos corrected in the words that rules depend on.
"""
# ruff: noqa: RUF001 - dashes, quotation marks and Cyrillic letters are what this module is about

import re
import unicodedata
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final

import msgspec

from memoryd.base.remembered import remembered
from memoryd.text.lazy_regex import late

BLANK = "¤"
SHELL_LINES_LEAST = 2
MOST_CHARACTERS_KEPT = 4096
_PIECES_KEPT: Final = 2048
_KEPT_CHARS: Final = 1000
_CUT = "\x00"  # stands where a fenced block was
_FOLDED = {"ł": "l", "Ł": "l", "ё": "е", "Ё": "е"}

_FENCE = late(
    r"^[ \t]*(```|~~~|\"\"\"|''')[^\n]*\n?.*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL
)
# Stands where a fence was; from the private use area, and removed from what people type.
_COMMENT = late(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG_PAIR = late(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?>.{0,4000}?</\1\s*>", re.DOTALL)
_MACHINE_TAG = late(
    r"<(?:system|command|local-command|tool|task|user-prompt|function)[\w-]*>.*", re.DOTALL
)
_OVERRIDE = late(
    r"\b(?:ignore|disregard|forget|override)\b[^.\n]{0,30}\b(?:previous|prior|above|earlier"
    r"|all)\b[^.\n]{0,20}\b(?:instructions?|rules|prompts?|guidelines)\b",
    re.IGNORECASE,
)
_MAIL_START = late(
    r"^\s*(?:-{2,}\s*(?:original message|forwarded message|weitergeleitete nachricht)"
    r"|begin forwarded message|on .{4,80} wrote:|am .{4,80} schrieb .*:|le .{4,80} a ecrit ?:)",
)
# The first line of a letter; people do not greet the agent like this.
_SALUTATION = late(
    r"^\s*(?:dear|hi|hello|hallo|liebe[rs]?|sehr geehrte[rs]?|bonjour|cher|chere|hola|estimad[oa]s?"
    r"|ola|prezad[oa]s?|ciao|gentile|beste) [\w .]{2,30}[,!]\s*$"
)
_MAIL_HEADER = late(
    r"^\s*(?:from|to|sent|date|subject|cc|von|an|gesendet|betreff|de|para|objet|asunto|assunto"
    r"|oggetto): \S"
)
_CHAT_TURN = late(r"^\s*\[?(?:human|user|assistant|system|claude|ai)\]?\s*[:>]", re.IGNORECASE)
# Excluding what people put before remarks of their own.
_SPEAKER = late(
    r"^\s*(?!(?:note|notes|rules?|fyi|btw|ps|also|remember|context|background|todo|bug|important"
    r"|update"
    r"|feedback|style|tests?|why|how|what|when|where|reason|question|first|second|third|one|two|and"
    r"|deadline|docs?|code|commits?|prs?|example|hint|warning|tip|me)\b)[a-z][\w.-]{1,14}: \S"
)
_ANNOUNCES_PASTE = late(
    r"\b(?:wrote|said|says|writes|e-?mail|mail|message|msg|ticket|comment(?:s|ed)?|reviews?|output"
    r"|logs?|prompt|readme|copy|text|pasted?|changelog|draft|translat\w+|proofread|reword"
    r"|summari[sz]e|quote|schrieb|ecrit|suggest\w*|told (?:me|us)|recommends?|criteria|description"
    r"|(?:meeting|call|release|sprint) notes|minutes|(?<!my )(?<!our )(?:feedback|answer|response)"
    r"|chat ?gpt|gpt-?\d\w*|gemini|copilot|stack ?overflow)\b.*:\s*$"
    r"|^\s*\S+\.(?:md|txt|rst|mdc|ya?ml|json|toml|adoc):\s*$"
    r"|^\s*[\w.-]+:\s*[|>][-+]?\s*$"
)
_ROLE_PROMPT = late(
    r"^\s*(?:you are|youre|du bist|tu es|eres) (?:an?|the|ein\w*|une?|un) (?:[\w-]+[ ,]+){0,5}?"
    r"(?:assistant|expert|agent|bot|chatbot|engineer|developer|reviewer|writer|model|ai|specialist"
    r"|architect|analyst|consultant|tutor|teacher|coder|programmer|translator|editor|assistent"
    r"|experte|expert[oe])\b"
)
_HEADING = late(r"^#{1,6} \S")
# "Jana Novak  10:42 AM" above what she wrote.
_CHAT_HEAD = late(
    r"^\s*@?[a-z][\w.' -]{1,40}?[ \t]+(?:app[ \t]+)?\[?\d{1,2}:\d\d(?: ?[ap]m)?\]?\s*$"
)
# Announces a text below an empty line, without a colon.
_SHOWS_A_TEXT = late(
    r"\b(?:this|these|following|below|attached|pasted|here(?:'?s| is| are)) (?:\w+ ){0,3}?"
    r"(?:e-?mails?|mails?|messages?|threads?|chats?|tickets?|comments?|reviews?|logs?|outputs?"
    r"|readme|texts?"
    r"|docs?|documents?|pages?|articles?|posts?|letters?|transcripts?|exports?|notes|minutes"
    r"|prompts?|changelog|release notes|spec|reports?|statements?|quotes?)\b"
    r"|\b(?:says this|reply to this|answer this|translate this|explain this|proofread this)\b"
    r"|\b(?:here'?s|here is|this is|that'?s|that is) what .{2,40} (?:suggest|say|said|wrote|write"
    r"|think|recommend|came up|told)\w*\b"
    r"|\b(?:gemini|chat ?gpt|copilot|gpt-?\d\w*) (?:says|said|suggests)\b"
)
# "Translate: ...", "put on the banner: ...": the rest of the line is not the person's own prose.
_DICTATES = late(
    r"^\s*(?:please |pls |can you |could you )?(?:add|put|translate|change|write|proofread|reword"
    r"|say|print|insert|append|paste|send|post|reply|title|label|call"
    r"|rephrase)\b(?![^:]*\b(?:memory|mind|notes?|down|remember)\b)[^:.?!]{0,60}:\s"
    r"|^\s*[\w ]{2,30} (?:forwarded|reported|wrote|writes|asks|replied)\b[^:.?!]{0,20}:\s"
    r"|^\s*(?:here(?:'?s| is| are)|this is|below is)\b[^:.?!]{0,40}\b(?:prompt|text|e-?mail|mail"
    r"|message|logs?|output|error|copy|snippet|response|trace|story|ticket|comment|printed|said"
    r"|wrote|returned|answered)\b[^:.?!]{0,40}:\s"
)
_SHALL_SAY = late(
    r"\b(?:it|this|that|the \w+) (?:should|must|shall|has to) (?:say|read|contain|state)\b"
    r"[^:]{0,20}:\s"
)
_MACHINE_LINES = late(
    r"""^\s*(?:
      \[?\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d | \[?\d\d:\d\d:\d\d | \[\d\d?:\d\d\]
    | \d\d?:\d\d\ \S+:\ | <\w+>\ \w | [A-Z][a-z]{2}\ +\d+\ \d\d:\d\d
    | \[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL|CRITICAL|FAILED|PASSED)\]?[:\s]\s*\S*[][/:.=_]
    | Traceback\b | File\ ".*",\ line | at\ \S+\( | at\ \S*[./]\S*:\d+
    | [\w.]*(?:Error|Exception)\b(?:\[|:)
    | (?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL|CRITICAL|FAILED|PASSED)\]?:\s
    | (?:npm|yarn|pnpm|pip|cargo)\s(?:WARN\b|ERR!|warn\b|error\b|notice\b) | make(?:\[\d+\])?:\s
    | diff\ --git | index\ [0-9a-f]{7} | @@\ | \+\+\+\ | ---\ \S | (?:\$|>>>|❯|➜|%|\#!)\s*\S
    | \w+@[\w.-]+[:~].*[$\#]\s | "[\w.-]+"\s*: | [{}\]]\S*\s*$ | \S+=\S+\ \S+=\S+
    | \d{1,3}(?:\.\d{1,3}){3}\s
    | (?:GET|POST|PUT|PATCH|DELETE|HEAD)\ / | \S.*[{;]\s*$ | \|.*\|\s*$
    )""",
    re.VERBOSE,
)
_SHELL_LINE = late(r"^\s*(?:\$|>>>|❯|➜|\w+@[\w.-]+[:~][^\n]*[$#])\s+\S")
_DIFF_MARK = late(r"^(?:@@ |diff --git )", re.MULTILINE)
_INDENTED = late(r"^(?: {4}|\t)\s*(?![-*•\d\s])\S")
_BULLET = late(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s+")

_QUOTED = late(
    r"\"[^\"\n]{2,400}\"|“[^”\n]{2,400}”|„[^“”\n]{2,400}[“”]|«[^»\n]{2,400}»|「[^」\n]{1,400}」"
    r"|(?<!\w)['‘][^'’\n]{2,80}['’](?!\w)|`[^`\n]{1,300}`"
)
_SENTENCE_END = late(
    r"(?<=[.!?…])[\"')\]*_]*\s+|(?<=\s[:;]\))\s+|(?<=\s[:;]-\))\s+|(?<=[。！？])|\s*\n\s*|;\s+|(?<=\w)\s+(?=[-–—]{2}\s)"
)
_ABBREVIATION = late(
    r"(?:^|[\s(])(?:e\.?g|i\.?e|vs|z\.?b|bzw|ca|approx|nr|dr|mr|mrs|st|resp|incl|eq|fig|p\.?ex"
    r"|ej|cf|al|\d{1,2})\.$"
)
# "March 3." ends a sentence, "3. März" does not.
_MONTH_AND_DAY = late(r"\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]* \d{1,2}\.$")
# A number ends a sentence where the next one opens as English sentences do: "on macOS 14. How ..."
_OPENS_ANOTHER = late(
    r"\s*(?:how|what|why|where|when|who|which|can|could|would|please|the|then|now|also|i|we|it|this"
    r"|that|there|fix|add|make|write|run|show|check|find|update|and|but|so|is|are|do|does)\b"
)
# Where a new thought starts in mid-sentence: an aside, a question, another topic, "also".
_TO_AN_ASIDE = (
    r"(?:[,;)]|\s[-–—]|(?=\s(?:and|oh|also|but)\s))\s*(?=(?:(?:and|oh|also|but)\s)*(?:btw|fyi"
    r"|by the way|for the record|heads up|por cierto|ubrigens|au fait|a proposito|trouwens"
    r"|кстати)\b[,:]?\s\S+\s\S)"
)
_TO_A_QUESTION = (
    r"[,;]?(?<!\bwith)\s+(?=(?:and |but |so |now |ok |anyway,? |(?:with )?that said,? )"
    r"(?:can|could|would|will) (?:you|u)\b)|,\s+(?=(?:can|could|would|will) (?:you|u)\b)"
    r"|,\s+(?=(?:where|how|what|why) (?:do|does|should|can|is|would|did) )"
    r"|,\s+(?=(?:c'est quoi|qu'est-ce|comment|pourquoi|was ist|was sind|wie|warum|como|que es|o que"
    r"|por que|cosa|come mai|perche|wat|waarom|hoe|co to|dlaczego|jak|что такое|почему"
    r"|как)\b[^,.]*\?)"
    r"|[,;]\s+(?=(?:kannst du|konntest du|tu peux|peux[- ]tu|pouvez|puedes|podrias|puoi|kun je"
    r"|mozesz)\b)"
)
_TO_ANOTHER_MATTER = (
    r",\s+(?=i(?:'m|m| am) (?:an?|the|our|not an?|new to)\b)"
    r"|,\s+(?=and (?:the|we|we're|were|my|our|im|i'm|i|all|fyi|please|pls|never|always|dont"
    r"|don't) )|,?\s+(?=(?:and )?also,? (?:the|we|i|im|i'm|my|our|dont|don't|never|always"
    r"|remember|please|pls|all|no)\b)"
)
_TURNS = late(f"{_TO_AN_ASIDE}|{_TO_A_QUESTION}|{_TO_ANOTHER_MATTER}")

_WORD = late(r"[a-z0-9]+")
_SHORT_FORMS = {
    "u": "you", "ur": "your", "pls": "please", "plz": "please", "thx": "thanks",
    "bc": "because", "cuz": "because", "coz": "because", "b4": "before",
    "ppl": "people", "msg": "message", "msgs": "messages", "gonna": "going to", "wanna": "want to",
    "gotta": "have to", "gimme": "give me", "lemme": "let me", "smth": "something", "abt": "about",
}  # fmt: skip
_MISSPELT = (
    *("always", "never", "please", "remember", "before", "whenever", "every", "because", "instead"),
    *("prefer", "should", "without", "anymore", "everything", "again"),
)


def _typos_of(word: str) -> Iterator[str]:
    """The word with two letters swapped, one omitted or one doubled, but never the first."""
    for at in range(1, len(word)):
        yield word[:at] + word[at + 1 :]
        yield word[:at] + word[at] + word[at:]
        yield word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]


# "ever" is a word of its own.
_SPELT_OUT = {
    typo: word for word in _MISSPELT for typo in _typos_of(word) if typo not in {"ever", word}
} | _SHORT_FORMS


def spelt_out(word: str) -> str:
    """A plain word without chat spelling, and without a typo if rules depend on it."""
    return _SPELT_OUT.get(word, word)


class Sentence(msgspec.Struct, frozen=True):
    """One sentence: as written, as matched, and whether it starts a new topic."""

    text: str
    plain: str
    opens_topic: bool


def plain(text: str) -> str:
    """The text in lower case with Latin accents folded; every character keeps its position."""
    return text.lower() if text.isascii() else text.translate(_PLAIN)


def own_words(message: str) -> str:
    """The lines that the person wrote, without pasted, quoted or injected ones."""
    unmarked = message.replace("\r\n", "\n").replace(_CUT, " ")
    text = _FENCE.sub(f"\n{_CUT}\n", unmarked)
    if _OVERRIDE.search(text) or _ROLE_PROMPT.match(plain(message[:200]).replace("'", "")):
        return ""
    text = _COMMENT.sub("\n", text)
    text = _TAG_PAIR.sub("\n", text) if "</" in text else text
    lines = _MACHINE_TAG.sub("\n", text).split("\n")
    lines = lines[: _paste_starts_at(lines)]
    is_diff = bool(_DIFF_MARK.search(text))
    kept = (line for line in _unprinted(lines) if not _is_pasted(line, is_diff=is_diff))
    return "\n".join(_undictated(line).replace(_CUT, "") for line in kept)


def sentences(text: str) -> list[Sentence]:
    found: list[Sentence] = []
    for line in text.split("\n"):
        opens = bool(_BULLET.match(line))
        for piece in _pieces(" ".join(_BULLET.sub("", line).split())):
            found.append(Sentence(piece, matchable(piece), opens))
            opens = False
    return found


def matchable(piece: str) -> str:
    """The text that rules are matched on: plain, without quoted words, on one line."""
    # The same sentence is compared with many memories.
    return _kept_matchable(piece) if len(piece) <= _KEPT_CHARS else _matchable(piece)


def _matchable(piece: str) -> str:
    bare = plain(_without_quoted(piece)).replace("'", "").replace("’", "")
    return " ".join(_WORD.sub(lambda word: _SPELT_OUT.get(word[0], word[0]), bare).split())


_kept_matchable = remembered(_PIECES_KEPT)(_matchable)


def _plain_character(character: str) -> str:
    lower = character.lower()
    if character in _FOLDED:
        return _FOLDED[character]
    if ord(character) < 0x250:
        lower = unicodedata.normalize("NFD", lower)[0]
    return lower if len(lower) == 1 else character


class _PlainCharacters(dict[int, str]):
    """What each character becomes, worked out when it first comes up."""

    def __missing__(self, code: int) -> str:
        character = _plain_character(chr(code))
        if len(self) < MOST_CHARACTERS_KEPT:
            self[code] = character
        return character


_PLAIN: Final = _PlainCharacters()


def _without_quoted(text: str) -> str:
    def blanked(match: re.Match[str]) -> str:
        quoted = match[0]
        return quoted[0] + BLANK * (len(quoted) - 2) + quoted[-1]

    return _QUOTED.sub(blanked, text)


def _unprinted(lines: list[str]) -> Iterator[str]:
    """The lines without what a shell printed: those between a command and an empty line.

    A single line may be the person's question about it.
    """
    printed_until = 0
    for number, line in enumerate(lines):
        if number < printed_until:
            continue
        yield line
        if _SHELL_LINE.match(line):
            rest = enumerate(lines[number + 1 :], start=number + 1)
            end = next((at for at, one in rest if not one.strip()), len(lines))
            printed_until = end if end - number > SHELL_LINES_LEAST else 0


def _paste_starts_at(lines: list[str]) -> int:
    headers = [number for number, line in enumerate(lines) if _MAIL_HEADER.match(plain(line))]
    ends = [headers[0]] if len(headers) > 1 else []
    headings = [number for number, line in enumerate(lines) if _HEADING.match(line)]
    if headings and any(line.strip() for line in lines[headings[0] + 1 :]):
        ends.append(headings[0])
    for number, (line, behind) in enumerate(zip_longest(map(plain, lines), map(plain, lines[1:]))):
        begins = _MAIL_START.match(line) or _CHAT_TURN.match(line) or _CHAT_HEAD.match(line)
        if begins or (number and _SALUTATION.match(line)) or _are_a_dialogue(line, behind or "-"):
            ends.append(number)
        is_above_a_gap = behind is not None and not behind.strip()
        announces = _ANNOUNCES_PASTE.search(line) or (is_above_a_gap and _SHOWS_A_TEXT.search(line))
        if announces and not _is_above_a_fence(lines, number):
            ends.append(number + 1)
    return min(ends, default=len(lines))


def _is_above_a_fence(lines: list[str], number: int) -> bool:
    """Whether the next thing after a line is a fenced block, which is cut out already."""
    return next((line for line in lines[number + 1 :] if line.strip()), "") == _CUT


def _are_a_dialogue(line: str, behind: str) -> bool:
    """Whether two consecutive lines start with the name of a speaker."""
    return bool(_SPEAKER.match(line) and _SPEAKER.match(behind))


def _is_pasted(line: str, *, is_diff: bool) -> bool:
    return bool(
        line.lstrip().startswith((">", "//", "/*"))
        or _INDENTED.match(line)
        or _MACHINE_LINES.match(line)
        or (is_diff and line[:1] in "+-")
    )


def _undictated(line: str) -> str:
    match = _DICTATES.match(plain(line)) or _SHALL_SAY.search(plain(line))
    return line[: match.end()] if match else line


def _pieces(line: str) -> list[str]:
    """A line split at sentence ends and at changes of topic."""
    hidden = plain(_without_quoted(line))
    cuts = [
        match
        for pattern in (_SENTENCE_END, _TURNS)
        for match in pattern.finditer(hidden)
        if not _is_abbreviation(
            hidden[max(0, match.start() - 20) : match.start()], hidden[match.end() :]
        )
    ]
    pieces, start = [], 0
    for cut in sorted(cuts, key=re.Match.start):
        if cut.start() >= start:
            pieces.append(line[start : cut.start()])
            start = cut.end()
    pieces.append(line[start:])
    return [stripped for piece in pieces if (stripped := piece.strip(" \t,;-–—"))]


def _is_abbreviation(before: str, after: str) -> bool:
    found = _ABBREVIATION.search(before[-8:])
    if found is None or _MONTH_AND_DAY.search(before):
        return False
    return not (found[0].strip(" (.").isdigit() and _OPENS_ANOTHER.match(after))
