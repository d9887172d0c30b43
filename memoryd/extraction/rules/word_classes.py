"""Which words of a sentence carry its meaning, which only join, and which deny.

What must change together: a word that denies must not be among those that join, or a denial could
be dropped unseen.
"""
# ruff: noqa: RUF001 - Cyrillic and wide letters are what is meant

from functools import cache

from memoryd.text.terms import STOP_WORDS

# They say in which direction a rule points, so they are compared like any word of substance.
DIRECTIONS = frozenset(
    {"before", "after", "until", "over", "under", "above", "below", "from", "into", "than", "more"}
    | {"most"}
)

# What they deny is what follows, up to the end of the clause.
DENYING = frozenset(
    """
    no not never none nobody nothing neither nor without cannot cant dont doesnt didnt wont wouldnt
    shouldnt isnt arent wasnt werent havent hasnt hadnt couldnt mustnt neednt aint stop stops
    stopped avoid avoids avoided avoiding refrain hate hates off quit against hardly rarely wrong
    dangerous forbid forbids forbidden ban bans banned prohibit prohibited
    ohne weder sans sin ni sem senza zonder bez без нет
    不 别 別 没 勿 无 無
    """.split()  # noqa: SIM905 - several lines instead of a hundred
)
# What they deny is the whole clause, as their place in it varies.
DENYING_ALL = frozenset(
    """
    kein keine keinen keinem keiner keines aucun aucune ningun ninguna nenhum nenhuma nessun nessuna
    geen nicht nie niemals nix pas jamais rien nunca jamas nada nao non mai niet nooit nigdy не
    никогда нельзя
    """.split()  # noqa: SIM905 - as above
)
# Japanese denies what comes before; the first ones end a clause as well.
DENYING_BEFORE = ("ではなく", "じゃなく", "でなく", "ない", "なく", "ません", "ずに")

# Behind a form of "be", as in "mocks are not used" or "cannot be", a denial reaches back as well.
DENYING_PASSIVE = frozenset({"not", "never", "isnt", "arent", "wasnt", "werent", "cannot", "cant"})
FORMS_OF_BE = frozenset({"is", "are", "was", "were", "be", "been", "being"})

# These open a clause of their own: "deploy without asking" denies only the asking.
DENYING_APART = frozenset({"without", "ohne", "sans", "sin", "sem", "senza", "zonder", "bez"})

# A rule keeps its exception, or it is another rule.
EXCEPTIONS = frozenset(
    {"unless", "except", "excluding", "ausser", "sauf", "salvo", "excepto", "tranne", "behalve"}
    | {"oprocz", "кроме"}
)

# A new clause begins here, and with it another denial or none.
CLAUSE_OPENERS = frozenset(
    """
    but because since instead rather whereas while so if when whenever unless except before after
    until then who
    aber sondern weil wenn falls damit denn mais parce quand si pero sino porque cuando
    ma perche quando maar omdat als ale bo но а
    """.split()  # noqa: SIM905 - as above
)
ADDING = frozenset({"and", "und", "et", "y", "e", "en", "i", "и"})
LISTING = frozenset({"or", "nor", "oder", "noch", "ou", "ni", "o", "of", "lub", "или"})

POINTING = frozenset(
    {"it", "that", "this", "them", "those", "these", "one", "ones", "there", "das", "dies"}
    | {"cela", "lo", "eso", "esto", "isso", "questo", "dat"}
)
# How people begin before they say what they want; nobody else is named by them.
BEGINNINGS = frozenset(
    """
    important importantly next after favour favor remark point sake time times back forth decide
    decided agree agreed notice noticed saw seen repeat ask asked told tell said say mention
    mentioned think thought believe realize realized more tired sick remind reminder request
    question quick small little first second finally lastly long story short hello everyone
    careful idea wichtig mal ubrigens importante
    """.split()  # noqa: SIM905 - as above
)
# What stands behind one of these does not change places with what stands before it.
LINKING = frozenset(
    {"to", "for", "with", "by", "on", "in", "at", "as", "zu", "nach", "mit", "fur", "von"}
    | {"auf", "in", "a", "pour", "avec", "par", "con", "para", "por", "com", "per", "naar"}
)

