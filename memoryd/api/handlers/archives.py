"""`archive/export` and `archive/import`: a project's memories as one file, and back.

Rules
- An archive comes from outside, no matter who made it. What it says becomes candidates of the
  inbox, with `trust: imported`, which only a person can accept.
- Bytes that this machine's own journal knows were written here before: they are put back as they
  were. What is here already, word for word, is not needed twice.
- Checkpoints come under their names, with a line that says where they are from; never over one.
- An import can be undone: what still waits leaves the inbox, what was put back and not changed
  goes.
"""

import base64
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec
import structlog

from memoryd.api.rules import protocol
from memoryd.base.errors import Conflict, InvalidInput, MemorydError, NotFound, Refused
from memoryd.base.timestamps import iso_time
from memoryd.memories.identities import Identities
from memoryd.memories.inbox_table import MOST_WAITING, Candidate, InboxTable
from memoryd.memories.rules import topics
from memoryd.memories.rules.archive_names import Manifest
from memoryd.memories.rules.git_identity import ProjectIdentity, is_same_project
from memoryd.memories.scopes import Project
from memoryd.memories.services import Services
from memoryd.sessions.checkpoints import Checkpoints
from memoryd.system.folder import version_of
from memoryd.text.decode import decoded
from memoryd.text.masking.mask import presentable
from memoryd.text.private import without_private

if TYPE_CHECKING:
    from memoryd.memories.archive import ArchivedFile, OpenedArchive

log = structlog.get_logger(__name__)


class ExportAnswer(msgspec.Struct, frozen=True):
    """`archive` is the file, in base64."""

    memories: int
    checkpoints: int
    bytes: int
    archive: str


class ImportAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """`waiting` go to the inbox, `restored` are put back, `known` are here already.

    `left_out` did not fit into the inbox, or are not memories.
    """

    project: str
    exported: str
    same_project: bool
    waiting: list[str] = []
    restored: list[str] = []
    known: int = 0
    checkpoints: list[str] = []
    left_out: list[str] = []
    passed_over: int = 0
    done: bool = False


class ImportRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What an undo takes back."""

    candidates: list[int] = []
    restored: dict[str, str] = {}
    checkpoints: list[str] = []


class ArchiveRequests:
    def __init__(self, services: Services, checkpoints: Checkpoints, version: str) -> None:
        self._services = services
        self._scopes = services.scopes
        self._store = services.store
        self._inbox: InboxTable = services.inbox
        self._identities: Identities = services.identities
        self._database = services.database
        self._now = services.now
        self._checkpoints = checkpoints
        self._version = version

    async def export(self, params: protocol.ExportParams) -> ExportAnswer:
        return await anyio.to_thread.run_sync(self._export, params.cwd)

    async def import_(self, params: protocol.ImportArchiveParams) -> ImportAnswer:
        if params.by != "user":
            raise Refused(
                "only a person may import an archive", hint="in a terminal: memoryd import-archive"
            )
        if bool(params.path) == params.undo:
            raise InvalidInput("name the archive, or --undo", hint="memoryd import-archive FILE")
        work = self._undo if params.undo else self._import
        return await anyio.to_thread.run_sync(partial(work, params))

    def _export(self, cwd: str) -> ExportAnswer:
        from memoryd.memories.archive import ArchiveWriter  # noqa: PLC0415 - tarfile is large

        project = self._scopes.project(cwd)
        identity = self._identities.of_root(project.root)
        manifest = Manifest(
            memoryd=self._version,
            exported=iso_time(self._now()),
            project=PurePath(project.root).name,
            remote=identity.remote,
            root_commit=identity.root_commit,
        )
        kept = [
            (one.name, self._checkpoints.get(project.root, one.name)[1])
            for one in self._checkpoints.list(project.root)
        ]
        writer = ArchiveWriter(self._store, self._services.versions)
        data = writer.packed(project.memory, manifest, kept)
        log.info("archive-exported", project=project.root, bytes=len(data))
        count = len(self._store.scan(project.memory))
        return ExportAnswer(count, len(kept), len(data), base64.b64encode(data).decode())

    def _import(self, params: protocol.ImportArchiveParams) -> ImportAnswer:
        from memoryd.memories.archive import opened_archive  # noqa: PLC0415 - as above

        if not os.path.isabs(params.path):  # noqa: PTH117 - a string of the wire
            raise Refused("the archive's path must be absolute")
        project, archive = self._scopes.project(params.cwd), opened_archive(params.path)
        work = _Import(
            self._services, self._checkpoints, project, archive, is_real=not params.dry_run
        )
        answer = work.run()
        if not params.dry_run:
            self._record(project, work.record)
            log.info(
                "archive-imported",
                project=project.root,
                waiting=len(answer.waiting),
                restored=len(answer.restored),
            )
        return answer

    def _record(self, project: Project, record: ImportRecord) -> None:
        self._database.run(
            "insert into joinings (kind, target, at, packed) values ('import', ?, ?, ?)",
            project.memory.path,
            self._now(),
            zlib.compress(msgspec.json.encode(record)),
        )

    def _undo(self, params: protocol.ImportArchiveParams) -> ImportAnswer:
        project = self._scopes.project(params.cwd)
        rows = self._database.run(
            "select id, packed from joinings where kind = 'import' and target = ?"
            " order by id desc limit 1",
            project.memory.path,
        )
        if not rows:
            raise NotFound("there is no import to undo here")
        number, packed = msgspec.convert(rows[0], tuple[int, bytes])
        record = msgspec.json.decode(zlib.decompress(packed), type=ImportRecord)
        waiting = {one.id: one for one in self._inbox.waiting([project.memory.path])}
        back = [one for one in record.candidates if one in waiting]
        answer = ImportAnswer(
            project=PurePath(project.root).name,
            exported="",
            same_project=True,
            waiting=[waiting[one].candidate.name for one in back],
            restored=list(record.restored),
            checkpoints=record.checkpoints,
            done=not params.dry_run,
        )
        if params.dry_run:
            return answer
        self._inbox.withdraw(back)
        for file, sha256 in record.restored.items():
            self._forget(project, file, sha256)
        for name in record.checkpoints:
            with suppress(MemorydError):  # removed since
                self._checkpoints.remove(project.root, name)
        self._database.run("delete from joinings where id = ?", number)
        return answer

    def _forget(self, project: Project, file: str, sha256: str) -> None:
        """What was changed since is somebody's work, and stays."""
        with suppress(MemorydError):
            self._store.forget(project.memory, file, cause="user", over=sha256)


