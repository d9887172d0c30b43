"""Connects to the model server in the settings, if any, with guards around it.

Rules
- `auto` uses the model server if a key, a token, a key file or a base URL is given, else none.
- A key file is a regular file that holds the key and nothing else. If one is set but cannot be
  used, turns wait until it can: extracting without a model would be a guess.
- A server on this machine costs nothing unless the settings price its models.
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

    async def aclose(self) -> None:
        await self._direct.aclose()


def model_server(
    settings: Settings,
    spending: SpendingTable,
    home: str,
    now: Callable[[], datetime] = local_now,
) -> ModelServer | None:
    """The server to use; None for the built-in rules only; ConfigError if it is unusable."""
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
    return ModelServer(endpoint_at(settings.base_url, credentials), settings, spending, now)


def with_key_file(settings: Settings, home: str) -> Credentials:
    """The credentials from the environment, or else from the key file."""
    given, path = settings.credentials, settings.model.key_file
    if path is None or given.api_key or given.auth_token:
        return given
    return msgspec.structs.replace(given, api_key=_key_in(path, home))


def _key_in(path: str, home: str) -> Secret | None:
    place = Path(f"{home}{path[1:]}" if path.startswith("~/") else path)
    try:
        text = read_plain(place, KEY_FILE_LIMIT_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it does not contain a key"
        raise ConfigError(
            f"model.key_file {path} cannot be used: {reason}", hint="fix the file or its name"
        ) from error
    return Secret(text) if text else None
