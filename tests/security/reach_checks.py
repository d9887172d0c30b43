"""What an evil model may read, and which files of strangers are obeyed."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio

from memoryd.agent.rules import access
from memoryd.agent.view import View
from memoryd.base.paths import name_is_plain
from memoryd.memories.instruction_files import InstructionDisk
from memoryd.memories.rules.project_root import project_root
from memoryd.memories.scopes import RealFiles
from memoryd.system.plain_file import read_plain
from memoryd.transcripts.file import open_transcript
from memoryd.transcripts.scan import scan
from tests.security.tally import Tally
from tests.support.sandbox import CANARY, HOSTILE_PATHS, sandbox, swapping

STRANGER = 1234
SENSITIVE = """
.env .env.local .env.production prod.env .envrc passwords.txt passwords.csv my-passwords.xlsx
password.txt db_password.txt vault.yml vault.yaml vault.json ansible-vault.yml
group_vars/all/vault.yml token.json token.txt tokens.json access_token.txt refresh-token.json
github_token.txt api_token secrets.yml secrets.json secrets.toml secrets.yaml app-secrets.json
secret.txt client_secret.json credentials credentials.json credentials.csv aws-credentials.txt
creds.json creds.txt db-creds.yml id_rsa id_rsa.pub id_ed25519 id_deploy server.key server.pem
cert.p12 cert.pfx key.p8 login.keychain-db passwords.kdbx store.jks debug.keystore vpn.ovpn
wg0.conf secret.gpg mail.asc .netrc _netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials
.htpasswd htpasswd .dockercfg .dockerconfigjson .boto .s3cfg .terraformrc .vault-token
.claude.json .bash_history .psql_history wallet.dat auth.json service-account.json
firebase-adminsdk-x.json kubeconfig prod.kubeconfig terraform.tfstate prod.tfvars private_key.txt
privkey.txt apikey.txt api-keys.json recovery-codes.txt mnemonic.txt otp.txt 2fa-backup.txt
logins.json cookies.txt cookies.sqlite key4.db .ssh/config .aws/config .gnupg/x .kube/config
.docker/config.json .azure/x.json .config/gh/hosts.yml .password-store/a.gpg secrets/db.txt
.secrets/x master.key production.sops.yaml app.jwk host.keytab backup.age gradle.properties
pip.conf .git/config .git/HEAD keystore.json pin.txt pw.txt pass.txt netrc.bak passwd shadow
.authinfo
""".split()  # noqa: SIM905 - a list of words
ORDINARY = """
README.md src/main.py src/auth.py src/token.py src/tokens.ts src/password_reset.py
src/secrets_manager.go src/vault.rs tokenizer.json design-tokens.json package.json tsconfig.json
settings.yml config.toml docs/passwords.md docs/authentication.md test_login.py keyboard.txt
monkey.csv passenger.csv compass.json bypass.txt tests/password.test.ts id_map.py keys.py Makefile
notes.txt data.csv
""".split()  # noqa: SIM905 - a list of words


def a_home_as_project(folder: Path, _scale: float) -> Tally:
    """In the person's home, and above it, a run reads nothing but memories."""
    violations: list[str] = []
    before = os.environ["HOME"]

    async def run() -> None:
        with sandbox(folder) as box:
            os.environ["HOME"] = str(box.project)
            for name in (*SENSITIVE, *ORDINARY):
                place = box.put(name, CANARY)
                for root in (box.project, box.project.parent, Path("/")):
                    view = View(str(root), box.directory)
                    box.tools = box.tools_for(view)
                    if CANARY in await box.said("Read", file_path=str(place)):
                        violations.append(f"{name} in {root}")

    try:
        anyio.run(run)
    finally:
        os.environ["HOME"] = before
    return Tally("files of a whole home", 3 * len((*SENSITIVE, *ORDINARY)), violations)


def names_that_say_secret(folder: Path, _scale: float) -> Tally:
    violations: list[str] = []

    async def run() -> None:
        with sandbox(folder) as box:
            for name in SENSITIVE:
                box.put(name, CANARY)
                if CANARY in await box.said("Read", file_path=str(box.project / name)):
                    violations.append(name)
            said = await box.said("Grep", pattern=CANARY, path=str(box.project))
            violations.extend(line for line in said.splitlines() if CANARY in line)

    anyio.run(run)
    return Tally("names that say secret, in a repository", len(SENSITIVE) + 1, violations)


