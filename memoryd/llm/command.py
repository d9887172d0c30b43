"""Any program as a model: it reads one prompt and prints one JSON document.

Rules
- The program is a list of words in the settings, never a line for a shell. It is looked for in the
  daemon's PATH if it is not a path, and runs with the daemon's variables: its keys are its own.
- The prompt, on standard input, says everything: the task, the conversation, and the JSON schema
  that the answer must follow. Words or a fence around the document are ignored.
- It ends with status 0 when it has printed the document. Any other status is a failure.
- Nobody tells how many tokens were used: they are estimated, at four bytes each.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from memoryd.llm.rules.messages import (
    AnswerUnreadable,
    ModelAnswer,
    ModelRequest,
    ProviderDown,
    ProviderRefused,
    Usage,
    in_own_words,
)
from memoryd.llm.rules.one_prompt import answer_in, document_in, one_prompt
from memoryd.system.programs import ProgramEnd, ProgramJob, ReaderWish, run_program
from memoryd.text.decode import decoded

OUTPUT_BYTES = 4 * 1024 * 1024
BYTES_A_TOKEN = 4
CHECK_SETTING = "check model.command in the settings; memoryd doctor --provider tries it"


class CommandProvider:
    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self._command = tuple(command)
        self._env = env

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        program = await anyio.to_thread.run_sync(self.probe)
        prompt, printed = one_prompt(request).whole_text.encode(), bytearray()

        def keep(piece: bytes) -> ReaderWish:
            printed.extend(piece)
            return "more"

        job = ProgramJob(
            (program, *self._command[1:]),
            {**self._env, "MEMORYD_CHILD": "1"},
            deadline_seconds,
            OUTPUT_BYTES,
            prompt,
        )
        try:
            end = await anyio.to_thread.run_sync(run_program, job, keep)
        except OSError as error:
            raise ProviderDown(
                f"no program can be started: {error.strerror}", may_have_cost=False, retryable=False
            ) from error
        _check(end, program)
        usage = Usage(len(prompt) // BYTES_A_TOKEN, len(printed) // BYTES_A_TOKEN)
        return answer_in(document_in(bytes(printed)), request, usage)

    def probe(self) -> str:
        """The path of the program, or `ProviderRefused`."""
        name = self._command[0]
        found = shutil.which(name, path=self._env.get("PATH", os.defpath))
        if found is None:
            words = f"the program {name} was not found"
            raise ProviderRefused(words, CHECK_SETTING, whole_account=True)
        return str(Path(found).absolute())


def _check(end: ProgramEnd, program: str) -> None:
    """Raises unless the program has ended as it should."""
    said = decoded(end.errors)
    if end.could_not_start:
        error = ProviderRefused(f"cannot start {program}", CHECK_SETTING, whole_account=True)
        raise in_own_words(error, said)
    if end.ended == "output-limit":
        raise AnswerUnreadable(f"{program} printed more than any answer is long")
    if end.ended == "deadline":
        words = f"{program} did not answer in time"
        raise in_own_words(ProviderDown(words, may_have_cost=True, retryable=False), said)
    if end.status != 0:
        words = f"{program} failed with status {end.status}"
        raise in_own_words(ProviderDown(words, may_have_cost=True, retryable=False), said)
