"""The planner: any interleaving of edits on three machines converges, and no edit vanishes."""

import hashlib
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from memoryd.team.rules.plan import (
    ABSENT,
    EntryVersion,
    KnownEntry,
    PlannedPull,
    PlannedPush,
    ServerEntry,
    SyncPlan,
    agreed,
    declined,
    fingerprint,
    plan,
)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest() if text else ABSENT


def head(name: str, stamp: int, text: str, author: str = "bob") -> ServerEntry:
    return ServerEntry(name, EntryVersion(stamp, stamp * 7), sha(text), author)


def is_done(planned: SyncPlan) -> bool:
    return not (planned.pulls or planned.pushes)


A1, A2 = head("a.md", 1, "one"), head("a.md", 2, "two")


def test_what_is_new_here_is_pushed_over_nothing() -> None:
    assert plan({"a.md": sha("one")}, {}, {}).pushes == (PlannedPush("a.md", sha("one"), None),)


def test_what_is_new_there_is_pulled() -> None:
    assert plan({}, {}, {"a.md": A1}).pulls == (PlannedPull(A1, ABSENT),)


def test_a_change_here_is_pushed_over_the_version_that_was_known() -> None:
    planned = plan({"a.md": sha("mine")}, {"a.md": agreed(A1)}, {"a.md": A1})
    assert planned.pushes == (PlannedPush("a.md", sha("mine"), A1.version),)
    assert planned.pulls == ()


def test_a_change_on_both_sides_is_the_servers_and_a_conflict() -> None:
    planned = plan({"a.md": sha("mine")}, {"a.md": agreed(A1)}, {"a.md": A2})
    assert planned.pulls == (PlannedPull(A2, sha("mine"), is_conflict=True),)
    assert planned.pushes == ()


def test_the_same_words_on_both_sides_are_no_conflict() -> None:
    planned = plan({"a.md": sha("two")}, {"a.md": agreed(A1)}, {"a.md": A2})
    assert is_done(planned)
    assert planned.settled == {"a.md": agreed(A2)}


def test_a_file_deleted_here_neither_travels_nor_comes_back() -> None:
    assert is_done(plan({}, {"a.md": agreed(A1)}, {"a.md": A1}))


def test_a_file_deleted_here_comes_back_when_somebody_changes_it() -> None:
    assert plan({}, {"a.md": agreed(A1)}, {"a.md": A2}).pulls == (PlannedPull(A2, ABSENT),)


def test_a_removal_that_was_asked_for_becomes_a_tombstone() -> None:
    planned = plan({}, {"a.md": agreed(A1)}, {"a.md": A1}, {"a.md"})
    assert planned.pushes == (PlannedPush("a.md", ABSENT, A1.version),)


def test_a_removal_of_what_somebody_changed_since_is_outrun() -> None:
    planned = plan({}, {"a.md": agreed(A1)}, {"a.md": A2}, {"a.md"})
    assert planned.outrun == ("a.md",)
    assert planned.pulls == (PlannedPull(A2, ABSENT),)


def test_a_file_that_is_back_after_its_tombstone_is_pushed_over_it() -> None:
    gone = head("a.md", 3, "")
    planned = plan({"a.md": sha("one")}, {"a.md": agreed(gone)}, {"a.md": gone})
    assert planned.pushes == (PlannedPush("a.md", sha("one"), gone.version),)


def test_a_tombstone_removes_an_unchanged_file_and_conflicts_with_a_changed_one() -> None:
    gone, known = head("a.md", 3, ""), {"a.md": agreed(A1)}
    assert plan({"a.md": A1.sha256}, known, {"a.md": gone}).pulls == (PlannedPull(gone, A1.sha256),)
    (pull,) = plan({"a.md": sha("mine")}, known, {"a.md": gone}).pulls
    assert pull.is_conflict


def test_what_the_server_lost_is_pushed_again() -> None:
    planned = plan({"a.md": sha("one")}, {"a.md": agreed(A1)}, {})
    assert planned.pushes == (PlannedPush("a.md", sha("one"), None),)
    assert plan({}, {"a.md": agreed(A1)}, {}).forgotten == ("a.md",)


def test_what_waits_for_a_review_is_neither_pulled_nor_pushed_over() -> None:
    for here in (ABSENT, sha("one"), sha("mine")):
        local = {"a.md": here} if here else {}
        planned = plan(local, {"a.md": agreed(A1)}, {"a.md": A2}, is_held=lambda _: True)
        assert planned.held == (A2,)
        assert is_done(planned)


def test_what_was_declined_stays_as_it_is_until_it_is_changed_here() -> None:
    known = {"a.md": declined(A2, sha("one"))}
    assert is_done(plan({"a.md": sha("one")}, known, {"a.md": A2}))
    (push,) = plan({"a.md": sha("mine")}, known, {"a.md": A2}).pushes
    assert push == PlannedPush("a.md", sha("mine"), A2.version)
    # Agreed after all: what the server has is what is here.
    assert plan({"a.md": sha("two")}, known, {"a.md": A2}).settled == {"a.md": agreed(A2)}


def test_a_fingerprint_tells_any_two_states_apart_that_differ_in_a_version() -> None:
    assert fingerprint([A1]) != fingerprint([A2])
    assert fingerprint([A1]) == fingerprint([head("a.md", 1, "one")])


