"""The header of a Markdown file: what it says, and how to change one field of it.

Rules, all enforced in this file:

- A header is a block between two `---` lines at the very start of the text, at most 4 KB long.
- It holds plain `key: value` lines, one level of nesting, simple lists and folded text. Values are
  text: `no` stays "no", `1.10` stays "1.10". Anchors, aliases, tags and merge keys are not
  expanded: no YAML loader ever sees a header, because 384 bytes of them can keep one busy for
  seconds.
- A header that breaks these rules, or has a key twice, counts as empty. It is not an error.
- A change touches the lines of its own key and no other byte of the file.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from memoryd.text.lazy_regex import late
from memoryd.text.shorten import cut_at_word, one_line

if TYPE_CHECKING:
    from frontmatter.default_handlers import BaseHandler

HEADER_LIMIT_BYTES: Final = 4096
ANEW_CHARACTERS: Final = 600

HeaderValue: TypeAlias = str | list[str] | dict[str, str]

_FENCE = late(r"---[ \t]*\r?\n")
_CLOSING = late(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_KEY = late(r"([A-Za-z_][\w.-]{0,63})[ \t]*:(?:[ \t]+(.*))?$", re.DOTALL)
_PLAIN_LINE = late(r"^([A-Za-z_][\w.-]{0,63})[ \t]*:[ \t]+([^\s{|>].*)$", re.MULTILINE)
_ITEM = late(r"[ \t]*-[ \t]+(.*)")
_FOLDED = late(r"[>|][+-]?\d?$")
_PLAIN = late(r"[A-Za-z0-9(][^\r\n\t#:\"'\\`{}\[\]&*!|>%@]*(?<! )$")
# One piece of `{key: value, ...}` with its comma; skipped if it has no key. Possessive, and tried
# only where a piece begins, so that matching takes linear time.
_PIECE = late(
    r"""(?:\s*+([A-Za-z_][\w.-]{0,63}+)\s*+:\s*+
        ("(?:[^"\\]|\\.)*+"(?=\s*+(?:,|\Z)) | '(?:[^']|'')*+'(?=\s*+(?:,|\Z)) | [^,]*+)
        | [^,]*+)\s*+(?:,|\Z)""",
    re.VERBOSE,
)
_QUOTED = json.JSONDecoder(strict=False)
# Characters that YAML does not allow, even in quotes.
_NOT_YAML = late("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_WORDS_OF_YAML = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null", "none"})


class BrokenHeaderError(ValueError):
    """The header breaks the rules; its file is a topic without metadata."""


class Sections(msgspec.Struct, frozen=True):
    """A text in three pieces that join to it byte for byte; `block` is None without a header."""

    before: str
    block: str | None
    rest: str


class HeaderEntry(msgspec.Struct, frozen=True):
    """One key with the lines that belong to it."""

    key: str
    lines: list[str]


def sections(text: str) -> Sections:
    start = 1 if text.startswith("\ufeff") else 0
    opening = _FENCE.match(text, start)
    if opening is None:
        return Sections("", None, text)
    closing = _CLOSING.search(text, opening.end(), opening.end() + HEADER_LIMIT_BYTES)
    if closing is None:
        return Sections("", None, text)
    block = text[opening.end() : closing.start()]
    if len(block.encode("utf-8", "surrogatepass")) > HEADER_LIMIT_BYTES:
        return Sections("", None, text)
    return Sections(text[: opening.end()], block, text[closing.start() :])


def read(text: str) -> tuple[dict[str, HeaderValue], str]:
    """The fields of the header and the text below it; no fields if the header is broken."""
    text = text.removeprefix("\ufeff")
    parts = sections(text)
    body = _below(text, parts)
    if parts.block is None:
        return {}, body
    try:
        return _values(parts.block), body
    except BrokenHeaderError:
        return {}, body


def body_of(text: str) -> str:
    """The text below the header, as `read` gives it."""
    text = text.removeprefix("\ufeff")
    return _below(text, sections(text))


def _below(text: str, parts: Sections) -> str:
    return text if parts.block is None else _CLOSING.sub("", parts.rest, count=1).strip()


def render(fields: Mapping[str, str], body: str) -> str:
    """A new file: the header, a blank line, the body, a newline at the end."""
    import frontmatter  # noqa: PLC0415 - see `_writer`

    post = frontmatter.Post(body.strip(), handler=_writer(), **fields)
    return frontmatter.dumps(post) + "\n"


@cache
def _writer() -> "BaseHandler":
    """python-frontmatter's way to write a header. It loads YAML, which takes 20 ms: only now."""
    import frontmatter  # noqa: PLC0415 - as said above

    class PlainHandler(frontmatter.default_handlers.BaseHandler):
        FM_BOUNDARY = _FENCE
        START_DELIMITER = END_DELIMITER = "---"

        def export(self, metadata: dict[str, object], **_: object) -> str:
            return "\n".join(f"{key}: {scalar(str(value))}" for key, value in metadata.items())

    return PlainHandler()


