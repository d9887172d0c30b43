"""What an agent's tools may read and write, decided by paths and names alone.

Rules
- A path is judged by the nearest root above it: the project, a memory directory, the project's
  transcripts, or a closed folder. Inside a closed folder, and outside all roots, nothing may be
  read. The system's process folders are always closed: they expose the daemon's environment.
- A project that is a whole home, what is above it, or a folder of the system is closed: it holds
  everything else of the person. Its memory directories stay open.
- Files that look like keys or credentials, by their own name or a folder's, are never read, nor are
  git's own files. Names are compared as the most lenient file system would: ignoring case, width
  and invisible characters. A data file is closed by any word of its name (`vault.yml`,
  `db-passwords.txt`); source code is not. A topic file in a memory directory may have any name.
- A transcript is only searched. Other text in the transcripts' folder (session notes) can be read.
- Only Markdown files of the run's one memory directory may be written: not its index, which is
  updated automatically, not the folders of others in it (team, logs), nothing hidden. In log mode
  it is the reverse: only the daily log.
- A denial uses fixed words that tell the model what it may do instead.
"""

import posixpath
import unicodedata
from collections.abc import Sequence
from fnmatch import translate
from itertools import pairwise
from typing import Final, Literal

import msgspec

from memoryd.base.errors import ToolError
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.text.invisible import strip_invisible
from memoryd.text.lazy_regex import late
from memoryd.text.masking.mask import find_secrets

RootKind = Literal["project", "memory", "transcripts", "closed"]
DenialReason = Literal[
    "bad-path",
    "outside",
    "looks-secret",
    "transcript",
    "no-file",
    "not-plain",
    "binary",
    "too-large",
    "not-markdown",
    "index",
    "others-folder",
    "bad-name",
    "no-header",
    "empty",
    "not-the-persons",
    "excluded",
    "log-mode",
    "wrong-scope",
    "read-first",
    "changed",
    "no-match",
    "ambiguous",
    "bad-pattern",
    "too-slow",
    "bad-command",
    "limit",
    "unknown-tool",
    "storage",
]

PATH_LIMIT_BYTES: Final = 4096
LOG_PATTERN: Final = "logs/YYYY/MM/YYYY-MM-DD.md"
# Large, and never what a memory is about.
NEVER_WALKED: Final = frozenset(
    {
        ".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox",
        ".mypy_cache", ".ruff_cache", ".pytest_cache", ".gradle", ".terraform", ".next",
    }
)  # fmt: skip

