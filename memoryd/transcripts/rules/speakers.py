"""Whose words a user line holds, by the marks that clients of all versions set.

Rules
- Marks decide in this order: `origin`, `promptSource`, `turnOrigin`, the entry point. Text decides
  only where the client sets no mark, and for text that nobody types: a plan that the model wrote
  and the client hands over, and what one agent writes to another.
- `typed`, `queued` and `suggestion_accepted` prompts are a person's; so is every prompt in an app
  of the client's maker, which runs the client as a library. All other marked prompts are `sdk`: a
  script's, or one that a later client marks in a way unknown here.
- What the client puts in front of a person's words (reminders, the open file, the selection) is cut
  off; the rest stays.
"""

import re
from typing import Final

from memoryd.text.lazy_regex import late
from memoryd.transcripts.rules.lines import Attachment, AttachmentLine, UserLine

_BY_HAND: Final = frozenset({"typed", "queued", "suggestion_accepted"})
_APPS: Final = frozenset({"claude-vscode", "claude-desktop", "claude-jetbrains"})
_PLAN_HANDOVER: Final = "Implement the following plan:"
_BETWEEN_AGENTS: Final = ("<teammate-message", "<cross-session-message")
_CLIENT_HEAD: Final = late(r"\s*<(system-reminder|ide_[a-z_]+)(?:\s[^<>]*)?>.*?</\1>\s*", re.DOTALL)


def is_from_a_machine(raw: UserLine) -> bool:
    """By its marks alone."""
    origin = _origin(raw.origin) or "human"
    return (
        raw.prompt_source == "system" or raw.turn_origin == "task_notification" or origin != "human"
    )


def is_marked(raw: UserLine) -> bool:
    """Whether the client says where the prompt came from."""
    return isinstance(raw.prompt_source, str) and bool(raw.prompt_source)


def is_typed(raw: UserLine) -> bool:
    """Whether a person entered a marked prompt; a script did otherwise."""
    by_hand = raw.prompt_source in _BY_HAND or _origin(raw.origin) == "human"
    return by_hand or raw.entrypoint in _APPS


def is_scripted(raw: UserLine | AttachmentLine) -> bool:
    """Whether a prompt that is not marked as a person's was given to the client by a program."""
    origin = raw.origin if isinstance(raw, UserLine) else raw.attachment.origin
    by_program = isinstance(raw.entrypoint, str) and raw.entrypoint.startswith("sdk")
    return by_program and _origin(origin) != "human"


def is_written_by_an_agent(text: str) -> bool:
    """Text without its client heads that looks like a prompt and that nobody typed."""
    return text.startswith((_PLAN_HANDOVER, *_BETWEEN_AGENTS))


def is_typed_in_mid_turn(raw: Attachment) -> bool:
    """By any of the marks that clients of different versions set."""
    origin = _origin(raw.origin)
    if origin:
        return origin == "human"
    return raw.human_turn is True or raw.command_mode == "prompt"


def without_client_heads(text: str) -> str:
    """The person's words without what the client put before them; all of it if that is all."""
    rest = text
    while head := _CLIENT_HEAD.match(rest):
        rest = rest[head.end() :]
    return rest or text


def _origin(value: object) -> str:
    """The kind of an origin; empty if the line names none."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind is None:
        return ""
    return kind if isinstance(kind, str) else "unknown"
