"""What a person typed to memoryd itself: `/memoryd:remember TEXT`, a skill of the plugin.

The prompt hook gets the line as it was typed, before the client turns it into a skill's text. So
what stands in it is the person's own, and memoryd acts on it without asking a model.
"""

from typing import Final, Literal

import msgspec

CommandName = Literal["remember", "recall", "dream", "inbox", "forget"]

_NAMES: Final[dict[str, CommandName]] = {
    "remember": "remember",
    "recall": "recall",
    "dream": "dream",
    "inbox": "inbox",
    "forget": "forget",
}
_PREFIX: Final = "/memoryd:"


class TypedCommand(msgspec.Struct, frozen=True):
    name: CommandName
    text: str


def command_in(prompt: str) -> TypedCommand | None:
    """The command at the very start of a prompt; None for any other prompt."""
    if not prompt.startswith(_PREFIX):
        return None
    word, *rest = prompt.removeprefix(_PREFIX).split(maxsplit=1)[:2] or [""]
    name = _NAMES.get(word)
    return TypedCommand(name, "".join(rest).strip()) if name else None
