"""Turns one line of a transcript into one entry: who is speaking, and what of it to keep.

Rules
- A line that cannot be read is `bad`; a line of an unknown type or without a uuid is `side`.
  Neither is an error.
- Only the client's marks tell speakers apart, in this order: summary, meta, tool result, then those
  of `speakers`; only an unmarked line is judged by its text. So a person may type any tag, and
  text written by a machine never passes for a person's.
- A person also speaks inside tool results (`replies`) and in the queue (`prompt_queue`).
- Text that hooks, memoryd itself or MEMORY.md put into the session is `injected`, never new.
- What is marked as private (`text/private`) is taken out before anything else.
- Long text is cut here and in `blocks`, with a mark at the cut: no later code meets huge text.
- A time is the client's ISO text, or empty if that is not a valid time.
"""

from typing import Literal, assert_never

import msgspec

from memoryd.text.lazy_regex import late
from memoryd.text.masking.cut import masked_middle
from memoryd.text.private import without_private
from memoryd.transcripts.rules import local_commands, speakers
from memoryd.transcripts.rules.blocks import (
    PROSE_CHARS_MAX,
    TOOL_CHARS_MAX,
    Block,
    blocks_said,
    result_blocks,
    text_printed,
    text_said,
)
from memoryd.transcripts.rules.lines import (
    AssistantLine,
    AttachmentLine,
    Line,
    LineUsage,
    QueueLine,
    SystemLine,
    TreeLine,
    UserLine,
    decode_line,
)
from memoryd.transcripts.rules.loose_values import count_of, moment_of, name_of, text_of
from memoryd.transcripts.rules.prompt_queue import is_machine_text

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
    "enqueued",  # the same, put into the client's queue; perhaps recorded again later
    "absorbed",  # the client took a queued prompt up in mid-turn
    "unqueued",  # queued prompts went back into the input field
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
EntrySource = Literal[
    "typed",
    "sdk",  # a script's
    "unmarked",
    "queued",  # in mid-turn
    "enqueued",  # in mid-turn, and only the queue shows it
    "answer",  # to a question of the agent, typed
    "choice",  # one of the answers that the agent offered
    "refusal",  # the reason for refusing a tool call
    "command",
    "bash",
    "notice",
]

_META_TAGS = ("<local-command-caveat>", "<system-reminder>")
_NOTICE_TAGS = ("<task-notification>",)
_INTERRUPT = late(r"\[Request interrupted by user[^\]]*\]")


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


def read_entry(line: Line, *, of_agent: bool = False) -> TranscriptEntry:
    """The line as an entry; never raises, whatever the line contains.

    With `of_agent` it is a line of a sub-agent's own transcript, in which no person speaks.
    """
    try:
        raw = decode_line(line.data)
        if raw is None or (of_agent and isinstance(raw, QueueLine)):
            return SIDE
        if isinstance(raw, QueueLine):
            return _queue(raw)
        entry = _entry(raw, _place(raw, line), of_agent=of_agent)
        return _said_to_agent(entry) if of_agent else entry
    except (ValueError, RecursionError):
        return BAD


def _said_to_agent(entry: TranscriptEntry) -> TranscriptEntry:
    if entry.kind in {"prompt", "queued", "command", "bash_input"}:
        return _notice(entry.text, entry.place)
    return entry


def _entry(raw: TreeLine, place: EntryPlace, *, of_agent: bool) -> TranscriptEntry:
    if not place.uuid:
        return SIDE
    if raw.is_sidechain is True and not of_agent:
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
            return _attachment(raw, place)
        case _:
            assert_never(raw)


def _user(raw: UserLine, place: EntryPlace) -> TranscriptEntry:
    content = raw.message.content
    if raw.is_compact_summary is True:
        return TranscriptEntry("summary", place)
    if raw.is_meta is True or raw.is_visible_in_transcript_only is True:
        return TranscriptEntry(
            "meta" if text_said(content).startswith(_META_TAGS) else "nudge", place
        )
    if results := result_blocks(raw):
        return TranscriptEntry("tool_result", place, blocks=results)
    text = text_said(content)
    if text.startswith(OWN_RUN_MARKER):
        return TranscriptEntry("own_run", place)
    if speakers.is_from_a_machine(raw):
        return _notice(text, place)
    text = speakers.without_client_heads(text)
    if speakers.is_written_by_an_agent(text):
        return _notice(text, place)
    if speakers.is_marked(raw):
        source: EntrySource = "typed" if speakers.is_typed(raw) else "sdk"
        return TranscriptEntry("prompt", place, masked_middle(text, PROSE_CHARS_MAX), source)
    return _unmarked(text, place, "sdk" if speakers.is_scripted(raw) else "unmarked")


def _notice(text: str, place: EntryPlace) -> TranscriptEntry:
    return TranscriptEntry("notice", place, masked_middle(text, TOOL_CHARS_MAX), "notice")


