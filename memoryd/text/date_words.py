"""The words for days, months and spans of time in several languages, as data.

Every word is in the form that `prose.plain` gives: lower case, Latin accents folded. A word that
means something else in another of the languages is left out ("hier", "среда"), or is only matched
beside a word that makes it clear.
"""
# ruff: noqa: RUF001 - Cyrillic letters and dashes are what these tables are about

import re
from collections.abc import Iterable

from memoryd.text.lazy_regex import late

WEEKDAYS: dict[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "monday montag lundi lunes lunedi maandag segunda-feira poniedzialek понедельник",
            "tuesday dienstag mardi martes martedi dinsdag terca-feira wtorek вторник",
            "wednesday mittwoch mercredi miercoles mercoledi woensdag quarta-feira srode среду",
            "thursday donnerstag jeudi jueves giovedi donderdag quinta-feira czwartek четверг",
            "friday freitag vendredi viernes venerdi vrijdag sexta-feira piatek пятница пятницу",
            "saturday samstag sonnabend samedi sabado sabato zaterdag sobota sobote субботу",
            "sunday sonntag dimanche domingo domenica zondag niedziela niedziele воскресенье",
        )
    )
    for word in words.split()
}

# These have other meanings ("sat", "segunda"): matched only after "on", "next" and the like.
SHORT_WEEKDAYS: dict[str, int] = {
    word: number
    for number, words in enumerate(
        ("mon segunda", "tue tues terca", "wed quarta", "thu thur thurs quinta", "fri sexta", "sat")
    )
    for word in words.split()
} | {"sun": 6}

MONTHS: dict[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "january januar janvier enero janeiro gennaio januari stycznia января",
            "february februar fevrier febrero fevereiro febbraio februari lutego февраля",
            "march marz maerz mars marzo marco maart marca марта",
            "april avril abril aprile kwietnia апреля",
            "may mai mayo maio maggio mei maja мая",
            "june juni juin junio junho giugno czerwca июня",
            "july juli juillet julio julho luglio lipca июля",
            "august aout agosto augustus sierpnia августа",
            "september septembre septiembre setembro settembre wrzesnia сентября",
            "october oktober octobre octubre outubro ottobre pazdziernika октября",
            "november novembre noviembre novembro listopada ноября",
            "december dezember decembre diciembre dezembro dicembre grudnia декабря",
        ),
        1,
    )
    for word in words.split()
}

# Matched only beside the number of a day.
SHORT_MONTHS: dict[str, int] = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8,
    "sep": 9, "sept": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12,
}  # fmt: skip

DAY_WORDS: dict[str, int] = {
    word: offset_days
    for offset_days, words in (
        (
            0,
            "today,heute morgen,heute,aujourd'hui,hoy,hoje,oggi,vandaag,dzis,dzisiaj,сегодня",
        ),
        (1, "tomorrow,tomorow,tmrw,morgen,demain,manana,amanha,domani,jutro,завтра"),
        (2, "the day after tomorrow,day after tomorrow,ubermorgen,apres-demain,pasado manana"),
        (2, "depois de amanha,dopodomani,overmorgen,pojutrze,послезавтра"),
        (-1, "yesterday,gestern abend,gestern,ayer,ontem,ieri,gisteren,wczoraj,вчера"),
        (-2, "the day before yesterday,vorgestern,avant-hier,anteayer,anteontem,eergisteren"),
    )
    for word in words.split(",")
}

NUMBERS: dict[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "a an one ein eine einem einer einen un une una um uma een uno jeden одну один",
            "two zwei deux dos dois duas due twee dwa dwie два две",
            "three drei trois tres tre drie trzy три",
            "four vier quatre cuatro quatro quattro cztery четыре",
            "five funf cinq cinco cinque vijf piec пять",
            "six sechs seis sei zes szesc шесть",
            "seven sieben sept siete sete sette zeven siedem семь",
            "eight acht huit ocho oito otto osiem восемь",
            "nine neun neuf nueve nove negen dziewiec девять",
            "ten zehn dix diez dez dieci tien dziesiec десять",
        ),
        1,
    )
    for word in words.split()
} | {
    word: number
    for number, words in (
        (11, "eleven elf onze once undici jedenascie одиннадцать"),
        (12, "twelve zwolf douze doce doze dodici twaalf dwanascie двенадцать"),
        (14, "fourteen vierzehn quatorze catorce quattordici veertien czternascie четырнадцать"),
        (15, "fifteen funfzehn quinze quince quindici vijftien pietnascie пятнадцать"),
        (20, "twenty zwanzig vingt veinte vinte venti twintig dwadziescia двадцать"),
        (30, "thirty dreissig trente treinta trinta trenta dertig trzydziesci тридцать"),
    )
    for word in words.split()
}

