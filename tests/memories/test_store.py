"""Topic files and their index stay consistent, also after crashes and disk errors."""

import ctypes
import errno
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from stat import S_ISDIR
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base import config
from memoryd.base.errors import (
    Conflict,
    InvalidInput,
    NotFound,
    Refused,
)
from memoryd.base.file_stamp import FileStamp
from memoryd.memories.kept_files import LEAST_MEMORIES, KeptFiles
from memoryd.memories.records import MemoryChanged, MemoryDirectory, Stored
from memoryd.memories.rules import index, topics
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system import folder as files
from memoryd.system.database import Database
from memoryd.system.notices import Notices
from tests.support.examples import examples
from tests.support.times import NOW


def changes_found(store: Store, directory: MemoryDirectory) -> list[MemoryChanged]:
    return [change for batch in store.find_changes(directory) for change in batch]


def a_topic(name: str = "Use tabs", **fields: object) -> Topic:
    made = {"description": "how to indent", "type": "feedback", "body": "Use tabs."} | fields
    return Topic(name=name, **made)  # type: ignore[arg-type]  # the tests give what Topic takes


def index_of(directory: MemoryDirectory) -> str:
    return (Path(directory.path) / "MEMORY.md").read_text()


def names_in(directory: MemoryDirectory) -> list[str]:
    return sorted(path.name for path in Path(directory.path).iterdir())


def test_saving_writes_topic_and_index_line_together(
    store: Store, directory: MemoryDirectory
) -> None:
    saved = store.save(directory, a_topic(), cause="user")
    assert saved.file == "feedback_use_tabs.md"
    assert store.read(directory, saved.file).topic.body == "Use tabs."
    assert index_of(directory) == "- [Use tabs](feedback_use_tabs.md) — how to indent\n"


def test_a_save_touches_no_line_but_its_own_and_a_repair_does_the_rest(
    store: Store, directory: MemoryDirectory
) -> None:
    root = Path(directory.path)
    root.mkdir(parents=True)
    (root / "unlisted.md").write_text("---\nname: Unlisted\n---\nx\n")
    (root / "MEMORY.md").write_text("# Mine\n- [Gone](gone.md)\n")
    store.save(directory, a_topic(), cause="user")
    line = "- [Use tabs](feedback_use_tabs.md) — how to indent\n"
    assert index_of(directory) == f"# Mine\n{line}- [Gone](gone.md)\n"
    assert store.repair(directory)
    assert index_of(directory) == f"# Mine\n- [Unlisted](unlisted.md)\n{line}"


def test_a_save_goes_into_an_index_of_many_megabytes(
    store: Store, directory: MemoryDirectory
) -> None:
    root = Path(directory.path)
    root.mkdir(parents=True)
    many = "".join(f"- [Memory {at}](m{at}.md) — {'x' * 990}\n" for at in range(5_000))
    assert len(many) > files.READ_LIMIT_BYTES
    (root / "MEMORY.md").write_text(many)
    store.save(directory, a_topic(), cause="user")
    store.save(directory, a_topic("Use spaces"), cause="user")
    assert [line[:14] for line in index_of(directory).splitlines()[:3]] == [
        "- [Use spaces]",
        "- [Use tabs](f",
        "- [Memory 0](m",
    ]
    assert index_of(directory).endswith(many)


def test_a_line_that_somebody_writes_between_two_saves_stays(
    store: Store, directory: MemoryDirectory
) -> None:
    store.save(directory, a_topic(), cause="user")
    before = index_of(directory)
    (Path(directory.path) / "MEMORY.md").write_text(f"# Mine\n{before}")
    store.save(directory, a_topic("Use spaces"), cause="user")
    line = "- [Use spaces](feedback_use_spaces.md) — how to indent\n"
    assert index_of(directory) == f"# Mine\n{line}{before}"


def test_lines_of_megabytes_that_somebody_writes_between_two_saves_stay(
    store: Store, directory: MemoryDirectory
) -> None:
    store.save(directory, a_topic(), cause="user")
    many = index_of(directory) + "x" * (files.READ_LIMIT_BYTES + 1) + "\n"
    (Path(directory.path) / "MEMORY.md").write_text(many)
    store.save(directory, a_topic("Use spaces"), cause="user")
    line = "- [Use spaces](feedback_use_spaces.md) — how to indent\n"
    assert index_of(directory) == f"{line}{many}"


