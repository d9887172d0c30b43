"""Regular expressions that are compiled at their first use.

Compiling takes up to a few milliseconds each, there are hundreds of them, and the daemon can answer
before it needs any. After that a lazy one is as fast as any other.
"""

import re
from typing import Any, Final, cast

_METHODS: Final = ("match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split")
_FACTS: Final = ("pattern", "flags", "groups", "groupindex")


def late(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """As `re.compile`, but an error in the pattern shows only at its first use."""
    return cast("re.Pattern[str]", _Late(pattern, flags))


class _Late:
    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as a pattern has it
        compiled = re.compile(*self._source)
        # From now on these are attributes, found without this method.
        self.__dict__.update((each, getattr(compiled, each)) for each in (*_METHODS, *_FACTS))
        return getattr(compiled, name)