# How many days and months one of each unit is.
UNITS: dict[str, tuple[int, int]] = {
    word: size
    for size, words in (
        ((1, 0), "day days tag tage tagen jour jours dia dias giorno giorni dag dagen dzien dni"),
        ((1, 0), "день дня дней"),
        ((7, 0), "week weeks wk wks woche wochen semaine semaines semana semanas settimana"),
        ((7, 0), "settimane weken tydzien tygodnie tygodni неделю недели недель"),
        ((14, 0), "fortnight fortnights"),
        ((0, 1), "month months monat monate monaten mois mes meses mese mesi maand maanden"),
        ((0, 1), "miesiac miesiace miesiecy месяц месяца месяцев"),
        ((0, 12), "year years jahr jahre jahren an ans ano anos anno anni jaar rok lata год года"),
    )
    for word in words.split()
}

# The span of time in "next ..." and "end of ...".
SPANS: dict[str, str] = {
    word: span
    for span, words in (
        ("week", "week woche semaine semana settimana tygodniu неделе недели"),
        ("month", "month monat monats mois mes mese maand miesiacu miesiaca месяце месяца"),
        ("quarter", "quarter quartal quartals trimestre kwartaal"),
        ("year", "year jahr jahres annee ano anno jaar roku году года"),
    )
    for word in words.split()
}

NEXT = (
    r"next|coming|nachste[nrms]?|naechste[nrms]?|kommende[nrms]?|prochaine?|proxim[oa]|prossim[oa]"
    r"|volgende|komende|przyszl\w+|nastepn\w+|следующ\w+"
)
NEXT_BEHIND = r"prochaine?|proxim[oa]|prossim[oa]|que viene|que vem"
LAST = r"last|letzte[nrms]?|vorige[nrms]?|afgelopen|zeszl\w+|прошл\w+"
LAST_BEHIND = r"derniere?|pasad[oa]|passad[oa]|scors[oa]"
THIS = r"this|diese[nrms]?|dieses|cette|ce|este|esta|questo|questa|deze|dit|ten|tym|этой?|эту"
SINCE = r"since|seit|depuis|desde|dal|sinds|od|с"
EVERY = (
    r"every|each|any|most|black|good|always|never|usually|normally|jeden|jede[rn]?|immer|nie"
    r"|chaque|toujours|jamais|cada|todos|todas|siempre|nunca|sempre|ogni|elke|altijd|nooit|kazdy"
    r"|kazda|zawsze|nigdy|кажд\w+|всегда|никогда"
)
AHEAD = r"in|dans|dentro de|em|daqui a|tra|fra|za|через"
AGO_BEFORE = r"vor|il y a|hace|ha"
AGO_BEHIND = r"ago|fa|geleden|temu|назад"
END = (
    r"(?:the )?end of|by the end of|ende|la fin d[eu]|fin d[eu]l?|fin|final(?:es)? del?|fim d[oea]"
    r"|final d[oea]|fine del|fine|eind(?:e)? van|eind|koniec|konca|конца|конце|концу"
)
START = (
    r"(?:the )?(?:start|beginning) of|anfang|debut|principios? del?|inicio d[oea]l?|inizio"
    r"|begin(?: van)?"
)
MONTH_PREPOSITIONS = (
    r"in|by|for|until|till|before|after|from|since|im|bis|ab|seit|vor|en|avant|depuis|desde|hasta"
    r"|em|ate|entro|da|voor|vanaf|tot|early|mid|late|anfang|mitte|mi-|debut"
)
YEARLY = late(
    r"\b(?:every|each|always|usually|yearly|annual(?:ly)?|fiscal|financial|season|school year)\b"
)
# English only: whether a day without a year has passed shows in the verb before it.
PAST_VERB = late(
    r"\b(?:was|were|had|did|went|got|left|began|wrote|built|ran|sold|lost|held|took|made|met|bought"
    r"|(?!need|feed|seed|speed|embed|exceed|proceed|indeed)\w{2,}ed)\b"
)
NOT_PAST = late(
    r"\b(?:is|are|be|being|will|shall|must|should|can|may|has to|have to|needs? to|due|planned)\b"
    # What was arranged is still to come.
    r"|\b(?:moved|postponed|pushed|delayed|extended|rescheduled|scheduled|agreed|decided|promised"
    r"|wanted|changed|set)\b"
)
FUTURE_VERB = late(
    r"\b(?:is|are|will be|starts|begins|ends|opens|closes|launches|happens|comes|goes \w+|moved"
    r"|postponed|ist|sind|beginnt|startet|es|sera|est|sono|e)"
    r"(?: (?:due|planned|scheduled|auf|am))?(?: (?:on|in|at|by|the|to|den|le|el|il|no|dia))*\s*$"
)
# "The first Monday of the month" comes again.
NTH_OF_EACH = late(
    r"\b(?:first|second|third|fourth|last|every|each|ersten?|letzten?|primer|premier) \w+"
    r" (?:of|im|des|del|du) (?:the |each |every |cada |chaque )?(?:month|year|quarter|week|monat"
    r"|mes|mois)"
)
DAY_PREPOSITIONS = r"on|by|until|till|before|after|from|since|starting|due|beyond"
WHOLE_OF = r"(?:the|this|this coming|des|der|dieses|dieser|ce|este|de|deze|tego|этого|этой)"

