"""Changes one place of a JSON text and leaves every other byte of it as it is.

Rules:
- A place is a path: keys of objects and numbers of list items, from the outside in.
- What is put in is written as its neighbours are: on lines of their own and indented like them, or
  on one line with them, with the line ends that the text has.
- Taking out what was put in gives back the text as it was, but for space in an empty container.
- Only the containers on the way to the place are looked into. A key that stands twice in one of
  them is refused: readers of JSON do not agree on which of the two counts.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

Path = Sequence[str | int]
DECODER = json.JSONDecoder()
SPACE = re.compile(r"[ \t\r\n]*")
INDENTATION = re.compile(r"\n([ \t]+)\"")
LINE_START = re.compile(r"[ \t]*")


class Twice(ValueError):
    """A key that leads to the place stands more than once."""


class Part(NamedTuple):
    """A member of an object or an item of a list: its key or number, and where it stands."""

    name: str | int
    start: int
    value: int
    end: int


def put(text: str, path: Path, value: object) -> str:
    """The text with a new last member, or a new last item, at `path`."""
    container = place_of(text, path[:-1])
    inner = list(parts_of(text, container))
    name = "" if isinstance(path[-1], int) else json.dumps(path[-1], ensure_ascii=False) + ": "
    if inner:
        own_lines = "\n" in text[container + 1 : inner[0].start]
        gap = line_end(text) + indented_at(text, inner[0].start) if own_lines else None
        new = f",{gap or ' '}{name}{written(value, text, gap)}"
        return text[: inner[-1].end] + new + text[inner[-1].end :]
    end = DECODER.raw_decode(text, container)[1]
    outer = line_end(text) + indented_at(text, container) if "\n" in text else None
    gap = None if outer is None else outer + indentation(text)
    new = f"{gap or ''}{name}{written(value, text, gap)}{outer or ''}"
    return text[: container + 1] + new + text[end - 1 :]


def cut(text: str, path: Path) -> str:
    """The text without what stands at `path`."""
    container = place_of(text, path[:-1])
    inner = list(parts_of(text, container))
    at = next(number for number, part in enumerate(inner) if part.name == path[-1])
    if len(inner) == 1:
        end = DECODER.raw_decode(text, container)[1]
        return text[: container + 1] + text[end - 1 :]
    if at == 0:
        return text[: inner[0].start] + text[inner[1].start :]
    return text[: inner[at - 1].end] + text[inner[at].end :]


def place_of(text: str, path: Path) -> int:
    """Where the value at a path begins; raises KeyError when there is none."""
    place = after_space(text, 0)
    for name in path:
        found = [part for part in parts_of(text, place) if part.name == name]
        if len(found) > 1:
            raise Twice(str(name))
        if not found:
            raise KeyError(name)
        place = found[0].value
    return place


def parts_of(text: str, container: int) -> Iterator[Part]:
    """What an object or a list holds, in the order of the text; nothing for any other value."""
    if text[container] not in "{[":
        return
    is_object = text[container] == "{"
    place, number = after_space(text, container + 1), 0
    while text[place] not in "}]":
        start, name = place, number
        if is_object:
            name, place = DECODER.raw_decode(text, start)
            place = after_space(text, after_space(text, place) + 1)
        value = place
        place = DECODER.raw_decode(text, value)[1]
        yield Part(name, start, value, place)
        number += 1
        place = after_space(text, place)
        if text[place] == ",":
            place = after_space(text, place + 1)


def after_space(text: str, place: int) -> int:
    found = SPACE.match(text, place)
    return found.end() if found else place


def written(value: object, text: str, gap: str | None) -> str:
    """The value as its neighbours are written; `gap` parts lines, None is for one line."""
    if gap is None:
        return json.dumps(value, ensure_ascii=False)
    return gap.join(json.dumps(value, ensure_ascii=False, indent=indentation(text)).split("\n"))


def indented_at(text: str, place: int) -> str:
    """The space that the line of a place begins with."""
    found = LINE_START.match(text, text.rfind("\n", 0, place) + 1)
    return found[0] if found else ""


def indentation(text: str) -> str:
    found = INDENTATION.search(text)
    return found[1] if found else "  "


def line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
