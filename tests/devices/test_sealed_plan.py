"""The planner over sealed rows, with a server that puts old rows back and swaps them.

Any interleaving of edits on three machines converges; no edit vanishes and no old text comes back.
As `tests/team/test_plan.py`, but what is on the server is sealed, as the daemon seals it.
"""

import hashlib

from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoryd.devices.device_table import SeenRow
from memoryd.devices.keyring import Keyring
from memoryd.devices.private_server import RowHead
from memoryd.devices.row_seals import RefusedRow, RowSeals, seen_row
from memoryd.devices.rules.members import DeviceRecord, VaultKeys
from memoryd.devices.rules.payloads import RowPayload, RowPlace, newer_wins
from memoryd.devices.sealing import DeviceKeys
from memoryd.devices.sync import NOT_TAKEN
from memoryd.team.rules.plan import (
    ABSENT,
    EntryVersion,
    KnownEntry,
    PlannedPull,
    ServerEntry,
    agreed,
    plan,
)

KEYS = VaultKeys(vault="0" * 32, names=b"n" * 32, epochs={1: b"k" * 32})
WHO = ("desk", "lap", "tab")
RECORDS = [DeviceRecord(device=one, name=one, public_key=b"", added=0.0) for one in WHO]
PLACES = {name: RowPlace("memory", "user", "", name) for name in ("a.md", "b.md", "c.md")}


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest() if text else ABSENT


