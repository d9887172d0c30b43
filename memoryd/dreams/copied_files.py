"""The files of a working copy in memory, and what the rules of a dream change in them.

A dream by rules rewrites a few of many memories, and nobody else sees its copy. So its files stay
in memory, and a change has the effect that it has in a store (`memories/store`): what is written is
masked, what it supersedes moves to `.retired/`, and who wrote it follows. They come to disk only
where a folder is needed, and from then on a store changes them.
"""

from collections import ChainMap
from collections.abc import Callable
from functools import cache

import msgspec

from memoryd.base.errors import InvalidInput, NotFound
from memoryd.base.timestamps import iso_time
from memoryd.dreams.rules.plan import topic_of
from memoryd.memories.index_file import pointer_of
from memoryd.memories.records import MemoryChanged, MemoryDirectory, Stored
from memoryd.memories.rules import retirement, topics
from memoryd.memories.rules.origins import KeptOrigin, Origin, origin_after
from memoryd.memories.rules.retirement import is_in_retired
from memoryd.memories.rules.topics import INDEX_FILE, SCAN_LINES, Topic
from memoryd.memories.store import TOPIC_LIMIT_BYTES
from memoryd.system.folder import version_of
from memoryd.text.masking.mask import presentable

Files = dict[str, Stored]


class CopiedFiles:
    """`found` are the files as they are now, `reworded` lines of the index that must change."""

    def __init__(
        self, directory: MemoryDirectory, found: Files, now: Callable[[], float], *, has_index: bool
    ) -> None:
        self.found = found
        self.reworded: dict[str, str] = {}
        self.origins: dict[str, KeptOrigin] = {}
        self.present = cache(presentable)
        """Each text is masked once: what is written is reviewed later."""
        self._directory = directory
        self._now = now
        self._has_index = has_index
        for stored in found.values():
            if stored.origin is not None and stored.origin != "found":
                self.origins.setdefault(stored.version, stored.origin)

    def write(self, file: str, text: str, modified: float) -> list[MemoryChanged]:
        """Rewrites a memory, and retires what it supersedes; NotFound if it is gone."""
        before = self._current(file)
        if len(text.encode("utf-8", "replace")) > TOPIC_LIMIT_BYTES:
            raise InvalidInput(f"a memory may have at most {TOPIC_LIMIT_BYTES} bytes")
        clean = self.present(text)
        new = topic_of(clean)
        moves = self._superseded_by(new, file)
        clean = retirement.with_links(clean, moves) if moves else clean
        stamped = origin_after("dream", self._origin(before.version), new.trust)
        stored = self._put(file, clean, modified, stamped)
        for old, to in moves.items():
            self._move(old, to, superseded_by=file)
        self._reword(file, topic_of(before.text), new)
        changed = MemoryChanged(self._directory, file, stored.version, "dream", "", new.type)
        return [changed, *(self._retired(old, to) for old, to in moves.items())]

    def retire(self, file: str, *, superseded_by: str) -> list[MemoryChanged]:
        """Moves a memory into `.retired/`; NotFound if it is gone."""
        self._current(file)
        to = retirement.retired_name(file, self.found)
        self._move(file, to, superseded_by=superseded_by)
        return [self._retired(file, to)]

    def write_index(self, text: str, modified: float) -> None:
        self._put(INDEX_FILE, text, modified, None)

    def _current(self, file: str) -> Stored:
        found = self.found.get(file)
        if found is None:
            raise NotFound(f"{self._directory.path}/{file} does not exist")
        return found

    def _put(self, file: str, text: str, modified: float, origin: KeptOrigin | None) -> Stored:
        data = text.encode()
        version = version_of(data)
        if origin is not None:
            self.origins.setdefault(version, origin)
        known = self._origin(version)
        stored = Stored(self._directory, file, text, version, modified, data, origin=known)
        self.found[file] = stored
        return stored

    def _origin(self, version: str) -> Origin:
        return self.origins.get(version, "found")

    def _superseded_by(self, topic: Topic, file: str) -> dict[str, str]:
        """The memories that go with this one, each with its name in `.retired/`."""
        if not topic.supersedes:
            return {}
        moves: dict[str, str] = {}
        taken: Files = {}
        for old in retirement.superseded_in_place(topic, self._header, file):
            moves[old] = retirement.retired_name(old, ChainMap(taken, self.found))
            taken[moves[old]] = self.found[old]
        return moves

    def _header(self, file: str) -> Topic | None:
        """What a scan sees of a current memory."""
        stored = self.found.get(file)
        if stored is None or file == INDEX_FILE or is_in_retired(file):
            return None
        head = stored.text.split("\n", SCAN_LINES)[:SCAN_LINES]
        topic = topics.parse("\n".join(head) + "\n")
        if topic.supersedes and self._origin(stored.version) == "found":
            return msgspec.structs.replace(topic, supersedes=())
        return topic

    def _move(self, file: str, to: str, *, superseded_by: str) -> None:
        before = self.found.pop(file)
        day = iso_time(self._now())[:10]
        text = retirement.retired_text(before.text, superseded_by=superseded_by, day=day)
        self._put(to, text, before.modified, self.origins.get(before.version))

    def _retired(self, file: str, to: str) -> MemoryChanged:
        return MemoryChanged(self._directory, file, "", "dream", retired_to=to)

    def _reword(self, file: str, old: Topic, new: Topic) -> None:
        before, after = pointer_of(file, old), pointer_of(file, new)
        if self._has_index and before and after and before != after:
            self.reworded[file] = after
