"""What memories cite: looked up in the project, and said so when it is gone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.dreams.citation_check import CitationCheck
from memoryd.dreams.rules.citations import Citation, citations_in
from tests.support.dream_fixtures import DAY, DreamProject, stamps

ROOT = "/work/app"


@pytest.fixture
def project(home: Path) -> Iterator[DreamProject]:
    made = DreamProject(home)
    yield made
    made.database.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The retry logic is in src/net/retry.py.", ["src/net/retry.py"]),
        ("See `docs/plan.md` and `setup.cfg`.", ["docs/plan.md", "setup.cfg"]),
        (f"See file://{ROOT}/docs/a.md, it says more.", ["docs/a.md"]),
        (f"It is at {ROOT}/lib/x.c now.", ["lib/x.c"]),
        ("Work happens on branch `next/api`.", ["branch next/api"]),
        ("Run `make check` and `npm run lint:all`.", ["make check", "npm run lint:all"]),
        ("See https://wiki.example/a/b.html and/or ask Ana.", []),
        ("It is in ../other/secret.txt and in /etc/hosts.", []),
        ("Either client/server or neither.", []),
    ],
)
def test_only_what_can_be_looked_up_is_a_citation(text: str, words: list[str]) -> None:
    assert [one.words for one in citations_in(text, ROOT)] == words


def test_each_kind_is_looked_up_where_it_lives(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("check: lint\n\ttrue\n")
    (tmp_path / "package.json").write_text('{"scripts": {"lint": "x"}}')
    (tmp_path / ".git/refs/heads").mkdir(parents=True)
    (tmp_path / ".git/refs/heads/main").write_text("0\n")
    (tmp_path / ".git/packed-refs").write_text("0 refs/heads/old/one\n")
    (tmp_path / "out").symlink_to("/")
    check = CitationCheck(str(tmp_path))
    there = [("make", "check"), ("npm", "lint"), ("branch", "main"), ("branch", "old/one")]
    gone = [("make", "chec"), ("npm", "test"), ("branch", "old"), ("path", "out/no/such")]
    found = {(k, n): check.is_there(Citation(k, n)) for k, n in (*there, *gone)}  # type: ignore[arg-type]
    assert found == dict.fromkeys(there, True) | dict.fromkeys(gone, False)


async def test_a_citation_that_was_there_and_is_gone_is_marked(project: DreamProject) -> None:
    source = project.folder / "src/retry.py"
    source.parent.mkdir()
    source.write_text("")
    project.remember("a.md", "Retries are in src/retry.py.", type="project")
    project.remember("b.md", "The other host has srv/conf.toml.", type="project")
    before = stamps(project.memory)
    async with project.running():
        await project.dream()
        assert "checked: " in project.text("a.md")
        assert "checked" not in project.text("b.md")
        again = await project.dream()
        assert again.summary.files == ()
        source.unlink()
        project.pass_time(DAY)
        await project.dream()
        assert "gone: src/retry.py" in project.text("a.md")
        source.write_text("")
        project.pass_time(DAY)
        await project.dream()
    assert "gone" not in project.text("a.md")
    assert stamps(project.memory)["a.md"] == before["a.md"]
