"""memoryd's own settings as one strict struct: every key of config.toml, its range, its default.

- The name of every number says its unit or its meaning.
- Keys and tokens come from the environment and are wrapped, so that no log line, error or encoded
  struct shows one by accident.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec

Usd = Annotated[float, msgspec.Meta(ge=0, le=100_000)]
Tokens = Annotated[int, msgspec.Meta(ge=1, le=100_000_000)]
ModelName = Annotated[
    str, msgspec.Meta(pattern=r"^[!-~]{1,200}$", description="the name of a model")
]
OwnPath = Annotated[
    str, msgspec.Meta(pattern=r"^~?/[^\x00]+$", description="an absolute path or one under ~/")
]

CommandWords = Annotated[
    tuple[Annotated[str, msgspec.Meta(min_length=1, pattern=r"^[^\x00]+$")], ...],
    msgspec.Meta(
        min_length=1, max_length=100, description="a list of texts: a program and its arguments"
    ),
]

PathPatterns = Annotated[
    tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=r"^[^\x00\n]+$")], ...],
    msgspec.Meta(max_length=200, description="a list of texts: patterns as in .gitignore"),
]

ProviderName = Literal["auto", "anthropic", "claude-code", "command", "embedded"]
ProjectMode = Literal["topics", "log"]
ExtractionMode = Literal["auto", "review", "off"]
Reviewer = Literal["person", "agent"]
UserScope = Literal["auto", "off"]
GroupPatterns = Annotated[
    tuple[OwnPath, ...],
    msgspec.Meta(
        min_length=1,
        max_length=100,
        description="a list of paths of projects, absolute or under ~/",
    ),
]
TeamAccept = Literal["auto", "review"]
LogLevel = Literal["debug", "info", "warning", "error"]


class SettingsSection(msgspec.Struct, frozen=True, kw_only=True):
    """One table of config.toml."""


class ExtractionSettings(SettingsSection, frozen=True, kw_only=True):
    mode: ExtractionMode = "auto"
    every_turns: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    parallel: Annotated[int, msgspec.Meta(ge=1, le=32)] = 2
    scripted: bool = False
    quiet_seconds: Annotated[int, msgspec.Meta(ge=0, le=600)] = 45


class InboxSettings(SettingsSection, frozen=True, kw_only=True):
    reviewer: Reviewer = "person"


class ClaudeCodeSettings(SettingsSection, frozen=True, kw_only=True):
    """Limits for the person's own Claude Code; used only if the provider is `claude-code`."""

    command: OwnPath | None = None
    model: ModelName = "haiku"
    calls_per_day: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 24
    tokens_per_day: Tokens = 300_000
    minutes_apart: Annotated[float, msgspec.Meta(ge=0, le=1440)] = 15
    idle_minutes: Annotated[float, msgspec.Meta(ge=0, le=1440)] = 15
    backlog_hours: Annotated[float, msgspec.Meta(ge=1, le=8760)] = 24


class ModelSettings(SettingsSection, frozen=True, kw_only=True):
    provider: ProviderName = "auto"
    base_url: Annotated[str, msgspec.Meta(description="a URL")] | None = None
    key_file: OwnPath | None = None
    command: CommandWords | None = None
    command_calls_per_day: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 200
    recall: ModelName = "claude-haiku-5-5"
    extraction: ModelName = "claude-haiku-5-5"
    notes: ModelName = "claude-haiku-5-5"
    dream: ModelName = "claude-sonnet-5-5"
    claude_code: ClaudeCodeSettings = ClaudeCodeSettings()


class Budget(SettingsSection, frozen=True, kw_only=True):
    usd_per_day: Usd = 1.00
    usd_per_month: Usd = 15.00


class Price(SettingsSection, frozen=True, kw_only=True):
    """US dollars per million tokens; the long prices apply above `long_above_tokens`.

    A missing cache price follows from the input price: 1.25 times to write, a tenth to read.
    """

    input_usd: Usd
    output_usd: Usd
    cache_write_usd: Usd | None = None
    cache_read_usd: Usd | None = None
    long_above_tokens: Tokens | None = None
    long_input_usd: Usd | None = None
    long_output_usd: Usd | None = None


class RecallSettings(SettingsSection, frozen=True, kw_only=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=50)] = 5
    model_dir: OwnPath | None = None
    # A hook gives up after 300 ms; a later answer would be wasted.
    deadline_ms: Annotated[int, msgspec.Meta(ge=1, le=60_000)] = 200
    at_tools: bool = True


class DreamSettings(SettingsSection, frozen=True, kw_only=True):
    min_hours: Annotated[float, msgspec.Meta(ge=0, le=8760)] = 24
    min_sessions: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 5
    max_loss_percent: Annotated[float, msgspec.Meta(ge=0, le=100)] = 30
    tell: bool = False