def test_an_index_that_somebody_removes_between_two_saves_is_made_again(
    store: Store, directory: MemoryDirectory
) -> None:
    store.save(directory, a_topic(), cause="user")
    (Path(directory.path) / "MEMORY.md").unlink()
    store.save(directory, a_topic("Use spaces"), cause="user")
    assert index_of(directory).count("\n") == 2


def test_a_second_memory_of_the_same_name_gets_a_number_and_the_top_line(
    store: Store, directory: MemoryDirectory
) -> None:
    store.save(directory, a_topic(), cause="user")
    assert store.save(directory, a_topic(), cause="user").file == "feedback_use_tabs_2.md"
    assert index_of(directory).splitlines()[0].startswith("- [Use tabs](feedback_use_tabs_2.md)")


def test_with_skip_index_none_is_written(database: Database, directory: MemoryDirectory) -> None:
    store = Store(VersionTable(database), now=lambda: NOW, skip_index=True)
    store.save(directory, a_topic(), cause="user")
    store.repair(directory)
    assert names_in(directory) == ["feedback_use_tabs.md"]


def test_a_secret_never_reaches_the_disk(store: Store, directory: MemoryDirectory) -> None:
    token = "ghp_" + "x7Kp2LmQ9vRt4WzB8nYc3HdF6jSg1TaE5uQo"
    saved = store.save(directory, a_topic(body=f"The token is {token}."), cause="user")
    assert token not in store.read(directory, saved.file).text
    assert "[secret: github-token]" in store.read(directory, saved.file).text


def test_a_change_of_the_description_reaches_the_index_but_a_persons_words_stay(
    store: Store, directory: MemoryDirectory
) -> None:
    saved = store.save(directory, a_topic(), cause="user")
    path = Path(directory.path) / "MEMORY.md"
    path.write_text(index_of(directory).replace("how to indent", "my own hook"))
    same = store.read(directory, saved.file)
    body_changed = store.write(
        directory, saved.file, same.text + "More.\n", over=same.version, cause="user"
    )
    assert "my own hook" in index_of(directory)
    reworded = body_changed.text.replace("how to indent", "tabs, always")
    store.write(directory, saved.file, reworded, over=body_changed.version, cause="user")
    assert "tabs, always" in index_of(directory)


def test_a_scan_is_newest_first_and_reads_headers_only(
    store: Store, directory: MemoryDirectory
) -> None:
    root = Path(directory.path)
    for folder in ("sub", "team", "logs/2026", ".hidden"):
        (root / folder).mkdir(parents=True)
    for place, name in enumerate(
        ["a.md", "sub/b.md", "team/t.md", "logs/2026/l.md", ".hidden/h.md", "MEMORY.md", "x.txt"]
    ):
        (root / name).write_text(f"---\nname: {name}\n---\nbody")
        os.utime(root / name, (NOW + place, NOW + place))
    found = store.scan(directory)
    assert [one.file for one in found] == ["sub/b.md", "a.md"]
    assert found[0].topic.name == "sub/b.md"
    team = MemoryDirectory(str(root / "team"), "team")
    assert [one.file for one in store.scan(team)] == ["t.md"]


def test_a_scan_sees_a_change_made_by_another_program(
    store: Store, directory: MemoryDirectory
) -> None:
    saved = store.save(directory, a_topic(), cause="user")
    store.scan(directory)
    path = Path(directory.path) / saved.file
    path.write_text(path.read_text().replace("how to indent", "changed outside"))
    assert store.scan(directory)[0].topic.description == "changed outside"


def test_links_fifos_and_unreadable_names_do_not_stop_a_scan(
    store: Store, directory: MemoryDirectory, tmp_path: Path
) -> None:
    store.save(directory, a_topic(), cause="user")
    root = Path(directory.path)
    (tmp_path / "secret.md").write_text("---\nname: secret\n---\n")
    (root / "link.md").symlink_to(tmp_path / "secret.md")
    os.mkfifo(root / "fifo.md")
    (root / "folder.md").mkdir()
    Path(os.fsdecode(os.fsencode(root) + b"/\xff\xfe.md")).write_text("x")
    (root / "loop").symlink_to(root)
    assert [one.file for one in store.scan(directory)] == ["feedback_use_tabs.md"]


