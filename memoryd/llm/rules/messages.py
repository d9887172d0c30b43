"""Requests to a model and its answers as data, and the decoder of an answer's bytes.

Rules
- An answer is `complete` only with a known final stop reason. Everything else is `cut` or
  `refused`; callers act only on complete answers.
- An answer that is not a valid message (not JSON, fields missing, wrong types, two calls with the
  same id) raises `AnswerUnreadable`.
- An assistant's turn is sent back exactly as it came, thinking blocks included: providers sign them
  together with everything before them, so a turn is kept as bytes and never rebuilt.
- Errors carry fixed words and a status, never a server's text: servers echo keys and prompts. The
  first of its own words are kept apart, masked, only for the person who tries the provider or asks
  for the status.

    MemorydError
    |-- ProviderDown          it may work later; `may_have_cost` if the server could have billed
    |   `-- AnswerUnreadable  the bytes that came are not a message
    |-- ProviderPaused        the provider asks us to wait: its rate limit or the account's spending
    |-- ProviderRefused       it cannot work unchanged: the request, the key or the model is wrong
    `-- BudgetReached         our own cap or breaker refused, before anything was sent
"""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

import msgspec

from memoryd.base.errors import Refused, Unavailable
from memoryd.text.invisible import strip_invisible
from memoryd.text.masking.cut import masked_beginning

ProviderOutcome = Literal["complete", "cut", "refused"]
Answered = TypeVar("Answered", bound=msgspec.Struct)
Count = Annotated[int, msgspec.Meta(ge=0)]

OWN_WORDS_CHARACTERS = 300
READ_CHARACTERS = 20_000
CHECK_JOB = "check"  # what a person tries; only the budget can refuse it
FINAL_STOP_REASONS = frozenset({"end_turn", "tool_use", "stop_sequence"})


class ProviderDown(Unavailable):
    kind = "provider-down"
    own_words: str = ""

    def __init__(
        self,
        message: str,
        *,
        may_have_cost: bool,
        retryable: bool = True,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message, hint="nothing is lost; memoryd retries by itself")
        self.may_have_cost = may_have_cost
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds


class AnswerUnreadable(ProviderDown):
    kind = "answer-unreadable"

    def __init__(self, message: str) -> None:
        super().__init__(message, may_have_cost=True, retryable=False)


class ProviderPaused(Unavailable):
    kind = "provider-paused"
    own_words: str = ""

    def __init__(self, message: str, hint: str, pause_seconds: float, *, retryable: bool) -> None:
        super().__init__(message, hint)
        self.pause_seconds = pause_seconds
        self.retryable = retryable


class ProviderRefused(Refused):
    """`whole_account`: the key or model is wrong, so every job fails, not only this request."""

    kind = "provider-refused"
    own_words: str = ""

    def __init__(self, message: str, hint: str, *, whole_account: bool) -> None:
        super().__init__(message, hint)
        self.whole_account = whole_account


class BudgetReached(Unavailable):
    """`until` is when to ask again, in seconds since the epoch."""

    kind = "paused"

    def __init__(self, message: str, hint: str, *, reason: str, until: float) -> None:
        super().__init__(message, hint)
        self.reason = reason
        self.until = until


ProviderFailure = TypeVar("ProviderFailure", bound=ProviderDown | ProviderPaused | ProviderRefused)


def in_own_words(error: ProviderFailure, words: str, secret: str = "") -> ProviderFailure:
    """The error with what the provider itself said, as a person may see it."""
    said = words[:READ_CHARACTERS]
    said = strip_invisible(said.replace(secret, "[secret]") if secret else said)
    error.own_words = " ".join(masked_beginning(said, OWN_WORDS_CHARACTERS).split())
    return error


def told(error: Unavailable | Refused) -> str:
    """What went wrong, for a person: our words, then the provider's own if it said any."""
    said = getattr(error, "own_words", "")
    return f"{error.message}; it says: {said}" if said else error.message


class Text(msgspec.Struct, frozen=True):
    """`cache_here` ends a prefix that later requests repeat; a request may have four such marks."""

    text: str
    cache_here: bool = False


class ToolResult(msgspec.Struct, frozen=True):
    call_id: str
    text: str
    is_error: bool = False
    cache_here: bool = False


class UserTurn(msgspec.Struct, frozen=True):
    blocks: tuple[Text | ToolResult, ...]


class AssistantTurn(msgspec.Struct, frozen=True):
    content_json: bytes


MessageTurn = UserTurn | AssistantTurn


class ToolDefinition(msgspec.Struct, frozen=True):
    """A tool as it is described to the model.

    Its input must convert to `arguments`; the log shows the field `logged_field` of each call.
    """

    name: str
    description: str
    arguments: type[msgspec.Struct]
    logged_field: str = ""


