"""Every test lives in a home of its own, on asyncio, without a network or a real model.

- `pytest --soak` runs the crash loops whole (tests/support/thinning.py).
- HYPOTHESIS_PROFILE chooses how many examples a property gets: quick, house or fuzz.
- Tests that start real processes live in tests/scenarios/, which `make quick` leaves out.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import hypothesis
import pytest

from memoryd.memories.records import MemoryDirectory
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from tests.support.postgres import PostgresServer, TeamDatabase, new_database, running_server
from tests.support.purity import is_about_rules
from tests.support.running import environment, make_home
from tests.support.thinning import Thinning
from tests.support.times import NOW

# A shell starts its background jobs deaf to Ctrl-C, and our children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A Unix socket has a path of at most 107 bytes (macOS: 103), and macOS starts with 50 for TMPDIR.
os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/tmp")

# A busy machine is no bug: how long an example takes is for `make bench` to say. The same tree
# gets the same examples, so that what passed once passes again; `make fuzz` looks for new ones.
_HOUSE = hypothesis.settings(
    deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("house", _HOUSE)
hypothesis.settings.register_profile("quick", _HOUSE, max_examples=20)
hypothesis.settings.register_profile(
    "fuzz", _HOUSE, derandomize=False, max_examples=1000, print_blob=True
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))

SCENARIOS = Path(__file__).parent / "scenarios"
SCENARIO_SECONDS = 300
SOAK_SECONDS = 1800
_numbers = count()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the crash loops whole")
    parser.addoption("--count-steps", action="store_true", help="say how many steps they tried")


def pytest_configure(config: pytest.Config) -> None:
    Thinning.is_whole = config.getoption("--soak")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if config.getoption("--count-steps"):
        terminalreporter.write_line(f"steps tried: {Thinning.steps_tried}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks come from where a test lies and what it imports; none is set by hand.

    Scenarios start many processes, on a machine that may be busy: they get more time, unless
    --timeout says how much.
    """
    patience = pytest.mark.timeout(SOAK_SECONDS if config.getoption("--soak") else SCENARIO_SECONDS)
    wants_marks, has_patience = bool(config.getoption("-m")), not config.getoption("--timeout")
    for item in items:
        if SCENARIOS in item.path.parents:
            if has_patience:
                item.add_marker(patience)
        elif wants_marks and is_about_rules(item.path):
            item.add_marker("rules")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Like pytest's own, without the test's name: sockets in it need a short path."""
    while True:
        with suppress(FileExistsError):
            return tmp_path_factory.mktemp(f"t{next(_numbers)}", numbered=False)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A throwaway HOME; every variable that could lead out of it is replaced or removed."""
    root = make_home(tmp_path)
    wanted = environment(root)
    for name in os.environ.keys() - wanted.keys():
        monkeypatch.delenv(name)
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            monkeypatch.setenv(name, value)
    return root


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, and the current folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def database(home: Path) -> Iterator[Database]:
    """An empty database where the daemon of this home keeps its own."""
    opened = Database.open(str(home / ".local/state/memoryd/state.db"))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One Postgres server for all tests of a worker that do not stop it."""
    with running_server() as server:
        yield server


@pytest.fixture
def shared(postgres: PostgresServer) -> TeamDatabase:
    """A new database of that server, for a team or for a person's machines."""
    return new_database(postgres)


@pytest.fixture
def directory(tmp_path: Path) -> MemoryDirectory:
    """A memory directory that is not there yet."""
    return MemoryDirectory(str(tmp_path / "memory"), "project")


@pytest.fixture
def store(database: Database) -> Store:
    return Store(VersionTable(database), now=lambda: NOW)
