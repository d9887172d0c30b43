"""Writes transcripts line by line, with the keys that Claude Code writes."""

import json
from typing import Any

PERSON = {"promptSource": "typed", "turnOrigin": "human", "origin": {"kind": "human"}}


class SessionScript:
    """Each method appends one line as a child of the last and returns its uuid."""

    def __init__(self, session_id: str = "session-1", cwd: str = "/home/dev/work/app") -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.prompt_id = ""
        self.leaf: str | None = None
        self.lines: list[bytes] = []
        self._messages = 0

    @property
    def data(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def raw(self, line: bytes) -> None:
        self.lines.append(line)

    def put(self, kind: str, **keys: Any) -> str:
        number = len(self.lines) + 1
        uuid = f"{self.session_id}-line-{number}"
        line = {
            "parentUuid": self.leaf,
            "isSidechain": False,
            "type": kind,
            "uuid": uuid,
            "timestamp": f"2026-11-16T01:{number // 60 % 60:02}:{number % 60:02}.000Z",
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": "2.1.325",
            "gitBranch": "main",
        } | keys
        self.raw(json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        self.leaf = line["uuid"]
        return str(line["uuid"])

    def user(self, content: Any, **keys: Any) -> str:
        message = {"role": "user", "content": content}
        return self.put("user", **({"promptId": self.prompt_id, "message": message} | keys))

    def prompt(self, text: Any, **keys: Any) -> str:
        self.prompt_id = f"prompt-{len(self.lines)}"
        return self.user(text, **(PERSON | keys))

    def assistant(self, content: Any, stop_reason: str | None, **keys: Any) -> str:
        self._messages += 1
        usage = {
            "input_tokens": 100,
            "cache_creation_input_tokens": 20,
            "cache_read_input_tokens": 3000,
            "output_tokens": 40,
        }
        message = {
            "id": f"msg-{self._messages}",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": content,
            "stop_reason": stop_reason,
            "usage": usage,
        } | keys.pop("message", {})
        return self.put("assistant", message=message, **keys)

    def answer(self, text: str, stop_reason: str | None = "end_turn", **keys: Any) -> str:
        return self.assistant([{"type": "text", "text": text}], stop_reason, **keys)

    def call(self, tool: str, given: Any, **keys: Any) -> str:
        """The id of the call."""
        call_id = f"toolu-{len(self.lines)}"
        block = {"type": "tool_use", "id": call_id, "name": tool, "input": given}
        self.assistant([block], "tool_use", **keys)
        return call_id

    def result(self, call_id: str, content: Any, *, is_error: bool = False, **keys: Any) -> str:
        block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        return self.user([block | ({"is_error": True} if is_error else {})], **keys)

    def meta(self, text: str, **keys: Any) -> str:
        return self.user(text, isMeta=True, **keys)

    def attach(self, kind: str, **keys: Any) -> str:
        return self.put("attachment", attachment={"type": kind} | keys)

    def system(self, subtype: str, **keys: Any) -> str:
        return self.put("system", subtype=subtype, **keys)

    def turn(self, text: str, reply: str) -> str:
        """The id of the turn."""
        turn_id = self.prompt(text)
        self.answer(reply)
        return turn_id
