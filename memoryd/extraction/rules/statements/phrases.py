"""The phrases around a statement, as data: what makes a sentence lasting and what does not.

Every phrase is matched on `prose.matchable` text: lower case, Latin accents folded, no apostrophes
("dont", "im", "its"), quoted words blanked. In a table each line, or each part between semicolons,
is one phrase that starts and ends at word boundaries. A phrase is about how people talk, never
about their subject.
"""
# ruff: noqa: RUF001 - Cyrillic letters, wide punctuation and dashes are what these tables are about

import re

# Where a clause begins, with the small words that people put in front of it.
FILLER = (
    r"(?:please|hey|hi|ok|okay|ugh|no|nope|oh|just|again|and|but|so|also|actually|yes|yeah"
    r"|btw|fyi|one thing|one rule|rule|two things|note|seriously|look|bitte|und|por favor|porfa"
    r"|stp|svp|per favore|graag)"
)
CLAUSE = (
    r"(?:^|[,;:.!?(–—]\s*|\s-\s|\b(?:and|but|so|also|because|since|then|that|und|aber|dass|que|y"
    r"|et|che|dat)\s)"
    rf"(?:{FILLER}[,:!.]{{0,3}}\s+){{0,4}}"
)


def phrases(table: str) -> str:
    """One pattern for a table of phrases; a line that ends in "|" goes on in the next."""
    found = [phrase.strip() for phrase in re.split(r"[;\n]", re.sub(r"\|\n\s*", "|", table))]
    return rf"(?<!\w)(?:{'|'.join(filter(None, found))})(?!\w)"


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


# --- no statement at all ----------------------------------------------------------------------