class Server:
    """Keeps sealed rows; every one it ever had is at hand to be put back."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[RowHead, bytes]] = {}
        self.old: list[tuple[RowHead, bytes]] = []
        self.clock = 1000

    def push(
        self, name: str, base: EntryVersion | None, device: str, sealed: bytes
    ) -> RowHead | None:
        now = self.rows.get(name)
        if (now[0].version if now else None) != base:
            return None
        self.clock += 1
        head = RowHead(name, EntryVersion(self.clock, len(self.old)), device, 1, len(sealed))
        self.rows[name] = (head, sealed)
        self.old.append((head, sealed))
        return head

    def tamper(self, which: int, where: int) -> None:
        """Puts some old row into some place, under a new version."""
        if not self.rows:
            return
        name = sorted(self.rows)[where % len(self.rows)]
        own = [one for one in self.old if one[0].name == name]
        head, sealed = (own if which % 2 else self.old)[which // 2 % len(own)]
        self.clock += 1
        version = EntryVersion(self.clock, 10_000 + self.clock)
        self.rows[name] = (RowHead(name, version, head.device, 1, len(sealed)), sealed)


class Machine:
    def __init__(self, name: str) -> None:
        keyring = Keyring(
            device=name, name=name, place="", own=DeviceKeys(b"", b""), keys=KEYS, others=RECORDS
        )
        self.name = name
        self.seals = RowSeals(keyring)
        self.files: dict[str, tuple[str, float]] = {}
        self.history: set[str] = set()
        self.known: dict[str, KnownEntry] = {}
        self.seen: dict[str, SeenRow] = {}
        self.texts: dict[str, RowPayload] = {}
        self.refused: dict[str, RefusedRow] = {}
        self.removals: set[str] = set()

    def do(self, what: str, more: str, number: int, server: Server) -> None:
        match what:
            case "edit":
                text = f"{number} by {self.name}"
                self.files[more] = (text, float(number))
                self.history.add(text)
            case "remove":
                name = self.seals.name_of(PLACES[more])
                if self.files.pop(more, None) and name in self.known:
                    self.removals.add(name)
            case "act":
                self.act(server)
            case "die":
                self.act(server, dies_after=int(more))

    def read(self, server: Server) -> dict[str, ServerEntry]:
        usable: dict[str, ServerEntry] = {}
        for name, (head, sealed) in server.rows.items():
            seen = self.seen.get(name)
            if seen is None or seen.version != head.version:
                found = self.seals.judged(head, sealed, seen)
                if isinstance(found, str):
                    if name in self.known and self.seals.is_replaced(head, found):
                        usable[name] = ServerEntry(name, head.version, NOT_TAKEN)
                        self.known[name] = agreed(usable[name])
                        if self.seen[name].sha256 == ABSENT:
                            self.removals.add(name)
                    continue
                assert seen is None or found.counter >= seen.counter
                self.seen[name] = seen_row(head, found)
                self.texts[name] = found
            usable[name] = ServerEntry(name, head.version, self.seen[name].sha256)
        return usable

    def act(self, server: Server, *, dies_after: int = 99) -> bool:
        usable = self.read(server)
        paths = {self.seals.name_of(place): path for path, place in PLACES.items()}
        local = {
            name: sha(self.files[path][0])
            for name, path in paths.items()
            if path in self.files and (name in usable or name not in server.rows)
        }
        planned = plan(local, self.known, usable, self.removals)
        self.known |= planned.settled
        for name in planned.forgotten:
            del self.known[name]
        self.removals -= {*planned.outrun}
        for pull in planned.pulls:
            if (dies_after := dies_after - 1) < 0:
                return True
            self.take(paths[pull.entry.name], pull)
            self.known[pull.entry.name] = agreed(pull.entry)
        for push in planned.pushes:
            if (dies_after := dies_after - 1) < 0:
                return True
            path = paths[push.name]
            counter = self.seen[push.name].counter + 1 if push.name in self.seen else 1
            text, at = self.files[path] if push.sha256 else ("", 0.0)
            payload = RowPayload(
                place=PLACES[path],
                counter=counter,
                text=text.encode() if push.sha256 else None,
                at=at,
            )
            sealed = self.seals.sealed(push.name, payload)
            head = server.push(push.name, push.base, self.name, sealed)
            if (dies_after := dies_after - 1) < 0:
                return True
            if head is not None:
                self.seen[push.name] = seen_row(head, payload)
                self.texts[push.name] = payload
                self.known[push.name] = KnownEntry(head.version, push.sha256, push.sha256)
        self.removals -= {
            name for name in self.removals if name in self.seen and not self.seen[name].sha256
        }
        return bool(planned.pulls or planned.pushes)

    def take(self, path: str, pull: PlannedPull) -> None:
        payload = self.texts[pull.entry.name]
        text = (payload.text or b"").decode()
        if pull.is_conflict:
            mine, at = self.files[path]
            self.history.add(text)
            if newer_wins(at, sha(mine), payload.at, pull.entry.sha256):
                return
        self.files.pop(path, None)
        if text:
            self.files[path] = (text, payload.at)
            self.history.add(text)


PATHS = st.sampled_from(sorted(PLACES))
STEPS = st.one_of(
    st.tuples(st.just("edit"), st.integers(0, 2), PATHS),
    st.tuples(st.just("remove"), st.integers(0, 2), PATHS),
    st.tuples(st.just("act"), st.integers(0, 2), st.none()),
    st.tuples(st.just("die"), st.integers(0, 2), st.integers(0, 5)),
    st.tuples(st.just("tamper"), st.integers(0, 50), st.integers(0, 5)),
)


REPLAY: list[tuple[str, int, object]] = [
    *(("edit", 0, "a.md"), ("act", 0, None), ("edit", 0, "a.md"), ("act", 0, None)),
    *(("act", 1, None), ("tamper", 1, 0), ("act", 1, None), ("act", 2, None)),
]


@settings(deadline=None)
@example(REPLAY)
@given(st.lists(STEPS, max_size=40))
def test_sealed_rows_converge_whatever_the_server_puts_back(
    steps: list[tuple[str, int, object]],
) -> None:
    server, machines = Server(), [Machine(name) for name in WHO]
    written: set[str] = set()
    for number, (what, which, more) in enumerate(steps, 1):
        one = machines[which % 3]
        if what == "tamper":
            server.tamper(which, int(str(more)))
        else:
            one.do(what, str(more), number, server)
        if what == "edit":
            written.add(f"{number} by {one.name}")
    for _ in range(12):
        busy = [one.act(server) for one in machines]
        if not any(busy):
            break
    assert not any(busy), "they never agree"
    # No edit is gone: each is still in the history of the machine that made it.
    assert written <= {text for one in machines for text in one.history}
    for one in machines:
        for other in machines:
            for path, (text, _) in one.files.items():
                assert other.files.get(path, (text,))[0] == text