IDEOGRAPH_NUMBERS: dict[str, int] = {c: n for n, c in enumerate("一二三四五六七八九十", 1)} | {
    "两": 2
}
IDEOGRAPH_WEEKDAYS: dict[str, int] = (
    {c: n for n, c in enumerate("月火水木金土日")}
    | {c: n for n, c in enumerate("一二三四五六")}
    | {"天": 6}
)
IDEOGRAPH_DAYS: dict[str, int] = {
    "今日": 0, "今天": 0, "本日": 0, "明日": 1, "明天": 1, "明後日": 2, "后天": 2, "後天": 2,
    "昨日": -1, "昨天": -1, "前天": -2, "一昨日": -2,
}  # fmt: skip


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted((re.escape(word) for word in words), key=len, reverse=True))


def _whole(pattern: str) -> re.Pattern[str]:
    """The pattern at word boundaries, not inside a version or path, not after an ISO date."""
    return late(rf"(?<![\w./-])(?<!-\d\d )(?<!-\d\d \()(?:{pattern})(?![\w/%]|[-.:]\w)")


_WEEKDAY = rf"(?P<weekday>{_either(WEEKDAYS)})"
_ANY_WEEKDAY = rf"(?P<weekday>{_either(WEEKDAYS | SHORT_WEEKDAYS)})"
_NUMBER = rf"(?P<number>\d{{1,3}}|{_either(NUMBERS)})"
_UNIT = rf"(?P<unit>{_either(UNITS)})"
_SPAN = rf"(?P<span>{_either(SPANS)})"
_WHICH_SPAN = (
    rf"(?:(?P<next>{NEXT}) |(?P<last>{LAST}) "
    rf"|(?:{WHOLE_OF}) )?{_SPAN}(?: (?P<next_behind>{NEXT_BEHIND}))?"
)
_MONTH = rf"(?P<month>{_either(MONTHS)})"
_ANY_MONTH = rf"(?P<month>{_either(MONTHS | SHORT_MONTHS)})\.?"
_DAY = r"(?P<mday>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th|er|\.)?"
_YEAR = r"(?:,? (?:de )?(?P<year>20\d\d))?"
_SINCE = rf"(?:(?P<since>{SINCE}) )?"
_NEXT_WEEK = (
    r"next week|nachste[rn]? woche|kommende[rn]? woche|la semaine prochaine|semaine prochaine"
    r"|volgende week|la semana que viene|(?:la )?proxima semana|semana que vem"
    r"|(?:la )?settimana prossima"
)

_NO_DATE_BEHIND = rf"(?!,? (?:the )?\d|,? (?:{_either(MONTHS | SHORT_MONTHS)})\b| \(\d)"

