"""Which model server the settings mean, if any, with its guards round it.

Rules
- `auto` is the model server when a key, a token, a key file or a base URL is given, else none.
- A key file is a plain file that holds the key and nothing else. One that is named but cannot be
  used stops the start: to go on without a model would be a guess.
- A server on this very machine costs nothing unless the settings price its models.
"""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec

from memoryd.base.config import Credentials, Secret, Settings
from memoryd.base.errors import ConfigError
from memoryd.llm.anthropic_client import AnthropicProvider, Endpoint, endpoint_at
from memoryd.llm.guards import MeteredProvider, PatientProvider
from memoryd.llm.rules.messages import ModelAnswer, ModelRequest
from memoryd.llm.rules.spending import FREE
from memoryd.llm.spending_table import SpendingTable
from memoryd.system.plain_file import read_plain

KEY_FILE_LIMIT_BYTES = 16_384


def local_now() -> datetime:
    """The days of the budget are the person's own."""
    return datetime.now().astimezone()


class _Loaded:
    """Has the SDK there before a call is debited: a death while it loads leaves no open debit."""

    def __init__(self, direct: AnthropicProvider, metered: MeteredProvider) -> None:
        self._direct = direct
        self._metered = metered

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        await self._direct.open()
        return await self._metered.complete(request, deadline_seconds)


class ModelServer:
    """A server and the ways to ask it: `patient` for jobs, `metered` for who cannot wait."""

    def __init__(
        self,
        endpoint: Endpoint,
        settings: Settings,
        ledger: SpendingTable,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        self.endpoint = endpoint
        self._direct = AnthropicProvider(endpoint)
        self.metered = MeteredProvider(
            self._direct,
            ledger,
            settings.budget,
            settings.prices,
            unpriced=FREE if endpoint.is_loopback else None,
            breaker=ledger.kept_breaker(),
            now=now,
        )
        self.patient = PatientProvider(_Loaded(self._direct, self.metered))

    async def aclose(self) -> None:
        await self._direct.aclose()


def model_server(
    settings: Settings,
    ledger: SpendingTable,
    home: str,
    now: Callable[[], datetime] = local_now,
) -> ModelServer | None:
    """The server to use, None for the embedded parts alone; ConfigError when it is unusable."""
    if settings.model.provider == "embedded":
        return None
    credentials = with_key_file(settings, home)
    is_given = credentials.api_key or credentials.auth_token or settings.base_url
    if not is_given and settings.model.provider == "auto":
        return None
    if not is_given:
        raise ConfigError(
            "model.provider is anthropic, but there is no key",
            hint="set ANTHROPIC_API_KEY or model.key_file, or model.base_url for a local server",
        )
    return ModelServer(endpoint_at(settings.base_url, credentials), settings, ledger, now)


def with_key_file(settings: Settings, home: str) -> Credentials:
    """What the environment gives, or else what the key file holds."""
    given, path = settings.credentials, settings.model.key_file
    if path is None or given.api_key or given.auth_token:
        return given
    return msgspec.structs.replace(given, api_key=_key_in(path, home))


def _key_in(path: str, home: str) -> Secret | None:
    place = Path(f"{home}{path[1:]}" if path.startswith("~/") else path)
    try:
        text = read_plain(place, KEY_FILE_LIMIT_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it holds no key"
        raise ConfigError(
            f"model.key_file {path} cannot be used: {reason}", hint="fix the file or its name"
        ) from error
    return Secret(text) if text else None
