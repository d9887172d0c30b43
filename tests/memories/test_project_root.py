"""Which project a directory belongs to, compared with git and with hostile repositories."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.errors import InvalidInput
from memoryd.base.paths import places, project_memory
from memoryd.memories.rules.project_root import project_root
from tests.support.examples import examples


class Disk:
    """The real file system, as the rules use it."""

    def real_path(self, path: str) -> str:
        return os.path.realpath(path)

    def is_dir(self, path: str) -> bool:
        return Path(path).is_dir()

    def is_file(self, path: str) -> bool:
        return Path(path).is_file()

    def read_text(self, path: str, limit_bytes: int) -> str | None:
        if not self.is_file(path) or Path(path).stat().st_size > limit_bytes:
            return None
        return os.fsdecode(Path(path).read_bytes())


def git(where: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
    command += ["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *words]
    env = os.environ | {"GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    done = subprocess.run(command, cwd=where, env=env, check=True, capture_output=True)
    return os.fsdecode(done.stdout).rstrip("\n")


def repository(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "-q")
    git(path, "commit", "-q", "--allow-empty", "-m", "first")
    return path


def root_of(directory: Path | str) -> Path:
    return Path(project_root(str(directory), Disk()))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def main(base: Path) -> Path:
    return repository(base / "main")


# Genuine repositories


def test_a_repository_and_its_folders_are_one_project(main: Path) -> None:
    (main / "src/deep").mkdir(parents=True)
    assert root_of(main) == root_of(main / "src/deep") == main


@pytest.mark.parametrize("inside", [".git", ".git/hooks", ".git/refs/heads"])
def test_inside_the_git_folder_is_inside_the_project(main: Path, inside: str) -> None:
    (main / ".git/hooks").mkdir(exist_ok=True)
    assert root_of(main / inside) == main


def test_every_worktree_and_its_folders_belong_to_the_main_root(main: Path, base: Path) -> None:
    outside, inside = base / "outside", main / ".claude/worktrees/inside"
    for worktree in (outside, inside):
        git(main, "worktree", "add", "-q", str(worktree))
        (worktree / "src").mkdir()
        assert root_of(worktree) == root_of(worktree / "src") == main
    assert root_of(main / ".git/worktrees/outside") == main


def test_a_worktree_with_relative_links_belongs_to_the_main_root(main: Path, base: Path) -> None:
    worktree = base / "wt"
    git(main, "worktree", "add", "-q", str(worktree))
    (worktree / ".git").write_text("gitdir: ../main/.git/worktrees/wt\n")
    (main / ".git/worktrees/wt/gitdir").write_text("../../../../wt/.git\n")
    assert root_of(worktree) == main


def test_a_worktree_reached_through_a_symlink_belongs_to_the_main_root(
    main: Path, base: Path
) -> None:
    git(main, "worktree", "add", "-q", str(base / "wt"))
    (base / "short").symlink_to(base / "wt")
    assert root_of(base / "short") == main


def test_a_worktree_deleted_inside_the_repository_still_belongs_to_it(main: Path) -> None:
    worktree = main / ".claude/worktrees/gone"
    git(main, "worktree", "add", "-q", str(worktree))
    git(main, "worktree", "remove", str(worktree))
    assert root_of(worktree / "src") == main


def test_a_nested_repository_is_a_project_of_its_own(main: Path) -> None:
    nested = repository(main / "vendor/nested")
    (nested / "src").mkdir()
    assert root_of(nested / "src") == nested
    assert root_of(main / "vendor") == main


def test_a_submodule_and_its_worktrees_are_a_project_of_their_own(main: Path, base: Path) -> None:
    library = repository(base / "library")
    git(main, "submodule", "add", "-q", str(library), "vendor/lib [x]")
    submodule = main / "vendor/lib [x]"
    git(submodule, "worktree", "add", "-q", str(base / "wt"))
    assert root_of(submodule) == submodule
    assert root_of(base / "wt") == submodule
    assert root_of(main / ".git/modules/vendor/lib [x]/refs") == submodule
    assert root_of(main) == main


def test_a_submodule_keeps_its_worktrees_when_git_splits_its_configuration(
    main: Path, base: Path
) -> None:
    library = repository(base / "library")
    git(main, "submodule", "add", "-q", str(library), "lib")
    git(main / "lib", "worktree", "add", "-q", str(base / "wt"))
    git(main / "lib", "worktree", "list")
    inner = main / ".git/modules/lib"
    setting = git(main / "lib", "config", "core.worktree")
    git(main / "lib", "config", "extensions.worktreeConfig", "true")
    (inner / "config.worktree").write_text(
        f'[other]\nworktree = x\n[Core]\n\tworkTree = "{setting}"\n'
    )
    text = (inner / "config").read_text()
    (inner / "config").write_text(text.replace(f"worktree = {setting}", ""))
    assert root_of(base / "wt") == main / "lib"


def test_a_submodule_inside_a_worktree_is_a_project_of_its_own(main: Path, base: Path) -> None:
    git(main, "submodule", "add", "-q", str(repository(base / "library")), "lib")
    git(main, "commit", "-q", "-m", "add lib")
    git(main, "worktree", "add", "-q", str(base / "wt"))
    git(base / "wt", "submodule", "update", "-q", "--init")
    assert root_of(base / "wt/lib") == base / "wt/lib"


def test_a_bare_repository_is_the_project_of_its_worktrees(main: Path, base: Path) -> None:
    bare = base / "store.git"
    git(base, "clone", "-q", "--bare", str(main), str(bare))
    git(bare, "worktree", "add", "-q", str(base / "wt"))
    assert root_of(bare) == root_of(bare / "refs") == root_of(base / "wt") == bare


def test_a_bare_repository_called_git_makes_its_folder_the_project(main: Path, base: Path) -> None:
    holder = base / "holder"
    git(base, "clone", "-q", "--bare", str(main), str(holder / ".git"))
    git(holder, "worktree", "add", "-q", str(holder / "feature"))
    assert root_of(holder / "feature") == root_of(holder) == holder


def test_a_repository_with_its_inside_elsewhere_is_its_own_directory(base: Path) -> None:
    git(base, "init", "-q", "--separate-git-dir", str(base / "inside"), str(base / "outside"))
    (base / "outside/src").mkdir()
    assert root_of(base / "outside/src") == base / "outside"


def test_a_detached_head_is_still_a_repository(main: Path) -> None:
    git(main, "checkout", "-q", "--detach")
    assert root_of(main) == main


def test_without_a_repository_the_directory_is_the_project(base: Path) -> None:
    (base / "plain").mkdir()
    (base / "link").symlink_to(base / "plain")
    assert root_of(base / "plain") == root_of(base / "link") == base / "plain"


def test_a_directory_that_is_gone_belongs_to_what_is_left_of_its_path(
    main: Path, base: Path
) -> None:
    assert root_of(main / "gone/deeper") == main
    assert root_of(base / "gone/deeper") == base / "gone/deeper"


def test_a_name_that_is_not_unicode_is_followed(base: Path) -> None:
    odd = base / os.fsdecode(b"caf\xe9")
    main = repository(odd)
    git(main, "worktree", "add", "-q", str(base / "wt"))
    assert root_of(base / "wt") == odd


def test_folders_that_only_look_like_a_repository_are_not_one(main: Path) -> None:
    for name in ("objects", "refs"):
        (main / "game" / name).mkdir(parents=True)
    (main / "empty/.git").mkdir(parents=True)
    assert root_of(main / "game") == root_of(main / "empty") == main


@pytest.mark.parametrize("cwd", ["", "work", "./work", "~/work", "/a\0b", "/\ud800", "/x" * 3000])
def test_a_path_that_is_not_absolute_is_refused(cwd: str) -> None:
    with pytest.raises(InvalidInput):
        project_root(cwd, Disk())


def test_the_filesystem_root_ends_the_search() -> None:
    assert project_root("/", Disk()) == "/"


def test_memory_is_where_the_agent_keeps_it(main: Path, base: Path) -> None:
    place = places({}, "linux", 1000, "/h")
    git(main, "worktree", "add", "-q", str(base / "wt"))
    folders = {
        project_memory(place, str(root_of(start)), {}, None).path
        for start in (main, main / ".git", base / "wt")
    }
    flat = str(main).translate({ord(char): "-" for char in "/._"})
    assert folders == {f"/h/.claude/projects/{flat}/memory"}


# Repositories that claim to be another one


@pytest.fixture
def evil(base: Path) -> Path:
    """A folder as it may come out of an archive: anything may be in it, a `.git` file included."""
    folder = base / "evil"
    folder.mkdir()
    return folder


def claim(evil: Path, git_dir: Path | str) -> None:
    (evil / ".git").write_text(f"gitdir: {git_dir}\n")


def forge_repository(path: Path) -> Path:
    for name in ("objects", "refs"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    return path


def forge_worktree(common: Path, back_link: Path, commondir: str = "../..") -> Path:
    git_dir = common / "worktrees/forged"
    git_dir.mkdir(parents=True)
    (git_dir / "HEAD").write_text("ref: refs/heads/main\n")
    (git_dir / "commondir").write_text(f"{commondir}\n")
    (git_dir / "gitdir").write_text(f"{back_link}\n")
    return git_dir


def test_a_git_file_that_names_another_repository_adopts_nothing(main: Path, evil: Path) -> None:
    claim(evil, main / ".git")
    assert root_of(evil) == evil


def test_a_git_file_that_names_another_worktrees_link_adopts_nothing(
    main: Path, base: Path, evil: Path
) -> None:
    git(main, "worktree", "add", "-q", str(base / "wt"))
    claim(evil, main / ".git/worktrees/wt")
    assert root_of(evil) == evil


def test_a_symlink_to_another_worktrees_git_file_adopts_nothing(
    main: Path, base: Path, evil: Path
) -> None:
    git(main, "worktree", "add", "-q", str(base / "wt"))
    (evil / ".git").symlink_to(base / "wt/.git")
    assert root_of(evil) == evil


def test_a_symlink_to_another_git_folder_adopts_nothing(main: Path, evil: Path) -> None:
    (evil / ".git").symlink_to(main / ".git")
    assert root_of(evil) == evil


def test_a_forged_link_folder_that_names_another_common_folder_adopts_nothing(
    main: Path, evil: Path
) -> None:
    store = forge_repository(evil / "store")
    claim(evil, forge_worktree(store, evil / ".git", commondir=str(main / ".git")))
    assert root_of(evil) == evil


def test_a_link_folder_counts_only_in_the_right_place_of_a_repository(evil: Path) -> None:
    store = forge_repository(evil / "store")
    git_dir = forge_worktree(store, evil / ".git")
    claim(evil, git_dir)
    assert root_of(evil) == store
    git_dir.parent.rename(store / "elsewhere")
    claim(evil, store / "elsewhere/forged")
    assert root_of(evil) == evil


def test_a_link_folder_outside_of_any_repository_is_ignored(evil: Path) -> None:
    claim(evil, forge_worktree(evil / "store", evil / ".git"))
    assert root_of(evil) == evil


def test_a_back_link_to_another_file_of_the_directory_is_ignored(evil: Path) -> None:
    claim(evil, forge_worktree(forge_repository(evil / "store"), evil / "README"))
    assert root_of(evil) == evil


def test_a_forged_link_folder_beside_a_symlink_adopts_nothing(main: Path, evil: Path) -> None:
    git_dir = forge_worktree(evil / "x", evil / ".git", commondir="../../common")
    (evil / "x/common").symlink_to(main / ".git")
    claim(evil, git_dir)
    assert root_of(evil) == evil


def test_a_forged_configuration_adopts_nothing(main: Path, evil: Path) -> None:
    store = forge_repository(evil / "store")
    (store / "config").write_text(f"[core]\n\tworktree = {main}\n")
    claim(evil, forge_worktree(store, evil / ".git"))
    assert root_of(evil) == store
    assert root_of(store) == store


def test_a_forged_configuration_cannot_name_a_submodule_that_points_elsewhere(
    main: Path, base: Path, evil: Path
) -> None:
    git(main, "submodule", "add", "-q", str(repository(base / "library")), "lib")
    store = forge_repository(evil / "store")
    (store / "config").write_text(f"[core]\n\tworktree = {main / 'lib'}\n")
    assert root_of(store) == store


def test_a_bare_repository_hidden_in_a_clone_is_only_itself(main: Path) -> None:
    hidden = forge_repository(main / "docs/hidden")
    assert root_of(hidden / "refs") == hidden


@pytest.mark.parametrize(
    "text",
    ["", "gitdir:", "gitdir: ", "gitdir: \0", "gitdir: /x\ny", "garbage", "gitdir: " + "/x" * 4000],
)
def test_a_git_file_without_a_target_leaves_the_directory_a_project(main: Path, text: str) -> None:
    odd = main / "odd"
    odd.mkdir()
    (odd / ".git").write_text(text)
    assert root_of(odd) == odd


def test_a_huge_git_file_is_not_read(evil: Path) -> None:
    with (evil / ".git").open("wb") as file:
        file.truncate(10 * 1024**3)
    assert root_of(evil) == evil


def test_a_pipe_called_git_does_not_block(main: Path) -> None:
    (main / "odd").mkdir()
    os.mkfifo(main / "odd/.git")
    assert root_of(main / "odd") == main


def test_symlinks_in_a_circle_end(base: Path) -> None:
    (base / "one").symlink_to(base / "two")
    (base / "two").symlink_to(base / "one")
    assert root_of(base / "one/src").is_absolute()


# Any nesting

Step = tuple[str, int]
STEPS = st.lists(
    st.tuples(st.sampled_from(["folder", "repository", "bare", "worktree"]), st.integers(0, 99)),
    min_size=1,
    max_size=6,
)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One repository with a commit, and its bare clone, to be copied: quicker than making them."""
    folder = tmp_path_factory.mktemp("seeds")
    repository(folder / "repository")
    git(folder, "clone", "-q", "--bare", "repository", "bare")
    return folder


def common_dir(directory: Path) -> Path | None:
    try:
        return Path(git(directory, "rev-parse", "--path-format=absolute", "--git-common-dir"))
    except subprocess.CalledProcessError:
        return None


def root_by_git(directory: Path) -> Path:
    """The project according to git."""
    common = common_dir(directory)
    if common is None:
        return directory
    return common.parent if common.name == ".git" else common


def grow(base: Path, steps: list[Step], seeds: Path) -> list[Path]:
    """Makes each thing inside a folder that an earlier step made."""
    made = [base]
    for number, (kind, choice) in enumerate(steps):
        where = made[choice % len(made)]
        path = where / f"d{number}"
        if kind == "folder":
            path.mkdir()
        elif kind != "worktree":
            shutil.copytree(seeds / kind, path)
        elif common_dir(where) is not None:
            git(where, "worktree", "add", "-q", "--detach", str(path))
        else:
            continue
        made.append(path)
    return made


@examples(40)
@given(steps=STEPS)
def test_any_nesting_of_genuine_repositories_is_read_as_git_reads_it(
    steps: list[Step], seeds: Path
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for directory in grow(Path(os.path.realpath(folder)), steps, seeds):
            assert root_of(directory) == root_by_git(directory)
