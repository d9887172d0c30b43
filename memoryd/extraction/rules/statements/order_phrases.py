"""How people phrase orders, and the signs of lasting ones, as data for `orders`.

The tables work as in `phrases`. The patterns have groups: the `verb`, `what` is ordered, and the
`condition` that may precede it.
"""

import re

from memoryd.extraction.rules.statements import phrases as forms
from memoryd.extraction.rules.statements.phrases import CLAUSE, FILLER, any_of, phrases, words

Form = re.Pattern[str]

_CONDUCT = phrases(r"""
    ask; argue; push back; cite; mention; link; prefer; treat; assume; wait; spell; say; talk
    attach; include; follow; report; regenerate; let(?! me\b| us\b); warn; respect; stay; default to
    consult; be; quote; back up; agree on; squash; rebase; amend; mock; nest; abbreviate; guess
    double-? ?check; verify; measure; favou?r; page; ping; paste; trust; touch
""")
# A clause that begins with one of these tells or asks.
_NO_VERB = (
    r"(?:the|an?|i|im|ive|id|we|were|weve|it|its|this|that|thats|these|those|there|theres|he|she"
    r"|they|you|your|my|our|his|her|their|in|on|at|for|from|to|of|with|by|if|when|why|how|what"
    r"|where|who|which|is|are|was|has|have|had|does|did|will|would|can|could|should|not|no|nobody"
    r"|someone|everyone|everything|nothing|some|most|many|maybe|always|never|still|even|same|null"
    r"|empty|true|false|the)\b"
)
_IF = (
    r"\b(?P<condition>(?:when(?:ever)?|if|before|after|once|every ?time|each time|any ?time) "
    r"(?:[\w'/-]+ ){2,12}?)"
)
_WE = (
    r"(?:i want you to |(?:you|we) (?:should|must|can|have to|need to) |make sure (?:you|to) "
    r"|be sure to )"
)
_START = (
    rf"(?:{CLAUSE}|{_IF}|^(?:{FILLER}[,:]?\s+)*(?:can|could|would|will) (?:you|we) "
    r"(?:please |just |maybe |also |do me a favou?r and )*)"
    r"(?:(?:from (?:now|here) on|going forward|in (?:the )?future|next time),? (?:please )?)?"
)
FORBIDS = re.compile(
    rf"{_START}{_WE}?(?:(?:we|you) )?"
    r"(?P<verb>dont(?: ever)?|do not|never(?: ever)?|stop|quit|avoid|skip|spare me|leave out|cut"
    r"|drop|no need to|enough with|refrain from|stay away from|please not|no more"
    rf"|no(?! (?:{FILLER}|thats|its|that|i|you|the|it|he|she|we|need|me|te|se|lo|hay|es|va"
    rf"|funciona|compila|puedo|entiendo|\w+ (?:may|can|should|must))\b)"
    r"|keine?[nmrs]?|nicht mehr|pas de|ne(?= \w+ (?:pas|plus)\b)|no(?= (?:me |le |lo |la "
    r"|nos )?\w+(?:es|as)\b)|nao|geen|niente|non(?= \w+(?:are|ere|ire)\b)|nie(?= \w+(?:aj|uj|ij"
    r"|ej)\b)|не(?= \w+(?:й|йте|ь|ьте)\b)|(?:evite|evitez|evita|evitar|vermeide|vermijd|unikaj"
    r"|избегай))\b (?P<what>[^,.;:!?(]+)"
)
ASKS = re.compile(
    rf"{_START}(?:feel free to )?{_WE}?(?:(?:we )?(?:always|only ever|only"
    rf"|just) )?(?P<verb>{forms.TASK}|{_CONDUCT}|(?<=always )(?:with|in|as|by|before|via|through)"
    rf"|(?<=always )(?!{_NO_VERB})[a-z]+(?<!ed)(?<!ing)(?<!s)"
    rf"|(?!{_NO_VERB})[a-z]+(?= [^,.;:!?]{{3,60}} (?:before|when|whenever|after|each time"
    rf"|every time) you [a-z]))\b"
    r"(?P<what>[^,.;:!?(]*)"
)
WANTS = re.compile(
    r"\b(?:i|we)(?:d| would)? (?:(?:always|really|much|strongly|usually"
    r"|generally) )*(?P<verb>prefer|want|like|love|expect|hate|dislike|cant stand|dont (?:like"
    r"|want)|rather (?:have|see|get|wait)|rather \w+(?=.* than)|appreciate)\b (?P<what>[^,.;:!?(]+)"
)
# Something to have, without a verb: "british spelling please".
WISHES = re.compile(
    rf"(?:^(?:{FILLER}[,:.!]*\s+)*|\bso )(?!{forms.TASK}|{FILLER}\b)"
    r"(?P<what>(?!only|just)[\w./+-]+(?: [\w./+-]+){0,8}?),?(?P<verb>) (?:(?:please|svp|stp|bitte"
    r"|por favor|per favore|aub|graag|prosze|пожалуйста)\b|only(?: please)?(?:$|,))"
)
# How a thing of our work is done, told as if it were a fact.
CUSTOMS = re.compile(
    rf"{CLAUSE}(?!(?:the|this|these|those|his|her|their|your|my|its) )(?P<what>(?:\w+s(?= (?:go"
    rf"|belong|stay|come)"
    r"\b)|(?:all |our |new )?(?:\w+ )?(?:commits?|branch(?:es)?|prs?|tests?|comments?|docs?"
    r"|docstrings?|migrations?|(?:commit|table|variable|file|class|branch|function"
    r"|test) (?:\w+ )?(?:names?|messages?|subjects?|titles?|bodies)|messages|titles|names|code"
    r"|patches|refactors?|releases|fixes|changes|logs?|timestamps|dates|ids"
    r"|errors?))) (?P<verb>should|must|have to|need to|starts?|ends?|goes|go|comes?|stays?|stick"
    r"|sticks|belongs?|follows?|gets?|are written|is written|are named|read) (?!to \w+ing)"
)
# What holds for all or for none, of things or of people.
MAXIMS = re.compile(
    rf"{CLAUSE}(?!(?:i|you|it|this|that|he|she|they|we|the|there|which|who)\b)(?P<what>(?:nothing"
    rf"|nobody"
    r"|no one|anything|everything|less|fewer|(?:every|each|all|any) [\w-]+"
    r"|(?:[\w-]+ ){0,2}[\w-]+(?= (?:(?:must|should) )?(?:never|always)(?![\w-])))[^,.;:!?]{0,40}?) "
    r"(?P<verb>must|should|shall|has to|have to|needs?|gets?|goes|go|stays?|belongs?|merges|pushes"
    r"|deploys|more|never|always)(?![\w-])"
)
# "never mind", "never used it", "always fails": what happens, not what shall be done.
TELLS = words("""
    mind seen used done been had got heard thought knew tried worked works saw met understood
    going a an the my in on at good bad nice happy wrong right true false null there was
    were is are has will did does would could came ran went made wrote took know think remember
    understand wanted want felt fun hard easy possible enough sure more less fewer longer later
""")
ON_THE_MIND = words("worry care know think mind remember want need get understand see forget have")
SOMEBODY = re.compile(
    r"\b(?:i|im|ive|id|you|youve|it|its|this|that|thats|they|he|she|we|weve|were|which|who|there)\b"
)
COMMANDS_ALL_THE_SAME = words("alias embed feed seed proceed shed need")

