"""The agent loop, over the whole stack: real SDK, real HTTP, retries, meter and breaker."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import repeat
from typing import Any

import anthropic  # noqa: F401 - loading it takes long on a busy machine, and deadlines are short
import anyio
import anyio.to_thread
import msgspec
import pytest
from structlog.testing import capture_logs

from memoryd.agent.loop import AgentJob, AgentReport, RunEnding, run, with_cache_marks
from memoryd.agent.rules.limits import Meter, RunLimits
from memoryd.base.config import Budget, Credentials, Price, Secret
from memoryd.base.errors import ToolError, Unavailable
from memoryd.llm.anthropic_client import AnthropicProvider, Provider, endpoint_at
from memoryd.llm.guards import MeteredProvider, PatientProvider
from memoryd.llm.rules.messages import AssistantTurn, ModelAnswer, Text, ToolDefinition, UserTurn
from tests.support.fake_ledger import MemoryLedger, SteppedClock
from tests.support.scripted_model import (
    Body,
    Call,
    CutBody,
    Hang,
    Message,
    Reply,
    Reset,
    Script,
    ScriptedModel,
    SeenRequest,
    Status,
    Stream,
    asks,
    says,
    stream_events,
)

KEY = "sk-ant-made-up-key-0123456789"
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PRICES = {"claude-haiku-5-5": Price(input_usd=1.0, output_usd=5.0)}


class Read(msgspec.Struct, frozen=True):
    file_path: str
    limit: int | None = None


class Write(msgspec.Struct, frozen=True):
    file_path: str
    content: str


Behaviour = Callable[[str, msgspec.Struct, Meter], str]


class Tools:
    """Two tools that record their calls and do what `behaviour` says."""

    definitions = (
        ToolDefinition("Read", "Reads a file.", Read, "file_path"),
        ToolDefinition("Write", "Writes a file.", Write, "file_path"),
    )

    def __init__(
        self, behaviour: Callable[[str, msgspec.Struct, Meter], str] | None = None
    ) -> None:
        self.ran: list[tuple[str, msgspec.Struct]] = []
        self._behaviour = behaviour or (lambda name, _arguments, _meter: f"{name} did it")

    async def call(self, name: str, arguments: msgspec.Struct, meter: Meter) -> str:
        self.ran.append((name, arguments))
        return self._behaviour(name, arguments, meter)


LIMITS = RunLimits()
SYSTEM = (Text("You keep the memory of a project. " * 30, cache_here=True),)
WRITE = Call("Write", {"file_path": "a.md", "content": "x"})


def job(*opening: Text) -> AgentJob:
    return AgentJob(
        name="extraction",
        project="/p",
        model="claude-haiku-5-5",
        system=SYSTEM,
        opening=opening or (Text("What is new."),),
        max_tokens=1000,
    )


class Stack(msgspec.Struct):
    """Everything between the loop and the scripted server, with a clock that tests advance."""

    server: ScriptedModel
    provider: Provider
    ledger: MemoryLedger
    clock: SteppedClock

    async def run(self, tools: Tools, limits: RunLimits = LIMITS) -> AgentReport:
        with anyio.fail_after(60):
            return await run(job(), self.provider, tools, limits)


@asynccontextmanager
async def stack(
    script: Script, *, usd_per_day: float = 1.0, attempt_seconds: float = 10.0
) -> AsyncIterator[Stack]:
    ledger, clock = MemoryLedger(), SteppedClock(NOON)
    with ScriptedModel(script) as server:
        direct = AnthropicProvider(endpoint_at(server.base_url, Credentials(api_key=Secret(KEY))))
        metered = MeteredProvider(
            direct, ledger, Budget(usd_per_day=usd_per_day), PRICES, now=clock.now
        )
        # The first call of a process also waits for the SDK, so attempts must not be too short.
        await direct.open()
        patient = PatientProvider(
            metered,
            attempt_seconds=attempt_seconds,
            sleep=clock.sleep,
            monotonic=clock.monotonic,
        )
        try:
            yield Stack(server, patient, ledger, clock)
        finally:
            await direct.aclose()


WRITING = asks(WRITE)
EVENTS = stream_events(WRITING, {"input_tokens": 1, "output_tokens": 1})
ERROR_EVENT = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
HALF_CALL = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {"file_path": "a.md"}}

# Every fault repeats forever, so that only our own limits end the run.
FAULTS: dict[str, tuple[Reply, int, RunEnding]] = {
    "429 with retry-after 2": (Status(429, {"retry-after": "2"}), 3, "provider-paused"),
    "429 with retry-after 120": (Status(429, {"retry-after": "120"}), 2, "provider-paused"),
    "429 with retry-after of years": (Status(429, {"retry-after": "1e9"}), 1, "provider-paused"),
    "429 without retry-after": (Status(429), 1, "provider-paused"),
    "529 overloaded": (Status(529), 3, "provider-down"),
    "500": (Status(500), 3, "provider-down"),
    "502 in HTML": (Status(502, {}, b"<html>Bad Gateway</html>"), 3, "provider-down"),
    "503 with retry-after 120": (Status(503, {"retry-after": "120"}), 2, "provider-down"),
    "400": (Status(400), 1, "provider-refused"),
    "401": (Status(401), 1, "provider-refused"),
    "403": (Status(403), 1, "provider-refused"),
    "404": (Status(404), 1, "provider-refused"),
    "408": (Status(408), 3, "provider-down"),
    "409": (Status(409), 3, "provider-down"),
    "413": (Status(413), 1, "provider-refused"),
    "reset": (Reset(), 3, "provider-down"),
    "hang": (Hang(), 3, "provider-down"),
    "cut body": (CutBody(WRITING), 3, "provider-down"),
    "broken JSON": (Body(b'{"role": "assistant", "content": [{"type"'), 1, "provider-down"),
    "HTML with status 200": (Body(b"<html>", "text/html"), 1, "provider-down"),
    "stream that is cut": (Stream(EVENTS[:3], "dropped"), 3, "provider-down"),
    "stream that stalls": (Stream(EVENTS[:3], "stalled"), 3, "provider-down"),
    "stream with an error event": (Stream([*EVENTS[:3], ERROR_EVENT]), 1, "provider-down"),
    "stream without message_stop": (Stream(EVENTS[:-1]), 1, "provider-down"),
    "whole stream that nobody asked for": (Stream(EVENTS), 1, "provider-down"),
    "cut tool call": (
        Message([{"type": "tool_use", "id": "toolu_1", "name": "Write"}], "tool_use"),
        1,
        "provider-down",
    ),
    "max_tokens inside a tool call": (Message([HALF_CALL], "max_tokens"), 1, "cut"),
    "no stop reason": (asks(WRITE, stop_reason=None), 1, "cut"),
    "stop reason missing": (
        msgspec.structs.replace(WRITING, without=("stop_reason",)),
        1,
        "provider-down",
    ),
    "unknown stop reason": (asks(WRITE, stop_reason="tired"), 1, "cut"),
    "context window exceeded": (
        asks(WRITE, stop_reason="model_context_window_exceeded"),
        1,
        "cut",
    ),
    "refusal": (asks(WRITE, stop_reason="refusal"), 1, "refused"),
    "content missing": (msgspec.structs.replace(WRITING, without=("content",)), 1, "provider-down"),
    "two calls of one id": (
        asks(msgspec.structs.replace(WRITE, call_id="t"), Call("Read", {}, "t")),
        1,
        "provider-down",
    ),
    "unknown tool": (asks(Call("Delete", {"file_path": "a.md"})), 5, "turn-limit"),
    "wrong types": (asks(Call("Write", {"file_path": 7, "content": ["x"]})), 5, "turn-limit"),
    "input that is no object": (asks(Call("Write", "a.md")), 5, "turn-limit"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_runs_no_tool_and_ends_in_few_attempts(fault: str) -> None:
    reply, attempts, ended = FAULTS[fault]
    tools = Tools()
    silent = fault in {"hang", "stream that stalls"}
    async with stack(fresh_ids(reply), attempt_seconds=0.1 if silent else 10.0) as over:
        report = await over.run(tools)
    assert report.ended == ended
    assert over.ledger.debits == attempts
    # With a short deadline, a busy machine may not even reach the server.
    assert len(over.server.requests) == attempts or silent
    assert tools.ran == []
    assert sum(over.clock.slept) <= 180.0
    assert report.error is None or KEY not in str(report.error) + report.error.hint
    assert (report.error is not None) == ended.startswith("provider")


def fresh_ids(reply: Reply) -> Callable[[SeenRequest], Reply]:
    """The same reply forever, with new ids if it is a well-formed message of several turns."""
    turn = iter(range(1000))

    def again(_request: SeenRequest) -> Reply:
        if not isinstance(reply, Message) or len(reply.content) > 1:
            return reply
        blocks = [{**block, "id": f"toolu_again_{next(turn)}"} for block in reply.content]
        return msgspec.structs.replace(reply, content=blocks)

    return again


@pytest.mark.parametrize("fault", [Status(529), Status(429, {"retry-after": "2"}), Reset(), Hang()])
async def test_a_fault_that_passes_costs_only_time(fault: Reply) -> None:
    tools = Tools()
    seconds = 3.0 if isinstance(fault, Hang) else 10.0
    async with stack([fault, WRITING, says("saved")], attempt_seconds=seconds) as over:
        report = await over.run(tools)
    assert (report.ended, report.final_text) == ("done", "saved")
    assert len(tools.ran) == 1


async def test_results_go_back_in_order_under_the_ids_of_their_calls() -> None:
    calls = [Call("Read", {"file_path": f"{n}.md"}, f"toolu_{n}") for n in range(3)]
    async with stack([asks(*calls), says("done")]) as over:
        await over.run(Tools(lambda _name, arguments, _meter: f"text of {arguments}"))
    first, second = over.server.requests
    assert (first.roles, second.roles) == (["user"], ["user", "assistant", "user"])
    results = second.body["messages"][2]["content"]
    assert [block["tool_use_id"] for block in results] == ["toolu_0", "toolu_1", "toolu_2"]
    assert all(f"{n}.md" in block["content"] for n, block in enumerate(results))
    assert first.body["tools"] == second.body["tools"]
    assert first.body["system"] == second.body["system"]


async def test_calls_of_one_answer_run_side_by_side() -> None:
    class Waiting(Tools):
        def __init__(self) -> None:
            super().__init__()
            self.all_here = anyio.Event()

        async def call(self, name: str, arguments: msgspec.Struct, meter: Meter) -> str:
            self.ran.append((name, arguments))
            if len(self.ran) == 3:
                self.all_here.set()
            await self.all_here.wait()
            return "met"

    calls = [Call("Read", {"file_path": f"{n}.md"}) for n in range(3)]
    async with stack([asks(*calls), says("done")]) as over:
        report = await over.run(Waiting())
    assert report.ended == "done"
    assert [attempt.ok for attempt in report.attempts] == [True, True, True]


def tool_result(request: SeenRequest) -> dict[str, Any]:
    """The only tool result of a request's last turn."""
    (result,) = request.body["messages"][-1]["content"]
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Call("Delete", {}), "there is no such tool; there are Read, Write"),
        (Call("", {}), "there is no such tool; there are Read, Write"),
        (Call("Write", {"file_path": "a.md"}), "not done: `content` is missing"),
        (
            Call("Write", {"file_path": 7, "content": "x"}),
            "not done: `file_path` has the wrong type",
        ),
        (Call("Read", {"file_path": "a", "limit": "9"}), "not done: `limit` has the wrong type"),
        (Call("Read", ["a"]), "not done: the input is not an object"),
        (Call("Read", None), "not done: the input is not an object"),
    ],
)
async def test_a_call_that_makes_no_sense_is_answered_in_fixed_words(
    call: Call, words: str
) -> None:
    tools = Tools()
    async with stack([asks(call), says("sorry")]) as over:
        report = await over.run(tools)
    assert tool_result(over.server.requests[1])["content"] == words
    assert tool_result(over.server.requests[1])["is_error"] is True
    assert report.attempts[0].refusal == words
    assert tools.ran == []


