"""What a memory is, how old it is in words, and where it is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Topic

DAY = 86_400.0


def test_the_type_is_read_flat_and_nested() -> None:
    assert topics.parse("---\nname: a\ntype: user\n---\nx").type == "user"
    assert topics.parse("---\nname: a\nmetadata:\n  type: feedback\n---\nx").type == "feedback"
    assert topics.parse("---\nname: a\nmetadata: {type: project}\n---\nx").type == "project"


def test_a_type_outside_the_four_is_none() -> None:
    assert topics.parse("---\ntype: diary\n---\nx").type is None


def test_a_text_without_a_header_is_a_body() -> None:
    topic = topics.parse("# Just notes\n\ntext")
    assert topic == Topic(body="# Just notes\n\ntext")


def test_invisible_characters_do_not_reach_a_reader() -> None:
    assert topics.parse("---\nname: pay\u202edrowssap\n---\n").name == "paydrowssap"


def test_superseded_files_are_read_from_every_form() -> None:
    for form in ("a.md, b.md", "[a.md, b.md]", '\n- a.md\n- "b.md"'):
        assert topics.parse(f"---\nsupersedes: {form}\n---\n").supersedes == ("a.md", "b.md")


PRINTABLE = st.text(st.characters(categories=["L", "N", "P", "Zs"], max_codepoint=0x2000))


@given(
    st.builds(
        Topic,
        name=PRINTABLE.map(lambda t: " ".join(t.split())),
        description=PRINTABLE.map(lambda t: " ".join(t.split())),
        type=st.sampled_from(topics.TYPES),
        source=st.uuids().map(str),
        trust=st.sampled_from(["user-said", "agent-concluded", ""]),
        body=PRINTABLE.map(str.strip),
    )
)
def test_a_topic_survives_the_trip_to_text_and_back(topic: Topic) -> None:
    from memoryd.text.invisible import strip_invisible

    back = topics.parse(topics.render(topic))
    clean = {f: strip_invisible(getattr(topic, f)).strip() for f in ("name", "description", "body")}
    assert (back.name, back.description, back.body) == tuple(clean.values())
    assert (back.type, back.source, back.trust) == (topic.type, topic.source, topic.trust)


@pytest.mark.parametrize(
    ("days", "words"),
    [(-3.0, "today"), (0.0, "today"), (0.99, "today"), (1.0, "yesterday"), (47.5, "47 days ago")],
)
def test_age_is_words(days: float, words: str) -> None:
    assert topics.age_in_words(1000 * DAY - days * DAY, 1000 * DAY) == words


def test_a_memory_older_than_a_day_is_stale() -> None:
    assert not topics.is_stale(0, DAY)
    assert topics.is_stale(0, 3 * DAY)


def test_a_manifest_line_names_type_file_time_and_hook() -> None:
    topic = Topic(name="n", description="what it is about", type="user")
    assert topics.manifest_line("user_n.md", topic, 1774872000) == (
        "- [user] user_n.md (2026-03-30T12:00:00Z): what it is about"
    )


@pytest.mark.parametrize(
    ("type_", "name", "file"),
    [
        ("user", "Rôle & Goals!", "user_role_goals.md"),
        ("feedback", "Feedback on tests", "feedback_tests.md"),
        ("feedback", "Don't use any in TypeScript", "feedback_dont_use_any_typescript.md"),
        ("feedback", "From now on run make verify first", "feedback_run_make_verify_first.md"),
        ("feedback", "No tabs, please", "feedback_no_tabs.md"),
        (
            "project",
            "The staging shop is reset every night at two",
            "project_staging_shop_reset_every_night.md",
        ),
        ("project", "It is what it is", "project_what.md"),
        ("project", "That is it", "project_that_is_it.md"),
        ("project", "日本語", "project.md"),
        ("project", "", "project.md"),
    ],
)
def test_a_file_is_named_by_its_type_and_five_telling_words(
    type_: topics.TopicType, name: str, file: str
) -> None:
    assert topics.file_name_for(type_, name, frozenset()) == file


def test_a_taken_name_gets_a_number() -> None:
    taken = frozenset({"user_x.md", "user_x_2.md"})
    assert topics.file_name_for("user", "x", taken) == "user_x_3.md"


@given(st.text(max_size=200), st.sampled_from(topics.TYPES))
def test_every_name_gives_a_valid_file_name(name: str, type_: topics.TopicType) -> None:
    from memoryd.memories.store import _NEW_NAME

    taken = frozenset({topics.file_name_for(type_, name, frozenset())})
    assert _NEW_NAME.fullmatch(topics.file_name_for(type_, name, frozenset()))
    assert _NEW_NAME.fullmatch(topics.file_name_for(type_, name, taken))


def test_what_fits_is_not_cut() -> None:
    assert topics.cut_for_recall("x" * 4096, "/p") == ("x" * 4096, False)


@given(st.text(min_size=1000, max_size=3000), st.integers(300, 900))
def test_a_cut_stays_within_its_bytes_and_names_the_file(text: str, limit: int) -> None:
    cut, was_cut = topics.cut_for_recall(text, "/m/file.md", limit)
    assert was_cut
    assert len(cut.encode("utf-8", "replace")) <= limit
    assert cut.endswith("read /m/file.md for the rest]")


def test_a_cut_falls_at_a_line() -> None:
    text = "\n".join(f"line {n}" for n in range(1000))
    kept = topics.cut_for_recall(text, "/p")[0].split("\n[cut:")[0]
    assert text.startswith(kept + "\n")


def test_a_retired_memory_is_superseded_or_expired() -> None:
    old = Topic(valid_until="2026-01-01")
    assert topics.is_retired("a.md", Topic(), frozenset({"a.md"}), "2026-05-01")
    assert topics.is_retired("a.md", old, frozenset(), "2026-05-01")
    assert not topics.is_retired("a.md", old, frozenset(), "2025-12-31")