class _Import:
    """One import; with `is_real` false it only says what it would do."""

    def __init__(
        self,
        services: Services,
        checkpoints: Checkpoints,
        project: Project,
        archive: "OpenedArchive",
        *,
        is_real: bool,
    ) -> None:
        self._services = services
        self._kept = checkpoints
        self._project = project
        self._archive = archive
        self._is_real = is_real
        self.record = ImportRecord()

    def run(self) -> ImportAnswer:
        manifest = self._archive.manifest
        identity = ProjectIdentity(manifest.root_commit, manifest.remote)
        here = self._services.identities.of_root(self._project.root)
        known, left_out = 0, list[str]()
        waiting, restored = list[str](), list[str]()
        room = MOST_WAITING - self._services.inbox.count([self._project.memory.path])
        present = self._present()
        for file in self._of_kind("memory"):
            if version_of(file.data) in present:
                known += 1
            elif self._services.versions.origins.of(version_of(file.data)) != "found":
                restored += self._restore(file)
            elif (one := candidate_of(file, self._project, self._services.now())) is None:
                left_out.append(file.name)
            elif self._is_decided(one):
                known += 1
            elif len(waiting) >= room:
                left_out.append(file.name)
            else:
                self._offer(one)
                waiting.append(file.name)
        return ImportAnswer(
            project=presentable(manifest.project)[:100],
            exported=presentable(manifest.exported)[:40],
            same_project=is_same_project(identity, here),
            waiting=waiting,
            restored=restored,
            known=known,
            checkpoints=list(self._checkpoints()),
            left_out=left_out,
            passed_over=self._archive.passed_over,
            done=self._is_real,
        )

    def _of_kind(self, kind: str) -> "Sequence[ArchivedFile]":
        return [one for one in self._archive.files if one.kind == kind]

    def _present(self) -> set[str]:
        store, directory = self._services.store, self._project.memory
        found: set[str] = set()
        for one in (*store.scan(directory), *store.retired(directory)):
            with suppress(MemorydError):  # not a regular file
                found.add(store.read(directory, one.file).version)
        return found

    def _is_decided(self, candidate: Candidate) -> bool:
        return self._services.inbox.state_of(self._project.memory.path, candidate) is not None

    def _restore(self, file: "ArchivedFile") -> list[str]:
        if not self._is_real:
            return [file.name]
        try:
            self._services.store.restore(self._project.memory, file.name, file.data, over=None)
        except (Conflict, Refused):  # another text has that name by now: that one is newer
            return []
        self.record.restored[file.name] = version_of(file.data)
        return [file.name]

    def _offer(self, candidate: Candidate) -> None:
        if self._is_real:
            folder = self._project.memory.path
            self._services.inbox.add(folder, candidate, at=self._services.now())
            self.record.candidates.extend(
                one.id
                for one in self._services.inbox.waiting([folder])
                if one.candidate.key == candidate.key
            )

    def _checkpoints(self) -> Iterator[str]:
        root = self._project.root
        taken = {one.name for one in self._kept.list(root)}
        for file in self._of_kind("checkpoint"):
            if file.name in taken:
                continue
            text = without_private(presentable(decoded(file.data)))
            note = (
                f"> From an archive, exported {presentable(self._archive.manifest.exported)[:40]}."
            )
            if self._is_real:
                self._kept.save(root, file.name, f"{note}\n\n{text}")
                self.record.checkpoints.append(file.name)
            yield file.name


def candidate_of(file: "ArchivedFile", project: Project, now: float) -> Candidate | None:
    """A memory of an archive as it waits for a person; None if it does not say anything."""
    topic = topics.parse(without_private(presentable(decoded(file.data))))
    if not topic.body.strip() or topic.type is None:
        return None
    return Candidate(
        project=project.root,
        type=topic.type,
        name=topic.name or file.name.removesuffix(".md"),
        description=topic.description,
        body=topic.body,
        created=iso_time(now),
        session_id="",
        trust="imported",
        around=f"from an archive: {file.name}",
        reason="imported",
    )
