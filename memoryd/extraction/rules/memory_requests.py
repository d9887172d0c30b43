"""How people ask for memory in so many words, in every language that we can test: one grammar.

Rules
- A request is a small word or two in front, a verb of keeping, small words, and then what is to be
  kept: behind "that" or a colon. So a verb needs no row for each of its phrases.
- A verb that means nothing else ("remember", "merk dir", "recuerda") needs neither. A verb that
  programs are told with as well ("save", "note", "store") does.
- Any short opening with a colon that holds a word of keeping is a request: "for your notes:".
- "Note that", "for the record" and "fyi" are often just talk: they ask weakly (`asks_weakly`).
- "Remember to ..." is an order. It is for keeps if it says for which occasions.
- Matched on `prose.matchable` text, and by `without_request` on the text as written.
"""

# ruff: noqa: RUF001 - Cyrillic letters are what some rows are about

from typing import Final

from memoryd.base.remembered import remembered
from memoryd.text.lazy_regex import late
from memoryd.text.prose import plain

# Small words that people put in front of what they mean.
LEAD: Final = (
    r"(?:(?:please|pls|plz|hey|hi|ok|okay|no|nope|oh|just|and|but|so|also|actually|yes|yeah|btw|fyi"
    r"|one (?:more )?thing|one rule|two things|note|again|great|thanks|thank you|cool|nice|perfect"
    r"|then|well|right|seriously|ugh|look|quick note|side note|(?:new )?rule|important|heads up"
    r"|for the record|by the way|while i think of it|first|wait|sorry|alright|yep|sure|ps"
    r"|anyway|bitte|und|por favor"
    r"|svp|stp|s['’]?il te plait|per favore)[,:!.]{0,3} +)*"
)
_POLITE: Final = (
    r"(?:(?:can|could|would|will) you |you (?:should|must|need to|can) |i(?:['’]?d"
    r"| would) like you "
    r"to |i (?:want|need) you to |lets |kannst du |peux[- ]tu |puedes |pode |puoi )?"
    r"(?:please (?:to )?|also |just |always |bitte )*"
)
# They mean nothing but keeping.
_REMEMBER: Final = (
    r"(?:do )?rem(?:em)?ber|(?:keep|bear) (?:this |that |it )?in (?:mind|memory)"
    r"|never forget"
    r"|(?:don['’]?t|do not) (?:ever )?forget(?= (?:that|to|i|i['’]?m|we|our|this|it)\b|[:,])"
    r"|remind yourself"
    r"|(?:make|take|keep) (?:a )?(?:mental |quick )?note(?! of\b| in\b| on\b)"
    r"|make (?:it|this|that) a (?:(?:standing )?rule|habit)"
    r"|(?:save|add|put|store|write|keep|commit) (?:this |that |it |the following )?(?:in|into|to)"
    r" (?:your |the )(?:memory|notes)|(?:save|add|commit|write) (?:this |that |it )?to memory"
    r"(?= that\b|[:,])"
)
_REMEMBER_ELSEWHERE: Final = (
    r"merke? (?:es )?dir|denke? (?:bitte )?d?a?ran|vergiss nicht|recuerda|acuerdate"
    r"|ten (?:en cuenta"
    r"|presente)|no (?:te )?olvides|que no se te olvide|toma nota|souviens-toi|rappelle-toi|retiens"
    r"|retenez|n['’]?oublie[sz]? pas|garde[sz]? (?:en tete|a l['’]?esprit)|prends? note"
    r"|lembre(?:-se)?|lembra|nao (?:se )?esqueca|tenha em mente|ricorda(?:ti)?|tieni (?:presente"
    r"|a mente)|non dimenticare|prendi nota|onthoud|vergeet niet|zapamietaj|запомни|не забудь"
    r"|имей в виду"
)
# Programs are told so as well: what is to be kept must follow as a clause.
_KEEP: Final = (
    r"note|save|store|log|record|retain|write|jot|put|add|keep|memori[sz]e|know|learn"
    r"|notiere?|behalte?|halte?|speichere?|beachte|schreibe?|notez?|memorise[rz]?|sache|enregistre"
    r"|garde|anotar?|apunta|guarda|memoriza|anote|guarde|saiba|registre|segna(?:ti)?|annota"
    r"|memorizza|sappi|nota|noteer|pamietaj|zanotuj|zapisz|помни|запиши|учти"
)
_SMALL: Final = r"(?:[^\W\d_][\w'’-]*,? ){0,5}?"
_THAT: Final = r"(?:that|dass|que|qu['’]|che|dat|ze|что)\b"
# A short opening with a word of keeping, up to its colon.
_OPENING: Final = (
    r"(?!to (?:hide|suppress|avoid|fix|enable|disable|show|run|see|get|make|use"
    r"|add)\b)(?:(?:[^\W\d_][\w'’-]*,?|&) ){0,6}?"
    r"\b(?:remember\w*|(?:for|to|into|in) (?:your |my )?memory|memori[sz]e|(?:for |know (?:this "
    r"|that )?)later|memo\b|permanently|(?:note|write|jot) (?:this |that |it )?down"
    r"|(?:store|save|note|keep) (?:please|for me)|(?<=please )(?:store|save|note|keep)"
    r"|for (?:all |any |the )?future|future (?:reference|ref|sessions?)|for next time|(?:on"
    r"|for the) (?:file|record)"
    r"|notes?(?= (?:to|for) (?:self|yourself|you|keep|later|the future|future|next time)\b)"
    r"|(?:your|my) notes|to keep|keep this|keep in mind|retain this|(?:store|save|log) this"
    r"|(?:make|take) (?:a )?note|merke? (?:es )?dir|notiere? dir|notier|halte? fest|(?:im"
    r"|in den) (?:hinter)?kopf"
    r"|(?:bitte|zum) merken|fur spater|fur die zukunft|retenir|retiens|note bien|memorise[rz]?"
    r"|a l['’]?esprit"
    r"|rappelle-toi"
    r"|recuerda|apunta|anot[ae]|toma nota|(?:tu|en) memoria|olvide|lembre(?:-se)?|lembra"
    r"|guard[ae] (?:isto|isso|esto|eso)"
    r"|em mente|a mente|ricorda(?:ti)?|segnati|prendi nota|onthoud|noteer|zapamietaj|zanotuj"
    r"|запомни|запиши)\b"
    r"(?:[ ,]+[^\W\d_][\w'’-]*){0,5} ?:(?=\s)"
)
_IN_PASSING: Final = (
    r"\b(?:for (?:future|later) ref(?:erence)?|for (?:your|my) memory|for next time"
    r"|(?:for|in) (?:the )?future sessions?|for the future|on file)"
    r"(?=[:,]| (?:i|we|the|our|please|dont|use|always|never)\b)"
    r"(?! i (?:guess|think))"
    r"|(?:as )?an? (?:fact|note) for\b|(?:\w+ )?things? to remember\b"
    r"|(?:just )?so you know,? for\b|you should know(?= (?:that|i)\b)"
    r"|fyi,? for (?:later|the future)\b|let it be (?:noted|remembered)(?= that\b)"
    r"|save (?:this |that |it )?(?:for (?:later|future)|somewhere)\b"
)
_NOT_TO_US: Final = (
    r"(?! to (?!(?:always|never)\b)(?:\w+ ){1,12}(?:as well|too|there|here)\b)"
    r"(?! (?:when|how|which|who|why|whether|last|me\b|kids|folks|children|where we|what (?:i|we)|if"
    r"|the (?:time|bug|issue|error|other day|last|context|discussion|value|result|scroll|state))\b)"
    r"(?! (?:is|was|are|or|and|button|checkbox|the user \w+ed)\b)(?!,? ?this (?:has|must|needs"
    r"|should)\b)"
)
_CLAUSE_START: Final = rf"(?:^|[(:;.!,–—-]\s*|\b(?:and|so|but|while i think of it,?)\s){LEAD}"