# --- the signs --------------------------------------------------------------------------------

LASTING = any_of(
    phrases(r"""
    ever; again; any ?more; every; each; any; anyone; anybody; unless; without; every ?where
    every ?thing; at all; in general; as a rule; by default; all the time; constantly; all over
    directly; straight; yourself; on your own; whatever; no more; one (?:\w+ )?(?:at a time|per \w+)
    (?:when|if|before|after|once) (?:you|we) (?!are|re|can|get|have|done|finish|want|need|like|
        think)\w+(?! (?:the|this|that|it)\b)
    (?:when|if|before|after|once) (?:you|we) \w+ (?:a|an|any|anything|something|new|more)
    (?:when|if|before|after|once) (?:anything|any|a|an|there (?:is|are)|theres|in doubt)
    """)
)
# These leave no doubt.
FOR_EVER = any_of(
    phrases(r"""
    (?<!can )(?<!i )always; (?<!i )never; every ?(?:single )?time; each time; whenever; anything
    from now on; (?:no|without) exceptions?; we only; ever again; immer; niemals; toujours; jamais
    siempre; nunca; sempre; altijd; nooit; zawsze; nigdy; всегда; никогда
    """)
)
# "the", "this", "it": something at hand, not a kind of thing.
AT_HAND = re.compile(
    r"\b(?:the|this(?! (?:repo|project|team|codebase)\b)|that|it(?! (?:short|brief|simple|concise"
    r"|terse|plain|factual|dry)\b)|its|these|those|them|his|her|here|there|yet|now|then|diese\w*"
    r"|hier|jetzt|cette|cet|ces|ici|este|esta|esto|aqui|ahora|esse|essa|agora|questo|questa|adesso"
    r"|deze|dit|nu|tego|tej|teraz|эт\w+|тут|здесь|сейчас)\b|[`#]|\w\(\)|\w_\w|\bport \d"
)
IN_THIS = re.compile(
    r"\b(?:for|in|on|with|of|to) (?:this|that|it)\b(?! (?:repo|project|team|codebase|company))"
    r"|\bhere\b"
)
ANY_CASE = re.compile(r"\w+ (?:something|anything|any|an?|there is an?|theres an?)\b")
INNER_ADVERB = re.compile(r"(?<!,) \b(?:never|always)\b|^(?:every|each|any|all) ")
ENDS_IN_ONLY = re.compile(r"\bonly(?: please)?(?:$|,)")
POINTS = re.compile(r"(?:it|this|that|these|those|them)(?: (?:up|in|out|down|too|there))?\b(?! \w)")
# How somebody talks is a kind of thing in itself.
TALK = re.compile(
    r"\b(?:flattery|fluff|pleasantries|preambles?|small ?talk|disclaimers?|apologies|emojis?|jargon"
    r"|hedging|filler|recaps?|praise|boilerplate)\b"
)
# What an assistant does, as opposed to what the program does.
ACTIONS = re.compile(
    r"(?:\w+ly )?(?:add|us|writ|do|mak|creat|chang|touch|explain|apologi[sz]|ask|suggest|tell|giv"
    r"|show|propos|reformatt|refactor|renam|mov|remov|delet|comment|summari[sz]|repeat|recapp"
    r"|wrapp|putt|generat|mock|committ|push|guess|assum|install|import|hardcod|invent|start|end"
    r"|open|prais|say|send|post|past|dump|spamm|tweak|fix|optimi[sz]|sprinkl|leav|replac|rewrit"
    r"|ignor|document|apply|offer|quot|lectur)ing\b"
)
CRAFT = words("""
    use prefer import mock commit push merge rebase squash amend reformat refactor trust paste
""")
WORKING = any_of(
    TALK.pattern,
    phrases(r"""
    commits?; committing; prs?; pull requests?; push\w*; merg\w+; rebas\w+; squash\w*; amend\w*
    force; branch\w*; main; master; prod; production; deploy\w*; migrations?; tests?; testing
    mocks?; linter; formatter; linting; comments?; docstrings?; type hints; summary; blame; git
    summaries; answers?; replies; reply; explain\w*; explanations?; reviews?; reviewers?; deps
    dependenc\w+; refactor\w*; renam\w+; changelog; ci; backups?; plans?; diffs?; lockfiles?
    spelling; english; readers; keys; secrets?; credentials; abstractions; documentation; docs; me
    my; you; your; yourself; us; someone; somebody; everybody; people; the team; legal; we get
    colleagues; in this (?:project|repo|codebase|team); in here; around here; i can; i read
    i review; i know; i skim; hand; code; sudo; merges; ok; approval
    """),
)
HARM = any_of(
    phrases(r"""
    burned; burnt; had to (?:restore|redo|roll back|undo|rebuild); bit us; bitten
    cost (?:me|us|him|her|them); lost; broke; breaks; wiped; hid; hides; crashed; outage; incident
    took \w+(?: \w+)? down; (?:is|was|went) down; corrupted; leaked; deleted; complain\w*; hates
    chokes?; trips over; rots?; useless; painful; gets? lost; slows (?:me|us|you); unreadable
    confus\w+; wasted; nightmare; hell; pain; fails the; wrecks?; messes
    too (?:many|much|long|noisy); last time; lied to us; i skim; overwritten; illegal
    """)
)
EMPHASIS = re.compile(
    r"(?:(?:and )?(?:that|this|same|it)s? (?:goes |applies |holds )?(?:for|to) (?:all|every"
    r"|any)\b.*|.*\bnot just (?:for )?this (?:one|time|file|pr)\W*|(?:always|everywhere"
    r"|every (?:single )?time|each time|no exceptions?|period|ever|full stop|never ever)\W*)+"
)
DISPUTES = any_of(
    r"^(?:no|nope|nah|ugh|stop|argh|again|dont|wrong|why|please dont|we had this|ffs|omg|seriously"
    r"|hey|too (?:much|many|long|verbose)|you (?:again|keep|just|didnt|still|forgot|always"
    r"|left|\w+ed)|i (?:said|told|asked|didnt ask)|your (?:last|previous|\w+s))\b|!!"
    r"|\bmeans nothing\b|\bdoesnt help\b",
)
# They need no deed before them.
REPEATS = any_of(
    phrases(r"""
    i told you; i thought we (?:agreed|said|settled); how (?:many times|often do i); second time
    third time; every single time; (?:as|like) i said; yet again; not again; again with; you keep
    i keep (?:telling|saying|seeing|finding|fixing|having)
    each time i have to; every time i have to; for the (?:last|nth|\w+th) time; once more
    """)
)
REASON_BEHIND = re.compile(
    rf", (?!{forms.TASK}|(?:just|only|then|and|or|but|not|no|please|instead|rather|like|especially"
    r"|even|always|ever|never|dont)\b)(?:[\w'-]+ ){2,}"
)
PREFERS = ("prefer", "rather")
POLITELY = re.compile(rf"^(?:{FILLER}[,:]?\s+)*(?:can|could|would|will) (?:you|we) ")
COMPARES = re.compile(r"\b(?:than|over|instead of)\b (?!the\b|this\b|that\b|it\b)")
FOLLOWS = re.compile(r",? ?so ")
# An order to do a piece of work, if nothing says that it is for keeps.
STYLE = words("""
    use prefer keep answer reply explain ask tell show give cite mention link call name spell
    treat assume wait stick leave talk write say let put include avoid confirm argue
""") | {"push back"}
