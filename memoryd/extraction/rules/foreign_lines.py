"""Whether the lines of a message show that its rules are a text that somebody looks at.

Rules
- A person who types gives a rule in running prose. What was copied keeps the form of where it was:
  prompts of shells and notebooks, markup, marks of lists, columns, headings, page numbers, words
  cut at the end of a line, a salutation, a sign-off, a footer of a mail.
- A text is the object of the task if the line before it wants one: a translation, its grammar, its
  meaning, a shorter form.
- So is it if the last line or sentence handles one: "draft a reply", "dismiss this popup".
- A message that ends in a question that is not a request to the agent ("is this phishing", "who is
  right here") asks about what stands before it, if that stands on lines of its own.
- "From now on" opens a clause of the person's, or follows on a word for them ("we", "please").
  Behind another subject ("the contractor will from now on"), a number or a mark it is reported.
"""

# ruff: noqa: RUF001 - marks of lists and dashes are what some patterns are about

import re
from typing import Final

from memoryd.text.lazy_regex import late
from memoryd.text.masking.words import set_of_words

_FLAGS: Final = re.IGNORECASE | re.MULTILINE

# Nobody types these at the start of a line.
_COPIED_LINE: Final = late(
    r"^\s*(?:PS [A-Z]:[^\n>]*>|[A-Z]:\\[^\n>]*>|[$#%] \w|>>> |\.\.\. |(?:In|Out) ?\[\d*\]:"
    r"|\S+@\S+[:~]\S*[#$%])"
    r"|^\s*(?:[•●▪‣◦·■□✓✔☐☑➜➤→]|\*{3}|#{2,}\[|\[(?:notice|warn\w*|error|info|debug)\])"
    r"|^\s*(?:\\\w+[{\[]|<(?:[/!?]|[a-z][^>\n]*>(?![^\n]*</))|/\*|\*/|\* \S|//|<!--"
    r"|@@ |@\w+:?\s*$|;;|%%|\"\"\")"
    r"|^\s*[|★☆✩❗⚠✉+=_~^](?![\w`])|^\s*\[\w+\]\s*$|^\s*[\w.]+ = \S|^\s*[0-9a-f]{7,40} \("
    r"|^\s*\d{1,4}\s*$|^\s*\d+(?:\.\d+)+\.? +[A-Z]"
    r"|^[^\n]*\S(?: {3,}|\t+)\S"
    r"|[a-z]{2}-\n[a-z]{2}"
    r"|^\s*https?://\S+(?: › [^\n]*)?\s*$"
    r"|^\s*(?:section|article|chapter|§|question|exercise|step|rule|clause|annex|figure|table)"
    r" ?\d+(?:\.\d+)*[.:)]?\s"
    r"|\b(?:MUST(?: NOT)?|SHOULD(?: NOT)?|SHALL(?: NOT)?) (?:always|never|[a-z]+)\b[^\n]*[.;]",
    re.MULTILINE,
)
_LETTER: Final = late(
    r"^\s*(?:dear|hi|hello|hey|hallo|liebe[rs]?|sehr geehrte\w*|buenas|buenos d[ií]as|hola"
    r"|bonjour|salut|ciao|moin|greetings|good (?:morning|evening))\b(?! (?:claude|there)\b)"
    r"[^.!?\n]{0,30}[,!]?\s*$"
    r"|^\s*dear [^\n,]{2,40},|\A\s*[^\s,]+(?: [^\s,]+){0,3},[ \t]*\n"
    r"|^\s*(?:hi|hello|hey),? (?:it'?s|this is|here is|my name is) "
    r"|^\s*sent from my\b|^\s*unsubscribe\b|^\s*(?:get|view) [^\n]{0,30}\b(?:in|on|for) "
    r"(?:browser|outlook|ios|android)\b"
    r"|^\s*(?:un saludo|un abrazo|best wishes|yours|thanks (?:and|&) regards|thank you for"
    r"|mit freundlich\w*|freundliche\w* gr\w+|liebe gr\w+|bien à vous|bonne journée|atentamente"
    r"|kind wishes|respectfully|warmly|xoxo)\b[^\n]{0,30}$",
    _FLAGS,
)
_LABELLED: Final = late(r"^\s*[A-Z][\w ]{1,20}(?: [-–—] | ?: )\S", re.MULTILINE)
_LABELLED_LINES: Final = 3
# Tasks whose object is a text.
_WANTS_A_TEXT: Final = late(
    r"\b(?:translat\w+|[uü]bersetz\w*|tradu\w+|proofread\w*|grammar|spelling|rephras\w+|rewor\w+"
    r"|rewrit\w+|paraphras\w+|shorten|shorter|longer|nicer|politer|simplif\w+|summar\w+|tl;?dr"
    r"|transcribe|what (?:does|do) (?:this|that|it|he|she|they)"
    r"|what (?:is|was) (?:meant|this|that)|meaning of|read this|look at this|saw this"
    r"|found this|got this|see this|check this out|was (?:meint|bedeutet|heißt)"
    r"|que (?:veut|signifie)|qué significa"
    r"|(?:into|as|make) (?:a |an )?(?:slide|banner|poster|tweet|haiku|mail|table|diagram))\b",
    re.IGNORECASE,
)
_QUESTION: Final = late(
    r"^(?:lol |so |and |but |hm+,? |wait,? |ok(?:ay)?,? )*(?:is|are|was|were|does|do|did|has|have"
    r"|should|shall|must|may|might|who|whose|whom|where|when|which|what|why|how|can (?:we|i|he|she"
    r"|they|this|that|it)|could (?:we|i|this|that|it)|would (?:we|i|this|that|it)|qu[eé]|quién|cómo"
    r"|qui|pourquoi|comment|est-ce|was|wer|wie|warum|wieso|stimmt|darf|soll|agree|scam|legit|spam"
    r"|phishing|real|fake|true|thoughts|opinions?)\b(?! (?:you|claude)\b)",
    re.IGNORECASE,
)
_TO_THE_AGENT: Final = late(
    r"\b(?:can|could|would|will|do|did|are|may i ask) you\b|\bplease\b|\bpls\b", re.IGNORECASE
)
_ABOUT_IT: Final = late(
    r"\b(?:lol|lmao|haha\w*|rofl|smh|who (?:writes|wrote|says|said|thinks|would)"
    r"|that'?s the (?:\w+ )?(?:mail|voicemail|text|message|quote|post))\b",
    re.IGNORECASE,
)

