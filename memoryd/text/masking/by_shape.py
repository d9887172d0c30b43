"""Secrets that are recognised by their own shape, anywhere in a text.

A row of the table has a kind, the literal anchors that every token of the kind contains, and the
pattern of the whole. Prefixes, alphabets and lengths are those that the issuers publish. Rules:

1. Anchors are found with plain string search; the pattern runs only where there is one.
2. A pattern matches all that could belong to the token, so that no tail stays visible, and never
   fails after a long run: hostile texts take linear time.
3. A prefix that ordinary words can end with must be at the start of a word (`at_start`).
4. A shape that can be verified (a JWT's header, the user number in a Discord token) is; a short
   prefix followed by letters alone must look random (`drawn`).
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final

import msgspec

from memoryd.text.lazy_regex import late
from memoryd.text.masking.anchors import Anchors
from memoryd.text.masking.values import is_fill, is_random

# Also after an escaped line end, a percent code or a colour code.
WORD_START = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-F]{2})"
    r"|(?<=\[[0-9]m)|(?<=[0-9;][0-9]m))"
)
_HEX = "[0-9a-f]"
_UPPER = "[A-Z0-9]"
_ALNUM = "[A-Za-z0-9]"
_URL64 = "[A-Za-z0-9_-]"
_BASE64 = "[A-Za-z0-9+/]"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def _anything(_token: str) -> bool:
    return True


class Shape(msgspec.Struct, frozen=True):
    """One kind of token; `before` is the number of its characters before the anchor."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    before: int = 0
    is_genuine: Callable[[str], bool] = _anything
    is_one_word: bool = True


def _prefixed(
    kind: str, prefixes: str, body: str, *, at_start: bool = False, drawn: bool = False
) -> Shape:
    anchors = tuple(prefixes.split())
    start = WORD_START if at_start else ""
    heads = "|".join(map(re.escape, anchors))
    return Shape(
        kind,
        anchors,
        late(f"{start}(?:{heads}){body}", re.ASCII),
        is_genuine=is_random if drawn else _anything,
        is_one_word=not set("/%@$") & {*prefixes, *body},
    )


def _around(kind: str, anchor: str, before: int, pattern: str) -> Shape:
    return Shape(kind, (anchor,), late(pattern, re.ASCII), before)


def _has_jwt_header(token: str) -> bool:
    head = token.partition(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return False
    return isinstance(header, dict) and ("alg" in header or "enc" in header)


def _names_a_user(token: str) -> bool:
    head = token.partition(".")[0]
    try:
        return base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)).isdigit()
    except (ValueError, binascii.Error):
        return False


