"""Anchors that stand only inside of other words, where no rule takes them for what they are.

"40 tests passed", "mapping", "typing": texts about code are full of them, and every rule that looks
for "pass" or "pin" would try each in vain. What a rule could still take stays: `"passed",` may be
the name of a setting in a call.
"""

from typing import Final

from memoryd.text.lazy_regex import late

# Each pattern begins with its anchor. Every name of a password or a PIN ends where its letters do.
_IDLE: Final = (
    ("pass", late(r"pass(?:ed|es|ing)(?![^\s.,;:!)])")),
    ("pin", late(r"pin(?:[abd-mo-z]|n[a-tv-z])")),
)


def without_idle(lowered: str, present: frozenset[str]) -> frozenset[str]:
    """The anchors that are present, without those that are idle wherever they stand."""
    idle = [
        anchor
        for anchor, pattern in _IDLE
        if anchor in present and lowered.count(anchor) == len(pattern.findall(lowered))
    ]
    return present.difference(idle) if idle else present
