"""What callers are shown of the inbox."""

import msgspec

from memoryd.base.config import Reviewer
from memoryd.memories.rules.topics import TopicType


class OldMemory(msgspec.Struct, frozen=True):
    """A memory that a statement may contradict, as it may be shown."""

    file: str
    text: str


class InboxItem(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate as callers see it; `text` is the sentence, `around` the message it was in."""

    id: int
    project: str
    type: TopicType
    text: str
    around: str
    reason: str
    contradicts: str
    against: list[OldMemory]
    retires: bool
    session_id: str
    said: str
    since: str
    until: str


class InboxAnswer(msgspec.Struct, frozen=True):
    items: list[InboxItem]
    reviewer: Reviewer


class Kept(msgspec.Struct, frozen=True):
    """`is_new` is false if a memory already said it, or was retired already."""

    id: int
    path: str
    is_new: bool
    is_retired: bool = False
