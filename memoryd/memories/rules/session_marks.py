"""What the environment of a session says about memory: the hook passes it on, the daemon has none.

- Another memory folder counts only if the user's or the machine's settings name the same one: a
  repository must not lead memories away. Where it does not count, `doctor` says so.
- Otherwise only off-switches count, and only for the session that carries them. A repository's
  settings can set variables too, and can so switch memory off for sessions in it, but nothing on.
"""

from collections.abc import Mapping
from typing import Final

from memoryd.base.paths import MEMORY_PATH_OVERRIDE, clean, expand_home
from memoryd.memories.rules.claude_settings import DISABLE_VARIABLE, FALSY

BARE: Final = "CLAUDE_CODE_SIMPLE"
REMOTE: Final = "CLAUDE_CODE_REMOTE"
REMOTE_STORE: Final = "CLAUDE_CODE_REMOTE_MEMORY_DIR"


def why_off(marks: Mapping[str, str]) -> str:
    """Why memory is off for a session with these variables; empty if it is not."""
    if _is_set(marks, DISABLE_VARIABLE):
        return f"{DISABLE_VARIABLE} is set in the session"
    if _is_set(marks, BARE):
        return "the session is bare"
    if _is_set(marks, REMOTE) and not marks.get(REMOTE_STORE):
        return "the session is remote and has no store"
    return ""


def passed_over(marks: Mapping[str, str], memory: str, home: str) -> str:
    """The memory folder that a session names while another one is used; empty if there is none."""
    value = marks.get(MEMORY_PATH_OVERRIDE, "")
    return "" if not value or clean(expand_home(value, home)) == memory else value


def _is_set(marks: Mapping[str, str], name: str) -> bool:
    value = marks.get(name, "").strip().lower()
    return bool(value) and value not in FALSY
