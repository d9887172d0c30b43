"""Reads what Claude Code prints with `--output-format stream-json`, and says how a run ended.

Rules
- The stream is another program's: lines that are not JSON, events that nobody described and lines
  beyond all measure are passed over. Only `init`, `rate_limit_event` and `result` decide.
- `init` comes before anything is sent. A run that would bill an API key, has a tool other than the
  one for its answer, or has an MCP server is stopped at once: the client was set up in another way.
- The answer is `structured_output` and nothing else. `result` is a sentence, and errors come as
  results with the subtype "success": a sentence is never an answer.
- Errors carry our own words. The client's are kept apart, for the person who asks the doctor.
"""

from typing import Literal

import msgspec

from memoryd.llm.rules.messages import (
    AnswerUnreadable,
    Count,
    ProviderDown,
    ProviderPaused,
    ProviderRefused,
    Usage,
    in_own_words,
)
from memoryd.llm.rules.plan import PlanPause, RateLimit

ANSWER_TOOL = "StructuredOutput"
LINE_BYTES = 4 * 1024 * 1024
LEAST_PAUSE_SECONDS = 600.0
LOG_IN = "run claude, log in with /login, then memoryd doctor --provider"
SIGNED_OUT = frozenset({"authentication_failed", "oauth_org_not_allowed"})

StreamState = Literal["open", "answered", "objectionable"]


class _StreamEvent(msgspec.Struct):
    type: str = ""
    subtype: str | None = None
    error: str | None = None


class _McpServer(msgspec.Struct):
    name: str = ""
    status: str = ""


class _InitEvent(msgspec.Struct):
    # Without a default: an `init` that does not say who pays is not believed.
    apiKeySource: str  # noqa: N815 - as the client spells it
    tools: list[str]
    mcp_servers: list[_McpServer] = []


class _RateEvent(msgspec.Struct):
    rate_limit_info: RateLimit


class _StreamUsage(msgspec.Struct):
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_input_tokens: Count = 0
    cache_creation_input_tokens: Count = 0


class _ResultEvent(msgspec.Struct):
    is_error: bool
    result: str = ""
    structured_output: msgspec.Raw = msgspec.Raw(b"null")
    api_error_status: int | None = None
    usage: _StreamUsage = msgspec.field(default_factory=_StreamUsage)


class ClientStream:
    """The events so far; `feed` takes the bytes as they come."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._is_skipping = False
        self._error = ""
        self._result: _ResultEvent | None = None
        self.has_init = False
        self.objection = ""
        self.rate: RateLimit | None = None

    @property
    def state(self) -> StreamState:
        if self.objection:
            return "objectionable"
        return "answered" if self._result is not None else "open"

    def feed(self, chunk: bytes) -> StreamState:
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            self._take(piece)
            if not self._is_skipping:
                self._read(bytes(self._line))
            self._line.clear()
            self._is_skipping = False
        self._take(rest)
        return self.state

    def _take(self, piece: bytes) -> None:
        self._is_skipping = self._is_skipping or len(self._line) + len(piece) > LINE_BYTES
        if self._is_skipping:
            self._line.clear()
        else:
            self._line += piece

    def _read(self, line: bytes) -> None:
        try:
            event = msgspec.json.decode(line, type=_StreamEvent)
            match event.type, event.subtype:
                case "system", "init":
                    self._begin(line)
                case "rate_limit_event", _:
                    rate = msgspec.json.decode(line, type=_RateEvent).rate_limit_info
                    self.rate = rate.more_used(self.rate)
                case "assistant", _:
                    self._error = event.error or self._error
                case "result", _:
                    self._result = msgspec.json.decode(line, type=_ResultEvent)
        except (ValueError, RecursionError):
            return

    def _begin(self, line: bytes) -> None:
        self.has_init = True
        try:
            self.objection = objection_to(msgspec.json.decode(line, type=_InitEvent))
        except (ValueError, RecursionError):
            self.objection = "it does not say who pays for its requests"

    def document(self, pause: PlanPause | None, now: float) -> bytes:
        """The answer, or the error that tells why there is none.

        `pause` is what the plan's own numbers ask for.
        """
        result = self._result
        if self.objection:
            raise ProviderRefused(
                f"Claude Code would not run as memoryd needs it: {self.objection}",
                "see memoryd manual models; until then the built-in rules do the work",
                whole_account=True,
            )
        # With usage beyond the plan, a rejected request is answered all the same.
        is_rejected = self.rate is not None and self.rate.status == "rejected"
        if is_rejected and (result is None or result.is_error):
            raise _paused(pause, now, self.words)
        if result is None:
            raise ProviderDown(
                "Claude Code ended without a result", may_have_cost=True, retryable=False
            )
        if result.is_error:
            raise self._failure(result, pause, now)
        document = bytes(result.structured_output)
        if not self.has_init or not document.startswith(b"{"):
            raise AnswerUnreadable("Claude Code gave no structured answer")
        return document

    @property
    def words(self) -> str:
        return self._result.result if self._result is not None else ""

    @property
    def usage(self) -> Usage:
        if self._result is None:
            return Usage()
        found = self._result.usage
        return Usage(
            found.input_tokens,
            found.output_tokens,
            found.cache_read_input_tokens,
            found.cache_creation_input_tokens,
        )

    def _failure(
        self, result: _ResultEvent, pause: PlanPause | None, now: float
    ) -> ProviderDown | ProviderPaused | ProviderRefused:
        status = result.api_error_status
        if self._error in SIGNED_OUT or status in {401, 403}:
            refused = ProviderRefused("Claude Code is not logged in", LOG_IN, whole_account=True)
            return in_own_words(refused, result.result)
        if status == 429 or self._error == "rate_limit":
            return _paused(pause, now, result.result)
        if status == 404 or self._error in {"model_not_found", "invalid_model"}:
            hint = "check model.claude_code.model in the settings"
            words = "Claude Code does not know the model"
            refused = ProviderRefused(words, hint, whole_account=True)
            return in_own_words(refused, result.result)
        # The prompt was sent and may be charged to the plan.
        failed = f"Claude Code failed (HTTP {status})" if status else "Claude Code failed"
        down = ProviderDown(failed, may_have_cost=bool(self.usage.prompt_tokens), retryable=False)
        return in_own_words(down, result.result)


def _paused(pause: PlanPause | None, now: float, words: str) -> ProviderPaused:
    seconds = max(pause.until - now, LEAST_PAUSE_SECONDS) if pause else LEAST_PAUSE_SECONDS
    paused = ProviderPaused(
        "the plan of Claude Code has reached its limit",
        "turns wait; memoryd goes on when the plan does",
        pause_seconds=seconds,
        retryable=False,
    )
    return in_own_words(paused, words)


def objection_to(init: _InitEvent) -> str:
    """Why a run that begins like this must not go on; empty if it may."""
    if init.apiKeySource != "none":
        return "it would bill an API key instead of the plan"
    if any(tool != ANSWER_TOOL for tool in init.tools):
        return "it has tools, although none were allowed"
    if any(server.status in {"connected", "pending", ""} for server in init.mcp_servers):
        return "it has MCP servers, although none were allowed"
    return ""
