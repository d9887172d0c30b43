"""Settings: defaults, what config.toml may say, and errors that name the typo."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.config import DEFAULT_PRICES, Price, Secret, Settings
from memoryd.base.config_file import KEYS, load_settings
from memoryd.base.errors import ConfigError


def failure(text: str, **env: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_settings(text, env)
    return caught.value


# What is promised


def test_without_a_file_the_published_defaults_apply() -> None:
    settings = load_settings("", {})
    assert settings == Settings()
    assert (settings.extraction.every_turns, settings.extraction.parallel) == (1, 2)
    assert (settings.budget.usd_per_day, settings.budget.usd_per_month) == (1.00, 15.00)
    assert (settings.dream.min_hours, settings.dream.min_sessions) == (24, 5)
    assert settings.dream.max_loss_percent == 30
    assert settings.recall.limit == 5
    assert settings.recall.deadline_ms < 300
    assert settings.model.provider == "auto"
    assert settings.model.recall == settings.model.extraction == "claude-haiku-5-5"
    assert settings.model.dream == "claude-sonnet-5-5"
    assert settings.index.skip is False
    assert (settings.history.keep_days, settings.history.keep_versions) == (365, 20)
    assert settings.transcripts.sweep_seconds == 30
    assert settings.base_url is None


def test_every_section_is_read() -> None:
    settings = load_settings(
        """
        [extraction]
        every_turns = 3
        parallel = 4
        [model]
        provider = "anthropic"
        base_url = "http://localhost:11434"
        key_file = "~/.keys/anthropic"
        command = ["ollama", "run", "small"]
        recall = "local/tiny:1b"
        [model.claude_code]
        command = "/opt/bin/claude"
        calls_per_day = 6
        [budget]
        usd_per_day = 2
        usd_per_month = 0.5
        [recall]
        limit = 3
        model_dir = "/srv/models/small"
        deadline_ms = 150
        [dream]
        min_hours = 0.5
        [index]
        skip = true
        [history]
        keep_days = 30
        [log]
        level = "debug"
        [transcripts]
        sweep_seconds = 5
        """,
        {},
    )
    assert (settings.extraction.every_turns, settings.extraction.parallel) == (3, 4)
    assert settings.base_url == "http://localhost:11434"
    assert settings.model.key_file == "~/.keys/anthropic"
    assert settings.model.recall == "local/tiny:1b"
    assert settings.model.command == ("ollama", "run", "small")
    assert settings.model.claude_code.command == "/opt/bin/claude"
    assert settings.model.claude_code.calls_per_day == 6
    assert settings.model.claude_code.tokens_per_day == 300_000
    assert (settings.budget.usd_per_day, settings.budget.usd_per_month) == (2.0, 0.5)
    assert settings.recall.model_dir == "/srv/models/small"
    assert settings.dream.min_hours == 0.5
    assert settings.index.skip is True
    assert settings.log.level == "debug"
    assert settings.transcripts.sweep_seconds == 5
    assert settings.dream.min_sessions == 5


def test_a_file_saved_with_a_byte_order_mark_and_crlf_is_read() -> None:
    assert load_settings("\ufeff[index]\r\nskip = true\r\n", {}).index.skip is True


def test_prices_extend_and_override_the_table() -> None:
    settings = load_settings(
        """
        [prices."claude-haiku-5-5"]
        input_usd = 0.2
        output_usd = 1
        [prices."local/tiny:1b"]
        input_usd = 0
        output_usd = 0
        cache_write_usd = 0
        """,
        {},
    )
    assert settings.prices["claude-haiku-5-5"] == Price(input_usd=0.2, output_usd=1.0)
    assert settings.prices["local/tiny:1b"].output_usd == 0
    assert settings.prices["claude-opus-5-5"] == DEFAULT_PRICES["claude-opus-5-5"]


def test_an_unknown_model_costs_more_than_every_known_one() -> None:
    unknown = DEFAULT_PRICES["unknown"]
    for price in DEFAULT_PRICES.values():
        assert price.input_usd <= unknown.input_usd
        assert price.output_usd <= unknown.output_usd
        assert (price.long_output_usd or 0) <= unknown.output_usd


def test_the_models_of_every_job_have_a_price() -> None:
    model = Settings().model
    assert {model.recall, model.extraction, model.notes, model.dream} <= DEFAULT_PRICES.keys()


def test_a_project_can_have_a_mode_of_its_own() -> None:
    settings = load_settings('[projects."/work/assistant/"]\nmode = "log"', {})
    assert settings.mode_of("/work/assistant") == "log"
    assert settings.mode_of("/work/other") == "topics"


# Slips


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[extraction]\nevery_turn = 2",
            (
                "unknown key extraction.every_turn in config.toml"
                "; did you mean extraction.every_turns?"
            ),
        ),
        (
            "[extracton]\nevery_turns = 2",
            "unknown section or key extracton in config.toml; did you mean extraction?",
        ),
        (
            "every_turns = 2",
            (
                "unknown section or key every_turns in config.toml;"
                " did you mean extraction.every_turns?"
            ),
        ),
        (
            "[dream]\nusd_per_day = 2",
            "unknown key dream.usd_per_day in config.toml; did you mean budget.usd_per_day?",
        ),
        (
            '[prices."m"]\ninput_usd = 1\noutput_uds = 2',
            'unknown key prices."m".output_uds in config.toml; did you mean prices."m".output_usd?',
        ),
        (
            '[projects."/w"]\nmodes = "log"',
            'unknown key projects."/w".modes in config.toml; did you mean projects."/w".mode?',
        ),
        ("[model]\nzzzzzzzz = 2", "unknown key model.zzzzzzzz in config.toml"),
        ("[credentials]\napi_key = 2", "unknown section or key credentials in config.toml"),
    ],
)
def test_a_typo_is_named_with_the_nearest_valid_key(text: str, message: str) -> None:
    assert failure(text).message == message


@given(st.sampled_from(KEYS), st.data())
def test_any_key_with_a_missing_letter_is_suggested(dotted: str, data: st.DataObject) -> None:
    section, _, key = dotted.rpartition(".")
    lost = data.draw(st.integers(0, len(key) - 1))
    typo = key[:lost] + key[lost + 1 :]
    if f"{section}.{typo}" not in KEYS and len(typo) > 3:
        assert f"did you mean {dotted}?" in failure(f'[{section}]\n"{typo}" = 1').message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[extraction]\nevery_turns = "two"',
            (
                "extraction.every_turns in config.toml must be a whole number from 1 to 1000,"
                " got other text"
            ),
        ),
        (
            "[extraction]\nevery_turns = 0",
            "extraction.every_turns in config.toml must be a whole number from 1 to 1000, got 0",
        ),
        (
            "[extraction]\nevery_turns = true",
            "extraction.every_turns in config.toml must be a whole number from 1 to 1000, got true",
        ),
        (
            "[extraction]\nevery_turns = 1.5",
            "extraction.every_turns in config.toml must be a whole number from 1 to 1000, got 1.5",
        ),
        (
            "[budget]\nusd_per_day = -1",
            "budget.usd_per_day in config.toml must be a number from 0 to 100000, got -1",
        ),
        (
            "[index]\nskip = 2026-01-01",
            "index.skip in config.toml must be true or false, got a date or time",
        ),
        (
            '[model]\nprovider = "antropic"',
            (
                "model.provider in config.toml must be one of anthropic, auto, claude-code,"
                ' command, embedded, got "antropic"'
            ),
        ),
        (
            '[model]\nrecall = ""',
            "model.recall in config.toml must be the name of a model, got empty text",
        ),
        (
            "[recall]\nmodel_dir = []",
            "recall.model_dir in config.toml must be an absolute path or one under ~/, got a list",
        ),
        (
            "[model.claude_code]\ncalls_per_day = 0",
            (
                "model.claude_code.calls_per_day in config.toml must be a whole number"
                " from 1 to 1000, got 0"
            ),
        ),
        (
            "[model]\nclaude_code = 3",
            "model.claude_code in config.toml must be a section, got 3",
        ),
        *(
            (
                f"[model]\ncommand = {value}",
                (
                    "model.command in config.toml must be a list of texts: a program and its"
                    f" arguments, got {shown}"
                ),
            )
            for value, shown in (
                ("[]", "a list"),
                ('["a", 1]', "a list"),
                ('"ollama"', "other text"),
            )
        ),
        ("extraction = 3", "extraction in config.toml must be a section, got 3"),
        ("[[extraction]]", "extraction in config.toml must be a section, got a list"),
        ("[prices]\nm = 3", 'prices."m" in config.toml must be a section, got 3'),
        ("[prices.m]\ninput_usd = 3", 'prices."m" in config.toml has no output_usd'),
        (
            "[prices.m]\ninput_usd = 3\noutput_usd = 4\nlong_input_usd = 5",
            'prices."m" in config.toml has only some of its prices for long prompts',
        ),
        (
            '[projects.app]\nmode = "log"',
            "projects.app in config.toml must be an absolute path",
        ),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(text: str, message: str) -> None:
    assert failure(text).message == message
    assert failure(text).hint


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e300"])
@pytest.mark.parametrize("key", ["usd_per_day", "usd_per_month"])
def test_no_number_lifts_the_cap(key: str, number: str) -> None:
    assert f"budget.{key}" in failure(f"[budget]\n{key} = {number}").message


@pytest.mark.parametrize("path", ["keys/mine", "", "/", "~", "~ada/key", "sk-ant-oops"])
def test_a_key_file_is_absolute_or_in_the_home_and_never_repeated(path: str) -> None:
    problem = failure(f'[model]\nkey_file = "{path}"')
    assert "model.key_file" in problem.message
    assert "oops" not in problem.message + problem.hint


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[index]\nskip = = true", 2),
        ("[index\n", 1),
        ("a = 1\nb = 2\nb = 3\n", 3),
        ("\n\nx = [1", 3),
    ],
)
def test_broken_toml_is_reported_with_its_line(text: str, line: int) -> None:
    assert f"at line {line}" in failure(text).message


@pytest.mark.parametrize("text", ["a = " + "[" * 20_000, "a = " + "9" * 20_000, "a = \0"])
def test_huge_toml_is_an_ordinary_error(text: str) -> None:
    assert "config.toml is not valid TOML" in failure(text).message


# The environment


def test_credentials_come_from_the_environment_and_empty_is_unset() -> None:
    env = {"ANTHROPIC_API_KEY": " sk-made-up\n", "ANTHROPIC_AUTH_TOKEN": ""}
    credentials = load_settings("", env).credentials
    assert credentials.api_key == Secret("sk-made-up")
    assert credentials.auth_token is None


def test_a_secret_is_never_printed() -> None:
    settings = load_settings("", {"ANTHROPIC_API_KEY": "sk-made-up"})
    for text in (repr(settings), f"{settings.credentials}", f"{settings.credentials.api_key}"):
        assert "made-up" not in text
    with pytest.raises(TypeError):
        msgspec.json.encode(settings.credentials)


@pytest.mark.parametrize("value", ["sk-a\r\nx-evil: 1", "sk a", "sk-ä", "sk-\0"])
def test_a_key_that_could_break_a_header_is_refused_without_showing_it(value: str) -> None:
    problem = failure("", ANTHROPIC_AUTH_TOKEN=value)
    assert "ANTHROPIC_AUTH_TOKEN" in problem.message
    assert value not in problem.message + problem.hint


def test_the_file_takes_precedence_over_the_environment_for_the_server() -> None:
    env = {"ANTHROPIC_BASE_URL": "https://gateway.example.com/anthropic/"}
    assert load_settings("", env).base_url == "https://gateway.example.com/anthropic/"
    text = '[model]\nbase_url = "http://[::1]:8080"'
    assert load_settings(text, env).base_url == "http://[::1]:8080"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("localhost:11434", "http or https"),
        ("ftp://example.com", "http or https"),
        ("https://", "http or https"),
        ("file:///etc/passwd", "http or https"),
        ("https://exa mple.com", "http or https"),
        ("https://[::1", "not a URL"),
        ("https://me:hunter2@example.com", "must not have a user"),
        ("https://example.com/?key=hunter2", "must not have a user"),
        ("https://example.com/v1", "before /v1"),
        ("https://example.com/v1/", "before /v1"),
    ],
)
def test_an_invalid_server_is_refused_without_showing_it(url: str, reason: str) -> None:
    written = failure(f'[model]\nbase_url = "{url}"')
    assert "model.base_url" in written.message
    assert reason in written.message
    inherited = failure("", ANTHROPIC_BASE_URL=url)
    assert "ANTHROPIC_BASE_URL" in inherited.message
    assert "hunter2" not in written.message + inherited.message


# Anything


TOML_VALUES = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda number: f"{number:f}"),
    st.sampled_from(["true", '"x"', "[]", "{}", "nan", "1979-05-27", '"/a"', '"auto"']),
)


@given(st.dictionaries(st.sampled_from([*KEYS, "x.y", "prices.m", "projects.p"]), TOML_VALUES))
def test_any_settings_are_either_within_their_ranges_or_refused(values: dict[str, str]) -> None:
    text = "\n".join(f"{key} = {value}" for key, value in values.items())
    with suppress(ConfigError):
        settings = load_settings(text, {})
        assert 0 <= settings.budget.usd_per_day <= 100_000
        assert 1 <= settings.extraction.parallel <= 32
        assert settings.model.provider in {"auto", "anthropic", "embedded"}


@given(st.text(max_size=200))
def test_any_text_is_settings_or_a_config_error(text: str) -> None:
    with suppress(ConfigError):
        load_settings(text, {})
