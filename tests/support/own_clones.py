"""A person's machine without a daemon: its files, its tables, its keys, and one sync at a time."""

import os
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import memoryd.devices.build as devices
from memoryd.base import paths
from memoryd.base.config import Settings, TeamSettings
from memoryd.daemon.build import open_services
from memoryd.daemon.environment import Environment
from memoryd.daemon.supervisor import Supervisor
from memoryd.devices.answers import DeviceList, DeviceSyncAnswer
from memoryd.devices.keyring import Keyring
from memoryd.devices.own_places import OwnPlaces
from memoryd.memories.records import MemoryDirectory
from memoryd.sessions.checkpoints import Checkpoints
from memoryd.team.addresses import Addresses
from tests.support.postgres import OWNER, TeamDatabase
from tests.support.running import make_home
from tests.support.team import REMOTE
from tests.support.team_servers import connected


class OwnClone:
    """`role` is the person; `clock_off` is how wrong the machine's clock is.

    Without a database, its settings name none.
    """

    def __init__(
        self, folder: Path, database: TeamDatabase | None, role: str = "alice", remote: str = REMOTE
    ) -> None:
        self.name = folder.name
        self.home = make_home(folder)
        self.root = self.home / "shop"
        self.database = database
        self.role = role
        self.clock_off = 0.0
        _repository(self.root, remote)
        self.open()

    def open(self) -> None:
        """As a daemon that starts: only what is on disk is there."""
        env = {"XDG_RUNTIME_DIR": str(self.home / "run")}
        places = paths.places(env, "linux", os.getuid(), str(self.home))
        team = TeamSettings(dsn=self.database.dsn(self.role) if self.database else None)
        environment = Environment(
            places, Settings(team=team), env, "0", Supervisor({}, os.getpid())
        )
        self.stack = ExitStack()
        services = open_services(environment, self.stack)
        self.services = services
        self.checkpoints = Checkpoints(services.places)
        self.addresses = Addresses(team, env, str(self.home))
        self.parts = devices.build(services, self.checkpoints, self.addresses)
        self.parts.worker._now = lambda: services.now() + self.clock_off
        self.service = self.parts.service

    @property
    def memory(self) -> MemoryDirectory:
        return self.services.scopes.project(str(self.root)).memory

    @property
    def places(self) -> OwnPlaces:
        return self.service._places

    def keyring(self) -> Keyring:
        found = self.service._members.file.read()
        assert found is not None
        return found

    # --- what a person does ---------------------------------------------------------------------

    async def add(self, code: str = "", *, start_over: bool = False) -> str:
        root, name = str(self.root), self.name
        answer = await self.service.add(root, code=code, name=name, start_over=start_over)
        return answer.code

    async def sync(self) -> DeviceSyncAnswer:
        return await self.service.sync(str(self.root))

    async def status(self) -> DeviceList:
        return await self.service.list()

    def path(self, file: str) -> Path:
        return Path(self.memory.path, file)

    def write(self, file: str, body: str, folder: str = "") -> None:
        path = Path(folder or self.memory.path, file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nname: Fact\ndescription: a fact\ntype: project\n---\n\n{body}\n")

    def says(self) -> dict[str, str]:
        """What each memory of the project says, by its file."""
        found = {one.name: one.read_text() for one in Path(self.memory.path).glob("*.md")}
        return {
            name: text.split("---\n\n")[1].strip()
            for name, text in found.items()
            if name != "MEMORY.md"
        }

    def history(self, file: str) -> list[str]:
        """What a memory ever said here, oldest first."""
        versions, folder = self.services.versions, self.memory.path
        return [
            versions.content(folder, file, one.version).decode().split("---\n\n")[1].strip()
            for one in reversed(versions.versions(folder, file))
            if one.sha256
        ]

    async def close(self) -> None:
        await self.parts.worker._disconnect()
        self.services.background._send.close()
        self.services.background._receive.close()
        self.stack.close()

    async def restarted(self) -> None:
        await self.close()
        self.open()


@asynccontextmanager
async def machines(
    folder: Path, database: TeamDatabase, *names: str, role: str = "alice"
) -> AsyncIterator[list[OwnClone]]:
    """Machines of one person, all added."""
    async with connected(database, OWNER) as owner:
        await owner.set_up("", [role], [])
    made = [OwnClone(folder / name, database, role) for name in names]
    try:
        for one in made[1:]:
            await one.add(await made[0].add())
        if len(made) == 1:
            await made[0].add()
        yield made
    finally:
        for one in made:
            await one.close()


def _repository(root: Path, remote: str) -> None:
    git = root / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "refs").mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(f'[remote "origin"]\n\turl = {remote}\n' if remote else "")