class IndexSettings(SettingsSection, frozen=True, kw_only=True):
    skip: bool = False


class ScopeSettings(SettingsSection, frozen=True, kw_only=True):
    user: UserScope = "auto"


class HistorySettings(SettingsSection, frozen=True, kw_only=True):
    keep_days: Annotated[int, msgspec.Meta(ge=1, le=36_500)] = 365
    keep_versions: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 20
    forgotten_days: Annotated[int, msgspec.Meta(ge=1, le=36_500)] | None = None


class LogSettings(SettingsSection, frozen=True, kw_only=True):
    level: LogLevel = "info"
    max_bytes: Annotated[int, msgspec.Meta(ge=65_536, le=1_073_741_824)] = 10_485_760
    keep_files: Annotated[int, msgspec.Meta(ge=1, le=100)] = 5
    keep_days: Annotated[int, msgspec.Meta(ge=1, le=36_500)] | None = None


class NotesSettings(SettingsSection, frozen=True, kw_only=True):
    keep_days: Annotated[int, msgspec.Meta(ge=1, le=36_500)] | None = None


class PrivacySettings(SettingsSection, frozen=True, kw_only=True):
    exclude: PathPatterns = ()


class TranscriptSettings(SettingsSection, frozen=True, kw_only=True):
    sweep_seconds: Annotated[int, msgspec.Meta(ge=1, le=3600)] = 30


class ProjectSettings(SettingsSection, frozen=True, kw_only=True):
    mode: ProjectMode = "topics"
    extraction: ExtractionMode | None = None


class TeamSettings(SettingsSection, frozen=True, kw_only=True):
    dsn: (
        Annotated[
            str,
            msgspec.Meta(
                min_length=1, max_length=2000, description="the address of a Postgres database"
            ),
        ]
        | None
    ) = None
    key_file: OwnPath | None = None
    accept: TeamAccept = "review"
    remote: Annotated[
        str, msgspec.Meta(pattern=r"^[^\s\x00]{1,200}$", description="the name of a git remote")
    ] = "origin"
    poll_seconds: Annotated[int, msgspec.Meta(ge=1, le=86_400)] = 60
    listen: bool = True
    entry_cap: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 2000


class SyncSettings(SettingsSection, frozen=True, kw_only=True):
    private: bool = False


class Secret:
    """A value that only `reveal` shows; it cannot be printed or encoded."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "[secret]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self._value

    def __hash__(self) -> int:
        return hash(self._value)


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """The provider's credentials from the environment; the key takes precedence."""

    api_key: Secret | None = None
    auth_token: Secret | None = None
    base_url: str | None = None


# Published prices. The row "unknown" is for models without one: expensive on purpose, so that an
# unknown name is not a way around the cap.
DEFAULT_PRICES: Mapping[str, Price] = MappingProxyType(
    {
        "claude-haiku-5-5": Price(
            input_usd=0.10,
            output_usd=0.50,
            long_above_tokens=100_000,
            long_input_usd=0.50,
            long_output_usd=2.50,
        ),
        "claude-sonnet-5-5": Price(input_usd=2.00, output_usd=10.00),
        "claude-opus-5-5": Price(input_usd=4.00, output_usd=20.00),
        "unknown": Price(input_usd=15.00, output_usd=75.00),
    }
)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a user can set; each section has its name in config.toml."""

    extraction: ExtractionSettings = ExtractionSettings()
    inbox: InboxSettings = InboxSettings()
    model: ModelSettings = ModelSettings()
    budget: Budget = Budget()
    recall: RecallSettings = RecallSettings()
    dream: DreamSettings = DreamSettings()
    index: IndexSettings = IndexSettings()
    scopes: ScopeSettings = ScopeSettings()
    history: HistorySettings = HistorySettings()
    notes: NotesSettings = NotesSettings()
    privacy: PrivacySettings = PrivacySettings()
    log: LogSettings = LogSettings()
    transcripts: TranscriptSettings = TranscriptSettings()
    team: TeamSettings = TeamSettings()
    sync: SyncSettings = SyncSettings()
    prices: Mapping[str, Price] = DEFAULT_PRICES
    projects: Mapping[str, ProjectSettings] = MappingProxyType({})
    groups: Mapping[str, GroupPatterns] = MappingProxyType({})
    credentials: Credentials = Credentials()

    @property
    def base_url(self) -> str | None:
        """The server to use instead of the provider's own; config.toml takes precedence."""
        return self.model.base_url or self.credentials.base_url

    def mode_of(self, root: str) -> ProjectMode:
        return self.projects.get(root, ProjectSettings()).mode

    def extraction_mode_of(self, root: str) -> ExtractionMode:
        return self.projects.get(root, ProjectSettings()).extraction or self.extraction.mode
