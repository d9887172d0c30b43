"""How people state facts, decisions, dates and motives of a project, as data.

The tables work as in `phrases`. What the code itself shows is not such a fact: people outside it
have to want, decide or forbid something, or a date has to be ahead.
"""

import re

from memoryd.extraction.rules.statements.phrases import any_of, phrases

_CODE_NOUN = (
    r"(?! (?:page|module|table|object|entity|list|banner|logos?|button|field|column|row|ids?|api"
    r"|endpoint|model|class|form|view|screen|data|records?|enum|tests?|service|type|flow|stage"
    r"|state|component|widget|app|name|email|address|tax|in [a-z]+|of the|for the (?:function"
    r"|method|class))\b)"
)
# Those who set policy, and those who come with wishes.
_AUTHORITY = (
    r"(?:legal|compliance|finance|procurement|management|leadership|security|infosec|hr|accounting"
    r"|the (?:board|cto|ceo|cfo|ciso|regulator|auditor|ministry|hospital|bank|carrier|union|city"
    r"|university|journal|insurer|landlord|government|dpo|works council|committee"
    r"|steering committee)s?|auditors?|regulators?|referees|upper management|corporate"
    r"|headquarters)"
    rf"{_CODE_NOUN}"
)
_CLIENT = (
    r"(?:marketing|sales|product(?:ion)?|ops|the (?:po|pm|customer|client|vendor|partner|publisher"
    r"|sponsor|supplier|investor)s?|(?:our|one|a|an|one big|big|main|biggest"
    r"|largest) (?:\w+ )?(?:customer|client|vendor|partner|supplier|tenant|investor)s?"
    rf"|customers|clients|stakeholders|investors){_CODE_NOUN}"
)
_OFFICE = rf"(?:{_AUTHORITY}|{_CLIENT})"
_WANTS = r"(?:wants?|wanted|needs?|asked|expects?|says?|said|told us|requested)"
_RULES = (
    r"(?:requires?|required|flagged|insists?|insisted|demands?|demanded|mandated?|pins|wont|agreed"
    r"|decided|approved|signed|clears?|pulled|blocked|driving|drives?|pays?|cant|vetoed|rejected"
    r"|killed|audits?|certified|still (?:uses?|runs?|needs?|posts?)|(?:is|are) (?:driving|blocking"
    r"|forcing|stuck|not renewing|isnt renewing|pushing|paying))"
)
_FOR_GOOD = (
    r"(?:every|all|any|no|never|always|until|only|nothing|by contract|before|as long as|to see)"
)
DECIDED = any_of(
    phrases(r"""
    (?:we|they|team|leads|management|leadership|the board)(?: have| ve| has|
        had)?(?: \w+)? (?:decided|agreed|committed|chose|settled|promised|signed|voted|resolved|
        ruled out|gave up on|opted|bought|dropped|ditched|postponed|froze|(?:moved|
        pushed) the (?:launch|release|deadline|date|demo|freeze|rollout|go-live|milestone))
    weve (?:\w+ )?(?:decided|agreed|committed|chosen|settled|promised|signed|dropped)
    (?:we|they) (?:picked|went with|selected)
    (?:was|been|its|is|thats|were|got|gets) (?:all |already |now |finally )?(?:decided|agreed|
        signed off|approved|final|settled|called off|cancell?ed|postponed|shelved|parked|descoped|
        deprioriti[sz]ed|on hold|on ice|out of scope|cut (?:from|for)|pushed (?:back|to)|moved to|
        delayed|scrapped|sunset|discontinued|phased out|killed|axed|vetoed|acquired)
    (?:we|were|we are) (?:\w+ )?(?:not|deliberately|intentionally|explicitly|
        definitely)(?: not)? (?:moving|migrating|switching|dropping|upgrading|supporting|adopting|
        going|changing|replacing|rewriting|using|doing|shipping|adding|touching)
    (?:we|were|we are) (?:moving|migrating|switching|dropping|sunsetting|deprecating|freezing|
        retiring|replacing|porting|rewriting|rebuilding|hiring|phasing out|consolidating|
        outsourcing|launching|shipping|releasing|going live|in the middle of|halfway through|
        mid-?migration)
    we (?:stay|stick|remain|are staying|are sticking|are stuck|are locked|ship|launch|release|
        freeze|go live|wont|will not|cannot|cant|are not allowed to|arent allowed to) (?:on|with|to|
        in|support|until|ship|move|upgrade|change|use|store|touch|be)
    (?:stays?|remains?|capped|pinned|frozen|locked|stuck|pins|pinning|supported) [^,.]{0,40}\buntil
    stays? off\b[^,.]*
    (?:postponed|delayed|rescheduled|slipped|brought forward) (?:to|until|by|from)
    (?:moved|pushed) (?:back |forward |out )?(?:to|until|by|from) (?:\d|q[1-4]|next|the (?:\d|week|
        end|new)|early|late|mid|after|\w+day|january|february|march|april|may|june|july|august|
        september|october|november|december)\w*
    (?:we|they) (?:cant|cannot|wont|may not|must not|are not allowed to|have to)\b[^.?]*\b(?:until|
        before|because of|due to|as long as)
    (?:were|we are) (?:going|aiming|applying|heading|preparing) for
    (?:was|were|got) (?:stopped|halted|paused|rolled back|pulled|called off|cut short)
    (?:is|are) (?:only|just|still) (?:there|here|alive|around|in) because
    under (?:nda|embargo|contract|audit)
    (?:is|are)(?:nt| not) (?:a nice to have|negotiable|optional|up for (?:debate|discussion))
    (?:off|back on) the table; nobody (?:has )?(?:dared?|dares)
    needs? (?:his|her|their) (?:ok|approval|review|sign-?off|blessing)
    support (?:for [\w ]{2,20} )?is out; (?:is|are|was|were) (?:known and )?accepted; known issue
    on (?:its|the) way out; we sunset; maintenance (?:mode|window); life support; feature freeze
    code freeze; merge freeze; end of life; eol; going away; shut(?:s|ting)? down; turned off
    switched off; lights out; stopgap; being built by; until 20\d\d
    (?:was|were|got|been) (?:bought|acquired) by; (?:kept|only) alive (?:for|until|because)
    (?:not|isnt|arent) allowed to; forbids?; forbidden; prohibit\w*; banned
    has the (?:final|last) (?:say|word)
    (?:decides|signs off|approves) (?:on )?(?:everything|all|every|any)\w*
    when i say \w+ i mean
    we have (?:about |around |over |roughly |only )?\d+ (?:\w+ )?(?:customers|users|tenants|clients|
        sites|stores|clinics|players|devices|subscribers)
    (?:were|we are) a (?:\w+ )?(?:team|company|startup|lab|group|agency|nonprofit) (?:of|with|that)
    (?:thats|which is) why (?:everything|we|the whole|all|every|nobody|there|no)
    there wont be an?; (?:no|out of) budget
    being (?:ported|replaced|rewritten|phased out|retired|rebuilt|shut down|decommissioned|migrated|
        audited)
    deprecated; decommissioned; no-?go
    on (?:parental |sick |annual |maternity |paternity )?leave
    on vacation; on holiday; left the company; (?:quit|resigned),? so; (?:has|have) no owner
    nobody owns; decision (?:from|of|in|is|was)
    (?:were|we are) (?:only |just )?(?:two|three|four|five|\d+) (?:people|devs|engineers|of us)
    takes over; is the new (?:\w+ )?lead; has no capacity; owned by
    belongs to (?:the|another) (?:\w+ )?team; (?:not our|not my|their) (?:call|decision)
    \w+s decision; dont be surprised; the plan is (?:to|that)
    (?:is|are|was|were) (?:there )?(?:on purpose|intentional|deliberate|by design|a deliberate \w+)
    by contract; contractually
    """),
    phrases(r"""
    wir haben (?:uns )?(?:\w+ ){0,4}(?:entschieden|beschlossen|vereinbart)
    beschlossen; verschoben; eingestellt; abgeschaltet; code ?freeze
    wird (?:ersetzt|abgelost|eingestellt); on a decide; nous avons decide; cest decide
    a ete (?:decide|reporte|annule); on gele; on abandonne; on arrete; reportee? a; hemos decidido
    se decidio; decidimos; se ha decidido; acordamos; se pospuso; se aplazo; congelamos; fecha fija
    por contrato; foi decidido; ficou decidido; foi adiado; combinamos; vamos abandonar
    abbiamo deciso
    e stato (?:deciso|spostato|rimandato|annullato)
    si e deciso; we hebben besloten; is besloten; is uitgesteld; afgesproken; zdecydowalismy
    ustalilismy; przelozon\w+; zamrazamy; решили; перенесли; договорились; отменили
    """),
    r"заморозк|決定しました|決めました|延期|中止|决定|推迟|封版",
)
MOTIVE = any_of(
    phrases(rf"""
    {_OFFICE} (?:\w+ )?{_RULES}; {_AUTHORITY} (?:\w+ )?{_WANTS}
    {_CLIENT} (?:\w+ )?{_WANTS}\b[^.?]*\b{_FOR_GOOD}
    ^why (?:we|the|\w+)[^?]{{3,60}}:[^?]*
    thats (?:why|where|the reason) (?:we|i|all|everything|so much)\b[^?]*
    the (?:deal|story|thing) (?:with|behind)\b[^.?]{{0,40}}:[^.?]*
    the (?:real |main |whole |only )?(?:reason|motivation|driver|why) (?:we|there|for|behind|
        this)\b[^.?]*\b(?:is|are|was|were)
    the (?:whole )?point of\b[^.?]*\b(?:is|was); exists? because
    thats the (?:whole |main |entire )?point(?: of)?
    (?:driven|forced|required|mandated|demanded|requested|pushed|vetoed) by (?:the )?\w+
    its {_OFFICE} (?:driving|who|that)
    (?:that|thats|it|its) (?:came |comes |straight )*from (?:the )?(?:\w+ )?(?:{_OFFICE}|committee|
        board|above|upstairs|team|management)
    (?:for|due to|because of) (?:\w+ )?(?:gdpr|hipaa|pci|sox|legal|compliance|contractual|
        regulatory|licen[cs]ing|audit|iso|export control|tax|safety|union)(?: reasons?)?
    (?:contract|sla|audit|regulation|licen[cs]e|certification|cert|warranty|nda|
        subscription)\b{_CODE_NOUN}[^.?]*\b(?:requires?|pins|until|says|forbids?|expires?|covers|
        runs out|ends?|not renewing|renewed|lapses?)
    (?:since|after|because of|thanks to) (?:the|last \w+s|that|our) (?:\w+ )?(?:incident|outage|
        breach|leak|audit|postmortem|recall|lawsuit|acquisition|merger|reorg)
    (?:our|the) (?!workers|threads|nodes|requests|components)\w+s (?:only|really|never|all|mostly|
        still) (?:care|want|need|expect|trust|pay|complain|insist|refuse|prefer|rely|look at)
    (?:most of )?(?:our|the) (?:users|customers|clients|players|readers|operators|patients|
        drivers) (?:are|have|run|use|sit|work|still)
    """)
)
# Who bears on the work from outside it, and words that bind.
_OUTSIDE = (
    phrases(r"""
    lawyers?; parent company; headquarters
    (?:field|ground) (?:crews?|staff|teams?|engineers?)
    crews?; inspectors?; fda; stores?; shops?; clinics?; warehouses?; plants?; factories; the lab
    (?:partner|customer|client|vendor)s? in \w+; technicians?; consultants?; agenc(?:y|ies)
    airlines?; board; owners?; insurers?; accounting; payroll; support (?:is|team|does|cant|has); qa
    nda; press; vendors?; partners?; suppliers?; legal; compliance; sales; marketing; finance
    procurement; management; ceo; cto; cfo; boss; bosses; professor; supervisor; landlord; auditors?
    reviewers?; investors?; (?:team|office|people|guys|colleagues) in \w+
    (?:downstream|upstream|other|sister|platform|data|infra|core|security) team
    regulators?; banks?; hospitals?; unions?; contracts?; deal; budget; sla; licen[cs]es?; hiring
    headcount; app store; enterprise; factory; ministry; government; council; sponsor; grant
    consortium; committee; shareholders?; insurance; warranty; gdpr; hipaa; cliente; clientes
    kunden?; vertrag; contrat; contrato; contratto; klant; klient; заказчик; behorde; datenschutz
    thesis
    """)
    + _CODE_NOUN
)
_PUBLIC = (
    phrases(r"""
    customers?; clients?; users; drivers; players; nurses; operators; patients; students; tenants?
    """)
    + _CODE_NOUN
)
_BINDS_ALL = phrases(r"""
    until; non-? ?negotiable; embargo; may not; must not; not allowed; allowed; no longer; wont
    frozen; freeze; priority; scheduled; promised; got cut; was cut; cut in half; is why; on purpose
    in writing; insists?; refuses?; vetoed; depends? on; relies on; stuck (?:on|with)
    pays? (?:for|extra); banned
    (?:havent|hasnt|not) (?:signed|approved|agreed|decided)
    looks? at; promise; no (?:signal|network|internet|access); off the table; by q[1-4]
    will (?:test|check|audit); penali[sz]es?; beats; trumps; matters more; (?:comes|is) first
    only (?:allows?|accepts?|takes?|pays?|reads?|until)
    lost; wollte; dropped
""")
_BINDS = phrases(r"""
    has to; have to; had to; must; allows; gets? no; cannot; required; invite only; gone by
    stays? (?:in|on|with); ended; expired; ran out; lapsed; closes; killed; axed; pulled
    cant (?!see|find|figure|reproduce|tell|get|log|load|open)\w+
    muss; mussen; darf; doit; doivent; debe; tiene que; tem que; so aceita; solo acepta; deve; moet
    musi; должен; должны; bis; hasta; fino a
""")
BOUND = any_of(
    rf"{_OUTSIDE}.*(?:{_BINDS}|{_BINDS_ALL})|(?:{_BINDS}|{_BINDS_ALL}).*{_OUTSIDE}",
    rf"{_PUBLIC}.*{_BINDS_ALL}|{_BINDS_ALL}.*{_PUBLIC}",
)
# --- signs of a fact, as `facts` weighs them ---------------------------------------------------

