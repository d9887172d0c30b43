"""Searching less finds the same: the shortcuts of masking against searches without them."""

import random
import re
from collections.abc import Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.text.masking import (
    by_layout,
    by_number,
    by_shape,
    credentials,
    joined,
    spoken,
    told,
)
from memoryd.text.masking import mask as masking
from memoryd.text.masking.anchors import Anchors, matches_at
from memoryd.text.masking.cut import EDGE, NEAR, masked_beginning, masked_ending
from memoryd.text.masking.idle import without_idle
from memoryd.text.masking.mask import find_secrets, mask
from memoryd.text.masking.mentions import may_tell
from memoryd.text.masking.runs import has_digits, has_words
from memoryd.text.private import PRIVATE, without_private
from memoryd.text.prose import plain

pytestmark = pytest.mark.rules

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z"[:36]
PIECES = (
    "password = ",
    '"',
    "'",
    "\n",
    " ",
    "\\\n",
    '" + "',
    "Pass Phrase",
    "the pin of the safe is 4711",
    "log in as bob with S3cret!x",
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "12345678",
    "recovery codes: ab12-cd34, ef56-gh78",
    "Cookie: sid=9f8e7d6c5b4a39281706; theme=dark",
    "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQ\n" * 3,
    "-----END PRIVATE KEY-----",
    "https://bob:hunter22x@example.org/",
    TOKEN,
    TOKEN[:20],
    TOKEN[20:],
    "zebra apple mango river stone cloud tiger lemon piano chair grass night",
    "plain words of a sentence that says nothing in particular and goes on for a while",
    "def value_of(self, key: int) -> str:  # İ and ı, パスワードは S3cret!x だ",
    "network key Wlan4711x",
    "user name, password\n",
    "login | Token |\n",
    "**Password:**\n",
    "ssn: 123-45-6789",
    "seed phrase: ",
    "x" * 70,
)
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=24).map("".join)


@given(texts)
def test_grouped_anchors_are_exactly_those_in_the_text(text: str) -> None:
    words = ["pass", "| pass", "passwd --stdin", "key", "api key ", "pin", "://", "\n", "w1"]
    assert Anchors(words).present_in(text) == {word for word in words if word in text}


@given(texts, st.data())
def test_anchors_are_found_at_every_place_of_a_text(text: str, data: st.DataObject) -> None:
    """Alone, at the ends, cut, next to each other; ASCII or not."""
    every = sorted(masking._anchors().words)
    some = data.draw(st.lists(st.sampled_from(every) | st.just(text), max_size=8))
    whole = "".join(some)
    for one in (whole, whole[1:], whole[:-1]):
        assert masking._anchors().present_in(one) == {word for word in every if word in one}


@pytest.mark.parametrize("word", ["pass", "パスワード", "\ud83d", "ssn"])
@pytest.mark.parametrize("before", [0, 1, 64 * 1024 - 2, 64 * 1024, 128 * 1024 - 1])
def test_anchors_are_found_at_every_place_of_a_long_text(word: str, before: int) -> None:
    anchors = Anchors(["pass", "パスワード", "\ud83d", "ssn", "pas"])
    held = anchors.present_in("." * before + word + "é" * 70_000)
    assert held == {one for one in anchors.words if one in word}
    assert not anchors.present_in("." * before + word[:2][:-1])


@given(texts)
def test_runs_are_those_that_a_pattern_finds(text: str) -> None:
    assert has_digits(text) == bool(re.search("[0-9]{4}[ -]?[0-9]{4}", text))
    words = re.search(r"(?:\A|(?<=[\n\t\"'`:]))(?:(?! [\s\S]{0,2} )[a-z ]){47}", text)
    assert has_words(text) == bool(words)


@pytest.mark.parametrize("characters", [64 * 1024 - 3, 64 * 1024, 70_000])
def test_a_run_is_seen_at_the_end_of_a_long_text(characters: int) -> None:
    calm = "." * (characters - 48) + "\n"
    assert has_words(calm + "abc " * 12)
    assert not has_words(calm + "abc " * 11)


@given(texts)
def test_a_line_with_a_column_or_a_label_is_a_head(text: str) -> None:
    for line in by_layout._lines(text):
        head = line.text.lower()
        is_head = by_layout._label(head) is not None or any(
            by_layout._columns(head, separator) for _, separator in by_layout._SEPARATORS
        )
        assert by_layout._is_head(text, line.start) == (
            is_head and len(line.text) <= by_layout._LINE_MAX
        )


