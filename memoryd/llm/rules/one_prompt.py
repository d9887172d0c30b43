"""A request as one prompt and one JSON schema, and the answer back as content blocks.

This is for models behind a command, which take a text and print a JSON document. What asks them
(extraction, notes, dreams) uses the same requests and answers as with a model server.

Rules
- The prompt begins with a fixed line: a client takes a text that begins with `/` for a command, and
  if one keeps a transcript, the line's mark tells memoryd not to learn from itself.
- No at sign is left in the prompt: a client reads and sends the file whose path follows one. It is
  written as an escape, the model is told so, and the escape becomes the sign again in its answer.
- The first message stays as it is, framed by `prompts`. Later turns are one line of JSON each, so
  that nothing in a tool's result can look like a turn of its own.
- The schema names every tool with its own input. A model that is asked again for every mistake
  would use up its few calls a day.
- Call ids are made here, and are unique in the conversation.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from memoryd.llm.rules.messages import (
    AnswerUnreadable,
    AssistantTurn,
    ModelAnswer,
    ModelRequest,
    Text,
    ToolDefinition,
    ToolResult,
    Usage,
    UserTurn,
    read_answer,
    schema_of,
)
from memoryd.transcripts.rules.entries import OWN_RUN_MARKER

FIRST_LINE = f"{OWN_RUN_MARKER} This is a request of memoryd, which runs in the background."
AT_SIGN, ESCAPED = "@", "\\u0040"
NOT_A_DOCUMENT = "the model's answer is not the JSON document that was asked for"

HOW_TO_ANSWER = f"""\
# How you are asked
The whole conversation is in one message. Where it shows {ESCAPED}, read the at sign; write the sign
itself in your answer. Nobody can answer a question of yours, and there is nothing but this text:
no files, no folders and no tools other than those described here.
"""
HOW_TO_CALL = """\
Answer with `text` (what you would say, often empty) and `calls` (the tools to use, in order; empty
when there is nothing to do). Every answer starts a program and uses up one of a few: put all calls
that do not need each other's results into one answer, and call nothing just to look around.
"""
HOW_TO_SAY = "Answer with `text`: all that you have to say.\n"

Json = dict[str, Any]


class OnePrompt(msgspec.Struct, frozen=True):
    """`system` has nothing of the user's in it, so it may stand in an argument."""

    system: str
    prompt: str
    schema: Json

    @property
    def schema_text(self) -> str:
        return msgspec.json.encode(self.schema).decode()

    @property
    def whole_text(self) -> str:
        """All of it in one text, for a program that knows no system prompt and no schema."""
        return (
            f"{without_at_signs(self.system)}\n\n{self.prompt}\n\n"
            "Print one JSON document that follows this JSON schema, and nothing else:\n"
            f"{without_at_signs(self.schema_text)}\n"
        )


def one_prompt(request: ModelRequest) -> OnePrompt:
    system = [block.text for block in request.system]
    how = "" if request.answer_type else HOW_TO_CALL if request.tools else HOW_TO_SAY
    system.append(f"{HOW_TO_ANSWER}{how}")
    system += [_described(tool) for tool in request.tools]
    lines = [FIRST_LINE, *_conversation(request)]
    return OnePrompt(
        "\n".join(map(_encodable, system)),
        without_at_signs(_encodable("\n\n".join(lines))),
        answer_schema(request),
    )


def without_at_signs(text: str) -> str:
    return text.replace(AT_SIGN, ESCAPED)


def _encodable(text: str) -> str:
    """Transcripts contain lone surrogates and null characters, which no program can be given."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def _described(tool: ToolDefinition) -> str:
    schema = msgspec.json.encode(schema_of(tool.arguments)).decode()
    return f"\n## The tool {tool.name}\n{tool.description}\nIts input: {schema}"


def _conversation(request: ModelRequest) -> Iterator[str]:
    for number, turn in enumerate(request.turns):
        if isinstance(turn, AssistantTurn):
            yield f"Your answer: {turn.content_json.decode('utf-8', 'replace')}"
        elif number == 0:
            yield from (block.text for block in turn.blocks)
        else:
            yield from _later(turn)


def _later(turn: UserTurn) -> Iterator[str]:
    for block in turn.blocks:
        text = block.text.encode("utf-8", "replace").decode()
        match block:
            case ToolResult():
                fields: Json = {"call": block.call_id, "result": text}
                if block.is_error:
                    fields = {"call": block.call_id, "error": text}
                yield f"A tool's result: {msgspec.json.encode(fields).decode()}"
            case Text():
                yield f"memoryd: {msgspec.json.encode(text).decode()}"


# --- the schema of the answer -------------------------------------------------------------------


def answer_schema(request: ModelRequest) -> Json:
    if request.answer_type is not None:
        return schema_of(request.answer_type)
    if not request.tools:
        return _object({"text": {"type": "string"}})
    shared: Json = {}
    calls = [_call_schema(tool, shared) for tool in request.tools]
    schema = _object(
        {"text": {"type": "string"}, "calls": {"type": "array", "items": {"anyOf": calls}}}
    )
    return {**schema, "$defs": shared} if shared else schema


def _call_schema(tool: ToolDefinition, shared: Json) -> Json:
    schema = schema_of(tool.arguments)
    definitions = schema.pop("$defs", None)
    if isinstance(definitions, Mapping):
        shared.update(definitions)
    return _object({"tool": {"type": "string", "enum": [tool.name]}, "input": schema})


def _object(properties: Json) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


# --- the answer ---------------------------------------------------------------------------------


class _AnsweredCall(msgspec.Struct):
    tool: str
    input: Json = {}


class _AnswerDocument(msgspec.Struct):
    text: str = ""
    calls: list[_AnsweredCall] = []


def answer_in(document: bytes, request: ModelRequest, usage: Usage) -> ModelAnswer:
    """The document as an answer, or `AnswerUnreadable`."""
    try:
        # A schema for a tool or an answer was not followed: that is for the caller to find.
        value = _with_at_signs(msgspec.json.decode(document, type=Json))
        content = list(_blocks(value, request))
        message = {
            "role": "assistant",
            "content": content,
            "stop_reason": "tool_use" if content[-1]["type"] == "tool_use" else "end_turn",
        }
        answer = read_answer(msgspec.json.encode(message))
    except (ValueError, RecursionError):
        raise AnswerUnreadable(NOT_A_DOCUMENT) from None
    return msgspec.structs.replace(answer, usage=usage)


def _blocks(value: Json, request: ModelRequest) -> Iterator[Json]:
    if request.answer_type is not None:
        yield {"type": "text", "text": msgspec.json.encode(value).decode()}
        return
    document = msgspec.convert(value, _AnswerDocument)
    if document.text or not document.calls:
        yield {"type": "text", "text": document.text}
    for number, call in enumerate(document.calls, 1):
        name = f"call_{len(request.turns)}_{number}"
        yield {"type": "tool_use", "id": name, "name": call.tool, "input": call.input}


def _with_at_signs(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    match value:
        case str():
            return value.replace(ESCAPED, AT_SIGN)
        case list():
            return [_with_at_signs(one) for one in value]
        case dict():
            return {key: _with_at_signs(one) for key, one in value.items()}
        case _:
            return value


def document_in(printed: bytes) -> bytes:
    """The JSON object in what a program printed, with or without words or a fence around it."""
    start, end = printed.find(b"{"), printed.rfind(b"}")
    if start < 0 or end < start:
        raise AnswerUnreadable(NOT_A_DOCUMENT)
    return printed[start : end + 1]
