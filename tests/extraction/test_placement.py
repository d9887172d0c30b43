"""Where a statement is kept: in its project, or in the user scope that every project sees."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoryd.extraction.rules.placement import place_of
from memoryd.memories.rules import name_sources
from memoryd.memories.rules.private_names import ProjectNames, private_in, words_of
from tests.support.extraction_fixtures import ExtractionBench, memory_text, writes_once
from tests.support.scripted_model import Call, Message, ScriptedModel, SeenRequest, asks, says

DATA = Path(__file__).parent.parent / "data/scopes.jsonl"
STATEMENTS = [json.loads(line) for line in DATA.read_text().splitlines()]
PROJECT = "harbor-ledger"
PRIVATE = ("harbor", "northwind", "tidewater", "priya", "tomasz", "ingrid", "rotterdam", "src/")
SHORT = "Never answer me in more than five sentences."


def make_project(home: Path) -> None:
    """A repository whose files give its names away."""
    root = home / PROJECT
    (root / ".git/logs").mkdir(parents=True)
    (root / "packages/tidewater").mkdir(parents=True)
    (root / "src").mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git/config").write_text(
        '[remote "origin"]\n\turl = git@example.org:northwind-freight/harbor-ledger.git\n'
        "[user]\n\tname = Dana Whitfield\n"
    )
    (root / "pyproject.toml").write_text('[project]\nname = "harbor_ledger"\n')
    (root / "CODEOWNERS").write_text("* @priya-raman\nsrc/ Priya Raman <priya@example.org>\n")


@asynccontextmanager
async def bench(
    home: Path, script: Callable[[SeenRequest], Message] | None = None
) -> AsyncIterator[ExtractionBench]:
    make_project(home)
    with ScriptedModel(script or (lambda _: says("Nothing."))) as model:
        made = ExtractionBench(home, model.base_url if script else "", places=True)
        try:
            yield made
        finally:
            await made.close()


def user_files(here: ExtractionBench) -> dict[str, str]:
    user = here.project(PROJECT).user
    return {one.file: here.store.read(user, one.file).text for one in here.store.scan(user)}


async def test_sixty_statements_are_kept_in_the_right_place_and_no_name_leaks(home: Path) -> None:
    assert len(STATEMENTS) == 60
    async with bench(home) as here:
        here.say(*(one["message"] for one in STATEMENTS), session="s-1", project=PROJECT)
        async with here.working():
            await here.idle()
        users, own = user_files(here), here.files(PROJECT)
    texts = {"user": " ".join(users.values()), "project": " ".join(own.values())}
    right = [one for one in STATEMENTS if one["message"][:30] in texts[one["scope"]]]
    leaked = [name for name in PRIVATE if name in texts["user"].casefold()]
    strays = [
        one["message"]
        for one in STATEMENTS
        if one["scope"] == "project" and one["message"][:30] in texts["user"]
    ]
    print(f"{len(right)} of {len(STATEMENTS)} in the right place; leaks: {leaked + strays}")
    assert len(right) >= 0.9 * len(STATEMENTS)
    assert leaked + strays == []
    assert all("\nsource: s-" in text and "\ntrust: user-said" in text for text in users.values())


# --- without a model ------------------------------------------------------------------------------


async def test_a_correction_replaces_the_memory_in_the_scope_where_that_is(home: Path) -> None:
    async with bench(home) as here:
        async with here.working():
            here.say("Always answer me in German.", session="a", project=PROJECT)
            await here.runs(1)
            here.say("Never answer me in German.", session="b", project="other")
            await here.runs(2)
        alive = [one for one in here.store.scan(here.project().user) if not one.retired]
        assert [one.topic.description for one in alive] == ["Never answer me in German."]
        assert here.files("other") == here.files(PROJECT) == {}


async def test_what_is_bound_to_a_project_leaves_the_persons_own_rule_alone(home: Path) -> None:
    async with bench(home) as here:
        async with here.working():
            here.say("Always answer me in German.", session="a", project=PROJECT)
            await here.runs(1)
            here.say("In this repo never answer me in German.", session="b", project=PROJECT)
            await here.runs(2)
        users, own = user_files(here), here.files(PROJECT)
        assert len(users) == len(own) == 1
        assert "In this repo" in next(iter(own.values()))


async def test_what_is_said_again_in_another_project_is_not_saved_twice(home: Path) -> None:
    async with bench(home) as here:
        async with here.working():
            for number, project in enumerate((PROJECT, "other")):
                here.say(SHORT, session=f"s-{number}", project=project)
                await here.runs(number + 1)
        assert len(user_files(here)) == 1
        assert here.files("other") == here.files(PROJECT) == {}


# --- with a model ---------------------------------------------------------------------------------


def note(body: str, *, type_: str = "feedback", scope: str = "") -> str:
    text = memory_text("Length of answers", type_, body).replace("about Length", "length")
    return text.replace("---\n\n", f"scope: {scope}\n---\n\n", 1) if scope else text


@pytest.mark.parametrize(
    ("said", "type_", "scope", "place"),
    [
        (SHORT, "feedback", "user", "user"),
        ("Get to the point, and skip the compliments.", "feedback", "user", "user"),
        (SHORT, "feedback", "", "user"),
        (SHORT, "feedback", "project", "project"),
        ("Run the linter twice.", "feedback", "", "project"),
        ("I am a statistician.", "user", "", "user"),
        ("I am the owner of harbor_ledger.", "user", "user", "project"),
        ("Tell Priya about every answer.", "feedback", "user", "project"),
        ("Answer me as in docs/style.md", "feedback", "user", "project"),
    ],
)
async def test_a_models_note_goes_where_its_words_and_the_check_put_it(
    home: Path, said: str, type_: str, scope: str, place: str
) -> None:
    write = Call(
        "Write",
        {"file_path": f"{type_}_answers.md", "content": note(said, type_=type_, scope=scope)},
    )
    async with bench(home, writes_once(write)) as here:
        here.say(said, project=PROJECT)
        async with here.working():
            (run,) = await here.runs(1)
        users, own = user_files(here), here.files(PROJECT)
        assert (bool(users), bool(own)) == (place == "user", place == "project"), run
        text = next(iter((users or own).values()))
        assert "scope:" not in text
        assert "\nsource: s\n" in text


async def test_what_an_agent_concluded_does_not_go_to_every_project(home: Path) -> None:
    body = "The person seems to like long tables of figures."
    write = Call(
        "Write",
        {"file_path": "project_tables.md", "content": note(body, type_="project", scope="user")},
    )
    async with bench(home, writes_once(write)) as here:
        here.say("What is in this table?", project=PROJECT)
        async with here.working():
            await here.runs(1)
        assert user_files(here) == {}
        assert len(here.files(PROJECT)) == 1


async def test_a_model_changes_a_note_of_the_user_scope_but_puts_no_name_into_it(
    home: Path,
) -> None:
    path = home / ".claude/memory/feedback_answers.md"

    def script(request: SeenRequest) -> Message:
        turn = len(request.body["messages"])
        new = "Never answer me in more than three sentences."
        if "priya" in str(request.body["messages"][0]):
            new = "Never answer priya in more than three sentences."
        edit = {"file_path": str(path), "old_string": SHORT, "new_string": new}
        return (
            asks(Call("Read", {"file_path": str(path)})),
            asks(Call("Edit", edit)),
            says("Done."),
        )[min(turn // 2, 2)]

    async with bench(home, script) as here:
        here.store.write(
            here.project().user,
            path.name,
            note(SHORT).replace("type: feedback", "type: feedback\ntrust: user-said"),
            over=None,
            cause="user",
        )
        async with here.working():
            here.say(
                "never answer priya in more than three sentences", session="a", project=PROJECT
            )
            await here.runs(1)
            assert SHORT in path.read_text()
            here.say("Never answer me in more than three sentences.", session="b", project=PROJECT)
            (_, run) = await here.runs(2)
        assert "three sentences" in path.read_text()
        assert run.files == ["user/feedback_answers.md"]


# --- the rules ------------------------------------------------------------------------------------

NAMES = name_sources.project_names(
    ["harbor-ledger", "northwind-freight"], ["Priya Raman"], ["src"], frozenset({"dana"})
)


@pytest.mark.parametrize(
    "text",
    [
        "I look after HarborLedger.",
        "i look after harbor ledger",
        "I work on harborledger",
        "Mention northwind in no answer.",
        "Explain src/gen to me.",
        "Ask priya.",
        "I report to Mei Lin.",
        "Wenzel wants me to answer in German.",
        "Write to me at dana@example.org.",
        "I follow HAR-1234.",
        "Explain load_rates() to me.",
    ],
)
def test_names_paths_people_and_addresses_are_private(text: str) -> None:
    assert private_in(text, NAMES)
    assert place_of("user", text, NAMES) == "project"


@pytest.mark.parametrize(
    "text",
    [
        "I am Dana and live in Lisbon.",
        "I know Java and PostgreSQL, but no Rust.",
        "My pronouns are they/them.",
        "I am offline on Fridays.",
    ],
)
def test_what_everybody_knows_and_the_persons_own_name_are_not(text: str) -> None:
    assert private_in(text, NAMES) == ""


@given(
    st.lists(st.from_regex(r"[a-z]{5,9}", fullmatch=True), min_size=1, max_size=3),
    st.sampled_from(["-", "_", " ", "", "."]),
    st.sampled_from(["", "please ", "I like "]),
)
def test_a_name_is_found_in_every_spelling(parts: list[str], joint: str, before: str) -> None:
    names = ProjectNames(frozenset({"-".join(parts)}))
    spelled = joint.join(parts)
    if not private_in("-".join(parts), names):
        return  # every part is an everyday word
    assert private_in(f"{before}{spelled} in answers", names)


@given(st.text(max_size=300), st.sampled_from([*name_sources.PACKAGE_FILES]))
@example('{"name": ["x"], "author": {"name": 3}}', "package.json")
@example('[project]\nauthors = [["x"], {name = "Ada"}]', "pyproject.toml")
@example("[" * 200, "package.json")
def test_any_file_gives_names_or_none(text: str, file: str) -> None:
    found = [
        *name_sources.packages_in(file, text),
        *name_sources.authors_in(file, text),
        *name_sources.people_in(text),
        *name_sources.remotes_in(text),
        *name_sources.own_names_in(text, text),
    ]
    assert all(isinstance(one, str) and len(one) <= 100 for one in found)


def test_remotes_are_read_in_every_form() -> None:
    urls = (
        "https://user@example.org/acme/billing.git",
        "ssh://git@example.org:22/acme/billing",
        "git@example.org:acme/billing.git",
    )
    for url in urls:
        assert name_sources.remotes_in(f'[remote "o"]\n\turl = {url}\n') == ["acme", "billing"]
    assert words_of("acme/billingCore") == ["acme", "billing", "core"]
