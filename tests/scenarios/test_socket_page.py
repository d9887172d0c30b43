"""The answers of a real daemon have the fields that docs/socket.md lists."""

import json
import re
from pathlib import Path
from typing import Any

from tests.support.running import Daemon
from tests.test_docs import names_in, rows, text_of

ASKED: dict[str, dict[str, Any]] = {
    "ping": {},
    "status": {},
    "health": {},
    "recall": {"query": "anything"},
    "context": {},
    "memory/save": {"name": "Tabs", "description": "d", "type": "user", "body": "Use tabs here."},
    "memory/list": {},
    "memory/get": {"path": "user_tabs.md"},
    "memory/why": {"path": "user_tabs.md"},
    "session/list": {},
    "checkpoint/list": {},
    "cost": {},
    "dream/log": {},
    "queue/retry": {},
    "switch": {"enabled": True},
    "hook": {"hook_event_name": "Stop"},
    "shutdown": {},
}


def test_the_example_of_a_request_gets_the_answer_on_the_page(shared_daemon: Daemon) -> None:
    page = text_of("docs/socket.md")
    request, told = re.findall(r"^\$ echo '(.+)' \| nc .+\n(.+)$", page, re.MULTILINE)[0]
    with shared_daemon.peer() as peer:
        peer.send(request.encode())
        answer = peer.receive()
    expected = json.loads(told)
    assert (answer["id"], answer.keys()) == (expected["id"], expected.keys())
    assert list(answer["result"]) == list(expected["result"])


def test_answers_have_the_documented_fields(home: Path, tmp_path: Path) -> None:
    table = text_of("docs/socket.md").partition("## Methods")[2].partition("\n## ")[0]
    told = {names_in(row[0])[0]: row[2] for row in rows(table, 3)}
    daemon = Daemon(home).start()
    try:
        with daemon.peer() as peer:
            for method, params in ASKED.items():
                answer = peer.call(method, cwd=str(tmp_path), **params)
                named = names_in(re.sub(r"\(.*?\)", "", told[method].partition(";")[0]))
                assert sorted(answer) == sorted(name for name in named if ":" not in name), method
    finally:
        daemon.end()
