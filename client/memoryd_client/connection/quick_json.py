"""JSON for who starts often: the C functions of `json` without what that module loads.

Where an interpreter does not have them, or has them otherwise, `json` itself is used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BLANKS = " \t\n\r"


def no_constant(name: str) -> None:
    """NaN and Infinity, which Python would read and other programs would not."""
    raise ValueError(name)


class Reading:
    """What the scanner of `json` asks of a decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(no_constant)
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner has its own


def quick_loads() -> Callable[[bytes], object]:
    from _json import make_scanner  # noqa: PLC0415 - it may be missing

    scan = make_scanner(Reading())  # type: ignore[arg-type]  # any object with these attributes

    def loads(data: bytes) -> object:
        text = data.decode().strip(BLANKS)
        try:
            value, end = scan(text, 0)
        except (StopIteration, SystemError) as error:  # the latter where json is not loaded
            raise ValueError("not JSON") from error
        if end != len(text):
            raise ValueError("more than one value")
        return value

    if loads(b' {"a":[1,2.5,"b\\n"]} ') != {"a": [1, 2.5, "b\n"]}:
        raise ValueError("another scanner")
    return loads


def quick_dumps() -> Callable[[object], bytes]:
    from _json import encode_basestring_ascii, make_encoder  # noqa: PLC0415 - likewise

    def unknown(value: object) -> object:
        raise TypeError(f"{type(value).__name__} is not JSON")

    write = make_encoder(
        None, unknown, encode_basestring_ascii, None, ":", ",", False, False, False
    )

    def dumps(value: object) -> bytes:
        return "".join(write(value, 0)).encode()

    if dumps({"a": [1, 2.5, "b\n"]}) != b'{"a":[1,2.5,"b\\n"]}':
        raise ValueError("another encoder")
    return dumps


def slow_loads(data: bytes) -> object:
    import json  # noqa: PLC0415 - this is what takes a while

    return json.loads(data.decode(), parse_constant=no_constant)


def slow_dumps(value: object) -> bytes:
    import json  # noqa: PLC0415 - likewise

    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


# Whatever is different in another interpreter, json works.
try:
    loads, dumps = quick_loads(), quick_dumps()
except Exception:  # noqa: BLE001 - see above
    loads, dumps = slow_loads, slow_dumps
