"""One person's machines, and a colleague's, against a real Postgres: real daemons, real homes."""

import json
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.api.results import ANSWERS
from tests.support.asking import Asking
from tests.support.machines import OwnMachine, eventually
from tests.support.postgres import OWNER, TeamDatabase
from tests.support.running import COMMAND
from tests.support.thinning import thinned

KILLS = range(50)


class People:
    """Machines by name, each with a daemon that runs."""

    def __init__(self, folder: Path, database: TeamDatabase) -> None:
        self.folder = folder
        self.database = database
        self.all: list[OwnMachine] = []

    def machine(self, name: str, role: str = "alice") -> OwnMachine:
        made = OwnMachine(self.folder / name, role, self.database)
        self.all.append(made)
        return made.start()


@pytest.fixture
def people(shared: TeamDatabase, tmp_path: Path) -> Iterator[People]:
    made = People(tmp_path, shared)
    yield made
    for one in made.all:
        one.daemon.end()


def saying(body: str) -> str:
    return f"---\nname: Fact\ndescription: a fact\ntype: project\n---\n\n{body}\n"


def test_a_second_machine_gets_everything_and_the_database_reads_nothing(people: People) -> None:
    granite, cobalt = people.machine("granite"), people.machine("cobalt")
    shared = people.database
    granite.call("device/init", dsn=shared.dsn(OWNER), members=["alice", "bob"])
    first = granite.keep("Deploy on Tuesdays", "The zanzibar cluster is deployed on Tuesdays.")
    mine = granite.keep("I prefer tabs", "Alice likes quokka tabs.", "user", "user")
    said = granite.device("add", "--name", "granite")
    assert said.returncode == 0, said.stderr
    (line,) = [line for line in said.stdout.splitlines() if "memoryd device add" in line]
    code = line.split()[3]
    done = cobalt.device("add", "-", "--name", "cobalt", stdin=f"{code}\n")
    assert done.returncode == 0, done.stderr
    # By this sync, or by one that the new machine began itself a moment before.
    eventually(lambda: {first, mine} <= cobalt.own_files().keys(), "both arrive")
    assert "private = true" in (cobalt.daemon.home / ".config/memoryd/config.toml").read_text()
    assert cobalt.own_files() == granite.own_files()
    (found,) = cobalt.call("recall", query="when is the zanzibar cluster deployed?")["memories"]
    assert found["trust"] == "user-said"
    second = cobalt.keep("Freeze in December", "The narwhal branch is frozen in December.")
    eventually(lambda: second in granite.own_files(), "the other way, by itself")
    cobalt.call("memory/forget", path=mine)
    eventually(lambda: mine not in granite.own_files(), "what is forgotten")
    again = granite.device("add", "--json")
    assert code not in json.loads(again.stdout)["code"]
    for word in (
        *("zanzibar", "Tuesdays", "quokka", "narwhal", "Deploy", "Freeze", "prefer"),
        *(first, mine, second, first.removesuffix(".md"), "acme", "shop", "example.com"),
        *("granite", "cobalt", str(granite.root), code, "project_", "user_"),
    ):
        dump = shared.everything().lower()
        assert word.lower() not in dump, word
        assert word.encode().hex() not in dump, word
        assert word.lower().encode().hex() not in dump, word
    # Nor does a machine tell: no key, code or name of a file in its log; keys for its owner alone.
    for one in (granite, cobalt):
        log = one.daemon.log.read_text()
        keys = json.loads((one.daemon.home / ".local/state/memoryd/devices/keys.json").read_text())
        for secret in (code, keys["own"]["private"], keys["keys"]["names"], keys["keys"]["epochs"]):
            assert str(secret) not in log


def test_what_people_type_and_read(people: People) -> None:
    granite, cobalt = people.machine("granite"), people.machine("cobalt")
    nothing = granite.device()
    assert "has not been added yet" in nothing.stdout
    refused = granite.device("add")
    assert refused.returncode == 1
    assert "memoryd device init --member alice" in refused.stderr
    wrong = granite.device("add", "NOT-A-CODE")
    assert wrong.returncode == 1
    assert "not a code" in wrong.stderr
    granite.call("device/init", dsn=people.database.dsn(OWNER), members=["alice"])
    code = granite.add()["code"]
    cobalt.add(code)
    used = cobalt.device("add", code)
    assert used.returncode == 1
    assert "was used, has expired" in used.stderr
    shown = cobalt.device("list")
    assert "granite" in shown.stdout
    assert "this one" in shown.stdout
    answer = granite.ask("device/revoke", name="cobalt", by="agent")
    assert "only a person" in answer["error"]["message"]
    unknown = granite.device("revoke", "basalt")
    assert "there are: granite, cobalt" in unknown.stderr
    own = granite.device("revoke", "granite")
    assert "cannot revoke itself" in own.stderr
    gone = granite.device("revoke", "cobalt")
    assert gone.returncode == 0, gone.stderr
    assert "change the password" in gone.stdout
    eventually(lambda: cobalt.list()["reason"] == "revoked", "it learns of it")
    assert "was revoked" in cobalt.device("list").stdout
    granite.keep("After", "Not for cobalt.")
    granite.sync()
    assert cobalt.device("sync").returncode == 1
    assert len(cobalt.own_files()) == 0