ASKS: Final = late(
    rf"{_CLAUSE_START}{_POLITE}(?:(?:{_REMEMBER})\b{_NOT_TO_US}|{_IN_PASSING}"
    rf"|(?:{_KEEP}) (?:the fact {_THAT}|{_SMALL}(?:for later|in your memory)\W+(?:{_THAT})?))"
    rf"|^{LEAD}{_POLITE}(?:store|save|write|jot|record|memori[sz]e|log"
    rf"|retain) (?:down )?that (?=(?:i|we|our|my|the|all|every|no|you|im|weve)\b)"
    r"|\b(?:you(?:ll)?(?: could| would| can| should| may| please| (?:will )?want to)?|you to"
    r"|and(?: please)?|please)"
    r" (?:remember(?:ed)?|keep (?:it |this )?in (?:mind|memory)|memori[sz]e|(?:note"
    r"|write) down|store),? that\b"
    rf"|^{LEAD}{_OPENING}"
)
ASKS_ELSEWHERE: Final = late(
    rf"^(?:\W|y |et |e |en )*{LEAD}(?:y |et |e |en )?{_POLITE}(?:(?:{_REMEMBER_ELSEWHERE})\b"
    rf"|(?!note that|save that|keep that|know that|add that|put that)(?:{_KEEP}) {_SMALL}"
    r"(?:dass|que|qu['’]|che|dat|ze|что)\b)"
    r"|\b(?:retiens-le|ricordalo|ricordatelo|recuerdalo|merk dir das(?: bitte)?|lembre disso)\W*$"
    r"|(?:请)?(?:记住|切记)(?!这个变量)|覚えて(?:おいて|ください)|忘れないで|기억해"
)
ASKS_WEAKLY: Final = late(
    rf"(?:^|, ){LEAD}(?:note that|for the record[,:]?|(?<=fyi )|(?<=fyi, )|(?<=fyi: )"
    rf"|(?:just )?so you know,)"
    r" ?(?=\w)"
)
# What is told in passing, and what is going on: nothing that lasts.
_OF_THE_MOMENT: Final = late(
    r"^(?:this|that|it|its|thats|(?:im|i am) \w+ing|ive|my|there|theres|you)\b"
    r"|^i (?!only|work|never|always|own|lead|maintain|prefer|use|know|took over|am an?|speak)"
    r"|\bat this point\b|, so (?:dont|do|use|please|lets|can|we can|you|just|no)\b"
    r"|\b(?:still|again|just|already|yet"
    r"|now|currently|today|running|failed|fails?|failing|broken?|passe[sd]|was|were|did"
    r"|screenshot|recording|is from|error|warning|line|build"
    r"|pipeline|branch|commit|test|tests|draft|can also be|also be)\b"
)
_TO_DO: Final = late(
    r"^(?:\W|please |and |also |always )*(?:remember|do not forget|dont forget) to\b"
    r"|^(?:\W|por favor |bitte )*(?:recuerda|no olvides|no te olvides de|lembre(?:-se)? de"
    r"|lembra de"
    r"|nao (?:se )?esqueca de|ricorda(?:ti)? di|non dimenticare di|noublie[sz]? pas de"
    r"|n'oublie[sz]? pas de|pense a) \w+(?:[aei]re?|ir|oir|dre|ser)\b"
    r"|^(?:\W|bitte )*(?:denke? d?a?ran|vergiss nicht),? .*\bzu \w+e?n\W*$"
    r"|^(?:noublie pas|no olvides|nao esqueca) (?:le|la|el|o|a|les|los) (?:[\w-]+ ?){1,4}\W*$"
)
_ON_OCCASION: Final = late(
    r"\b(?:always|never|every|each|all|any|when(?:ever)?|before|after|if|unless|instead of|not the"
    r"|rather than|in this (?:project|repo)|for (?:new|all|any)|siempre|cada|antes|despues|cuando"
    r"|toujours|chaque|avant|apres|quand|immer|jede[nrms]?|vor|bevor|nach|wenn|sempre|quando|ogni"
    r"|prima|dopo|altijd|elke)\b"
)
_AT_HAND: Final = late(
    r"\b(?:in|en|dans|na|nella|em|nesta|nessa) (?:dieser|esta|cette|essa|questa)? ?(?:funktion"
    r"|funcion|fonction"
    r"|funcao|funzione|schleife|bucle|boucle|laco|methode|metodo|clase|klasse|classe)\b|この変数|这个变量"
    r"|^(?:\W|bitte )*(?:merke? dir|retiens|toma nota|recuerda|prendi nota) (?:den|die|das|der"
    r"|la|le|el|del) .* (?:und|et|y|e) \w+"
    r"|\b(?:in|of|from|at|to|with) (?:the|this|that|your|a) (?:\w+ )?(?:block|function|loop"
    r"|method|class"
    r"|query|constructor|handler|variable|dict|constant|session|state|docstring|database)\b"
    r"|\b(?:dans|in|en|em|num) (?:une?r?"
    r"|einer?|una?|uma?)"
    r" variab\w+|\bwith \w+_\w+|\bthis (?:endpoint|function|is (?:only|just))\b"
    r"|\b(?:havent|hasnt|didnt|not) (?:\w+ ){1,4}yet\b|\bstill have to\b|\bstep \d+\b"
    r"|\b(?:first|second|third|last) (?:arg|argument|param\w*)\b"
    r"|\b(?:as|while) you (?:go|do|refactor)\b|\b(?:after|once|when) you(?:ve|re)\b"
)
# The same for what there is to do: the file or the form in front of both.
_THERE: Final = late(
    r"\b(?:in|of|from|at|to) (?:the|this|that) (?:\w+ )?(?:file|form|component|header|line"
    r"|list|import"
    r"|test|page|block|pr|commit)\b"
)

