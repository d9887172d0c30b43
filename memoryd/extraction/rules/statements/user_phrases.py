"""How people say who they are, as data; the tables work as in `phrases`.

English comes first and is covered best; the commonest forms of German, French, Spanish, Portuguese,
Italian, Dutch, Polish, Russian, Japanese and Chinese follow it.
"""
# ruff: noqa: RUF001 - Cyrillic letters and wide punctuation are what these tables are about

import re

from memoryd.extraction.rules.statements.phrases import CLAUSE, FILLER, any_of, phrases

_ROLE = (
    r"(?:dev|devs|developer|programmer|coder|engineer|eng|scientist|analyst|postdoc|phd|student"
    r"|undergrad|designer|artist|animator|manager|pm|lead|head|lawyer|doctor|nurse|medic|teacher"
    r"|professor|lecturer|researcher|admin|sysadmin|administrator|sre|devops|dba|architect"
    r"|consultant|contractor|freelancer|founder|cofounder|cto|ceo|cfo|intern|trainee|apprentice"
    r"|junior|senior|beginner|newbie|noob|novice|expert|hobbyist|amateur|writer|editor|translator"
    r"|journalist|accountant|auditor|musician|producer|composer|photographer|maintainer|owner"
    r"|tester|qa|operator|technician|electrician|mechanic|pilot|farmer|librarian|trader|quant"
    r"|actuary|marketer|salesperson|secretary|director|vp|officer|guy|gal|person|learner|master"
    r"|coach|clerk|trainer|sergeant|instructor|economist|linguist|chemist|historian|veteran"
    r"|[a-z]+(?:ologist|icist|ician|ographer|onomer|logian|urgeon|ineer))"
)
_NO_ROLE = r"(?! (?:bit|little|lot|fan|user|couple|few|second|minute))"
_SKILL = (
    r"(?:rusty|weak|bad|terrible|poor|basic|nonexistent|non-existent|limited|solid|strong|good"
    r"|decent|ok|okay|fine|fluent|shaky|zero|so-so|better than)"
)
_SOFTLY = (
    r"(?:just |only |actually |basically |really |primarily |mainly |mostly |still |pretty |very "
    r"|quite |more |not |so |that |kinda |rather |fairly |completely |totally |brand )*"
)
_MANY = (
    r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|many|a few"
    r"|couple of)"
)
_DOMAIN = (
    r"(?:team|squad|group|department|project|company|lab|releases?|release process|infra\w*"
    r"|platform|deploy\w*|security|budget|product|marketing|sales|qa|tooling|side|databases?"
    r"|backend|frontend|lib|library|reviews?|apps?|it|ops|support|store|shop|agency|unit|course"
    r"|data|design|firmware|hardware|network)"
)
_MACHINE = (
    r"(?:windows|mac|macos|macbook|linux|ubuntu|debian|arch|nixos|chromebook|laptop|machine|box|vm"
    r"|desktop|workstation|connection|screen)"
)
# --- signs that a sentence is about its speaker, as `facts` weighs them ------------------------

ME = re.compile(
    r"\b(?:i|im|ive|my|me|id|myself|mine|ich|mir|je|moi|yo|eu|io|ik|ja|я|мне|soy|sou|sono|jestem)\b"
)
ROLE = re.compile(rf"\b{_ROLE}s?\b")
SPAN = re.compile(
    rf"\b{_MANY}\+? (?:years?|yrs?|months?|decades?|weeks?|days?)\b|\b(?:\d+|decades|years) (?:of"
    rf"|ago|in)\b"
    r"|\bsince (?:monday|tuesday|wednesday|thursday|friday|last|uni\w*|school|\d{4}|the \d)"
    r"|\b(?:all day|every day|for a living|by (?:day|night|trade|training)|day job|evenings"
    r"|weekends|part time|full time|used to|grew up|these days|nowadays|usually|mostly|mainly"
    r"|rarely|professionally)\b"
)
SKILL = re.compile(
    r"\b(?:know|learn\w*|never (?:used|touched|written|done|worked|wrote|did)|beginner|expert"
    r"|fluent|understand|comfortable|studied|taught|teach|grew up|background|experienced?|familiar"
    r"|rusty|skills?|self-?taught|degree|phd|thesis|first (?:time|week|project)|trained|coding"
    r"|programming|joined|coming from|came from|no clue|magic|scares?|inside out|not at all|career"
    r"|idioms)\b"
)
TOOL = re.compile(
    rf"\b{_MACHINE}\b|\b(?:phone|screen ?reader|vim|emacs|tmux|neovim|terminal|wifi|time ?zone|utc"
    r"|admin rights)\b"
)
# How he wants to be talked to, given who he is.
CONSEQUENCE = re.compile(
    r"\bso (?:please )?(?:explain|skip (?:the )?basics|assume|bear with|go slow|no need to explain"
    r"|treat me|talk to me|forgive|be gentle|be patient|use simple|map|keep the (?:words|sentences"
    r"|commands))\b|\b(?:be gentle|bear with me|no need to explain|spare me the basics)\b"
    r"|\b(?:leg het uit|erklar\w* (?:es |mir )|explique\w*-moi|explicame|explica-me|spiegami"
    r"|tlumacz mi|объясня\w*|объясни)"
)
AT_HAND = re.compile(
    r"\b(?:this|that|the) (?:error|function|file|test|bug|line|code|commit|branch|issue)\b"
)

