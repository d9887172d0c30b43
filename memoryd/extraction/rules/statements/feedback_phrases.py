"""How people say that they mean it as a rule, and how they praise, as data.

The tables work as in `phrases`. A RULE is one by its own words; `orders` judges what else may be.
"""
# ruff: noqa: RUF001 - Cyrillic letters and wide punctuation are what these tables are about

import re

from memoryd.extraction.rules.statements.phrases import CLAUSE, FILLER, any_of, phrases

_TO_DO = (
    r"(?:show|ask|run|tell|put|use|write|add|check|make|update|let|get|wait|ping|keep|give|include"
    r"|leave|mention|link|say|regenerate|dont|never|always)"
)
_NOT_ONE_OFF = r"(?!(?:are|re|can|get|have|done|finish|want|need|like|think)\b)"
_TONGUE = (
    r"(?:plain )?(?:english|german|french|spanish|russian|japanese|italian|dutch|portuguese|polish"
    r"|chinese)"
)

RULE = any_of(
    phrases(r"""
    always,? please$; from now on; from here on; stop (?:it )?with (?:the|all)
    leave [\w ]{3,20} to me
    thats (?:a|our|the) (?:team|house) (?:thing|rule|convention|style)
    from today on; going forward; moving forward; henceforth; rule of thumb
    in (?:the )?future,? (?:please|always|never|dont|do|use|ask|run|keep|put|write|leave|check)
    (?:please|it|that|this)\b[^.?]{3,50} in (?:the )?future$
    (?:all|every|any) future \w+
    next time,? (?:please |just )*(?!please|just|i|we|it|its|he|she|they|the|this|that|a|an|
        you (?:see|are)|around|maybe|for|is|was)\w+
    ^[\w -]{3,40} next time(?! (?:i|we|it|the|you)\b)
    \w+ or nothing; no (?:\w+ ){1,3}no \w+$; (?:has|have) no (?:place|business) in
    (?:less|fewer) (?:\w+ing|prose|theory|talk|text|words|comments|explanations?|jargon|
        magic),? (?:and )?more \w+
    (?:doesnt|dont|does not|do not) belong in; hat (?:\w+ ){0,4}nichts (?:verloren|zu suchen)
    i(?:d| would) rather you; make it a habit(?: to)?; (?:bugs|annoys|irritates) me; drives me \w+
    pet peeve
    (?:it would|itd) (?:help|be (?:great|good|useful|nice))[^.?]* if you [^.?]*\b(?:whenever|every|
        each|always|before|when)\b[^.?]*
    no more (?!than|time|left|of|errors|data|rows|items|pages|results|room|space)(?=\w)
    (?:please|can|could|would)? ?(?:do not|dont) ask me (?:about|for|to|whether|if)
    thats how (?:we|i) (?:roll|work|do|like|want|handle)
    (?:ask|dont|run|check|use|tell|show|start|leave|keep|write|read|wait)\b[^.?]{3,60} next time
    i (?:hate|dislike|cant stand|dont like|dont want|like|love|appreciate) (?:it )?(?:when|that|
        how) you
    i want you to\b[^.?]*\b(?:before|first|every|always)
    i want to see\b[^.?]*\b(?:before|first|every); its [\w.+-]+ (?:in |around )?here
    we use [\w.+-]+ (?:here |in here )?,? ?(?:not|instead of|never) \w+
    (?:thats )?not how we do (?:it|this|that|things)
    (?:around|in) here we; rule for (?:this|our|the)
    in this (?:repo|project|team|codebase|house) we
    (?:our|the|one|my) (?:house |team |hard |golden |strict )?(?:rule|convention|policy) (?:here |
        is|for)
    (?:ask|check with|tell|show|ping|consult) me (?:first|before)
    run it by me; ask before (?!\w+ing (?:this|that|it)\b)\w+ing; (?:when|if) in doubt,? \w+
    if (?:youre|you are) (?:not sure|unsure|guessing)
    (?:leave|keep) [\w ]+ (?:alone|untouched|as (?:it|they) (?:is|are)) unless
    (?:is|are) off limits; hands off
    you (?:keep|always|constantly|tend to) \w+\b[^.?]*\b(?:stop|dont|please|enough|annoying|instead)
    (?:keep|carry on) doing (?:that|this|it); whatever you do,? (?:dont|never)
    i dont (?:want|need) (?:any|more|new|to see|you to|\w+ that)
    (?:here|in this team|on this team|in our team),? we (?:always|never|only|dont)
    """),
    phrases(rf"""
    (?:{_TO_DO})\b[^.?]{{3,60}} (?:when|whenever|before|after|if) you {_NOT_ONE_OFF}\w+(?! (?:the|
        this|that|it)\b)
    (?:answer|reply|respond|write|talk|explain)(?: \w+){{0,4}} in {_TONGUE}(?: please|,|$)
    """),
    rf"^(?:{FILLER}[,:]?\s+)*why (?:do|are) you (?:keep|always|still|insist)\b",
    rf"{CLAUSE}no [\w -]+ (?:without|unless|until) (?:asking|my|approval|review|permission|ok|i"
    rf"|me|checking|telling)\b",
    rf"{CLAUSE}(?:when|if|before|after|once) you {_NOT_ONE_OFF}\w+(?: (?!the\b|this\b|that\b"
    rf"|it\b)\w+){{0,3}},? (?:please |then )?{_TO_DO}\b",
    r"\b(?:in|on) (?:this|our) (?:team|repo|project|codebase|company|org|shop|house"
    r"|lab)\b[^.?]*(?:, not|\binstead\b|\bnever\b|\balways\b|\bonly\b)|\bnot in (?:this"
    r"|our) (?:team|repo|project|codebase)\b",
    rf"{CLAUSE}(?:max|at most|one|two|three|\d+) [\w ]{{0,25}}per (?:pr|commit|branch|file|change"
    rf"|concern|fix|feature|step|message|answer|reply)\b|{CLAUSE}one thing at a time\b",
    # German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian, Japanese, Chinese
    phrases(r"""
    wir \w+ (?:nie|immer|nur) \w+; ab jetzt; ab sofort; von nun an; kunftig; in zukunft
    (?:bitte|merk dir)\b[^.?]*\b(?:immer|nie|niemals|nur noch|nur (?:da|dort|wenn|wo|falls)|keine|
        nicht mehr|stets)
    ich mag keine\b[^.?]*\bbitte
    pas de \w+[^.?]*\b(?:stp|svp|sil te plait|sil vous plait|merci)
    a partir de maintenant; desormais; dorenavant; ne \w+ (?:plus )?jamais; on (?:ne )?\w+ jamais
    (?:reponds|ecris|utilise|mets|fais|lance|pose|demande)(?:-\w+)? toujours
    en este (?:equipo|proyecto|repo)\b[^.?]*\b(?:siempre|nunca|no)
    a partir de ahora; de ahora en adelante; en adelante
    (?:usa|escribe|haz|pon|responde|pregunta|ejecuta) siempre
    no se \w+ nunca; nunca se \w+
    no (?:vuelvas a|uses|hagas|toques|borres) \w+[^.?]*\b(?:nunca|mas|sin)
    a partir de agora; de agora em diante; daqui (?:para|pra) a? ?frente; doravante
    (?:usa|escreve|escreva|use|faz|faca|responde|responda) sempre
    dora in poi; dora in avanti; da (?:adesso|ora) in poi; (?:scrivi|usa|fai|rispondi|chiedi) sempre
    non \w+ mai; vanaf nu; voortaan
    (?:graag|alsjeblieft|aub)\b[^.?]*\b(?:altijd|nooit|geen)
    (?:altijd|nooit)\b[^.?]*\b(?:graag|alsjeblieft|aub)
    (?:prosze|bitte|por favor|per favore|alsjeblieft|пожалуйста),? (?:nie|nicht|no|nao|non|niet|
        не) \w+[^.?]*\b(?:bez|ohne|sin|sem|senza|zonder|без|nigdy|nie)
    od teraz; od dzis; с этого момента; отныне; впредь; теперь всегда
    (?:пиши|используй|делай) всегда; hor (?:bitte )?auf(?: damit)?; lass das\b[^.?]*
    arrete (?:de|avec) \w+
    pas besoin de \w+[^.?]*\b(?:chaque fois|toujours)
    (?:a chaque fois|jedes ?mal|cada vez|ogni volta|elke keer|za kazdym razem|
        каждый раз)\b[^.?]*\b(?:que
    tu|wenn du|que (?:toques|cambies|haces|hagas|mexer)|che (?:tocchi|cambi)|als je|kiedy|когда ты)
    (?:deja|para|pare) de \w+r\w*; smetti(?:la)? di \w+; hou op met; stop met \w+; przestan \w+
    (?:preguntame|frag mich|demande-moi|chiedimi|pergunta-me|vraag me|zapytaj mnie|
        спроси\w* меня)\b[^.?]*
    (?:ohne|sans|sin|sem|senza|zonder|bez|без) (?:mein\w*|mon|ma|mi|meu|minha|mio|mia|mijn|moj\w*|
        мо\w+|zu fragen|demander|preguntar|perguntar|chiedere|te vragen|pytania|спрос\w+)
    (?:хватит|перестань|прекрати|не надо) \w+ть; (?:^|[,; ] ?)nada de \w+
    niente \w+ (?:nei|nelle|in)
    (?:antwort|schreib|sprich|repond|ecri|parle|contest|respond|habla|escrib|rispond|scriv|parla|
        antwoord|schrijf|odpow|pisz|отвеч|пиш)\w*\b[^.?]*\b(?:(?:auf|en|em|in|po|in het|на|
        по)[ -]?)?(?:deutsch|englisch|francais|anglais|espanol|ingles|portugues|italiano|inglese|
        nederlands|engels|polsku|angielsku|русском|английском|русски|английски)
    """),
    r"^(?!.*\b(?:error|null|fehler|erreur|falla|ошибк\w*|возвращает|[45]\d\d)\b)(?:bitte "
    r"|por favor,? |porfa,? |prosze |пожалуйста,? )?(?:immer|niemals|toujours|jamais|siempre|nunca"
    r"|sempre|altijd|nooit|zawsze|nigdy|всегда|никогда) (?!(?:a|o|la|el|le|les|los|die|das|de|het"
    r"|il|i|os|as|noch|nog|vi|he)\b)\w+|^(?!.*\b(?:error|null|fehler|erreur|falla|ошибк\w*"
    r"|возвращает|[45]\d\d)\b)(?!(?:cest|est|ist|das|es|e|is|ca|il|elle|on|je|ich|io|yo|eu|questo"
    r"|isso|esto|to|это|он|она|falla|da)\b)[^\W\d_]+(?:-\w+)? (?:immer|toujours|siempre|sempre"
    r"|altijd|zawsze|всегда) (?!(?:noch|nog)\b)\w+ \w+ \w+|^ne \w+(?:-\w+)? (?:plus|jamais)\b",
    r"\b(?:immer|nie|niemals) \w+en(?:$|[,.!])|今後は?|これからは|以后"
    r"|从现在(?:起|开始)|今后|总是|始终|永远不要|不要再|一律|都用|务必"
    r"|(?:必ず|いつも|常に|絶対に?|決して|毎回).*(?:ください|して|しないで|こと|下さい|お願い)"
    r"|(?:앞으로|이제부터|항상|절대|반드시|매번).*(?:세요|줘|마|말고|말아|십시오|할 것|해라)"
    r"|每次.*(?:都|要|请)",
)
CORRECTING_FACT = re.compile(
    r"\bwe (?:always |only |never )?[\w-]+(?: [\w-]+){0,4} (?:here|in this (?:repo|team|project))\b"
)

