"""Which words of a session a memory goes back to.

Rules
- Extraction gives a memory the time of the message it comes from: a prompt of that second is it.
- Otherwise it is the prompt that has most of the memory's own words, if it has half of them.
- Of what an agent concluded, it is the last prompt before that.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from memoryd.text.terms import terms_of

SAME_SECONDS: Final = 2.0


class SpokenPrompt(msgspec.Struct, frozen=True):
    """What a person said; `at` in seconds since the epoch, if it is known."""

    text: str
    at: float | None


def prompt_behind(
    prompts: Sequence[SpokenPrompt], body: str, created: float | None
) -> SpokenPrompt | None:
    """The prompt that the memory comes from; None if nothing tells."""
    wanted = frozenset(terms_of(body))
    if created is not None:
        then = [one for one in prompts if _is_close(one.at, created)]
        if then:
            return max(then, key=lambda one: _shared(one, wanted))
    best = max(prompts, key=lambda one: _shared(one, wanted), default=None)
    if best is not None and wanted and _shared(best, wanted) * 2 >= len(wanted):
        return best
    earlier = [one for one in prompts if one.at and created and one.at <= created]
    return max(earlier, key=lambda one: one.at or 0, default=None)


def _is_close(at: float | None, created: float) -> bool:
    return at is not None and abs(at - created) <= SAME_SECONDS


def _shared(prompt: SpokenPrompt, wanted: frozenset[str]) -> int:
    return len(wanted.intersection(terms_of(prompt.text)))
