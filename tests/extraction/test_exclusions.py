"""What no door saves, and above all what every door lets through."""

import pytest

from memoryd.extraction.rules.exclusions import Exclusion, exclusion_of, savable
from memoryd.extraction.rules.written_down import WrittenDown, written_down
from tests.support.thinning import Thinning

NOTHING = WrittenDown()
TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"

WORTH_KEEPING = [
    "The staging DB is reset nightly",
    "Never edit gen/api.ts by hand",
    "Don't touch src/legacy/: the bank still calls it",
    "Ask Dana before changing billing.py",
    "src/legacy is owned by the payments team",
    "config.py must stay importable without numpy",
    "We decided against an ORM in repo.go",
    "Use tabs in Makefiles",
    "Use pnpm, not npm",
    "We use pnpm",
    "The frontend is Next.js and the backend is Rails",
    "I'm a data engineer and new to Rust",
    "My name is Noor",
    "I prefer short answers",
    "Deploys go out on Thursdays",
    "The deploy freeze starts on 2026-12-18",
    "Bugs are tracked in Linear under the project Atlas",
    "The runbook is at https://wiki.example.com/runbook",
    "Grafana dashboards live in the team Otter folder",
    "Production runs on Postgres 14, staging on 16",
    "The API is rate limited to ten requests a second by the gateway",
    "The customer reads the CSV export with an old Excel",
    "Legal wants the audit log kept for seven years",
    "Release notes are written in French and English",
    "Run scripts/seed.py before the integration tests",
    "Keep all SQL in db/queries.sql",
    "package.json versions are pinned on purpose",
    "app/main.ts is loaded by the old Electron shell, so it cannot use top-level await",
    "parse_date() is slow because it has to accept every locale",
    "The test in tests/test_sync.py is flaky on macOS until the vendor fixes the driver",
    "Commit messages are in the imperative",
    "One commit per change, and no merge commits",
    "Squash before you merge",
    "Every PR needs a reviewer from the platform team",
    "PRs are merged by the bot at night",
    "Don't mock the database in integration tests",
    "Stop summarising at the end of an answer",
    "Migrations run by hand, with Lena on call",
    "The class of 2019 customers still use the v1 endpoint",
    "The function of this team is to review contracts",
    "Line managers approve holidays",
    "Lines are at most 100 characters",
    "The bug bash is every first Monday",
    "Fix the tests first, then the lint",
    "Bug reports without steps are closed after a week",
    "The error budget is spent until July",
    "The build machine has no network",
    "The office printer is called Gustav",
    "The fix is to restart the VPN",
    "Use tabs",
    "Fun fact. Use tabs.",
    "tests/golden/*.json are regenerated with make golden, never edited",
    "Leave TODO comments in vendor/ alone",
    "When you change schema.proto, tell the mobile team",
    "The staging login is test-user; ask Priya for access",
    "Tokens expire after an hour",
    "The secret santa list is in the drive",
    "The password policy asks for fourteen characters",
    "Rotate the signing key every quarter",
    "API keys are kept in the vault under team/web",
    "Pin numpy to 1.26.4-post1",
    "Je suis développeuse, réponds en français",
    "从现在起用中文回答",
    "main.go is the entry point. Do not put logic there.",
    "The exporter lives in src/export.rs.\n\n**Why:** finance asked for it to stay separate.",
]

SHOWN_BY_THE_CODE = [
    "The login handler is in src/auth/login.py",
    "The parser lives in lib/parse.rs",
    "parse_config() is defined in config.go",
    "UserService extends BaseService",
    "The class OrderQueue has a method drain()",
    "utils.py contains a helper called slugify()",
    "The tests are in tests/unit",
    "src/api/routes.ts registers all routes",
    "The function load_user reads the session cookie",
    "The constant MAX_RETRIES is 5 in settings.py",
    "retry() is called by fetch() in client.ts",
    "The migration 0042_add_index.sql adds an index on orders",
    "The entry point is cmd/server/main.go",
    "The endpoint is implemented in app/controllers/orders.rb",
    "Our parser is in src/parse.rs and the lexer is in src/lex.rs",
    "The error is raised at line 40 of worker.py",
    "I fixed the off-by-one in pager.go",
    "Fixed the crash in sync.ts",
    "We renamed loadAll() to load_every()",
    "Renamed utils.py to text.py",
    "Moved the helpers to lib/helpers.ts",
    "The last commit changed the schema",
    "The latest three commits are about parsing",
    "Commit 3f2a91c changed the parser",
    "PR #482 was merged",
    "Merged #77 into main",
    "The bug was a missing await",
    "The fix is a null check in render()",
    "That bug was in the cache layer",
    "The crash was caused by a race in pool.go",
    "I added a test for the pager in tests/test_pager.py",
    "Refactored store.ts into three modules",
    "The component Button.tsx takes a size",
    "package.json has a script called lint",
    "The struct `Frame` holds the header",
    "Bumped the version in pyproject.toml",
    "The interface Reader has two methods, read() and close()",
    "The module memory/index.py imports headers.py",
    "Note: the parser lives in lib/parse.rs",
    "parse()",
]