def change(text: str, changes: Mapping[str, str | None]) -> str:
    """The text with these fields set, or removed where None; every other byte stays.

    A field nested under `metadata` is changed there. If the result would not read back so, because
    the header is near its limit or hides the field in a text, it is rewritten from what it says.
    """
    changed = _changed_in_place(text, changes)
    return changed if _reads_back(changed, changes) else _made_anew(text, changes)


def _changed_in_place(text: str, changes: Mapping[str, str | None]) -> str:
    parts = sections(text)
    if parts.block is None or _is_broken(parts.block):
        kept = {key: value for key, value in changes.items() if value is not None}
        return render(kept, text.removeprefix("\ufeff"))
    newline = "\r\n" if parts.before.endswith("\r\n") else "\n"
    lines = parts.block.splitlines(keepends=True)
    for key, value in changes.items():
        lines = _with_field(lines, key, value, newline)
    return parts.before + "".join(lines) + parts.rest


def _reads_back(text: str, changes: Mapping[str, str | None]) -> bool:
    fields = read(text)[0]
    nested = fields.get("metadata")
    inner = nested if isinstance(nested, dict) else {}
    return all(
        fields.get(key, inner.get(key)) == (None if value is None else one_line(value))
        for key, value in changes.items()
    )


def _made_anew(text: str, changes: Mapping[str, str | None]) -> str:
    """A plain header of short fields; the body stays as it is."""
    fields, body = read(text)
    kept: dict[str, str] = {}
    for key, value in fields.items():
        flat = ", ".join(value) if isinstance(value, list) else value
        if isinstance(flat, str) and key not in changes:
            kept[key] = cut_at_word(one_line(flat), ANEW_CHARACTERS)
    fresh = {key: value for key, value in changes.items() if value is not None}
    room = HEADER_LIMIT_BYTES - len(_block(fresh))
    for key in [*kept][::-1]:
        if len(_block(kept)) > room:
            del kept[key]
    return render({**kept, **fresh}, body)


def _block(fields: Mapping[str, str]) -> bytes:
    return "".join(f"{key}: {scalar(value)}\n" for key, value in fields.items()).encode(
        "utf-8", "surrogatepass"
    )


def without_new_comments(text: str, before: str) -> str:
    """The text without the comments of its header that the text before did not have.

    No reader of the fields sees a comment, so nobody could judge it.
    """
    parts = sections(text)
    old = {line.strip() for line in (sections(before).block or "").splitlines()}
    lines = (parts.block or "").splitlines(keepends=True)
    kept = [line for line in lines if line.strip() in old or not line.lstrip().startswith("#")]
    return text if len(kept) == len(lines) else parts.before + "".join(kept) + parts.rest


def scalar(value: str) -> str:
    """The value on one line, as every YAML reader reads back the same text."""
    flat = one_line(value)
    if _is_plain(flat):
        return flat
    quoted = json.dumps(flat, ensure_ascii=False)
    return _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _is_plain(flat: str) -> bool:
    """Whether YAML reads it as the same text without quotes."""
    if not _PLAIN.match(flat) or _NOT_YAML.search(flat):
        return False
    return flat.lower() not in _WORDS_OF_YAML and not _looks_numeric(flat)


def _looks_numeric(text: str) -> bool:
    return text.replace(".", "").replace("-", "").replace("_", "").replace("e", "").isdigit()


def _is_broken(block: str) -> bool:
    """Whether `read` ignores it."""
    try:
        _values(block)
    except BrokenHeaderError:
        return True
    return False


