"""Addresses, names, what may be shared, what may be taken, and what is said when it goes wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.errors import InvalidInput
from memoryd.memories.rules import topics
from memoryd.memories.rules.git_identity import normalised, remotes_in
from memoryd.team.rules.address import ServerAddress, address_in, password_line, shown_dsn
from memoryd.team.rules.entries import (
    ENTRY_LIMIT_BYTES,
    REQUEST_LIMIT_BYTES,
    EntryText,
    batches,
    hash_of,
    over_the_cap,
    why_not_named,
    why_not_shared,
    why_not_taken,
)
from memoryd.team.rules.identity import shared_name
from memoryd.team.rules.plan import EntryVersion
from memoryd.team.rules.problems import (
    TeamProblem,
    clock_warning,
    problem_of_state,
    schema_problem,
    unreachable,
)
from memoryd.team.rules.sharing import lean_of

PLAIN = b"---\nname: Port\ntype: project\n---\n\nThe port is 8080.\n"
VERSION = EntryVersion(1, 1)


# --- addresses ----------------------------------------------------------------------------------


def test_an_address_is_read_and_shown_without_its_password() -> None:
    found = address_in("postgresql://al%40ice:s%3Acret@DB.example.com:6000/mem?sslrootcert=/ca.crt")
    assert (found.user, found.host, found.port) == ("al@ice", "db.example.com", 6000)
    assert (found.database, found.root_certificate) == ("mem", "/ca.crt")
    assert found.password is not None
    assert found.password.reveal() == "s:cret"
    assert "s:cret" not in found.shown + repr(found)
    assert found.shown == "postgresql://al@ice@db.example.com:6000/mem"


def test_a_socket_needs_no_tls_and_everything_else_does() -> None:
    assert address_in("postgresql://a@/m?host=/run/pg&sslmode=disable").is_socket
    for mode in ("disable", "allow", "prefer", "require", "verify-ca"):
        with pytest.raises(InvalidInput, match="verify-full"):
            address_in(f"postgresql://a@localhost/m?sslmode={mode}")
    assert address_in("postgresql://a@localhost/m?sslmode=verify-full").is_on_this_machine


@pytest.mark.parametrize(
    "dsn",
    [
        "",
        "alice@db/mem",
        "http://alice@db/mem",
        "postgresql://db/mem",
        "postgresql://a@/mem",
        "postgresql://a@h1,h2/mem",
        "postgresql://a@db:port/mem",
        "postgresql://a@db/mem?password=x",
        "postgresql://a@db/mem?sslmod=disable",
        "postgresql://a@db/mem?options=-c%20row_security=off",
        "postgresql://a@db/mem?sslkey=relative",
        "postgresql://a@db/mem?port=x",
        "postgresql://a b@db/mem",
        "postgresql://a@[::1/mem",
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(dsn: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        address_in(dsn)
    assert caught.value.hint
    assert dsn == "" or dsn not in caught.value.message


@given(st.text(max_size=80))
def test_any_text_is_shown_safely(text: str) -> None:
    shown = shown_dsn(f"postgresql://u:{text}geheim@h/d")
    assert "geheim" not in shown


def address(**more: object) -> ServerAddress:
    fields: dict[str, object] = {"host": "db", "port": 5432, "user": "al", "database": "mem"}
    return ServerAddress(**(fields | more))  # type: ignore[arg-type]


def test_the_first_line_of_a_pgpass_that_fits_has_the_password() -> None:
    text = "# mine\n\nother:*:*:*:no\ndb:5432:mem:bob:no\n*:*:mem:al:p\\:w\\\\d\ndb:*:*:al:later\n"
    assert password_line(text, address()) == "p:w\\d"
    assert password_line("localhost:*:*:*:yes", address(host="/run/pg")) == "yes"
    assert password_line("db:5432:mem", address()) is None


@given(st.text())
def test_garbage_in_a_pgpass_is_no_password(text: str) -> None:
    found = password_line(text, address())
    assert found is None or found.replace("\\", "") in text.replace("\\", "")


# --- names of projects --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "git@example.com:acme/shop.git",
        "https://example.com/acme/shop",
        "https://alice:token@Example.COM/acme/shop.git/",
        "ssh://git@example.com:22/acme/shop",
        "git+ssh://example.com/acme/shop.git",
    ],
)
def test_every_form_of_a_remote_is_one_name(url: str) -> None:
    config = f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n'
    assert shared_name(remotes_in(config), "origin") == "example.com/acme/shop"
    assert "token" not in normalised(url)


def test_of_several_remotes_the_person_chooses() -> None:
    both = {"fork": "example.com/me/shop", "upstream": "example.com/acme/shop"}
    with pytest.raises(InvalidInput) as caught:
        shared_name(both, "origin")
    assert "--remote" in caught.value.hint
    assert "fork, upstream" in caught.value.hint
    assert shared_name(both, "upstream") == "example.com/acme/shop"
    assert shared_name({"other": "example.com/acme/shop"}, "origin") == "example.com/acme/shop"


def test_a_project_without_a_remote_is_told_how_to_name_it() -> None:
    with pytest.raises(InvalidInput) as caught:
        shared_name({"origin": ""}, "origin")
    assert "--name" in caught.value.hint
    assert shared_name({}, "origin", "Acme/Shop.git") == "acme/shop"
    assert shared_name({}, "origin", "git@example.com:a/b.git") == "example.com/a/b"
    with pytest.raises(InvalidInput):
        shared_name({}, "origin", "../../x y")


# --- what goes and comes ------------------------------------------------------------------------


def test_a_secret_a_private_part_and_a_persons_memory_stay_here() -> None:
    assert why_not_shared("project_port.md", PLAIN) == ""
    token = b"The token is ghp_" + b"a1B2" * 9 + b".\n"
    assert "secret" in why_not_shared("project_port.md", PLAIN + token)
    assert "private" in why_not_shared("a.md", PLAIN + b"<private>her salary</private>\n")
    assert "one person" in why_not_shared("a.md", PLAIN.replace(b"project", b"user"))
    assert "UTF-8" in why_not_shared("a.md", b"\xff\xfe")
    assert "says nothing" in why_not_shared("a.md", b"---\nname: x\n---\n")
    assert "bytes" in why_not_shared("a.md", b"a " * ENTRY_LIMIT_BYTES)


@pytest.mark.parametrize(
    "name",
    ["../x.md", "/etc/x.md", "MEMORY.md", ".retired/a.md", "a.txt", "A.md", "a/../b.md", "a\n.md"],
)
def test_a_name_that_leads_elsewhere_is_not_an_entry(name: str) -> None:
    assert why_not_named(name)
    assert why_not_taken(EntryText(name, VERSION, hash_of(PLAIN), "bob", PLAIN))


def test_a_text_that_is_not_the_one_of_its_hash_is_not_taken() -> None:
    assert why_not_taken(EntryText("a.md", VERSION, hash_of(PLAIN), "bob", PLAIN)) == ""
    assert "hash" in why_not_taken(EntryText("a.md", VERSION, hash_of(b"x"), "bob", PLAIN))
    assert why_not_taken(EntryText("a.md", VERSION, "", "bob", None)) == ""
    assert "hash" in why_not_taken(EntryText("a.md", VERSION, hash_of(PLAIN), "bob", None))


@given(st.binary(max_size=200), st.text(max_size=30))
def test_any_bytes_from_the_server_are_judged_and_never_fail(text: bytes, name: str) -> None:
    entry = EntryText(name, VERSION, hash_of(text), "bob", text)
    assert isinstance(why_not_taken(entry), str)
    assert isinstance(why_not_shared(name, text), str)


@given(st.lists(st.integers(0, 300_000)))
def test_no_request_is_larger_than_its_limit_unless_one_entry_is(sizes: list[int]) -> None:
    found = [*batches((size, size) for size in sizes)]
    assert [one for batch in found for one in batch] == sizes
    assert all(len(batch) == 1 or sum(batch) <= REQUEST_LIMIT_BYTES for batch in found)


def test_what_exceeds_the_cap_is_named() -> None:
    assert over_the_cap(["a", "b", "c"], 8, 10) == ["c"]
    assert over_the_cap(["a"], 12, 10) == ["a"]


@pytest.mark.parametrize(
    ("type_", "body", "lean"),
    [
        ("user", "I am a data scientist.", "never"),
        ("project", "The freeze begins on 2026-11-20.", "team"),
        ("reference", "Incidents are in the tracker at example.com.", "team"),
        ("feedback", "Keep answers short.", "private"),
        ("feedback", "Talk to me in German.", "private"),
        ("feedback", "In this repository we never mock the database.", "team"),
        ("feedback", "Our convention: squash merges only.", "team"),
        ("feedback", "We agreed, but show me my diffs first.", "private"),
    ],
)
def test_the_type_says_whom_a_memory_is_for(type_: str, body: str, lean: str) -> None:
    topic = topics.parse(f"---\nname: x\ntype: {type_}\n---\n\n{body}\n")
    assert lean_of(topic) == lean


# --- what is said -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "reason", "says"),
    [
        ("28P01", "password", ".pgpass"),
        ("28000", "password", "pg_hba.conf"),
        ("3D000", "database", "createdb mem"),
        ("3F000", "schema", "memoryd device init --member al"),
        ("42P01", "schema", "memoryd team init"),
        ("42501", "privileges", "--member al"),
        ("53100", "disk", "nothing is lost"),
        ("53300", "busy", "by itself"),
        ("25006", "read-only", "primary"),
        ("57P01", "unreachable", "by itself"),
        ("08006", "unreachable", "nothing is lost"),
        ("XX000", "failed", "memoryd logs"),
        ("", "failed", "memoryd logs"),
    ],
)
def test_every_failure_of_the_server_has_a_next_step(state: str, reason: str, says: str) -> None:
    problem = problem_of_state(state, address())
    assert problem.reason == reason
    assert says in problem.hint
    assert "{" not in problem.message + problem.hint


def test_tables_of_another_version_say_who_must_do_what() -> None:
    assert schema_problem(address(), 2, 2) is None
    older, newer = schema_problem(address(), 1, 2), schema_problem(address(), 3, 2)
    assert isinstance(older, TeamProblem)
    assert isinstance(newer, TeamProblem)
    assert "memoryd team init" in older.hint
    assert "memoryd device init --member al" in older.hint
    assert "upgrade memoryd" in newer.hint


def test_a_clock_that_is_off_is_a_warning_and_nothing_else() -> None:
    assert clock_warning(20) == ""
    assert "10 days ahead" in clock_warning(864_000)
    assert "30 minutes behind" in clock_warning(-1800)
    assert unreachable(address()).reason == "unreachable"
