"""Regular expressions that are compiled when they are first used.

To compile one takes up to a few milliseconds, there are hundreds of them, and the daemon answers
before it needs any. Once compiled, one costs what it always costs.
"""

import re
from typing import Any, Final, cast

_DEEDS: Final = ("match", "fullmatch", "search", "findall", "finditer", "sub", "split")


def late(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """As `re.compile`; what is wrong with a pattern shows at its first use."""
    return cast("re.Pattern[str]", _Late(pattern, flags))


class _Late:
    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a pattern has
        compiled = re.compile(*self._source)
        # From now on these are found without coming here.
        self.__dict__.update((deed, getattr(compiled, deed)) for deed in _DEEDS)
        return getattr(compiled, name)
