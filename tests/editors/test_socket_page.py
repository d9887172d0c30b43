"""The examples of docs/socket.md, run as they stand there in the real editors."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.programs import needs
from tests.support.running import ROOT, Daemon
from tests.test_docs import text_of

ANSWER = "We deploy on Tuesdays from the release branch."
QUESTION = "when do we deploy?"
WAIT_SECONDS = 120
FLAGS = re.MULTILINE | re.DOTALL
NODE_MODULES = ROOT / "client/vscode/node_modules"


def example(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", text_of("docs/socket.md"), FLAGS)
    return str(found)


def run(words: list[str], daemon: Daemon, project: Path) -> str:
    done = subprocess.run(
        words,
        env=daemon.env,
        cwd=project,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    return done.stdout + done.stderr


@needs("nvim")
def test_neovim_shows_what_is_remembered(daemon: Daemon, project: Path, tmp_path: Path) -> None:
    script = tmp_path / "recall.lua"
    script.write_text(
        example("lua")
        + f'vim.cmd("MemoryRecall {QUESTION}")\n'
        + "vim.wait(60000, function() return #vim.api.nvim_list_wins() > 1 end)\n"
        "for _, window in ipairs(vim.api.nvim_list_wins()) do\n"
        "  local buffer = vim.api.nvim_win_get_buf(window)\n"
        '  print(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\\n"))\n'
        "end\n"
    )
    shown = run(
        ["nvim", "--headless", "-u", "NONE", "-c", f"luafile {script}", "-c", "qa!"],
        daemon,
        project,
    )
    assert ANSWER in shown


@needs("emacs")
def test_emacs_shows_what_is_remembered(daemon: Daemon, project: Path, tmp_path: Path) -> None:
    script = tmp_path / "recall.el"
    script.write_text(
        example("elisp")
        + f'(memoryd-recall "{QUESTION}")\n'
        + '(princ (with-current-buffer "*memoryd*" (buffer-string)))\n'
    )
    assert ANSWER in run(["emacs", "--batch", "-Q", "-l", str(script)], daemon, project)


@needs("node")
@pytest.mark.skipif(
    not (NODE_MODULES / "typescript").exists(),
    reason="not installed: vscode-jsonrpc and typescript (npm install in client/vscode)",
)
def test_node_gets_what_is_remembered(daemon: Daemon, project: Path, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    (tmp_path / "recall.ts").write_text(
        example("ts") + f'recall("{QUESTION}", "{project}").then(console.log);\n'
    )
    compiler = str(NODE_MODULES / "typescript/bin/tsc")
    options = ["--module", "commonjs", "--skipLibCheck", "--target", "es2022"]
    said = run(["node", compiler, *options, str(tmp_path / "recall.ts")], daemon, tmp_path)
    assert ANSWER in run(["node", str(tmp_path / "recall.js")], daemon, project), said