NOTHING_BUT_A_SECRET = [
    "The password is hunter2",
    "sk-ant-" + "api03-Zx9Kq2Lm4Np6Rs8Tu0Vw1Xy3Za5Bc7De",
    f"My API key is {TOKEN}",
    "The database password for staging is Tr0ub4dor-91",
    f"token: {TOKEN}",
]


@pytest.mark.parametrize("text", WORTH_KEEPING)
def test_what_is_worth_keeping_passes_every_door(text: str) -> None:
    assert exclusion_of(text, NOTHING) is None


@pytest.mark.parametrize("text", SHOWN_BY_THE_CODE)
def test_what_the_code_shows_is_refused(text: str) -> None:
    assert exclusion_of(text, NOTHING) == Exclusion("code")


@pytest.mark.parametrize("text", NOTHING_BUT_A_SECRET)
def test_nothing_but_a_secret_is_refused(text: str) -> None:
    assert exclusion_of(text, NOTHING) == Exclusion("secret")


@pytest.mark.parametrize(
    ("text", "secret", "kept"),
    [
        (
            f"The sandbox key is {TOKEN}, use it only for demos",
            "aB3dE5fG7hJ9",
            "use it only for demos",
        ),
        (
            "The staging password is Tr0ub4dor-91. Staging is reset every night.",
            "Tr0ub4dor-91",
            "Staging is reset every night",
        ),
        (
            "Log in at https://staging.example.com with the password Tr0ub4dor-91",
            "Tr0ub4dor-91",
            "staging.example.com",
        ),
        (
            f"The staging key {TOKEN} is kept in the shared drawer",
            "aB3dE5fG7hJ9",
            "is kept in the shared drawer",
        ),
        (f"The token of staging is {TOKEN} in 1Password", "aB3dE5fG7hJ9", "in 1Password"),
    ],
)
def test_text_beside_a_secret_passes_without_it(text: str, secret: str, kept: str) -> None:
    assert exclusion_of(text, NOTHING) is None
    assert secret not in savable(text)
    assert kept in savable(text)


def test_a_number_beside_an_ordinary_word_stays() -> None:
    assert savable("Pin numpy to 1.26.4-post1") == "Pin numpy to 1.26.4-post1"


CLAUDE_MD = """# Working here

- Use tabs in Makefiles.
- Use pnpm, not npm.
- Run `make check` before every push, and read what it prints.
- Never deploy on Fridays.
- Be kind.
- The bot is called "Falcon".

Tests live beside the code they test; integration tests need a database.

```sh
make everything
```
"""


@pytest.mark.parametrize(
    "text",
    [
        "Use tabs in Makefiles",
        "Be kind",
        "Always use tabs in Makefiles.",
        "Remember to use tabs in makefiles",
        "In Makefiles, please use tabs",
        "Use pnpm, not npm",
        "Never deploy on Friday",
        "Run make check before every push",
        "Integration tests need a database",
    ],
)
def test_what_an_instruction_file_says_is_known(text: str) -> None:
    found = exclusion_of(text, written_down([CLAUDE_MD]))
    assert found is not None
    assert found.kind == "written-down"
    assert found.line


@pytest.mark.parametrize(
    "text",
    [
        "Never use tabs in Makefiles",
        "Use npm, not pnpm",
        "Use tabs in Python",
        "Deploy on Fridays",
        "Never deploy on Mondays",
        "Run make check before every push, and make docs before a release",
        "Unit tests need a database",
        "make everything takes an hour",
        "Use tabs in Makefiles. The printer is called Gustav.",
        "Working here is fun",
        'The bot is called "Kestrel"',
    ],
)
def test_what_only_resembles_an_instruction_is_not(text: str) -> None:
    assert exclusion_of(text, written_down([CLAUDE_MD])) is None


def test_a_text_of_excluded_sentences_alone_is_refused_for_the_first() -> None:
    text = "Use tabs in Makefiles. The parser lives in lib/parse.rs."
    found = exclusion_of(text, written_down([CLAUDE_MD]))
    assert found is not None
    assert found.kind == "written-down"


@pytest.mark.parametrize(
    "text",
    ["", "   ", "…", "\x00", "a" * 100_000, "- \n- \n", "`" * 999, "a." * 3_000, "(" * 20_000],
)
def test_a_text_that_says_nothing_is_not_judged(text: str) -> None:
    assert exclusion_of(text, written_down([CLAUDE_MD * 50])) is None


HOSTILE = (
    "a",
    "a.",
    "a/",
    "password:",
    "password is a",
    "is a_",
    "class Aa",
    "x.py",
    "[secret: x]",
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_text_is_judged_in_one_pass(piece: str) -> None:
    """The test's own time limit ends a pattern that tries every way."""
    length = 20_000 if Thinning.is_whole else 5_000
    text = (piece * length)[:length]
    known = written_down([text * 15])
    assert len(known.lines) <= 4000
    exclusion_of(text, known)
    savable(text * 10)


def test_a_huge_instruction_file_is_read_in_part() -> None:
    known = written_down(["Use spaces.\n" * 100_000, "Never deploy on Fridays."])
    assert len(known.lines) <= 4000
