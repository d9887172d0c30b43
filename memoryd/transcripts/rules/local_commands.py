"""What the client writes around slash commands, `!` lines and what they print."""

from typing import Final

from memoryd.text.lazy_regex import late

COMMAND_TAGS: Final = ("<command-name>", "<command-message>")
COMMAND_OUTPUT_TAGS: Final = ("<local-command-stdout>", "<local-command-stderr>")
BASH_INPUT_TAG: Final = "<bash-input>"
BASH_OUTPUT_TAGS: Final = ("<bash-stdout>", "<bash-stderr>")

_ANSI: Final = late(r"\x1b\[[0-9;?]*[A-Za-z]")


def command_line(text: str) -> str:
    """A slash command as it was typed."""
    name = _inside(text, "command-name") or f"/{_inside(text, 'command-message')}"
    return f"{name} {_inside(text, 'command-args')}".strip()


def bash_line(text: str) -> str:
    """A shell line as it was typed."""
    return f"! {_inside(text, 'bash-input')}"


def printed_by(text: str) -> str:
    """What a command or a shell line printed, without colours."""
    tags = (*COMMAND_OUTPUT_TAGS, *BASH_OUTPUT_TAGS)
    streams = (_inside(text, tag.strip("<>")) for tag in tags)
    return "\n".join(filter(None, streams))


def _inside(text: str, tag: str) -> str:
    _, _, rest = text.partition(f"<{tag}>")
    return _ANSI.sub("", rest.partition(f"</{tag}>")[0]).strip()
