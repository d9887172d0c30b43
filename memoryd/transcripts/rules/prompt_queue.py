"""Prompts that a person typed while the agent worked, as far as only the client's queue shows them.

Rules
- Some clients record such a prompt nowhere but in the line that puts it into the queue. Others
  repeat it, as a prompt of its own or as an attachment: then the repetition is the record, and the
  queue's copy is dropped.
- A prompt counts for the turn in which it was typed. It waits until the next opening shows whether
  it is repeated; one that the client says it took up in mid-turn need not wait that long.
- Several queued prompts may be joined into one, line by line, or follow one by one.
- Those queued before one that is repeated have been taken up.
- Prompts that went back into the input field are forgotten: they come again if they are sent.
- What the machine queues starts with a tag, a command with a slash; neither is a person's prose.
"""

from hashlib import blake2b
from typing import Final

import msgspec

from memoryd.text.lazy_regex import late
from memoryd.text.masking.credentials import without_credentials
from memoryd.text.masking.mask import mask

QUEUED_MAX: Final = 20
QUEUED_CHARS_MAX: Final = 8000

_MACHINE_TEXT: Final = late(r"\s*(?:<[A-Za-z][\w-]*[\s>]|/[\w:.-]+(?:\s|$)|\[Request interrupted)")


class QueuedPrompt(msgspec.Struct, frozen=True):
    """`key` stands for the whole text, which may have been cut."""

    text: str
    at: str
    key: bytes
    is_absorbed: bool = False


class PromptQueue(msgspec.Struct, omit_defaults=True):
    """What was queued and is not recorded elsewhere so far, oldest first; small, and stored."""

    waiting: list[QueuedPrompt] = []

    def add(self, text: str, at: str) -> None:
        clean = mask(text)
        if not clean.strip() or len(clean) > QUEUED_CHARS_MAX * 8:
            return
        key = _key(clean)
        self.waiting = [one for one in self.waiting if one.key != key][-QUEUED_MAX + 1 :]
        told = without_credentials(clean)[:QUEUED_CHARS_MAX]
        self.waiting.append(QueuedPrompt(told, at, key))

    def absorb(self, text: str) -> None:
        """The client took this one up in mid-turn."""
        key = _key(mask(text))
        self.waiting = [
            msgspec.structs.replace(one, is_absorbed=True) if one.key == key else one
            for one in self.waiting
        ]

    def clear(self) -> None:
        self.waiting = []

    def put_back(self, text: str) -> None:
        """These went back into the input field; all of them if it is not said which."""
        if text:
            self._drop(text)
        else:
            self.clear()

    def drop_repeated(self, prompt: str) -> bool:
        """Drops what a prompt repeats; returns whether there was anything.

        What was queued before it has been taken up: the first one in is the first one out.
        """
        first = self._drop(prompt)
        if first is None:
            return False
        earlier = [msgspec.structs.replace(one, is_absorbed=True) for one in self.waiting[:first]]
        self.waiting = [*earlier, *self.waiting[first:]]
        return True

    def _drop(self, text: str) -> int | None:
        """Drops what is in a text; returns where the first one was."""
        if not self.waiting:
            return None
        clean = mask(text)
        key, lines = _key(clean), f"\n{clean.strip()}\n"
        found = [
            number
            for number, one in enumerate(self.waiting)
            if one.key == key or f"\n{one.text.strip()}\n" in lines
        ]
        self.waiting = [one for number, one in enumerate(self.waiting) if number not in found]
        return found[0] if found else None

    def take(self, *, absorbed_only: bool) -> list[QueuedPrompt]:
        taken = [one for one in self.waiting if one.is_absorbed or not absorbed_only]
        self.waiting = [one for one in self.waiting if one not in taken]
        return taken


def is_machine_text(text: str) -> bool:
    return bool(_MACHINE_TEXT.match(text))


def _key(text: str) -> bytes:
    return blake2b(" ".join(text.split()).encode("utf-8", "replace"), digest_size=12).digest()