_SECRET_FOLDERS: Final = frozenset(
    {
        ".git", ".hg", ".svn", ".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud",
        ".password-store", ".mozilla", ".thunderbird", ".terraform.d", "keychains", "keyrings",
        "secrets", ".secrets",
    }
)  # fmt: skip
_SECRET_BELOW_CONFIG: Final = frozenset(
    {"gh", "gcloud", "google-chrome", "chromium", "op", "containers", "rclone", "hub"}
)
_SECRET_NAMES: Final = (
    ".env*", "*.env", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p8",
    "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdb", "*.kdbx", "*.ovpn", "*.gpg", "*.asc",
    ".netrc", "_netrc", ".authinfo*", ".npmrc", ".yarnrc*", ".pypirc", ".pgpass", ".my.cnf",
    ".git-credentials", ".gitconfig", ".htpasswd", ".dockercfg", ".dockerconfigjson", ".boto",
    ".s3cfg", ".terraformrc", ".vault-token", ".claude.json", ".*history", "*_history",
    "wallet.dat", "auth.json",
    "credentials*", ".credentials*", "*credentials.json", "*credential*.json", "*.credentials",
    "client_secret*", "service-account*.json", "service_account*.json", "*serviceaccount*.json",
    "*service-account*.json", "gha-creds-*", "secret", "secret.*", "secrets.*",
    "*.secret", "*.secrets", "*.htpasswd", "htpasswd*", "passwd*",
    "*.keychain*", "*.keytab", "*.pkcs12", "*.jwk", "*.age", "*.agekey", "*.sops.*", "*.rdp",
    "*adminsdk*.json", "*-key.json", "*_key.json", "key4.db", "logins.json", "login data*",
    "cookies*", "*cookies.sqlite", "*cookies.txt", "*.wallet", ".curlrc", ".wgetrc", ".fetchmailrc",
    ".databrickscfg", ".snowsql", ".mylogin.cnf", ".docker-config.json", "gradle.properties",
    "pip.conf", "nuget.config", "settings-security.xml", "hosts.yml", "shadow", "gshadow",
    "wg*.conf", "*.enc", "kubeconfig*", "*.kubeconfig", "*.tfstate*", "*.tfvars*",
)  # fmt: skip
_SECRET_NAME = late("|".join(map(translate, _SECRET_NAMES)))
_KEY_PAIR = late(r"id_[a-z0-9_-]+(?:\.pub)?")
_SECRET_WORDS: Final = frozenset(
    {
        "password", "passwords", "passwd", "pass", "passphrase", "passphrases", "pw", "secret",
        "secrets", "token", "tokens", "vault", "credential", "credentials", "creds", "apikey",
        "apikeys", "apitoken", "privatekey", "privkey", "mnemonic", "keystore", "keyring", "keys",
        "recovery", "otp", "totp", "2fa", "pin", "pins", "logins", "wallet", "htpasswd", "netrc",
    }
)  # fmt: skip
_DATA_ENDINGS: Final = frozenset(
    {
        "txt", "json", "yml", "yaml", "csv", "tsv", "ini", "cfg", "conf", "config", "toml", "xml",
        "env", "properties", "xlsx", "xls", "ods", "odt", "doc", "docx", "pdf", "rtf", "bak", "old",
        "orig", "save", "backup", "sql", "db", "sqlite", "log", "list", "plist", "json5", "jsonl",
    }
)  # fmt: skip
_NAME_WORDS = late(r"[^a-z0-9]+")
# Colours and spaces of a design, and what cuts a text for a model.
_HARMLESS_NAME = late(r".*(?:design|style|theme|special|tokenizer|added)[-_.]?tokens?.*|keys\.txt")
_WIDE_FOLDERS: Final = frozenset(
    {
        "/", "/home", "/Users", "/root", "/etc", "/var", "/usr", "/opt", "/srv", "/mnt", "/media",
        "/private", "/Volumes", "/Library", "/System", "/boot", "/lib",
    }
)  # fmt: skip
_SYSTEM_FOLDERS: Final = ("/proc", "/sys", "/dev", "/run")
_OTHERS_FOLDERS: Final = frozenset({"team", "logs"})
_DAILY_LOG = late(r"logs/(?:YYYY/MM/YYYY-MM-DD|\d{4}/\d\d/\d{4}-\d\d-\d\d)\.md")
_UNPRINTED = late("[\x00-\x1f\x7f\ud800-\udfff]")


class Denied(ToolError):
    """A refused tool call: one word for the log, and a sentence for the model."""

    def __init__(self, reason: DenialReason, words: str) -> None:
        super().__init__(f"not done: {words}")
        self.reason = reason


class AccessRoot(msgspec.Struct, frozen=True):
    """A folder, by its real path, and what kind of files it holds."""

    path: str
    kind: RootKind


_ALWAYS_CLOSED: Final = tuple(AccessRoot(folder, "closed") for folder in _SYSTEM_FOLDERS)


def normalized_path(path: str) -> str:
    """The path without `.`, `..` and doubled slashes; Denied if it is not a usable path."""
    if not path.strip() or not is_printed(path):
        raise Denied("bad-path", "that is not a path; give one as it was shown to you")
    if len(path.encode()) > PATH_LIMIT_BYTES:
        raise Denied("bad-path", "that path is too long")
    if path.startswith("~"):
        raise Denied("bad-path", "`~` is not expanded; give the path in full")
    plain = posixpath.normpath(path)
    return f"/{plain.lstrip('/')}" if plain.startswith("/") else plain


def is_printed(name: str) -> bool:
    """Whether a name can be shown on one line and sent as UTF-8."""
    return _UNPRINTED.search(name) is None


