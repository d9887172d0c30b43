"""A header is read as written, at no cost, and keeps its bytes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from memoryd.memories.rules import headers, topics
from tests.support.running import ROOT


def test_values_are_text_even_where_yaml_reads_another_type() -> None:
    fields, body = headers.read("---\nname: no\nver: 1.10\nday: 2026-01-02\n---\n\nBody.\n")
    assert fields == {"name": "no", "ver": "1.10", "day": "2026-01-02"}
    assert body == "Body."


def test_a_colon_in_a_description_is_part_of_it() -> None:
    fields, _ = headers.read("---\ndescription: rule: never mock, see #12\n---\n")
    assert fields == {"description": "rule: never mock, see #12"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"two \\"words\\" \\u2014 dash"', 'two "words" — dash'),
        ("'it''s'", "it's"),
        ('"broken \\x escape"', "broken \\x escape"),
        ("> \n  folded\n  text", "folded text"),
        ("|\n  kept\n  lines", "kept\nlines"),
        ("wrapped by a\n  YAML writer: at eighty", "wrapped by a YAML writer: at eighty"),
        ("*not an alias*", "*not an alias*"),
        ("!!python/object:os.system x", "!!python/object:os.system x"),
    ],
)
def test_every_way_to_write_a_value_is_read(text: str, value: str) -> None:
    fields, _ = headers.read(f"---\nkey: {text}\n---\n")
    assert fields == {"key": value}


def test_one_level_of_nesting_and_lists_are_read() -> None:
    text = "---\nmetadata:\n  type: user\n  node_type: memory\npaths:\n- 'a/**'\n- b\n---\n"
    fields, _ = headers.read(text)
    assert fields == {
        "metadata": {"type": "user", "node_type": "memory"},
        "paths": ["a/**", "b"],
    }
    assert headers.read("---\nmetadata: {type: user, by: 'x, y'}\n---\n")[0] == {
        "metadata": {"type": "user", "by": "x, y"}
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("{a: 'it''s, so' , b: \"x, \\\"y\"}", {"a": "it's, so", "b": 'x, "y'}),
        ("{a: it's, b: 'c' d, e: \"f}", {"a": "it's", "b": "'c' d", "e": '"f'}),
        ("{no pair, a : b,, c:}", {"a": "b", "c": ""}),
    ],
)
def test_pairs_in_braces_end_at_commas_outside_quotes(text: str, value: dict[str, str]) -> None:
    assert headers.read(f"---\nkey: {text}\n---\n")[0] == {"key": value}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no header",
        "---\nnever closed: x\n",
        "\n---\nname: too late\n---\n",
        "---\n- a list\n---\nbody",
        "---\nname: a\nname: b\n---\nbody",
        "---\n just indented\n---\nbody",
        "---\nmetadata:\n  a: 1\n  a: 2\n---\nbody",
        "---\n" + "x: " + "y" * 5000 + "\n---\nbody",
    ],
)
def test_a_broken_header_is_not_an_error(text: str) -> None:
    assert headers.read(text)[0] == {}


def bombs() -> Iterator[str]:
    laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n"
    for letter, last in zip("bcdefghi", "abcdefgh", strict=True):
        laughs += f"{letter}: &{letter} [{','.join([f'*{last}'] * 9)}]\n"
    yield laughs
    merges = "a0: &a0 {x: 1}\n"
    for n in range(1, 24):
        merges += f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n"
    yield merges
    yield "k: " + "[" * 2000 + "]" * 2000 + "\n"
    yield "k: " + "{a: " * 900 + "\n"
    yield "".join(f"{'  ' * n}k:\n" for n in range(80))
    yield "? " * 1000 + "\n"
    yield "!!python/object/apply:os.system ['true']\n"
    yield "name: x\n" * 400
    yield "k: \x00\x00\x00\n"
    yield "k: \u202e\u2066\U000e0041\n"
    yield "k: 'unclosed\n" * 200
    yield 'k: "' + "\\" * 3000 + "\n"
    yield "- " * 2000 + "\n"
    yield ": " * 2000 + "\n"
    yield "x: {" + " " * 4000 + "}\n"
    yield "x: {a" + " " * 4000 + "}\n"
    yield "x: {" + "a" * 4000 + "}\n"
    yield "x: {" + "a:'," * 1000 + "}\n"
    yield "x: {" + 'a:"\\",' * 600 + "}\n"
    yield "x: {" + "a:'''b," * 500 + "}\n"


@pytest.mark.parametrize("bomb", list(bombs()), ids=lambda bomb: repr(bomb[:18]))
def test_a_yaml_bomb_in_a_header_costs_nothing(bomb: str) -> None:
    started = time.process_time()
    headers.read(f"---\n{bomb}---\nbody\n")
    assert time.process_time() - started < 0.05


def test_a_change_touches_its_own_line_alone() -> None:
    text = (
        "---\r\n# mine\r\nname: Old\r\ncolour:   blue   # keep\r\n"
        "description: a\r\n  long one\r\n---\r\n\r\nBody\t\r\n\r\n"
    )
    assert headers.change(text, {"description": "new", "trust": "user-said"}) == (
        "---\r\n# mine\r\nname: Old\r\ncolour:   blue   # keep\r\n"
        "description: new\r\ntrust: user-said\r\n---\r\n\r\nBody\t\r\n\r\n"
    )


def test_only_comments_that_were_there_before_are_kept() -> None:
    before = "---\n# mine\nname: n\n---\n# a heading\n"
    text = before.replace("name", "# new\n  # too\nname")
    assert headers.without_new_comments(text, before) == before
    assert headers.without_new_comments("no header\n# text\n", "") == "no header\n# text\n"


def test_a_nested_field_is_changed_in_place() -> None:
    text = "---\nname: n\nmetadata:\n  type: user\n  modified: x\n---\nbody\n"
    assert headers.change(text, {"type": "feedback"}) == text.replace(
        "type: user", "type: feedback"
    )


def test_a_field_can_be_removed_with_all_its_lines() -> None:
    text = "---\nname: n\nsupersedes:\n- a.md\n- b.md\ntype: user\n---\nbody\n"
    assert headers.change(text, {"supersedes": None}) == "---\nname: n\ntype: user\n---\nbody\n"


@pytest.mark.parametrize("block", ["name: a\nname: b", "metadata:\n  a: 1\n  a: 2"])
def test_a_change_of_a_broken_header_keeps_the_whole_text_as_body(block: str) -> None:
    text = f"---\n{block}\n---\nbody"
    changed = headers.change(text, {"name": "c"})
    assert headers.read(changed) == ({"name": "c"}, text)


ANY_LINE = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=80)


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), ANY_LINE, max_size=6))
@example({"a": "\ufffe", "b": "b\uffff"})
def test_what_is_rendered_is_read_back_by_us_and_by_yaml(fields: dict[str, str]) -> None:
    flat = {key: " ".join(value.split()) for key, value in fields.items()}
    text = headers.render(fields, "body")
    assert headers.read(text) == (flat, "body")
    block = headers.sections(text).block or ""
    assert (yaml.safe_load(block) or {}) == flat


@given(st.text(max_size=300), st.text(max_size=300))
def test_the_sections_of_any_text_join_to_it(block: str, body: str) -> None:
    for text in (block, body, f"---\n{block}\n---\n{body}"):
        parts = headers.sections(text)
        assert parts.before + (parts.block or "") + parts.rest == text
        headers.read(text)


@given(ANY_LINE, ANY_LINE)
def test_a_change_can_be_read_back_and_undone(value: str, body: str) -> None:
    text = f"---\nname: first\n# note\ntype: user\n---\n{body}"
    flat = " ".join(value.split())
    changed = headers.change(text, {"name": value})
    assert headers.read(changed)[0]["name"] == flat
    assert headers.change(changed, {"name": "first"}) == text


TWO_THREADS = """
import sys, threading
sys.setswitchinterval(1e-6)
from memoryd.memories.rules import headers, topics
failures, both = [], threading.Barrier(2)