_ASKING = phrases(r"""
    whats?; whys?; wheres?; hows
    how (?:do|does|did|can|could|should|would|is|are|was|come|many|much|long|often|to|about)
    whens; whos?; which; when (?:do|does|is|are|did|will|can|should); is; are; isnt; arent; does
    doesnt; do (?:you|we|i|they|people|the); did; didnt; can; could; should; shouldnt; would
    wouldnt; any (?:idea|chance|reason); will (?:you|we|it|the|this|that|i); am i
    has (?:it|the|this|that|anyone); have (?:you|we|i|they); was (?:it|the|this|that|there); warum
    wieso; wann; wer; kannst; konntest; soll; sollen; sollte; gibt es; pourquoi; est-ce; peux
    pouvez; por que; puedes; podrias; podes; puoi; perche; waarom; hoe; kun; kan je; dlaczego; czy
    почему; зачем; можешь
""")
QUESTION = any_of(
    r"[?？](?:\W*|\s.{0,20})$|, (?:is (?:that|this|it)|isnt it|right|correct|or not|am i|why"
    r"|how come)(?: \w+)?$",
    rf"^(?!why [^?]{{5,60}}: \w)(?:(?:{FILLER}|hm+|then|now|wait|sorry|quick question|anyway|first"
    rf"|next|(?:with )?that said)[,:]?\s+)*{_ASKING}",
    r"^(?:なぜ|どう|为什么|怎么)|ですか|ますか|でしょう$|吗$|呢$|(?:나요|까요|는지요|습니까)$",
)
# Questions only by their grammar.
ASKS_TO_BEHAVE = any_of(
    rf"^(?:{FILLER}[,:]?\s+)*(?:can|could|would|will) you (?:please |just |maybe "
    rf"|also )*"
    r"(?:do me a favou?r and )?(?:stop|quit|not|never|remember|keep in mind|avoid|keep"
    r"|start \w+ing)\b",
    rf"^(?:{FILLER}[,:]?\s+)*(?:why|how come) (?:do|are|did) you (?:keep|always|still|insist)\b",
    r"\bhow (?:many times|often) (?:do|did) i\b|^(?:\w+ ){0,2}(?:can|could) we (?:please )?(?:agree"
    r"|settle|stick|stop)\b",
    r"^(?:\w+ ){0,2}(?:could|would|can) you (?!always)[^?]*\b(?:every|each|whenever|by default"
    r"|in future)\b(?![^?]* or )",
)
HYPOTHETICAL = any_of(
    phrases(r"""
    hypothetically; what if; suppose; supposing; imagine; lets say; pretend; in theory
    theoretically; i wish; as if
    if (?:i|we|you|it|they|this|that) (?:was|were|had|could|would)
    if (?:i|we) ever; mock interview; role ?play\w*
    (?:maybe|perhaps|possibly|probably) (?:we|i|you|its)
    (?:we|i|you) (?:might|could|may(?! (?:not|only)\b))
    might (?:want|move|switch|get); not planning; nothing decided; undecided; no decision
    not decided; not sure (?:yet|if|whether); dunno; i think(?! (?:better|best|in|visually)\b)
    i guess; i believe; i suppose; afaik; seems; looks like; no idea (?:yet|if|whether); wondering
    curious; thinking (?:of|about); considering; would be nice; someday; one day
    where you (?:should|must|can|have to); at some point
    assume (?:that )?(?:i|im|we) (?:am|was|were|had|are)
    (?:act|behave) (?:as|like); like im; as a user; in this (?:scenario|story|example|game)
    angenommen; stell dir vor; vielleicht; imaginons; supposons; peut-etre; supongamos; imagina
    quizas; tal vez; talvez; forse; misschien; moze; может быть
    """),
    r"^(?:so |ok )?say (?:the|we|you|i|that)\b|^(?:please )?assume (?:that )?(?:i|im|you|the|we)\b",
)
SARCASM = any_of(
    r"[🙃🙄😏🤡😂🤣]|(?:^|\s)/s\b|^(?:oh )?sure,? lets\b|^(?:ha){2,}h?\b"
    r"|\bwhat could (?:possibly )?go wrong",
    phrases(r"""
    jk; just kidding; kidding; yeah,? right; yeah,? sure; no but seriously; said no one ever
    remember (?:kids|folks|children)
    """),
)
# Said for the moment: true today, junk tomorrow.
PASSING = any_of(
    phrases(r"""
    for now; for the moment; at the moment; for a (?:sec|second|minute|bit|moment|while); right now
    rn; brb; temporar\w+; meanwhile; this (?:time|once); just once; only once
    by (?:accident|mistake); accidentally; today only; only (?:for )?today; just (?:for )?today
    for today; only because; im on call; tonight; quick hack; (?:until|after|before) lunch
    (?:for|in|on) this (?:one|pr|branch|commit|task|snippet|file|ticket|change|function|session|run|
        test|case|step|part)
    in (?:\d+|a few|five|ten) (?:min|mins|minutes|sec|secs|hours?|hrs?)
    nur heute; diesmal; dieses mal; erstmal; vorerst; momentan; gerade eben; ausnahmsweise
    pour linstant; cette fois; pour le moment; juste pour; por ahora; esta vez; de momento
    solo por hoy; por hoy; por enquanto; desta vez; so hoje; dessa vez; per ora; per adesso
    questa volta; solo oggi; voor nu; deze keer; voorlopig; na razie; tym razem; tylko dzis\w*
    пока что; на этот раз; только сегодня
    """),
    r"^(?:only|just) for (?:the|this)\b",
    r"今回だけ|とりあえず|今だけ|这次|暂时|今天先",
)
# Takes back what the same message said before it.
TAKEN_BACK = any_of(
    r"^(?:but |and )*(?:(?:just|only) (?:for )?(?:this (?:time|once|pr|one)|once|today|now)"
    r"|for (?:now|today|this (?:time|pr|one))|this (?:time|once))(?: only)?\W*$",
    r"^\W*(?:oh |ah |hm+ )?(?:(?:wait|no|nope|sorry|oops|argh),?\s+)*(?:ignore that"
    r"|wrong (?:window|chat|repo|tab|project)|scratch that|never ?mind(?: that)?|nvm"
    r"|forget (?:that|it)|strike that|disregard that)\b",
)
NOT_FOR_MEMORY = any_of(
    phrases(r"""
    (?:dont|do not|no need to|never|you can forget to) (?:remember|save|store|memori[sz]e|note|
        record) (?:this|that|it|any)
    off the record; forget (?:i|what i) (?:said|asked); between us; between you and me; unter uns
    entre nous; entre nosotros; merk dir das nicht; nicht merken; no (?:lo )?(?:recuerdes|guardes)
    ne (?:retiens|note) pas
    """)
)
# What a document, a product or somebody else says is no word of this person's own.
ABOUT_A_TEXT = any_of(
    phrases(r"""
    (?:claude|agents|contributing|readme)\.?md; editorconfig
    (?:in|from|per|see|according to) (?:the|our|their|this) (?:readme|style ?guide)
    (?:docs?|readme|style ?guide|documentation|manual|article|blog\w*|book|tutorial|linter|compiler|
        upstream|prompt|card|page|guide|website|site|license|log|output|console|tool|chatgpt|gpt|
        copilot|spec|ticket|issue|guideline|rfc|comment|error|message|banner|toast|copy|label|
        tooltip|faq|story|bio)(?: \w+)? (?:says?|said|tells?|states?|claims?|recommends?|reads|
        mentions|should (?:be|say|read))
    (?:previous|old|last|former) (?:company|job|team|employer)
    """),
    r"\b(?:friend|colleague|coworker|co-worker|boss|guy|dude|someone|somebody|people|reviewer|he"
    r"|she|they)\b[^,.]{0,30}\b(?:says?|said|swears?|claims?|thinks?|told|wrote|always|never"
    r"|forgets?)\b|\bmy \w+ (?:always |once |never )?(?:says?|said|told|claims?|swears?)\b"
    r"|(?:^|, )(?:customers?|users?) (?:says?|said|claims?|thinks?|wrote|always|never)\b",
)
IN_THE_RULES_FILE = re.compile(r"\b(?:claude|agents)\.md\b")
# What people ask an assistant to do.
TASK = phrases(r"""
    fix; add; remove; rename; re-?run; run; write; make; create; update; change; move; delete
    refactor; check; look; show; explain; tell; find; help; give; put; set; install; open; load
    read; grep; build; deploy; push
    commit(?! (?:messages?|titles?|subjects?|history)\b)
    merge; revert; debug; test(?! (?:names?|data|cases?|results?)\b); implement; convert; translate
    review; generate; bump; point; hardcode; reformat; format; clean; get; try; do; go(?! live)
    kill; drop; split; extract; port; migrate; document; log; print; replace; sort; wrap; restart
    continue; proceed; finish; summari[sz]e; proofread; draft; reply; answer; turn; switch; pull
    fetch; skip; rewrite; debounce; use; take; keep; leave; start; stop; schedule; ship; send; bring
    cut; pin; mark; enable; disable; expose; hook; wire; cache; inline; reduce; increase; raise
    lower; limit; ensure; apply; swap; stick; trace; profile; bisect; compare; list; count; plot
    render; redo; undo; call; name; walk; pick; investigate; arregla; corrige; cambia; anade; mach
    andere; schreib; ajoute; aggiungi; correggi; voeg; napraw; dodaj; исправь; добавь
    """)
