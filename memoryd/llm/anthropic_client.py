"""The model server: the only module that knows the SDK, its errors and the wire format.

Rules
- Key and URL are always passed explicitly. The SDK's own search for a login (environment, profiles
  on disk, workload identity), its retries and its telemetry are never used.
- The SDK takes a second and 50 MB to import: it is loaded on first use, in a worker thread.
- One call is one request. Retries are up to `guards`, so that every attempt is debited by itself.
- Answers are not streamed. They are short (a minute or two at most), no one watches them grow, and
  a body that is either whole or an error leaves no half answer to mistake for an end of turn.
- A server that is not Anthropic's gets the oldest form of the API: both ways of sending a key,
  version 2023-06-01, the schema in the prompt instead of a field, no thinking options.
- A loopback server is reached directly, whatever proxy the environment names. Redirects are not
  followed: the key was meant for the host in the settings.
- `MEMORYD_FORBID_NETWORK=1` allows only loopback servers; any other fails before connecting.
"""

import ipaddress
import logging
import math
import os
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import SplitResult, urlsplit

import anyio
import anyio.to_thread
import msgspec

from memoryd.base.config import Credentials, Secret
from memoryd.base.errors import ConfigError, Refused
from memoryd.llm.rules.body_limit import ACCEPTED_ENCODINGS, BodyMeter, BodyTooLarge
from memoryd.llm.rules.messages import (
    AssistantTurn,
    MessageTurn,
    ModelAnswer,
    ModelRequest,
    ProviderDown,
    ProviderPaused,
    ProviderRefused,
    Text,
    ToolDefinition,
    ToolResult,
    UserTurn,
    in_own_words,
    read_answer,
    schema_of,
)
from memoryd.llm.unreachable import system_words

if TYPE_CHECKING:
    from anthropic import APIStatusError, AsyncAnthropic
    from httpx2 import Response

ANTHROPIC_HOST = "api.anthropic.com"
OLDEST_VERSION = "2023-06-01"
CONNECT_SECONDS = 5.0
SPEND_PAUSE_SECONDS = 3600.0
# A local server that needs no key is still sent one, since the SDK requires it.
NO_KEY = Secret("none")
# The gateway lost an answer that the model behind it may have given and billed.
STATUS_WITH_UNKNOWN_COST = frozenset({408, 502, 504})

Fields = dict[str, Any]


class Provider(Protocol):
    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        """One answer within the deadline, or one of the errors listed in `rules/messages.py`."""


class Endpoint(msgspec.Struct, frozen=True):
    """Where the server is and its key; made only by `endpoint_at`."""

    base_url: str
    secret: Secret
    is_api_key: bool

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_anthropic(self) -> bool:
        return self.host == ANTHROPIC_HOST

    @property
    def is_loopback(self) -> bool:
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def endpoint_at(base_url: str | None, credentials: Credentials) -> Endpoint:
    """The endpoint in the settings, or a `ConfigError` that says what is wrong with them."""
    url = _split_url(base_url or f"https://{ANTHROPIC_HOST}")
    path = url.path.rstrip("/").removesuffix("/messages").removesuffix("/v1")
    secret = credentials.api_key or credentials.auth_token or NO_KEY
    _check_secret(secret.reveal())
    endpoint = Endpoint(
        base_url=url._replace(path=path, query="", fragment="").geturl(),
        secret=secret,
        is_api_key=credentials.api_key is not None,
    )
    if os.environ.get("MEMORYD_FORBID_NETWORK") == "1" and not endpoint.is_loopback:
        raise Refused(
            "MEMORYD_FORBID_NETWORK allows only a model server on this machine",
            hint="unset it, or set model.base_url to a loopback address",
        )
    return endpoint


def _check_secret(secret: str) -> None:
    """A line break or a non-ASCII letter would fail much later, in an error that quotes the key."""
    if not secret or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ConfigError(
            "the model key contains invalid characters",
            hint="check ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or the key file",
        )


def _split_url(base_url: str) -> SplitResult:
    try:
        url = urlsplit(base_url)
        usable = (
            url.scheme in {"http", "https"}
            and re.fullmatch(r"[A-Za-z0-9._:-]+", url.hostname or "") is not None
            and url.port != 0
            and url.username is None
        )
    except ValueError:
        usable = False
    if not usable:
        raise ConfigError(
            "model.base_url is not a plain http or https address",
            hint="write it like https://api.anthropic.com or http://localhost:11434",
        )
    return url


