"""Codes, payloads, names and machines: pure rules, with garbage and attackers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.errors import InvalidInput
from memoryd.devices.rules.codes import ALPHABET, code_of, read_code, shown_code
from memoryd.devices.rules.members import VaultKeys, free_device_name, keys_are_sound
from memoryd.devices.rules.payloads import (
    SMALLEST_BYTES,
    TEXT_LIMIT_BYTES,
    RowPayload,
    RowPlace,
    Unreadable,
    is_replayed,
    name_text,
    newer_wins,
    packed,
    padded,
    step_of,
    unpacked,
    unpadded,
    why_not_named,
)
from memoryd.devices.rules.shared_names import (
    SharedProject,
    given_name,
    shared_name_of,
    shown_name,
)
from memoryd.memories.rules.git_identity import ProjectIdentity

NUMBERS = st.lists(st.integers(0, 31), min_size=19, max_size=19)
PLACE = RowPlace("memory", "project", "remote:example.com/acme/shop", "a.md")


@given(NUMBERS)
def test_a_code_is_read_as_it_was_shown_and_as_people_type_it(numbers: list[int]) -> None:
    code = code_of(numbers)
    assert len(code) == 23
    plain = read_code(code)
    typed = code.lower().replace("-", " ").replace("1", "l").replace("0", "o")
    assert read_code(typed) == plain
    assert shown_code(plain) == code


@given(NUMBERS, st.integers(0, 19), st.sampled_from(ALPHABET))
def test_a_slip_of_the_finger_is_nearly_always_noticed(
    numbers: list[int], at: int, other: str
) -> None:
    plain = read_code(code_of(numbers))
    slipped = plain[:at] + other + plain[at + 1 :]
    if code_of([ALPHABET.index(one) for one in slipped[:-1]])[-1] == slipped[-1]:
        assert read_code(slipped) == slipped  # one in 32 fits by chance
    else:
        with pytest.raises(InvalidInput, match="wrong"):
            read_code(slipped)


@given(st.text(max_size=19) | st.text(min_size=60, max_size=99))
def test_garbage_is_no_code(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a code"):
        read_code(text.replace("-", "x").replace(" ", "x"))


@given(st.binary(max_size=5000))
def test_what_is_padded_has_the_size_of_a_step_and_comes_back(data: bytes) -> None:
    whole = padded(data)
    assert unpadded(whole) == data
    assert len(whole) == step_of(len(data) + 4)
    assert len(whole).bit_count() == 1
    assert len(whole) >= SMALLEST_BYTES


def test_a_short_and_a_shorter_text_have_one_size() -> None:
    sizes = {
        len(packed(RowPayload(place=PLACE, counter=1, text=b"x" * size, at=1.0)))
        for size in (1, 100, 700)
    }
    assert sizes == {1024}


@given(st.binary(max_size=3000))
def test_garbage_is_no_payload(data: bytes) -> None:
    with pytest.raises(Unreadable):
        unpacked(data)
    with pytest.raises(Unreadable):
        unpacked(padded(data))


@given(st.binary(max_size=2000), st.integers(1, 2**40), st.floats(0, 4e9))
def test_a_payload_comes_back_as_it_was(text: bytes, counter: int, at: float) -> None:
    payload = RowPayload(place=PLACE, counter=counter, text=text, at=at, origin="user-said")
    assert unpacked(packed(payload)) == payload


BAD_PATHS = [
    *("../a.md", "/etc/passwd.md", "a/../b.md", ".hidden.md", "a/.git/b.md", "a\nb.md", "a\0.md"),
    *("MEMORY.md", "a.txt", "", "a/b/c/d/e.md", "x" * 400 + ".md", ".retired/../a.md", ".retired/"),
    *("a//b.md", "./a.md", ".memoryd-root", ".retired/.retired/a.md"),
]


@pytest.mark.parametrize("path", BAD_PATHS)
def test_no_row_leads_out_of_its_folder(path: str) -> None:
    bad = RowPlace("memory", "user", "", path)
    assert why_not_named(bad)
    with pytest.raises(Unreadable):
        unpacked(packed(RowPayload(place=bad, counter=1, text=b"x", at=1.0)))


@pytest.mark.parametrize("path", ["a.md", "sub/a.md", ".retired/a~2.md", "Meine Notizen.md"])
def test_names_of_memories_may_travel(path: str) -> None:
    assert why_not_named(RowPlace("memory", "user", "", path)) == ""


def test_a_payload_of_a_newer_memoryd_a_large_or_a_placeless_one_is_not_taken() -> None:
    good = RowPayload(place=PLACE, counter=1, text=b"x", at=1.0)
    for bad, word in (
        (RowPayload(place=PLACE, counter=1, text=b"x", at=1.0, format=2), "newer"),
        (RowPayload(place=PLACE, counter=0, text=b"x", at=1.0), "belongs"),
        (RowPayload(place=PLACE, counter=1, text=b"x" * (TEXT_LIMIT_BYTES + 1), at=1.0), "large"),
        (
            RowPayload(place=RowPlace("memory", "user", "p", "a.md"), counter=1, text=b"x", at=1.0),
            "belongs",
        ),
    ):
        with pytest.raises(Unreadable, match=word):
            unpacked(packed(bad))
    assert unpacked(packed(good)) == good


@given(st.text(max_size=5), st.text(max_size=5), st.text(max_size=5), st.text(max_size=5))
def test_two_places_never_have_one_name(a: str, b: str, c: str, d: str) -> None:
    if any("\0" in one or not one.isprintable() for one in (a, b, c, d)):
        return
    one, other = RowPlace("memory", "project", a, b), RowPlace("memory", "project", c, d)
    assert (name_text(one) == name_text(other)) == (one == other)


def test_a_row_is_old_if_its_number_was_passed_or_its_text_is_another_one() -> None:
    row = RowPayload(place=PLACE, counter=5, text=b"x", at=1.0)
    assert not is_replayed(row, "x", 4, "w")
    assert not is_replayed(row, "x", 5, "x")
    assert is_replayed(row, "x", 5, "w")
    assert is_replayed(row, "x", 6, "x")


@given(st.floats(0, 4e9), st.floats(0, 4e9), st.sampled_from("ab"))
def test_both_machines_decide_alike_which_change_is_newer(one: float, two: float, by: str) -> None:
    other = "b" if by == "a" else "a"
    assert newer_wins(one, by, two, other) != newer_wins(two, other, one, by)


# --- names --------------------------------------------------------------------------------------

REMOTE, COMMIT = "example.com/acme/shop", "c" * 40


def test_a_project_is_its_given_name_else_its_remote_else_its_first_commit() -> None:
    both = ProjectIdentity(COMMIT, REMOTE)
    assert shared_name_of(both, "mine") == "name:mine"
    assert shared_name_of(both, "") == f"remote:{REMOTE}"
    assert shared_name_of(ProjectIdentity(COMMIT), "") == f"commit:{COMMIT}"
    assert shared_name_of(ProjectIdentity(), "") == ""


def test_a_clone_without_a_remote_takes_over_the_name_that_others_use() -> None:
    used = [SharedProject(f"remote:{REMOTE}", COMMIT), SharedProject("name:x", COMMIT)]
    assert shared_name_of(ProjectIdentity(COMMIT), "", used) == f"remote:{REMOTE}"
    assert shared_name_of(ProjectIdentity("d" * 40), "", used) == f"commit:{'d' * 40}"
    # Another repository that says it has this remote.
    assert shared_name_of(ProjectIdentity("d" * 40, REMOTE), "", used) == f"remote:{REMOTE}"


def test_a_given_name_is_plain_and_never_a_remote() -> None:
    assert given_name("  Acme   Shop ") == "acme shop"
    assert shown_name(f"name:{given_name(REMOTE)}") == REMOTE
    for bad in ("", "\0", "../x", "x" * 200, "a:b"):
        with pytest.raises(InvalidInput):
            given_name(bad)
    assert shown_name(f"commit:{COMMIT}").startswith("commit ccc")


def test_machines_have_different_plain_names() -> None:
    assert free_device_name("lap\n\x1b[31mtop", set()) == "lap [31mtop"
    assert free_device_name("lap", {"lap", "lap-2"}) == "lap-3"
    assert free_device_name("\0", set()) == "machine"
    assert len(free_device_name("x" * 500, set())) == 60


def test_keys_of_a_wrong_size_are_no_keys() -> None:
    good = VaultKeys(vault="0" * 32, names=b"n" * 32, epochs={1: b"k" * 32})
    assert keys_are_sound(good)
    for bad in (
        VaultKeys(vault="0" * 30, names=b"n" * 32, epochs={1: b"k" * 32}),
        VaultKeys(vault="0" * 32, names=b"n", epochs={1: b"k" * 32}),
        VaultKeys(vault="0" * 32, names=b"n" * 32, epochs={}),
        VaultKeys(vault="0" * 32, names=b"n" * 32, epochs={1: b"k"}),
        VaultKeys(vault="0" * 32, names=b"n" * 32, epochs={0: b"k" * 32}),
    ):
        assert not keys_are_sound(bad)