async def test_an_unknown_field_is_ignored() -> None:
    tools = Tools()
    call = Call("Read", {"file_path": "a", "description": "why"})
    async with stack([asks(call), says("ok")]) as over:
        await over.run(tools)
    assert tools.ran == [("Read", Read("a"))]


def raising(error: Exception) -> Behaviour:
    def behave(_name: str, _arguments: msgspec.Struct, _meter: Meter) -> str:
        raise error

    return behave


async def test_a_refusal_of_a_tool_reaches_the_model_word_for_word() -> None:
    async with stack([asks(WRITE), says("ok")]) as over:
        report = await over.run(Tools(raising(ToolError("read it first"))))
    assert tool_result(over.server.requests[1])["content"] == "read it first"
    assert report.attempts[0].subject == "a.md"
    assert not report.attempts[0].ok


async def test_a_bug_in_a_tool_reaches_the_log_and_not_the_model() -> None:
    with capture_logs() as lines:
        async with stack([asks(WRITE), says("ok")]) as over:
            report = await over.run(Tools(raising(RuntimeError("kaput /secret/path"))))
    assert "kaput" not in str([request.body for request in over.server.requests])
    assert tool_result(over.server.requests[1])["is_error"] is True
    assert report.ended == "done"
    assert [line["exc_info"] for line in lines if line["log_level"] == "error"] == [True]


