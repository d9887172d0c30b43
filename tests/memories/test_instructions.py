"""The loader of instructions: order, rules, imports, and what a repository may not reach."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from memoryd.base import paths
from memoryd.base.errors import InvalidInput
from memoryd.base.paths import Places
from memoryd.memories.instruction_files import InstructionDisk
from memoryd.memories.rules.instruction_text import InstructionDocument
from memoryd.memories.rules.instructions import (
    LONG_CHARACTERS,
    READ_LIMIT_BYTES,
    Loaded,
    is_inside,
    load,
)
from tests.support.examples import examples


class Spy(InstructionDisk):
    """The real disk, which records what was opened."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def names_in(self, folder: str) -> Sequence[str]:
        self.opened.append(folder)
        return super().names_in(folder)

    def document(self, path: str) -> InstructionDocument | None:
        self.opened.append(path)
        return super().document(path)


class World:
    """A machine of its own: a home, a managed folder, and a repository with a folder `deep`."""

    def __init__(self, base: Path) -> None:
        self.base = Path(os.path.realpath(base))
        self.home = self.base / "home"
        self.claude = self.home / ".claude"
        self.managed = self.base / "etc"
        self.repo = self.home / "work/repo"
        self.cwd = self.repo / "deep"
        self.cwd.mkdir(parents=True)
        make_repository(self.repo)

    @property
    def places(self) -> Places:
        return structs.replace(
            paths.places({}, "linux", os.getuid(), str(self.home)),
            managed_instructions_file=str(self.managed / "CLAUDE.md"),
            managed_rules_dir=str(self.managed / ".claude/rules"),
        )

    def load(
        self,
        cwd: Path | None = None,
        *,
        path: str | None = None,
        excludes: Sequence[str] = (),
        approved: Sequence[Path] = (),
        spy: Spy | None = None,
    ) -> Loaded:
        return load(
            str(cwd or self.cwd),
            spy or Spy(),
            self.places,
            path=path,
            excludes=excludes,
            approved=frozenset(map(str, approved)),
        )

    def shown(self, loaded: Loaded) -> list[str]:
        """What was served, as `kind path`, without what this machine may have above the test."""
        return [
            f"{one.kind} {Path(one.path).relative_to(self.base)}"
            for one in loaded.instructions
            if is_inside(one.path, str(self.base))
        ]


def make_repository(folder: Path) -> None:
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir(parents=True)
    put(folder / ".git/HEAD", "ref: refs/heads/main\n")


