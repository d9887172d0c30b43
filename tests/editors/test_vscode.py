"""The extension for VS Code: its own tests in Node, and in a real window of the editor."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memoryd_client import hook
from tests.scenarios.test_extraction import Session, finished_run
from tests.support import vscode
from tests.support.running import ROOT, Daemon, environment

pytestmark = pytest.mark.timeout(600)

DEPLOYS = "We deploy on Thursdays, never on Fridays: the on-call rota changes at noon."
PNPM = "We use pnpm for everything in the web client."
FILE = "project_deploys_go_out_thursdays.md"
COMPARE = """
const { socketPath } = require(process.argv[1]);
const cases = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const answers = cases.map(([env, uid, platform]) => {
  try { return socketPath({ env, uid, platform, realHome: "/root", exists: () => false }); }
  catch { return "refused"; }
});
console.log(JSON.stringify(answers));
"""


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    missing = [name for name in ("node", "npm") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)} (apt-get install nodejs npm)")
    reason = vscode.build()
    if reason:
        pytest.skip(f"the packages of the extension cannot be had: {reason}")


def test_its_own_tests_pass_against_the_real_daemon(tmp_path: Path) -> None:
    command = tmp_path / "memoryd"
    paths = f"{ROOT}:{ROOT / 'client'}"
    main = "import sys; from memoryd_client.entry import main; sys.exit(main())"
    command.write_text(
        f"#!/bin/sh\nPYTHONPATH='{paths}' exec '{sys.executable}' -c '{main}' \"$@\"\n"
    )
    command.chmod(0o700)
    tests = sorted(str(path) for path in (vscode.EXTENSION / "out/test").glob("*.test.js"))
    assert len(tests) == len(list((vscode.EXTENSION / "test").glob("*.test.ts")))
    done = subprocess.run(
        ["node", "--test", "--test-concurrency=1", "--test-reporter=spec", *tests],
        env=environment(tmp_path) | {"MEMORYD_COMMAND": str(command), "TMPDIR": "/tmp"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_looks_for_the_socket_where_the_command_does() -> None:
    folders = ["", "relative", "/", "/run/user/1000", "/a//b/./c/", "/x" * 60, "/é" * 45]
    sockets = ["", "/tmp/m.sock", "rel.sock", "/" + "z" * 106, "/" + "z" * 107]
    cases = [
        (
            {"HOME": home, "XDG_RUNTIME_DIR": run, "XDG_STATE_HOME": state, "MEMORYD_SOCKET": path},
            uid,
            system,
        )
        for home in ("/home/dev", "/Users/a b", "/h" * 70)
        for run in folders
        for state in folders
        for path in sockets
        for uid, system in ((1000, "linux"), (501, "darwin"))
    ]
    module = str(vscode.EXTENSION / "out/src/socketPath.js")
    done = subprocess.run(
        ["node", "-e", COMPARE, module],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [_commands_own(*case) for case in cases]


def _commands_own(env: dict[str, str], uid: int, system: str) -> str:
    encoded = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
    try:
        return os.fsdecode(hook.socket_path(encoded, uid, system))
    except ValueError:
        return "refused"


def test_in_a_real_window_it_lists_recalls_decides_and_comes_back(home: Path) -> None:
    code = Path(os.environ.get("CODE_SERVER", "/nowhere"))
    if not (code / "node_modules/code-server").is_dir():
        pytest.skip("no VS Code: python -m tests.support.vscode FOLDER, then CODE_SERVER=FOLDER")
    if not vscode.browser():
        pytest.skip("not installed: chromium (apt-get install chromium)")
    daemon = Daemon(home).start()
    session = Session(home, project="shop")
    project = Path(session.cwd)
    project.mkdir(exist_ok=True)
    _remember(daemon, session)
    try:
        with vscode.window(code, home, project) as window:
            _tour(window, daemon)
    finally:
        daemon.end()


def _remember(daemon: Daemon, session: Session) -> None:
    with daemon.peer() as peer:
        for name, text, type_ in (
            ("Deploys go out on Thursdays", DEPLOYS, "project"),
            ("Amounts are in cents", "Amounts in invoices are integers, in cents.", "project"),
            ("Tests before the fix", "Write the failing test before the fix.", "feedback"),
        ):
            about = {"name": name, "description": text, "type": type_, "body": text}
            peer.call("memory/save", cwd=session.cwd, **about)
    finished_run(daemon, lambda: session.turn(f"Fix the login test. {PNPM}", "Understood."))


def _tour(window: vscode.Window, daemon: Daemon) -> None:
    window("open")
    window("status", "memoryd")
    window("views")
    listed = " ".join(window("rows", "Memories", "Deploys go out"))
    assert "Tests before the fix" in listed
    assert "pnpm" in " ".join(window("rows", "Inbox", "pnpm"))
    assert window("badge") == "1"

    window("run", "memoryd: Recall")
    window("type", "when do we deploy")
    assert "Deploys go out on Thursdays" in window("items", "Deploys go out")[0]
    window("tab", FILE)  # the preview, while the list is open
    if picture := os.environ.get("PICTURE"):
        window("picture", picture)
    window("press", "Escape")
    window("noTab", FILE)

    window("act", "Inbox", "pnpm", "Accept")
    window("gone", "Inbox", "pnpm")
    window("rows", "Memories", "pnpm")
    window("act", "Memories", "Amounts are in cents", "Forget")
    window("gone", "Memories", "Amounts are in cents")
    window("notice", "Forgot: Amounts are in cents")
    window("button", "Undo")
    window("rows", "Memories", "Amounts are in cents")

    daemon.stop()
    window("status", "memoryd is not running")
    window("welcome", "To start it, type: memoryd serve")
    window("run", "memoryd: Recall")
    window("type", "when do we deploy")
    window("notice", "to start it, type: memoryd serve")
    daemon.start()
    window("rows", "Memories", "Deploys go out")