def _unmarked(text: str, place: EntryPlace, source: EntrySource) -> TranscriptEntry:
    """A user line known only by its text: commands, their output, and older prompts."""
    if not text or text.startswith(_META_TAGS):
        return TranscriptEntry("meta", place)
    if _INTERRUPT.fullmatch(text):
        return TranscriptEntry("interrupt", place, text)
    if text.startswith(local_commands.COMMAND_TAGS):
        typed = masked_middle(local_commands.command_line(text), PROSE_CHARS_MAX)
        return TranscriptEntry("command", place, typed, "command")
    if text.startswith(local_commands.COMMAND_OUTPUT_TAGS):
        return TranscriptEntry("command_output", place, _output(text))
    if text.startswith(local_commands.BASH_INPUT_TAG):
        typed = masked_middle(local_commands.bash_line(text), PROSE_CHARS_MAX)
        return TranscriptEntry("bash_input", place, typed, "bash")
    if text.startswith(local_commands.BASH_OUTPUT_TAGS):
        return TranscriptEntry("bash_output", place, _output(text))
    if text.startswith(_NOTICE_TAGS):
        return _notice(text, place)
    return TranscriptEntry("prompt", place, masked_middle(text, PROSE_CHARS_MAX), source)


def _assistant(raw: AssistantLine, place: EntryPlace) -> TranscriptEntry:
    message, content = raw.message, raw.message.content
    if raw.is_api_error_message is True:
        return TranscriptEntry(
            "api_error", place, masked_middle(text_said(content), TOOL_CHARS_MAX)
        )
    if message.model == "<synthetic>":
        return TranscriptEntry("synthetic", place)
    usage = message.usage or LineUsage()
    output_tokens = count_of(usage.output_tokens)
    return TranscriptEntry(
        "assistant",
        place,
        blocks=blocks_said(content),
        message_id=name_of(message.id),
        stop_reason=name_of(message.stop_reason),
        context_tokens=count_of(usage.input_tokens)
        + count_of(usage.cache_creation_input_tokens)
        + count_of(usage.cache_read_input_tokens)
        + output_tokens,
        output_tokens=output_tokens,
    )


def _system(raw: SystemLine, place: EntryPlace) -> TranscriptEntry:
    content = without_private(text_of(raw.content))
    match raw.subtype:
        case "compact_boundary":
            metadata = raw.compact_metadata if isinstance(raw.compact_metadata, dict) else {}
            compaction = Compaction(
                name_of(metadata.get("trigger")),
                count_of(metadata.get("preTokens")),
                count_of(metadata.get("postTokens")),
            )
            return TranscriptEntry("compaction", place, compaction=compaction)
        case "turn_duration":
            return TranscriptEntry("turn_end", place)
        case "local_command" if content.startswith(local_commands.COMMAND_OUTPUT_TAGS):
            return TranscriptEntry(
                "command_output",
                place,
                masked_middle(local_commands.printed_by(content), TOOL_CHARS_MAX),
            )
    return TranscriptEntry("client", place)


def _attachment(line: AttachmentLine, place: EntryPlace) -> TranscriptEntry:
    raw = line.attachment
    kind = text_of(raw.type)
    if kind == "queued_command":
        text = text_printed(raw.prompt)
        source: EntrySource = "notice"
        if speakers.is_typed_in_mid_turn(raw) and not speakers.is_written_by_an_agent(text):
            source = "sdk" if speakers.is_scripted(line) else "queued"
        return TranscriptEntry("queued", place, masked_middle(text, PROSE_CHARS_MAX), source)
    if kind == "instructions" or kind.startswith("hook_"):
        return TranscriptEntry("injected", place)
    return TranscriptEntry("client", place)


def _queue(raw: QueueLine) -> TranscriptEntry:
    text = text_printed(raw.content).strip()
    place = EntryPlace(at=moment_of(raw.timestamp))
    match raw.operation:
        case "enqueue" if not (is_machine_text(text) or speakers.is_written_by_an_agent(text)):
            return TranscriptEntry("enqueued", place, masked_middle(text, PROSE_CHARS_MAX))
        case "remove" if raw.reason == "absorbed_mid_turn":
            return TranscriptEntry("absorbed", place, masked_middle(text, PROSE_CHARS_MAX))
        case "popAll":
            return TranscriptEntry("unqueued", place, masked_middle(text, PROSE_CHARS_MAX))
    return SIDE


def _output(text: str) -> str:
    return masked_middle(local_commands.printed_by(text), TOOL_CHARS_MAX)


def _place(raw: TreeLine, line: Line) -> EntryPlace:
    parent = "" if raw.parent_uuid is None else raw.parent_uuid
    return EntryPlace(
        uuid=name_of(raw.uuid),
        parent=parent if isinstance(parent, str) else None,
        offset=line.offset,
        end=line.end,
        at=moment_of(raw.timestamp),
        session_id=name_of(raw.session_id),
        cwd=name_of(raw.cwd),
        git_branch=name_of(raw.git_branch),
        prompt_id=name_of(raw.prompt_id),
    )
