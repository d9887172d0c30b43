"""Turns one line of a transcript into one entry: who is speaking, and what of it to keep.

Rules
- A line that cannot be read is `bad`; a line of an unknown type or without a uuid is `side`.
  Neither is an error.
- Only the client's marks tell speakers apart, in this order: summary, meta, tool result, `origin`,
  `promptSource`; only an unmarked line is judged by its text. So a person may type any tag, and
  text written by a machine never passes for a person's.
- Text that hooks, memoryd itself or MEMORY.md put into the session is `injected`, never new.
- Long text is cut here, with a mark at the cut, so that no later code has to handle huge text.
- A time is the client's ISO text, or empty if that is not a valid time.
"""

import re
from typing import Literal, assert_never

import msgspec

from memoryd.base.timestamps import seconds_of
from memoryd.text.shorten import cut_middle
from memoryd.transcripts.rules.lines import (
    AssistantLine,
    Attachment,
    AttachmentLine,
    Line,
    LineUsage,
    MessageBlock,
    SystemLine,
    TreeLine,
    UserLine,
    decode_line,
)

PROSE_CHARS_MAX = 64 * 1024
TOOL_CHARS_MAX = 4 * 1024
GIST_CHARS_MAX = 120
NAME_CHARS_MAX = 4 * 1024
BLOCKS_MAX = 1000
TOKENS_MAX = 1_000_000_000_000

# Our own runs leave no transcript. Those inside the client start their prompt with the marker, so
# that memoryd does not learn from itself if the client keeps one all the same.
OWN_ENTRYPOINT = "memoryd"
OWN_RUN_MARKER = "<memoryd-run>"

EntryKind = Literal[
    "bad",
    "side",
    "sidechain",
    "own_run",
    "prompt",  # a person's words
    "queued",  # the same, given while a tool ran; or a notice, by its source
    "command",
    "command_output",
    "bash_input",
    "bash_output",
    "notice",
    "tool_result",
    "interrupt",
    "meta",
    "nudge",  # meta text without a tag: it may make the model continue
    "summary",
    "assistant",
    "synthetic",
    "api_error",
    "compaction",
    "turn_end",
    "injected",
    "client",
]
EntrySource = Literal["typed", "sdk", "unmarked", "queued", "command", "bash", "notice"]
BlockKind = Literal["text", "tool_use", "tool_result"]

_COMMAND_TAGS = ("<command-name>", "<command-message>")
_COMMAND_OUTPUT_TAGS = ("<local-command-stdout>", "<local-command-stderr>")
_BASH_OUTPUT_TAGS = ("<bash-stdout>", "<bash-stderr>")
_META_TAGS = ("<local-command-caveat>", "<system-reminder>")
_NOTICE_TAGS = ("<task-notification>", "<teammate-message")
# The client hands a plan over to a fresh context in these words; the model wrote the plan.
_PLAN_HANDOVER = "Implement the following plan:"
# What the client puts in front of a person's words: reminders, the open file, the selection.
_CLIENT_HEAD = re.compile(r"\s*<(system-reminder|ide_[a-z_]+)(?:\s[^<>]*)?>.*?</\1>\s*", re.DOTALL)
_BASH_INPUT_TAG = "<bash-input>"
_INTERRUPT = re.compile(r"\[Request interrupted by user[^\]]*\]")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WRITING_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_GIST_KEYS = ("file_path", "notebook_path", "command", "pattern", "query", "url", "description")


class Block(msgspec.Struct, frozen=True):
    """Part of a message; a call's `text` is its input as JSON, `writes` the file it changes."""

    kind: BlockKind
    text: str
    tool: str = ""
    tool_use_id: str = ""
    gist: str = ""
    writes: str = ""
    is_error: bool = False


class Compaction(msgspec.Struct, frozen=True):
    trigger: str = ""
    tokens_before: int = 0
    tokens_after: int = 0


class EntryPlace(msgspec.Struct, frozen=True):
    """Where a line belongs; an empty `parent` makes it a root, None means unknown."""

    uuid: str = ""
    parent: str | None = None
    offset: int = 0
    end: int = 0
    at: str = ""
    session_id: str = ""
    cwd: str = ""
    git_branch: str = ""
    prompt_id: str = ""


class TranscriptEntry(msgspec.Struct, frozen=True):
    kind: EntryKind
    place: EntryPlace = EntryPlace()
    text: str = ""
    source: EntrySource = "unmarked"
    blocks: tuple[Block, ...] = ()
    message_id: str = ""
    stop_reason: str = ""
    context_tokens: int = 0
    output_tokens: int = 0
    compaction: Compaction | None = None


BAD = TranscriptEntry("bad")
SIDE = TranscriptEntry("side")


def read_entry(line: Line) -> TranscriptEntry:
    """The line as an entry; never raises, whatever the line contains."""
    try:
        raw = decode_line(line.data)
        return SIDE if raw is None else _entry(raw, _place(raw, line))
    except (ValueError, RecursionError):
        return BAD


