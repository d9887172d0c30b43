"""What the picker asks the daemon: the list, what matches, one text, and whether something changed.

A daemon that goes away is not a failure here: the last list stays, the note says what to type, and
the next look may find it again.
"""

import time
from typing import Final

from memoryd_client.connection.answers import Json, objects_at, text_at
from memoryd_client.connection.call import Connection, call
from memoryd_client.connection.failures import Failure
from memoryd_client.connection.memory_header import Memory

CHANGES: Final = ("memory/saved", "memory/forgotten", "memory/retired")
WAIT_SECONDS: Final = 2.0
RECALL_MS: Final = 500


class Source:
    def __init__(self, whose: Json) -> None:
        self._whose = whose
        self._changes: Connection | None = None
        self._texts: dict[str, str] = {}
        self.note = ""

    def memories(self) -> list[Memory] | None:
        """All of them, newest first; None if nobody answers."""
        answer = self._asked("memory/list", {})
        self._texts.clear()
        if answer is None:
            return None
        return [Memory.read(one) for one in objects_at(answer, "memories")]

    def recalled(self, query: str) -> list[str]:
        """The paths of what matters to these words, best first."""
        params = {"query": query, "limit": 20, "deadline_ms": RECALL_MS}
        answer = self._asked("recall", params) if query.strip() else None
        return [text_at(one, "path") for one in objects_at(answer or {}, "memories")]

    def text(self, path: str) -> str:
        if path not in self._texts:
            answer = self._asked("memory/get", {"path": path})
            if answer is None:
                return ""
            self._texts[path] = text_at(answer, "content")
        return self._texts[path]

    def follow(self) -> int | None:
        """A file that can be read when a memory changed; None if nobody tells."""
        if self._changes is None:
            try:
                connection = Connection(time.monotonic() + WAIT_SECONDS).__enter__()
            except Failure as failure:
                self.note = str(failure)
                return None
            try:
                wanted = {"kinds": list(CHANGES), "cwd": self._whose["cwd"]}
                connection.ask("events/subscribe", wanted)
            except Failure:  # there are too many who follow: the list is looked at now and then
                connection.__exit__(None, None, None)
                return None
            self._changes = connection
        return self._changes.fileno()

    def hear(self) -> None:
        """Takes what was told; what exactly does not matter, the list is asked for again."""
        if self._changes is not None and not self._changes.drain():
            self.close()

    def close(self) -> None:
        if self._changes is not None:
            self._changes.__exit__(None, None, None)
            self._changes = None

    def _asked(self, method: str, params: Json) -> Json | None:
        try:
            answer = call(method, {**self._whose, **params}, WAIT_SECONDS)
        except Failure as failure:
            self.note = str(failure)
            return None
        self.note = ""
        return answer