# --- praise -----------------------------------------------------------------------------------

APPROVES = re.compile(
    r"^(?:oh |ok |okay |haha? |and )*"
    + phrases(r"""
    you did (?:well|right|good); yes; yep; yeah; yup; ya; perfect; exactly; great; nice; good; love
    awesome; excellent; right; correct; spot on; thats; this is; this; well done; agreed; glad
    thanks; thank you; thx; smart; lovely; brilliant; ja; genau; perfekt; super; oui; parfait
    exactement; bien; si; sim; perfecto; exacto; exato; perfeito; perfetto; esatto; bravo; precies
    top; prima; goed; tak; dokladnie; swietnie; да; отлично; именно; супер
    """)
    + "|^(?:完璧|いいね|その通り|很好|对|没错)"
)
# The sign that approval is meant beyond this once.
ENDORSES = any_of(
    phrases(r"""
    (?:good|right|smart|great|correct|nice|best) (?:call|choice|move|decision|instinct|approach|way|
        thinking|size|touch|level|amount)
    did (?:well|right|good) to; (?:right|good|smart|wise) to \w+
    exactly (?:right|how|what|the way|like|the kind)
    (?:keep|carry on) (?:doing|it|that|this|them)(?: up| like)?
    always like (?:that|this); from now on; every time; each time; as a rule
    stay like (?:that|this); (?:is|are) how (?:you|i|we); beats
    (?:is|are|\d+x|way|much|far|so much) better than
    rather than; instead of
    \w+ over (?!the|it|this|that|there|and|to|a)\w+
    is worth; good thing you; (?:was|is|were) (?:smart|wise|the way); matters more; wins
    (?:was|is|were) (?:exactly |absolutely |totally )?right
    glad you
    thanks for (?:asking|checking|stopping|keeping|not|leaving|waiting|flagging|saying)
    how (?:i|we) (?:like|want|do|prefer); the way (?:i|we|to); more of (?:this|that|these)
    like that (?:please|from); do (?:that|this|it) (?:again|more often); genau so
    so (?:machen|mag|will); weiter so; (?:gute|richtige) entscheidung; bonne (?:decision|idee)
    cest comme ca; continue comme ca; buena (?:decision|idea); sigue asi; asi (?:me gusta|lo quiero)
    boa (?:decisao|ideia); continua (?:assim|cosi); buona (?:scelta|idea); goede keuze; ga zo door
    dobra decyzja; правильн\w+ решени\w+; так и делай
    """)
)
# Praise that needs no word of approval before it.
LASTING_PRAISE = any_of(
    phrases(r"""
    (?:keep|stay)(?: (?:it|them|this|that|these))? (?:like|up|coming|that way|this way)
    more of (?:this|that|these|it)
    one of (?:those|these) (?:per|for (?:every|each)|whenever|with every)
    thats what i (?:expect|need); stay like (?:this|that)
    the right (?:call|move|size|choice|decision|instinct)
    is what id have done; nice touch; keep (?:that|this|it) in (?:every|all|each)
    thats the [\w ]{3,30} i (?:want|like|need|expect)
    thats (?:exactly )?(?:how|what) (?:i|id|we) (?:want|would|have|like)
    keep doing (?:that|this|it); keep at it
    do (?:that|this|one|it) (?:again|whenever|every|more often|like (?:that|this)|for (?:every|all|
        any|each))
    more like (?:this|that|these); always (?:\w+ )?like (?:this|that); thats the way(?: to go)?
    do (?:that|this|it) (?:for|with|on) (?!me|now|the|this|that|it|us)\w+
    (?:keep|leave|do|write) (?!.*look)(?:\w+ ){1,3}like (?:that|this|these)
    ^(?:not )?\w+ing [^.]{3,50} (?:was|is) (?:exactly |absolutely )?(?:right|smart|good|wise|great|
        perfect)
    make (?:that|this|it) (?:the |a |our )?(?:standard|default|habit|rule|norm)
    keep (?:that|this|it) (?:up|for (?:every|all|any|each))
    how it should be done
    """)
)