def _entry(raw: TreeLine, place: EntryPlace) -> TranscriptEntry:
    if not place.uuid:
        return SIDE
    if raw.is_sidechain is True:
        return TranscriptEntry("sidechain", place)
    if raw.entrypoint == OWN_ENTRYPOINT:
        return TranscriptEntry("own_run", place)
    match raw:
        case UserLine():
            return _user(raw, place)
        case AssistantLine():
            return _assistant(raw, place)
        case SystemLine():
            return _system(raw, place)
        case AttachmentLine():
            return _attachment(raw.attachment, place)
        case _:
            assert_never(raw)


def _user(raw: UserLine, place: EntryPlace) -> TranscriptEntry:
    content = raw.message.content
    if raw.is_compact_summary is True:
        return TranscriptEntry("summary", place)
    if raw.is_meta is True or raw.is_visible_in_transcript_only is True:
        return TranscriptEntry("meta" if _said(content).startswith(_META_TAGS) else "nudge", place)
    if results := _results(content):
        return TranscriptEntry("tool_result", place, blocks=results)
    text = _said(content)
    if text.startswith(OWN_RUN_MARKER):
        return TranscriptEntry("own_run", place)
    if _is_from_a_machine(raw):
        return TranscriptEntry("notice", place, cut_middle(text, TOOL_CHARS_MAX), "notice")
    text = _without_client_heads(text)
    if text.startswith(_PLAN_HANDOVER):
        return TranscriptEntry("notice", place, cut_middle(text, TOOL_CHARS_MAX), "notice")
    if _str(raw.prompt_source):
        source: EntrySource = "typed" if raw.prompt_source == "typed" else "sdk"
        return TranscriptEntry("prompt", place, cut_middle(text, PROSE_CHARS_MAX), source)
    return _unmarked(text, place)


def _is_from_a_machine(raw: UserLine) -> bool:
    origin = raw.origin.get("kind", "human") if isinstance(raw.origin, dict) else "human"
    return (
        raw.prompt_source == "system" or raw.turn_origin == "task_notification" or origin != "human"
    )


def _unmarked(text: str, place: EntryPlace) -> TranscriptEntry:
    """A user line known only by its text: commands, their output, and older prompts."""
    if not text or text.startswith(_META_TAGS):
        return TranscriptEntry("meta", place)
    if _INTERRUPT.fullmatch(text):
        return TranscriptEntry("interrupt", place, text)
    if text.startswith(_COMMAND_TAGS):
        return TranscriptEntry(
            "command", place, cut_middle(_command(text), PROSE_CHARS_MAX), "command"
        )
    if text.startswith(_COMMAND_OUTPUT_TAGS):
        return TranscriptEntry("command_output", place, _printed_by(text))
    if text.startswith(_BASH_INPUT_TAG):
        typed = f"! {_inside(text, 'bash-input').strip()}"
        return TranscriptEntry("bash_input", place, cut_middle(typed, PROSE_CHARS_MAX), "bash")
    if text.startswith(_BASH_OUTPUT_TAGS):
        return TranscriptEntry("bash_output", place, _printed_by(text))
    if text.startswith(_NOTICE_TAGS):
        return TranscriptEntry("notice", place, cut_middle(text, TOOL_CHARS_MAX), "notice")
    return TranscriptEntry("prompt", place, cut_middle(text, PROSE_CHARS_MAX))


def _assistant(raw: AssistantLine, place: EntryPlace) -> TranscriptEntry:
    message, content = raw.message, raw.message.content
    if raw.is_api_error_message is True:
        return TranscriptEntry("api_error", place, cut_middle(_said(content), TOOL_CHARS_MAX))
    if message.model == "<synthetic>":
        return TranscriptEntry("synthetic", place)
    usage = message.usage or LineUsage()
    output_tokens = _count(usage.output_tokens)
    return TranscriptEntry(
        "assistant",
        place,
        blocks=_answer(content),
        message_id=_name(message.id),
        stop_reason=_name(message.stop_reason),
        context_tokens=_count(usage.input_tokens)
        + _count(usage.cache_creation_input_tokens)
        + _count(usage.cache_read_input_tokens)
        + output_tokens,
        output_tokens=output_tokens,
    )


def _system(raw: SystemLine, place: EntryPlace) -> TranscriptEntry:
    content = _str(raw.content)
    match raw.subtype:
        case "compact_boundary":
            metadata = raw.compact_metadata if isinstance(raw.compact_metadata, dict) else {}
            compaction = Compaction(
                _name(metadata.get("trigger")),
                _count(metadata.get("preTokens")),
                _count(metadata.get("postTokens")),
            )
            return TranscriptEntry("compaction", place, compaction=compaction)
        case "turn_duration":
            return TranscriptEntry("turn_end", place)
        case "local_command" if content.startswith(_COMMAND_OUTPUT_TAGS):
            return TranscriptEntry("command_output", place, _printed_by(content))
    return TranscriptEntry("client", place)


