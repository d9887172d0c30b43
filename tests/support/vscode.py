"""The extension for VS Code as it is built, and a real VS Code in a browser to run it.

`python -m tests.support.vscode FOLDER` puts the latter into a folder: code-server, which is the
whole editor with its extension host, and what drives a browser. Both are npm packages; three native
modules are compiled here, because a prebuilt one would be downloaded from elsewhere.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.running import ROOT, WAIT_SECONDS, environment

EXTENSION = ROOT / "client/vscode"
WINDOW = ROOT / "tests/editors/vscode_window.mjs"
CODE_SERVER = "code-server@4.100.3"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NPM_SECONDS = 240


def npm(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["npm", *words, "--no-audit", "--no-fund"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=NPM_SECONDS,
        check=False,
    )


def build() -> str:
    """Compiles the extension; what stopped it if its packages cannot be had, else empty."""
    if not (EXTENSION / "node_modules/.package-lock.json").exists():
        done = npm(EXTENSION, "ci", "--ignore-scripts")
        if done.returncode:
            return f"npm ci: {done.stderr.strip()[-300:]}"
    done = npm(EXTENSION, "run", "build")
    assert done.returncode == 0, done.stdout + done.stderr
    return ""


def browser() -> str:
    """A browser of the system; empty if there is none."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), "")


def get_code_server(folder: Path) -> None:
    """Installs a real VS Code server into a folder, in some minutes."""
    folder.mkdir(parents=True, exist_ok=True)
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefix")
    _run(folder, "npm", "install", CODE_SERVER, "playwright-core", *quiet, ".")
    code = folder / "node_modules/code-server/lib/vscode"
    for inner in (code, code / "extensions"):
        _run(inner, "npm", "install", "--omit=dev", *quiet[:3])
    link = code / "node_modules.asar"
    if not link.is_symlink():
        link.symlink_to("node_modules")
    for module in ("native-watchdog", "@vscode/spdlog"):
        _run(code / "node_modules" / module, "npx", "--yes", "node-gyp", "rebuild")
    tool = folder / "node_modules/.bin/node-pre-gyp"
    _run(folder / "node_modules/argon2", str(tool), "rebuild", "--build-from-source")


def _run(folder: Path, *words: str) -> None:
    print("+", *words, flush=True)
    subprocess.run(words, cwd=folder, check=True)


class Window:
    """A window of the editor; every call waits until what it names is there."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, *command: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, f"{command}: {answer['error']}"
        return answer["answer"]


@contextmanager
def window(code: Path, home: Path, project: Path) -> Iterator[Window]:
    """The extension in a real VS Code server, whose window is open in a browser."""
    extensions = home / "extensions"
    _install(extensions)
    settings = home / "editor/User/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"breadcrumbs.enabled": false}')  # no test's own path in a picture
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    env = environment(home) | {"FAILURE_PICTURE": str(home / "failure.png")}
    options = {
        "--auth": "none",
        "--bind-addr": f"127.0.0.1:{port}",
        "--extensions-dir": str(extensions),
        "--user-data-dir": str(home / "editor"),
    }
    entry = code / "node_modules/code-server/out/node/entry.js"
    flags = ("--disable-telemetry", "--disable-update-check", "--disable-workspace-trust")
    words = ("node", str(entry), *(one for pair in options.items() for one in pair), *flags)
    with _process((*words, str(project)), env, home / "code-server.log"):
        _wait_for(port)
        address = f"http://127.0.0.1:{port}/?folder={project}"
        library = str(code / "node_modules/playwright-core/index.mjs")
        driver_words = ("node", str(WINDOW), library, browser(), address)
        with _process(driver_words, env) as driver:
            yield Window(driver)


def _install(extensions: Path) -> None:
    """What a package of the extension contains, unpacked."""
    target = extensions / "memoryd.memoryd-0.1.0"
    shutil.copytree(EXTENSION / "out/src", target / "out/src")
    inner = "node_modules/vscode-jsonrpc"
    shutil.copytree(EXTENSION / inner, target / inner)
    shutil.copy(EXTENSION / "package.json", target)


@contextmanager
def _process(
    words: tuple[str, ...], env: Mapping[str, str], log: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process with a group of its own, which ends with the context; without a log, its output."""
    with ExitStack() as stack:
        output = stack.enter_context(log.open("w")) if log else subprocess.PIPE
        made = subprocess.Popen(
            words,
            env=env,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output if log else None,
            text=True,
            start_new_session=True,
        )
        try:
            yield made
        finally:
            for number in (signal.SIGTERM, signal.SIGKILL):
                with suppress(ProcessLookupError):  # the whole group: an editor starts many
                    os.killpg(made.pid, number)
                with suppress(subprocess.TimeoutExpired):
                    made.wait(10)
            for pipe in (made.stdin, made.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


def _wait_for(port: int) -> None:
    """Returns once somebody listens there."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < end, "the editor does not listen"
            time.sleep(0.1)
        else:
            return


if __name__ == "__main__":
    get_code_server(Path(sys.argv[1]).resolve())
