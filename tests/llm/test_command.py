"""Any program as a model."""

import os
import stat
import sys
from pathlib import Path

import pytest

from memoryd.llm.command import CommandProvider
from memoryd.llm.rules.messages import (
    AnswerUnreadable,
    ModelAnswer,
    ModelRequest,
    ProviderDown,
    ProviderRefused,
    Text,
    UserTurn,
)

pytestmark = pytest.mark.anyio

KEY = "sk-ant-api03-" + "Qm7xT2vB9pLw4ZrK8nYd" * 4 + "-8sFqAAA"


def program(folder: Path, body: str) -> Path:
    path = folder / "model"
    path.write_text(f"#!{sys.executable} -IS\nimport json, os, sys, time\n{body}\n", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


async def ask(
    folder: Path, body: str, *arguments: str, text: str = "Hi.", seconds: float = 30
) -> ModelAnswer:
    path = program(folder, body)
    env = {"PATH": os.environ["PATH"], "OWN_KEY": "theirs"}
    request = ModelRequest("notes", "/p", "m", 100, (), (UserTurn((Text(text),)),))
    return await CommandProvider((str(path), *arguments), env).complete(request, seconds)


async def test_a_program_that_reads_a_prompt_and_prints_json_is_a_model(tmp_path: Path) -> None:
    body = """
prompt = sys.stdin.read()
schema = json.loads(prompt.strip().splitlines()[-1])
said = [schema["required"], sys.argv[1:], os.environ["OWN_KEY"], os.environ["MEMORYD_CHILD"]]
print("Here it is:")
print(json.dumps({"text": json.dumps([*said, os.listdir("."), "Use tabs." in prompt])}))
"""
    answer = await ask(tmp_path, body, "--quiet", text="Use tabs.")
    assert answer.text == '[["text"], ["--quiet"], "theirs", "1", [], true]'
    assert answer.usage.input_tokens > 100
    assert answer.usage.output_tokens > 0


async def test_a_program_is_looked_for_in_the_path(tmp_path: Path) -> None:
    program(tmp_path, """print('{"text": "found"}')""")
    request = ModelRequest("notes", "/p", "m", 100, (), (UserTurn((Text("Hi."),)),))
    provider = CommandProvider(("model",), {"PATH": str(tmp_path)})
    assert (await provider.complete(request, 30)).text == "found"


async def test_a_prompt_that_is_not_read_does_not_hold_up_the_answer(tmp_path: Path) -> None:
    answer = await ask(tmp_path, """print('{"text": "quick"}')""", text="x" * 3_000_000)
    assert answer.text == "quick"


async def test_a_failure_shows_the_programs_own_words_without_secrets(tmp_path: Path) -> None:
    body = f"""sys.stderr.write("no quota for {KEY}\\n"); sys.exit(3)"""
    with pytest.raises(ProviderDown) as caught:
        await ask(tmp_path, body)
    assert "status 3" in caught.value.message
    assert caught.value.own_words.startswith("no quota for ")
    assert KEY not in caught.value.own_words


async def test_an_answer_of_a_program_that_failed_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(ProviderDown):
        await ask(tmp_path, """print('{"text": "half"}'); sys.exit(1)""")


async def test_prose_is_not_an_answer(tmp_path: Path) -> None:
    with pytest.raises(AnswerUnreadable):
        await ask(tmp_path, """print("I would remember the tabs.")""")


async def test_an_endless_answer_is_cut_off_and_not_used(tmp_path: Path) -> None:
    with pytest.raises(AnswerUnreadable):
        await ask(tmp_path, """while True: print('{"text": "' + "x" * 100000)""")


async def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    with pytest.raises(ProviderDown, match="in time"):
        await ask(tmp_path, "time.sleep(600)", seconds=0.5)


async def test_a_child_that_keeps_the_pipe_open_does_not_hold_up_the_answer(tmp_path: Path) -> None:
    body = """
print('{"text": "done"}', flush=True)
if os.fork() == 0:
    time.sleep(600)
"""
    assert (await ask(tmp_path, body)).text == "done"


async def test_a_program_that_is_not_there_is_refused(tmp_path: Path) -> None:
    request = ModelRequest("notes", "/p", "m", 100, (), (UserTurn((Text("Hi."),)),))
    with pytest.raises(ProviderRefused) as caught:
        await CommandProvider(("no-such-model",), {"PATH": str(tmp_path)}).complete(request, 30)
    assert caught.value.whole_account


async def test_a_program_that_cannot_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"\x00\x01 not a program")
    path.chmod(0o700)
    request = ModelRequest("notes", "/p", "m", 100, (), (UserTurn((Text("Hi."),)),))
    with pytest.raises(ProviderRefused, match="cannot start"):
        await CommandProvider((str(path),), {}).complete(request, 30)
