"""What a dream by rules changes, and what the guard refuses: texts in, verdicts out."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.dreams.rules.near_memories import NearMemories
from memoryd.dreams.rules.plan import (
    BelievedMemory,
    Flag,
    PastText,
    flags,
    merges,
    unite,
    with_dates,
)
from memoryd.dreams.rules.review import believed, diffs, in_safe_order, loss
from memoryd.dreams.rules.similarity import ComparedMemory, are_same
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Topic, TopicType
from tests.support.examples import examples

MONDAY = datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp()
DAY = 86_400.0
TODAY = "2026-03-02"


def text_of(
    body: str,
    name: str = "Note",
    type: TopicType = "feedback",  # noqa: A002 - it is called so in a header
    **fields: str,
) -> str:
    given_fields = {"name": name, "description": "d", "type": type} | fields
    lines = [f"{key}: {value}" for key, value in given_fields.items() if value]
    return "\n".join(["---", *lines, "---", "", body, ""])


def memory(file: str, body: str, *, modified: float = MONDAY, **fields: str) -> BelievedMemory:
    return BelievedMemory(file, text_of(body, **fields), modified)  # type: ignore[arg-type]  # a type


def plan(memories: Sequence[BelievedMemory]) -> list[BelievedMemory]:
    """What the two parts of a dream by rules change: dates first, then merges."""
    dated = {one.file: with_dates(one) for one in memories}
    after = dated | {one.file: one for one in merges(dated.values())}
    retired = {old for one in after.values() for old in one.topic.supersedes}
    before = {one.file: one.text for one in memories}
    return [
        one for one in after.values() if one.file not in retired and one.text != before[one.file]
    ]


def compared(body: str, name: str = "Note", kind: TopicType = "feedback") -> ComparedMemory:
    return ComparedMemory("x.md", Topic(name=name, type=kind, body=body))


SAME = [
    ("Use pnpm, never npm.", "Always use pnpm instead of npm in this repo."),
    ("Run the unit tests before every commit.", "Please run the unit tests before each commit!"),
    ("Do not mock the database.", "Don't mock the database\n\n**Why:** a mocked migration broke."),
    ("The release is cut on 2026-03-05.", "**The release** is cut on 2026-03-05 at noon."),
    ("Deploys need a second pair of eyes", "deploys need a second pair of eyes.\n\nAsk Ana."),
    ("日志写在 logs 里", "日志写在 logs 里。"),
]

DIFFERENT = [
    ("Rebase the export exporter branch.", "Rebase the export queue branch."),
    ("Run the unit tests before every commit.", "Run the integration tests before every commit."),
    ("Run the tests before a commit.", "Run the tests after a commit."),
    ("Deploy on Fridays.", "Never deploy on Fridays."),
    ("Deploy on Fridays when CI is green.", "Don't deploy on Fridays when CI is green."),
    ("Deploy on monday mornings.", "Deploy on tuesday mornings."),
    ("The timeout of the API is 30 seconds.", "The timeout of the API is 60 seconds."),
    ("Requests may take two tries.", "Requests may take three tries."),
    ("The release is cut on 2026-03-05.", "The release is cut on 2026-03-12."),
    ("Python 3.11 is what the service runs on.", "Python 3.12 is what the service runs on."),
    ("Alice reviews what Bob writes.", "Bob reviews what Alice writes."),
    ("The client calls the server back.", "The server calls the client back."),
    ("Prefer pnpm over npm.", "Prefer npm over pnpm."),
    ("Use tabs in Makefiles.", "Use spaces in Makefiles."),
    ("Format Go code with gofmt on save.", "Format Rust code with rustfmt on save."),
    ("Staging runs on Postgres 14.", "Production runs on Postgres 14."),
    ("Ask before you merge.", "Merge before you ask."),
    ("Tests can run in parallel.", "Tests must run in parallel."),
    ("We used to deploy by hand.", "We deploy by hand."),
    ("The cache was slow.", "The cache is slow."),
    ("Turn the cache on in CI.", "Turn the cache off in CI."),
    ("Log everything above warning.", "Log everything below warning."),
    ("He owns the billing service.", "She owns the billing service."),
    ("Set `max_retries` to a low value.", "Set `max_delay` to a low value."),
    ("The board is at jira.example.com/OPS.", "The board is at jira.example.com/WEB."),
    ("日志写在 logs 里", "日志不写在 logs 里"),
    ("Am Freitag deployen wir.", "Am Freitag deployen wir nicht."),
    ("Nous déployons le vendredi.", "Nous ne déployons pas le vendredi."),
    ("Use black.", "Use ruff."),
    ("The user prefers tabs to spaces.", "The team prefers tabs to spaces."),
    ("Keep answers short.", "Keep functions short."),
    (
        "Wait for the pipeline.\n\n**How to apply:** give it 10 minutes.",
        "Wait for the pipeline.\n\n**How to apply:** give it 45 minutes.",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_wordings_of_one_fact_are_the_same(one: str, other: str) -> None:
    assert are_same(compared(one), compared(other))
    assert are_same(compared(other), compared(one))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_two_similar_facts_are_never_the_same(one: str, other: str) -> None:
    for similarity in (None, lambda _a, _b: 1.0):  # not even when every vector says so
        assert not are_same(compared(one), compared(other), similarity)
        assert not are_same(compared(other), compared(one), similarity)


def test_the_same_words_about_two_subjects_stay_two() -> None:
    one, other = (
        compared("Set it to 30 s.", "API timeout"),
        compared("Set it to 30 s.", "Job timeout"),
    )
    assert not are_same(one, other)
    assert are_same(one, compared("Set it to 30 s.", "Timeout of the API"))
    long = "Install with pnpm from the workspace root."
    assert are_same(compared(long, "Tooling choice"), compared(long, "Package manager"))


def test_types_are_not_mixed() -> None:
    assert not are_same(compared("Use tabs here."), compared("Use tabs here.", kind="project"))


def test_vectors_can_forbid_a_match_and_can_allow_more_extra_words() -> None:
    short = compared("Squash commits.", "A")
    long = compared("Squash commits from long branches.", "Squash")
    assert not are_same(short, long)
    assert are_same(short, long, lambda _a, _b: 0.9)
    alike = compared("Squash your commits, please.", "Squash")
    assert are_same(short, alike)
    assert not are_same(short, alike, lambda _a, _b: 0.1)


def test_a_merge_keeps_every_line_and_the_time_and_retires_the_other() -> None:
    one = memory("a.md", "Use pnpm.\n\n**Why:** the lock file.", modified=MONDAY - 9 * DAY)
    other = memory("b.md", "Use pnpm!\n\n**How to apply:** also in CI.", modified=MONDAY - 4 * DAY)
    (kept,) = plan([one, other])
    both = kept.topic.body
    assert "**Why:** the lock file." in both
    assert "**How to apply:** also in CI." in both
    assert both.lower().count("use pnpm") == 1
    assert {kept.file, *kept.topic.supersedes} == {"a.md", "b.md"}
    assert kept.modified == MONDAY - 4 * DAY


def test_the_richer_is_kept_with_all_it_superseded() -> None:
    poor = memory("new.md", "Use pnpm for installs.", modified=MONDAY)
    rich = memory(
        "old.md",
        "Use pnpm for installs.\n\n**Why:** one store for all packages.",
        modified=MONDAY - 30 * DAY,
        supersedes="older.md",
    )
    (kept,) = plan([poor, rich])
    assert (kept.file, kept.topic.supersedes) == ("old.md", ("older.md", "new.md"))


def test_of_many_duplicates_one_is_left() -> None:
    memories = [memory(f"n{number}.md", "Use pnpm for all installs.") for number in range(7)]
    (kept,) = plan(memories)
    assert len(kept.topic.supersedes) == 6


def test_an_agents_conclusions_are_not_merged_into_a_persons_words() -> None:
    said = memory("a.md", "Use pnpm here.", trust="user-said")
    concluded = memory("b.md", "Use pnpm here.\n\nAlso yarn is banned.", trust="agent-concluded")
    assert plan([said, concluded]) == []
    same = memory("c.md", "Use pnpm here.", trust="agent-concluded", modified=MONDAY + DAY)
    (kept,) = plan([said, same])
    assert (kept.file, kept.topic.trust) == ("a.md", "user-said")


def test_a_code_block_is_merged_whole() -> None:
    one = memory("a.md", "Start it like this:\n\n```\nmake run\n```\n\nThen wait for the log.")
    other = memory("b.md", "Start it like this:\n\n```\nmake run FAST=1\n```")
    merged = unite(one, other)
    assert merged is not None
    assert "```\nmake run FAST=1\n```" in merged.text


def test_without_room_in_the_header_there_is_no_merge() -> None:
    full = ", ".join(f"very_long_name_of_an_old_memory_{number}.md" for number in range(103))
    crowded = memory("a.md", "Use pnpm.", supersedes=full)
    assert crowded.topic.type == "feedback"
    assert unite(crowded, memory(f"{'b' * 60}.md", "Use pnpm.")) is None
    assert unite(memory("a.md", "Use pnpm."), memory("a, b.md", "Use pnpm.")) is None


# --- dates --------------------------------------------------------------------------------------


def test_relative_dates_of_a_project_are_counted_from_its_creation() -> None:
    one = memory(
        "a.md",
        "The freeze starts tomorrow.",
        type="project",
        created="2026-03-02T12:00:00Z",
        modified=MONDAY + 90 * DAY,
    )
    known = BelievedMemory(one.file, one.text, one.modified, (PastText(MONDAY + 60, one.text),))
    assert "The freeze starts 2026-03-03." in with_dates(known).text
    # The line may have been added at any time in those ninety days.
    assert with_dates(one) == one


def test_a_relative_date_counts_from_the_day_its_line_appeared() -> None:
    first = text_of("Ana joined yesterday.", type="project")
    then = text_of("Ana joined yesterday.\nThe demo is tomorrow.", type="project")
    past = (PastText(MONDAY, first), PastText(MONDAY + 10 * DAY, then))
    dated = with_dates(BelievedMemory("a.md", then, MONDAY + 20 * DAY, past))
    assert "Ana joined 2026-03-01." in dated.text
    assert "The demo is 2026-03-13." in dated.text


def test_without_a_past_the_file_time_counts() -> None:
    dated = with_dates(memory("a.md", "The demo is tomorrow.", type="project"))
    assert "The demo is 2026-03-03." in dated.text


def test_quoted_words_code_and_other_types_are_left_alone() -> None:
    body = 'Never write "tomorrow" in `deploy tomorrow`.\n```\nat tomorrow\n```'
    one = memory("a.md", body, type="project")
    assert with_dates(one) == one
    rule = memory("b.md", "Never say tomorrow.", type="feedback")
    assert with_dates(rule) == rule


def test_dates_in_the_description_are_replaced_too() -> None:
    one = memory("a.md", "x", type="project", description="demo is tomorrow")
    assert with_dates(one).topic.description == "demo is 2026-03-03"


# --- a second dream -----------------------------------------------------------------------------

TIMELESS = ("use", "pnpm", "never", "npm", "tests", "before", "commit", "deploy", "30", "60", "Ana")
TYPES: tuple[TopicType, ...] = ("feedback", "project")


def memories_of(words: Sequence[str]) -> st.SearchStrategy[list[BelievedMemory]]:
    bodies = st.lists(st.sampled_from(words), min_size=1, max_size=8).map(" ".join)
    rows = st.lists(st.tuples(bodies, st.sampled_from(TYPES), st.integers(0, 400)), max_size=7)
    return rows.map(
        lambda rows: [
            BelievedMemory(f"n{number}.md", text_of(body, type=kind), MONDAY - days * DAY)
            for number, (body, kind, days) in enumerate(rows)
        ]
    )


def after(memories: list[BelievedMemory]) -> list[BelievedMemory]:
    """What is believed when the plan is carried out."""
    changed = {one.file: one for one in plan(memories)}
    merged = [changed.get(one.file, one) for one in memories]
    alive = believed({one.file: one.text for one in merged}, TODAY)
    return [one for one in merged if one.file in alive]


@examples(150)
@given(memories_of((*TIMELESS, "tomorrow", "friday")))
def test_a_second_dream_right_after_changes_nothing(memories: list[BelievedMemory]) -> None:
    assert plan(after(memories)) == []


@examples(150)
@given(memories_of(TIMELESS))
def test_a_dream_by_rules_loses_nothing(memories: list[BelievedMemory]) -> None:
    before = {one.file: one.text for one in memories}
    changed = {one.file: one.text for one in plan(memories)}
    assert loss(before, before | changed, TODAY).lost == ()


def test_of_a_thousand_memories_few_pairs_are_compared() -> None:
    vocabulary = [f"word{number}" for number in range(400)]
    chosen = random.Random(1)
    memories = [
        memory(f"n{number}.md", "Use " + " ".join(chosen.choices(vocabulary, k=12)))
        for number in range(1000)
    ]
    memories += [
        BelievedMemory(f"again_{one.file}", one.text, one.modified) for one in memories[:100]
    ]
    assert sum(len(one.topic.supersedes) for one in plan(memories)) == 100
    all_of_them = [ComparedMemory(one.file, one.topic) for one in memories]
    assert len(NearMemories(all_of_them).pairs()) < 500  # of half a million


def test_hostile_texts_are_compared_without_backtracking() -> None:
    for hostile in ("a" * 200_000, "A." * 100_000, "`" * 50_001, "'" * 100_000, "_-" * 100_000):
        assert plan([memory("a.md", hostile), memory("b.md", hostile + " b")]) is not None


# --- index and flags ----------------------------------------------------------------------------


def test_what_a_program_cannot_fix_is_flagged() -> None:
    memories = [
        memory("empty.md", ""),
        memory("long.md", "words " * 1000),
        BelievedMemory("bare.md", "just text\n", MONDAY),
    ]
    cut = "".join(f"- [n](n{number}.md)\n" for number in range(201))
    assert flags(memories, cut) == (
        Flag("MEMORY.md", "index is cut"),
        Flag("empty.md", "empty"),
        Flag("long.md", "too long for recall"),
        Flag("bare.md", "without a type"),
    )


# --- the guard ----------------------------------------------------------------------------------

BEFORE = {
    f"m{number}.md": text_of(f"Fact {number}: the {word} service belongs to team {word}.", word)
    for number, word in enumerate(["alpha", "beta", "gamma", "delta", "omega", "sigma"])
}


def changed(**texts: str | None) -> dict[str, str]:
    new = {f"{key}.md": value for key, value in texts.items()}
    merged = {**BEFORE, **new}
    return {file: text for file, text in merged.items() if text is not None}


def test_untouched_memories_are_not_lost() -> None:
    assert loss(BEFORE, BEFORE, TODAY).lost == ()
    assert loss({}, {"new.md": text_of("x")}, TODAY).percent == 0


@pytest.mark.parametrize(
    ("new", "lost"),
    [
        ({"m0": None}, ["m0.md"]),
        ({"m0": ""}, ["m0.md"]),
        ({"m0": text_of("")}, ["m0.md"]),
        ({"m0": text_of("ok")}, ["m0.md"]),
        ({"m0": text_of("lorem ipsum dolor sit amet consectetur " * 3)}, ["m0.md"]),
        ({"m0": BEFORE["m0.md"].replace("alpha.", "alpha since May.")}, []),
        ({"m0": text_of("x" * 60), "n": text_of("Fact 0: the alpha service belongs to team")}, []),
        ({"n": text_of("junk", supersedes="m0.md, m1.md")}, ["m0.md", "m1.md"]),
        ({"n": text_of("Fact 0: alpha service, team alpha", supersedes="m0.md")}, []),
        ({"m0": BEFORE["m0.md"].replace("name:", "valid_until: 2001-01-01\nname:")}, ["m0.md"]),
    ],
)
def test_what_counts_as_lost(new: dict[str, str | None], lost: list[str]) -> None:
    assert list(loss(BEFORE, changed(**new), TODAY).lost) == lost


def test_the_settings_limit_the_share_that_may_be_lost() -> None:
    one = loss(BEFORE, changed(m0=None), TODAY)
    two = loss(BEFORE, changed(m0=None, m1=None), TODAY)
    assert not one.is_too_much(30)
    assert two.is_too_much(30)
    assert not two.is_too_much(50)
    assert one.is_too_much(0)


def test_the_diff_names_every_file_and_its_action() -> None:
    new = changed(m0=None, m1=BEFORE["m1.md"] + "More.\n", n=text_of("new", supersedes="m2.md"))
    found = {one.file: one for one in diffs(BEFORE, {**new, "MEMORY.md": "x\n"}, TODAY)}
    assert {file: one.action for file, one in found.items()} == {
        "m0.md": "removed",
        "m1.md": "changed",
        "m2.md": "retired",
        "n.md": "new",
        "MEMORY.md": "index",
    }
    assert (found["m1.md"].added, found["m1.md"].removed) == (1, 0)
    assert "+More." in found["m1.md"].diff
    assert list(found)[-1] == "MEMORY.md"


def test_additions_come_first() -> None:
    new = changed(m0=text_of("gone"), m5=BEFORE["m5.md"] + "and what m0 said\n")
    assert in_safe_order(BEFORE, ["m0.md", "m5.md"], new) == ["m5.md", "m0.md"]


def test_a_retired_memory_is_not_believed() -> None:
    texts = {"a.md": text_of("a", supersedes="b.md"), "b.md": text_of("b"), "MEMORY.md": "x"}
    assert believed(texts, TODAY) == {"a.md"}
    assert topics.parse(texts["a.md"]).supersedes == ("b.md",)