class AnthropicProvider:
    """Talks to Anthropic, or to any server with the same API, through the SDK."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: AsyncAnthropic | None = None
        self._connecting = anyio.Lock()

    async def open(self) -> "AsyncAnthropic":
        """Loads the SDK now, so that a first caller with a short deadline need not wait for it."""
        async with self._connecting:
            if self._client is None:
                # An abandoned import still finishes, and the next caller finds it done.
                self._client = await anyio.to_thread.run_sync(
                    _connect, self._endpoint, abandon_on_cancel=True
                )
            return self._client

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        try:
            with anyio.fail_after(deadline_seconds):
                client = await self.open()
                fields = wire_fields(request, self._endpoint)
                response = await client.messages.with_raw_response.create(**fields)
                body = await response.read()
        except TimeoutError:
            raise ProviderDown(
                "the model server did not answer in time", may_have_cost=True
            ) from None
        except Exception as error:
            ours = _as_ours(error)
            if ours is None:
                raise
            raise in_own_words(ours, _own_words(error), self._endpoint.secret.reveal()) from None
        return read_answer(body)

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.close()


def _connect(endpoint: Endpoint) -> "AsyncAnthropic":
    import anthropic  # noqa: PLC0415 - see the rules above: first use, in a thread
    import httpx2  # noqa: PLC0415

    # At lower levels these log addresses and headers, and the environment can lower them.
    for name in ("anthropic", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)
    client = anthropic.AsyncAnthropic(
        api_key=endpoint.secret.reveal(),
        base_url=endpoint.base_url,
        max_retries=0,
        open_telemetry=False,
        http_client=httpx2.AsyncClient(
            trust_env=not endpoint.is_loopback,
            follow_redirects=False,
            headers={"accept-encoding": ACCEPTED_ENCODINGS},
            event_hooks={"response": [_limit_body]},
            # Our own deadline covers the whole call; this one only detects a dead host sooner.
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        ),
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
    )
    _ = client.messages  # imports most of the SDK, which belongs in this thread too
    return client


async def _limit_body(response: "Response") -> None:
    """Called before a body is read: ends it as a broken connection once it is too large."""
    import httpx2  # noqa: PLC0415 - see _connect

    class LimitedBody(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                meter = BodyMeter(response.headers.get("content-encoding", ""))
                async for piece in self._stream:
                    meter.take(piece)
                    yield piece
            except BodyTooLarge as error:
                raise httpx2.ReadError(str(error)) from error

        async def aclose(self) -> None:
            await self._stream.aclose()

    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = LimitedBody(response.stream)


def wire_fields(request: ModelRequest, endpoint: Endpoint) -> Fields:
    """The arguments of the SDK's `create` for a request to this server."""
    turns = request.turns
    extras: Fields = {}
    if endpoint.is_anthropic:
        extras = _modern_fields(request)
    elif request.answer_type is not None:
        turns = _with_schema_in_prompt(turns, request.answer_type)
    if request.system:
        extras["system"] = [_wire_block(block) for block in request.system]
    if request.tools:
        extras["tools"] = [_wire_tool(tool) for tool in request.tools]
    return {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [_wire_turn(turn) for turn in turns],
        "extra_headers": _headers(endpoint),
        **extras,
    }


def _headers(endpoint: Endpoint) -> Fields:
    """Sent with each request, where they override ANTHROPIC_CUSTOM_HEADERS."""
    from anthropic import omit  # noqa: PLC0415 - see _connect

    secret = endpoint.secret.reveal()
    headers: Fields = {"Authorization": f"Bearer {secret}", "x-api-key": omit}
    if endpoint.is_anthropic:
        return headers
    if endpoint.is_api_key:
        headers["x-api-key"] = secret
    return {**headers, "anthropic-version": OLDEST_VERSION}


def _modern_fields(request: ModelRequest) -> Fields:
    from anthropic import transform_schema  # noqa: PLC0415 - see _connect

    fields: Fields = {}
    output: Fields = {}
    if request.answer_type is not None:
        schema = transform_schema(schema_of(request.answer_type))
        output["format"] = {"type": "json_schema", "schema": schema}
    # Thinking counts towards max_tokens and would use up a short answer. Only the small models can
    # switch it off; the others accept a low effort.
    if not request.thinks and "haiku" in request.model:
        fields["thinking"] = {"type": "disabled"}
    elif not request.thinks:
        output["effort"] = "low"
    return {**fields, "output_config": output} if output else fields