SHAPES: tuple[Shape, ...] = (
    # clouds
    _prefixed("aws-access-key", "AKIA ASIA ABIA ACCA", f"{_UPPER}{{16,}}", at_start=True),
    _prefixed("aws-bedrock-key", "ABSK", f"{_BASE64}{{100,}}={{0,2}}", at_start=True),
    _prefixed("gcp-api-key", "AIza", f"{_URL64}{{35,}}"),
    _prefixed("google-oauth-secret", "GOCSPX-", f"{_URL64}{{24,}}"),
    _prefixed("google-oauth-token", "ya29.", "[A-Za-z0-9_.-]{20,}", at_start=True),
    _prefixed("google-refresh-token", "1//0", f"{_URL64}{{40,}}", at_start=True),
    _around("azure-storage-key", "+ASt", 76, rf"{_BASE64}{{76}}\+ASt{_BASE64}{{6}}=="),
    _around("azure-devops-token", "AZDO", 76, f"{_ALNUM}{{76}}AZDO{_ALNUM}{{4}}"),
    _around("azure-client-secret", "Q~", 4, r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}"),
    _prefixed("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", f"{_HEX}{{60,}}"),
    _prefixed("cloudflare-token", "cfk_ cfut_ cfat_", f"{_ALNUM}{{40,}}", at_start=True),
    _prefixed("cloudflare-origin-key", "v1.0-", f"{_HEX}{{24}}-{_HEX}{{140,}}"),
    _prefixed("heroku-key", "HRKU-", f"{_URL64}{{36,}}"),
    _prefixed(
        "vercel-token", "vcp_ vci_ vca_ vcr_ vck_", f"{_ALNUM}{{24,}}", at_start=True, drawn=True
    ),
    _prefixed(
        "netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", f"{_ALNUM}{{30,}}", at_start=True, drawn=True
    ),
    _prefixed("fly-token", "fo1_", f"{_URL64}{{40,}}", at_start=True),
    _prefixed("fly-token", "fm1_ fm1a_ fm1r_ fm2_", "[A-Za-z0-9+/_=,-]{80,}", at_start=True),
    _prefixed("alibaba-key", "LTAI", f"{_ALNUM}{{12,}}", at_start=True, drawn=True),
    _prefixed("supabase-key", "sbp_ sb_secret_", "[A-Za-z0-9_-]{30,}", at_start=True, drawn=True),
    _prefixed("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w=.-]{32,}"),
    _prefixed("tailscale-key", "tskey-", "[a-z]+-[A-Za-z0-9]{6,}(?:-[A-Za-z0-9]{10,})?"),
    # forges and their relatives
    _prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{_ALNUM}{{30,}}"),
    _prefixed("github-token", "github_pat_", "[A-Za-z0-9_]{60,}"),
    _prefixed(
        "gitlab-token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct-",
        "[A-Za-z0-9_.-]{20,}",
    ),
    _prefixed("gitlab-token", "GR1348941", f"{_URL64}{{20,}}"),
    _prefixed("bitbucket-token", "ATBB", "[A-Za-z0-9_=-]{24,}", at_start=True, drawn=True),
    _prefixed("bitbucket-token", "BBDC-", "[A-Za-z0-9+/@_-]{40,}"),
    _prefixed("atlassian-token", "ATATT3 ATCTT3 ATSTT3", "[A-Za-z0-9_=-]{60,}"),
    _prefixed("sonar-token", "sqp_ sqa_ squ_", f"{_HEX}{{40,}}", at_start=True),
    _prefixed("buildkite-token", "bkua_", f"{_HEX}{{40,}}"),
    _prefixed("circleci-token", "CCIPAT_ CCIPRJ_", "[A-Za-z0-9_]{40,}"),
    # chat and mail
    _prefixed(
        "slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs-", "[\\w%-]{20,}"
    ),
    _prefixed("slack-token", "xoxe.xox", f"[bp]-{_URL64}{{20,}}"),
    _prefixed("slack-token", "xapp-", f"[0-9]-{_URL64}{{20,}}"),
    _prefixed(
        "slack-webhook",
        "hooks.slack.com/",
        "(?:services|workflows|triggers)/(?P<secret>[\\w/]{30,})",
    ),
    _prefixed("discord-webhook", "/api/webhooks/", f"[0-9]{{16,20}}/(?P<secret>{_URL64}{{50,}})"),
    _prefixed("teams-webhook", ".webhook.office.com/", "webhookb2/(?P<secret>[\\w@/-]{60,})"),
    _around("telegram-token", ":AA", 8, f"[0-9]{{8}}:(?P<secret>AA{_URL64}{{32,}})"),
    _prefixed("twilio-key", "SK", f"{_HEX}{{32}}(?![0-9A-Za-z])", at_start=True),
    _prefixed("sendgrid-key", "SG.", rf"{_URL64}{{16,}}\.{_URL64}{{32,}}", at_start=True),
    _prefixed("mailgun-key", "key- pubkey-", f"{_HEX}{{32,}}", at_start=True),
    _around("mailchimp-key", "-us", 32, f"{_HEX}{{32}}-us[0-9]{{1,2}}(?![0-9a-z])"),
    _prefixed("brevo-key", "xkeysib- xsmtpsib-", f"{_HEX}{{60,}}-{_ALNUM}{{16,}}"),
    _prefixed("resend-key", "re_", f"{_ALNUM}{{8}}_{_ALNUM}{{22,}}", at_start=True),
    # payment and shops
    _prefixed(
        "stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_", f"{_ALNUM}{{16,}}"
    ),
    _prefixed("stripe-webhook-secret", "whsec_", "[A-Za-z0-9+/_=-]{24,}"),
    _prefixed("square-token", "sq0atp- sq0csp- sq0idb-", f"{_URL64}{{22,}}"),
    _prefixed("square-token", "EAAA", f"{_URL64}{{56,}}", at_start=True),
    _prefixed(
        "braintree-token",
        "access_token$",
        rf"(?:production|sandbox)\$[0-9a-z]{{12,}}\${_HEX}{{32,}}",
    ),
    _prefixed("shopify-token", "shpat_ shpca_ shppa_ shpss_ shpua_", "[0-9a-fA-F]{32,}"),
    _prefixed("plaid-token", "access-sandbox- access-development- access-production-", _UUID),
    # package registries
    _prefixed("npm-token", "npm_", f"{_ALNUM}{{36,}}", at_start=True, drawn=True),
    _prefixed("pypi-token", "pypi-AgE", f"{_URL64}{{50,}}"),
    _prefixed("rubygems-key", "rubygems_", f"{_HEX}{{48,}}"),
    _prefixed("crates-token", "cio", f"{_ALNUM}{{32}}(?![0-9A-Za-z])", at_start=True),
    _prefixed("nuget-key", "oy2", "[a-z0-9]{43}(?![0-9A-Za-z])", at_start=True),
    _prefixed("docker-token", "dckr_pat_ dckr_oat_", f"{_URL64}{{20,}}"),
    _prefixed("artifactory-key", "AKCp", f"{_ALNUM}{{60,}}", at_start=True),
    _prefixed("clojars-token", "CLOJARS_", "[0-9a-z]{60,}"),
    # models
    _prefixed("anthropic-key", "sk-ant-", f"{_URL64}{{24,}}", at_start=True),
    _prefixed("openrouter-key", "sk-or-", f"v1-{_HEX}{{40,}}", at_start=True),
    _prefixed(
        "openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", f"{_URL64}{{20,}}", at_start=True
    ),
    _prefixed("openai-key", "sk-", f"{_ALNUM}{{20,}}", at_start=True, drawn=True),
    _prefixed("huggingface-token", "hf_ api_org_", f"{_ALNUM}{{30,}}", at_start=True, drawn=True),
    _prefixed("groq-key", "gsk_", f"{_ALNUM}{{40,}}", at_start=True),
    _prefixed("xai-key", "xai-", f"{_ALNUM}{{60,}}", at_start=True),
    _prefixed("replicate-token", "r8_", f"{_ALNUM}{{30,}}", at_start=True),
    _prefixed("perplexity-key", "pplx-", f"{_ALNUM}{{40,}}", at_start=True),
    _prefixed("nvidia-key", "nvapi-", f"{_URL64}{{50,}}", at_start=True),
    _prefixed("langsmith-key", "lsv2_pt_ lsv2_sk_", f"{_HEX}{{32}}_{_HEX}{{10,}}"),
    _prefixed("pinecone-key", "pcsk_", "[A-Za-z0-9_]{40,}", at_start=True),
    _prefixed("tavily-key", "tvly-", f"{_URL64}{{24,}}", at_start=True),
    # services
    _prefixed("linear-key", "lin_api_ lin_oauth_", f"{_ALNUM}{{32,}}"),
    _prefixed("notion-token", "secret_", f"{_ALNUM}{{43,}}", at_start=True, drawn=True),
    _prefixed("notion-token", "ntn_", f"{_ALNUM}{{40,}}", at_start=True, drawn=True),
    _prefixed("figma-token", "figd_ figdr_ figdh_ figu_ figur_", f"{_URL64}{{36,}}", at_start=True),
    _prefixed("sentry-token", "sntrys_", "[A-Za-z0-9+/=_-]{60,}"),
    _prefixed("sentry-token", "sntryu_", f"{_HEX}{{60,}}"),
    _prefixed(
        "newrelic-key", "NRAK- NRAA- NRBR- NRII- NRIQ- NRRA- NRSP- NRJS-", f"{_URL64}{{19,}}"
    ),
    _around("newrelic-key", "NRAL", 36, f"{_HEX}{{36}}NRAL"),
    _prefixed("grafana-token", "glc_", "[A-Za-z0-9+/]{32,}={0,2}", at_start=True),
    _prefixed("grafana-token", "glsa_", f"{_ALNUM}{{32}}_[0-9A-Fa-f]{{8}}"),
    _prefixed("grafana-token", "eyJrIjoi", "[A-Za-z0-9+/]{40,}={0,2}", at_start=True),
    _prefixed("databricks-token", "dapi dose", f"{_HEX}{{32,}}(?:-[0-9])?", at_start=True),
    _prefixed("vault-token", "hvs. hvb. hvr.", f"{_URL64}{{24,}}", at_start=True),
    _around("terraform-token", ".atlasv1.", 14, rf"{_ALNUM}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{40,}}"),
    _prefixed(
        "doppler-token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        "[\\w.-]{40,}",
        at_start=True,
    ),
    _prefixed("onepassword-token", "ops_eyJ", "[A-Za-z0-9+/_=-]{200,}", at_start=True),
    _prefixed("postman-key", "PMAK-", f"{_HEX}{{24}}-{_HEX}{{34,}}"),
    _around("airtable-token", "pat", 0, rf"{WORD_START}pat{_ALNUM}{{14}}\.{_HEX}{{64}}"),
    _prefixed("contentful-token", "CFPAT-", f"{_URL64}{{40,}}"),
    _prefixed("dynatrace-token", "dt0c01. dt0s16.", rf"{_UPPER}{{20,}}\.{_UPPER}{{60,}}"),
    _prefixed("hubspot-token", "pat-na1- pat-na2- pat-eu1-", _UUID),
    _prefixed("pulumi-token", "pul-", f"{_HEX}{{40,}}", at_start=True),
    _prefixed("posthog-key", "phx_", f"{_ALNUM}{{40,}}", at_start=True),
    _prefixed("mapbox-token", "sk.eyJ", rf"{_URL64}{{40,}}\.{_URL64}{{20,}}", at_start=True),
    _prefixed("facebook-token", "EAAB EAAC EAAG EAAM", f"{_ALNUM}{{80,}}", at_start=True),
    _prefixed("age-key", "AGE-SECRET-KEY-", "[0-9A-Z]{50,}"),
    # signed tokens, and those without a prefix
    Shape(
        "jwt",
        ("eyJ",),
        late(rf"(?<![_-]){WORD_START}eyJ{_URL64}{{8,}}(?:\.{_URL64}+){{1,4}}"),
        is_genuine=_has_jwt_header,
    ),
    _prefixed("signed-url", "-Signature= &Signature=", "(?P<secret>[A-Za-z0-9%~+/=_-]{40,})"),
    _prefixed("azure-sas", "sig=", "(?P<secret>[A-Za-z0-9%+/]{40,}(?:=|%3D)*)", at_start=True),
    Shape(
        "aws-secret-key",
        ("AKIA", "ASIA"),
        late(
            rf"A[KS]IA{_UPPER}{{16}}[^A-Za-z0-9]{{1,12}}(?P<secret>{_BASE64}{{36,44}})(?!{_BASE64})"
        ),
    ),
    Shape(
        "discord-token",
        (),
        late(rf"[MNO]{_URL64}{{22,27}}\.{_URL64}{{6}}\.{_URL64}{{27,}}"),
        is_genuine=_names_a_user,
    ),
)

