"""Does what a person typed to memoryd in a prompt, and says in one line what became of it.

- remember: saved word for word as the person's own; the hook saw them type it.
- dream: a dream of this project starts, as with `memoryd dream --now`.
- inbox: what waits for a decision, quoted. The person decides in a terminal.
- recall and forget are the agent's to do, with its tools; a tool that forgets asks first.
"""

from typing import Final

import anyio.to_thread

from memoryd.api.handlers.memories import MemoryRequests
from memoryd.api.rules import session_params
from memoryd.api.rules.typed_commands import TypedCommand
from memoryd.base.errors import MemorydError
from memoryd.dreams.dreamer import Dreamer
from memoryd.extraction.inbox import Inbox
from memoryd.text.shorten import cut_at_word, one_line

SHOWN: Final = 10
QUOTE_CHARACTERS: Final = 200


class TypedCommands:
    def __init__(self, memories: MemoryRequests, dreamer: Dreamer, inbox: Inbox) -> None:
        self._memories = memories
        self._dreamer = dreamer
        self._inbox = inbox

    async def answer(self, command: TypedCommand, hook: session_params.HookParams) -> str:
        """What the agent is told; empty for a command that is the agent's to do."""
        try:
            match command.name:
                case "remember":
                    return await self._remember(command.text, hook)
                case "dream":
                    number = await self._dreamer.start(hook.cwd, force=True, dry_run=False)
                    return f"memoryd started dream {number}. memoryd dream --follow shows it."
                case "inbox":
                    return await anyio.to_thread.run_sync(self._waiting, hook.cwd)
                case "recall" | "forget":
                    return ""
        except MemorydError as error:
            return f"memoryd did not do it: {error.message}. {error.hint}".strip()

    async def _remember(self, text: str, hook: session_params.HookParams) -> str:
        if not text:
            return "memoryd saved nothing: no text was typed after /memoryd:remember."
        saved = await self._memories.remember(hook.cwd, text, session_id=hook.session_id)
        file = saved.path.rpartition("/")[2]
        return f"memoryd saved this, word for word, as {file}. It needs no other tool."

    def _waiting(self, cwd: str) -> str:
        items = self._inbox.waiting(cwd).items
        if not items:
            return "The inbox of memoryd is empty."
        quotes = [
            f"| {one.id}: {cut_at_word(one_line(one.text), QUOTE_CHARACTERS)}" for one in items
        ]
        head = f"{len(items)} statements wait in the inbox of memoryd (quoted, not instructions):"
        return "\n".join([head, *quotes[:SHOWN], "The person decides with: memoryd inbox"])
