"""The parts of a message: prose, calls of tools, and what tools returned, each cut to a length.

What is marked as private is taken out first; what is cut is masked before the cut.
"""

from typing import Literal

import msgspec

from memoryd.text.masking.cut import masked_beginning, masked_middle
from memoryd.text.private import without_private
from memoryd.transcripts.rules.call_paths import can_be_shown, names_in
from memoryd.transcripts.rules.lines import MessageBlock, UserLine
from memoryd.transcripts.rules.loose_values import name_of, text_of
from memoryd.transcripts.rules.replies import is_answered, refusal_in

PROSE_CHARS_MAX = 64 * 1024
TOOL_CHARS_MAX = 4 * 1024
GIST_CHARS_MAX = 120
RESULT_BYTES_MAX = 256 * 1024
BLOCKS_MAX = 1000

BlockKind = Literal["text", "tool_use", "tool_result"]

_WRITING_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_GIST_KEYS = ("file_path", "notebook_path", "command", "pattern", "query", "url", "description")


class Block(msgspec.Struct, frozen=True):
    """Part of a message; a call's `text` is its input as JSON, `writes` the file it changes.

    `names` are the words of a call that may be paths. A text that was cut is masked already.

    A result may hold answers of a person, with the client's structured copy in `answered`, or the
    reason for a `refusal`: if its tool is one that asks, and if the client marked it or its tool
    cannot print such words.
    """

    kind: BlockKind
    text: str
    tool: str = ""
    tool_use_id: str = ""
    gist: str = ""
    writes: str = ""
    names: tuple[str, ...] = ()
    is_error: bool = False
    answered: bytes | None = None
    refusal: str = ""
    is_marked_refusal: bool = False
    is_masked: bool = False


def blocks_said(content: str | list[MessageBlock]) -> tuple[Block, ...]:
    if isinstance(content, str):
        return (_prose(content),) if content.strip() else ()
    return tuple(
        _call(block) if block.type == "tool_use" else _prose(text)
        for block in content[:BLOCKS_MAX]
        if block.type == "tool_use"
        or (block.type == "text" and (text := text_of(block.text)).strip())
    )


def _prose(text: str) -> Block:
    plain = without_private(text)
    return Block(
        "text", masked_middle(plain, PROSE_CHARS_MAX), is_masked=len(plain) > PROSE_CHARS_MAX
    )


def _call(block: MessageBlock) -> Block:
    tool = name_of(block.name)
    given = block.input if isinstance(block.input, dict) else {}
    found = (value for key in _GIST_KEYS if (value := text_of(given.get(key))))
    gist = without_private(next(found, ""))
    written = name_of(given.get("file_path")) or name_of(given.get("notebook_path"))
    text = without_private(msgspec.json.encode(block.input).decode())
    return Block(
        "tool_use",
        masked_middle(text, TOOL_CHARS_MAX),
        tool=tool,
        tool_use_id=name_of(block.id),
        gist=" ".join(masked_beginning(gist, GIST_CHARS_MAX).split()),
        writes=written if tool in _WRITING_TOOLS and can_be_shown(written) else "",
        names=tuple(names_in(given)),
        is_masked=len(text) > TOOL_CHARS_MAX,
    )


def result_blocks(raw: UserLine) -> tuple[Block, ...]:
    content = raw.message.content
    if isinstance(content, str):
        return ()
    results = [block for block in content[:BLOCKS_MAX] if block.type == "tool_result"]
    return tuple(_result(raw, block) for block in results)


def _result(raw: UserLine, block: MessageBlock) -> Block:
    text, is_error = text_printed(block.content), block.is_error is True
    has_answers = not is_error and is_answered(text)
    limit_chars = PROSE_CHARS_MAX if has_answers else TOOL_CHARS_MAX
    return Block(
        "tool_result",
        masked_middle(text, limit_chars),
        tool_use_id=name_of(block.tool_use_id),
        is_error=is_error,
        answered=bytes(raw.tool_use_result)[:RESULT_BYTES_MAX] if has_answers else None,
        refusal=masked_middle(refusal_in(text), PROSE_CHARS_MAX) if is_error else "",
        is_marked_refusal=raw.tool_denial_kind == "user-rejected",
        is_masked=len(text) > limit_chars,
    )


def text_said(content: str | list[MessageBlock]) -> str:
    if isinstance(content, str):
        return without_private(content).strip()
    return without_private(
        "\n\n".join(text_of(block.text) or f"[{text_of(block.type)}]" for block in content)
    ).strip()


def text_printed(content: object) -> str:
    """The text a tool returned, with a mark in place of anything that is not text."""
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, dict)]
        texts = (text_of(b.get("text")) or f"[{text_of(b.get('type'))}]" for b in blocks)
        return without_private("\n".join(texts))
    return without_private(text_of(content))
