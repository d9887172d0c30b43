"""Which turns of a session are live: a rewind leaves some of them on a dead branch.

The last LINES_REMEMBERED lines are known; an older rewind or repetition is not recognised.
"""

from hashlib import blake2b

import msgspec

LINES_REMEMBERED = 2048


class Tree(msgspec.Struct, omit_defaults=True):
    """The turn number of each recent line, and the live turns by number."""

    lines: dict[int, int] = {}
    living: dict[int, str] = {}
    number: int = 0

    def knows(self, uuid: str) -> bool:
        return _key(uuid) in self.lines

    def remember(self, uuid: str) -> None:
        self.lines[_key(uuid)] = self.number
        if len(self.lines) > LINES_REMEMBERED:
            del self.lines[next(iter(self.lines))]
            oldest = next(iter(self.lines.values()))
            while self.living and (first := next(iter(self.living))) < oldest:
                del self.living[first]

    def begin_turn(self, turn_id: str) -> None:
        self.number += 1
        self.living[self.number] = turn_id

    def abandon_after(self, parent: str | None) -> list[str]:
        """Removes and returns the live turns that a line with this parent leaves behind."""
        fork = 0 if parent == "" else self.lines.get(_key(parent or ""))
        if parent is None or fork is None:
            return []
        return [self.living.pop(number) for number in list(self.living) if number > fork]


def _key(uuid: str) -> int:
    """Eight bytes of hash stand for a uuid, which may be any text of any length."""
    return int.from_bytes(blake2b(uuid.encode("utf-8", "replace"), digest_size=8).digest())
