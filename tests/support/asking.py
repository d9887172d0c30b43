"""Asks a real daemon, and compares its answers and events with the OpenRPC document."""

import json
from typing import Any

import jsonschema
import msgspec

from memoryd.api.results import ANSWERS
from memoryd_client.cli.main import OPENRPC
from tests.support.running import Peer


class Asking:
    """Asks, and compares each answer with the document and with the type of the table."""

    def __init__(self, peer: Peer, cwd: str) -> None:
        self.peer = peer
        self.cwd = cwd
        self.asked: set[str] = set()
        self.kinds: set[str] = set()
        self.document = json.loads(OPENRPC.read_text("utf-8"))
        self.events = self.document["x-events"]["kinds"]
        self.results = {one["name"]: one["result"] for one in self.document["methods"]}

    def __call__(self, method: str, **params: Any) -> Any:
        answer = self.peer.call(method, cwd=self.cwd, **params)
        self.asked.add(method)
        self.check(answer, self.results[method]["schema"])
        declared = ANSWERS[method]
        kind = declared.otherwise if params.get("dry_run") and declared.otherwise else None
        known = msgspec.convert(answer, kind or declared.result)
        assert json.loads(msgspec.json.encode(known)) == answer, (
            "a field that the type does not have"
        )
        return answer

    def heard(self, event: dict[str, Any]) -> str:
        kind = str(event["kind"])
        self.kinds.add(kind)
        self.check(event, self.events[kind])
        return kind

    def check(self, value: Any, schema: dict[str, Any]) -> None:
        jsonschema.Draft202012Validator(
            {"components": self.document["components"], **schema}
        ).validate(value)