def test_a_header_beyond_thirty_lines_is_not_read(store: Store, directory: MemoryDirectory) -> None:
    Path(directory.path).mkdir()
    long = "---\n" + "".join(f"k{n}: v\n" for n in range(40)) + "name: late\n---\n"
    (Path(directory.path) / "a.md").write_text(long)
    assert store.scan(directory)[0].topic.name == ""


def test_an_absent_directory_has_no_memories(store: Store, directory: MemoryDirectory) -> None:
    assert store.scan(directory) == []
    assert not store.repair(directory)


@contextmanager
def saving_meanwhile(
    store: Store, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Future[Stored]]:
    """A write whose file is in place, but whose fsync does not return."""
    Path(directory.path).mkdir(exist_ok=True)
    is_at_the_disk, disk_is_done, real = threading.Event(), threading.Event(), os.fsync

    def slow(handle: int) -> None:
        if S_ISDIR(os.fstat(handle).st_mode):
            is_at_the_disk.set()
            assert disk_is_done.wait(60)
        real(handle)

    with monkeypatch.context() as patched, ThreadPoolExecutor(1) as pool:
        patched.setattr(os, "fsync", slow)
        write = partial(store.write, over=None, cause="user")
        text = topics.render(a_topic("Slow"))
        saved = pool.submit(write, directory, "feedback_slow.md", text)
        try:
            assert is_at_the_disk.wait(60)
            yield saved
        finally:
            disk_is_done.set()