class ModelRequest(msgspec.Struct, frozen=True):
    """One call; `job` and `project` say what it is charged to and are not sent."""

    job: str
    project: str
    model: str
    max_tokens: int
    system: tuple[Text, ...]
    turns: tuple[MessageTurn, ...]
    tools: tuple[ToolDefinition, ...] = ()
    answer_type: type[msgspec.Struct] | None = None
    thinks: bool = True


class Usage(msgspec.Struct, frozen=True):
    """Tokens as billed; `input_tokens` were neither read from nor written to the cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def cache_hit_percent(self) -> float:
        return 100.0 * self.cache_read_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


class ToolCall(msgspec.Struct, frozen=True):
    call_id: str
    name: str
    input_json: bytes


class ModelAnswer(msgspec.Struct, frozen=True):
    """`usd` is filled in by `MeteredProvider`."""

    turn: AssistantTurn
    text: str
    calls: tuple[ToolCall, ...]
    outcome: ProviderOutcome
    stop_reason: str
    usage: Usage
    usd: float = 0.0


class _WireUsage(msgspec.Struct):
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class _WireMessage(msgspec.Struct):
    role: Literal["assistant"]
    content: list[msgspec.Raw]
    stop_reason: str | None
    usage: _WireUsage = msgspec.field(default_factory=_WireUsage)


class _WireKind(msgspec.Struct):
    type: str


class _WireText(msgspec.Struct):
    text: str


class _WireCall(msgspec.Struct):
    id: Annotated[str, msgspec.Meta(min_length=1)]
    name: str
    input: msgspec.Raw


def read_answer(body: bytes) -> ModelAnswer:
    """The message in a response body, or `AnswerUnreadable`."""
    try:
        message = msgspec.json.decode(body, type=_WireMessage)
        kinds = [(msgspec.json.decode(raw, type=_WireKind).type, raw) for raw in message.content]
        texts = [msgspec.json.decode(raw, type=_WireText).text for k, raw in kinds if k == "text"]
        calls = tuple(_read_call(raw) for kind, raw in kinds if kind == "tool_use")
    except (ValueError, RecursionError):
        raise AnswerUnreadable("the model server sent something that is not a message") from None
    if len({call.call_id for call in calls}) < len(calls):
        raise AnswerUnreadable("the model server sent two tool calls with the same id")
    return ModelAnswer(
        turn=AssistantTurn(msgspec.json.encode(message.content)),
        text="\n".join(texts),
        calls=calls,
        outcome=outcome_of(message.stop_reason, calls),
        stop_reason=message.stop_reason or "",
        usage=_read_usage(message.usage),
    )


def outcome_of(stop_reason: str | None, calls: Sequence[ToolCall]) -> ProviderOutcome:
    """Whether an answer may be acted on; one that stops for tools but has no call was cut."""
    if stop_reason == "refusal":
        return "refused"
    if stop_reason not in FINAL_STOP_REASONS or (stop_reason == "tool_use" and not calls):
        return "cut"
    return "complete"


def _read_call(raw: msgspec.Raw) -> ToolCall:
    call = msgspec.json.decode(raw, type=_WireCall)
    return ToolCall(call.id, call.name, bytes(call.input))


def _read_usage(usage: _WireUsage) -> Usage:
    return Usage(
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_input_tokens or 0,
        usage.cache_creation_input_tokens or 0,
    )


def read_json(answer: ModelAnswer, answer_type: type[Answered]) -> Answered:
    """The JSON object in a complete answer, with or without a code fence around it."""
    if answer.outcome != "complete":
        raise AnswerUnreadable("the model's answer was cut off or refused")
    start, end = answer.text.find("{"), answer.text.rfind("}")
    try:
        return msgspec.json.decode(answer.text[start : end + 1], type=answer_type)
    except (ValueError, RecursionError):
        raise AnswerUnreadable("the model's answer does not match the schema") from None


def schema_of(shape: type[msgspec.Struct]) -> dict[str, object]:
    """The JSON schema of a struct with the struct itself at the root, as model servers expect."""
    schema = msgspec.json.schema(shape)
    definitions = schema.pop("$defs")
    root: dict[str, object] = definitions.pop(shape.__name__)
    return {**root, "$defs": definitions} if definitions else root


def prompt_bytes(request: ModelRequest) -> int:
    """How much text a request sends, for an estimate of its tokens."""
    texts = [block.text for block in request.system]
    texts += [tool.description + str(schema_of(tool.arguments)) for tool in request.tools]
    sizes = [len(text.encode("utf-8", "replace")) for text in texts]
    for turn in request.turns:
        if isinstance(turn, AssistantTurn):
            sizes.append(len(turn.content_json))
        else:
            sizes += [len(block.text.encode("utf-8", "replace")) for block in turn.blocks]
    return sum(sizes)
