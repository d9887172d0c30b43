"""The toolbox of one run of an agent.

Rules
- Read, Grep, Glob and Bash see what the run's view opens, masked. Write and Edit change memories,
  one at a time, so that two edits in one answer both count.
- Tools have a few threads of their own: a run that searches must not keep hooks waiting for one.
- Results are charged to the run's meter before they are returned, and writes before they are made.
- Every attempt leaves an outcome: the tool, the result, and what it was about; never contents.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, Literal

import anyio
import anyio.to_thread
import msgspec

from memoryd.agent.bash import run_command
from memoryd.agent.rules.access import DenialReason, Denied
from memoryd.agent.rules.limits import Meter
from memoryd.agent.rules.tool_schemas import (
    DEFINITIONS,
    BashInput,
    EditInput,
    GlobInput,
    GrepInput,
    ReadInput,
    WriteInput,
)
from memoryd.agent.search import glob, grep
from memoryd.agent.view import View
from memoryd.agent.writer import WriteTarget, WrittenMemory
from memoryd.base.errors import ToolError
from memoryd.memories.records import Stored
from memoryd.text.invisible import strip_invisible
from memoryd.text.masking.cut import masked_beginning

READ_LINES: Final = 2000
READ_LIMIT_CHARACTERS: Final = 50_000
LINE_LIMIT_CHARACTERS: Final = 2000
LOGGED_CHARACTERS: Final = 200
TOOL_THREADS: Final = 3

ToolVerdict = Literal["ok", "refused", "failed"]


class ToolOutcome(msgspec.Struct, frozen=True):
    """One attempt; `subject` is the path, pattern or command, `reason` is empty on success."""

    tool: str
    verdict: ToolVerdict
    reason: DenialReason | Literal["", "error"]
    subject: str


class AgentTools:
    """What the agent loop calls."""

    definitions = DEFINITIONS

    def __init__(self, view: View, target: WriteTarget) -> None:
        self._view = view
        self._target = target
        self._writing = anyio.Lock()
        self._threads = anyio.CapacityLimiter(TOOL_THREADS)
        self.outcomes: list[ToolOutcome] = []
        self.written: list[Stored] = []

    async def call(self, name: str, arguments: msgspec.Struct, meter: Meter) -> str:
        """The tool's result; `ToolError` in fixed words if refused."""
        verdict: ToolVerdict = "failed"
        reason: DenialReason | Literal["", "error"] = "error"
        try:
            text = await self._answer(arguments, meter)
            verdict, reason = "ok", ""
        except Denied as denied:
            verdict, reason = "refused", denied.reason
            raise
        except ToolError:
            verdict, reason = "refused", "limit"
            raise
        finally:
            self.outcomes.append(ToolOutcome(name, verdict, reason, _subject(name, arguments)))
        return text

    async def _answer(self, arguments: msgspec.Struct, meter: Meter) -> str:
        match arguments:
            case ReadInput():
                return await self._read(arguments, meter)
            case GrepInput():
                search = partial(
                    grep, self._view, arguments.pattern, arguments.path, arguments.glob
                )
                return await self._looked_up(search, meter)
            case GlobInput():
                names = partial(glob, self._view, arguments.pattern, arguments.path)
                return await self._looked_up(names, meter)
            case BashInput():
                command = partial(run_command, self._view, arguments.command)
                return await self._looked_up(command, meter)
            case WriteInput():
                return await self._changed(partial(self._target.whole, arguments), meter)
            case EditInput():
                return await self._changed(partial(self._target.edited, arguments), meter)
            case _:
                raise Denied("unknown-tool", "there is no such tool")

    async def _looked_up(self, work: Callable[[], str], meter: Meter) -> str:
        text = await anyio.to_thread.run_sync(work, limiter=self._threads)
        meter.charge_read(len(text.encode()))
        self._target.was_shown(text)
        return text

    async def _changed(self, prepare: Callable[[], WrittenMemory], meter: Meter) -> str:
        async with self._writing:
            change = await anyio.to_thread.run_sync(prepare, limiter=self._threads)
            meter.charge_write(len(change.text.encode()))
            put = partial(self._target.put, change)
            stored = await anyio.to_thread.run_sync(put, limiter=self._threads)
            self.written.append(stored)
        masked = "; what looked like a secret in it was masked" * (stored.text != change.text)
        return f"saved {stored.path}{masked}"

    async def _read(self, arguments: ReadInput, meter: Meter) -> str:
        look = partial(self._view.page, arguments.file_path)
        page = await anyio.to_thread.run_sync(look, limiter=self._threads)
        text = numbered(page.text, arguments.offset or 1, arguments.limit or READ_LINES)
        meter.charge_read(len(text.encode()))
        self._target.saw(page)
        return text


def numbered(text: str, first: int, count: int) -> str:
    """At most `count` lines with their numbers, from `first` on, and a note if there are more."""
    plain = text.replace("\r\n", "\n").removesuffix("\n")
    lines = plain.split("\n") if text else []
    parts: list[str] = []
    room = READ_LIMIT_CHARACTERS
    for number, line in enumerate(lines[first - 1 : first - 1 + count], start=first):
        cut = "…" * (len(line) > LINE_LIMIT_CHARACTERS)
        part = f"{number:6}\t{line[:LINE_LIMIT_CHARACTERS]}{cut}"
        room -= len(part) + 1
        if room < 0:
            break
        parts.append(part)
    following = first + len(parts)
    if following <= len(lines):
        parts.append(f"[cut: {len(lines)} lines in all; go on with offset {following}]")
    return "\n".join(parts) or f"(nothing there: {len(lines)} lines in all)"


def _subject(name: str, arguments: msgspec.Struct) -> str:
    field = next((tool.logged_field for tool in DEFINITIONS if tool.name == name), "")
    subject = str(getattr(arguments, field, None) or "")
    return masked_beginning(strip_invisible(subject), LOGGED_CHARACTERS)
