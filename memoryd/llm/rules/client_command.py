"""How Claude Code is started for one request: its arguments, its variables, its version.

Rules
- No tools, no settings of the user's, no MCP servers, no commands, no transcript: only the prompt.
- Variables by a list of those that may pass. A key in the environment would quietly be billed
  instead of the plan, and a base URL would lead elsewhere.
- Clients older than 2.1.200 send every request twice, or fail. Options that only newer ones know
  are used where the client's help lists them.
- MEMORYD_CHILD=1 makes our own hooks end at once, should a policy of the machine run them.
"""

import re
from collections.abc import Mapping, Sequence

from memoryd.llm.rules.one_prompt import OnePrompt

OLDEST_CLIENT = (2, 1, 200)
NEWER_OPTIONS = ("--safe-mode", "--no-chrome")
ANSWER_TOKENS = 4096
# Notes are rewritten as a whole.
NOTES_TOKENS = 16_000
OWN_FOLDER_VARIABLES = ("TMPDIR", "CLAUDE_CODE_TMPDIR")

PASSED = frozenset(
    (
        *("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "PATH", "CLAUDE_CONFIG_DIR"),
        *("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "CLAUDE_CODE_OAUTH_TOKEN"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
        *("http_proxy", "https_proxy", "no_proxy", "all_proxy"),
        *("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    )
)
SET: Mapping[str, str] = {
    "MEMORYD_CHILD": "1",
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_THINKING": "1",
    "MAX_THINKING_TOKENS": "0",
    "CLAUDE_CODE_MAX_RETRIES": "1",
    "API_TIMEOUT_MS": "90000",
}


def client_environment(env: Mapping[str, str], job: str = "") -> dict[str, str]:
    """The variables of the client; those of its own folder are added by the runner."""
    passed = {name: value for name, value in env.items() if name in PASSED and value}
    tokens = NOTES_TOKENS if job == "notes" else ANSWER_TOKENS
    return {**passed, **SET, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(tokens)}


def client_arguments(
    path: str, model: str, prompt: OnePrompt, newer_options: Sequence[str]
) -> tuple[str, ...]:
    """The whole command line; the prompt itself goes to standard input."""
    return (
        *(path, "-p", "--output-format", "stream-json", "--verbose"),
        *("--model", model, "--effort", "low"),
        *("--system-prompt", prompt.system, "--json-schema", prompt.schema_text),
        *("--tools", "", "--max-turns", "2", "--no-session-persistence"),
        *("--setting-sources", "", "--strict-mcp-config", "--disable-slash-commands"),
        *("--permission-mode", "dontAsk", *newer_options),
    )


def version_in(text: str) -> tuple[int, ...] | None:
    """The version at the start of what `--version` prints."""
    found = re.match(r"\s*(\d{1,6})\.(\d{1,6})\.(\d{1,6})\b", text)
    return tuple(map(int, found.groups())) if found else None


def newer_options_in(help_text: str) -> tuple[str, ...]:
    return tuple(option for option in NEWER_OPTIONS if re.search(rf"{option}\b", help_text))