DAY_WORD = _whole(
    r"(?<!guten )(?<!heute )(?<!am )(?<!jeden )(?<!gestern )(?<!la )(?<!esta )(?<!cada )"
    rf"(?P<elided>d')?(?P<day>{_either(DAY_WORDS)})(?:'?s)?"
)
TONIGHT = _whole("tonight")
WEEKDAY_OF_WEEK = tuple(
    _whole(pattern)
    for pattern in (
        rf"{_WEEKDAY} (?:of |de |der |in der |in )?(?:{_NEXT_WEEK}|(?P<this>this week))",
        rf"(?:{_NEXT_WEEK}|(?P<this>this week)) (?:on |am |op )?{_WEEKDAY}",
    )
)
WEEKDAY_AFTER_NEXT = _whole(rf"(?:the )?{_WEEKDAY} after next")
WEEKDAY_IN_WEEKS = _whole(rf"{_WEEKDAY} in {_NUMBER} (?:weeks|wochen|weken)(?:'? time)?")
WEEKDAY_MARKED = tuple(
    _whole(pattern)
    for pattern in (
        (
            rf"(?:(?:the|el|la|il) )?(?:(?P<next>{NEXT})|(?P<last>{LAST})"
            rf"|(?P<this>{THIS})) {_ANY_WEEKDAY}(?:'s)?"
        ),
        (
            rf"(?:el )?{_ANY_WEEKDAY} (?:(?P<next_behind>{NEXT_BEHIND})"
            rf"|(?P<last_behind>{LAST_BEHIND}))"
        ),
    )
)
WEEKDAY_ALONE = tuple(
    _whole(pattern)
    for pattern in (
        (
            rf"{_SINCE}(?<!\ble )(?<!\bil )(?<!\blos )"
            rf"(?P<core>(?:el )?{_WEEKDAY}(?:'s)?){_NO_DATE_BEHIND}"
        ),
        (
            rf"(?:(?P<since>since)|{DAY_PREPOSITIONS}"
            rf"|ate) (?P<core>(?P<weekday>{_either(SHORT_WEEKDAYS)})){_NO_DATE_BEHIND}"
        ),
    )
)
OFFSET = tuple(
    _whole(pattern)
    for pattern in (
        rf"(?<!once )(?<!times )(?<!twice )(?:{AHEAD}) {_NUMBER} {_UNIT}(?:'? time)?(?! or\b)",
        r"(?:через|za) (?P<unit>неделю|месяц|год|tydzien|miesiac|rok)",
        (
            r"over (?P<number>een|twee|drie|vier|vijf|zes|\d{1,2}) (?P<unit>dagen|week|weken|maand"
            r"|maanden)"
        ),
        (
            r"en (?P<number>una?|dos|tres|cuatro|cinco|seis|diez|\d{1,2}) (?P<unit>dias|semanas?"
            r"|mes|meses)"
        ),
        (
            rf"{_NUMBER} {_UNIT} (?:from|after|ab|a partir de|vanaf) (?:now"
            rf"|(?P<from>{_either(DAY_WORDS)}))"
        ),
        rf"{_NUMBER} (?P<unit>weeks?|days?) (?:from|after|on) {_WEEKDAY}",
        rf"{_NUMBER} {_UNIT} (?P<ago>{AGO_BEHIND})",
        rf"(?P<ago>{AGO_BEFORE}) {_NUMBER} {_UNIT}",
    )
)
SPAN = tuple(
    _whole(pattern)
    for pattern in (
        (
            rf"(?:(?:the|la|el|il|le|l') ?)?(?:(?P<next>{NEXT})|this"
            rf"|(?<!the )(?<!over )(?P<last>{LAST})) {_SPAN}(?:'s)?"
        ),
        (
            rf"(?:(?:la|el|il|le) )?{_SPAN} (?:(?P<next_behind>{NEXT_BEHIND})"
            rf"|(?P<last_behind>{LAST_BEHIND}))"
        ),
    )
)
# In Romance languages "the end of week" is the weekend, which is not a day.
END_OF_SPAN = _whole(rf"(?:{END}) (?!(?:{WHOLE_OF} )?(?:semaine|semana|settimana)\b){_WHICH_SPAN}")
START_OF_SPAN = _whole(rf"(?:{START}) {_WHICH_SPAN}")
SPAN_END_WORD = tuple(
    _whole(pattern)
    for pattern in (
        r"eo(?P<initial>[wmqy])",
        r"(?P<initial>[mqyj])(?:onth|uarter|ear|onats|uartals|ahres)(?:'s)?[- ]?ende?",
    )
)
MONTH_DAY = tuple(
    _whole(pattern)
    for pattern in (
        (
            rf"{_SINCE}(?P<core>{_ANY_MONTH} (?:the )?{_DAY}(?: ?(?:-|–|to"
            rf"|until) ?(?P<until>[12]\d|3[01]|0?[1-9])(?:th)?)?{_YEAR})"
        ),
        (
            rf"{_SINCE}(?P<core>(?:(?:the|le|el|il|den|dem|der) )?{_DAY} (?:of |de |di "
            rf"|d')?{_ANY_MONTH}{_YEAR})"
        ),
    )
)
NUMBERED_DAY_AND_MONTH = _whole(
    r"(?:am|ab|vom|bis|zum|(?P<since>seit)"
    r"|bis zum) (?P<core>(?P<mday>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>20\d\d)?)"
)
MONTH_ALONE = tuple(
    _whole(pattern)
    for pattern in (
        rf"(?:(?P<since>{SINCE})|{MONTH_PREPOSITIONS}) (?P<core>{_MONTH})(?!\.? \d)",
        rf"(?:(?P<next>next)|(?P<last>last)|this) {_MONTH}(?!\.? \d)",
    )
)
END_OF_MONTH = _whole(rf"(?:{END}) {_MONTH}{_YEAR}")
NTH = _whole(
    rf"(?:(?P<since>since)"
    rf"|{DAY_PREPOSITIONS}) (?P<core>(?:(?:{_either(WEEKDAYS)}),? )?the (?P<mday>[12]\d|3[01]"
    rf"|[1-9])(?:st|nd|rd|th))"
    r"(?=\s*(?:[,.;:!?)]|$|(?:and|or|but|so|we|i|it|at|for|because|since|is|are|when|the|as|its|if"
    r"|then|on|onwards?|until|to|with|in|my|our|he|she|they|you)\b))"
)
QUARTER = _whole(
    rf"(?:(?P<since>since)|{MONTH_PREPOSITIONS}|for|during"
    rf"|over) (?P<core>q(?P<quarter>[1-4]))(?! ?(?:of )?'?\d\d)"
)
END_OF_QUARTER = _whole(rf"(?:{END}) q(?P<quarter>[1-4]){_YEAR}")