# --- three machines -----------------------------------------------------------------------------


class Server:
    """Takes a push only over the current version; its clock may jump, its versions never fall."""

    def __init__(self) -> None:
        self.heads: dict[str, ServerEntry] = {}
        self.texts: dict[tuple[str, EntryVersion], str] = {}
        self.clock = 1000

    def push(self, one: PlannedPush, text: str, author: str) -> ServerEntry | None:
        now = self.heads.get(one.name)
        if (now.version if now else None) != one.base:
            return None
        stamp = max(self.clock, now.version.stamp + 1 if now else 0)
        made = ServerEntry(one.name, EntryVersion(stamp, len(self.texts)), one.sha256, author)
        self.heads[one.name] = made
        self.texts[one.name, made.version] = text
        return made

    def said(self) -> set[tuple[str, str]]:
        return {(name, text) for (name, _), text in self.texts.items()}


class Machine:
    """A folder, the changes that lost there, and what was agreed last."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.files: dict[str, str] = {}
        self.named: set[tuple[str, str]] = set()
        self.known: dict[str, KnownEntry] = {}
        self.removals: set[str] = set()
        self.seen: Mapping[str, ServerEntry] = {}

    def do(self, what: str, more: object, number: int, server: Server) -> None:
        name = str(more)
        match what:
            case "edit":
                self.files[name] = f"{number} by {self.name}"
            case "delete":
                self.files.pop(name, None)
            case "remove" if self.files.pop(name, None) and name in self.known:
                self.removals.add(name)
            case "look":  # what it plans with may be old by the time it acts
                self.seen = dict(server.heads)
            case "act":
                self.act(server)
            case "die":
                self.seen = dict(server.heads)
                self.act(server, dies_after=int(name))
            case "forget":  # state.db is lost
                self.known, self.removals = {}, set()

    def replace(self, pull: PlannedPull, server: Server) -> None:
        """A text that no server and no conflict knows would be gone for good."""
        name = pull.entry.name
        before, text = self.files.pop(name, ""), server.texts[name, pull.entry.version]
        if pull.is_conflict:
            self.named.add((name, before))
        assert not before or (name, before) in self.named | server.said()
        if text:
            self.files[name] = text

    def act(self, server: Server, *, dies_after: int = 99) -> bool:
        """Carries out a plan, up to some step; whether there was anything to do."""
        local = {name: sha(text) for name, text in self.files.items()}
        planned = plan(local, self.known, self.seen, self.removals)
        self.known |= planned.settled
        for name in planned.forgotten:
            del self.known[name]
        self.removals -= {*planned.outrun}
        for pull in planned.pulls:
            if (dies_after := dies_after - 1) < 0:
                return True
            self.replace(pull, server)
            if (dies_after := dies_after - 1) < 0:
                return True
            self.known[pull.entry.name] = agreed(pull.entry)
        for push in planned.pushes:
            if (dies_after := dies_after - 1) < 0:
                return True
            text = self.files[push.name] if push.sha256 else ""
            made = server.push(push, text, self.name)
            if (dies_after := dies_after - 1) < 0:
                return True
            if made is not None:
                self.known[push.name] = agreed(made)
                self.removals.discard(push.name) if not push.sha256 else None
        self.removals -= {
            name
            for name in self.removals
            if name not in server.heads or server.heads[name].sha256 == ABSENT
        }
        return not is_done(planned)


NAMES = st.sampled_from(["a.md", "b.md", "c.md"])
STEPS = st.one_of(
    st.tuples(st.just("edit"), st.integers(0, 2), NAMES),
    st.tuples(st.just("delete"), st.integers(0, 2), NAMES),
    st.tuples(st.just("remove"), st.integers(0, 2), NAMES),
    st.tuples(st.just("look"), st.integers(0, 2), st.none()),
    st.tuples(st.just("act"), st.integers(0, 2), st.none()),
    st.tuples(st.just("die"), st.integers(0, 2), st.integers(0, 5)),
    st.tuples(st.just("forget"), st.integers(0, 2), st.none()),
    st.tuples(st.just("clock"), st.integers(-900, 900), st.none()),
)


@given(st.lists(STEPS, max_size=60))
def test_any_interleaving_converges_and_no_edit_vanishes(
    steps: list[tuple[str, int, object]],
) -> None:
    server, machines = Server(), [Machine("alice"), Machine("bob"), Machine("carol")]
    for number, (what, which, more) in enumerate(steps):
        if what == "clock":
            server.clock = max(1, server.clock + which)
        else:
            machines[which].do(what, more, number, server)
    for _ in range(10):
        busy = []
        for one in machines:
            one.seen = dict(server.heads)
            busy.append(one.act(server))
        if not any(busy):
            break
    assert not any(busy), "they never agree"
    live = {
        name: server.texts[name, one.version]
        for name, one in server.heads.items()
        if one.sha256 != ABSENT
    }
    for one in machines:
        # What is there is what the server has; only what was deleted here may be missing.
        assert one.files.items() <= live.items()
        for name in live.keys() - one.files.keys():
            assert one.known[name].sha256 == sha(live[name])