def ordinary_names(_: Path, _scale: float) -> Tally:
    closed = [name for name in ORDINARY if access.looks_secret(name, "project")]
    return Tally("ordinary names that are closed by mistake", len(ORDINARY), closed)


def hostile_paths(folder: Path, _scale: float) -> Tally:
    violations: list[str] = []

    async def run() -> None:
        with sandbox(folder) as box:
            for path in HOSTILE_PATHS:
                said = await box.said("Read", file_path=path)
                violations.extend([path] * (CANARY in said))

    anyio.run(run)
    return Tally("paths that lead out", len(HOSTILE_PATHS), violations)


def instruction_races(folder: Path, scale: float) -> Tally:
    """A folder on the way is swapped for a link to another place between check and open."""
    inside, outside = folder / "repo/docs", folder / "private"
    for place, text in ((inside, "inside"), (outside, CANARY)):
        place.mkdir(parents=True)
        (place / "rules.md").write_text(text)
    (folder / "repo/link").symlink_to(outside)
    disk = InstructionDisk()
    wanted = str(inside / "rules.md")
    escapes: list[str] = []
    seen = tried = 0
    with swapping(inside, folder / "repo/link"):
        for _ in range(int(30_000 * scale)):
            disk.forget()
            document = disk.document(wanted)
            tried += 1
            if document is not None:
                seen += 1
                if CANARY in document.whole:
                    escapes.append("read through a link")
    if not seen:
        escapes.append("nothing was read at all")
    return Tally("races for an imported instruction file", tried, escapes)


def foreign_owners(folder: Path, _scale: float) -> Tally:
    """Files of another user are not obeyed; only root can set this up."""
    if os.geteuid() != 0:
        return Tally("files of another user (needs root to try)", 0, [])
    folder.mkdir(exist_ok=True)
    obeyed: list[str] = []
    names = ("CLAUDE.md", "settings.json", ".git", "history.jsonl", "summary.md")
    for name in names:
        place = folder / name
        place.write_text(CANARY)
        shutil.chown(place, STRANGER)
        try:
            read_plain(place, 1000)
            obeyed.append(name)
        except OSError:
            pass
        if InstructionDisk().document(str(place)) is not None:
            obeyed.append(name)
    obeyed += _foreign_repositories(folder / "shared")
    obeyed += _foreign_transcripts(folder / "projects")
    return Tally("files of another user", 2 * len(names) + 5, obeyed)


def _foreign_repositories(shared: Path) -> list[str]:
    """A `.git` of a stranger above our folder, whole or made of links to a repository of ours."""
    ours = shared / "ours/.git"
    (ours / "objects").mkdir(parents=True)
    (ours / "refs").mkdir()
    (ours / "HEAD").write_text("ref: refs/heads/main\n")
    forms: dict[str, Callable[[Path], object]] = {
        "a copy": lambda git: shutil.copytree(ours, git),
        "a link": lambda git: git.symlink_to(ours),
        "a file": lambda git: git.write_text("gitdir: /nowhere\n"),
    }
    taken: list[str] = []
    for name, place in forms.items():
        work = shared / name / "work"
        work.mkdir(parents=True)
        git = shared / name / ".git"
        place(git)
        parts = [git] if git.is_symlink() else [git, *git.rglob("*")]
        for part in (one for one in parts if one.name != "HEAD"):
            os.chown(part, STRANGER, -1, follow_symlinks=False)
        if project_root(str(work), RealFiles()) != str(work):
            taken.append(f".git that is {name}")
    return taken


def _foreign_transcripts(root: Path) -> list[str]:
    place = root / "-app/session.jsonl"
    place.parent.mkdir(parents=True)
    place.write_text(CANARY)
    shutil.chown(place, STRANGER)
    taken = ["a transcript is listed"] if scan(str(root)).files else []
    with suppress(OSError), open_transcript(str(root), "-app/session.jsonl"):
        taken.append("a transcript is opened")
    return taken


def session_names(_: Path, _scale: float) -> Tally:
    names = ("*", "?", "[a]", "a*", "..", ".", "a/b", "a\\b", "", " ", "a\nb", "[!x]*", ".hidden")
    return Tally("session ids that are patterns or paths", len(names), [
        name for name in names if name_is_plain(name)
    ])  # fmt: skip


CHECKS = (
    a_home_as_project,
    names_that_say_secret,
    ordinary_names,
    hostile_paths,
    instruction_races,
    foreign_owners,
    session_names,
)