REQUEST = re.compile(
    rf"^(?:(?:{FILLER}|now|then|first|next|great|nice|perfect|thanks|lets|let us|anyway"
    r"|(?:with )?that said|can you|could you|i want you to|i need you to|we need to|you can)"
    r"[,:]?\s+)*"
    + TASK
    # "change requests are", "test results live in": a noun, not an order
    + r"(?! (?!(?:what|who|why|where|how|if|that|which|me|us|it|the|this|all|an?|my|our|when)\b)"
    r"\w+(?: (?!what|who|that|which|if)\w+)? (?:is|are|was|were|lives?|goes|happens?|comes?"
    r"|should)\b)"
)
# What stands before it was an order for now, not a fact to keep.
TASK_BEHIND = re.compile(
    r"(?:^|, ?|\bso )(?:so |please |can you |could you |and |now )*(?:change|fix|add|make"
    r"|update|implement|build|remove|do|handle|support|write) (?:it|that|this|them|one|an?|some)\b"
    r"|, (?:go ahead|go on|carry on|continue|proceed)\b"
)
# Says what the program shall do.
SPECIFIES = re.compile(r"\b(?<!you )(?<!we )(?:should|must|shall|will|would|can|needs to|has to)\b")
# Readable from the code or the history, whoever asks for it to be kept.
DERIVABLE = any_of(
    r"`|#\d{2,}\b|\w\(\)|\b\w+ -> \w+|\b\w+_\w+\b",
    r"\b[\w/-]+\.(?:py|tsx?|jsx?|rs|go|java|kts?|c|cc|cpp|h|hpp|rb|php|swift|cs|gd|sql|s?css|html"
    r"|json|toml|ya?ml|tf|proto)\b",
    r"\b(?:src|lib|tests?|app|pkg|cmd|internal|modules|packages)/|\blines? \d+",
    phrases(r"""
    (?:last|latest|first|previous|that|this|these|those|the|\d+|
        \w+ed) (?:\w+ )?commits?(?! (?:messages?|titles?))
    (?:was|were|got|been|just|i|we) merged
    merged (?:at|in|by|this|today|yesterday|into|#\d+)
    migration \d+; cherry-?picked; rebased; bumped; nullable; enum; foreign key
    (?:that|this|the) (?:fix|bug|change|diff|patch) (?:was|is|in|here|there|you|i|for|so|if)
    that fix; [0-9a-f]{7,40}
    (?:has|have|with) (?:the )?(?:fields?|columns?|params?|props|methods?|attributes?)
    (?:function|method|class|struct|field|column|endpoint|handler|constructor|component|callback|
        hook|variable|constant|query)s? (?:takes?|returns?|has|have|is|are|uses?|calls?|gets?)
    (?:struct|class|function|method|endpoint) \w+ (?:is|has|takes|returns|calls|uses)
    (?:first|second|third|last|optional) (?:argument|parameter|arg|param)
    extends; inherits from; subclass\w*; imports? (?:\w+ )?from; endpoint (?:is|takes|returns)
    returns? (?:a|an|none|null)
    """),
)

