"""Whether an injected memory shows in what the agent then did.

Rules
- Used: the answer or a tool call of that turn has something that only the memory could have told
  it: a name, number or path of the memory that the prompt did not have, or most of its words.
- Contradicted: the memory forbids a command or a path, and the turn used it.
- Otherwise nothing shows. That is not a verdict: a rule may be followed without a word. Only many
  silent turns in a row say that a memory is not worth injecting.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal

from memoryd.recall.rules.tool_rules import ToolCall, concerns, rule_in
from memoryd.text.lazy_regex import late
from memoryd.text.terms import terms_of

Outcome = Literal["used", "contradicted", "silent"]

# As often as this without ever being used, a memory is no longer injected unasked.
SILENT_TIMES: Final = 10
_LEAST_WORDS: Final = 3
_LEAST_SHARE: Final = 0.5
# Digits, inner punctuation or inner capitals: not a word of everyday talk.
_NAME: Final = late(
    r"(?=[\w./@:-]*(?:\d|\w[./_@:-]\w|[a-z][A-Z]))[\w@][\w./@:-]{2,60}[\w/]", re.ASCII
)


def outcome_of(content: str, prompt: str, answer: str, calls: Sequence[ToolCall]) -> Outcome:
    """What a turn shows of a memory that was injected at its prompt."""
    rule = rule_in(content)
    if rule is not None and rule.forbids and any(concerns(rule, call) for call in calls):
        return "contradicted"
    said = "\n".join([answer, *(call.command for call in calls), *(call.path for call in calls)])
    return (
        "used"
        if _names_appear(content, prompt, said) or _words_appear(content, prompt, said)
        else "silent"
    )


def _names_appear(content: str, prompt: str, said: str) -> bool:
    known = prompt.casefold()
    told = said.casefold()
    names = {match[0].casefold() for match in _NAME.finditer(content)}
    return any(name in told for name in names if name not in known)


def _words_appear(content: str, prompt: str, said: str) -> bool:
    told_by_memory = set(terms_of(content)) - set(terms_of(prompt))
    seen = told_by_memory & set(terms_of(said))
    return len(seen) >= _LEAST_WORDS and len(seen) >= _LEAST_SHARE * len(told_by_memory)