async def test_an_empty_result_is_said_in_words() -> None:
    async with stack([asks(WRITE), says("ok")]) as over:
        await over.run(Tools(lambda *_: ""))
    assert tool_result(over.server.requests[1])["content"] == "(nothing)"


async def test_an_endless_caller_ends_at_the_turn_limit_with_its_last_calls_run() -> None:
    tools = Tools()
    async with stack(fresh_ids(WRITING)) as over:
        report = await over.run(tools, RunLimits(model_turns=5))
    assert (report.ended, report.model_turns) == ("turn-limit", 5)
    assert len(over.server.requests) == 5
    assert len(tools.ran) == 5


async def test_calls_beyond_the_limit_are_refused_and_end_the_run() -> None:
    tools = Tools()
    calls = [Call("Read", {"file_path": f"{n}.md"}) for n in range(10)]
    async with stack([asks(*calls)]) as over:
        report = await over.run(tools, RunLimits(tool_calls=4))
    assert report.ended == "tool-limit"
    assert len(tools.ran) == 4
    assert sum(attempt.ok for attempt in report.attempts) == 4


async def test_a_run_stops_at_its_own_share_of_money() -> None:
    async with stack(fresh_ids(WRITING)) as over:
        report = await over.run(Tools(), RunLimits(usd=0.0001))
    assert report.ended == "money-limit"
    assert report.model_turns == 1