# Every token with an anchor is one long run of characters without a blank, and nearly every one a
# long word. Runs are found in the text with token characters as `x` and others as blanks.
_RUN_CHARACTERS: Final = frozenset(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-%+/=,@$~:&"
)
_FLAT: Final = bytes(120 if chr(at) in _RUN_CHARACTERS else 32 for at in range(256))
_LONG_RUN: Final = b"x" * 16
_UNANCHORED_RUN: Final = b"x" * 58
_LONG_WORD = late(r"\b[\w.-]{16,}", re.ASCII)
_WORD_CHARACTERS: Final = _RUN_CHARACTERS - set("%+/=,@$~:&")
_UNANCHORED = tuple(shape for shape in SHAPES if not shape.anchors)


class _Row(msgspec.Struct, frozen=True):
    """A shape at one of its anchors; whether its tokens are long words."""

    anchor: str
    shape: Shape
    is_one_word: bool


def _rows() -> list[_Row]:
    """Those in words come first: where two begin together, they name the kind."""
    rows = [
        _Row(anchor, shape, shape.is_one_word and _WORD_CHARACTERS.issuperset(anchor))
        for shape in SHAPES
        for anchor in shape.anchors
    ]
    return sorted(rows, key=lambda row: not row.is_one_word)


_ROWS: Final = _rows()
_ROWS_AT: Final = {
    anchor: [number for number, row in enumerate(_ROWS) if row.anchor == anchor]
    for anchor in {row.anchor for row in _ROWS}
}