USER = any_of(
    r"(?<!like )(?<!if )(?<!as )(?<!that )(?<!think )\b(?:im|i am) "
    rf"{_SOFTLY}(?:an?|the|one of the|our|your)\b{_NO_ROLE}[^,.;]{{0,50}}?\b{_ROLE}s?\b",
    rf"\bas an? (?:\w+ )?{_ROLE},? i (?!find|want|would|can|could|should|need|get|see|feel|try"
    rf"|tried)\w+|{CLAUSE}i (?:lead|head|own|maintain|manage) (?:the|our|all|this) "
    r"(?:(?!with |by |via |in |of )[\w-]+ ?){1,4}(?:$|[,.;])",
    r"\b(?:im|i am) an? (?!bit|little|fan|user|few|lot|number|member|robot|idiot)(?:\w+ )?"
    r"\w{2,}(?:ian|ist|eer|yst|wright|smith)\b",
    rf"{CLAUSE}(?:im|i am) (?:the )?(?:one|person|guy|only one) who \w+s\b",
    rf"{CLAUSE}(?:im|i am) {_SOFTLY}(?:junior|senior|non-?technical|self-?taught|technical)\b",
    rf"(?:^|[,.:] )[\w ,-]{{0,40}}\b(?:{_ROLE}|user|newcomer) (?:[\w ]{{0,30}} )?here(?:[,.!]|$)",
    rf"\b{_ROLE} by (?:trade|training|profession|day)\b|\bnot an? (?:\w+ )?{_ROLE}\b|\b(?:ex"
    rf"|former|retired)[- ]{_ROLE}\b",
    rf"^(?!the|our|an?\b)(?:[\w+#.-]+ ){{0,2}}{_ROLE}, (?:and |so )?i\b",
    rf"^(?!the|our|an?\b)(?:[\w+#.-]+ ){{1,3}}?{_ROLE} (?:of|for|with|since) (?:{_MANY}|about"
    rf"|over|almost)\b",
    rf"^(?:{FILLER}[,:]?\s+)*on (?:an? |my )?(?:\w+ ){{0,2}}(?:windows|mac|macos|linux|ubuntu"
    rf"|debian|nixos)\b",
    rf"{CLAUSE}(?:im|i am) (?:stuck )?on (?:an? |my )?(?:\w+ ){{0,4}}{_MACHINE}\b",
    rf"{CLAUSE}i (?:\w+ )?(?:own|maintain|lead|manage|run|head|coordinate|supervise|administer"
    rf"|look after|sign off|teach|lay out|design|review|approve|support|operate) (?:the |all "
    rf"|our |an? |this |both )?(?:\w+ ){{0,3}}?{_DOMAIN}\b",
    rf"{CLAUSE}(?:i|ive|i have)? ?(?:never|barely|hardly|rarely) (?:really )?(?:touched|used"
    rf"|written|wrote|done|learned"
    r"|programmed|coded|seen|worked (?:with|in)) (?!this|that|it\b)[\w+#.]+",
    phrases(rf"""
    i teach (?!it|the model)\w+; about me; its (?:just|only) me
    (?:im|i am) the only (?:one|person|\w+ )(?: \w+){{0,4}}
    for calibration
    (?:isnt|not) (?:really |exactly )?my (?:thing|area|field|forte|world|department|strong suit|
        cup of tea|job)
    i (?:did|wrote|finished) my (?:phd|masters|thesis|degree|dissertation|bachelors)
    the first [\w ]{{2,20}} i(?:ve)? ever
    i (?:mostly|mainly|usually|basically|really|pretty much) (?:live|work|think|code|write) in
    i (?:write|build|design|lay out|maintain|keep|own|teach|research|handle|draw|support|train|
        operate|do) (?:the |all the |our |all )?[\w ]{{2,30}} (?:around here|for (?:this|the|
        our) (?:team|company|lab|project|thing|group|product|place)|at work|at this company|
        in this (?:company|team)|alive(?: here)?)
    i (?:took|have taken|am taking) over (?:this|the) (?:project|repo|codebase|team|service)
    on my (?:machine|laptop|box)\b[^.?]*\b(?:usually|always|never|only|during)
    i (?:am|was) (?:responsible for|in charge of|on the hook for|trained as)
    i (?:work|trained|started(?: out)?) as an?; i used to (?:be|work|do|write)
    i (?:wrote|built|designed) the (?:original|first|initial|whole)\b[^.?]*\b(?:in 20\d\d|years ago)
    i was an? (?:\w+ )?{_ROLE}
    (?:formally |classically )?trained (?:as an?|in)
    (?:strong|weak|solid|fluent|rusty) in \w+
    never (?:did|done) (?:anything|much) (?:with|in)
    (?:is )?not something ive ever
    i only have\b[^.?]*\b(?:on this (?:machine|laptop)|at work)
    i (?:studied (?!the|this|that|your|it)|majored in|hold a|did a phd)
    (?:phd|degree|masters) in
    (?:im|i am) in \w+ \(?(?:utc|gmt|cet|cest|est|edt|pst|pdt|ist|jst|aest|time ?zone)\S*
    (?:i work|i live|im based|im located|i am based|i sit) (?:at|for|in|from|nights|remotely|
        part time|out of)
    my (?:background|day job|degree|main language|native language|first language|mother tongue|
        expertise|speciality|specialty|time ?zone|pronouns) (?:is|are|was)
    my (?:job|role|training) (?:here |now )?(?:is|was) (?!done|stuck|running|failing|missing|empty|
        wrong|to fix)\w+
    (?:is|are) my (?:mother tongue|home turf|comfort zone|daily driver|native \w+)
    (?:makes?|gives?) (?:me|my \w+) (?:cry|spin|hives|hurt|dizzy|nervous|sweat)
    (?:over my head|beyond me); (?:confuses?|scares?) me
    i (?:think|learn|work|read|understand) (?:better|best|faster) (?:with|in|from|when|if)
    i have an? (?:\w+ )?(?:degree|phd|diploma|background(?= in\b|[,.]|$))
    ik geef les; ich unterrichte; jenseigne; doy clases; dou aulas; insegno; преподаю; \w+ at heart
    i work (?:the )?(?:night|day|late|early) shifts?
    ^used to (?:be|work|write|do|run|teach|build)
    ^(?:typing|working|reading|coding) (?:on|from) [\w ]{{3,20}} (?:most of the time|mostly|usually|
        all day)
    grew up (?:on|with) \w+
    (?:im|i am) (?:from|in) (?:the )?(?:\w+ )?(?:engineering|sales|marketing|support|finance|ops|
        research|design|product|qa|hr|legal|accounting|academia)
    my name is (?!not|missing|wrong)\w+; (?:my )?background (?:is|in) (?!the)\w+
    (?:isnt|not) my (?:first|native) language
    my (?:laptop|machine|box|desktop|workstation) (?:has|runs|only|cant)
    i (?:come|came) from (?!the\b)(?:an? )?\w+
    coming (?:over )?from (?:an? |the |plain |years of )*[\w+#]+
    {_MANY}\+? (?:years|yrs|months|decades) (?:of|in|as|doing|writing|with) (?!data|logs|history|
        records|backups|the\b|this\b|a\b)\w+
    (?:ive|i have|been) (?:been )?(?:doing|writing|programming|coding|using|working (?:with|in|on)|
        building|teaching) [^,.]+ (?:for|since) (?:{_MANY}|over|about|years|\w+ years|the)
    (?:im |i am |am )?{_SOFTLY}new to (?!me\b|(?:this|that|the|these) (?!project|codebase|team|
        company|repo|language|stack))[\w+#.]+
    {_SOFTLY}new (?:territory |ground )?(?:to|for) me
    first (?:time|project|week|steps) (?:with|in|touching|using|doing|on) \w+
    (?:im |i am )?(?:learning|teaching myself) \w+
    my [\w+#.]+ (?:skills? )?(?:is|are) (?:a bit )?{_SOFTLY}{_SKILL}
    (?:a foreign language|greek|chinese|black magic|magic|a mystery|gibberish|a black box|
        a closed book|uncharted|all new|martian|alien|voodoo|rocket science|hieroglyphs|
        double dutch|neuland) (?:to|for|fur) (?:me|mich)
    i (?:know|speak|understand) (?:no|nothing|little|almost no|very little|only|mostly|zero|
        just enough)(?! about (?:this|that)\b)
    i have (?:zero|no|little|almost no) (?:experience|knowledge|background|training|clue about|
        intuition|idea about|feel for)
    (?:im|i am|am) {_SOFTLY}(?:weak|rusty|fluent|comfortable|comfy|at home|familiar|strong|
        experienced|clueless) (?:in|with|at|on|when it comes)
    (?:im|i am) {_SOFTLY}(?:good|bad|terrible|great) (?:in|with|at) (?!it\b|this\b|that\b)\w+
    where im (?:weak|lost|strong); (?:comfy|comfortable|fluent) in \w+
    (?:hopeless|useless|at home|decent|comfortable) with (?!the|this|that|it)\w+
    for a living; i \w+ (?:\w+ )?(?:all day|every day|day in); second nature to me; bread and butter
    in my sleep; assume (?:zero|no|little|i know|some)\b[\w ]*
    havent (?:touched|used|written) [\w+#]+ (?:since|in)
    i(?:ll)? (?:mostly|mainly|normally|only) (?:write|work|code|program|do|use|read|speak)
    last time i (?:shipped|wrote|used|touched|did) \w+
    i use a screen ?reader
    i cant (?:see|hear) \w+ \(?(?:blind|deaf)|i (?:\w+ )?know inside out|my (?:whole )?career
    i have (?:adhd|dyslexia|rsi|low vision|(?:bad|poor|weak) (?:eyes|eyesight|hearing)|a disability)
    i (?:did|studied|read) \w+(?: \w+)? at (?:uni|university|college|school|eth|mit)
    (?:im|i am|i live|i sit) in [\w ]{{3,25}} all day
    (?:im|i am) in \w+,? (?:and )?(?:the|my|our|everyone|everybody|most|rest)(?: \w+){{0,5}} (?:is|
        are|sits?|works?|live)
    my (?:brain|head|mind) (?:is|thinks|works)
    for my (?:masters?|bachelors?|phd|doctoral)? ?(?:thesis|dissertation|degree|course|class|
        portfolio)
    (?:im|i am) (?:[\w-]+ ){{0,2}}(?:colou?r ?-?blind|dyslexic|deaf|blind|left-?handed|
        visually impaired|hard of hearing|autistic|adhd)
    i (?:prefer|like|want|would like|d like) (?:\w+ ){{0,2}}(?:answers?|explanations?|replies|
        responses|examples|summaries|detail|analogies|bullet points|code over)
    call me \w+$
    i (?:think|work|live) in (?:\w+ )?(?:vim|emacs|excel|matlab|r|sql|python|rust|diagrams|pictures)
    i (?:use|write in) (?:vim|neovim|emacs|helix|vs ?code|jetbrains|nano)
    """),
    r"\b(?:ich bin|bin ich) (?:eine? |der |die |kein\w? |von beruf )?(?:\w+ ){0,2}\w*(?:entwickler"
    r"|ingenieur|analyst|wissenschaftler|designer|student|arzt|lehrer|leiter|administrator"
    r"|informatiker|physiker|biologe|mathematiker|anfanger|berater|forscher|techniker|tester"
    r"|redakteur|jurist)(?:in)?\b",
    r"\bje (?:suis|travaille (?:comme|en tant que|chez|dans)) (?!en train|sur|bloque|a\b|la\b"
    r"|desole|daccord|perdu)(?:un |une |le |la |pas )?\w+(?:eur|euse|iste|ien|ienne|ante?|ier"
    r"|iere|logue|ecte|chef|prof)\b",
    r"\b(?:yo )?soy (?:un |una |el |la )?\w+(?:or|ora|ista|ero|era|ologo|ologa|ente|fico|fica"
    r"|tico|tica|ante|nico|jefe|jefa)\b",
    r"\bsou (?:um |uma |o |a )?\w+(?:or|ora|ista|eiro|eira|ologo|ologa|ente|ante|logo|fico|fica)\b",
    r"\bsono (?:un |una |il |la )?\w+(?:ore|rice|ista|ologo|ologa|iere|iera|ente|ante|ico|ica)\b",
    rf"\b(?:ich bin|bin|je suis|(?:yo )?soy|sou|sono|ik ben|jestem) (?:\w+ ){{0,3}}{_ROLE}\b",
    r"\b(?:ik ben|ik werk als) (?:een |de )?\w+(?:er|eur|ist|oog|kundige|ent|aar|arts)\b"
    r"|\bjestem \w+(?:em|ka|ista|kiem)\b",
    r"(?:^|[,.!] ?)я (?:\w+ )?\w*(?:ист|чик|щик|лог|ер|ор|ик|тель|ант|ент)\b|\bработаю \w+(?:ом"
    r"|ем)\b",
    phrases(r"""
    ich kenne mich\b[^.?]*\b(?:nicht|kaum) aus
    ich (?:arbeite (?:als|bei|im|in)|komme aus de[rm]|habe (?:noch )?nie|kenne mich (?:nicht|kaum|
        gut)|leite|verantworte|bevorzuge|mag lieber)
    mein (?:hintergrund|beruf)
    (?:bin|ist) (?:noch )?(?:ganz )?neu (?:in|bei|fur mich)
    je (?:prefere|dirige|nai jamais|debute); cest nouveau pour moi
    (?:prefiero|prefiro|preferisco) \w+; pracuje jako
    (?:nunca|jamas) (?:he|mexi|usei|trabalhei|use|trabaje)
    vengo del? \w+; я предпочитаю; моя роль; я отвечаю за; раньше не (?:работал|писал)
    (?:trabalho|trabajo|lavoro|ik werk|работаю) (?:como|come|als|с) \w+
    llevo \w+ anos; faccio (?:il|la|lo|l)\w* ?\w+; me dedico a; je fais (?:du|de la|des) \w+ depuis
    capisco poco; entiendo (?:poco|casi nada|nada); comprends (?:rien|mal|peu); von beruf
    (?:snap|weet|begrijp) ik (?:weinig|niets|niks|niet veel)
    (?:ne )?so poco; sono alle prime armi
    je (?:ny )?connais (?:rien|peu|mal|pas)\b[^.?]*
    no se (?:nada|mucho|casi nada) de; (?:sei|entendo) (?:pouco|nada) de; (?:nie|slabo) znam sie na
    dopiero (?:ucze sie|zaczynam)
    (?:плохо|почти не|совсем не) (?:знаю|понимаю|разбираюсь)
    не разбираюсь; недавно (?:начал|программирую|учу); davon verstehe ich\b[^.?]*
    (?:kenne|weiss|verstehe) ich (?:wenig|kaum|nichts)
    (?:jahre|ans|anos|anni|jaar|lat|лет) (?:erfahrung|dexperience|de experiencia|di esperienza|
        ervaring|doswiadczenia|опыта)
    """),
    r"私は[^。]{1,20}(?:です|をしています)|\d+年(?:やって|使って|書いて|の経験|经验|的经验)|始めたばかり|初心者|初めて(?:です|使)|得意|苦手"
    r"|(?:エンジニア|開発者|デザイナー|研究者|学生)(?:です|で、|をして|なので)|触ったことがない|詳しくな|不慣れ",
    r"我是(?:一名|一个|个)?[^，。]{1,15}(?:师|员|生|者|家|经理|工)|我是(?:做|搞|学)[^，。]{1,12}的|我(?:做|写|用"
    r"|搞)[^，。]{1,12}年|第一次(?:写|用|做)|我(?:不太懂|不熟悉|熟悉|擅长|刚开始学)"
    r"|(?:不太?熟|没用过|没学过|新手|刚接触|刚开始[用学])",
    r"(?:저는|제가|나는)[^.]{0,30}(?:개발자|엔지니어|디자이너|학생|연구원|분석가|기획자|관리자|과학자|년차|전공)"
    r"|처음(?:입니다|이에요|이라|써)|잘 (?:모릅|모르|몰라)|익숙하지|서툴|초보",
)
