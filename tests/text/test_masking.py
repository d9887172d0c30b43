"""Secrets are masked anywhere; what only looks like one stays readable."""

import json
import random
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.text.masking.by_shape import SHAPES
from memoryd.text.masking.mask import FoundSecret, find_secrets, mask
from tests.support.examples import examples
from tests.support.secret_samples import KINDS, Draw, Sample, clean_texts, draws

TRANSCRIPTS = sorted((Path(__file__).parents[1] / "data/claude-code").rglob("*.jsonl"))
KIND_NAMES = sorted(
    {shape.kind for shape in SHAPES}
    | {"private-key", "url-password", "http-token", "http-login", "cookie"}
    | {"password", "secret", "token", "key", "aws-secret", "twilio-token", "datadog-key"}
)

AROUND_ANYTHING: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: f"before\n{text}\nafter",
    lambda text: json.dumps({"text": f"first\n{text}\nlast"}, ensure_ascii=False),
    lambda text: json.dumps(json.dumps({"content": text}, ensure_ascii=False), ensure_ascii=False),
    lambda text: f"  12\t{text}",
    lambda text: f"- {text}",
    lambda text: f"```\n{text}\n```",
    lambda text: f"日本語 {text} です",
)
AROUND_A_TOKEN: tuple[Callable[[str], str], ...] = (
    *((lambda text, a=a, b=b: f"{a}{text}{b}") for a, b in ("()", "[]", "{}", "<>", "``", "“”")),
    lambda text: f"see {text}.",
    lambda text: f"{text}, {text}; {text}",
    lambda text: f"**{text}**:",
    lambda text: f"https://example.com/?a=b&t={text}&c=d",
    lambda text: f"\x1b[32m{text}\x1b[0m",
    lambda text: f"%20{text}",
    lambda text: f"\\t{text}\\r\\n",
    lambda text: f"\\u003d{text}",
    lambda text: f"é{text}é",
)