def test_readers_do_not_wait_for_the_disk_of_a_writer(
    store: Store, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = store.save(directory, a_topic(), cause="user").file
    with ThreadPoolExecutor(1) as pool, saving_meanwhile(store, directory, monkeypatch) as saved:
        assert len(pool.submit(store.scan, directory).result(60)) == 2
        assert len(pool.submit(store.read_all, directory).result(60)) == 2
        assert pool.submit(store.recorded, directory, file).result(60).number == 1
        assert not saved.done()


def test_a_write_of_ours_that_is_not_recorded_yet_is_not_taken_for_someone_elses(
    store: Store, database: Database, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadPoolExecutor(2) as pool:
        with saving_meanwhile(store, directory, monkeypatch) as saved:
            found = pool.submit(changes_found, store, directory)
            recorded = pool.submit(store.recorded, directory, "feedback_slow.md")
            both: list[Future[Any]] = [found, recorded]
            wait(both, timeout=0.2)  # time to go wrong; when right, they wait for the writer
        assert found.result(60) == []
        assert recorded.result(60).number == saved.result(60).number
    (only,) = VersionTable(database).versions(directory.path, "feedback_slow.md")
    assert only.cause == "user"


def test_forgetting_removes_file_and_line_and_can_be_undone(
    store: Store, database: Database, directory: MemoryDirectory
) -> None:
    saved = store.save(directory, a_topic(), cause="user")
    number = store.forget(directory, saved.file, cause="user")
    assert names_in(directory) == ["MEMORY.md"]
    assert index_of(directory) == ""
    kept = VersionTable(database).content(directory.path, saved.file, number)
    store.write(directory, saved.file, kept.decode(), over=None, cause="restore")
    assert "feedback_use_tabs.md" in index_of(directory)
    with pytest.raises(NotFound):
        store.forget(directory, "none.md", cause="user")


def test_a_superseded_memory_is_retired_readable_and_out_of_the_index(
    store: Store, directory: MemoryDirectory
) -> None:
    old = store.save(directory, a_topic("Old"), cause="user")
    new = store.save(directory, a_topic("New", supersedes=(old.file,)), cause="user")
    assert {one.file: one.retired for one in store.scan(directory)} == {new.file: False}
    assert old.file not in index_of(directory)
    (retired,) = store.retired(directory)
    assert (retired.file, retired.retired) == (f".retired/{old.file}", True)
    topic = store.read(directory, retired.file).topic
    assert (topic.name, topic.superseded_by, topic.retired) == ("Old", new.file, "2027-01-15")
    assert store.read(directory, new.file).topic.supersedes == (retired.file,)
    with pytest.raises(NotFound):
        store.save(directory, a_topic("X", supersedes=("none.md",)), cause="user")


def test_a_stale_write_is_refused_and_both_versions_are_kept(
    store: Store, database: Database, directory: MemoryDirectory
) -> None:
    saved = store.save(directory, a_topic(), cause="user")
    path = Path(directory.path) / saved.file
    path.write_text("theirs")
    with pytest.raises(Conflict):
        store.write(directory, saved.file, "ours", over=saved.version, cause="dream")
    assert path.read_text() == "theirs"
    versions = VersionTable(database)
    causes = {
        one.cause: versions.content(directory.path, saved.file, one.version)
        for one in versions.versions(directory.path, saved.file)
    }
    assert causes["refused"] == b"ours"
    assert causes["outside"] == b"theirs"


def test_old_versions_go_but_the_newest_stay_whatever_their_age(database: Database) -> None:
    day, keep = 86_400.0, config.HistorySettings(keep_days=10, keep_versions=2)
    versions = VersionTable(database, keep)
    for number in range(5):
        versions.record("/m", "a.md", b"%d" % number, at=NOW + number * day, cause="user")
    versions.record("/m", "other.md", b"new", at=NOW + 100 * day, cause="user")
    kept = [versions.content("/m", "a.md", one.version) for one in versions.versions("/m", "a.md")]
    assert kept == [b"4", b"3"]


@pytest.mark.parametrize(
    "name",
    [
        "MEMORY.md",
        "A.md",
        "a.txt",
        ".a.md",
        "-a.md",
        "a b.md",
        "x" * 65 + ".md",
        "é.md",
        "a.md/b.md",
        "../a.md",
        "",
        "a\n.md",
        "team/../a.md",
        "con\u0301.md",
    ],
)
def test_only_valid_names_are_created(store: Store, directory: MemoryDirectory, name: str) -> None:
    with pytest.raises(Refused):
        store.write(directory, name, "x", over=None, cause="dream")
    assert not Path(directory.path).exists()


def test_a_memory_needs_name_body_and_type(store: Store, directory: MemoryDirectory) -> None:
    for topic in (a_topic(""), a_topic(body=" "), a_topic(type=None)):
        with pytest.raises(InvalidInput):
            store.save(directory, topic, cause="user")


def test_every_change_is_posted(database: Database, directory: MemoryDirectory) -> None:
    posted: list[MemoryChanged] = []
    notices = Notices()
    notices.on(MemoryChanged, posted.append)
    store = Store(VersionTable(database), now=lambda: NOW, notices=notices)
    saved = store.save(directory, a_topic(), cause="extraction", session_id="s1")
    store.forget(directory, saved.file, cause="user")
    assert [(change.file, change.cause, change.version != "") for change in posted] == [
        (saved.file, "extraction", True),
        (saved.file, "user", False),
    ]


def test_repair_makes_the_index_match_the_folder(store: Store, directory: MemoryDirectory) -> None:
    root = Path(directory.path)
    root.mkdir()
    (root / "a.md").write_text("---\nname: A\ndescription: one\n---\n")
    (root / ".memoryd-00ff.tmp").write_text("half")
    (root / "MEMORY.md").write_text("# Mine\n- [Gone](gone.md)\n- [B](b.md)\n- [B](b.md)\n")
    (root / "b.md").write_text("b")
    assert store.repair(directory)
    assert index_of(directory) == "# Mine\n- [A](a.md) — one\n- [B](b.md)\n"
    assert not store.repair(directory)
    assert names_in(directory) == ["MEMORY.md", "a.md", "b.md"]


def test_ten_thousand_memories_are_scanned(store: Store, directory: MemoryDirectory) -> None:
    root = Path(directory.path)
    root.mkdir()
    for number in range(10_000):
        (root / f"m{number}.md").write_text(f"---\nname: m{number}\ntype: user\n---\nbody\n")
    assert len(store.scan(directory)) == 10_000


@examples(20)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=6))
def test_the_index_is_correct_after_any_saves(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    base = tmp_path_factory.mktemp("store")
    database = Database.open(str(base / "state.db"))
    store, directory = (
        Store(VersionTable(database), now=lambda: NOW),
        MemoryDirectory(str(base), "user"),
    )
    store.save(directory, a_topic("the first"), cause="user")
    for name in names:
        with suppress(InvalidInput):
            store.save(directory, a_topic(name or "x"), cause="user")
    lines = index_of(directory).splitlines()
    pointed = sorted(index.whole_pointers(lines).values())
    assert pointed == sorted(one.file for one in store.scan(directory))
    database.close()


# --- what others do meanwhile ---------------------------------------------------------------------


def test_a_secret_reaches_neither_the_file_name_nor_the_index(
    store: Store, directory: MemoryDirectory
) -> None:
    token = "ghp_" + "x7Kp2LmQ9vRt4WzB8nYc3HdF6jSg1TaE5uQo"
    saved = store.save(directory, a_topic(f"The token {token}", description=token), cause="user")
    assert token[4:14].lower() not in saved.file
    assert token not in index_of(directory)
    assert store.read(directory, saved.file).topic.type == "feedback"


def test_files_that_vanish_during_a_scan_do_not_end_it(
    store: Store, directory: MemoryDirectory
) -> None:
    root = Path(directory.path)
    root.mkdir()
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            for number in range(20):
                (root / f"n{number}.md").write_text("x")
            for number in range(20):
                (root / f"n{number}.md").unlink()

    churner = threading.Thread(target=churn)
    churner.start()
    try:
        for _ in range(100):
            store.scan(directory)
            changes_found(store, directory)
    finally:
        stop.set()
        churner.join()


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
def test_a_strange_index_does_not_make_a_saved_memory_a_failure(
    store: Store, directory: MemoryDirectory, kind: str
) -> None:
    root = Path(directory.path)
    root.mkdir()
    index_path = root / "MEMORY.md"
    {"link": lambda: index_path.symlink_to("/etc/hostname"), "folder": index_path.mkdir}.get(
        kind, lambda: os.mkfifo(index_path)
    )()
    assert store.save(directory, a_topic(), cause="user").file == "feedback_use_tabs.md"


def test_a_file_system_without_exclusive_renames_still_takes_new_memories(
    store: Store, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Plain:
        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

        def renameat2(self, *_: object) -> int:
            ctypes.set_errno(errno.EINVAL)
            return -1

    real = files._libc
    monkeypatch.setattr(files, "_libc", Plain())
    saved = store.save(directory, a_topic(), cause="user")
    assert store.read(directory, saved.file).topic.body == "Use tabs."
    assert names_in(directory) == ["MEMORY.md", "feedback_use_tabs.md"]


def test_a_forgotten_memory_is_posted_once(database: Database, directory: MemoryDirectory) -> None:
    posted: list[MemoryChanged] = []
    notices = Notices()
    notices.on(MemoryChanged, posted.append)
    store = Store(VersionTable(database), now=lambda: NOW, notices=notices)
    saved = store.save(directory, a_topic(), cause="user")
    changes_found(store, directory)
    store.forget(directory, saved.file, cause="user")
    changes_found(store, directory)
    assert [change.cause for change in posted] == ["user", "user"]


def test_a_text_that_is_too_long_is_refused_before_it_is_masked(
    store: Store, directory: MemoryDirectory
) -> None:
    with pytest.raises(InvalidInput):
        store.write(directory, "a.md", "api_key=:_" * 800_000, over=None, cause="user")


@pytest.mark.parametrize("recall_looks_first", [False, True])
def test_after_a_restart_only_changed_files_are_read(
    tmp_path: Path, *, recall_looks_first: bool
) -> None:
    def restarted(versions: VersionTable, now: float) -> Store:
        store = Store(versions, now=lambda: now, kept=kept)
        if recall_looks_first:
            store.stamps(directory)
        return store

    folder = tmp_path / "memory"
    folder.mkdir()
    for number in range(LEAST_MEMORIES):
        (folder / f"m{number}.md").write_text(f"number {number}\n")
    directory, kept = MemoryDirectory(str(folder), "project"), KeptFiles(str(tmp_path))
    deadline = time.monotonic() + 60
    while not FileStamp.of((folder / f"m{number}.md").stat()).is_settled(time.time()):
        assert time.monotonic() < deadline
    with closing(Database.open(str(tmp_path / "state.db"))) as state:
        versions = VersionTable(state)
        first = Store(versions, now=lambda: 1.0, kept=kept)
        assert len(changes_found(first, directory)) == LEAST_MEMORIES
        assert list(restarted(versions, 2.0).find_changes(directory)) == []
        (folder / "m3.md").write_text("another\n")
        (folder / "m4.md").unlink()
        batches = list(restarted(versions, 3.0).find_changes(directory))
        assert sorted(one.file for batch in batches for one in batch) == ["m3.md", "m4.md"]
        assert len(batches) == 1  # the others were not even looked into
    # Without its history, everything is new again, whatever was seen.
    with closing(Database.open(str(tmp_path / "other.db"))) as state:
        found = changes_found(restarted(VersionTable(state), 4.0), directory)
        assert len(found) == LEAST_MEMORIES - 1
