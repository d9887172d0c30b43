"""Dreams with a model where it may be asked, and by rules where not.

A model behind a command has few calls a day, and extraction comes first. A dream that could only
fail for that reason is dreamt by rules instead; whether it may ask is decided when it begins.
"""

from collections.abc import Callable
from typing import Final

import anyio.to_thread

from memoryd.agent.rules.limits import RunLimits
from memoryd.dreams.dream_table import How
from memoryd.dreams.run import DreamRun
from memoryd.dreams.steps import DreamSteps
from memoryd.dreams.working_copy import WorkingCopy
from memoryd.llm.paced import PacedProvider

JOB: Final = "dream"
# The last answer's calls are still run, so a dream that ends at its limit is a whole one.
FEW_CALLS: Final = RunLimits(
    model_turns=5,
    tool_calls=200,
    read_bytes=1_000_000,
    written_bytes=1_000_000,
    wall_seconds=900,
)


class EitherSteps:
    """`may_ask` blocks."""

    def __init__(
        self, by_model: DreamSteps, by_rules: DreamSteps, may_ask: Callable[[], bool]
    ) -> None:
        self._by_model = by_model
        self._by_rules = by_rules
        self._may_ask = may_ask

    @property
    def how(self) -> How:
        """What is intended; `take` records what it really was."""
        return self._by_model.how

    async def take(self, run: DreamRun, copy: WorkingCopy) -> str:
        may_ask = await anyio.to_thread.run_sync(self._may_ask)
        steps = self._by_model if may_ask else self._by_rules
        run.summarize(how=steps.how)
        return await steps.take(run, copy)


def may_dream(pace: PacedProvider) -> Callable[[], bool]:
    return lambda: pace.problem() is None and pace.verdict(JOB).allowed