async def test_a_run_stops_when_its_time_is_over() -> None:
    with anyio.fail_after(60), ScriptedModel(repeat(Hang())) as server:
        provider = AnthropicProvider(endpoint_at(server.base_url, Credentials()))
        report = await run(job(), provider, Tools(), RunLimits(wall_seconds=0.2))
        await provider.aclose()
    assert (report.ended, report.model_turns) == ("deadline", 0)


@pytest.mark.parametrize("kind", ["read", "write"])
async def test_bytes_are_limited_over_all_calls_of_a_run(kind: str) -> None:
    def behave(_name: str, _arguments: msgspec.Struct, meter: Meter) -> str:
        (meter.charge_read if kind == "read" else meter.charge_write)(60)
        return "fits"

    limits = RunLimits(read_bytes=100, written_bytes=100)
    calls = [Call("Read", {"file_path": f"{n}.md"}) for n in range(3)]
    async with stack([asks(*calls), says("ok")]) as over:
        report = await over.run(Tools(behave), limits)
    assert [attempt.ok for attempt in report.attempts] == [True, False, False]
    assert f"may not {kind} that much more" in report.attempts[1].refusal


async def test_runs_that_never_end_stop_within_one_call_of_the_cap() -> None:
    endless = asks(WRITE, input_tokens=5000, output_tokens=1000)
    async with stack(fresh_ids(endless), usd_per_day=0.1) as over:
        reports = [await over.run(Tools())]
        while reports[-1].ended != "budget":
            reports.append(await over.run(Tools()))
    one_call = (5000 * 1.0 + 1000 * 5.0) / 1e6
    assert over.ledger.total_usd == pytest.approx(sum(report.usd for report in reports))
    assert 0.1 - one_call <= over.ledger.total_usd <= 0.1 + one_call
    assert len(over.server.requests) == sum(report.model_turns for report in reports)


