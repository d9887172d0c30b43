"""What a person said inside a tool's result: answers to the agent's questions, reasons for a no.

Rules
- An answer is in the structured result where the client wrote one, else in the text behind the
  client's fixed words, as `"question"="answer"` pairs. Only a result of the question tool itself
  counts (`turns` checks that): any other tool can print these words.
- An answer that is one of the offered labels was written by the agent and only chosen by the
  person: it is a `choice`, and the question stays with it, or it would say nothing. Anything else
  the person typed, notes on a choice included.
- Of a refusal only what follows "the user said:" is the person's. Where the client itself speaks
  there, nothing is.
- Where the labels are unknown, an answer counts as chosen.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

from memoryd.text.lazy_regex import late

QUESTION_TOOL: Final = "AskUserQuestion"
ANSWERS_MAX: Final = 20
ANSWERED_CHARS_MAX: Final = 16 * 1024

ReplySource = Literal["answer", "choice"]

_ANSWERED: Final = late(
    r"\s*(?:User has answered your questions|Your questions have been answered)\s*:\s*"
)
_PAIR: Final = late(
    r'"(?P<question>[^\n]{1,1000}?)"="(?P<answer>.*?)"'
    r"(?P<preview>\s+selected preview:\n.*?)??(?:\s+(?:user )?notes?: (?P<notes>.*?))?"
    r'(?=[,;] "[^\n]{1,1000}?"="|\.? You can now continue|\.?\s*\Z)',
    re.DOTALL,
)
_REFUSED: Final = late(
    r"\s*(?:Error: )?(?:The user doesn['’]t want to proceed with this tool use"  # noqa: RUF001 - either
    r"|Permission for this tool use was denied)\b"
)
_REASON: Final = late(r"\bthe user said:\s*", re.IGNORECASE)
# The client's own sentences in the place of a reason, and behind one.
_CLIENT_SPEAKS: Final = late(
    r"The user (?:wants to clarify these questions|has indicated they have provided enough answers)"
)
_CLIENT_ADDS: Final = "\n\nNote: The user's next message may contain"


class GivenAnswer(msgspec.Struct, frozen=True):
    """One question of the agent and what the person answered; `labels` is None if unknown."""

    question: str
    text: str
    labels: tuple[str, ...] | None = None
    notes: str = ""


class Reply(msgspec.Struct, frozen=True):
    """A person's words in a tool result; `question` is what they were asked."""

    source: ReplySource
    text: str
    question: str = ""


class _Option(msgspec.Struct):
    label: object = None


class _Question(msgspec.Struct):
    question: object = None
    options: list[_Option] = []


class _Asked(msgspec.Struct):
    """The input of the question tool, and with `answers` its structured result."""

    questions: list[_Question]
    answers: dict[str, object] = {}
    annotations: dict[str, object] = {}


def is_answered(text: str) -> bool:
    """Whether a tool's result begins with the words in which the client hands answers over."""
    return _ANSWERED.match(text) is not None


def answers_in(text: str, result: bytes) -> tuple[GivenAnswer, ...]:
    """The answers in a tool result: its text, and the client's structured copy as JSON."""
    head = _ANSWERED.match(text)
    if head is None:
        return ()
    found = _structured(result) or _written(text[head.end() : ANSWERED_CHARS_MAX])
    return tuple(found[:ANSWERS_MAX])


def refusal_in(text: str) -> str:
    """The reason that a person gave for refusing a call; empty if there is none."""
    if not _REFUSED.match(text):
        return ""
    said = _REASON.search(text)
    reason = text[said.end() :].partition(_CLIENT_ADDS)[0].strip() if said else ""
    return "" if _CLIENT_SPEAKS.match(reason) else reason


def replies_to(asked: str, answers: tuple[GivenAnswer, ...]) -> Iterator[Reply]:
    """The answers as the person's words; `asked` is the call's input as JSON, perhaps cut."""
    offered = _labels(_decoded(asked.encode("utf-8", "replace")))
    for one in answers:
        labels = one.labels if one.labels is not None else offered.get(one.question)
        typed = "" if labels is None else _beyond(one.text, labels)
        if typed:
            yield Reply("answer", typed, one.question)
        elif one.text.strip():
            yield Reply("choice", f"{one.question} {one.text}".strip(), one.question)
        if one.notes.strip():
            yield Reply("answer", one.notes.strip(), one.question)


def _beyond(text: str, labels: tuple[str, ...]) -> str:
    """What of an answer is none of the labels; several chosen ones are joined with commas."""
    rest = text
    for label in sorted(filter(None, labels), key=len, reverse=True):
        if rest.strip() == label:
            return ""
        rest = re.sub(rf"(?:^|(?<=, )){re.escape(label)}(?:, |$)", "", rest)
    return rest.strip(" ,") if re.search(r"\w", rest) else ""


def _structured(result: bytes) -> list[GivenAnswer]:
    asked = _decoded(result) or _Asked([])
    labels = _labels(asked)
    return [
        GivenAnswer(question, answer, labels.get(question), _notes(asked.annotations.get(question)))
        for question, answer in asked.answers.items()
        if isinstance(answer, str)
    ]


def _written(pairs: str) -> list[GivenAnswer]:
    return [
        GivenAnswer(pair["question"], pair["answer"], notes=pair["notes"] or "")
        for pair in _PAIR.finditer(pairs)
    ]


def _decoded(data: bytes) -> _Asked | None:
    try:
        return msgspec.json.decode(data, type=_Asked)
    except (ValueError, RecursionError):
        return None


def _labels(asked: _Asked | None) -> dict[str, tuple[str, ...]]:
    return {
        one.question: tuple(o.label for o in one.options if isinstance(o.label, str))
        for one in (asked.questions if asked else ())
        if isinstance(one.question, str)
    }


def _notes(annotation: object) -> str:
    notes = annotation.get("notes") if isinstance(annotation, Mapping) else None
    return notes if isinstance(notes, str) else ""
