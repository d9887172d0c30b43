"""The picker on a terminal: keys in, the screen out, and the daemon asked in the pauses."""

import os
import shlex
import subprocess
from typing import Final

from memoryd_client.connection.memory_header import Memory
from memoryd_client.search.keys import Keys
from memoryd_client.search.picker import Picker
from memoryd_client.search.source import Source
from memoryd_client.search.terminal import Terminal

ESCAPE_SECONDS: Final = 0.05
PAUSE_SECONDS: Final = 0.12
LOOK_SECONDS: Final = 1.0


class Search:
    def __init__(self, terminal: Terminal, source: Source, query: str) -> None:
        self._terminal = terminal
        self._source = source
        self._picker = Picker(query)
        self._keys = Keys()
        self._asked_for = ""
        self._is_following = False

    def run(self) -> Memory | None:
        """What was chosen; None if the person cancelled."""
        while True:
            following = self._source.follow()
            if following is None or not self._is_following:
                self._look()
            self._is_following = following is not None
            self._draw()
            others = [following] if following is not None else []
            try:
                typed, told = self._terminal.wait(others, self._patience(following))
            except EOFError:
                return None
            if told:
                self._source.hear()
                self._look()
            for key in self._keys.feed(typed) if typed else self._keys.flush():
                outcome = self._picker.key(key)
                if outcome == "cancelled":
                    return None
                if outcome == "chosen":
                    return self._picker.selected
                if outcome == "edit":
                    self._edit()
            if not typed and self._picker.query != self._asked_for:
                self._recall()

    def _patience(self, following: int | None) -> float | None:
        """How long nothing may happen before the next step."""
        if self._keys.is_waiting:
            return ESCAPE_SECONDS
        if self._picker.query != self._asked_for:
            return PAUSE_SECONDS
        return None if following is not None else LOOK_SECONDS

    def _look(self) -> None:
        found = self._source.memories()
        if found is not None:
            self._picker.show(found)
            self._asked_for = ""  # what matched may be another one now

    def _recall(self) -> None:
        query = self._asked_for = self._picker.query
        self._picker.recalled(query, self._source.recalled(query))

    def _draw(self) -> None:
        columns, rows = self._terminal.size()
        chosen = self._picker.selected
        preview = self._source.text(chosen.path) if chosen else ""
        self._picker.note = self._source.note
        self._terminal.draw(self._picker.view(columns, rows, preview), self._picker.cursor(columns))

    def _edit(self) -> None:
        """Opens the file itself; the daemon sees the change and keeps the old version."""
        chosen = self._picker.selected
        command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
        if chosen is None:
            return
        problem = ""
        with self._terminal.lent() as file:
            try:
                subprocess.run([*command, chosen.path], stdin=file, stdout=file, check=False)  # noqa: S603 - the person's own editor
            except OSError as error:
                problem = f"cannot start {command[0]}: {error.strerror}; set EDITOR"
        self._look()
        self._source.note = problem or self._source.note
