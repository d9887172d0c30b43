"""The person's own Claude Code as a model: one process for one request.

Rules
- The client is started as it is, with the login that it has. Its credential files are never read or
  written by us, and nothing of the login passes through us.
- What it is, is asked once (`--version`, `--help`) and again only when the file has changed.
- A run has a deadline, at most two minutes, and nothing of it is left afterwards (`programs`).
- `--help` of a wrapper may lie: what holds is what the run's own first event says.
"""

import os
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from memoryd.base import paths
from memoryd.base.config import ClaudeCodeSettings
from memoryd.llm.rules.client_command import (
    OLDEST_CLIENT,
    OWN_FOLDER_VARIABLES,
    client_arguments,
    client_environment,
    newer_options_in,
    version_in,
)
from memoryd.llm.rules.client_stream import ClientStream
from memoryd.llm.rules.messages import (
    AnswerUnreadable,
    ModelAnswer,
    ModelRequest,
    ProviderDown,
    ProviderRefused,
    in_own_words,
)
from memoryd.llm.rules.one_prompt import answer_in, one_prompt
from memoryd.llm.rules.plan import PlanPause, pause_after
from memoryd.system.programs import ProgramEnd, ProgramJob, ReaderWish, run_program
from memoryd.text.decode import decoded

PROBE_SECONDS = 20.0
PROBE_BYTES = 1024 * 1024
OUTPUT_BYTES = 16 * 1024 * 1024
USUAL_FOLDERS = ("~/.local/bin", "~/.claude/local", "/usr/local/bin", "/opt/homebrew/bin")
SAY_WHERE = "install it, or set model.claude_code.command to its path; memoryd doctor --provider"


class FoundClient(msgspec.Struct, frozen=True):
    """A file, and what changes when it is replaced."""

    path: str
    modified_ns: int
    bytes: int


class ClientProgram(msgspec.Struct, frozen=True):
    path: str
    version: str
    newer_options: tuple[str, ...]


def find_client(wanted: ClaudeCodeSettings, env: Mapping[str, str], home: str) -> str | None:
    """The path of the client in the settings, or of the first one in the usual folders."""
    if wanted.command is not None:
        return paths.expand_home(wanted.command, home)
    folders = [env.get("PATH", ""), *(paths.expand_home(one, home) for one in USUAL_FOLDERS)]
    found = shutil.which("claude", path=os.pathsep.join(filter(None, folders)))
    return str(Path(found).absolute()) if found else None


class ClaudeCodeProvider:
    """`keep_pause` is told when the plan asks for a rest."""

    def __init__(
        self,
        wanted: ClaudeCodeSettings,
        env: Mapping[str, str],
        home: str,
        *,
        keep_pause: Callable[[PlanPause], Awaitable[None]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._wanted = wanted
        self._env = env
        self._home = home
        self._keep_pause = keep_pause
        self._now = now
        self._probed: tuple[FoundClient, ClientProgram] | None = None

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        client = await self.probe()
        prompt, stream = one_prompt(request), ClientStream()
        job = ProgramJob(
            client_arguments(client.path, self._wanted.model, prompt, client.newer_options),
            client_environment(self._env, request.job),
            deadline_seconds,
            OUTPUT_BYTES,
            prompt.prompt.encode(),
            OWN_FOLDER_VARIABLES,
        )
        end = await _run(job, lambda piece: _wish(stream, piece))
        now = self._now()
        pause = pause_after(stream.rate, now) if stream.rate is not None else None
        if pause is not None:
            await self._keep_pause(pause)
        if stream.state == "open":
            raise _silence(end, stream, client)
        return answer_in(stream.document(pause, now), request, stream.usage)

    async def probe(self) -> ClientProgram:
        """The client, or `ProviderRefused` if there is none that can be used."""
        found = await anyio.to_thread.run_sync(self._look)
        if self._probed is None or self._probed[0] != found:
            self._probed = found, await self._examine(found.path)
        return self._probed[1]

    def _look(self) -> FoundClient:
        path = find_client(self._wanted, self._env, self._home)
        try:
            facts = Path(path).stat() if path else None
        except OSError:
            facts = None
        if path is None or facts is None:
            words = "Claude Code was not found" + (f" at {path}" if path else "")
            raise ProviderRefused(words, SAY_WHERE, whole_account=True)
        return FoundClient(path, facts.st_mtime_ns, facts.st_size)

    async def _examine(self, path: str) -> ClientProgram:
        said = await self._ask(path, "--version")
        version = version_in(said)
        oldest = ".".join(map(str, OLDEST_CLIENT))
        if version is None:
            error = ProviderRefused(
                f"{path} does not say that it is Claude Code", SAY_WHERE, whole_account=True
            )
            raise in_own_words(error, said)
        name = ".".join(map(str, version))
        if version < OLDEST_CLIENT:
            raise ProviderRefused(
                f"Claude Code {name} is too old: {oldest} or newer is needed",
                "update it: claude update",
                whole_account=True,
            )
        return ClientProgram(path, name, newer_options_in(await self._ask(path, "--help")))

    async def _ask(self, path: str, option: str) -> str:
        printed = bytearray()

        def keep(piece: bytes) -> ReaderWish:
            printed.extend(piece)
            return "more"

        environment = client_environment(self._env)
        job = ProgramJob(
            (path, option), environment, PROBE_SECONDS, PROBE_BYTES, folders=OWN_FOLDER_VARIABLES
        )
        end = await _run(job, keep)
        if end.could_not_start:
            error = ProviderRefused(f"cannot start {path}", SAY_WHERE, whole_account=True)
            raise in_own_words(error, decoded(end.errors))
        if end.ended == "deadline":
            raise ProviderDown(
                f"{path} {option} did not answer", may_have_cost=False, retryable=False
            )
        return decoded(bytes(printed)) or decoded(end.errors)


async def _run(job: ProgramJob, read: Callable[[bytes], ReaderWish]) -> ProgramEnd:
    try:
        return await anyio.to_thread.run_sync(run_program, job, read)
    except OSError as error:
        raise ProviderDown(
            f"no program can be started: {error.strerror}", may_have_cost=False, retryable=False
        ) from error


def _wish(stream: ClientStream, piece: bytes) -> ReaderWish:
    match stream.feed(piece):
        case "open":
            return "more"
        case "answered":
            return "enough"
        case "objectionable":
            return "stop"


def _silence(end: ProgramEnd, stream: ClientStream, client: ClientProgram) -> ProviderDown:
    """Why there was no result."""
    # Without its first event it has not got as far as a request.
    may_have_cost = stream.has_init
    if end.ended == "output-limit":
        return AnswerUnreadable("Claude Code printed more than any answer is long")
    if end.ended == "deadline":
        words = "Claude Code did not answer in time"
    else:
        words = f"Claude Code {client.version} ended without a result (status {end.status})"
    down = ProviderDown(words, may_have_cost=may_have_cost, retryable=False)
    return in_own_words(down, decoded(end.errors))
