"""Words that several commands share."""

import os

# Who or what changed a memory.
CAUSES = {
    "extraction": "learned from a session",
    "dream": "by a dream",
    "user": "by you",
    "agent": "by the agent",
    "sync": "from the team or another machine",
    "outside": "by another program",
    "restore": "restored",
    "move": "moved to another scope",
    "adopted": "adopted from another place",
    "imported": "from an archive",
    "refused": "not written: the file changed meanwhile",
}


def cause_words(cause: str) -> str:
    """A cause in words; one from a newer daemon as it is."""
    return CAUSES.get(cause, cause)


def counted(count: float, thing: str, many: str = "") -> str:
    """A number of things; `many` is for a plural that does not end in -s."""
    return f"{count:.0f} {thing if count == 1 else many or f'{thing}s'}"


def abbreviated(number: float) -> str:
    """A large number in three digits or so: 8.1k, 2.5M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def dollars(usd: float) -> str:
    """Four decimals below a dollar: a single call costs fractions of a cent."""
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"


def tilde(path: str) -> str:
    """A path with ~ for the home folder."""
    home = os.path.expanduser("~")  # noqa: PTH111 - text in, text out: the path need not exist
    return f"~{path[len(home) :]}" if f"{path}/".startswith(f"{home}/") else path
