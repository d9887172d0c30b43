"""How people say how they want the work done, as data; the tables work as in `statement_forms`.

A RULE is one by its own words. A LIKELY_RULE could as well say what a program shall do ("always
redirect to https"), so it counts only when something about working stands beside it: the people or
the process (WORKING). A DIRECTIVE is an order that turns into a rule by the reason given for it.
"""
# ruff: noqa: RUF001 - Cyrillic letters and wide punctuation are what these tables are about

import re

from memoryd.statements.forms import CLAUSE, FILLER, any_of, phrases, words

# "never mind", "never used it", "always fails": what happens, not what shall be done.
NOT_A_COMMAND = words("""
    mind seen used done been had got heard thought knew tried worked works saw met understood
    going gonna a an the my in on at good bad nice happy wrong right true false null there was
    were is are has will did does would could came ran went made wrote took know think remember
    understand wanted want felt fun hard easy possible enough
""")
COMMANDS_ALL_THE_SAME = words("alias embed feed seed proceed shed need ping bring")
ADVERB_RULE = re.compile(rf"{CLAUSE}(?:always|never(?: ever)?|only ever) (?P<verb>[\w-]+)")
# Verbs of those who write programs: "always use X" says how to work, without a word about work.
CRAFT = words("use prefer write")
CRAFT_WORDS_MAX = 12
CRAFT_OF_THE_MOMENT = re.compile(r"\bthen\b|\bth(?:is|ese) (?!repo|project|codebase|team|org)")
SUBJECT_RULE = re.compile(
    rf"(?:{CLAUSE}(?:we|you (?:should|must|have to|need to)|make sure (?:you|to)|be sure to"
    r"|i want you to)|(?:when|whenever|before|after|if|once) (?:you|u"
    r"|we) [^,.]{3,40}?),? (?:always|never|only) (?P<verb>[\w-]+)"
)

