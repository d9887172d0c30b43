"""The agent loop: ask the model, run the tools it calls, send back the results, within limits.

Rules
- Only a complete answer is acted on. The calls of one that was cut off or refused are never run.
- The calls of one answer run concurrently; their results go back in order, in one user turn, each
  under the id of its call. So the roles alternate strictly, whatever happens.
- The calls of the last answer that the turn limit allows are still run.
- If a job names the tools that finish it, an answer that calls only these, all with success, ends
  the run: a request just to hear "done" is not made.
- A run in which a limit of bytes refused something has not ended by itself, whatever the model
  says.
- The message of a `ToolError` reaches the model as it is. An unknown tool, input of the wrong shape
  and any other exception are answered in fixed words; the exception goes only to the log.
- The request only ever grows at its end, and the caller gives system prompt and tools once. With
  the caller's marks (one after the system prompt, one after what the runs of a session share) and
  ours at the ends of the last two user turns, each request reads the one before it from the cache.
- Every call is logged, whatever its result: the job, the tool, what it was about and, if it was
  refused, why.
- A provider's error ends the run and is part of the report, as is what was spent until then.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol, TypeAlias

import anyio
import msgspec
import structlog

from memoryd.agent.rules.limits import Meter, RunLimits
from memoryd.base.errors import MemorydError, ToolError
from memoryd.llm.anthropic_client import Provider
from memoryd.llm.guards import DEADLINE_SECONDS
from memoryd.llm.rules.messages import (
    AssistantTurn,
    BudgetReached,
    MessageTurn,
    ModelAnswer,
    ModelRequest,
    ProviderDown,
    ProviderPaused,
    ProviderRefused,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
    UserTurn,
)
from memoryd.text.invisible import strip_invisible
from memoryd.text.masking.cut import masked_beginning

log = structlog.get_logger()

MOST_CACHE_MARKS = 4
LOGGED_CHARACTERS = 200

RunEnding = Literal[
    "done",
    "turn-limit",
    "tool-limit",
    "byte-limit",
    "money-limit",
    "deadline",
    "cut",
    "refused",
    "budget",
    "provider-paused",
    "provider-refused",
    "provider-down",
]


OnAnswer: TypeAlias = Callable[[ModelAnswer], Awaitable[None]]


class Toolbox(Protocol):
    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools, the same in every run."""

    async def call(self, name: str, arguments: msgspec.Struct, meter: Meter) -> str:
        """The tool's result; `ToolError` if refused. `arguments` have its definition's type."""


class AgentJob(msgspec.Struct, frozen=True):
    """One task for the model: `opening` is the first user message, marked for the cache.

    `on_answer` gets every answer before its tools run; what it raises ends the run.
    `finishing_tools` end it once an answer has called only these, all with success.
    """

    name: str
    project: str
    model: str
    system: tuple[Text, ...]
    opening: tuple[Text, ...]
    max_tokens: int = 8192
    on_answer: OnAnswer | None = None
    finishing_tools: frozenset[str] = frozenset()


class ToolAttempt(msgspec.Struct, frozen=True):
    """One call for the log; `refusal` is what the model got instead of a result."""

    tool: str
    subject: str
    refusal: str
    milliseconds: int

    @property
    def ok(self) -> bool:
        return not self.refusal


class AgentReport(msgspec.Struct, frozen=True):
    """`error` is the provider's, if one ended the run."""

    ended: RunEnding
    error: MemorydError | None
    model_turns: int
    attempts: tuple[ToolAttempt, ...]
    usage: Usage
    usd: float
    milliseconds: int
    final_text: str


async def run(
    job: AgentJob, provider: Provider, toolbox: Toolbox, limits: RunLimits
) -> AgentReport:
    """Lets the model work on the job until it calls no more tools or a limit ends the run."""
    conversation = _Conversation(job, provider, toolbox, limits)
    started = time.monotonic()
    with anyio.move_on_after(limits.wall_seconds):
        try:
            conversation.ended = await conversation.hold()
        except (BudgetReached, ProviderDown, ProviderPaused, ProviderRefused) as error:
            conversation.error = error
            conversation.ended = ending_by(error)
    return conversation.report(_milliseconds_since(started))


def ending_by(error: BudgetReached | ProviderDown | ProviderPaused | ProviderRefused) -> RunEnding:
    match error:
        case BudgetReached():
            return "budget"
        case ProviderPaused():
            return "provider-paused"
        case ProviderRefused():
            return "provider-refused"
        case ProviderDown():
            return "provider-down"


