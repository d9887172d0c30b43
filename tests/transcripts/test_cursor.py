"""Which file is which, decided from stamps alone."""

from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.file_stamp import FileStamp
from memoryd.transcripts.rules.cursor import Cursor, bytes_behind, differences, plan


def cursor(path: str, inode: int, size: int = 100) -> Cursor:
    return Cursor(path, FileStamp(1, inode, size, 5, 5), offset=size, number=inode)


def known(*cursors: Cursor) -> dict[str, Cursor]:
    return {one.path: one for one in cursors}


def stamp(inode: int, size: int = 100) -> FileStamp:
    return FileStamp(1, inode, size, 5, 5)


def test_a_file_that_matches_its_cursor_is_not_read() -> None:
    found = differences(known(cursor("p/a", 1)), {"p/a": stamp(1)}, ())
    assert (found.changed, found.gone) == ({}, [])


def test_a_file_is_read_when_any_part_of_its_stamp_differs() -> None:
    for facts in (
        FileStamp(1, 1, 101, 5, 5),
        FileStamp(1, 1, 100, 6, 5),
        FileStamp(1, 1, 100, 5, 6),
        FileStamp(2, 1, 100, 5, 5),
        FileStamp(1, 2, 100, 5, 5),
    ):
        assert differences(known(cursor("p/a", 1)), {"p/a": facts}, ()).changed


def test_files_in_an_unreadable_folder_do_not_count_as_gone() -> None:
    here = known(cursor("p/a", 1), cursor("q/b", 2))
    assert differences(here, {}, {"p"}).gone == ["q/b"]


def test_a_grown_file_is_read_in_place() -> None:
    what = plan(known(cursor("p/a", 1)), (), {"p/a": stamp(1, 200)}, [])
    assert (what.look, what.placed, what.lost) == (("p/a",), (), ())


def test_an_unknown_file_is_read_from_the_beginning() -> None:
    [placed] = plan({}, (), {"p/a": stamp(1)}, []).placed
    assert placed == Cursor("p/a", FileStamp(1, 1))


def test_a_moved_file_takes_its_cursor_along() -> None:
    what = plan(known(cursor("p/a", 1)), (), {"q/a": stamp(1)}, ["p/a"])
    assert [(one.path, one.number) for one in what.placed] == [("q/a", 1)]
    assert what.lost == ()


def test_another_file_under_a_known_name_gets_the_cursor_of_the_name() -> None:
    """Only the content can tell whether it is the same file, copied back."""
    [placed] = plan(known(cursor("p/a", 1)), (), {"p/a": stamp(9)}, []).placed
    assert (placed.number, placed.stamp.identity) == (1, (1, 9))


def test_a_cursor_whose_name_was_taken_by_a_moved_one_is_lost() -> None:
    what = plan(known(cursor("p/a", 1), cursor("q/a", 2)), (), {"q/a": stamp(1, 150)}, ["p/a"])
    assert [(one.path, one.number) for one in what.placed] == [("q/a", 1)]
    assert [one.number for one in what.lost] == [2]


def test_two_swapped_names_swap_their_cursors() -> None:
    what = plan(
        known(cursor("p/a", 1), cursor("p/b", 2)), (), {"p/a": stamp(2), "p/b": stamp(1)}, []
    )
    assert {one.path: one.number for one in what.placed} == {"p/a": 2, "p/b": 1}
    assert what.lost == ()


def test_a_lost_cursor_is_used_again_by_identity_or_by_name() -> None:
    lost = known(cursor("p/a", 1))
    [moved] = plan({}, lost.values(), {"q/z": stamp(1)}, []).placed
    [back] = plan({}, lost.values(), {"p/a": stamp(7)}, []).placed
    assert (moved.number, back.number) == (1, 1)


def test_of_two_names_for_one_file_the_known_one_keeps_the_cursor() -> None:
    what = plan(known(cursor("p/a", 1)), (), {"p/b": stamp(1)}, [])
    assert [one.number for one in what.placed] == [0]


def test_behind_counts_unread_bytes() -> None:
    here = known(cursor("p/a", 1), cursor("p/b", 2), cursor("p/c", 3))
    changed = {
        "p/a": stamp(1, 130),  # grown
        "p/b": stamp(2, 40),  # shortened: all of it is unread
        "p/c": stamp(9, 70),  # replaced
        "p/d": stamp(5, 7),  # new
    }
    assert bytes_behind(here, changed) == 30 + 40 + 70 + 7


names = st.sampled_from([f"{folder}/{name}" for folder in "pq" for name in "abcd"])
worlds = st.dictionaries(names, st.integers(1, 6), max_size=8)


@given(worlds, worlds, worlds)
def test_no_cursor_belongs_to_two_files_and_none_is_dropped(
    before: dict[str, int], after: dict[str, int], away: dict[str, int]
) -> None:
    here = {
        path: Cursor(path, FileStamp(1, inode, 100, 5, 5), offset=100, number=number)
        for number, (path, inode) in enumerate(before.items(), start=1)
    }
    lost = {
        path: Cursor(path, FileStamp(1, inode, 100, 5, 5), offset=100, number=50 + number)
        for number, (path, inode) in enumerate(away.items())
        if path not in here
    }
    stamps = {path: stamp(inode) for path, inode in after.items()}
    found = differences(here, stamps, ())
    what = plan(here, lost.values(), found.changed, found.gone)
    assert {one.path for one in what.placed} | set(what.look) == found.changed.keys()
    moved_or_kept = [one.number for one in what.placed if one.number]
    unmoved = [one.number for path, one in here.items() if path not in found.changed]
    in_place = [number for number in unmoved if number not in {here[p].number for p in found.gone}]
    assert len(set(moved_or_kept + in_place)) == len(moved_or_kept + in_place)
    accounted = {*moved_or_kept, *in_place, *(one.number for one in what.lost)}
    accounted |= {here[path].number for path in what.look}
    assert accounted >= {one.number for one in here.values()}