def _with_schema_in_prompt(
    turns: tuple[MessageTurn, ...], answer_type: type[msgspec.Struct]
) -> tuple[MessageTurn, ...]:
    schema = msgspec.json.encode(schema_of(answer_type)).decode()
    words = Text(f"Answer with one JSON object and nothing else. Its JSON schema: {schema}")
    last = turns[-1]
    blocks = last.blocks if isinstance(last, UserTurn) else ()
    return (*turns[:-1], UserTurn((*blocks, words)))


def _wire_tool(tool: ToolDefinition) -> Fields:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": schema_of(tool.arguments),
    }


def _wire_turn(turn: MessageTurn) -> Fields:
    if isinstance(turn, AssistantTurn):
        return {"role": "assistant", "content": msgspec.json.decode(turn.content_json)}
    return {"role": "user", "content": [_wire_block(block) for block in turn.blocks]}


def _wire_block(block: Text | ToolResult) -> Fields:
    # Transcripts contain lone surrogates, which JSON bodies cannot.
    text = block.text.encode("utf-8", "replace").decode()
    fields: Fields = {"type": "text", "text": text}
    if isinstance(block, ToolResult):
        fields = {"type": "tool_result", "tool_use_id": block.call_id, "content": text}
        if block.is_error:
            fields["is_error"] = True
    if block.cache_here:
        fields["cache_control"] = {"type": "ephemeral"}
    return fields


def _as_ours(error: Exception) -> ProviderDown | ProviderPaused | ProviderRefused | None:
    """Our error for an exception of the SDK; none of its text is kept in it."""
    import anthropic  # noqa: PLC0415 - see _connect
    import httpx2  # noqa: PLC0415

    if isinstance(error, anthropic.APIStatusError):
        return _status_as_ours(error)
    if isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError):
        never_sent = isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)
        if never_sent:
            words = system_words(error, "cannot reach the model server")
            return ProviderDown(words, may_have_cost=False)
        return ProviderDown("the model server closed the connection", may_have_cost=True)
    return None


def _own_words(error: Exception) -> str:
    """What the server said, for the person who tries it."""
    said = getattr(error, "api_message", None)
    return said if isinstance(said, str) else ""


def _status_as_ours(
    error: "APIStatusError",
) -> ProviderDown | ProviderPaused | ProviderRefused:
    status = error.status_code
    retry_after_seconds = _retry_after_seconds(error.response.headers.get("retry-after", ""))
    if status == 429 and retry_after_seconds is not None:
        return ProviderPaused(
            "the model server is rate-limiting memoryd",
            hint="nothing is lost; memoryd resumes by itself",
            pause_seconds=retry_after_seconds,
            retryable=True,
        )
    # An organisation's spend cap comes as a plain 400, recognisable only by its text.
    if status in {402, 429} or (status == 400 and "usage limits" in (error.api_message or "")):
        return ProviderPaused(
            "the account of the model key has reached its spend limit",
            hint="raise the limit at the provider; memoryd retries every hour",
            pause_seconds=SPEND_PAUSE_SECONDS,
            retryable=False,
        )
    if status in {408, 409} or status >= 500:
        return ProviderDown(
            f"the model server failed (HTTP {status})",
            may_have_cost=status in STATUS_WITH_UNKNOWN_COST,
            retry_after_seconds=retry_after_seconds,
        )
    return _refusal(status)


def _refusal(status: int) -> ProviderRefused:
    message = f"the model server refused (HTTP {status})"
    if status in {401, 403}:
        hint = "check the key: ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or the key file"
        return ProviderRefused(message, hint, whole_account=True)
    if status == 404 or status < 400:
        hint = "check model.base_url and the names of the models in the settings"
        return ProviderRefused(message, hint, whole_account=True)
    return ProviderRefused(
        message,
        "only this job failed, others continue; if all do, check the models' names",
        whole_account=False,
    )


def _retry_after_seconds(header: str) -> float | None:
    """The header's seconds; the date form is ignored, since no model server sends it."""
    try:
        seconds = float(header)
    except ValueError:
        return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