def tokens_in(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of every secret with a known shape."""
    if found := _anchors().present_in(text):
        yield from _anchored_in(text, found)
    if _may_have_unanchored(text):
        for shape in _UNANCHORED:
            yield from _genuine(shape, shape.pattern.finditer(text))


def _anchored_in(text: str, found: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    rows = [_ROWS[number] for number in sorted(one for word in found for one in _ROWS_AT[word])]
    matching = [(row, ones) for row in rows if (ones := list(_matches_at(row, text)))]
    if not matching:
        return
    runs = "\n".join(_long_runs(text))
    long_words = "\n".join(_LONG_WORD.findall(runs))
    for row, matches in matching:
        if row.anchor in (long_words if row.is_one_word else runs):
            yield from _genuine(row.shape, matches)


@cache
def _anchors() -> Anchors:
    return Anchors(_ROWS_AT)


def _may_have_unanchored(text: str) -> bool:
    """Whether a run is long enough and has two dots."""
    if text.count(".") < 2 or _UNANCHORED_RUN not in _flat(text):
        return False
    least = len(_UNANCHORED_RUN)
    return any(len(run) >= least and run.count(".") > 1 for run in _long_runs(text))


def _flat(text: str) -> bytes:
    return text.encode("ascii", "replace").translate(_FLAT)


def _long_runs(text: str) -> list[str]:
    flat = _flat(text)
    runs: list[str] = []
    at = flat.find(_LONG_RUN)
    while at >= 0:
        end = flat.find(b" ", at + len(_LONG_RUN))
        end = len(flat) if end < 0 else end
        runs.append(text[at:end])
        at = flat.find(_LONG_RUN, end)
    return runs


def _genuine(shape: Shape, matches: Iterable[re.Match[str]]) -> Iterator[tuple[str, int, int]]:
    for match in matches:
        group = "secret" if "secret" in match.re.groupindex else 0
        if not is_fill(match[group]) and shape.is_genuine(match[0]):
            yield shape.kind, *match.span(group)


def _matches_at(row: _Row, text: str) -> Iterator[re.Match[str]]:
    anchor, shape = row.anchor, row.shape
    at = text.find(anchor)
    while at >= 0:
        match = shape.pattern.match(text, at - shape.before) if at >= shape.before else None
        if match:
            yield match
        at = text.find(anchor, max(match.end() if match else 0, at + 1))
