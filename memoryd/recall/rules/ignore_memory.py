"""Whether a prompt asks for an answer without memory."""

import re
from typing import Final

_MEMORY: Final = r"(?:your |the |any |all )?(?:memor(?:y|ies)|notes? from memory)"
_IGNORES: Final = re.compile(
    rf"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget about|leave out|skip|without(?: using)?"
    rf"|don'?t (?:use|look at|consult|rely on)|do not (?:use|look at|consult|rely on)) {_MEMORY}\b"
    r"|\b(?:don'?t|do not) use what you (?:remember|know about me)\b"
    r"|\bignor(?:e|ing) what you remember\b|\b(?:as if|pretend) you (?:had|have) no memory\b"
    r"|\bohne (?:dein )?ged[äa]chtnis\b|\bignorier\w* (?:dein |das )?ged[äa]chtnis\b"
    r"|\bsin (?:usar )?(?:tu |la )?memoria\b|\bignora (?:tu |la )?memoria\b"
    r"|\bsans (?:utiliser )?(?:ta |la )?m[ée]moire\b|\bignore ta m[ée]moire\b",
    re.IGNORECASE,
)
# "It runs without memory" is about a program: what follows the word tells.
_OF_A_PROGRAM: Final = re.compile(
    rf"{_MEMORY}\s+(?:leaks?|limits?|errors?|usage|allocation|pressure|pool|safety|mapped|map|cells?"
    r"|access|barriers?|management|footprint|issues?|warnings?|problems?|constraints?)\b",
    re.IGNORECASE,
)


def asks_to_ignore_memory(prompt: str) -> bool:
    """Silence for this prompt: the person said so."""
    found = _IGNORES.search(prompt)
    return found is not None and not _OF_A_PROGRAM.search(prompt, found.start())