def is_hidden(secret: str, masked: str) -> bool:
    """Whether not even ten characters in a row of the secret are left."""
    return not any(secret[at : at + 10] in masked for at in range(max(1, len(secret) - 9)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_is_hidden_in_any_surroundings(kind: str) -> None:
    for text, secret in draws(kind, 8):
        for wrap in (*AROUND_ANYTHING, *(AROUND_A_TOKEN if text == secret else ())):
            masked = mask(wrap(text))
            assert is_hidden(secret, masked), (wrap(text), masked)
            assert "[secret: " in masked


@pytest.mark.parametrize("kind", KINDS)
def test_one_round_hides_everything_and_the_masks_are_never_found(kind: str) -> None:
    for text, _ in draws(kind, 8):
        masked = text
        for finding in reversed(find_secrets(text)):
            masked = masked[: finding.start] + finding.mask + masked[finding.end :]
        assert find_secrets(masked) == []
        assert mask(text) == masked


@pytest.mark.parametrize("name", clean_texts(0))
def test_a_clean_text_is_left_alone(name: str) -> None:
    for seed in range(5):
        text = clean_texts(seed)[name]
        assert [text[found.start : found.end] for found in find_secrets(text)] == []
        assert find_secrets(json.dumps(text, ensure_ascii=False)) == []


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem[:12])
def test_no_line_of_a_real_transcript_holds_a_secret(path: Path) -> None:
    for line in path.read_text(encoding="utf-8").splitlines():
        assert find_secrets(line) == []


def test_there_are_transcripts_to_check() -> None:
    assert TRANSCRIPTS


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_a_mask_is_never_a_secret(kind: str) -> None:
    for length in (10, 1000):
        hidden = FoundSecret(kind, 0, length).mask
        for carrier in (
            "@@",
            "password=@@",
            '"token": "@@"',
            "the password is @@, not @@",
            "postgres://app:@@@db1.example.com:5432/x9",
            "Authorization: Bearer @@, retry-1a2b3c4d5e",
            "Cookie: session=@@; a=b",
            "@@: a1b2c3d4e5f6g7",
            "-----BEGIN PRIVATE KEY-----\n@@",
        ):
            text = carrier.replace("@@", hidden)
            assert find_secrets(text) == [], text


def token(d: Draw) -> str:
    return "gh" + "p_" + d.of("abcdefGHIJKL0123456789", 36)


D = Draw(random.Random(7))
TOKEN = token(D)
PASSWORD = D.password() + "!7q"
KEY = "\n".join(D.of("abcDEF0123+/", 64) for _ in range(20))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"use {TOKEN} here", "use [secret: github-token] here"),
        (
            f"psql postgres://app:{PASSWORD}@db.internal:5432/shop",
            "psql postgres://app:[secret: url-password]@db.internal:5432/shop",
        ),
        (
            f'{{"user": "app", "password": "{PASSWORD}"}}',
            '{"user": "app", "password": "[secret: password]"}',
        ),
        (
            f"TWILIO_AUTH_TOKEN={D.of('0123456789abcdef', 32)}",
            "TWILIO_AUTH_TOKEN=[secret: twilio-token]",
        ),
        (
            f"-----BEGIN PRIVATE KEY-----\n{KEY}\n-----END PRIVATE KEY-----\nthe end",
            "[secret: private-key, long]\nthe end",
        ),
        (f"a={TOKEN}&b={TOKEN}", "a=[secret: github-token]&b=[secret: github-token]"),
        (f"--password {PASSWORD} --force", "--password [secret: password] --force"),
        (f"the lab password is {PASSWORD}, ok?", "the lab password is [secret: password], ok?"),
        ("echo kim:hunter2Xq9 | chpasswd", "echo kim:[secret: password] | chpasswd"),
        ("fastcgi_param APP_SECRET Xk29dkQpz1;", "fastcgi_param APP_SECRET [secret: password];"),
        ("keytool -storepw=Xk29dkQpz1 -list", "keytool -storepw=[secret: password] -list"),
        ("rootpasswd\tXk29dkQpz1", "rootpasswd\t[secret: password]"),
        ("for your pin, enter Xk29dkQ", "for your pin, enter [secret: password]"),
        ("the safe combination: 482913", "the safe combination: [secret: code]"),
    ],
)
def test_a_mask_names_the_kind_and_hides_nothing_beside_the_secret(text: str, masked: str) -> None:
    assert mask(text) == masked


def test_findings_have_kind_and_position_in_order() -> None:
    text = f"one {TOKEN} two {TOKEN} three"
    first, second = find_secrets(text)
    assert (first.kind, text[first.start : first.end]) == ("github-token", TOKEN)
    assert text[second.start : second.end] == TOKEN
    assert first.end <= second.start


def test_a_secret_recognised_in_two_ways_is_found_once() -> None:
    for text in (f"password={TOKEN}", f"https://ci:{TOKEN}@git.example.com", f"Bearer {TOKEN}"):
        assert [found.kind for found in find_secrets(text)] == ["github-token"]


def test_letters_that_grow_in_lower_case_do_not_shift_the_mask() -> None:
    assert mask(f"İİİ password={PASSWORD} İ") == "İİİ password=[secret: password] İ"


PLACEHOLDERS = (
    *("changeme", "xxxxxxxx", "********", "<your-password>", "${DB_PASS}", "$PASSWORD1", "None"),
    *("{{ password_1 }}", "password123", "os.environ['X1']", "process.env.PASS1", "%(password)s1"),
    *("example", "/run/secrets/db1", "arn:aws:x:1:y", "my-secret-token-1", "[REDACTED]", "pw_1"),
)


@pytest.mark.parametrize("value", PLACEHOLDERS)
def test_a_placeholder_is_not_a_secret(value: str) -> None:
    for carrier in ("password={}", "password: {}", 'password = "{}"', "key={}", "--password {}"):
        assert find_secrets(carrier.format(value)) == []
    assert find_secrets(f"postgres://app:{value}@db/x") == []