def _attachment(raw: Attachment, place: EntryPlace) -> TranscriptEntry:
    kind = _str(raw.type)
    if kind == "queued_command":
        text = cut_middle(_printed(raw.prompt), PROSE_CHARS_MAX)
        return TranscriptEntry(
            "queued", place, text, "queued" if _is_typed_in_mid_turn(raw) else "notice"
        )
    if kind == "instructions" or kind.startswith("hook_"):
        return TranscriptEntry("injected", place)
    return TranscriptEntry("client", place)


def _is_typed_in_mid_turn(raw: Attachment) -> bool:
    """By any of the marks that clients of different versions set."""
    origin = raw.origin.get("kind") if isinstance(raw.origin, dict) else None
    if origin is not None:
        return bool(origin == "human")
    return raw.human_turn is True or raw.command_mode == "prompt"


def _without_client_heads(text: str) -> str:
    """The person's words without what the client put before them; all of it if that is all."""
    rest = text
    while head := _CLIENT_HEAD.match(rest):
        rest = rest[head.end() :]
    return rest or text


def _answer(content: str | list[MessageBlock]) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (Block("text", cut_middle(content, PROSE_CHARS_MAX)),) if content.strip() else ()
    return tuple(
        _call(block)
        if block.type == "tool_use"
        else Block("text", cut_middle(text, PROSE_CHARS_MAX))
        for block in content[:BLOCKS_MAX]
        if block.type == "tool_use" or (block.type == "text" and (text := _str(block.text)).strip())
    )


def _call(block: MessageBlock) -> Block:
    tool = _name(block.name)
    given = block.input if isinstance(block.input, dict) else {}
    gist = next((value for key in _GIST_KEYS if (value := _str(given.get(key)))), "")
    written = _name(given.get("file_path")) or _name(given.get("notebook_path"))
    return Block(
        "tool_use",
        cut_middle(msgspec.json.encode(block.input).decode(), TOOL_CHARS_MAX),
        tool=tool,
        tool_use_id=_name(block.id),
        gist=" ".join(gist[:GIST_CHARS_MAX].split()),
        writes=written if tool in _WRITING_TOOLS else "",
    )


def _results(content: str | list[MessageBlock]) -> tuple[Block, ...]:
    if isinstance(content, str):
        return ()
    return tuple(
        Block(
            "tool_result",
            cut_middle(_printed(block.content), TOOL_CHARS_MAX),
            tool_use_id=_name(block.tool_use_id),
            is_error=block.is_error is True,
        )
        for block in content[:BLOCKS_MAX]
        if block.type == "tool_result"
    )


def _said(content: str | list[MessageBlock]) -> str:
    if isinstance(content, str):
        return content.strip()
    return "\n\n".join(_str(block.text) or f"[{_str(block.type)}]" for block in content).strip()


def _printed(content: object) -> str:
    """The text a tool returned, with a mark in place of anything that is not text."""
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, dict)]
        return "\n".join(_str(b.get("text")) or f"[{_str(b.get('type'))}]" for b in blocks)
    return _str(content)


def _command(text: str) -> str:
    name = _inside(text, "command-name") or f"/{_inside(text, 'command-message')}"
    return f"{name} {_inside(text, 'command-args')}".strip()


def _printed_by(text: str) -> str:
    tags = (*_COMMAND_OUTPUT_TAGS, *_BASH_OUTPUT_TAGS)
    streams = (_inside(text, tag.strip("<>")) for tag in tags)
    return cut_middle("\n".join(filter(None, streams)), TOOL_CHARS_MAX)


def _inside(text: str, tag: str) -> str:
    _, _, rest = text.partition(f"<{tag}>")
    return _ANSI.sub("", rest.partition(f"</{tag}>")[0]).strip()


def _place(raw: TreeLine, line: Line) -> EntryPlace:
    parent = "" if raw.parent_uuid is None else raw.parent_uuid
    return EntryPlace(
        uuid=_name(raw.uuid),
        parent=parent if isinstance(parent, str) else None,
        offset=line.offset,
        end=line.end,
        at=_moment(raw.timestamp),
        session_id=_name(raw.session_id),
        cwd=_name(raw.cwd),
        git_branch=_name(raw.git_branch),
        prompt_id=_name(raw.prompt_id),
    )


def _moment(value: object) -> str:
    text = _name(value)
    return text if seconds_of(text) is not None else ""


def _name(value: object) -> str:
    """An id, a path or a name; empty if it is too long to be one."""
    return value if isinstance(value, str) and len(value) <= NAME_CHARS_MAX else ""


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value <= TOKENS_MAX else 0