def test_kills_of_any_machine_in_mid_sync_lose_nothing_and_mix_nobody_up(people: People) -> None:
    alices = [people.machine(name) for name in ("a1", "a2", "a3")]
    bobs = [people.machine(name, "bob") for name in ("b1", "b2")]
    alices[0].call("device/init", dsn=people.database.dsn(OWNER), members=["alice", "bob"])
    for first, *others in (alices, bobs):
        first.keep("Seed", f"The folder of {first.role} is there.")
        for one in others:
            one.add(first.add()["code"])
    rng, said = random.Random(22), set[str]()
    for number in thinned(KILLS, 16):
        for one in people.all:
            text = f"{one.name} says {number} for {one.role}."
            said.add(text)
            one.write_own(f"project_{one.name}_{number}.md", saying(text))
        busy = [
            subprocess.Popen(
                [*COMMAND, "device", "sync", "--project", str(one.root)],
                env=one.daemon.env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for one in people.all
        ]
        time.sleep(rng.uniform(0.05, 0.6))  # where it strikes is the point
        victim = rng.choice(people.all)
        victim.daemon.stop(signal.SIGKILL)
        victim.start()
        for process in busy:
            process.wait(60)
    for group in (alices, bobs):
        for one in (*group, *group):
            one.sync()
        eventually(lambda: len({str(one.own_files()) for one in group}) == 1, "the same bytes")  # noqa: B023 - at once
        everything = b"".join(group[0].own_files().values()).decode()
        own = {text for text in said if text.endswith(f"{group[0].role}.")}
        assert {text for text in own if text not in everything} == set()
        assert not any(text in everything for text in said - own)
        assert [one.list()["conflicts"] for one in group] == [[] for _ in group]
        assert [one.list()["refused"] for one in group] == [[] for _ in group]


def test_a_machine_that_was_away_for_a_month_catches_up(people: People) -> None:
    desk, lap = people.machine("desk"), people.machine("lap")
    desk.call("device/init", dsn=people.database.dsn(OWNER), members=["alice"])
    kept = desk.keep("Kept", "Version 0.")
    gone = desk.keep("Gone", "It will be forgotten.")
    both = desk.keep("Both", "The common ground.")
    lap.add(desk.add()["code"])
    third = people.machine("third")
    third.add(desk.add()["code"])
    lap.daemon.stop()
    lap.write_own(both, saying("Changed on the way."))
    for day in range(30):
        desk.write_own(kept, saying(f"Version {day + 1}."))
        desk.write_own(f"project_day_{day}.md", saying(f"This was day {day}."))
        desk.sync()
    desk.call("memory/forget", path=gone)
    desk.write_own(both, saying("Changed at home."))
    desk.call("device/revoke", name="third")
    # The server was moved to another machine meanwhile: everything it knows is from a dump.
    people.database.sql("update memoryd.private_rows set stamp = stamp - 2592000000000")
    desk.sync()
    lap.start()
    lap.sync()
    desk.sync()
    assert lap.own_files() == desk.own_files()
    assert gone not in lap.own_files()
    assert b"Version 30." in lap.own_files()[kept]
    assert b"Changed at home." in lap.own_files()[both]
    (lost,) = lap.list()["conflicts"]
    assert lost["file"] == both
    text = lap.call("memory/history", path=both, version=lost["version"])
    assert "Changed on the way." in json.dumps(text)


def test_every_answer_about_machines_is_as_the_document_says(people: People) -> None:
    granite, cobalt = people.machine("granite"), people.machine("cobalt")
    with granite.peer() as peer, cobalt.peer() as other:
        ask, joins = Asking(peer, str(granite.root)), Asking(other, str(cobalt.root))
        ask("device/init", dsn=people.database.dsn(OWNER), members=["alice"])
        ask("device/project", name="shop")
        code = ask("device/add", name="granite")["code"]
        joins("device/add", code=code, name="cobalt")
        ask("device/sync")
        ask("device/list")
        ask("device/revoke", name="cobalt")
    assert ask.asked == {method for method in ANSWERS if method.startswith("device/")}