def _values(block: str) -> dict[str, HeaderValue]:
    plain = plain_values(block)
    return plain if plain is not None else whole_values(block)


def plain_values(block: str) -> dict[str, HeaderValue] | None:
    """What a block of `key: value` lines says; None if it has anything else. Most have not."""
    pairs = _PLAIN_LINE.findall(block)
    values: dict[str, HeaderValue] = {key: _unquoted(value.strip()) for key, value in pairs}
    return values if len(values) == len(pairs) == len(block.splitlines()) else None


def whole_values(block: str) -> dict[str, HeaderValue]:
    return {entry.key: _value(entry) for entry in _entries(block)}


def _entries(block: str) -> list[HeaderEntry]:
    """The header's keys in order, each with its continuation lines."""
    found: list[HeaderEntry] = []
    for line in block.splitlines():
        if not line.strip():
            if found:
                found[-1].lines.append("")
        elif line.startswith("#"):
            continue
        elif line[0] in " \t" or (found and found[-1].lines[0] == "" and _ITEM.match(line)):
            if not found:
                raise BrokenHeaderError
            found[-1].lines.append(line)
        else:
            found.append(_entry(line))
    if len({entry.key for entry in found}) != len(found):
        raise BrokenHeaderError
    return found


def _entry(line: str) -> HeaderEntry:
    match = _KEY.match(line.rstrip())
    if match is None:
        raise BrokenHeaderError
    return HeaderEntry(match[1], [(match[2] or "").strip()])


def _value(entry: HeaderEntry) -> HeaderValue:
    first, *more = entry.lines
    if first == "" and any(line.strip() for line in more):
        return _nested([line for line in more if line.strip()])
    if _FOLDED.match(first):
        joint = "\n" if first[0] == "|" else " "
        return joint.join(line.strip() for line in more).strip()
    whole = " ".join([first, *(line.strip() for line in more)]).strip()
    if whole.startswith("{") and whole.endswith("}"):
        pieces = _PIECE.finditer(whole[1:-1])
        return {piece[1]: _unquoted(piece[2].strip()) for piece in pieces if piece[1]}
    return _unquoted(whole)


def _nested(lines: list[str]) -> HeaderValue:
    items = [_ITEM.match(line) for line in lines]
    if all(items):
        return [_unquoted(item[1].strip()) for item in items if item]
    pairs = [_KEY.match(line.strip()) for line in lines if not line.lstrip().startswith("#")]
    if not all(pairs) or len({pair[1] for pair in pairs if pair}) != len(pairs):
        raise BrokenHeaderError
    return {pair[1]: _unquoted((pair[2] or "").strip()) for pair in pairs if pair}


def _unquoted(raw: str) -> str:
    if len(raw) >= 2 and raw[0] == raw[-1] == '"':
        try:
            return str(_QUOTED.decode(raw))
        except ValueError:
            return raw[1:-1]
    if len(raw) >= 2 and raw[0] == raw[-1] == "'":
        return raw[1:-1].replace("''", "'")
    return raw


def _with_field(lines: list[str], key: str, value: str | None, newline: str) -> list[str]:
    span = _span(lines, key, indent=False) or _span(lines, key, indent=True)
    fresh = [] if value is None else [f"{key}: {scalar(value)}{newline}"]
    if span is None:
        return lines + fresh
    start, end = span
    margin = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    return lines[:start] + [margin + line for line in fresh] + lines[end:]


def _span(lines: list[str], key: str, *, indent: bool) -> tuple[int, int] | None:
    """Where the lines of a key begin and end; with `indent`, among those under `metadata`."""
    parent = None
    for number, line in _keyed(lines):
        is_nested = line[0] in " \t"
        if not is_nested:
            parent = line.partition(":")[0].strip()
        name = line.strip().partition(":")[0].rstrip()
        if name == key and is_nested == indent and (not indent or parent == "metadata"):
            end = number + 1
            while not indent and end < len(lines) and lines[end][:1] in {" ", "\t", "-"}:
                end += 1
            return number, end
    return None


def _keyed(lines: list[str]) -> Iterator[tuple[int, str]]:
    return ((n, line) for n, line in enumerate(lines) if line.strip() and line[0] != "#")