def is_beneath(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def nearest_root(path: str, roots: Sequence[AccessRoot]) -> AccessRoot:
    """The nearest root above a real path; Denied if there is none or it is closed."""
    above = [root for root in (*roots, *_ALWAYS_CLOSED) if _is_above(root, path)]
    nearest = max(above, key=lambda root: (len(root.path), root.kind == "closed"), default=None)
    if nearest is None or nearest.kind == "closed":
        raise Denied(
            "outside",
            "outside what you may read: the project, its memory directories and, in a dream, its"
            " transcripts",
        )
    return nearest


def is_too_wide(root: str, home: str) -> bool:
    """Whether a folder holds a whole home or system, which no run may read."""
    return root in _WIDE_FOLDERS or is_beneath(home, root)


def check_name(path: str, kind: RootKind) -> None:
    """Denied if any step of the path looks like keys, credentials or git's own files."""
    *folders, name = [normalized_name(step) for step in path.split("/")]
    is_topic = kind == "memory" and name.endswith(".md") and not name.startswith(".")
    if (
        (_names_a_secret(name) and not is_topic)
        or not _SECRET_FOLDERS.isdisjoint([*folders, name])
        or _is_below_config(folders)
    ):
        raise Denied(
            "looks-secret", "it looks like keys, credentials or git's own files; go without it"
        )


def _names_a_secret(name: str) -> bool:
    if _SECRET_NAME.match(name) or _KEY_PAIR.fullmatch(name):
        return True
    stem, _, ending = name.rpartition(".")
    if not (ending in _DATA_ENDINGS or not stem) or _HARMLESS_NAME.fullmatch(name):
        return False
    said = _NAME_WORDS.split(name)
    pairs = map("".join, pairwise(said))
    return not _SECRET_WORDS.isdisjoint((*said, *pairs))


def looks_secret(path: str, kind: RootKind) -> bool:
    try:
        check_name(path, kind)
    except Denied:
        return True
    return False


def check_readable_whole(path: str, kind: RootKind) -> None:
    """Denied for a transcript, which is long and full of other people's words."""
    if kind == "transcripts" and not path.endswith(".md"):
        raise Denied("transcript", "transcripts are not read whole; search it with a narrow Grep")


def file_to_write(path: str, folders: Sequence[str]) -> str:
    """The path inside the memory directory, known by the paths `folders`; Denied for any other."""
    plain = _inside_memory(path, folders)
    steps = plain.split("/")
    if _OTHERS_FOLDERS & {normalized_name(steps[0])}:
        raise Denied("others-folder", "team/ and logs/ are not this run's to write")
    if any(step.startswith(".") for step in steps) or plain.endswith("/"):
        raise Denied("bad-name", "hidden names are not memories")
    if find_secrets(plain):
        raise Denied("bad-name", "a name must not hold a secret; choose another")
    if normalized_name(steps[-1]) == INDEX_FILE.lower():
        raise Denied(
            "index",
            f"{INDEX_FILE} is updated automatically: write the topic file, and its line follows"
            " from the header's name and description",
        )
    if not steps[-1].endswith(".md"):
        raise Denied("not-markdown", "memories are Markdown files; end the name in .md")
    return plain


def check_log_path(path: str, folders: Sequence[str]) -> None:
    """Denied for anything but a daily log in the memory directory, known by these paths."""
    if not _DAILY_LOG.fullmatch(_inside_memory(path, folders)):
        raise Denied(
            "log-mode", f"this project keeps a log: {LOG_PATTERN} is the only file to write to"
        )


def _inside_memory(path: str, folders: Sequence[str]) -> str:
    plain = normalized_path(path)
    if plain.startswith("/"):
        below = [
            posixpath.relpath(plain, folder) for folder in folders if is_beneath(plain, folder)
        ]
        if not below:
            raise _outside_memory()
        plain = below[0]
    if plain.split("/")[0] == "..":
        raise _outside_memory()
    return plain


def _outside_memory() -> Denied:
    return Denied("outside", "outside what you may write: the memory directory of this run")


def _is_above(root: AccessRoot, path: str) -> bool:
    if root.kind == "closed":
        # A case-insensitive file system must not open a closed folder.
        return is_beneath(path.casefold(), root.path.casefold())
    return is_beneath(path, root.path)


def _is_below_config(folders: Sequence[str]) -> bool:
    return any(
        above == ".config" and below in _SECRET_BELOW_CONFIG for above, below in pairwise(folders)
    )


def normalized_name(step: str) -> str:
    """A name as the most lenient file system compares it: no case, width or invisible letters."""
    return strip_invisible(unicodedata.normalize("NFKC", step)).casefold()
