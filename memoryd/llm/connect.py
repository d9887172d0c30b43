"""Connects to the model in the settings, if any, with guards around it.

Rules
- `auto` uses the model server if a key, a token, a key file or a base URL is given, else none. It
  never chooses a model behind a command: that is the person's own login or program.
- A key file is a regular file that holds the key and nothing else. If one is set but cannot be
  used, turns wait until it can: extracting without a model would be a guess.
- A server on this machine costs nothing unless the settings price its models.
"""

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path, PurePath

import anyio.to_thread
import msgspec

from memoryd.base.config import Credentials, ProviderName, Secret, Settings
from memoryd.base.errors import ConfigError, Refused
from memoryd.llm.anthropic_client import AnthropicProvider, Endpoint, Provider, endpoint_at
from memoryd.llm.claude_code import ClaudeCodeProvider
from memoryd.llm.command import CommandProvider
from memoryd.llm.guards import MeteredProvider, PatientProvider
from memoryd.llm.paced import PacedProvider
from memoryd.llm.plan_table import PlanTable
from memoryd.llm.rules.messages import ModelAnswer, ModelRequest, ProviderDown, ProviderRefused
from memoryd.llm.rules.plan import PlanLimits
from memoryd.llm.rules.spending import FREE
from memoryd.llm.spending_table import SpendingTable
from memoryd.system.plain_file import read_plain

KEY_FILE_LIMIT_BYTES = 16_384
UNLIMITED_TOKENS = 10**12


def local_now() -> datetime:
    """Budget days are in the user's time zone."""
    return datetime.now().astimezone()


class _LoadingProvider:
    """Loads the SDK before a call is debited: a crash while it loads leaves no open debit."""

    def __init__(self, direct: AnthropicProvider, metered: MeteredProvider) -> None:
        self._direct = direct
        self._metered = metered

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        await self._direct.open()
        return await self._metered.complete(request, deadline_seconds)


class ModelServer:
    """A server and two ways to call it: `patient` retries, `metered` does not."""

    provider: ProviderName = "anthropic"
    pace: PacedProvider | None = None

    def __init__(
        self,
        endpoint: Endpoint,
        settings: Settings,
        spending: SpendingTable,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        self.endpoint = endpoint
        self._direct = AnthropicProvider(endpoint)
        self.metered = MeteredProvider(
            self._direct,
            spending,
            settings.budget,
            settings.prices,
            unpriced=FREE if endpoint.is_loopback else None,
            breaker=spending.kept_breaker(),
            now=now,
        )
        self.patient = PatientProvider(_LoadingProvider(self._direct, self.metered))

    @property
    def host(self) -> str:
        return self.endpoint.host

    @property
    def selecting(self) -> Provider:
        """What chooses memories; it must be quick."""
        return self.metered

    @property
    def checking(self) -> Provider:
        """What a person tries: without retries, which would hide the first failure."""
        return self.metered

    def model_of(self, model: str) -> str:
        """The model that does the work of this one in the settings."""
        return model

    async def look(self) -> None:
        """There is nothing to find out before the first call."""

    async def aclose(self) -> None:
        await self._direct.aclose()


class ModelProgram:
    """A model behind a command: all jobs share one line, and recall is not in it."""

    selecting: Provider | None = None

    def __init__(
        self,
        provider: ProviderName,
        settings: Settings,
        spending: SpendingTable,
        env: Mapping[str, str],
        home: str,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        self.provider = provider
        table = PlanTable(spending.database)
        self._program: ClaudeCodeProvider | CommandProvider
        if provider == "claude-code":
            wanted = settings.model.claude_code
            self._program = ClaudeCodeProvider(
                wanted,
                env,
                home,
                keep_pause=lambda pause: anyio.to_thread.run_sync(table.keep_pause, pause),
                now=lambda: now().timestamp(),
            )
            limits = PlanLimits(
                wanted.calls_per_day, wanted.tokens_per_day, wanted.minutes_apart * 60.0
            )
            model = f"claude-code/{wanted.model}"
        else:
            words = command_words(settings)
            self._program = CommandProvider(words, env)
            limits = PlanLimits(settings.model.command_calls_per_day, UNLIMITED_TOKENS, 0.0)
            model = f"command/{PurePath(words[0]).name}"
        self.metered = MeteredProvider(
            self._program,
            spending,
            settings.budget,
            settings.prices,
            unpriced=FREE,
            breaker=spending.kept_breaker(),
            now=now,
        )
        self.pace = PacedProvider(self.metered, table, limits, model, now)
        self.patient = self.checking = self.pace

    @property
    def host(self) -> str:
        return ""

    def model_of(self, _model: str) -> str:
        return self.pace.model

    async def look(self) -> None:
        """Finds out now whether there is a program, so that the status can say so."""
        try:
            if isinstance(self._program, ClaudeCodeProvider):
                await self._program.probe()
            else:
                await anyio.to_thread.run_sync(self._program.probe)
        except ProviderRefused as error:
            self.pace.note_problem(error)
        except ProviderDown:
            return  # the first call tries again

    async def aclose(self) -> None:
        """A run that is under way ends with the task that waits for it."""


Models = ModelServer | ModelProgram


def command_words(settings: Settings) -> tuple[str, ...]:
    if settings.model.command is None:
        raise ConfigError(
            "model.provider is command, but there is no model.command",
            hint='name a program: command = ["my-model", "--json"] below [model]',
        )
    return settings.model.command


def model_server(
    settings: Settings,
    spending: SpendingTable,
    home: str,
    now: Callable[[], datetime] = local_now,
    env: Mapping[str, str] = os.environ,
) -> Models | None:
    """The model to use; None for the built-in rules only; ConfigError if it is unusable."""
    provider = settings.model.provider
    if provider == "embedded":
        return None
    if provider in {"claude-code", "command"}:
        if env.get("MEMORYD_FORBID_NETWORK") == "1":
            raise Refused(
                f"MEMORYD_FORBID_NETWORK does not allow the provider {provider}",
                hint="unset it, or set model.provider to embedded",
            )
        return ModelProgram(provider, settings, spending, env, home, now)
    credentials = with_key_file(settings, home)
    is_given = credentials.api_key or credentials.auth_token or settings.base_url
    if not is_given and settings.model.provider == "auto":
        return None
    if not is_given:
        raise ConfigError(
            "model.provider is anthropic, but there is no key",
            hint="set ANTHROPIC_API_KEY or model.key_file, or model.base_url for a local server",
        )
    return ModelServer(endpoint_at(settings.base_url, credentials), settings, spending, now)


def with_key_file(settings: Settings, home: str) -> Credentials:
    """The credentials from the environment, or else from the key file."""
    given, path = settings.credentials, settings.model.key_file
    if path is None or given.api_key or given.auth_token:
        return given
    return msgspec.structs.replace(given, api_key=_key_in(path, home))


def _key_in(path: str, home: str) -> Secret:
    place = Path(f"{home}{path[1:]}" if path.startswith("~/") else path)
    try:
        text = read_plain(place, KEY_FILE_LIMIT_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it does not contain a key"
        raise ConfigError(
            f"model.key_file {path} cannot be used: {reason}", hint="fix the file or its name"
        ) from error
    if not text:
        raise ConfigError(f"model.key_file {path} is empty", hint="write the key into it")
    return Secret(text)