# --- asking for memory ------------------------------------------------------------------------

REMEMBER = re.compile(
    r"(?:^|[,;:.!?(–—]\s*|\b(?:and|but|so|also|please|to|und|bitte|y|e|et)\s)(?:"
    + phrases(r"""
    (?:things? to )?remember(?! me\b| kids\b| folks\b| children\b| when\b| how\b| what\b| why\b|
        where\b| the last\b)(?: (?:this|that|for (?:later|next time)))?
    keep (?:it |this |that )?in mind(?: that)?; bear in mind(?: that)?; memori[sz]e(?: that| this)?
    make a note(?: that)?
    (?:save|store|put|add|commit) (?:this |that )?(?:to|in|into) (?:your )?memory
    save this
    note (?:that|for (?:later|the future))|note(?= (?:the|we|our|there|all)\b)
    take note(?: that)?; for (?:future|later) ref(?:erence)?; dont (?:ever )?forget(?: that)?
    never forget(?: that)?; merke? dir(?: bitte)?(?: dass)?; denke? dran(?: dass)?
    denke? daran(?: dass)?; nicht vergessen; vergiss nicht(?: dass)?; rappelle-toi(?: que)?
    souviens-toi(?: que)?; retiens(?: que)?; note (?:bien )?que; noublie pas(?: que)?
    recuerda(?: que)?; ten en cuenta(?: que)?; acuerdate(?: de)?(?: que)?; no olvides(?: que)?
    apunta(?: que)?; lembra(?:-te)?(?: de)?(?: que)?; lembre(?:-se)?(?: de)?(?: que)?
    nao esquecas?(?: que)?; anota(?: ai)?(?: que)?; ricorda(?:ti)?(?: che)?
    tieni (?:a mente|presente)(?: che)?; non dimenticare(?: che)?; onthoud(?: dat)?
    vergeet niet(?: dat)?; zapamietaj(?: ze)?; pamietaj(?: ze)?; запомни(?: что)?
    имей в виду(?: что)?; учти(?: что)?
    """)
    + r"|覚えておいて(?:ください)?|覚えて|忘れないで|(?:请)?记住|記住|别忘了)[,:：]?"
)
# Said to inform; with a colon it is a heading, and all behind it is news.
HEADING = re.compile(
    r"^(?:[\w ]{0,24}\b)?(?:background|context|fyi|heads up|news|update|status|decision|policy"
    r"|hintergrund|kontext|contexte|contexto|contesto)\b[\w ]{0,40}: "
)
INFORMS = re.compile(
    r"^(?:and |oh |but |ok |hey )*(?:fyi|fwiw|for the record|heads up|for context|(?:some "
    r"|a bit of |bit of |quick |ok )?(?:background|context)|just so you know|so you know"
    r"|for your (?:info|information)|good to know|in case you wonder|you should know)\b"
)
OUR_WORLD = re.compile(r"\b(?:we|our|us|were|weve|they)\b")
# Words that no English sentence of some length does without, and that are English only.
ENGLISH = re.compile(r"\b(?:the|are|and|of|to|this|that|it|its|with|our|for|from)\b")
STATE_OF_THINGS = re.compile(
    r"\b(?:fail\w*|errors?|red|green|broken|down|slow|takes?|crash\w*|bugs?|flaky|we use|runs? on"
    r"|works? now|(?<!be )done|pushed|merged|fixed|changed|moved|null|falla|fehler|erreur|errore"
    r"|fout|blad|ошибк\w+|возвращает)\b"
)
# What a program is made of.
PROGRAM = re.compile(
    r"\b(?:tables?|columns?|rows?|objects?|requests?|responses?|headers?|params?|arguments?|loops?"
    r"|lists?|arrays?|strings?|queries|query|nodes?|threads?|sockets?|workers?|jobs?|caches?"
    r"|tokens?|endpoints?|components?|config|emails?|login|handlers?|wasteful|faster|slower"
    r"|polling|sorting|allocat\w+|stack|trees?|heap|memory|buffers?|fields|keys?)\b"
)
# Signs that a thing to be remembered is a way of working.
RECURS = any_of(
    phrases(r"""
    before; after; when; whenever; every; each; always; never; any; if you; immer; nie; niemals
    toujours; jamais; siempre; nunca; sempre; mai; altijd; nooit; zawsze; nigdy; всегда; никогда
    commit messages?; branch names?; pr (?:titles?|descriptions?); replies; answers; comments
    docstrings
    """),
    r"必ず|いつも|总是|始终",
)
FIRST_PERSON = any_of(
    phrases(r"""
    im(?= (?:an?|the|not|on|at|from|just|still|\w+ing)\b); i am; my; i; ive; ich; mein\w*; je; mon
    yo; mi; soy; eu; meu; minha; io; ik; mijn; я
    """),
    "私|我",
)
NEW_TOPIC = re.compile(
    r"^(?:and |oh |but )*"
    + phrases(r"""
    also; fyi; btw; by the way; another thing; second(?:ly)?; third(?:ly)?; plus
    and (?:please|never|always|dont|the|we); ausserdem; aussi; tambien; ademas; tambem; inoltre; ook
    """)
)
# What begins like this is drawn from what was said before it.
FOLLOWS = re.compile(
    r"^(?:and )?(?:so|thus|hence|therefore|thats why|deshalb|daher|donc|asi que|entao|quindi|dus"
    r"|dlatego|поэтому) "
)
OWN_RULE = re.compile(
    rf"^(?:{FILLER}[,:]?\s+)*(?:always|never|dont|do not|stop|from now on|no|use|prefer|please)\b"
)