_HANDLES_A_TEXT: Final = late(
    r"\b(?:draft|write|compose|send|prepare|scrivi|schreib\w*|écris|escribe)\b[^.\n]{0,20}"
    r"\b(?:reply|answer|response|rebuttal|lines|verse|chorus|risposta|antwort|réponse|respuesta"
    r"|resposta)\b"
    r"|\b(?:answer|reply to|respond to|deal with|dismiss|decline|settle|bookmark|format|center)"
    r" (?:it|this|that|them|these|the|as)\b"
    r"|\b(?:remove|delete|drop) (?:it|that|this|the) ?(?:line|comment|text|sentence|rule|note)?"
    r"\s*[.!]?$"
    r"|\b(?:responde|réponds|antworte) (?:por|für|à|auf)\b"
    r"|\bthat (?:was|is|stood|stands|hangs?) (?:on|in|at) (?:the|a|their|his|her)\b"
    r"|\bi (?:doubt|don'?t want|disagree with|don'?t believe) (?:it|that|this)\b"
    r"|\bturn (?:it|that) off\b",
    re.IGNORECASE,
)
# A name or a kind of message alone on its line.
_LONE_WORD: Final = late(r"^[^\W\d_][\w-]*(?: [A-Z][\w-]*)?$")
_OWN_LONE_WORDS: Final = set_of_words(
    """
    ok okay thanks thx great nice good cool perfect hi hey hello yes no yep nope sure right wow done
    also btw fyi note remember please important always never rules rule reminder stop wait sorry
    danke super gut hallo ja nein merci gracias bitte
    """
)
_NAMED_VOICE: Final = late(
    r"(?:^|[.!?]\s+)(?!(?:I|We|You|It|This|That|There|What|Who|Everyone|Never|Always|Nobody)\b)"
    # What a department wants is news about the project, in the person's own words.
    r"(?!(?:Legal|Security|Marketing|Sales|Finance|Product|Compliance|Support) (?:wants|asked)\b)"
    r"[A-Z]\w+ "
    r"(?:wants|says|said|thinks|insists|asked|asks|told|demands|prefers|likes|wrote|writes|claims)\b"
    r"|\b[Oo]n (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*\b[^.\n]{0,30} wrote\b",
    re.MULTILINE,
)
_FROM_NOW_ON: Final = late(
    r"\b(?:from (?:now|here|today) on|going forward|henceforth|ab (?:jetzt|sofort)|d[eé]sormais"
    r"|de ahora en adelante|a partir de ahora|à partir de maintenant)\b",
    re.IGNORECASE,
)
_OWN_SUBJECT: Final = late(
    r"\b(?:i|we|you|lets|let'?s|please|pls|plz|i'?d|i'?m|we'?re|you'?re|our|my|me|us|and|so|but|also"
    r"|then|btw|fyi|mir|uns|that|ok(?:ay)?|thanks|remember|note|rule|thing|agreed?|right|yes|no|hey"
    r"|claude|bitte|wir|ich|du|oye|alors|donc|merci|danke)\b[^.!?]{0,25}$|[,;)]\s*$",
    re.IGNORECASE,
)
_OWN_START: Final = late(
    r"^\W*(?:i|we|you|my|our|in|for|on|with|when|whenever|before|after|if|during|inside|as|since"
    r"|because|unless|while|at|use|do|don'?t|stop|keep|put|write|run|make|never|always|no|not|only|all|every|any"
    r"|commit|add|name|answer|call|prefer|avoid|für|bei|wenn|im|pour|dans|si|para|en)\b",
    re.IGNORECASE,
)
_CONTENT_BEHIND: Final = late(r"\W*(?:\w+\W+){2}")