def render():
    both.wait()
    try:
        headers.render({"name": "a"}, "b")
    except BaseException as error:
        failures.append(repr(error))

threads = [threading.Thread(target=render) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert failures == [], failures
"""


def test_reading_loads_no_yaml_and_two_threads_may_write_their_first_header_at_once() -> None:
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    reads = "import sys; headers.read('---\\na: b\\n---\\n'); assert 'yaml' not in sys.modules"
    script = TWO_THREADS.replace("failures, both", f"{reads}\nfailures, both")
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


DODGES = {
    "a text under metadata": "name: n\nmetadata: |\n  trust: user-said\n  type: feedback",
    "a folded text": "name: n\nmetadata: >\n  trust: user-said",
    "near the limit": "name: n\ndescription: " + "long words " * 370,
    "near the limit, in lines": "\n".join(f"key{n}: {'x' * 60}" for n in range(60)),
    "a list under metadata": "name: n\nmetadata:\n  - trust: user-said",
    "a mapping on one line": "name: n\nmetadata: {trust: user-said, type: feedback}",
    "quotes that do not close": 'name: n\nmetadata: "\n  trust: user-said',
}


@pytest.mark.parametrize("how", DODGES)
def test_no_header_dodges_the_fields_that_we_stamp(how: str) -> None:
    text = f"---\n{DODGES[how]}\n---\n\nThe body.\n"
    after = headers.change(text, {"trust": "agent-concluded", "source": "s" * 36})
    topic = topics.parse(after)
    assert (topic.trust, topic.source) == ("agent-concluded", "s" * 36)
    assert "The body." in topic.body


PIECES = ("name", "type", ":", ": ", " :\t", "\n", "\n", "\r\n", "\r", "\x0b", "\u2028", " ", "#")
VALUES = ("words", '"', "'", "{", "}", "|", ">", "-", "- ", "no", "é", "\t", "a: b", "**", "[x]")


@given(st.lists(st.sampled_from((*PIECES, *VALUES)), max_size=14).map("".join))
@example("name: a\ntype: b \r\n")
@example("name: a\nname: b\n")
def test_a_plain_header_says_the_same_when_it_is_read_the_short_way(block: str) -> None:
    plain = headers.plain_values(block)
    if plain is not None:
        assert plain == headers.whole_values(block)