class _Conversation:
    def __init__(
        self, job: AgentJob, provider: Provider, toolbox: Toolbox, limits: RunLimits
    ) -> None:
        self._job = job
        self._provider = provider
        self._toolbox = toolbox
        self._tools = {tool.name: tool for tool in toolbox.definitions}
        self._limits = limits
        self._meter = Meter(limits)
        self._turns: list[MessageTurn] = [UserTurn(tuple(job.opening))]
        self._answers: list[ModelAnswer] = []
        self._attempts: list[ToolAttempt] = []
        # Stays like this if the deadline cancels the run from outside.
        self.ended: RunEnding = "deadline"
        self.error: MemorydError | None = None

    async def hold(self) -> RunEnding:
        for _ in range(self._limits.model_turns):
            if sum(answer.usd for answer in self._answers) >= self._limits.usd > 0:
                return "money-limit"
            answer = await self._ask()
            if answer.outcome != "complete":
                return answer.outcome
            if not answer.calls:
                return self._by_itself()
            results = await self._answer_all(answer.calls)
            if self._meter.calls_refused:
                return "tool-limit"
            if self._has_finished(answer.calls, results):
                return self._by_itself()
            self._turns += [answer.turn, UserTurn(results)]
        return "turn-limit"

    def _by_itself(self) -> RunEnding:
        return "byte-limit" if self._meter.bytes_refused else "done"

    def _has_finished(self, calls: tuple[ToolCall, ...], results: tuple[ToolResult, ...]) -> bool:
        is_allowed = all(call.name in self._job.finishing_tools for call in calls)
        return is_allowed and not any(result.is_error for result in results)

    async def _ask(self) -> ModelAnswer:
        request = ModelRequest(
            job=self._job.name,
            project=self._job.project,
            model=self._job.model,
            max_tokens=self._job.max_tokens,
            system=self._job.system,
            turns=with_cache_marks(self._job.system, tuple(self._turns)),
            tools=self._toolbox.definitions,
        )
        answer = await self._provider.complete(request, DEADLINE_SECONDS)
        self._answers.append(answer)
        if self._job.on_answer is not None:
            await self._job.on_answer(answer)
        return answer

    async def _answer_all(self, calls: tuple[ToolCall, ...]) -> tuple[ToolResult, ...]:
        # The first one too many ends the run; there may be thousands after it.
        calls = calls[: self._meter.calls_left + 1]
        results: dict[str, ToolResult] = {}

        async def answer(call: ToolCall) -> None:
            results[call.call_id] = await self._answer(call)

        async with anyio.create_task_group() as tasks:
            for call in calls:
                tasks.start_soon(answer, call)
        return tuple(results[call.call_id] for call in calls)

    async def _answer(self, call: ToolCall) -> ToolResult:
        started = time.monotonic()
        text = refusal = subject = ""
        try:
            self._meter.charge_call()
            tool = self._known_tool(call.name)
            arguments = arguments_of(tool, call.input_json)
            subject = str(getattr(arguments, tool.logged_field, ""))
            text = await self._toolbox.call(tool.name, arguments, self._meter)
        except ToolError as error:
            refusal = str(error)
        except Exception:
            log.exception("tool-failed", job=self._job.name, tool=_logged(call.name))
            refusal = "the tool failed; go on without it"
        attempt = ToolAttempt(
            _logged(call.name),
            _logged(subject),
            refusal,
            _milliseconds_since(started),
        )
        self._record(attempt)
        return ToolResult(call.call_id, refusal or text or "(nothing)", is_error=not attempt.ok)

    def _record(self, attempt: ToolAttempt) -> None:
        self._attempts.append(attempt)
        reason = {"reason": attempt.refusal} if attempt.refusal else {}
        log.info(
            "tool-used" if attempt.ok else "tool-refused",
            job=self._job.name,
            project=self._job.project,
            tool=attempt.tool,
            subject=attempt.subject,
            ms=attempt.milliseconds,
            **reason,
        )

    def _known_tool(self, name: str) -> ToolDefinition:
        if name not in self._tools:
            raise ToolError(f"there is no such tool; there are {', '.join(self._tools)}")
        return self._tools[name]

    def report(self, milliseconds: int) -> AgentReport:
        return AgentReport(
            ended=self.ended,
            error=self.error,
            model_turns=len(self._answers),
            attempts=tuple(self._attempts),
            usage=sum((answer.usage for answer in self._answers), Usage()),
            usd=sum(answer.usd for answer in self._answers),
            milliseconds=milliseconds,
            final_text=self._answers[-1].text if self.ended in {"done", "byte-limit"} else "",
        )


def with_cache_marks(
    system: tuple[Text, ...], turns: tuple[MessageTurn, ...]
) -> tuple[MessageTurn, ...]:
    """The turns with the ends of the last two user turns marked, as far as marks are available."""
    users = [index for index, turn in enumerate(turns) if isinstance(turn, UserTurn)]
    given = sum(block.cache_here for block in system) + sum(
        block.cache_here for turn in turns if isinstance(turn, UserTurn) for block in turn.blocks
    )
    spare = max(min(2, MOST_CACHE_MARKS - given), 0)
    marked = set(users[-spare:] if spare else ())
    return tuple(_marked(turn) if index in marked else turn for index, turn in enumerate(turns))


def _marked(turn: MessageTurn) -> MessageTurn:
    if isinstance(turn, AssistantTurn) or not turn.blocks:
        return turn
    last = msgspec.structs.replace(turn.blocks[-1], cache_here=True)
    return UserTurn((*turn.blocks[:-1], last))


def arguments_of(tool: ToolDefinition, input_json: bytes) -> msgspec.Struct:
    """The call's input as the tool's own struct, or a `ToolError` that names the wrong field."""
    try:
        return msgspec.json.decode(input_json, type=tool.arguments)
    except (ValueError, RecursionError):
        raise ToolError(f"not done: {_what_is_wrong(tool, input_json)}") from None


def _what_is_wrong(tool: ToolDefinition, input_json: bytes) -> str:
    try:
        given = msgspec.json.decode(input_json, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        return "the input is not an object"
    for field in msgspec.structs.fields(tool.arguments):
        if field.encode_name not in given:
            if field.required:
                return f"`{field.encode_name}` is missing"
            continue
        try:
            msgspec.json.decode(given[field.encode_name], type=field.type)
        except (ValueError, RecursionError):
            return f"`{field.encode_name}` has the wrong type"
    return f"the input is not valid for {tool.name}"


def _milliseconds_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _logged(text: str) -> str:
    return masked_beginning(strip_invisible(text), LOGGED_CHARACTERS)