# --- taking back what was said another day ----------------------------------------------------

CORRECTS = any_of(
    phrases(r"""
    scratch (?:that|what); (?:i |weve |i've )?changed (?:my|our) minds?; forget what i (?:said|told)
    no longer; any ?more; instead of what i; i was wrong about; correction; nicht mehr; doch nicht
    finalement; ya no; al final; ja nao; non piu; niet meer; toch niet; juz nie; больше не
    """),
    r"^actually,? (?!can|could|should)|\bne \w+ plus\b|もう.*ない|不再",
)

# --- writing it down --------------------------------------------------------------------------

REASON = re.compile(
    r",? +(?:because|since|bc|cuz|'cause|otherwise|or else|weil|denn|sonst|parce que|car|sinon"
    r"|porque|ya que|ja que|perche|omdat|anders|poniewaz|потому что|иначе)\b"
    r"|因为|因為|ので、?|から、"
)
GIVES_REASON = re.compile(r"\b(?:because|why|reason|so that)\b")
REASON_BEHIND_COMMA = re.compile(
    r", +(?=(?:its?|it's|they|the|that|this|we|i|i'm|im|our|my|theres?|there's|some\w+|last|one"
    r"|\w+ (?:is|are|has|have|had|wants?|clears?|hates?|costs?|breaks?|broke|cant|can't|complain"
    r"|chokes?)) )"
)
LEAD_IN = re.compile(
    r"(?:(?:please|pls|plz|hey|hi|ok|okay|ugh|oh|and|but|so|also|btw|fyi|note|heads up"
    r"|remember(?: that)?|keep in mind(?: that)?|note (?:that|for later)|bear in mind(?: that)?"
    r"|don'?t forget(?: that)?|save this|for context|for the record|just so you know|one thing"
    r"|one rule|two things|add to memory|for later|for future ref(?:erence)?|merk dir|denk dran"
    r"|recuerda(?: que)?|retiens(?: que)?|ricorda(?: che)?|lembra(?: que)?|onthoud(?: dat)?|запомни"
    r"|by the way|quick intro|actually|por cierto|au fait|ubrigens)\b[,:!.]*\s*)+"
)
SMALL_WORDS = words("""
    a an the this that these those it its is are was were be been being am im ive i me my we us
    our you your u he she they them their there theres to of in on at for from with by as and
    or but so if then than because since please pls just also not no do dont does did done have
    has had will would can could should shall may might must get gets got go goes up out about
    into over very really here now when whenever what which who how all any each every too only
    thats thing things ok hey oh btw fyi remember keep mind note one some more most much der
    die das und ist ein eine le la les un une et el los las y de del que en o os as um uma il
    lo gli e di het een van
""")
# A title without them would say the opposite.
NEGATIONS = words("not no dont never without cant wont isnt arent")
# They say that there is a rule, not what it is about.
RULE_WORDS = words("always never from use using dont stop prefer make sure want like said")
