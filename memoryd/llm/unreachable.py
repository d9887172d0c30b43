"""Why a server cannot be reached, in the system's own fixed words, none of them a stranger's."""

import os

DEEPEST = 10


def system_words(error: BaseException, message: str) -> str:
    """The message with the system's reason behind it, such as a refused connection."""
    reason, link = "", error
    for _ in range(DEEPEST):
        if isinstance(link, BaseExceptionGroup):
            link = link.exceptions[0]
        reason = _reason(link) or reason
        cause = link.__cause__ or link.__context__
        if cause is None:
            break
        link = cause
    return f"{message}: {reason}" if reason else message


def _reason(error: BaseException) -> str:
    if not isinstance(error, OSError) or error.errno is None:
        return ""
    # Names that cannot be resolved have negative numbers, and words of their own.
    return os.strerror(error.errno) if error.errno > 0 else error.strerror or ""