IDLE_PIECES = (
    *("pass", "passed", "Passes", "PASSING", "pin", "ping", "spinning", "pinned", "pin code"),
    *(
        " ",
        "\n",
        ".",
        ",",
        ":",
        '"',
        "',",
        '("',
        ").send_keys(",
        " is ",
        "=",
        "e",
        "d",
        "b",
        "word",
    ),
    *(
        "S3cret!x",
        "4711",
        'set("',
        "user name, ",
        "login is ",
        "value: ",
        "</",
        ">",
        " as ",
        "x7Kq9",
    ),
)


@given(st.lists(st.sampled_from(IDLE_PIECES), max_size=14).map("".join))
def test_nothing_is_found_at_idle_anchors(text: str) -> None:
    lowered = text.lower()
    present = masking._anchors().present_in(lowered)
    busy = without_idle(lowered, present)
    assert list(masking._spans(text, lowered, busy)) == list(masking._spans(text, lowered, present))


def test_tests_that_passed_are_idle() -> None:
    for text in ("40 tests passed, 2 passes.", "mapping and typing: pinned"):
        assert not {"pass", "pin"} & without_idle(text, frozenset({"pass", "pin", "key"}))
    assert without_idle('the "passed", a pin', frozenset({"pass", "pin"})) == {"pass", "pin"}


WORDS_OF_FORMS = sorted(
    set(re.findall(r"[^\W\d_]{2,}", f"{spoken._CHOSEN} {spoken._LOGIN} {credentials._CREDENTIAL}"))
)
SPOKEN_PIECES = (
    *(
        "use ",
        "open ",
        "unlocks ",
        "with ",
        "type ",
        "say the word ",
        "sa",
        "bob",
        "as ",
        "is the ",
    ),
    *("/", ", ", ": ", "=", "'s ", "-", " ", "4711", "rosebud", "S3cret!x", "It's ", "to ", "the "),
)


@given(
    st.lists(st.sampled_from(WORDS_OF_FORMS) | st.sampled_from(SPOKEN_PIECES), max_size=10),
    st.lists(st.sampled_from(WORDS_OF_FORMS) | st.sampled_from(SPOKEN_PIECES), max_size=4),
)
def test_no_secret_is_told_without_a_word_that_may_tell_one(
    said: list[str], before: list[str]
) -> None:
    sentence, last = plain("".join(said)), plain("".join(before))
    if not may_tell(sentence) and not may_tell(last):
        assert spoken.spoken_in(sentence, last) == []
        assert credentials._MENTION.search(sentence) is None


@pytest.mark.parametrize(
    "name", ["the passphrase", "Kennwort", "пароль", "口令", "root", "API key"]
)
def test_a_name_of_a_secret_may_tell_it(name: str) -> None:
    assert may_tell(plain(f"{name}: rosebud"))
    assert not may_tell(plain("Make it blue, and run it once more."))


@given(texts)
def test_where_joints_are_they_are_expected(text: str) -> None:
    assert joined._may_have_joints(text) or not list(joined._in_order(text))


@given(texts)
def test_shapes_are_found_as_in_a_search_of_the_whole_text(text: str) -> None:
    searched = [
        found
        for row in by_shape._ROWS
        for found in by_shape._genuine(row.shape, by_shape._matches_at(row, text))
    ]
    assert set(searched) <= set(by_shape.tokens_in(text))


@pytest.mark.parametrize("shape", by_shape.SHAPES, ids=lambda shape: shape.kind)
def test_every_shape_with_an_anchor_is_one_long_run(shape: by_shape.Shape) -> None:
    """What `tokens_in` relies on, for the shortest text of each pattern."""
    chance = random.Random(4)
    pattern = re.compile(*shape.pattern._source)  # type: ignore[attr-defined]
    made = [one for one in _samples(chance) if (match := pattern.search(one)) and match[0]]
    for one in made:
        for match in pattern.finditer(one):
            assert by_shape._long_runs(match[0]) or len(match[0]) < 16


def _samples(chance: random.Random) -> list[str]:
    letters = "abcdef0123456789ABCDEFghijkXYZ"
    heads = [anchor for shape in by_shape.SHAPES for anchor in shape.anchors]
    return [
        before + head + "".join(chance.choices(letters, k=length))
        for head in heads
        for before in ("", "0" * 40)
        for length in (16, 40, 160)
    ]