_JOINING = """
    aber als am an auch auf aus bei bin bis bitte da damit dann das dass dein deine dem den denn der
    des die dir doch du durch ein eine einem einen einer eines er es euch fur hat habe haben hier
    ich ihr im in ist ja kann man mehr mein meine mich mir mit nach noch nur oder schon sein sich
    sie sind so uber um und uns unser unsere unter vom von vor war was weil wenn wer werden wie wir
    wird wurde wo zu zum zur immer ab jetzt lieber bist lasse lassen
    au aux avec ca ce ces cette dans de des donc du elle en est et eux il ils je la le les leur lui
    ma mais me mes moi mon ne n nos notre nous on ou par pour plus qu que qui quoi sa se ses si son
    sont sur ta te tes toi ton tous tout tres tu un une vos votre vous toujours d l j s c m t plait
    soit suis desormais
    al algo como con cuando del desde donde el ella ellos entre era es esta estoy este esto hay la
    las lo los mas mi mis muy nos o para pero por porque que quien quiero se ser si sobre soy su sus
    tambien te tiene tu un una uno y ya yo siempre favor partir ahora a van va
    ao aos com da das do dos e ela ele em eu foi isso isto ja mas meu minha na nas no nos os ou para
    pela pelo por que sao se seu sua tem um uma voce sempre
    agli alla anche che chi ci come con dal della di e gli ha il io la le lo ma mi nel nella noi per
    piu quando questo se sei si sono su suo ti tra tu un una vi sempre
    aan ben bij dat de deze die dit dus een en er had heb het hij ik in is je kan maar me met mij
    mijn na naar nog nu of om onze ook op over te toch tot uit van veel voor want wat we wel wij
    zich zij zijn zo altijd
    ale by byl co czy dla do i ich ja jak jest jestem juz kiedy lub ma mi mnie na od oraz po pod
    przez sa sie ta tak tam te tego ten to tu tylko w we wiec z za ze zawsze
    и в на я что он с как это по но мы вы к у за из же то бы так все от для о или если ты мне меня
    есть уже только да при до чтобы когда всегда
    的 了 都 再 请 請 吧 我 你 您 们 們 就 也 很 要 把 在 是 和 会 會 后 後 以 今 私 僕 必 絶 対 下
"""
FOREIGN_JOINING = frozenset(_JOINING.split())
# What any note is worded with, and what people chat with.
_OF_ANY_NOTE = """
    always ever only use uses using used please pls plz must should shall need needs want wants
    wanted prefer prefers preferred preferring like likes liked remember keep keeps kept note notes
    memory person persons people user users agent assistant rule apply applies why how when
    whenever make makes made sure let lets new do does go goes going gone get gets got given give
    reason every each everywhere all any across general generally forward today now
    can could would may might will ok okay btw fyi hey hi thanks thank thx yes yeah yep hmm well
    honestly actually really pretty much very quite just also too again right exactly good nice fine
    sure look thing things im ive id youre thats theyre its whats lets u ur sir way ever though
    preference preferences convention conventions since hence thus therefore
    immer prefiere prefere bevorzugt wunscht usar usa usad utiliser utilise verwenden verwende
    benutzen benutze nutzen nutze
"""


# Words of some language that only join, and in English names of things.
_NAMES = frozenset({"own", "jest", "nas"})


@cache
def joining() -> frozenset[str]:
    """Words that may be dropped or added without a change of meaning."""
    words = STOP_WORDS | set(_JOINING.split()) | set(_OF_ANY_NOTE.split())
    return frozenset(words - DENYING - DENYING_ALL - DIRECTIONS - EXCEPTIONS - _NAMES)


IRREGULAR = {
    form: verb
    for verb, forms in {
        "write": "wrote written writes", "run": "ran runs", "tell": "told", "say": "said says",
        "send": "sent", "build": "built", "break": "broke broken", "take": "took taken",
        "find": "found", "leave": "left", "lose": "lost", "know": "knew known",
        "hide": "hid hidden", "choose": "chose chosen", "speak": "spoke spoken",
        "buy": "bought", "think": "thought",
        "teach": "taught", "show": "shown", "see": "saw seen", "begin": "began begun",
        "hold": "held", "meet": "met", "pay": "paid", "spend": "spent", "bite": "bit bitten",
        "grow": "grew grown", "fall": "fell fallen", "come": "came", "mean": "meant",
        "overwrite": "overwrote overwritten", "throw": "threw thrown", "draw": "drew drawn",
        "catch": "caught", "sell": "sold", "mettre": "mets met mettez mis", "faire": "fais faites",
        "lire": "lis lisez", "dire": "dis dites", "lesen": "lese liest lies", "geben": "gib gibt",
        "nehmen": "nimm nimmt", "poner": "pon ponga", "hacer": "haz haga", "tener": "ten tenga",
    }.items()
    for form in forms.split()
}  # fmt: skip
SPELT_OUT = {
    "dev": "developer", "devs": "developer", "repo": "repository", "repos": "repository",
    "db": "database", "config": "configuration", "configs": "configuration",
    "docs": "documentation", "doc": "documentation", "pr": "pull request",
    "prs": "pull request", "env": "environment",
    "prod": "production", "deps": "dependency", "dep": "dependency", "k8s": "kubernetes",
    "js": "javascript", "ts": "typescript", "py": "python", "msg": "message", "msgs": "message",
    "info": "information", "app": "application", "apps": "application", "mins": "minute",
    "hrs": "hour", "secs": "second", "u": "you", "ur": "your", "bc": "because", "cuz": "because",
    "b4": "before", "ppl": "people", "thats": "that", "gonna": "will", "wanna": "want",
    "gotta": "must", "cannot": "not", "mon": "monday", "tue": "tuesday", "wed": "wednesday",
    "thu": "thursday", "fri": "friday", "sat": "saturday", "colour": "color", "colours": "color",
    "behaviour": "behavior", "licence": "license", "licences": "license", "postgresql": "postgres",
}  # fmt: skip
_COUNTED = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty
"""
NUMBERS = {word: str(value) for value, word in enumerate(_COUNTED.split())} | {
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "hundred": "100",
}
# Words of a title that names a subject and says nothing about it.
LABELS = frozenset(
    """
    style format formatting naming name names layout language policy setup workflow background role
    tool tools choice habit habits rules guideline guidelines order length place location access
    work code project team address colours colors output date dates time
    """.split()  # noqa: SIM905 - as above
)