# Months that are also verbs: "session 1 may be slow", "you may 2 or 3 times".
VERBS = frozenset({"may", "march"})
BEFORE_A_DAY = late(
    r"(?:^|[^\w\s]\s*|\b(?:on|by|until|till|before|after|from|since|for|of|to|and|or|due|the|this"
    r"|next"
    r"|last|starting|starts?|is|was|at|around|about|begins?|ends?|through)\s+)$"
)
BEFORE_A_VERB = late(
    r"\b(?:i|you|we|they|he|she|it|that|this|these|those|which|who|one|some|there)\s+$"
)
BEHIND_A_VERB = late(r"\s+(?:be|have|not|also|still|need|well|fail|never|only|take|get|do)\b")

HABIT = late(rf"\b(?:{EVERY})\b|\bno [\w ]{{2,30}}\bon\b")
WEEKDAY_RANGE = late(
    rf"\b(?:{_either(WEEKDAYS | SHORT_WEEKDAYS)}) ?(?:-|–|to|through|thru|bis|a|au"
    rf"|t/m) ?(?:{_either(WEEKDAYS | SHORT_WEEKDAYS)})\b"
)

IDEOGRAPH_DAY = late(_either(IDEOGRAPH_DAYS))
IDEOGRAPH_WEEKDAY = tuple(
    late(pattern)
    for pattern in (
        r"(?<!第)(?<!第\d)(?<![毎各])(?<![毎各]週)(?:(?P<next>来週)|今週)?の?(?P<weekday>[月火水木金土日])曜日?",
        r"(?<![每第])(?:(?P<next>下)|这|本)?个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])",
    )
)
IDEOGRAPH_OFFSET = late(
    rf"(?P<number>\d{{1,3}}|[{''.join(IDEOGRAPH_NUMBERS)}])(?P<unit>日間?|天|週間|周|か月|ヶ月|个月|年)"
    r"(?P<way>後|之?后|以后|前)"
)
IDEOGRAPH_MONTH_DAY = late(
    r"(?<![\d年])(?P<month>1[0-2]|[1-9])月(?P<mday>[12]\d|3[01]|[1-9])[日号]"
)
IDEOGRAPH_MONTH_END = late(r"(?:(?P<next>来月|下个?月)|今月|本月|这个?月)?の?(?:月?末|月?底)(?!\w)")