def is_reported(sentence: str) -> bool:
    """Whether "from now on" stands behind a subject that is neither the person nor the agent."""
    mark = _FROM_NOW_ON.search(sentence)
    before = sentence[: mark.start()] if mark else ""
    if (
        mark is None
        or not before.strip(" \"'*-")
        or not _CONTENT_BEHIND.match(sentence, mark.end())
    ):
        return False
    return not _OWN_SUBJECT.search(before) and not _OWN_START.match(before)


def stands_as_copied(message: str, up_to_it: str) -> bool:
    """Whether a line up to the end of a sentence, or the frame of it all, was not typed."""
    if any(mark.search(up_to_it) for mark in (_COPIED_LINE, _NAMED_VOICE)):
        return True
    first = up_to_it.strip().split("\n")
    if len(first) > 1 and _LONE_WORD.fullmatch(first[0].strip()):
        words = first[0].lower().split()
        return not _OWN_LONE_WORDS.issuperset(words)
    return bool(_LETTER.search(message)) or len(_LABELLED.findall(message)) >= _LABELLED_LINES


def is_object_of_the_task(whole: str, up_to_it: str) -> bool:
    """Whether the line before wants a text, or what is behind it handles one or asks about it."""
    lines = [line.strip() for line in whole.splitlines() if line.strip()]
    its_line = sum(1 for line in up_to_it.splitlines() if line.strip()) - 1
    behind = whole[len(up_to_it) :].strip() or whole[-120:]
    if _ABOUT_IT.search(behind) or _HANDLES_A_TEXT.search(behind):
        return True
    if len(lines) < 2:
        return False
    if its_line > 0 and (_WANTS_A_TEXT.search(lines[0]) or _HANDLES_A_TEXT.search(lines[0])):
        return True
    last = lines[-1]
    is_question = _QUESTION.match(last) is not None or last.endswith("?")
    return its_line < len(lines) - 1 and is_question and not _TO_THE_AGENT.search(last)