OURS = any_of(
    phrases(r"""
    we; our; ours; us; were; weve; wed; company; teams?; org; organi[sz]ation; department; office
    wir; unser\w*; uns; firma; nous; notre; nos; on (?:a|est|ne|doit|va|garde|reste); equipe
    nosotros; nuestr[oa]s?; nos (?:ha|han|hace|piden|exig\w+); empresa; equipo; nossos?; nossas?
    noi; nostr[oa]; azienda; squadra; wij; onze; ons; bedrijf; nasz\w*; firmie; zespol; мы; нас; нам
    наш\w*; команд\w+
    """),
    "弊社|当社|うち|私たち|チーム|我们|公司|团队|우리|회사|팀",
)
OUTSIDE = any_of(
    _OUTSIDE,
    _PUBLIC,
    _OFFICE,
    phrases(r"""
    cto; app store; play store; apple; google; law; legally; policy; ops; folks; nobody; everyone
    everybody; revenue; money; bill; costs?; pays?; paying; paid; schools?; reviewers; regulation\w*
    certification; infra; platform; devops; presupuesto; budget; haushalt; competitors?; subsidiary
    carriers?; mainframe; vorstand; chef\w*; kunde[n]?; rechtsabteilung; direction; client[es]?
    juridique; loi; jefe; jefa; jefes; cliente\w*; ley; proveedor\w*; chefe; fornecedor; lei; capo
    legge; fornitore; baas; directie; klant\w*; leverancier; wet; szef\w*; klient\w*; dostawc\w+
    клиент\w*; заказчик\w*; начальств\w+; закон\w*; поставщик\w*
    """),
    "顧客|お客|取引先|法務|上司|客户|老板|法务|供应商|고객|상사|거래처",
)
BINDS = any_of(
    _BINDS,
    _BINDS_ALL,
    phrases(r"""
    no-? ?go; stays?; wants?; locked; not ours; dead; kill\w*; capped; only; have to; has to; stuck
    cannot; cant; throw\w* away; must; needs?; refus\w+; forb\w+; requir\w+; sticks?
    is not (?:a|an)
    (?:is|are) (?:the|our) (?:only|main|biggest|first)
    any ?more; ends?; announced; discontinu\w+; retires?; pointless; irrelevant; wasted; priority
    recort\w+; keep; go(?:es)? down; unreachable; gone; bleib\w+; durfen; abgelehnt; verbot\w+
    nur noch; interdit\w*; refuse\w*; reste\w*; obligatoire; prohib\w+; obliga\w+; queda\w*
    rechaz\w+; proibi\w+; obrig\w+; fica\w*; vietat\w+; resta\w*; mag niet; mogen niet; blijf\w*
    verplicht; zabron\w+; zostaj\w+; wymaga\w*; запре\w+; нельзя; обязан\w*; остае\w+; только
    требу\w+
    """),
    "禁止|できません|しなければ|必須|のみ|のまま|不能|必须|只能|不允许"
    "|안 됩니다|해야 합니다|금지|만 ",
)
REASONS = any_of(
    phrases(r"""
    because; since; so; thats (?:why|where|how); which is why; therefore; reason; due to; thanks to
    hence; after the; weil; denn; deshalb; daher; wegen; parce que; car; donc; cest pourquoi
    a cause; porque; por eso; asi que; debido; por isso; entao; perche; quindi; percio; omdat
    daarom; dus; poniewaz; dlatego; bo; wiec; потому что; поэтому; так что; из-за
    """),
    "ため|ので|から、|因为|所以|때문|그래서",
)
TIME = re.compile(
    r"\b(?:january|february|april|june|july|august|september|october|november|december)\b|"
    r"\b20\d\d(?:-\w\d)?\b|\b(?:this|next|last) (?:year|month|quarter|week|summer|spring|fall"
    r"|winter)\b|\b(?:by|until|till|before|after|from|since|in) (?:the )?(?:early |late "
    r"|mid )?(?:summer|winter|spring|autumn|fall|q[1-4]|january|february|march|april|may|june|july"
    r"|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday)\b"
    r"|\bfor (?:\w+ )?(?:years|months)\b|\b(?:hasta|jusqu|bis|ate|fino|tot|do|до) "
)
RELEASE_FACT = any_of(
    r"\b(?:v\d[\w.]*|versions? \d[\w.]*|beta|release|launch|rollout|roadmap|pilot)\b[^.?]*"
    + phrases(r"""
    scheduled; promised; frozen; gets? no; no (?:new )?features; postponed; slipped; invite only
    on hold; cancelled; moved
    """)
)
EVENT = any_of(
    phrases(r"""
    beta; embargo; freez\w*; frozen; releas\w+; launch\w*; deadline; due; demo; cut-?over; cut-?off
    migration; audit; contract; ends?; expires?; runs? out; go(?:es|ing)? live; go-live; ships?
    shipping; shuts?; turns? off; switch(?:es|ed)? off; sunset\w*; eol; submission; submits?
    conference; exam; review; inspection; (?:maintenance|outage) window; kick-?off; handover
    hand-?off; rollout; roll out; cert\w*; milestone; trial; pilot; workshop; onsite; leaves?
    vacation; holiday; starts?; starting; moves?; moved; stops?; retires?; retired; deprecat\w+
    drops?; livre; livrons; delivery; deliver\w*; lands?; kicks? in; takes? effect; effective; fair
    trade show; board meeting; renewal; renew\w*; tournament; playtest; gold master; closes?; opens?
    promised; comes? out; takes? over; pentest; visits?; arrives?; switchover; away; out of office
    ooo; unavailable; offline; joins?; gone; presentation; defen[cs]e; hearing; election; season
    go dark; downtime; merging; merges?; messe; abgabe; frist; auslieferung; vorfuhrung; abnahme
    lauft aus; endet; beginnt; umzug; wartung; livraison; gel; mise en prod\w*; deploiements?
    echeance; demenagement; sortie; entrega; lanzamiento; plazo; cierre; vence; termina; acaba
    corte; lancamento; prazo; contrato; congel\w+; rilascio; consegna; scadenza; scade; lancio
    fiera; chiusura; oplevering; gaat uit; stopt; livegang; vervalt; wydanie; termin; premiera
    koniec; релиз\w*; дедлайн; срок; запуск
    """),
    r"リリース|締め切り|締切|納期|凍結|发布|上线|截止|审计|封版",
)
PERSONAL = re.compile(
    r"\b(?:i have|ill|i will|i need|im going|i go|my exam|wish me|lets|well (?:look|see|talk|do"
    r"|continue)|had|used to|missing|wrong|instead of|according to|should|jwt)\b"
)
# How a screen behaves is a task, whoever wants it.
SCREEN = re.compile(
    r"\b(?:buttons?|forms?|modals?|pages?|dialogs?|spinner|panel|menu|tabs?|inputs?|checkbox"
    r"|dropdown|icons?|screens?|cursor|mouse|logos?|header|footer|css|div|banner|sidebar|tooltip"
    r"|px|toast|fields? (?:is|are)|shows?|displays?)\b"
)
