"""One method for each method of the socket. Written by `make schema`."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from memoryd_client.library.wire_types import (
    AdoptAnswer,
    AgentListAnswer,
    ApprovedAnswer,
    Checkpoint,
    CheckpointListAnswer,
    CheckpointRemovedAnswer,
    CheckpointText,
    ContextAnswer,
    CostReport,
    DeviceAddAnswer,
    DeviceInitAnswer,
    DeviceList,
    DeviceProjectAnswer,
    DeviceRevokeAnswer,
    DeviceSyncAnswer,
    DreamLine,
    DreamLogAnswer,
    DreamStartAnswer,
    DreamStatus,
    ExportAnswer,
    HealthAnswer,
    HistoryAnswer,
    ImportAnswer,
    ImportEstimate,
    ImportJob,
    InboxAnswer,
    InitAnswer,
    JoinAnswer,
    KeptAnswer,
    LeaveAnswer,
    LogAnswer,
    MemoryListAnswer,
    Moved,
    NotesAnswer,
    Pong,
    PrintedAnswer,
    PurgeAnswer,
    RecallAnswer,
    RecallStatsAnswer,
    RejectedAnswer,
    RetriedAnswer,
    Reviewed,
    ReviewListAnswer,
    Saved,
    SessionListAnswer,
    SharedAnswer,
    SnapshotWritten,
    StatusReport,
    StoppingAnswer,
    SwitchAnswer,
    SyncAnswer,
    TeamStatus,
    TrustAnswer,
    TurnEndedAnswer,
    Undone,
    WholeMemory,
    WholeSession,
    WhyAnswer,
)


class Calls:
    """Every question that the daemon answers, about the project of one folder."""

    def _ask(self, method: str, params: Mapping[str, object]) -> Any:
        """The result of one request, with the folder added to the params that are not None."""
        raise NotImplementedError

    def ping(self) -> Pong:
        """Say that the daemon runs, and which version."""
        answer: Pong = self._ask("ping", {})
        return answer

    def status(self) -> StatusReport:
        """Say what the daemon does and has done."""
        answer: StatusReport = self._ask("status", {})
        return answer

    def health(self, *, provider: bool = False) -> HealthAnswer:
        """Look for what is wrong.

        `provider` asks for one small call to the model server, which is charged.
        """
        answer: HealthAnswer = self._ask("health", {"provider": provider})
        return answer

    def shutdown(self) -> StoppingAnswer:
        """Stop the daemon."""
        answer: StoppingAnswer = self._ask("shutdown", {})
        return answer

    def list(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] | None = None,
        type: Literal["feedback", "project", "reference", "user"] | None = None,
        retired: bool = False,
        as_of: str | None = None,
        forgotten: bool = False,
        agent: str = "",
        limit: int | None = None,
        after: str = "",
    ) -> MemoryListAnswer:
        """List memories."""
        answer: MemoryListAnswer = self._ask(
            "memory/list",
            {
                "scope": scope,
                "type": type,
                "retired": retired,
                "as_of": as_of,
                "forgotten": forgotten,
                "agent": agent,
                "limit": limit,
                "after": after,
            },
        )
        return answer

    def get(self, path: str, *, agent: str = "") -> WholeMemory:
        """Read one memory."""
        answer: WholeMemory = self._ask("memory/get", {"path": path, "agent": agent})
        return answer

    def save(
        self,
        name: str,
        description: str,
        type: Literal["feedback", "project", "reference", "user"],
        body: str,
        *,
        scope: Literal["agent", "auto", "group", "project", "team", "user"] = "project",
        supersedes: str | None = None,
        anyway: bool = False,
        session_id: str = "",
        agent: str = "",
        where: Literal["local", "project", "user"] | None = None,
    ) -> Saved:
        """Save a memory."""
        answer: Saved = self._ask(
            "memory/save",
            {
                "name": name,
                "description": description,
                "type": type,
                "body": body,
                "scope": scope,
                "supersedes": supersedes,
                "anyway": anyway,
                "session_id": session_id,
                "agent": agent,
                "where": where,
            },
        )
        return answer

    def move(
        self,
        path: str,
        scope: Literal["group", "project", "team", "user"],
        *,
        anyway: bool = False,
        agent: str = "",
    ) -> Moved:
        """Move a memory to another scope.

        `anyway` moves it although it names something of a project.
        """
        answer: Moved = self._ask(
            "memory/move", {"path": path, "scope": scope, "anyway": anyway, "agent": agent}
        )
        return answer

    def edit(
        self, path: str, content: str, version: int, *, anyway: bool = False, agent: str = ""
    ) -> Saved:
        """Replace the text of a memory.

        `content` is the whole file, `version` the number of the version that it was made from.
        """
        answer: Saved = self._ask(
            "memory/edit",
            {
                "path": path,
                "content": content,
                "version": version,
                "anyway": anyway,
                "agent": agent,
            },
        )
        return answer

    def trust(
        self, *, paths: Sequence[str] | None = None, all: bool = False, agent: str = ""
    ) -> TrustAnswer:
        """Confirm memories of unknown origin.

        Without `paths` or `all`, confirms nothing and lists what waits.
        """
        answer: TrustAnswer = self._ask(
            "memory/trust", {"paths": paths, "all": all, "agent": agent}
        )
        return answer

    def why(self, path: str, *, agent: str = "") -> WhyAnswer:
        """Say where a memory comes from."""
        answer: WhyAnswer = self._ask("memory/why", {"path": path, "agent": agent})
        return answer

    def forget(self, path: str, *, agent: str = "") -> Saved:
        """Remove a memory; it can be restored."""
        answer: Saved = self._ask("memory/forget", {"path": path, "agent": agent})
        return answer

    def purge(self, path: str) -> PurgeAnswer:
        """Remove a memory for good, from everywhere.

        Removes a memory for good, from everywhere.
        """
        answer: PurgeAnswer = self._ask("memory/purge", {"path": path})
        return answer

    def history(self, path: str, *, version: int | None = None, agent: str = "") -> HistoryAnswer:
        """List the versions of a memory.

        `version` asks for the text of that version too.
        """
        answer: HistoryAnswer = self._ask(
            "memory/history", {"path": path, "version": version, "agent": agent}
        )
        return answer

    def restore(self, path: str, *, version: int | None = None, agent: str = "") -> Saved:
        """Restore a version of a memory."""
        answer: Saved = self._ask(
            "memory/restore", {"path": path, "version": version, "agent": agent}
        )
        return answer

    def agent_list(self) -> AgentListAnswer:
        """List the sub-agents that have a memory."""
        answer: AgentListAnswer = self._ask("agent/list", {})
        return answer

    def agent_snapshot(
        self, agent: str, *, where: Literal["local", "project", "user"] | None = None
    ) -> SnapshotWritten:
        """Write an agent's memories into the project.

        Without `where`, of the agent's own memory.
        """
        answer: SnapshotWritten = self._ask("agent/snapshot", {"agent": agent, "where": where})
        return answer

    def inbox_list(self) -> InboxAnswer:
        """List statements that wait for a decision.

        Without a `cwd`, every project.
        """
        answer: InboxAnswer = self._ask("inbox/list", {})
        return answer

    def inbox_accept(self, ids: Sequence[int], *, anyway: bool = False) -> KeptAnswer:
        """Accept statements as memories."""
        answer: KeptAnswer = self._ask("inbox/accept", {"ids": ids, "anyway": anyway})
        return answer

    def inbox_edit(
        self,
        ids: Sequence[int],
        *,
        text: str | None = None,
        type: Literal["feedback", "project", "reference", "user"] | None = None,
        anyway: bool = False,
    ) -> KeptAnswer:
        """Accept one statement in other words.

        Accepts one in other words, or as another type.
        """
        answer: KeptAnswer = self._ask(
            "inbox/edit", {"ids": ids, "text": text, "type": type, "anyway": anyway}
        )
        return answer

    def inbox_reject(self, ids: Sequence[int]) -> RejectedAnswer:
        """Reject statements."""
        answer: RejectedAnswer = self._ask("inbox/reject", {"ids": ids})
        return answer

    def review_list(self) -> ReviewListAnswer:
        """List memories that may no longer be true."""
        answer: ReviewListAnswer = self._ask("review/list", {})
        return answer

    def review_keep(self, path: str) -> Reviewed:
        """Say that a memory is still true.

        The memory is still true; it is due again later.
        """
        answer: Reviewed = self._ask("review/keep", {"path": path})
        return answer

    def review_retire(self, path: str) -> Reviewed:
        """Retire a memory that is no longer true."""
        answer: Reviewed = self._ask("review/retire", {"path": path})
        return answer

    def switch(self, enabled: bool, *, seconds: float | None = None) -> SwitchAnswer:
        """Turn memory on or off.

        `seconds` switches off for a time only.
        """
        answer: SwitchAnswer = self._ask("switch", {"enabled": enabled, "seconds": seconds})
        return answer

    def project_adopt(
        self, *, old: str = "", dry_run: bool = False, undo: bool = False
    ) -> AdoptAnswer:
        """Bring the memories of another folder here.

        `old` is the path or the folder name of the project whose memories come here.

            Without it, what was left behind by this same repository.
        """
        answer: AdoptAnswer = self._ask(
            "project/adopt", {"old": old, "dry_run": dry_run, "undo": undo}
        )
        return answer

    def archive_export(self) -> ExportAnswer:
        """Pack a project's memories into one file."""
        answer: ExportAnswer = self._ask("archive/export", {})
        return answer

    def archive_import(
        self, *, path: str = "", dry_run: bool = False, undo: bool = False
    ) -> ImportAnswer:
        """Offer the memories of an archive in the inbox.

        `path` is an archive on this machine; `undo` takes the last import of the project back.
        """
        answer: ImportAnswer = self._ask(
            "archive/import", {"path": path, "dry_run": dry_run, "undo": undo}
        )
        return answer

    def recall(
        self,
        query: str,
        *,
        session_id: str | None = None,
        recent_tools: Sequence[str] | None = None,
        limit: int | None = None,
        deadline_ms: float | None = None,
        agent: str | None = None,
        as_of: str | None = None,
    ) -> RecallAnswer:
        """Find the memories that matter to a question.

        Without a deadline the answer waits for the index; with one, it uses what is ready.
        """
        answer: RecallAnswer = self._ask(
            "recall",
            {
                "query": query,
                "session_id": session_id,
                "recent_tools": recent_tools,
                "limit": limit,
                "deadline_ms": deadline_ms,
                "agent": agent,
                "as_of": as_of,
            },
        )
        return answer

    def recall_stats(self) -> RecallStatsAnswer:
        """Say what became of memories that were given."""
        answer: RecallStatsAnswer = self._ask("recall/stats", {})
        return answer

    def hook(
        self,
        hook_event_name: str,
        *,
        session_id: str = "",
        transcript_path: str = "",
        source: str = "",
        prompt: str = "",
        tool_name: str = "",
        tool_input: object = None,
        session_env: Mapping[str, str] | None = None,
        agent_id: str = "",
        agent_type: str = "",
        agent_transcript_path: str = "",
    ) -> PrintedAnswer:
        """Answer a hook of the agent.

        The agent's own JSON; fields not listed here are ignored.
        """
        answer: PrintedAnswer = self._ask(
            "hook",
            {
                "hook_event_name": hook_event_name,
                "session_id": session_id,
                "transcript_path": transcript_path,
                "source": source,
                "prompt": prompt,
                "tool_name": tool_name,
                "tool_input": tool_input,
                "session_env": session_env,
                "agent_id": agent_id,
                "agent_type": agent_type,
                "agent_transcript_path": agent_transcript_path,
            },
        )
        return answer

    def statusline(self, *, session_id: str = "") -> PrintedAnswer:
        """Give one line for the agent's status line.

        The agent's own JSON for a status line; fields not listed here are ignored.
        """
        answer: PrintedAnswer = self._ask("statusline", {"session_id": session_id})
        return answer

    def context(
        self,
        *,
        session_id: str | None = None,
        source: str | None = None,
        path: str | None = None,
        agent: str | None = None,
    ) -> ContextAnswer:
        """Give what a session starts with."""
        answer: ContextAnswer = self._ask(
            "context", {"session_id": session_id, "source": source, "path": path, "agent": agent}
        )
        return answer

    def context_approve(self, path: str) -> ApprovedAnswer:
        """Allow an import of an instruction file."""
        answer: ApprovedAnswer = self._ask("context/approve", {"path": path})
        return answer

    def session_notes(self, session_id: str) -> NotesAnswer:
        """Read the notes of a session."""
        answer: NotesAnswer = self._ask("session/notes", {"session_id": session_id})
        return answer

    def checkpoint_save(self, name: str, *, session_id: str | None = None) -> Checkpoint:
        """Keep a copy of a session's notes."""
        answer: Checkpoint = self._ask("checkpoint/save", {"name": name, "session_id": session_id})
        return answer

    def checkpoint_list(self) -> CheckpointListAnswer:
        """List checkpoints."""
        answer: CheckpointListAnswer = self._ask("checkpoint/list", {})
        return answer

    def checkpoint_get(self, name: str) -> CheckpointText:
        """Read a checkpoint."""
        answer: CheckpointText = self._ask("checkpoint/get", {"name": name})
        return answer

    def checkpoint_remove(self, name: str) -> CheckpointRemovedAnswer:
        """Remove a checkpoint."""
        answer: CheckpointRemovedAnswer = self._ask("checkpoint/remove", {"name": name})
        return answer

    def turn_ended(self, session_id: str, transcript_path: str) -> TurnEndedAnswer:
        """Say that a turn of a transcript ended."""
        answer: TurnEndedAnswer = self._ask(
            "turn/ended", {"session_id": session_id, "transcript_path": transcript_path}
        )
        return answer

    def session_list(self, *, limit: int = 50) -> SessionListAnswer:
        """List the sessions of a project."""
        answer: SessionListAnswer = self._ask("session/list", {"limit": limit})
        return answer

    def session_show(self, session_id: str) -> WholeSession:
        """Read one session.

        `session_id` may be a prefix that matches only one session.
        """
        answer: WholeSession = self._ask("session/show", {"session_id": session_id})
        return answer

    def import_start(self, since: str, *, dry_run: bool = False) -> ImportJob | ImportEstimate:
        """Extract memories from past sessions; or say what that would cost.

        Without a `cwd`, every project; `since` is a date or a duration such as 30d.
        """
        answer: ImportJob | ImportEstimate = self._ask(
            "import/start", {"since": since, "dry_run": dry_run}
        )
        return answer

    def import_stop(self) -> StoppingAnswer:
        """Stop the import after the current file."""
        answer: StoppingAnswer = self._ask("import/stop", {})
        return answer

    def cost(self, *, days: int = 30) -> CostReport:
        """Say what was spent."""
        answer: CostReport = self._ask("cost", {"days": days})
        return answer

    def queue_retry(self) -> RetriedAnswer:
        """Retry every parked turn.

        Retries every parked turn.
        """
        answer: RetriedAnswer = self._ask("queue/retry", {})
        return answer

    def dream_start(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> DreamStartAnswer:
        """Start a dream.

        `force` skips the gates of time and sessions; `dry_run` changes nothing.
        """
        answer: DreamStartAnswer = self._ask(
            "dream/start", {"scope": scope, "agent": agent, "force": force, "dry_run": dry_run}
        )
        return answer

    def dream_stop(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
    ) -> DreamLine:
        """Stop the dream that runs."""
        answer: DreamLine = self._ask("dream/stop", {"scope": scope, "agent": agent})
        return answer

    def dream_accept(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
        dream: int | None = None,
    ) -> DreamLine:
        """Apply a dream that the guard refused.

        Applies a dream that the guard refused; without a number, the last one waiting for
        review.
        """
        answer: DreamLine = self._ask(
            "dream/accept", {"scope": scope, "agent": agent, "dream": dream}
        )
        return answer

    def dream_undo(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
    ) -> Undone:
        """Undo the last dream."""
        answer: Undone = self._ask("dream/undo", {"scope": scope, "agent": agent})
        return answer

    def dream_status(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
    ) -> DreamStatus:
        """Say whether a dream runs or may start."""
        answer: DreamStatus = self._ask("dream/status", {"scope": scope, "agent": agent})
        return answer

    def dream_log(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
        limit: int = 20,
        dream: int | None = None,
    ) -> DreamLogAnswer:
        """List past dreams.

        Past dreams, newest first; with `dream`, only that one, with its diffs.
        """
        answer: DreamLogAnswer = self._ask(
            "dream/log", {"scope": scope, "agent": agent, "limit": limit, "dream": dream}
        )
        return answer

    def team_status(self) -> TeamStatus:
        """Say how a project stands with its team."""
        answer: TeamStatus = self._ask("team/status", {})
        return answer

    def team_sync(self) -> SyncAnswer:
        """Sync with the team now."""
        answer: SyncAnswer = self._ask("team/sync", {})
        return answer

    def team_init(
        self,
        *,
        dsn: str = "",
        members: Sequence[str] | None = None,
        leavers: Sequence[str] | None = None,
        name: str = "",
        remote: str = "",
    ) -> InitAnswer:
        """Make or update the tables of the team, and its members.

        `dsn` is for this request alone; the first member of a project is its login.
        """
        answer: InitAnswer = self._ask(
            "team/init",
            {"dsn": dsn, "members": members, "leavers": leavers, "name": name, "remote": remote},
        )
        return answer

    def team_join(self, *, dsn: str = "", name: str = "", remote: str = "") -> JoinAnswer:
        """Share a project's team memories.

        Without `dsn`, the database of the settings.
        """
        answer: JoinAnswer = self._ask("team/join", {"dsn": dsn, "name": name, "remote": remote})
        return answer

    def team_leave(self) -> LeaveAnswer:
        """Stop sharing; the files stay."""
        answer: LeaveAnswer = self._ask("team/leave", {})
        return answer

    def team_share(self, path: str) -> SharedAnswer:
        """Move a memory to the team."""
        answer: SharedAnswer = self._ask("team/share", {"path": path})
        return answer

    def team_unshare(self, path: str) -> SharedAnswer:
        """Move a memory of the team to this machine only."""
        answer: SharedAnswer = self._ask("team/unshare", {"path": path})
        return answer

    def team_remove(self, path: str, *, undo: bool = False) -> SharedAnswer:
        """Remove a memory for the whole team, or undo that.

        `undo` brings back what somebody removed.
        """
        answer: SharedAnswer = self._ask("team/remove", {"path": path, "undo": undo})
        return answer

    def team_log(self, *, path: str = "", limit: int = 50) -> LogAnswer:
        """List what the team changed."""
        answer: LogAnswer = self._ask("team/log", {"path": path, "limit": limit})
        return answer

    def device_init(self, members: Sequence[str], *, dsn: str = "") -> DeviceInitAnswer:
        """Make the tables for people's own machines.

        Makes the tables, and lets these logins keep their machines in step through them.
        """
        answer: DeviceInitAnswer = self._ask("device/init", {"members": members, "dsn": dsn})
        return answer

    def device_add(
        self, *, code: str = "", name: str = "", dsn: str = "", start_over: bool = False
    ) -> DeviceAddAnswer:
        """Add a machine: give a code, or use one.

        Without `code`: a code for another machine, after making this one the first if need be.
        """
        answer: DeviceAddAnswer = self._ask(
            "device/add", {"code": code, "name": name, "dsn": dsn, "start_over": start_over}
        )
        return answer

    def device_list(self) -> DeviceList:
        """List a person's machines and what they do."""
        answer: DeviceList = self._ask("device/list", {})
        return answer

    def device_revoke(self, name: str) -> DeviceRevokeAnswer:
        """Shut a machine out, and change the key."""
        answer: DeviceRevokeAnswer = self._ask("device/revoke", {"name": name})
        return answer

    def device_sync(self) -> DeviceSyncAnswer:
        """Sync with the person's other machines now."""
        answer: DeviceSyncAnswer = self._ask("device/sync", {})
        return answer

    def device_project(self, name: str) -> DeviceProjectAnswer:
        """Name a project for all machines.

        `name` is what the project of `cwd` is called on all machines.
        """
        answer: DeviceProjectAnswer = self._ask("device/project", {"name": name})
        return answer


class AsyncCalls:
    """Every question that the daemon answers, about the project of one folder."""

    async def _ask(self, method: str, params: Mapping[str, object]) -> Any:
        """The result of one request, with the folder added to the params that are not None."""
        raise NotImplementedError

    async def ping(self) -> Pong:
        """Say that the daemon runs, and which version."""
        answer: Pong = await self._ask("ping", {})
        return answer

    async def status(self) -> StatusReport:
        """Say what the daemon does and has done."""
        answer: StatusReport = await self._ask("status", {})
        return answer

    async def health(self, *, provider: bool = False) -> HealthAnswer:
        """Look for what is wrong.

        `provider` asks for one small call to the model server, which is charged.
        """
        answer: HealthAnswer = await self._ask("health", {"provider": provider})
        return answer

    async def shutdown(self) -> StoppingAnswer:
        """Stop the daemon."""
        answer: StoppingAnswer = await self._ask("shutdown", {})
        return answer

    async def list(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] | None = None,
        type: Literal["feedback", "project", "reference", "user"] | None = None,
        retired: bool = False,
        as_of: str | None = None,
        forgotten: bool = False,
        agent: str = "",
        limit: int | None = None,
        after: str = "",
    ) -> MemoryListAnswer:
        """List memories."""
        answer: MemoryListAnswer = await self._ask(
            "memory/list",
            {
                "scope": scope,
                "type": type,
                "retired": retired,
                "as_of": as_of,
                "forgotten": forgotten,
                "agent": agent,
                "limit": limit,
                "after": after,
            },
        )
        return answer

    async def get(self, path: str, *, agent: str = "") -> WholeMemory:
        """Read one memory."""
        answer: WholeMemory = await self._ask("memory/get", {"path": path, "agent": agent})
        return answer

    async def save(
        self,
        name: str,
        description: str,
        type: Literal["feedback", "project", "reference", "user"],
        body: str,
        *,
        scope: Literal["agent", "auto", "group", "project", "team", "user"] = "project",
        supersedes: str | None = None,
        anyway: bool = False,
        session_id: str = "",
        agent: str = "",
        where: Literal["local", "project", "user"] | None = None,
    ) -> Saved:
        """Save a memory."""
        answer: Saved = await self._ask(
            "memory/save",
            {
                "name": name,
                "description": description,
                "type": type,
                "body": body,
                "scope": scope,
                "supersedes": supersedes,
                "anyway": anyway,
                "session_id": session_id,
                "agent": agent,
                "where": where,
            },
        )
        return answer

    async def move(
        self,
        path: str,
        scope: Literal["group", "project", "team", "user"],
        *,
        anyway: bool = False,
        agent: str = "",
    ) -> Moved:
        """Move a memory to another scope.

        `anyway` moves it although it names something of a project.
        """
        answer: Moved = await self._ask(
            "memory/move", {"path": path, "scope": scope, "anyway": anyway, "agent": agent}
        )
        return answer

    async def edit(
        self, path: str, content: str, version: int, *, anyway: bool = False, agent: str = ""
    ) -> Saved:
        """Replace the text of a memory.

        `content` is the whole file, `version` the number of the version that it was made from.
        """
        answer: Saved = await self._ask(
            "memory/edit",
            {
                "path": path,
                "content": content,
                "version": version,
                "anyway": anyway,
                "agent": agent,
            },
        )
        return answer

    async def trust(
        self, *, paths: Sequence[str] | None = None, all: bool = False, agent: str = ""
    ) -> TrustAnswer:
        """Confirm memories of unknown origin.

        Without `paths` or `all`, confirms nothing and lists what waits.
        """
        answer: TrustAnswer = await self._ask(
            "memory/trust", {"paths": paths, "all": all, "agent": agent}
        )
        return answer

    async def why(self, path: str, *, agent: str = "") -> WhyAnswer:
        """Say where a memory comes from."""
        answer: WhyAnswer = await self._ask("memory/why", {"path": path, "agent": agent})
        return answer

    async def forget(self, path: str, *, agent: str = "") -> Saved:
        """Remove a memory; it can be restored."""
        answer: Saved = await self._ask("memory/forget", {"path": path, "agent": agent})
        return answer

    async def purge(self, path: str) -> PurgeAnswer:
        """Remove a memory for good, from everywhere.

        Removes a memory for good, from everywhere.
        """
        answer: PurgeAnswer = await self._ask("memory/purge", {"path": path})
        return answer

    async def history(
        self, path: str, *, version: int | None = None, agent: str = ""
    ) -> HistoryAnswer:
        """List the versions of a memory.

        `version` asks for the text of that version too.
        """
        answer: HistoryAnswer = await self._ask(
            "memory/history", {"path": path, "version": version, "agent": agent}
        )
        return answer

    async def restore(self, path: str, *, version: int | None = None, agent: str = "") -> Saved:
        """Restore a version of a memory."""
        answer: Saved = await self._ask(
            "memory/restore", {"path": path, "version": version, "agent": agent}
        )
        return answer

    async def agent_list(self) -> AgentListAnswer:
        """List the sub-agents that have a memory."""
        answer: AgentListAnswer = await self._ask("agent/list", {})
        return answer

    async def agent_snapshot(
        self, agent: str, *, where: Literal["local", "project", "user"] | None = None
    ) -> SnapshotWritten:
        """Write an agent's memories into the project.

        Without `where`, of the agent's own memory.
        """
        answer: SnapshotWritten = await self._ask(
            "agent/snapshot", {"agent": agent, "where": where}
        )
        return answer

    async def inbox_list(self) -> InboxAnswer:
        """List statements that wait for a decision.

        Without a `cwd`, every project.
        """
        answer: InboxAnswer = await self._ask("inbox/list", {})
        return answer

    async def inbox_accept(self, ids: Sequence[int], *, anyway: bool = False) -> KeptAnswer:
        """Accept statements as memories."""
        answer: KeptAnswer = await self._ask("inbox/accept", {"ids": ids, "anyway": anyway})
        return answer

    async def inbox_edit(
        self,
        ids: Sequence[int],
        *,
        text: str | None = None,
        type: Literal["feedback", "project", "reference", "user"] | None = None,
        anyway: bool = False,
    ) -> KeptAnswer:
        """Accept one statement in other words.

        Accepts one in other words, or as another type.
        """
        answer: KeptAnswer = await self._ask(
            "inbox/edit", {"ids": ids, "text": text, "type": type, "anyway": anyway}
        )
        return answer

    async def inbox_reject(self, ids: Sequence[int]) -> RejectedAnswer:
        """Reject statements."""
        answer: RejectedAnswer = await self._ask("inbox/reject", {"ids": ids})
        return answer

    async def review_list(self) -> ReviewListAnswer:
        """List memories that may no longer be true."""
        answer: ReviewListAnswer = await self._ask("review/list", {})
        return answer

    async def review_keep(self, path: str) -> Reviewed:
        """Say that a memory is still true.

        The memory is still true; it is due again later.
        """
        answer: Reviewed = await self._ask("review/keep", {"path": path})
        return answer

    async def review_retire(self, path: str) -> Reviewed:
        """Retire a memory that is no longer true."""
        answer: Reviewed = await self._ask("review/retire", {"path": path})
        return answer

    async def switch(self, enabled: bool, *, seconds: float | None = None) -> SwitchAnswer:
        """Turn memory on or off.

        `seconds` switches off for a time only.
        """
        answer: SwitchAnswer = await self._ask("switch", {"enabled": enabled, "seconds": seconds})
        return answer

    async def project_adopt(
        self, *, old: str = "", dry_run: bool = False, undo: bool = False
    ) -> AdoptAnswer:
        """Bring the memories of another folder here.

        `old` is the path or the folder name of the project whose memories come here.

            Without it, what was left behind by this same repository.
        """
        answer: AdoptAnswer = await self._ask(
            "project/adopt", {"old": old, "dry_run": dry_run, "undo": undo}
        )
        return answer

    async def archive_export(self) -> ExportAnswer:
        """Pack a project's memories into one file."""
        answer: ExportAnswer = await self._ask("archive/export", {})
        return answer

    async def archive_import(
        self, *, path: str = "", dry_run: bool = False, undo: bool = False
    ) -> ImportAnswer:
        """Offer the memories of an archive in the inbox.

        `path` is an archive on this machine; `undo` takes the last import of the project back.
        """
        answer: ImportAnswer = await self._ask(
            "archive/import", {"path": path, "dry_run": dry_run, "undo": undo}
        )
        return answer

    async def recall(
        self,
        query: str,
        *,
        session_id: str | None = None,
        recent_tools: Sequence[str] | None = None,
        limit: int | None = None,
        deadline_ms: float | None = None,
        agent: str | None = None,
        as_of: str | None = None,
    ) -> RecallAnswer:
        """Find the memories that matter to a question.

        Without a deadline the answer waits for the index; with one, it uses what is ready.
        """
        answer: RecallAnswer = await self._ask(
            "recall",
            {
                "query": query,
                "session_id": session_id,
                "recent_tools": recent_tools,
                "limit": limit,
                "deadline_ms": deadline_ms,
                "agent": agent,
                "as_of": as_of,
            },
        )
        return answer

    async def recall_stats(self) -> RecallStatsAnswer:
        """Say what became of memories that were given."""
        answer: RecallStatsAnswer = await self._ask("recall/stats", {})
        return answer

    async def hook(
        self,
        hook_event_name: str,
        *,
        session_id: str = "",
        transcript_path: str = "",
        source: str = "",
        prompt: str = "",
        tool_name: str = "",
        tool_input: object = None,
        session_env: Mapping[str, str] | None = None,
        agent_id: str = "",
        agent_type: str = "",
        agent_transcript_path: str = "",
    ) -> PrintedAnswer:
        """Answer a hook of the agent.

        The agent's own JSON; fields not listed here are ignored.
        """
        answer: PrintedAnswer = await self._ask(
            "hook",
            {
                "hook_event_name": hook_event_name,
                "session_id": session_id,
                "transcript_path": transcript_path,
                "source": source,
                "prompt": prompt,
                "tool_name": tool_name,
                "tool_input": tool_input,
                "session_env": session_env,
                "agent_id": agent_id,
                "agent_type": agent_type,
                "agent_transcript_path": agent_transcript_path,
            },
        )
        return answer

    async def statusline(self, *, session_id: str = "") -> PrintedAnswer:
        """Give one line for the agent's status line.

        The agent's own JSON for a status line; fields not listed here are ignored.
        """
        answer: PrintedAnswer = await self._ask("statusline", {"session_id": session_id})
        return answer

    async def context(
        self,
        *,
        session_id: str | None = None,
        source: str | None = None,
        path: str | None = None,
        agent: str | None = None,
    ) -> ContextAnswer:
        """Give what a session starts with."""
        answer: ContextAnswer = await self._ask(
            "context", {"session_id": session_id, "source": source, "path": path, "agent": agent}
        )
        return answer

    async def context_approve(self, path: str) -> ApprovedAnswer:
        """Allow an import of an instruction file."""
        answer: ApprovedAnswer = await self._ask("context/approve", {"path": path})
        return answer

    async def session_notes(self, session_id: str) -> NotesAnswer:
        """Read the notes of a session."""
        answer: NotesAnswer = await self._ask("session/notes", {"session_id": session_id})
        return answer

    async def checkpoint_save(self, name: str, *, session_id: str | None = None) -> Checkpoint:
        """Keep a copy of a session's notes."""
        answer: Checkpoint = await self._ask(
            "checkpoint/save", {"name": name, "session_id": session_id}
        )
        return answer

    async def checkpoint_list(self) -> CheckpointListAnswer:
        """List checkpoints."""
        answer: CheckpointListAnswer = await self._ask("checkpoint/list", {})
        return answer

    async def checkpoint_get(self, name: str) -> CheckpointText:
        """Read a checkpoint."""
        answer: CheckpointText = await self._ask("checkpoint/get", {"name": name})
        return answer

    async def checkpoint_remove(self, name: str) -> CheckpointRemovedAnswer:
        """Remove a checkpoint."""
        answer: CheckpointRemovedAnswer = await self._ask("checkpoint/remove", {"name": name})
        return answer

    async def turn_ended(self, session_id: str, transcript_path: str) -> TurnEndedAnswer:
        """Say that a turn of a transcript ended."""
        answer: TurnEndedAnswer = await self._ask(
            "turn/ended", {"session_id": session_id, "transcript_path": transcript_path}
        )
        return answer

    async def session_list(self, *, limit: int = 50) -> SessionListAnswer:
        """List the sessions of a project."""
        answer: SessionListAnswer = await self._ask("session/list", {"limit": limit})
        return answer

    async def session_show(self, session_id: str) -> WholeSession:
        """Read one session.

        `session_id` may be a prefix that matches only one session.
        """
        answer: WholeSession = await self._ask("session/show", {"session_id": session_id})
        return answer

    async def import_start(
        self, since: str, *, dry_run: bool = False
    ) -> ImportJob | ImportEstimate:
        """Extract memories from past sessions; or say what that would cost.

        Without a `cwd`, every project; `since` is a date or a duration such as 30d.
        """
        answer: ImportJob | ImportEstimate = await self._ask(
            "import/start", {"since": since, "dry_run": dry_run}
        )
        return answer

    async def import_stop(self) -> StoppingAnswer:
        """Stop the import after the current file."""
        answer: StoppingAnswer = await self._ask("import/stop", {})
        return answer

    async def cost(self, *, days: int = 30) -> CostReport:
        """Say what was spent."""
        answer: CostReport = await self._ask("cost", {"days": days})
        return answer

    async def queue_retry(self) -> RetriedAnswer:
        """Retry every parked turn.

        Retries every parked turn.
        """
        answer: RetriedAnswer = await self._ask("queue/retry", {})
        return answer

    async def dream_start(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> DreamStartAnswer:
        """Start a dream.

        `force` skips the gates of time and sessions; `dry_run` changes nothing.
        """
        answer: DreamStartAnswer = await self._ask(
            "dream/start", {"scope": scope, "agent": agent, "force": force, "dry_run": dry_run}
        )
        return answer

    async def dream_stop(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
    ) -> DreamLine:
        """Stop the dream that runs."""
        answer: DreamLine = await self._ask("dream/stop", {"scope": scope, "agent": agent})
        return answer

    async def dream_accept(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
        dream: int | None = None,
    ) -> DreamLine:
        """Apply a dream that the guard refused.

        Applies a dream that the guard refused; without a number, the last one waiting for
        review.
        """
        answer: DreamLine = await self._ask(
            "dream/accept", {"scope": scope, "agent": agent, "dream": dream}
        )
        return answer

    async def dream_undo(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
    ) -> Undone:
        """Undo the last dream."""
        answer: Undone = await self._ask("dream/undo", {"scope": scope, "agent": agent})
        return answer

    async def dream_status(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
    ) -> DreamStatus:
        """Say whether a dream runs or may start."""
        answer: DreamStatus = await self._ask("dream/status", {"scope": scope, "agent": agent})
        return answer

    async def dream_log(
        self,
        *,
        scope: Literal["agent", "group", "project", "team", "user"] = "project",
        agent: str = "",
        limit: int = 20,
        dream: int | None = None,
    ) -> DreamLogAnswer:
        """List past dreams.

        Past dreams, newest first; with `dream`, only that one, with its diffs.
        """
        answer: DreamLogAnswer = await self._ask(
            "dream/log", {"scope": scope, "agent": agent, "limit": limit, "dream": dream}
        )
        return answer

    async def team_status(self) -> TeamStatus:
        """Say how a project stands with its team."""
        answer: TeamStatus = await self._ask("team/status", {})
        return answer

    async def team_sync(self) -> SyncAnswer:
        """Sync with the team now."""
        answer: SyncAnswer = await self._ask("team/sync", {})
        return answer

    async def team_init(
        self,
        *,
        dsn: str = "",
        members: Sequence[str] | None = None,
        leavers: Sequence[str] | None = None,
        name: str = "",
        remote: str = "",
    ) -> InitAnswer:
        """Make or update the tables of the team, and its members.

        `dsn` is for this request alone; the first member of a project is its login.
        """
        answer: InitAnswer = await self._ask(
            "team/init",
            {"dsn": dsn, "members": members, "leavers": leavers, "name": name, "remote": remote},
        )
        return answer

    async def team_join(self, *, dsn: str = "", name: str = "", remote: str = "") -> JoinAnswer:
        """Share a project's team memories.

        Without `dsn`, the database of the settings.
        """
        answer: JoinAnswer = await self._ask(
            "team/join", {"dsn": dsn, "name": name, "remote": remote}
        )
        return answer

    async def team_leave(self) -> LeaveAnswer:
        """Stop sharing; the files stay."""
        answer: LeaveAnswer = await self._ask("team/leave", {})
        return answer

    async def team_share(self, path: str) -> SharedAnswer:
        """Move a memory to the team."""
        answer: SharedAnswer = await self._ask("team/share", {"path": path})
        return answer

    async def team_unshare(self, path: str) -> SharedAnswer:
        """Move a memory of the team to this machine only."""
        answer: SharedAnswer = await self._ask("team/unshare", {"path": path})
        return answer

    async def team_remove(self, path: str, *, undo: bool = False) -> SharedAnswer:
        """Remove a memory for the whole team, or undo that.

        `undo` brings back what somebody removed.
        """
        answer: SharedAnswer = await self._ask("team/remove", {"path": path, "undo": undo})
        return answer

    async def team_log(self, *, path: str = "", limit: int = 50) -> LogAnswer:
        """List what the team changed."""
        answer: LogAnswer = await self._ask("team/log", {"path": path, "limit": limit})
        return answer

    async def device_init(self, members: Sequence[str], *, dsn: str = "") -> DeviceInitAnswer:
        """Make the tables for people's own machines.

        Makes the tables, and lets these logins keep their machines in step through them.
        """
        answer: DeviceInitAnswer = await self._ask("device/init", {"members": members, "dsn": dsn})
        return answer

    async def device_add(
        self, *, code: str = "", name: str = "", dsn: str = "", start_over: bool = False
    ) -> DeviceAddAnswer:
        """Add a machine: give a code, or use one.

        Without `code`: a code for another machine, after making this one the first if need be.
        """
        answer: DeviceAddAnswer = await self._ask(
            "device/add", {"code": code, "name": name, "dsn": dsn, "start_over": start_over}
        )
        return answer

    async def device_list(self) -> DeviceList:
        """List a person's machines and what they do."""
        answer: DeviceList = await self._ask("device/list", {})
        return answer

    async def device_revoke(self, name: str) -> DeviceRevokeAnswer:
        """Shut a machine out, and change the key."""
        answer: DeviceRevokeAnswer = await self._ask("device/revoke", {"name": name})
        return answer

    async def device_sync(self) -> DeviceSyncAnswer:
        """Sync with the person's other machines now."""
        answer: DeviceSyncAnswer = await self._ask("device/sync", {})
        return answer

    async def device_project(self, name: str) -> DeviceProjectAnswer:
        """Name a project for all machines.

        `name` is what the project of `cwd` is called on all machines.
        """
        answer: DeviceProjectAnswer = await self._ask("device/project", {"name": name})
        return answer
