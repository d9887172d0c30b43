"""Who wrote a memory, as the journal knows it; the header only shows it.

Rules
- What the daemon writes is recorded by the hash of its bytes: the person said it, an agent
  concluded it, it came with an archive and the person took it, or from the team's server, where a
  teammate wrote it. Bytes without a record were found: anyone may have put them there.
- A person can confirm what was found. From then on its header counts as written.
- A found memory that extraction or a dream rewrites stays found, and a teammate's stays theirs:
  their sentences are still in it. One that is retired, brought back or linked keeps the origin it
  had.
"""

from typing import Final, Literal

import msgspec

from memoryd.memories.rules.topics import FOUND, TEAM, TRUSTS, Topic

Origin = Literal["user-said", "agent-concluded", "imported", "confirmed", "team", "found"]
KeptOrigin = Literal["user-said", "agent-concluded", "imported", "confirmed", "team"]

_KEEPS_FOUND: Final = frozenset({"extraction", "dream"})
_KEEPS_ORIGIN: Final = frozenset({"restore", "outside", "refused", "adopted"})


def with_origin(topic: Topic, origin: Origin, author: str = "") -> Topic:
    """The topic with the trust that its origin gives it, whatever its header says.

    `author` is the teammate who wrote it, if one did.
    """
    trust: str = origin
    if origin == "confirmed":
        trust = topic.trust if topic.trust in TRUSTS else ""
    elif origin == "found":
        trust = FOUND
    elif origin == "team":
        return msgspec.structs.replace(topic, trust=TEAM, author=author)
    return topic if topic.trust == trust else msgspec.structs.replace(topic, trust=trust)


def origin_after(cause: str, before: Origin | None, stamped: str) -> KeptOrigin | None:
    """What to record of a text that we write; None if its bytes say nothing new about it.

    `before` is the origin of what it replaces, None for a new file; `stamped` is the trust that our
    own code put into the header.
    """
    if cause in _KEEPS_ORIGIN or (before in {"found", "team"} and cause in _KEEPS_FOUND):
        return None if before in {None, "found"} else _kept(before)
    if stamped == "user-said":
        return "user-said"
    if stamped == "agent-concluded":
        return "agent-concluded"
    if stamped == "imported":
        return "imported"
    if cause == "user":
        return "user-said"
    return "confirmed" if before == "confirmed" and cause == "dream" else "agent-concluded"


def _kept(before: Origin | None) -> KeptOrigin | None:
    return None if before is None or before == "found" else before
