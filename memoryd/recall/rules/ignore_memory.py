"""Whether a prompt asks for an answer without memory."""

import re
from typing import Final

from memoryd.text.lazy_regex import late

_MEMORY: Final = r"(?:your |the |any |all )?(?:memor(?:y|ies)|notes? from memory)"
_IGNORES: Final = late(
    rf"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget about|leave out|skip|without(?: using)?"
    rf"|don'?t (?:use|look at|consult|rely on)|do not (?:use|look at|consult|rely on)) {_MEMORY}\b"
    r"|\b(?:don'?t|do not) use what you (?:remember|know about me)\b"
    r"|\bignor(?:e|ing) what you remember\b|\b(?:as if|pretend) you (?:had|have) no memory\b"
    r"|\bohne (?:dein )?ged[äa]chtnis\b|\bignorier\w* (?:dein |das )?ged[äa]chtnis\b"
    r"|\bsin (?:usar )?(?:tu |la )?memoria\b|\bignora (?:tu |la )?memoria\b"
    r"|\bsans (?:utiliser )?(?:ta |la )?m[ée]moire\b|\bignore ta m[ée]moire\b"
    r"|\b(?:nutze|benutze|verwende) (?:bitte )?nicht,? was du (?:dir gemerkt hast|noch wei[ßs]t)\b"
    r"|\bno uses (?:lo que recuerdas|tu memoria)\b"
    r"|\bn'utilise pas (?:ce dont tu te souviens|ta m[ée]moire)\b"
    r"|\b(?:ignora|senza (?:usare )?)\s?(?:la )?tua memoria\b"
    r"|\b(?:ignore|ignora|sem (?:usar )?)\s?(?:a )?(?:tua|sua) mem[óo]ria\b"
    r"|\b(?:negeer|zonder) je geheugen\b"
    r"|\b(?:zignoruj swoj[ąa] pami[ęe][ćc]|bez (?:u[żz]ycia )?(?:swojej )?pami[ęe]ci)\b"
    r"|\b(?:не используй (?:свою )?память|игнорируй (?:свою )?память|без (?:своей )?памяти)\b"
    r"|(?:記憶|メモリ)(?:は|を)?(?:使わ|無視し|見)(?:ないで|て)"
    r"|(?:不要|别|請不要|请不要)(?:使用|用)(?:你的)?(?:记忆|記憶)|(?:忽略|忽视)(?:你的)?(?:记忆|記憶)",
    re.IGNORECASE,
)
# "It runs without memory" is about a program: what follows the word tells.
_OF_A_PROGRAM: Final = late(
    rf"{_MEMORY}\s+(?:leaks?|limits?|errors?|usage|allocation|pressure|pool|safety|mapped|map|cells?"
    r"|access|barriers?|management|footprint|issues?|warnings?|problems?|constraints?)\b",
    re.IGNORECASE,
)


def asks_to_ignore_memory(prompt: str) -> bool:
    """Silence for this prompt: the person said so."""
    found = _IGNORES.search(prompt)
    return found is not None and not _OF_A_PROGRAM.search(prompt, found.start())
