"""A team when things go wrong: kills, partitions, strangers, missing parts, wrong clocks."""

import json
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgres import (
    ACCESS,
    SETTINGS,
    PostgresServer,
    TeamDatabase,
    new_database,
    running_server,
)
from tests.support.running import COMMAND
from tests.support.team import PROJECT, Machine, eventually, set_up
from tests.support.thinning import Thinning, thinned

KILLS = range(50)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """Some tests kill it, and start it again."""
    with running_server() as made:
        yield made


@pytest.fixture
def shared(server: PostgresServer) -> TeamDatabase:
    return new_database(server)


class Machines:
    def __init__(self, folder: Path, database: TeamDatabase) -> None:
        self.folder = folder
        self.database = database
        self.all: list[Machine] = []

    def add(self, role: str, **team: object) -> Machine:
        made = Machine(self.folder / role, role, self.database, **team)
        self.all.append(made)
        return made.start()


@pytest.fixture
def machines(tmp_path: Path, shared: TeamDatabase) -> Iterator[Machines]:
    made = Machines(tmp_path, shared)
    yield made
    for one in made.all:
        one.daemon.end()


def saying(body: str) -> str:
    return f"---\nname: Fact\ndescription: a fact\ntype: project\n---\n\n{body}\n"


def test_kills_of_server_and_daemons_in_mid_sync_lose_nothing(
    machines: Machines, server: PostgresServer
) -> None:
    alice, bob, carol = (machines.add(name) for name in ("alice", "bob", "carol"))
    set_up(machines.database, alice, "alice", "bob", "carol")
    for one in machines.all:
        one.call("team/join")
        one.save(f"Of {one.role}", f"{one.role} was here.\n")
    rng, said = random.Random(21), set[str]()
    for number in thinned(KILLS, 16):
        for one in machines.all:
            text = f"{one.role} says {number}."
            said.add(text)
            one.write(f"project_{one.role}_{number}.md", saying(text))
        busy = [
            subprocess.Popen(
                [*COMMAND, "team", "sync", "--project", str(one.root)],
                env=one.daemon.env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for one in machines.all
        ]
        time.sleep(rng.uniform(0.05, 0.6))  # where it strikes is the point
        victim = rng.choice([*machines.all, None])
        if victim is None:
            server.kill()
            server.start()
        else:
            victim.daemon.stop(signal.SIGKILL)
            victim.start()
        for process in busy:
            process.wait(60)
    eventually(lambda: alice.files() == bob.files() == carol.files(), "all have the same bytes")
    everything = b"".join(alice.files().values()).decode()
    assert {text for text in said if text not in everything} == set()
    assert [one.call("team/status")["conflicts"] for one in machines.all] == [[], [], []]


def test_an_hour_offline_and_a_thousand_changes_later_everything_converges(
    machines: Machines, server: PostgresServer
) -> None:
    alice, bob = machines.add("alice"), machines.add("bob")
    set_up(machines.database, alice, "alice", "bob")
    for one in machines.all:
        one.call("team/join")
        one.save(f"Of {one.role}", f"{one.role} was here.\n")
    server.kill()
    alice.write("project_both.md", saying("Alice's version."))
    bob.write("project_both.md", saying("Bob's version."))
    facts = 500 if Thinning.is_whole else 100
    for number in range(facts):
        alice.write(f"project_a{number}.md", saying(f"Alice's fact {number}."))
        bob.write(f"project_b{number}.md", saying(f"Bob's fact {number}."))
    answer = alice.ask("team/sync")
    assert answer["error"]["data"]["hint"]
    eventually(lambda: alice.call("team/status")["reason"] == "unreachable", "it is told")
    status = alice.call("team/status")
    assert "tried again by itself" in status["hint"]
    eventually(lambda: len(alice.call("team/status")["waiting"]) >= facts, "all wait")
    assert alice.call("recall", query="Alice's fact 77")["memories"], "nobody waits for it"
    server.start()
    eventually(lambda: len(alice.files()) == 2 * facts + 3, "everything is there")
    eventually(lambda: alice.files() == bob.files(), "all have the same bytes")
    # One of the two versions won; the other one is in a history, and named.
    lost = [*alice.call("team/status")["conflicts"], *bob.call("team/status")["conflicts"]]
    assert [one["file"] for one in lost] == ["project_both.md"]


def test_nobody_waits_for_a_server_that_hangs(machines: Machines, server: PostgresServer) -> None:
    alice, bob = machines.add("alice"), machines.add("bob")
    set_up(machines.database, alice, "alice", "bob")
    for one in machines.all:
        one.call("team/join")
    server.signal(signal.SIGSTOP)
    try:
        file = alice.save("Patience", "Nobody has to be patient.\n")
        assert alice.call("team/status")["waiting"] == [file]
        assert alice.call("recall", query="who has to be patient?")["memories"]
        alice.daemon.stop()  # in time, although a statement hangs
        alice.start()
    finally:
        server.signal(signal.SIGCONT)
    eventually(lambda: file in bob.files(), "it goes on where it was")


def test_a_stranger_waits_in_the_inbox_until_a_person_decides(machines: Machines) -> None:
    alice, bob = machines.add("alice"), machines.add("bob", accept="review")
    set_up(machines.database, alice, "alice", "bob")
    for one in machines.all:
        one.call("team/join")
    first = alice.save("Deploys", "Deploys run from the release branch.\n")
    second = alice.save("Owner", "Dana owns the billing code.\n")
    eventually(lambda: len(bob.inbox()) == 2, "they wait")
    assert bob.files() == {}
    assert bob.call("recall", query="where do deploys run from?")["memories"] == []
    assert {one["reason"] for one in bob.inbox()} == {"team"}
    assert {one["name"] for one in bob.call("team/status")["held"]} == {first, second}
    numbers = {one["text"]: one["id"] for one in bob.inbox()}
    refused = bob.ask("inbox/accept", ids=[numbers["Dana owns the billing code."]], by="agent")
    assert refused["error"]["data"]["kind"] == "refused"
    # One is rejected, and stays away; to accept the other one takes over what she shares.
    bob.call("inbox/reject", ids=[numbers["Dana owns the billing code."]])
    bob.call("team/sync")
    bob.call("inbox/accept", ids=[numbers["Deploys run from the release branch."]])
    eventually(lambda: first in bob.files(), "it is taken over")
    third = alice.save("Region", "The region is eu-central.\n")
    eventually(lambda: third in bob.files(), "she is known by now")
    assert second not in bob.files()
    assert bob.inbox() == []
    # The rejected one comes when she says something else.
    alice.write(second, saying("Erin owns the billing code."))
    eventually(lambda: second in bob.files(), "the new version arrives")


def test_without_the_driver_the_daemon_works_and_says_what_to_install(
    machines: Machines, tmp_path: Path
) -> None:
    alice = machines.add("alice")
    alice.daemon.stop()
    blocker = tmp_path / "blocker"
    blocker.mkdir()
    (blocker / "asyncpg.py").write_text("raise ImportError('not installed')\n")
    alice.daemon.env["PYTHONPATH"] = f"{blocker}:{alice.daemon.env['PYTHONPATH']}"
    alice.start()
    answer = alice.ask("team/join")
    assert "memoryd[team]" in answer["error"]["data"]["hint"]
    assert alice.save("Still", "Memories are saved all the same.\n", scope="project")
    assert alice.call("team/status")["is_joined"] is False


def test_a_wrong_clock_changes_nothing(machines: Machines) -> None:
    alice = machines.add("alice")
    set_up(machines.database, alice, "alice", "bob")
    bob = Machine(machines.folder / "bob", "bob", machines.database)
    machines.all.append(bob)
    python, flag, code, *words = bob.daemon.serve_command
    ahead = "import time; real = time.time; time.time = lambda: real() + 864_000; "
    bob.daemon.serve_command = (python, flag, ahead + code, *words)
    bob.start()
    for one in machines.all:
        one.call("team/join")
    file = alice.save("Order", "The first one.\n")
    eventually(lambda: file in bob.files())
    bob.write(file, saying("The second one, from the future."))
    eventually(lambda: b"second" in alice.files()[file])
    alice.write(file, saying("The third one."))
    eventually(lambda: b"third" in bob.files()[file], "the last one said is the last one")
    (warning,) = bob.call("team/status")["warnings"]
    assert "10 days ahead" in warning


def test_a_first_address_that_fails_is_not_used_again(machines: Machines) -> None:
    alice = Machine(machines.folder / "alice", "alice", machines.database)
    machines.all.append(alice)
    (alice.daemon.home / ".config/memoryd/config.toml").unlink()
    alice.start()
    nothing = alice.ask("team/join")["error"]
    assert nothing["message"] == "no database is named"
    assert "memoryd team join DSN" in nothing["data"]["hint"]
    failed = alice.ask("team/join", dsn=machines.database.dsn("alice"))
    assert "has no tables" in failed["error"]["message"]
    assert alice.call("team/status")["server"] == ""
    assert alice.ask("team/join")["error"]["message"] == "no database is named"


def test_passwords_come_from_files_that_nobody_else_reads(machines: Machines) -> None:
    database = machines.database
    locked = machines.add("locked")
    set_up(database, locked, "locked")
    answer = locked.ask("team/join")
    assert "refused the password" in answer["error"]["message"]
    passwords = locked.daemon.home / ".pgpass"
    passwords.write_text(f"*:*:{database.name}:locked:right\n")
    passwords.chmod(0o644)
    assert "chmod 600" in locked.ask("team/join")["error"]["data"]["hint"]
    passwords.chmod(0o600)
    assert locked.call("team/join")["problem"] == ""
    assert "right" not in locked.daemon.log.read_text()
    assert "right" not in json.dumps(locked.call("team/status"))
    command = Path(f"/proc/{locked.daemon.process.pid}/cmdline") if locked.daemon.process else None
    assert command is None or b"right" not in command.read_bytes()


def test_a_project_that_somebody_was_taken_out_of_says_so_and_others_go_on(
    machines: Machines,
) -> None:
    alice, bob = machines.add("alice"), machines.add("bob")
    set_up(machines.database, alice, "alice", "bob")
    for one in machines.all:
        one.call("team/join")
    alice.call("team/init", dsn=machines.database.dsn("boss"), members=["alice"], leavers=["bob"])
    bob.save("Late", "Bob says this too late.\n")
    eventually(lambda: bob.call("team/status")["reason"] == "privileges", "it is told")
    assert "--member bob" in bob.call("team/status")["hint"]
    assert bob.files(), "nothing is lost"
    assert "too late" not in machines.database.dump()
    assert PROJECT in bob.call("team/status")["project"]
    # To bring the tables up to date makes nobody a member.
    again = alice.call("team/init", dsn=machines.database.dsn("boss"))
    assert again["members"] == []
    first = alice.call("team/init", dsn=machines.database.dsn("boss"), name="acme/new")
    assert first["members"] == ["boss"]


# --- TLS ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An authority, and a certificate of its own for `localhost`."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl: apt-get install openssl")
    folder = tmp_path_factory.mktemp("tls")
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    for words in (
        f"req -x509 {' '.join(new)} -keyout ca.key -out ca.crt -days 3650 -subj /CN=test-ca",
        (
            f"req {' '.join(new)} -keyout server.key -out server.csr -subj /CN=localhost"
            " -addext subjectAltName=DNS:localhost"
        ),
        (
            "x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt"
            " -days 3650 -copy_extensions copy"
        ),
    ):
        subprocess.run(
            ["openssl", *words.split()], cwd=folder, check=True, capture_output=True, timeout=60
        )
    return folder


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_only_a_server_that_proves_who_it_is_gets_anything(
    certificates: Path, tmp_path: Path
) -> None:
    port = free_port()
    settings = SETTINGS.replace("listen_addresses = ''", "listen_addresses = '127.0.0.1'")
    access = f"{ACCESS}\nhost all all 127.0.0.1/32 trust\n"
    keys = {name: (certificates / name).read_text() for name in ("server.key", "server.crt")}
    extra = f"ssl = on\nport = {port}\n"
    with running_server(settings + extra, access, keys, port=port) as server:
        database = new_database(server)
        alice = Machine(tmp_path / "alice", "alice", database)
        try:
            alice.start()
            set_up(database, alice, "alice")
            place = f"{port}/{database.name}"
            trusted = f"sslrootcert={certificates / 'ca.crt'}"

            def joined(host: str, options: str) -> dict[str, object]:
                """The answer once the server has had its say: a busy one is waited for."""
                dsn = f"postgresql://alice@{host}:{place}?{options}"
                for _ in range(10):
                    answer = dict(alice.ask("team/join", dsn=dsn))
                    if not answer.get("result", {}).get("problem"):
                        break
                return answer

            for mode in ("disable", "allow", "prefer", "require", "verify-ca"):
                refused = joined("localhost", f"{trusted}&sslmode={mode}")
                assert "verify-full" in str(refused["error"]), mode
            assert "does not prove" in str(joined("localhost", "")["error"])
            assert "does not prove" in str(joined("127.0.0.1", trusted)["error"])
            server.write("postgresql.conf", f"{settings}port = {port}\n")
            server.kill()
            server.start()
            assert "does not prove" in str(joined("localhost", trusted)["error"])
            server.write("postgresql.conf", settings + extra)
            server.kill()
            server.start()
            assert "result" in joined("localhost", trusted)
        finally:
            alice.daemon.end()
