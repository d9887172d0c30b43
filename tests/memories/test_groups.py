"""Which projects share a group."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.config_file import load_settings
from memoryd.base.errors import ConfigError
from memoryd.memories.rules.groups import group_of

GROUPS = {
    "work": ["~/src/acme/*", "/srv/acme"],
    "deep": ["~/deep/**/api"],
    "all": ["~/src/**"],
}


@pytest.mark.parametrize(
    ("root", "group"),
    [
        ("/home/you/src/acme/web", "work"),
        ("/srv/acme", "work"),
        ("/srv/acme/web", ""),
        ("/home/you/src/acme", "all"),
        ("/home/you/src/acme/web/sub", "all"),
        ("/home/you/deep/api", "deep"),
        ("/home/you/deep/a/b/api", "deep"),
        ("/home/you/deep/a/b", ""),
        ("/home/you", ""),
        ("/mnt/you/src/acme/web", "work"),
        ("/", ""),
    ],
)
def test_the_first_group_that_names_a_root_has_it(root: str, group: str) -> None:
    assert group_of(root, GROUPS, ["/home/you", "/mnt/you"]) == group


@given(st.text("ab/*?[]", max_size=30), st.text("ab/", max_size=30))
def test_any_pattern_is_matched_or_not(pattern: str, root: str) -> None:
    assert group_of(f"/{root}", {"one": [f"/{pattern}"]}, ["/home/you"]) in {"", "one"}


def test_a_path_without_stars_is_itself() -> None:
    stars = ["/" + "**/" * 200 + "x"]
    assert group_of("/a" * 300, {"one": stars}, ["/home/you"]) == ""


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("[groups]\nwork = '~/src'\n", "groups.work in config.toml must be a list of paths"),
        ("[groups]\nwork = ['src/acme']\n", "must be a list of paths"),
        ("[groups]\nwork = []\n", "must be a list of paths"),
        ("[groups]\n'../x' = ['~/src']\n", "cannot be a folder"),
        ("[group]\nwork = ['~/src']\n", "group"),
    ],
)
def test_a_wrong_group_is_refused_by_name(toml: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        load_settings(toml, {})


def test_groups_keep_their_order() -> None:
    settings = load_settings("[groups]\nb = ['~/b']\na = ['~/a', '/srv/*']\n", {})
    assert list(settings.groups.items()) == [("b", ("~/b",)), ("a", ("~/a", "/srv/*"))]