def put(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def rule(globs: str, text: str = "a rule") -> str:
    return f"---\npaths: {globs}\n---\n{text}\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "world")


def test_order_is_machine_user_project_local_rules_and_nearer_comes_later(world: World) -> None:
    for file in (
        world.managed / "CLAUDE.md",
        world.managed / ".claude/rules/m.md",
        world.claude / "CLAUDE.md",
        world.claude / "rules/deep/er/u.md",
        world.home / "CLAUDE.md",
        world.repo / "CLAUDE.md",
        world.repo / ".claude/CLAUDE.md",
        world.repo / "CLAUDE.local.md",
        world.repo / ".claude/rules/b/c.md",
        world.repo / ".claude/rules/a.md",
        world.cwd / "CLAUDE.md",
        world.cwd / "CLAUDE.local.md",
        world.cwd / ".claude/rules/d.md",
        world.cwd / ".claude/rules/not.txt",
        world.cwd / "below/CLAUDE.md",
    ):
        put(file, f"text of {file.name}")
    loaded = world.load()
    assert world.shown(loaded) == [
        "managed etc/CLAUDE.md",
        "user home/.claude/CLAUDE.md",
        "project home/CLAUDE.md",
        "project home/work/repo/CLAUDE.md",
        "project home/work/repo/.claude/CLAUDE.md",
        "project home/work/repo/deep/CLAUDE.md",
        "local home/work/repo/CLAUDE.local.md",
        "local home/work/repo/deep/CLAUDE.local.md",
        "rule etc/.claude/rules/m.md",
        "rule home/.claude/rules/deep/er/u.md",
        "rule home/work/repo/.claude/rules/a.md",
        "rule home/work/repo/.claude/rules/b/c.md",
        "rule home/work/repo/deep/.claude/rules/d.md",
    ]
    assert loaded.instructions[0].text == "text of CLAUDE.md"
    assert loaded.needs_approval == loaded.warnings == ()


def test_without_files_nothing_is_served(world: World) -> None:
    assert world.shown(world.load(world.base / "not/there")) == []


def test_files_below_come_with_a_path(world: World) -> None:
    for folder in ("deep/a", "deep/a/b", "deep/other", "beside"):
        put(world.repo / folder / "CLAUDE.md", folder)
        put(world.repo / folder / ".claude/rules/r.md", folder)
    assert world.shown(world.load()) == []
    assert world.shown(world.load(path="a/b/x.py")) == [
        "project home/work/repo/deep/a/CLAUDE.md",
        "project home/work/repo/deep/a/b/CLAUDE.md",
        "rule home/work/repo/deep/a/.claude/rules/r.md",
        "rule home/work/repo/deep/a/b/.claude/rules/r.md",
    ]
    beside = world.shown(world.load(path=str(world.repo / "beside/x.py")))
    assert beside[0] == "project home/work/repo/beside/CLAUDE.md"
    assert world.shown(world.load(path="other"))[0].endswith("deep/other/CLAUDE.md")
    put(world.home / "elsewhere/CLAUDE.md", "of another project")
    assert world.shown(world.load(path=str(world.home / "elsewhere/x.py"))) == []


def test_an_invalid_path_is_refused(world: World) -> None:
    with pytest.raises(InvalidInput):
        world.load(path="a\0b")


RULES = [
    ("src/**/*.ts", "src/api/x.ts", True),
    ("src/**/*.ts", "src/x.ts", True),
    ("src/**/*.ts", "lib/src/x.ts", False),
    ("*.ts", "any/where/x.ts", True),
    ("[src/*.ts, '!src/gen.ts']", "src/gen.ts", False),
    ("[src/*.ts, '!src/gen.ts']", "src/x.ts", True),
    ("'**/*.{ts,tsx}'", "a/b.tsx", True),
    ("src", "src/deep/x.py", True),
    ("/x.py", "src/x.py", False),
    ("'**/migrations/**'", "app/migrations/1/x.sql", True),
]


@pytest.mark.parametrize(("globs", "path", "applies"), RULES)
def test_a_rule_with_paths_is_for_those_files_only(
    world: World, globs: str, path: str, applies: bool
) -> None:
    put(world.repo / ".claude/rules/r.md", rule(globs))
    put(world.claude / "rules/u.md", rule(globs))
    put(world.managed / ".claude/rules/m.md", rule(globs))
    assert world.shown(world.load()) == []
    loaded = world.load(path=str(world.repo / path))
    assert len(world.shown(loaded)) == 3 * applies
    assert all(one.text == "a rule" for one in loaded.instructions)


def test_the_paths_of_a_rule_are_relative_to_its_own_directory(world: World) -> None:
    put(world.cwd / ".claude/rules/r.md", rule("src/*.py"))
    assert world.shown(world.load(path="src/x.py"))
    assert not world.shown(world.load(path="../src/x.py"))


@pytest.mark.timeout(20)
def test_a_rule_with_hostile_paths_is_left_out_with_a_warning(world: World) -> None:
    put(world.repo / ".claude/rules/r.md", rule("a*" * 40 + "b"))
    loaded = world.load(path=str(world.repo / ("a" * 200)))
    assert world.shown(loaded) == []
    assert "too many ways" in loaded.warnings[0]


def test_excludes_apply_to_everything_but_the_machines_files(world: World) -> None:
    put(world.managed / "CLAUDE.md", "machine")
    put(world.managed / ".claude/rules/m.md", "machine")
    put(world.claude / "CLAUDE.md", "user")
    put(world.repo / "CLAUDE.md", "@kept.md")
    put(world.repo / "kept.md", "kept")
    put(world.repo / ".claude/rules/r.md", "rule")
    put(world.cwd / "CLAUDE.md", "deep")
    everything = world.shown(world.load(excludes=["**/*.md"]))
    assert everything == ["managed etc/CLAUDE.md", "rule etc/.claude/rules/m.md"]
    some = world.shown(world.load(excludes=[f"{world.repo}/.claude/**", "~/work/repo/deep/*"]))
    assert "project home/work/repo/CLAUDE.md" in some
    assert not any("rules/r.md" in one or "deep" in one for one in some)


def test_a_hostile_exclude_is_ignored_with_a_warning(world: World) -> None:
    put(world.repo / "CLAUDE.md", "project")
    for glob in ("{a,b}" * 20, "*a" * 40):
        loaded = world.load(excludes=[glob])
        assert world.shown(loaded) == ["project home/work/repo/CLAUDE.md"]
        assert any("claudeMdExcludes" in warning for warning in loaded.warnings)


def test_an_import_follows_its_importer_and_is_served_once(world: World) -> None:
    put(world.repo / "CLAUDE.md", "See @docs/a.md and @docs/b.md. Mail me@example.com, @org/pkg.")
    put(world.repo / "docs/a.md", "@./c.md @../CLAUDE.md")
    put(world.repo / "docs/b.md", "@c.md")
    put(world.repo / "docs/c.md", "@a.md")
    put(world.cwd / "CLAUDE.md", "near")
    loaded = world.load()
    assert world.shown(loaded) == [
        "project home/work/repo/CLAUDE.md",
        "project home/work/repo/docs/a.md",
        "project home/work/repo/docs/c.md",
        "project home/work/repo/docs/b.md",
        "project home/work/repo/deep/CLAUDE.md",
    ]
    assert "@org/pkg" in loaded.instructions[0].text


def test_imports_end_at_the_fifth_level(world: World) -> None:
    put(world.repo / "CLAUDE.md", "@1.md")
    for level in range(1, 8):
        put(world.repo / f"{level}.md", f"@{level + 1}.md")
    names = [Path(one.path).name for one in world.load().instructions]
    assert names == ["CLAUDE.md", "1.md", "2.md", "3.md", "4.md", "5.md"]


def test_the_users_and_the_machines_files_may_import_anything(world: World) -> None:
    put(world.claude / "CLAUDE.md", f"@~/notes.md @{world.base}/elsewhere.md")
    put(world.managed / "CLAUDE.md", "@../policy.md")
    put(world.claude / "rules/r.md", "@../../from-a-rule.md")
    for name in ("home/notes.md", "elsewhere.md", "policy.md", "home/from-a-rule.md"):
        put(world.base / name, "text")
    loaded = world.load()
    assert world.shown(loaded) == [
        "managed etc/CLAUDE.md",
        "managed policy.md",
        "user home/.claude/CLAUDE.md",
        "user home/notes.md",
        "user elsewhere.md",
        "rule home/.claude/rules/r.md",
        "rule home/from-a-rule.md",
    ]


def test_a_repositorys_file_may_not_do_more_when_the_user_imports_it(world: World) -> None:
    secret = put(world.home / ".ssh/id_rsa", "PRIVATE")
    put(world.claude / "CLAUDE.md", f"@{world.repo}/docs/a.md")
    put(world.repo / "docs/a.md", "@~/.ssh/id_rsa")
    loaded = world.load()
    assert loaded.needs_approval == (str(secret),)
    assert not any("PRIVATE" in one.text for one in loaded.instructions)


OUTWARD = ["~/.ssh/id_rsa", "../../.ssh/id_rsa", "link", "folder/id_rsa", "docs/../link"]


@pytest.mark.parametrize("mention", OUTWARD)
@pytest.mark.parametrize("importer", ["CLAUDE.md", "CLAUDE.local.md", ".claude/rules/../../R.md"])
def test_an_import_that_leads_outside_waits_for_approval(
    world: World, mention: str, importer: str
) -> None:
    secret = put(world.home / ".ssh/id_rsa", "PRIVATE")
    (world.repo / "docs").mkdir()
    (world.repo / "link").symlink_to(secret)
    (world.repo / "folder").symlink_to(secret.parent)
    put(world.repo / "CLAUDE.md", f"@{importer}")
    put(world.repo / ".claude/rules/r.md", "")
    put(world.repo / importer, f"Read @{mention} please")
    spy = Spy()
    loaded = world.load(spy=spy)
    assert loaded.needs_approval == (str(secret),)
    assert any(str(secret) in warning for warning in loaded.warnings)
    assert str(secret) not in spy.opened
    assert not any("PRIVATE" in one.text for one in loaded.instructions)

    approved = world.load(approved=[secret])
    assert approved.needs_approval == ()
    assert any("PRIVATE" in one.text for one in approved.instructions)


def test_an_approved_file_does_not_approve_what_it_imports(world: World) -> None:
    other = put(world.home / "other.md", "other")
    shared = put(world.home / "shared.md", "@other.md")
    put(world.repo / "CLAUDE.md", "@~/shared.md")
    assert world.load(approved=[shared]).needs_approval == (str(other),)
    assert world.load(approved=[world.home]).needs_approval == ()


def test_a_missing_file_outside_needs_no_approval(world: World) -> None:
    put(world.repo / "CLAUDE.md", "@~/.ssh/id_rsa @../nothing.md @~/work")
    assert world.load().needs_approval == ()


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"])
def test_an_instruction_file_that_links_outside_waits_too(world: World, name: str) -> None:
    (world.repo / ".claude").mkdir()
    (world.repo / name).symlink_to("/etc/passwd")
    spy = Spy()
    loaded = world.load(spy=spy)
    assert loaded.needs_approval == (os.path.realpath("/etc/passwd"),)
    assert not any(path.startswith("/etc/") for path in spy.opened)
    assert world.shown(loaded) == []


def test_a_link_within_the_project_is_an_ordinary_file(world: World) -> None:
    put(world.repo / "AGENTS.md", "for all agents")
    (world.repo / "CLAUDE.md").symlink_to("AGENTS.md")
    (world.cwd / "CLAUDE.md").symlink_to("../AGENTS.md")
    assert world.shown(world.load()) == ["project home/work/repo/CLAUDE.md"]


def test_a_rules_folder_that_leads_outside_waits_as_a_whole(world: World) -> None:
    shared = world.home / "shared-rules"
    put(shared / "r.md", "a shared rule")
    (world.repo / ".claude/rules").mkdir(parents=True)
    (world.repo / ".claude/rules/shared").symlink_to(shared)
    (world.repo / ".claude/rules/again").symlink_to(".")
    put(world.repo / ".claude/rules/own.md", "own")
    spy = Spy()
    loaded = world.load(spy=spy)
    assert loaded.needs_approval == (str(shared),)
    assert str(shared) not in spy.opened
    assert world.shown(loaded) == ["rule home/work/repo/.claude/rules/own.md"]
    assert len(world.shown(world.load(approved=[shared]))) == 2


def test_a_users_files_may_be_links_to_anywhere(world: World) -> None:
    put(world.base / "dotfiles/mine.md", "mine")
    world.claude.mkdir()
    (world.claude / "CLAUDE.md").symlink_to(world.base / "dotfiles/mine.md")
    assert world.shown(world.load()) == ["user home/.claude/CLAUDE.md"]


def test_the_users_own_files_do_not_count_as_those_of_a_project_in_the_home(
    world: World,
) -> None:
    put(world.claude / "CLAUDE.md", "user")
    put(world.claude / "rules/r.md", rule("work/repo/deep/x.py"))
    assert world.shown(world.load(path="x.py")) == ["user home/.claude/CLAUDE.md"]


def test_only_regular_files_are_opened(world: World) -> None:
    os.mkfifo(world.repo / "CLAUDE.md")
    (world.cwd / "CLAUDE.md").mkdir()
    (world.cwd / "CLAUDE.local.md").symlink_to("/dev/zero")
    os.mkfifo(world.repo / "fifo")
    put(world.repo / ".claude/CLAUDE.md", "@../fifo @/dev/zero @../deep")
    put(world.repo / ".claude/rules/x", "no folder")
    os.mkfifo(world.repo / ".claude/rules/r.md")
    spy = Spy()
    loaded = world.load(spy=spy)
    assert world.shown(loaded) == ["project home/work/repo/.claude/CLAUDE.md"]
    assert loaded.needs_approval == loaded.warnings == ()


def test_a_long_file_is_flagged_and_served_whole(world: World) -> None:
    put(world.repo / "CLAUDE.md", "x" * (LONG_CHARACTERS + 1))
    put(world.cwd / "CLAUDE.md", "x" * LONG_CHARACTERS)
    loaded = world.load()
    assert [len(one.text) for one in loaded.instructions] == [LONG_CHARACTERS + 1, LONG_CHARACTERS]
    assert "40,001 characters" in loaded.instructions[0].warning
    assert loaded.warnings == (loaded.instructions[0].warning,)


def test_what_is_not_text_or_too_long_is_left_out_with_a_warning(world: World) -> None:
    put(world.repo / "CLAUDE.md", "@picture.png")
    (world.repo / "picture.png").write_bytes(b"\x89PNG\0\0")
    put(world.cwd / "CLAUDE.md", "x" * (READ_LIMIT_BYTES + 1))
    loaded = world.load()
    assert world.shown(loaded) == ["project home/work/repo/CLAUDE.md"]
    assert [warning.partition(" is left out")[0] for warning in loaded.warnings] == [
        str(world.repo / "picture.png"),
        str(world.cwd / "CLAUDE.md"),
    ]


def test_a_repository_can_make_us_read_only_so_much(world: World) -> None:
    put(world.repo / "CLAUDE.md", " ".join(f"@{number}.md" for number in range(12)))
    for number in range(12):
        put(world.repo / f"{number}.md", "x " * 400_000)
    loaded = world.load()
    assert len(loaded.instructions) == 6
    assert "the rest is left out" in loaded.warnings[-1]


def test_a_worktree_in_its_repository_does_not_get_the_repositorys_files_twice(
    world: World,
) -> None:
    tree = world.repo / ".claude/worktrees/topic"
    inner = world.repo / ".git/worktrees/topic"
    put(tree / ".git", f"gitdir: {inner}\n")
    put(inner / "gitdir", f"{tree}/.git\n")
    put(inner / "commondir", "../..\n")
    for folder in (world.home, world.repo, tree):
        put(folder / "CLAUDE.md", "checked in")
        put(folder / "CLAUDE.local.md", "of one's own")
    put(world.repo / ".claude/rules/r.md", "checked in")
    assert world.shown(world.load(tree)) == [
        "project home/CLAUDE.md",
        "project home/work/repo/.claude/worktrees/topic/CLAUDE.md",
        "local home/CLAUDE.local.md",
        "local home/work/repo/CLAUDE.local.md",
        "local home/work/repo/.claude/worktrees/topic/CLAUDE.local.md",
    ]


def test_a_forged_worktree_is_its_own_project_and_reaches_no_further(world: World) -> None:
    """Its `.git` file points at another repository, which knows nothing of it."""
    victim = world.home / "victim"
    make_repository(victim)
    secret = put(victim / "secret.md", "PRIVATE")
    claimed = world.repo / "claimed"
    put(claimed / ".git", f"gitdir: {victim}/.git/worktrees/x\n")
    put(claimed / "CLAUDE.md", f"@{secret} @../deep/x.md")
    inside_outer = put(world.cwd / "x.md", "of the repository around")
    assert world.load(claimed).needs_approval == (str(secret), str(inside_outer))


def test_a_home_that_is_a_repository_gives_its_folders_no_access(world: World) -> None:
    make_repository(world.home)
    secret = put(world.home / ".ssh/id_rsa", "PRIVATE")
    download = put(world.home / "download/CLAUDE.md", "@~/.ssh/id_rsa @own.md").parent
    put(download / "own.md", "own")
    loaded = world.load(download)
    assert loaded.needs_approval == (str(secret),)
    assert world.shown(loaded)[-1] == "project home/download/own.md"


MENTIONS = st.sampled_from(
    [
        "inside.md",
        "docs/more.md",
        "link",
        "folder/id_rsa",
        "~/.ssh/id_rsa",
        "~/.claude/CLAUDE.md",
        "../../../outside.md",
        "/etc/passwd",
        "/dev/zero",
        "fifo",
        "loop",
        "..",
        "/",
        "x" * 300,
    ]
)
PIECES = st.one_of(
    MENTIONS.map(lambda mention: f" @{mention} "),
    MENTIONS.map(lambda mention: f"`@{mention}`"),
    st.sampled_from(["\n", "```\n", "<!--", "-->", "---\n", "paths: '*'\n", "\0", "\ud800"]),
    st.text(max_size=20),
)


@pytest.fixture(scope="module")
def hostile() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "world")
        put(world.home / ".ssh/id_rsa", "PRIVATE")
        put(world.base / "outside.md", "outside")
        put(world.repo / "docs/more.md", "@../inside.md @../link @~/.ssh/id_rsa")
        (world.repo / "link").symlink_to(world.home / ".ssh/id_rsa")
        (world.repo / "folder").symlink_to(world.home / ".ssh")
        (world.repo / "loop").symlink_to("loop")
        os.mkfifo(world.repo / "fifo")
        yield world


@given(texts=st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=4, max_size=4))
@examples(150)
@pytest.mark.timeout(60)
def test_no_text_makes_the_loader_fail_or_open_anything_outside(
    hostile: World, texts: list[str]
) -> None:
    names = ("CLAUDE.md", "CLAUDE.local.md", "inside.md", ".claude/rules/r.md")
    for name, text in zip(names, texts, strict=True):
        file = hostile.repo / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
    spy = Spy()
    loaded = hostile.load(path="x.py", spy=spy)
    opened = [path for path in spy.opened if is_inside(path, str(hostile.base))]
    assert all(is_inside(path, str(hostile.repo)) for path in opened)
    assert not any(path.startswith(("/etc", "/dev")) for path in spy.opened)
    assert not any("PRIVATE" in one.text for one in loaded.instructions)
    for one in loaded.instructions:
        one.text.encode()
