"""A running daemon with two memories, for a client in a real editor or shell.

What a test needs and this machine does not have is named by `needs` (tests/support/programs.py):
the test is then skipped, with the reason.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.running import Daemon

HERE = Path(__file__).parent
EDITOR_SECONDS = 300
MEMORIES = {
    "Deploys": "We deploy on Tuesdays from the release branch.",
    "Tabs": "Makefiles are indented with tabs, never with spaces.",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Editors are slow to start on a busy machine."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(EDITOR_SECONDS))


@pytest.fixture
def daemon(home: Path, project: Path) -> Iterator[Daemon]:
    """Started, with what `MEMORIES` says saved for the project."""
    made = Daemon(home).start()
    with made.peer() as peer:
        for name, text in MEMORIES.items():
            about = {"name": name, "description": text, "type": "project", "body": text}
            peer.call("memory/save", cwd=str(project), **about)
    yield made
    made.end()
