"""Plays an agent's session for the demo: a transcript that grows line by line, like a real one.

The lines have the agent's own keys and are appended in one write each, so a reader cannot tell the
difference.
"""

import json
import os
import re
import time
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

CLIENT_VERSION = "2.1.325"
MODEL = "claude-opus-5-5"
FLUSH_SECONDS = 0.1  # how long the agent itself buffers lines


class Session:
    """One session in `project`."""

    def __init__(self, claude: Path, project: Path) -> None:
        self.session_id = str(uuid.uuid4())
        self.project = project
        folder = claude / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / f"{self.session_id}.jsonl"
        self._last: str | None = None
        self._prompt_id = ""
        self._context_tokens = 4000

    def say(self, text: str, answer: str, context_tokens: int = 500) -> None:
        """One whole turn: the person's prompt and the agent's final answer."""
        self.prompt(text)
        self.answer(answer, context_tokens)

    def prompt(self, text: str) -> None:
        self._prompt_id = str(uuid.uuid4())
        person = {"promptSource": "typed", "turnOrigin": "human", "origin": {"kind": "human"}}
        self._user(text, **person)

    def answer(self, text: str, context_tokens: int = 500) -> None:
        self._assistant({"type": "text", "text": text}, "end_turn", context_tokens)

    def use_tool(
        self, tool: str, given: dict[str, str], result: str, context_tokens: int = 500
    ) -> None:
        """The agent calls a tool and gets its output."""
        call_id = f"toolu_{uuid.uuid4().hex[:24]}"
        block = {"type": "tool_use", "id": call_id, "name": tool, "input": given}
        self._assistant(block, "tool_use", context_tokens)
        output = {"type": "tool_result", "tool_use_id": call_id, "content": result}
        self._user([output], toolUseResult=result)

    def compact(self, summary: str) -> None:
        """The context is full: the agent continues with a summary instead."""
        before, self._context_tokens = self._context_tokens, 6000
        details = {"trigger": "auto", "preTokens": before, "postTokens": self._context_tokens}
        last, self._last = self._last, None
        self._append(
            "system",
            subtype="compact_boundary",
            logicalParentUuid=last,
            content="Conversation compacted",
            compactMetadata=details,
        )
        self._user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def hook(self, event: str, **more: str) -> dict[str, str]:
        """The JSON that the agent passes to a hook."""
        return {
            "hook_event_name": event,
            "session_id": self.session_id,
            "transcript_path": str(self.path),
            "cwd": str(self.project),
        } | more

    def _user(self, content: object, **keys: object) -> None:
        message = {"role": "user", "content": content}
        self._append("user", promptId=self._prompt_id, message=message, **keys)

    def _assistant(
        self, block: Mapping[str, object], stop_reason: str, context_tokens: int
    ) -> None:
        usage = {
            "input_tokens": 10,
            "cache_creation_input_tokens": context_tokens,
            "cache_read_input_tokens": self._context_tokens,
            "output_tokens": 60,
        }
        self._context_tokens += context_tokens
        message = {
            "id": f"msg_{uuid.uuid4().hex[:24]}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [block],
            "stop_reason": stop_reason,
            "usage": usage,
        }
        self._append("assistant", message=message, requestId=f"req_{uuid.uuid4().hex[:24]}")

    def _append(self, kind: str, **keys: object) -> None:
        line = {
            "parentUuid": self._last,
            "isSidechain": False,
            "type": kind,
            "uuid": str(uuid.uuid4()),
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
            "userType": "external",
            "entrypoint": "cli",
            "cwd": str(self.project),
            "sessionId": self.session_id,
            "version": CLIENT_VERSION,
            "gitBranch": "main",
        } | keys
        self._last = str(line["uuid"])
        time.sleep(FLUSH_SECONDS)
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "ab") as file:
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
