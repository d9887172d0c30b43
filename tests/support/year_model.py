"""A scripted model for the year (`dream_year`): it knows the truth, and judges pairs by it.

In its first answer it reads what replaces something, in the second it says so in the header of each
memory, and then it is done. What it may do, and whether that holds, is up to the dreamer.
"""

import re
from collections.abc import Callable, Sequence

import msgspec

from tests.support.dream_year import YearMemory
from tests.support.scripted_model import Call, Message, PrefixCache, SeenRequest, asks, says

_PAIR = re.compile(r"^- (\S+\.md) and (\S+\.md)$", re.MULTILINE)
_HEADER_END = "\n---\n"


class TruthfulModel:
    """The script of a model server; `day` is the night that is dreamt."""

    def __init__(self, memories: Sequence[YearMemory], read: Callable[[str], str]) -> None:
        self._by_file = {one.file: one for one in memories}
        self._read = read
        self._cache = PrefixCache()
        self.day = 0
        self.judged = 0

    def __call__(self, request: SeenRequest) -> Message:
        answer = self._answer(request)
        return msgspec.structs.replace(answer, usage=self._cache.usage_of(request.body))

    def _answer(self, request: SeenRequest) -> Message:
        opening = "\n".join(block["text"] for block in request.body["messages"][0]["content"])
        replaced = self._replaced(_PAIR.findall(opening))
        turns = request.roles.count("assistant")
        if turns == 0 and replaced:
            return asks(*(Call("Read", {"file_path": file}) for file in replaced))
        if turns == 1 and replaced:
            edits = [self._edit(new, old) for new, old in replaced.items()]
            self.judged += len(edits)
            return asks(*edits)
        return says("The pairs are judged.")

    def _replaced(self, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
        """The old memory by the one that takes its place: contradicted, or said again."""
        found: dict[str, str] = {}
        for pair in pairs:
            known = [self._by_file[file] for file in pair if file in self._by_file]
            old, new = sorted(known, key=lambda one: one.day) if len(known) == 2 else (None, None)
            if old is None or new is None or old.subject != new.subject or old.trust != new.trust:
                continue
            is_contradicted = old.kind == new.kind and not old.is_true_on(self.day)
            is_again = new.kind == "again" and old.says == new.says
            if (is_contradicted or is_again) and "\nsupersedes:" not in self._read(new.file):
                found[new.file] = old.file
        return found

    def _edit(self, new: str, old: str) -> Call:
        text = self._read(new)
        last_field = text[: text.index(_HEADER_END)].rpartition("\n")[2]
        return Call(
            "Edit",
            {
                "file_path": new,
                "old_string": f"{last_field}{_HEADER_END}",
                "new_string": f"{last_field}\nsupersedes: {old}{_HEADER_END}",
            },
        )
