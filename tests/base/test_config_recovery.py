"""A mistake in the settings is named, costs nothing, and hides nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.config import Settings
from memoryd.base.config_recovery import CAREFUL, recovered_settings


def test_right_settings_are_taken_as_they_are() -> None:
    found = recovered_settings("[budget]\nusd_per_day = 3\n[dream]\nmin_hours = 5\n", {})
    assert found.problems == []
    assert (found.settings.budget.usd_per_day, found.settings.dream.min_hours) == (3, 5)
    assert found.settings.model.provider == "auto"


@pytest.mark.parametrize(
    ("toml", "named"),
    [
        ("[budget]\nusd_per_dya = 3", "budget.usd_per_dya"),
        ("[budget]\nusd_per_day = 'much'", "budget.usd_per_day"),
        ("[bugdet]\nusd_per_day = 3", "bugdet"),
        ("budget = 3", "budget"),
        ("[model]\nbase_url = 'nonsense'", "model.base_url"),
        ("[projects.relative]\nmode = 'log'", "relative"),
        ("[prices.x]\ninput_usd = 1", "output_usd"),
        ("= broken", "TOML"),
        ("[recall]\nlimit = 7\n[log]\nlevel = 'loud'", "log.level"),
    ],
)
def test_a_mistake_is_named_and_nothing_is_spent(toml: str, named: str) -> None:
    found = recovered_settings(toml, {"ANTHROPIC_API_KEY": "made-up"})
    assert any(named in problem for problem in found.problems)
    assert found.settings.model.provider == "embedded"
    assert found.settings.history.keep_days == 36_500


def test_every_mistake_is_named_and_every_other_key_counts() -> None:
    toml = "[recall]\nlimit = 7\nlimt = 8\n[budget]\nusd_per_day = -1\nusd_per_month = 4\n"
    found = recovered_settings(toml, {})
    assert len(found.problems) == 2
    assert (found.settings.recall.limit, found.settings.budget.usd_per_month) == (7, 4)


def test_a_bad_key_in_the_environment_is_named_without_it() -> None:
    found = recovered_settings("", {"ANTHROPIC_API_KEY": "two words"})
    assert "ANTHROPIC_API_KEY" in found.problems[0]
    assert "two words" not in str(found.problems)
    assert found.settings.credentials.api_key is None


@given(st.text(), st.dictionaries(st.sampled_from(["ANTHROPIC_BASE_URL"]), st.text()))
def test_no_text_keeps_the_daemon_from_starting(toml: str, env: dict[str, str]) -> None:
    found = recovered_settings(toml, env)
    assert isinstance(found.settings, Settings)
    assert found.problems == [] or found.settings.model == CAREFUL["model"]
