"""Follows the server's heads: those kept from the last time, as far as they still hold.

A fingerprint of the server's tells whether they do; if not, the newer ones are asked for, and all
of them if that does not fit either.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

from memoryd.team.rules.plan import EntryHead, Fingerprint, fingerprint

# Transactions may commit in another order than their stamps; none takes this long.
OVERLAP_MICROSECONDS: Final = 120 * 1_000_000

Head = TypeVar("Head", bound=EntryHead)


async def followed(
    kept: Mapping[str, Head],
    there: Fingerprint,
    heads_since: Callable[[int], Awaitable[Sequence[Head]]],
) -> dict[str, Head]:
    """The heads that are on the server, by name; `heads_since` asks for those from a stamp on."""
    heads = dict(kept)
    if heads and there != fingerprint(heads.values()):
        newest = max(one.version.stamp for one in heads.values())
        newer = await heads_since(newest - OVERLAP_MICROSECONDS)
        heads |= {one.name: one for one in newer}
    if there != fingerprint(heads.values()):
        heads = {one.name: one for one in await heads_since(0)}
    return heads