_GENERAL = phrases(r"""
    ever; again; any ?more; every; each; any; anything; anyone; whenever; unless; without
    every ?where; at all; in general; as a rule; by default; by hand; all the time; constantly
    all over; directly; straight; yourself; on your own; whatever
""")
# What an assistant does, as opposed to what the program does.
_HABITS = (
    r"(?:summar\w+|comments?|emojis?|apolog\w+|explain\w*|explanations?|ask\w*|commits?|committing"
    r"|push\w*|amend\w*|force|mock\w*|stub\w*|reformat\w*|refactor\w*|renam\w+|tests?|docs?"
    r"|docstrings?|branch\w*|main|master|prod|production|deps|dependenc\w+|replies|reply|answers?"
    r"|responses?|messages?|prs?|guess\w*|assum\w+|install\w*|delet\w+|markdown|lists?|bullet\w*"
    r"|jargon|abbreviat\w+|files|names|warnings|linter|formatter|plans?|preambles?|intros?|recaps?"
    r"|diffs?|disclaimers?|praise|flattery)"
)
WORKING = any_of(
    phrases(r"""
    commits?; committing; prs?; pull requests?; push\w*; merg\w+; rebas\w+; squash\w*; amend\w*
    force; branch\w*; main; master; prod; production; deploy\w*; migrations?; tests?; testing
    mocks?; linter; formatter; linting; comments?; docstrings?; type hints; emojis?; summary
    summaries; answers?; replies; reply; explain\w*; explanations?; reviews?; reviewers?; deps
    dependenc\w+; refactor\w*; renam\w+; changelog; ci; backups?; plans?; diffs?; lockfile
    spelling; english; readers; keys; secrets?; credentials; abstractions; documentation; docs; me
    my; you; your; yourself; us; someone; somebody; people; the team; legal; customers?; we get
    colleagues; in this (?:project|repo|codebase|team); in here; around here; i can; i read
    i review; i know; i skim; hand
    """)
)
_NOT_TO = (
    r"(?:dont|do not|stop|quit|no more|avoid|no need (?:to|for)|enough with|please not|spare me"
    r"|skip|leave out|cut)"
)
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
    (?:please|pls),? always$; always,? (?:please|pls)$; from now on; from here on
    stop (?:it )?with (?:the|all); leave [\w ]{3,20} to me
    thats (?:a|our) (?:team|house) (?:thing|rule|convention|style); from today on; going forward
    moving forward; henceforth; rule of thumb
    in (?:the )?future,? (?:please|pls|always|never|dont|do|use|ask|run|keep|put|write|leave|check)
    (?:please|pls|it|that|this)\b[^.?]{3,50} in (?:the )?future$; (?:all|every|any) future \w+
    next time,? (?:please |pls |just )?(?:ask|dont|do not|run|check|use|tell|show|start|leave|keep|
        write|read|try|wait)
    (?:ask|dont|run|check|use|tell|show|start|leave|keep|write|read|wait)\b[^.?]{3,60} next time
    i (?:hate|dislike|cant stand|dont like|dont want|like|love|appreciate) (?:it )?(?:when|that|
        how) (?:you|u)
    i(?:d| would) rather you; i want you to\b[^.?]*\b(?:before|first|every|always)
    i want to see\b[^.?]*\b(?:before|first|every)
    thats (?:exactly )?how (?:i|we) (?:want|like|do); its [\w.+-]+ (?:in |around )?here
    we use [\w.+-]+ (?:here |in here )?,? ?(?:not|instead of|never) \w+
    (?:thats )?not how we do (?:it|this|that|things); (?:around|in) here we
    rule for (?:this|our|the); in this (?:repo|project|team|codebase|house) we; no exceptions
    (?:our|the|a|one|my) (?:house |team |hard |golden |strict )?(?:rule|convention|
        policy) (?:here |is|for)
    (?:ask|check with|tell|show|ping|consult) me (?:first|before); run it by me
    without (?:asking|telling|checking with) me; ask before (?!\w+ing (?:this|that|it)\b)\w+ing
    (?:when|if) in doubt,? \w+; if (?:youre|you are) (?:not sure|unsure|guessing)
    (?:leave|keep) [\w ]+ (?:alone|untouched|as (?:it|they) (?:is|are)) unless
    (?:is|are) off limits; hands off
    you (?:keep|always|constantly|tend to) \w+\b[^.?]*\b(?:stop|dont|please|pls|enough|annoying|
        instead)
    stay like (?:that|this); (?:keep|carry on) doing (?:that|this|it)
    whatever you do,? (?:dont|never); i dont (?:want|need) (?:any|more|new|to see|you to|\w+ that)
    (?:every|each) (?:single )?time you \w+
    (?:here|in this team|on this team|in our team),? we (?:always|never|only|dont)
    """),
    phrases(rf"""
    (?:{_TO_DO})\b[^.?]{{3,60}} (?:when|whenever|before|after|if) you {_NOT_ONE_OFF}\w+(?! (?:the|
        this|that|it)\b)
    (?:do|run|ask|use|add|write|show|put|check|include|give|send|tell)\b[^.?]{{3,80}} (?:every|
        each) (?:single )?time
    (?:answer|reply|respond|write|talk|explain)(?: \w+){{0,4}} in {_TONGUE}(?: please| pls|,|$)
    """),
    rf"\b(?:can|could|would|will) (?:you|u) (?:please |pls |just |maybe |also )*(?:stop|quit|not"
    rf"|never|avoid)\b[^?]*(?:{_GENERAL}|ing\b)",
    rf"^(?:{FILLER}[,:]?\s+)*why (?:do|are) you (?:keep|always|still|insist)\b",
    rf"{CLAUSE}no [\w -]+ (?:without|unless|until) (?:asking|my|approval|review|permission|ok|i"
    rf"|me|checking|telling)\b",
    rf"{CLAUSE}(?:whenever|every ?time|each time|any ?time) (?:you|u|we)\b",
    rf"{CLAUSE}(?:when|if|before|after|once) you {_NOT_ONE_OFF}\w+(?: (?!the\b|this\b|that\b"
    rf"|it\b)\w+){{0,3}},? (?:please |pls |then )?{_TO_DO}\b",
    r"\b(?:in|on) (?:this|our) (?:team|repo|project|codebase|company|org|shop|house"
    r"|lab)\b[^.?]*(?:, not|\binstead\b|\bnever\b|\balways\b|\bonly\b)|\bnot in (?:this"
    r"|our) (?:team|repo|project|codebase)\b",
    rf"{CLAUSE}one (?:\w+ )?per (?:pr|commit|branch|file|change|concern|fix|feature)\b"
    rf"|{CLAUSE}one thing at a time\b",
    # German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian, Japanese, Chinese
    phrases(r"""
    wir \w+ (?:nie|immer|nur) \w+; ab jetzt; ab sofort; von nun an; kunftig; in zukunft
    (?:bitte|merk dir)\b[^.?]*\b(?:immer|nie|niemals|nur noch|keine|nicht mehr|stets)
    ich mag keine\b[^.?]*\bbitte; pas de \w+[^.?]*\b(?:stp|svp|sil te plait|sil vous plait|merci)
    a partir de maintenant; desormais; dorenavant; ne \w+ (?:plus )?jamais; on (?:ne )?\w+ jamais
    (?:reponds|ecris|utilise|mets|fais|lance|pose|demande)(?:-\w+)? toujours
    (?:toujours|jamais)\b[^.?]*\b(?:sil te plait|stp|svp|sil vous plait|merci)
    en este (?:equipo|proyecto|repo)\b[^.?]*\b(?:siempre|nunca|no); a partir de ahora
    de ahora en adelante; en adelante; (?:usa|escribe|haz|pon|responde|pregunta|ejecuta) siempre
    (?:siempre|nunca)\b[^.?]*\bpor favor; por favor,? (?:siempre|nunca) \w+; no se \w+ nunca
    nunca se \w+; no (?:vuelvas a|uses|hagas|toques|borres) \w+[^.?]*\b(?:nunca|mas|sin)
    a partir de agora; de agora em diante; daqui (?:para|pra) a? ?frente; doravante
    (?:usa|escreve|escreva|use|faz|faca|responde|responda) sempre; dora in poi; dora in avanti
    da (?:adesso|ora) in poi; (?:scrivi|usa|fai|rispondi|chiedi) sempre; non \w+ mai; vanaf nu
    voortaan; (?:graag|alsjeblieft|aub)\b[^.?]*\b(?:altijd|nooit|geen)
    (?:altijd|nooit)\b[^.?]*\b(?:graag|alsjeblieft|aub)
    (?:prosze|bitte|por favor|per favore|alsjeblieft|пожалуйста),? (?:nie|nicht|no|nao|non|niet|
        не) \w+[^.?]*\b(?:bez|ohne|sin|sem|senza|zonder|без|nigdy|nie)
    od teraz; od dzis; nigdy nie \w+(?:uj|aj|ij); с этого момента; отныне; впредь; теперь всегда
    (?:пиши|используй|делай) всегда
    """),
    r"^(?:bitte |por favor,? |porfa,? |prosze |пожалуйста,? )?(?:immer|niemals|toujours|jamais"
    r"|siempre|nunca|sempre|altijd|nooit|zawsze|nigdy|всегда|никогда) \w+"
    r"|^ne \w+(?:-\w+)? (?:plus|jamais)\b",
    r"\b(?:immer|nie|niemals) \w+en(?:$|[,.!])|今後は?|これからは|以后"
    r"|从现在(?:起|开始)|今后|总是|始终|永远不要|不要再|一律|都用|务必"
    r"|(?:必ず|いつも|常に|絶対に?|決して).*(?:ください|して|しないで|こと|下さい)",
)
LIKELY_RULE = any_of(
    r"\b(?:never|always|only) (?:goes?|belongs?|appears?|ends? up|stays?) (?:in|into|on|with)\b",
    rf"\b(?:{_HABITS}|you|we|secrets?|credentials|passwords?|migrations?|deploy\w*|releases?"
    rf"|changes|everything)"
    r" (?:\w+ ){0,3}(?:must|should|shall|has to|have to|needs? to) (?:always|never)\b",
    rf"{CLAUSE}{_NOT_TO} (?!worry|forget|know|think|care|mind|the \w+ server)[^.?!]*{_GENERAL}",
    rf"{CLAUSE}{_NOT_TO} (?:\w+ ){{0,3}}{_HABITS}\b[^.?!]*(?:,|\b(?:because|since|bc|cause|cuz"
    rf"|please|pls|so)\b)",
    rf"{CLAUSE}(?:nothing|nobody|no one) (?:gets?|is|goes|should|merges|pushes"
    rf"|deploys)\b[^.]*\b(?:without|unless|until)\b",
    rf"{CLAUSE}no [\w -]{{2,40}} in (?:the |our |my )?(?:\w+ )?(?:commits?|commit messages?"
    rf"|messages?|prs?|comments?|tests?"
    r"|replies|answers|reviews|docs|code|titles|(?:branch|variable|file|function|class) names?"
    r"|names|identifiers|migrations)\b",
    rf"{CLAUSE}(?:prefer|default to|favou?r) (?!the\b|this\b|that\b)\w+",
    rf"{CLAUSE}keep (?:your |the |all |my )?(?:answers?|replies|responses|commits?|prs?"
    rf"|explanations?|comments|diffs?"
    r"|summaries) \w+",
    rf"{CLAUSE}use [\w. -]+ (?:instead of|rather than|not|over) [\w. -]+(?: (?:here"
    rf"|in this (?:project|repo|codebase)|in here)|,)",
    r"\b(?:i|we) (?:prefer|would rather|rather have|want|expect|need|like)\b[^.?]*\b(?:every time"
    r"|each time|always|first|instead of|rather than|over|before (?:you|any|anything))\b|\bi(?:d"
    r"| would) rather (?:have|see|get|wait)\b[^.?]* than\b",
    rf"{CLAUSE}(?:before|after|once|when|if) (?:you (?:ever )?\w+ (?:a|an|any|anything|some|new"
    rf"|more)\b|anything|any|a|an|every|something|someone|somebody|there (?:is|are)"
    rf"|theres)\b[^.?]*\b{_TO_DO}\b",
    rf"{CLAUSE}(?:anything|everything|any \w+|all \w+|every \w+) (?:that )?(?:touching|touches"
    rf"|involving|in|under|going|goes"
    r"|that)\b[^.?]*\b(?:needs?|must|has to|have to|goes through|gets|requires?)\b",
    rf"{CLAUSE}(?:less|fewer) \w+,? (?:and )?more \w+",
)

# --- an order, its reason, a correction -------------------------------------------------------

DIRECTIVE = re.compile(
    rf"(?:^(?:{FILLER}[,:!.]*\s+)*(?=no )|{CLAUSE}(?!no ))(?P<verb>dont|do not|stop (?=\w+ing)"
    rf"|quit (?=\w+ing)|no"
    r"|we dont|keep|use|give me|tell me|show me|answer|reply|explain|let|leave|ask|write|put|talk"
    r"|call|open|avoid|skip|stick to|link|cite|mention|include|treat|assume|stay away from"
    r"|refer to|spell out)\b ?(?P<what>[^,.;:!?]+)"
)
STYLE_WISH = re.compile(
    rf"^(?:{FILLER}[,:]?\s+)*(?P<what>(?:[\w-]+ ){{0,3}}{_HABITS} [\w ]{{0,40}})\b(?:please|pls)\b"
    rf"|\bso (?P<that>(?:[\w-]+ ){{0,2}}{_HABITS}) (?:please|pls)\b"
)
TASK_VERBS = words("use write put open call let leave include link keep")
# "the", "this", "it": something at hand, not a kind of thing.
DEFINITE = re.compile(
    r"\b(?:the|this(?! (?:repo|project|team|codebase)\b)|that|it|its|these|those|them|his|her)\b"
    r"|[`#]|\w\(\)|\w_\w"
)
STARTS_A_CORRECTION = any_of(
    r"^(?:no|nope|nah|ugh|stop|argh|again|dont|wrong|why|please dont|pls dont|we had this|ffs|omg"
    r"|seriously|hey|you (?:again|keep|just|didnt|still|forgot|always|left)|i (?:said|told"
    r"|asked))\b",
    phrases(
        "i told you; how many times; second time; third time; every single time; (?:as"
        "|like) i said; yet again"
    ),
)
CORRECTING_FACT = re.compile(
    r"\bwe (?:always |only |never )?[\w-]+(?: [\w-]+){0,4} (?:here|in this (?:repo|team|project))\b"
)
HARM = any_of(
    phrases(r"""
    burned; burnt; bit us; bitten; cost (?:me|us|him|her|them); lost; broke; breaks; wiped; hid
    hides; crashed; outage; incident; took \w+(?: \w+)? down; (?:is|was|went) down; corrupted
    leaked; deleted; complain\w*; hates?; chokes?; trips over; rots?; useless; painful; gets? lost
    slows?; unreadable; confus\w+; wasted; nightmare; hell; pain
    too (?:many|much|long|slow|noisy|expensive); expensive; i skim; overwritten; illegal
    """)
)

# --- praise -----------------------------------------------------------------------------------

APPROVES = re.compile(
    r"^(?:oh |ok |okay |haha? |and )*"
    + phrases(r"""
    yes; yep; yeah; yup; ya; perfect; exactly; great; nice; good; love; awesome; excellent; right
    correct; spot on; thats; this is; this; well done; agreed; glad; thanks; thank you; thx; smart
    lovely; brilliant; ja; genau; perfekt; super; oui; parfait; exactement; bien; si; sim
    perfecto; exacto; exato; perfeito; perfetto; esatto; bravo; precies; top; prima; goed; tak
    dokladnie; swietnie; да; отлично; именно; супер
    """)
    + "|^(?:完璧|いいね|その通り|很好|对|没错)"
)
# The sign that approval is meant beyond this once.
ENDORSES = any_of(
    phrases(r"""
    (?:good|right|smart|great|correct|nice|best) (?:call|choice|move|decision|instinct|approach|
        way|thinking|size|touch|level|amount)
    exactly (?:right|how|what|the way|like|the kind)
    (?:keep|carry on) (?:doing|it|that|this|them)(?: up| like)?; always like (?:that|this)
    from now on; every time; each time; as a rule; stay like (?:that|this)
    (?:is|are) how (?:you|i|we); beats; (?:is|are|\d+x|way|much|far|so much) better than
    rather than; instead of; over \w+ing; is worth; good thing you
    (?:was|is|were) (?:smart|wise|the way); matters more; wins
    (?:was|is|were) (?:exactly |absolutely |totally )?right; glad you
    thanks for (?:asking|checking|stopping|keeping|not|leaving|waiting|flagging|saying)
    how (?:i|we) (?:like|want|do|prefer); the way (?:i|we|to); more of (?:this|that|these)
    like that (?:pls|please|from); do (?:that|this|it) (?:again|more often); genau so
    so (?:machen|mag|will); weiter so; (?:gute|richtige) entscheidung; bonne (?:decision|idee)
    cest comme ca; continue comme ca; buena (?:decision|idea); sigue asi
    asi (?:me gusta|lo quiero); boa (?:decisao|ideia); continua (?:assim|cosi)
    buona (?:scelta|idea); goede keuze; ga zo door; dobra decyzja; правильн\w+ решени\w+
    так и делай
    """)
)
# Praise that needs no word of approval before it.
LASTING_PRAISE = any_of(
    phrases(r"""
    keep (?:it|them|this|that|these) (?:like|up|coming|that way|this way)
    more of (?:this|that|these); stay like (?:this|that)
    the right (?:call|move|size|choice|decision|instinct); is what id have done; nice touch
    keep (?:that|this|it) in (?:every|all|each); thats the [\w ]{3,30} i (?:want|like|need|expect)
    thats (?:exactly )?(?:how|what) (?:i|id|we) (?:want|would|have|like)
    keep doing (?:that|this|it)
    do (?:that|this|one|it) (?:again|whenever|every|more often|for (?:every|all|any|each))
    """)
)
