"""The same requests for all memories: a project's with all its scopes, or an agent's own."""

import anyio
import msgspec

from memoryd.api.handlers.memories import LISTERS, WRITERS, MemoryRequests
from memoryd.api.handlers.move import ScopeRequests
from memoryd.api.handlers.why import Origins
from memoryd.base.paths import AgentScope
from memoryd.extraction.build import ExtractionParts
from memoryd.memories.agents import Agents, AgentView, FindsProject
from memoryd.memories.catalog import Catalog
from memoryd.memories.services import Services
from memoryd.memories.trusting import Trusting
from memoryd.memories.versions import Versions
from memoryd.recall.usage import MemoryUsage
from memoryd.transcripts.sessions import Sessions


class Door(msgspec.Struct, frozen=True):
    """What answers the requests about one set of memories."""

    catalog: Catalog
    memories: MemoryRequests
    versions: Versions
    why: Origins


class Doors:
    def __init__(
        self,
        services: Services,
        extraction: ExtractionParts,
        sessions: Sessions,
        usage: MemoryUsage,
        agents: Agents,
    ) -> None:
        self._services = services
        self._extraction = extraction
        self._sessions = sessions
        self._usage = usage
        self._agents = agents
        # Writers wait for the disk and for each other; this leaves threads for readers.
        self._writers = anyio.CapacityLimiter(WRITERS)
        # Lists are work for the processor: more at once would only delay everybody else.
        self._listers = anyio.CapacityLimiter(LISTERS)
        self.plain = self._made(services.scopes)

    def of(self, agent: str, where: AgentScope | None = None) -> Door:
        """For the memories of a named agent; those of the project and its scopes without one."""
        if not agent:
            return self.plain
        return self._made(AgentView(self._services.scopes, self._agents, agent, where))

    def _made(self, scopes: FindsProject) -> Door:
        services, extraction = self._services, self._extraction
        catalog = Catalog(scopes, services.store, services.now)
        versions = Versions(scopes, catalog, services.store, services.versions)
        trusting = Trusting(scopes, catalog, services.store, services.versions, services.notices)
        moving = ScopeRequests(scopes, catalog, services.mover, extraction.placing)
        return Door(
            catalog,
            MemoryRequests(
                catalog,
                versions,
                trusting,
                extraction.exclusions,
                moving,
                self._writers,
                self._listers,
            ),
            versions,
            Origins(versions, services.store, self._sessions, self._usage),
        )