@given(texts)
def test_joints_come_in_the_order_of_one_pattern(text: str) -> None:
    whole = re.compile(
        r"""(?: \\\n[ \t]*
          | ["'`][ \t]*(?:\+|\.\.?|&|\|\|)?[ \t]*\\?\n?[ \t]*\\{0,2}["'`] ) (?=[\w.-])""",
        re.VERBOSE,
    )
    found = [match.span() for match in joined._in_order(text)]
    assert found == [match.span() for match in whole.finditer(text)]


@pytest.mark.parametrize(
    ("words", "pattern"),
    [
        (told.TOLD_ANCHORS, told._HINT),
        (by_number._SEED_NAMES, by_number._SEED_NAME),
        (by_number._SOCIAL_NAMES, by_number._SOCIAL),
    ],
    ids=("hint", "seed", "social"),
)
@given(text=texts)
def test_matches_at_words_are_all_matches(
    words: Collection[str], pattern: re.Pattern[str], text: str
) -> None:
    lowered = text.replace("\u0130", "I").lower()
    every = [match.span() for match in pattern.finditer(lowered)]
    assert [match.span() for match in matches_at(words, pattern, lowered)] == every


@given(texts)
def test_cards_and_seeds_are_found_as_in_a_search_of_the_whole_text(text: str) -> None:
    lowered = text.replace("\u0130", "I").lower()
    present = frozenset(word for word in by_number.NUMBER_ANCHORS if word in lowered)
    seeds = [
        match.span("secret")
        for match in by_number._LONE_SEED.finditer(text)
        if by_number._is_seed(match["secret"].split(" "))
    ]
    cards = [
        match.span("secret")
        for digits in by_number._DIGIT_RUN.finditer(text)
        if (match := by_number._CARD.match(text, digits.start()))
        and by_number.is_card(match["secret"])
    ]
    found = {span[1:] for span in by_number.numbered_in(text, lowered, present)}
    assert {*seeds, *cards} <= found


@settings(max_examples=25)  # of long texts
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6), st.integers(-60, 60))
def test_no_secret_at_a_cut_is_left_by_looking_near(pieces: list[str], shift: int) -> None:
    """Whatever stands across the cut is masked as it was when all of the edge was searched."""
    calm = "some words of a report that goes on, line after line.\n" * (EDGE // 40)
    middle = "".join(pieces)
    text = calm + middle + calm
    at = len(calm) + len(middle) // 2 + shift
    assert masked_beginning(text, at) == _beginning(text, at)
    assert masked_ending(text, len(text) - at) == _ending(text, len(text) - at)


@pytest.mark.parametrize("gap", [0, NEAR - 200, NEAR + 200, EDGE - 2000])
def test_what_begins_far_before_a_cut_is_masked_behind_it(gap: int) -> None:
    jar = "Cookie: " + "theme=dark; " * (gap // 12) + "sid=9f8e7d6c5b4a39281706f1; x=y\n"
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggS\n" * (
        gap // 40 + 2
    )
    token = "sk-ant-" + "a1B2c3D4e5" * (gap // 10 + 4)
    calm = "a line that says nothing.\n" * 400
    for secret in (jar, key, token):
        text = calm + secret
        kept = masked_ending(text, 30)
        assert kept == _ending(text, 30)
        assert secret[-20:].strip() not in kept or secret is jar


@given(st.text(max_size=60), st.text(max_size=60))
def test_private_spans_are_seen_in_any_spelling(before: str, inside: str) -> None:
    for word in ("private", "PRIVATE", "Pr\u0131vate"):
        text = f"{before}<{word}>{inside}</private>"
        assert PRIVATE in without_private(text)


def _beginning(text: str, characters: int) -> str:
    parts: list[str] = []
    done = 0
    for found in find_secrets(text[: characters + EDGE]):
        if found.start >= characters:
            break
        parts += text[done : found.start], found.mask
        done = found.end
    return mask("".join((*parts, text[done : max(done, characters)])))[:characters]


def _ending(text: str, characters: int) -> str:
    low, first = max(0, len(text) - characters - EDGE), len(text) - characters
    parts: list[str] = []
    done = first
    for found in find_secrets(text[low:]):
        start, end = low + found.start, low + found.end
        if end > first:
            parts += text[done : max(start, done)], found.mask
            done = end
    return mask("".join((*parts, text[done:])))[-characters:]