async def test_calls_that_always_fail_stop_within_one_call_of_the_cap() -> None:
    async with stack(repeat(Reset()), usd_per_day=0.05) as over:
        reports = [await over.run(Tools())]
        while over.clock.now() < NOON.replace(hour=23):
            reports.append(await over.run(Tools()))
            over.clock.step(600.0)
    assert over.ledger.total_usd <= 0.05
    # Each reset may have been billed, so the cap ends it, long before the day does.
    assert len(over.server.requests) < 12
    assert reports[-1].ended == "budget"


async def test_a_cancelled_run_ends_at_once() -> None:
    with ScriptedModel([Hang()]) as server, anyio.fail_after(60):
        provider = AnthropicProvider(endpoint_at(server.base_url, Credentials()))
        async with anyio.create_task_group() as group:
            group.start_soon(run, job(), provider, Tools(), RunLimits())
            await anyio.to_thread.run_sync(server.asked.wait)
            group.cancel_scope.cancel()
        await provider.aclose()
    assert group.cancel_scope.cancelled_caught


async def test_the_second_run_of_a_session_reads_its_prefix_from_the_cache() -> None:
    shared = Text("The memories that exist. " * 40, cache_here=True)
    async with stack(repeat(says("nothing to save"))) as over:
        first = await run(job(shared, Text("turn one")), over.provider, Tools(), RunLimits())
        second = await run(job(shared, Text("turn two")), over.provider, Tools(), RunLimits())
        other = await run(job(Text("another")), over.provider, Tools(), RunLimits())
    assert first.usage.cache_hit_percent == 0.0
    assert second.usage.cache_hit_percent > 90.0
    assert 0.0 < other.usage.cache_hit_percent < second.usage.cache_hit_percent


async def test_each_turn_of_a_run_reads_the_turns_before_it_from_the_cache() -> None:
    calls = [Call("Read", {"file_path": f"{n}.md"}) for n in range(20)]
    async with stack([asks(*calls), asks(*calls), asks(*calls), says("done")]) as over:
        report = await over.run(Tools(lambda *_: "x" * 400), RunLimits(tool_calls=60))
    assert report.model_turns == 4
    assert report.usage.input_tokens < report.usage.prompt_tokens * 0.02
    assert report.usage.cache_read_tokens > report.usage.cache_write_tokens


def marks_of(turns: tuple[UserTurn | AssistantTurn, ...]) -> list[list[bool]]:
    return [
        [block.cache_here for block in turn.blocks] if isinstance(turn, UserTurn) else []
        for turn in turns
    ]


@pytest.mark.parametrize(("given", "left"), [(0, 2), (2, 2), (3, 1), (4, 0)])
def test_no_request_has_more_than_four_cache_marks(given: int, left: int) -> None:
    system = tuple(Text(str(n), cache_here=True) for n in range(given))
    turns = tuple(UserTurn((Text("a"), Text("b"))) for _ in range(3))
    assert sum(sum(marks) for marks in marks_of(with_cache_marks(system, turns))) == left