# What there is to do now, or for the thing in front of both: "before committing this".
_THIS_TIME: Final = late(
    r"\b(?:this|that|it|these|them|step \d+)\W*$"
    r"|\bbefore you (?:tag|push|commit|merge|go|start)\W*$"
)
_ALWAYS: Final = late(r"\b(?:always|never|every|each)\b")
# "For later: add pagination": a task that is put off.
_PUT_OFF: Final = late(r"^for later: (?:add|fix|implement|write|check|move|rename|clean)\b")


def asks_for_memory(sentence: str) -> bool:
    """Whether a sentence in `matchable` text asks for memory, in English."""
    return bool(ASKS.search(sentence)) and not _is_task(sentence)


def asks_elsewhere(sentence: str) -> bool:
    """The same in another language."""
    return bool(ASKS_ELSEWHERE.search(sentence)) and not _is_task(sentence)


def asks_weakly(sentence: str) -> bool:
    """Whether it only points something out that may last: "note that", "for the record"."""
    match = ASKS_WEAKLY.search(sentence)
    return match is not None and not _OF_THE_MOMENT.search(sentence[match.end() :])


def _is_task(sentence: str) -> bool:
    """Whether it reminds of something to do at once, in the lines in front of both."""
    if _AT_HAND.search(sentence) and not _ALWAYS.search(sentence):
        return True
    if _PUT_OFF.search(sentence):
        return True
    if not _TO_DO.search(sentence):
        return False
    if _THIS_TIME.search(sentence):
        return True
    return bool(_THERE.search(sentence)) or not _ON_OCCASION.search(sentence)


# Several rules ask about each sentence in turn.
_TEXTS_KEPT: Final = 64
_TEXT_REQUEST: Final = late(
    rf"^{LEAD}(?:{_OPENING}"
    rf"|{_POLITE}(?:{_REMEMBER}|{_REMEMBER_ELSEWHERE}|for (?:future|later) ref(?:erence)?"
    rf"|for the (?:future|record)|(?:for|in) (?:the )?future sessions?|for later|note"
    rf"|notes?(?: to self| for later))\b"
    rf"(?: (?:this|to(?= \w)|bitte|bien))?,?(?: {_THAT})?[,:]?"
    rf"|{_POLITE}(?:{_KEEP}) {_SMALL}{_THAT})\s*"
)


@remembered(_TEXTS_KEPT)
def without_request(text: str) -> str:
    """The text without the words at its start that only ask for memory."""
    match = _TEXT_REQUEST.match(plain(text))
    return text[match.end() :] if match else text
