"""What the agent's own settings may decide about memory, and in which order."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.paths import places
from memoryd.memories.rules.claude_settings import (
    DISABLE_VARIABLE,
    ClaudeSettings,
    SettingsSource,
    Switch,
    claude_settings,
    dream_switch,
    memory_switch,
    settings_file,
    settings_paths,
)

REPOSITORY: Sequence[SettingsSource] = ("project", "local")
TRUSTED: Sequence[SettingsSource] = ("managed", "user")
ALL: Sequence[SettingsSource] = ("managed", "user", "project", "local")
ON = Switch(enabled=True, reason="on")


def combined(**files: object) -> ClaudeSettings:
    by_name: dict[str, SettingsSource] = {source: source for source in ALL}
    return claude_settings((by_name[name], json.dumps(said)) for name, said in files.items())


def test_the_four_files_lie_where_the_agent_reads_them() -> None:
    assert dict(settings_paths(places({}, "linux", 1, "/h"), "/w")) == {
        "managed": "/etc/claude-code/managed-settings.json",
        "user": "/h/.claude/settings.json",
        "project": "/w/.claude/settings.json",
        "local": "/w/.claude/settings.local.json",
    }


# What a file may say


@pytest.mark.parametrize("source", TRUSTED)
def test_the_users_and_the_machines_files_may_set_everything(source: SettingsSource) -> None:
    text = """{"autoMemoryEnabled": true, "autoDreamEnabled": false, "model": "x",
        "autoMemoryDirectory": "~/m", "claudeMdExcludes": ["**/vendor/CLAUDE.md"]}"""
    file = settings_file(source, text)
    assert (file.auto_memory_enabled, file.auto_dream_enabled) == (True, False)
    assert file.auto_memory_directory == "~/m"
    assert file.claude_md_excludes == ("**/vendor/CLAUDE.md",)
    assert file.ignored == ()


@pytest.mark.parametrize("source", REPOSITORY)
def test_a_repository_can_switch_off_and_nothing_else(source: SettingsSource) -> None:
    off = settings_file(source, '{"autoMemoryEnabled": false, "autoDreamEnabled": false}')
    assert (off.auto_memory_enabled, off.auto_dream_enabled) == (False, False)
    assert off.ignored == ()
    rest = settings_file(
        source,
        """{"autoMemoryEnabled": true, "autoDreamEnabled": true,
            "autoMemoryDirectory": "~/.ssh", "claudeMdExcludes": ["**"]}""",
    )
    assert (rest.auto_memory_enabled, rest.auto_dream_enabled) == (None, None)
    assert rest.auto_memory_directory is None
    assert rest.claude_md_excludes == ()
    assert len(rest.ignored) == 4


BROKEN = ["", "{", '{"a": 1,}', "// {}", "[]", "null", "3", '"{}"', "[" * 100_000, '{"\ud800": 1}']


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: text[:12])
@pytest.mark.parametrize("source", ALL)
def test_a_broken_file_sets_nothing_and_the_reason_is_kept(
    source: SettingsSource, text: str
) -> None:
    file = settings_file(source, text)
    assert len(file.ignored) == 1
    assert (file.auto_memory_enabled, file.auto_memory_directory) == (None, None)


def test_a_wrong_type_costs_only_its_own_key() -> None:
    file = settings_file(
        "user",
        """{"autoMemoryEnabled": "false", "autoDreamEnabled": 0, "autoMemoryDirectory": ["/m"],
            "claudeMdExcludes": ["a", 1]}""",
    )
    assert len(file.ignored) == 4
    half = settings_file("user", '{"autoMemoryEnabled": 1, "autoMemoryDirectory": "/m"}')
    assert half.auto_memory_directory == "/m"
    assert half.ignored == ("autoMemoryEnabled is ignored: it must be true or false",)


def test_a_byte_order_mark_and_null_are_valid() -> None:
    file = settings_file("user", '\ufeff{"autoMemoryEnabled": false, "autoDreamEnabled": null}')
    assert (file.auto_memory_enabled, file.ignored) == (False, ())


# The files together


def test_no_files_mean_everything_is_on() -> None:
    assert combined() == ClaudeSettings()


def test_the_machine_comes_first_then_the_repositorys_off_then_the_user() -> None:
    off, on = {"autoMemoryEnabled": False}, {"autoMemoryEnabled": True}
    assert combined(user=on, managed=off).memory_says == "managed"
    assert not combined(user=on, managed=off).memory_enabled
    assert combined(managed=on, project=off).memory_enabled
    assert not combined(user=on, project=off).memory_enabled
    assert combined(user=on, local=off).memory_says == "local"
    assert not combined(user=off, project=on, local=on).memory_enabled


def test_the_directory_is_the_machines_then_the_users_never_the_repositorys() -> None:
    def at(path: str) -> dict[str, str]:
        return {"autoMemoryDirectory": path}

    assert combined(user=at("/u"), managed=at("/m")).auto_memory_directory == "/m"
    assert combined(user=at("/u"), project=at("/p")).auto_memory_directory == "/u"
    evil = combined(project=at("~/.ssh"), local=at("~/.ssh"))
    assert evil.auto_memory_directory is None
    assert [reason.partition(":")[0] for reason in evil.ignored] == [
        "project settings",
        "local settings",
    ]


def test_exclusions_of_machine_and_user_add_up() -> None:
    settings = combined(user={"claudeMdExcludes": ["u"]}, managed={"claudeMdExcludes": ["m"]})
    assert settings.claude_md_excludes == ("m", "u")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
KEYS = st.sampled_from(
    ["autoMemoryEnabled", "autoDreamEnabled", "autoMemoryDirectory", "claudeMdExcludes", "env"]
)


@given(st.dictionaries(KEYS, JSON), st.dictionaries(KEYS, JSON), st.dictionaries(KEYS, JSON))
def test_no_repository_turns_on_or_moves_anything(
    user: dict[str, object], project: dict[str, object], local: dict[str, object]
) -> None:
    alone, joined = combined(user=user), combined(user=user, project=project, local=local)
    assert joined.memory_enabled <= alone.memory_enabled
    assert joined.dream_enabled <= alone.dream_enabled
    assert joined.auto_memory_directory == alone.auto_memory_directory
    assert joined.claude_md_excludes == alone.claude_md_excludes


@given(st.text())
def test_any_text_is_a_file_or_a_reason(text: str) -> None:
    for source in ALL:
        settings_file(source, text)


# The switches


OFF = combined(user={"autoMemoryEnabled": False})


def test_memory_is_on_by_default() -> None:
    assert memory_switch({}, ClaudeSettings()) == ON


@pytest.mark.parametrize("value", ["1", "true", "TRUE", " yes ", "on", "y", "2"])
def test_the_environment_switches_off(value: str) -> None:
    switch = memory_switch({DISABLE_VARIABLE: value}, ClaudeSettings())
    assert switch == Switch(enabled=False, reason=f"{DISABLE_VARIABLE} is set")


@pytest.mark.parametrize("value", ["0", "false", "No", "off"])
def test_an_explicit_no_in_the_environment_overrides_the_settings(value: str) -> None:
    switch = memory_switch({DISABLE_VARIABLE: value}, OFF)
    assert switch.enabled
    assert "overrides" in switch.reason


@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_variable_is_ignored(value: str) -> None:
    assert not memory_switch({DISABLE_VARIABLE: value}, OFF).enabled
    assert memory_switch({DISABLE_VARIABLE: value}, ClaudeSettings()) == ON


def test_the_first_of_several_reasons_is_given_in_the_fixed_order() -> None:
    env = {DISABLE_VARIABLE: "1"}
    reasons = [
        memory_switch(
            env if step < 1 else {},
            OFF if step < 2 else ClaudeSettings(),
            off_everywhere=step < 3,
            off_here=step < 4,
        ).reason
        for step in range(5)
    ]
    assert reasons == [
        f"{DISABLE_VARIABLE} is set",
        "autoMemoryEnabled is false in the user settings",
        "switched off for all projects by memoryd off",
        "switched off for this project by memoryd off",
        "on",
    ]


def test_the_environments_no_overrides_nothing_but_the_settings() -> None:
    env = {DISABLE_VARIABLE: "0"}
    assert not memory_switch(env, ClaudeSettings(), off_here=True).enabled
    assert not memory_switch(env, ClaudeSettings(), off_everywhere=True).enabled


def test_dreams_can_be_off_alone() -> None:
    settings = combined(local={"autoDreamEnabled": False})
    memory = memory_switch({}, settings)
    assert memory == ON
    reason = "autoDreamEnabled is false in the local settings"
    assert dream_switch(memory, settings) == Switch(enabled=False, reason=reason)


def test_dreams_are_off_with_memory_and_for_the_same_reason() -> None:
    memory = memory_switch({}, OFF)
    assert dream_switch(memory, OFF) == memory
    assert dream_switch(ON, ClaudeSettings()) == ON