@pytest.mark.parametrize(
    "expression",
    ["get_password1()", "settings.DB_PASSWORD2", "form['pw2']", "args2.pw", "row1[2]", "self.pw_1"],
)
def test_an_expression_is_not_a_secret(expression: str) -> None:
    for carrier in ("password = {}", "login(password={}, retry=2)", "token: {},", "apiKey: {};"):
        assert find_secrets(carrier.format(expression)) == []


SECRETS = st.builds(
    lambda kind, seed: KINDS[kind](Draw(random.Random(seed))),
    st.sampled_from(sorted(KINDS)),
    st.integers(0, 2**32),
)
EDGES = st.sampled_from(["\n", " ", "\n\n", "\t", "\\n", "\r\n", ". ", ", "])
FRAGMENTS = st.sampled_from(
    (
        *(
            "password",
            "pass",
            "token",
            "secret",
            "api_key",
            "key",
            "Bearer ",
            "Cookie: ",
            "is ",
            "to ",
        ),
        *(
            "=",
            ":",
            ": ",
            '"',
            "'",
            "\\",
            '\\"',
            "://",
            "@",
            "a:",
            "&",
            ";",
            ",",
            "(",
            ")",
            "[secret: ",
        ),
        *(
            "]",
            "[secret: token]",
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "eyJ",
        ),
        *(
            "AAAAAAAAAAAAAAAAAAAA",
            "a1B2c3D4e5F6g7H8",
            "hunter2",
            " ",
            "\n",
            "İ",
            "é",
            "-",
            "--",
            ".",
        ),
        *("sk-", "AKIA", "ghp_", "curl -u ", " -p", "mysql", "login x password ", "<", ">", "xxxx"),
    )
)


@examples(150)
@given(st.text(max_size=60), SECRETS, st.text(max_size=60), EDGES, EDGES)
def test_a_secret_in_random_text_is_hidden_and_stays_so(
    before: str, sample: Sample, after: str, left: str, right: str
) -> None:
    text, secret = sample
    masked = mask(f"{before}{left}{text}{right}{after}")
    assert is_hidden(secret, masked)
    assert find_secrets(masked) == []
    assert mask(masked) == masked


@examples(300)
@given(st.lists(FRAGMENTS, max_size=20).map("".join))
def test_masking_any_text_comes_to_an_end_without_findings(text: str) -> None:
    masked = mask(text)
    assert find_secrets(masked) == []
    assert re.sub(r"\[secret: [a-z0-9-]+(?:, long)?\]", "", text).count(
        "[secret: "
    ) <= masked.count("[secret: ")


@given(st.text(st.characters(exclude_categories=())))
def test_findings_are_within_the_text_and_do_not_overlap(text: str) -> None:
    done = 0
    for finding in find_secrets(text):
        assert done <= finding.start < finding.end <= len(text)
        done = finding.end


HOSTILE = (
    *(
        "a",
        "0",
        " ",
        "-",
        "=",
        "\\",
        "eyJ",
        "eyJ.",
        "eyJ_",
        "eyJaaaaaaaaaa.",
        "://",
        "://a:b",
        "://a:b@",
    ),
    *(
        "password=",
        "password:",
        'password="',
        "password ",
        "password is ",
        "pass=a1b2c3d4 ",
        "pwd=",
    ),
    *("token=", "token a ", "api_key=", "key_", "secret: ", "_auth=", "password=f(", "password=a&"),
    *("cookie=", "cookie: a=", "authorization:", "bearer ", "basic ", "[secret: a]", "密码", "İ"),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----", "Private-Lines:"),
    *("AAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----", "curl -u a:b", " -p", "login a password b "),
    *("ghp_", "sk-", "SG.aaaaaaaaaaaaaaaaaaaa.", "tskey-a", "-us", ":AA", "sig=", "M", ".atlasv1."),
)


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_text_takes_linear_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    begun = time.process_time()
    find_secrets(text)
    assert time.process_time() - begun < 1