def test_cache_marks_are_at_the_ends_of_the_last_two_user_turns() -> None:
    turns = (
        UserTurn((Text("shared", cache_here=True), Text("new"))),
        AssistantTurn(b"[]"),
        UserTurn((Text("a"), Text("b"))),
        AssistantTurn(b"[]"),
        UserTurn((Text("c"),)),
    )
    assert marks_of(with_cache_marks(SYSTEM, turns)) == [
        [True, False],
        [],
        [False, True],
        [],
        [True],
    ]


async def test_a_report_adds_up_what_was_used() -> None:
    script = [asks(WRITE, input_tokens=100, output_tokens=10), says("ok", input_tokens=200)]
    async with stack(script) as over:
        report = await over.run(Tools())
    assert report.usage.prompt_tokens == 300
    assert report.usage.output_tokens == 10
    assert report.usd == pytest.approx((300 * 1.0 + 10 * 5.0) / 1e6)
    assert [(attempt.tool, attempt.subject) for attempt in report.attempts] == [("Write", "a.md")]


async def test_a_job_gets_each_answer_before_its_tools_run_and_may_end_the_run() -> None:
    texts: list[str] = []
    tools = Tools()

    async def on_answer(answer: ModelAnswer) -> None:
        texts.append(answer.text)
        if len(texts) == 2:
            raise Unavailable("the lock was lost")

    watched = msgspec.structs.replace(job(), on_answer=on_answer)
    async with stack([asks(WRITE), asks(WRITE), says("ok")]) as over:
        with pytest.raises(Unavailable), anyio.fail_after(60):
            await run(watched, over.provider, tools, LIMITS)
        assert (len(over.server.requests), len(tools.ran)) == (2, 1)


# --- the last answer ---------------------------------------------------------------------------

FINISHED_BY_WRITES = frozenset({"Write"})
READ = Call("Read", {"file_path": "a.md"})


def refuse_writes(name: str, _arguments: msgspec.Struct, _meter: Meter) -> str:
    if name == "Write":
        raise ToolError("it already exists; Read it first")
    return "text"


@pytest.mark.parametrize(
    ("calls", "tools", "requests"),
    [
        ((WRITE,), Tools(), 1),
        ((WRITE, WRITE), Tools(), 1),
        ((READ,), Tools(), 2),
        ((WRITE, READ), Tools(), 2),
        ((WRITE,), Tools(refuse_writes), 2),
    ],
    ids=["a write", "two writes", "a read", "a write and a read", "a refused write"],
)
async def test_only_an_answer_whose_writes_all_succeed_ends_the_run(
    calls: tuple[Call, ...], tools: Tools, requests: int
) -> None:
    finishing = msgspec.structs.replace(job(), finishing_tools=FINISHED_BY_WRITES)
    async with stack([asks(*calls), says("done")]) as over:
        with anyio.fail_after(60):
            report = await run(finishing, over.provider, tools, LIMITS)
        assert len(over.server.requests) == requests
    assert (report.ended, report.model_turns) == ("done", requests)


async def test_without_finishing_tools_a_run_goes_on_until_the_model_stops() -> None:
    async with stack([asks(WRITE), asks(WRITE), says("done")]) as over:
        assert (await over.run(Tools())).model_turns == 3


async def test_a_run_that_was_refused_bytes_has_not_ended_by_itself() -> None:
    def behave(_name: str, _arguments: msgspec.Struct, meter: Meter) -> str:
        meter.charge_write(60)
        return "fits"

    async with stack([asks(WRITE, WRITE), says("That is all.")]) as over:
        report = await over.run(Tools(behave), RunLimits(written_bytes=100))
    assert (report.ended, report.final_text) == ("byte-limit", "That is all.")
