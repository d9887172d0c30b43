"""The limits of one run of the agent, and the meter that counts what its tools use.

Rules
- A call over a limit is refused in words that the model can act on; the run continues.
- A charge that does not fit is refused in full and not counted. That it was refused is known to the
  end of the run: what did not fit was not done.
- Parallel calls share one meter; nothing is awaited between checking and counting.
"""

import msgspec

from memoryd.base.errors import ToolError


class RunLimits(msgspec.Struct, frozen=True):
    model_turns: int = 5
    tool_calls: int = 40
    read_bytes: int = 2_000_000
    written_bytes: int = 250_000
    wall_seconds: float = 300.0
    usd: float = 0.25


class Meter:
    """Counts what the tools of one run use; a charge over a limit raises `ToolError`."""

    def __init__(self, limits: RunLimits) -> None:
        self.limits = limits
        self.tool_calls = 0
        self.read_bytes = 0
        self.written_bytes = 0
        self.calls_refused = False
        self.bytes_refused = False

    @property
    def calls_left(self) -> int:
        return max(0, self.limits.tool_calls - self.tool_calls)

    def charge_call(self) -> None:
        if self.tool_calls >= self.limits.tool_calls:
            self.calls_refused = True
            raise ToolError("not done: this run has used up its tool calls")
        self.tool_calls += 1

    def charge_read(self, size_bytes: int) -> None:
        if self.read_bytes + size_bytes > self.limits.read_bytes:
            self.bytes_refused = True
            raise ToolError(
                "not done: this run may not read that much more; ask for less, or finish"
            )
        self.read_bytes += size_bytes

    def charge_write(self, size_bytes: int) -> None:
        if self.written_bytes + size_bytes > self.limits.written_bytes:
            self.bytes_refused = True
            raise ToolError(
                "not done: this run may not write that much more; write less, or finish"
            )
        self.written_bytes += size_bytes
