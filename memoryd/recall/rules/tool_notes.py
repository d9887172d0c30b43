"""Notes on how to use a tool, which are noise while the agent is using it.

A warning about the tool is not: it is wanted most just then.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from memoryd.recall.rules.tool_rules import SHELL_TOOLS, ToolCall, simple_commands
from memoryd.text.lazy_regex import late

_USAGE: Final = late(
    r"\b(?:how to|usage|using|cheat ?sheet|commands?|syntax|flags?|options?|arguments?|parameters?"
    r"|api|docs?|documentation|guide|examples?|reference)\b",
    re.IGNORECASE,
)
_WARNING: Final = late(
    r"\b(?:never|don'?t|do not|must not|careful|beware|gotchas?|pitfalls?|bugs?|breaks?|broken"
    r"|fail(?:s|ed|ing)?|avoid|warnings?|known issues?|instead|wrong|hangs?|slow|loses?|corrupts?"
    r"|deletes?|limit(?:s|ed)?|quota|expires?)\b",
    re.IGNORECASE,
)


def tool_names(calls: Iterable[ToolCall]) -> Iterator[str]:
    """What people call the tools of these calls: a server, a program, or the tool itself."""
    for call in calls:
        if call.tool.startswith("mcp__"):
            yield call.tool.split("__")[1].casefold()
        elif call.tool in SHELL_TOOLS:
            yield from (words[0].casefold() for words in simple_commands(call.command))
        else:
            yield call.tool.casefold()


def is_usage_of(tools: Iterable[str], title: str, description: str, content: str) -> bool:
    """Whether a memory only says how to use one of these tools."""
    heading = f"{title} {description}"
    if not _USAGE.search(heading) or _WARNING.search(f"{heading}\n{content}"):
        return False
    words = set(re.findall(r"[\w.-]+", heading.casefold()))
    return any(tool in words for tool in tools)
