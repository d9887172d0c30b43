"""Damage to what the daemon keeps for itself: it can all be made again, so nothing may need it."""

import shutil
import time
from pathlib import Path

from memoryd.memories.kept_files import LEAST_MEMORIES
from tests.faults.ground import Ground, eventually, offsets
from tests.security.tally import Tally
from tests.support.running import Peer

OFFSETS = 100
QUERY = "the real database of the integration tests"
HARMS = ("flipped", "zeroed", "cut", "random")


def harmed(data: bytes, at: int, how: str) -> bytes:
    if how == "cut":
        return data[:at]
    piece = {"flipped": bytes([data[at] ^ 0xFF]), "zeroed": bytes(64), "random": b"\x9b\x01" * 40}
    return data[:at] + piece[how] + data[at + len(piece[how]) :]


def a_damaged_database(folder: Path, share: float) -> Tally:
    """Whatever byte of state.db is wrong, the daemon starts, answers and saves."""
    ground, wrong = Ground(folder), list[str]()
    with ground.serving() as peer:
        for number in range(12):
            ground.save(peer, f"memory {number}")
        peer.call("recall", query=QUERY, cwd=ground.cwd)
        ground.daemon.stop()  # puts what is in the write-ahead log into the file
    kept = folder / "kept"
    shutil.copytree(ground.state, kept)
    data = (kept / "state.db").read_bytes()
    places = offsets(len(data), max(4, round(OFFSETS * share)))
    for number, at in enumerate(places):
        shutil.rmtree(ground.state)
        shutil.copytree(kept, ground.state)
        for companion in ground.state.glob("state.db-*"):
            companion.unlink()
        how = HARMS[number % len(HARMS)]
        (ground.state / "state.db").write_bytes(harmed(data, at, how))
        try:
            with ground.serving() as peer:
                wrong += (f"{how} at {at}: {what}" for what in faults_of(ground, peer, number))
        except (AssertionError, OSError) as error:
            wrong.append(f"{how} at {at}: {error!r}"[:300])
    return Tally("state.db damaged", len(places), wrong)


def faults_of(ground: Ground, peer: Peer, number: int) -> list[str]:
    """What a daemon does not do that it should."""
    found = []
    for method in ("status", "memory/list", "health", "context", "inbox/list", "dream/status"):
        answer = peer.ask(method, cwd=ground.cwd)
        if answer is None or "error" in answer:
            found.append(f"{method}: {answer}"[:200])
    if len(peer.call("recall", query=QUERY, cwd=ground.cwd)["memories"]) == 0:
        found.append("recall finds nothing")
    saved = ground.save(peer, f"new after {number}")
    if "error" in saved:
        found.append(f"save: {saved['error']}"[:200])
    else:
        Path(saved["result"]["path"]).unlink()
    return found


def a_database_that_is_deleted(folder: Path, share: float) -> Tally:
    """While the daemon runs; the next change is in a new one, and what is told says so."""
    ground, wrong = Ground(folder), list[str]()
    times = max(1, round(10 * share))
    with ground.serving() as peer:
        for number in range(times):
            ground.save(peer, f"before {number}")
            for path in ground.state.glob("state.db*"):
                path.unlink()
            if not eventually(lambda: makes_it_again(ground, peer), 30):
                wrong.append("state.db was not made again")
            if "error" in ground.save(peer, f"after {number}"):
                wrong.append("a save failed")
            if "state.db was removed" not in str(peer.call("status")["errors"]):
                wrong.append("status does not say so")
    with ground.serving() as peer:
        names = {one["name"] for one in peer.call("memory/list", cwd=ground.cwd)["memories"]}
        wrong += (f"lost {name}" for name in {f"after {n}" for n in range(times)} - names)
    return Tally("state.db deleted while the daemon runs", times, wrong)


def makes_it_again(ground: Ground, peer: Peer) -> bool:
    peer.call("status")
    return (ground.state / "state.db").exists()


def a_damaged_shelf(folder: Path, share: float) -> Tally:
    """What recall keeps on disk, damaged, cut, deleted or of another version: the same answers."""
    ground, wrong = Ground(folder), list[str]()
    for number in range(LEAST_MEMORIES + 5):
        ground.write(
            f"n{number}", f"Note {number} is about gate {number % 17} and dock {number}.\n"
        )
    shelves = ground.state / "shelves"
    with ground.serving() as peer:
        expected = answers(ground, peer)
        if not eventually(lambda: len(list(shelves.glob("*.shelf"))) > 0):
            return Tally("index on disk damaged", 1, ["no shelf was kept"])
        time.sleep(0.5)
    kept = {path: path.read_bytes() for path in shelves.iterdir() if path.is_file()}
    tried = 0
    for number in range(max(4, round(OFFSETS * share))):
        path = sorted(kept)[number % len(kept)]
        data = kept[path]
        how = (*HARMS, "deleted", "of another version")[number % 6]
        at = offsets(len(data), OFFSETS)[(number * 37) % min(OFFSETS, len(data))]
        for other, whole in kept.items():
            other.write_bytes(whole)
        if how == "deleted":
            path.unlink()
        elif how == "of another version":
            path.write_bytes(data.replace(b"memoryd shelf 1", b"memoryd shelf 0", 1))
        else:
            path.write_bytes(harmed(data, at, how))
        tried += 1
        with ground.serving() as peer:
            if answers(ground, peer) != expected:
                wrong.append(f"{path.name[-12:]} {how} at {at}: other answers")
    return Tally("index on disk damaged or of another version", tried, wrong)


def answers(ground: Ground, peer: Peer) -> list[list[str]]:
    queries = ("gate 3", "dock 77 and gate 9", "notes about gate 16", "dock 201")
    return [ground.recalled(peer, query) for query in queries]


def a_replaced_memory_folder(folder: Path, share: float) -> Tally:
    """Moved away and another put in its place, or deleted and made again: read again at once.

    A sweep would find it after half a minute.
    """
    ground, wrong = Ground(folder), list[str]()
    times = max(2, round(20 * share))
    ground.write("zero")
    with ground.serving() as peer:
        ground.recalled(peer, "zero")
        for number in range(times):
            if number % 2:
                shutil.rmtree(ground.memory)
            else:
                ground.memory.rename(folder / f"moved{number}")
            ground.write(f"heron{number}", f"The heron{number} stands at the pond.\n")
            wanted = [f"project_heron{number}.md"]
            if not eventually(lambda: ground.recalled(peer, f"heron{number}") == wanted, 20):  # noqa: B023 - called here
                wrong.append(f"after change {number}: {ground.recalled(peer, f'heron{number}')}")
            listed = [one["file"] for one in peer.call("memory/list", cwd=ground.cwd)["memories"]]
            if listed != wanted:
                wrong.append(f"listed after change {number}: {listed}")
    return Tally("memory folder replaced while the daemon runs", times, wrong)


CHECKS = (
    a_damaged_database,
    a_database_that_is_deleted,
    a_damaged_shelf,
    a_replaced_memory_folder,
)
