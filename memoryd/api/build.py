"""Builds what answers requests on the socket."""

from collections.abc import Callable

from memoryd.api.dispatch import Areas, Dispatcher, Handlers
from memoryd.api.handlers.adopt import AdoptRequests
from memoryd.api.handlers.agents import AgentRequests
from memoryd.api.handlers.archives import ArchiveRequests
from memoryd.api.handlers.checkpoints import CheckpointRequests
from memoryd.api.handlers.doors import Doors
from memoryd.api.handlers.health import Health
from memoryd.api.handlers.hooks import Hooks
from memoryd.api.handlers.inbox import InboxRequests
from memoryd.api.handlers.recall_stats import RecallStats
from memoryd.api.handlers.spending import SpendingReports
from memoryd.api.handlers.status import Status
from memoryd.api.handlers.status_line import StatusLine
from memoryd.api.handlers.typed_commands import TypedCommands
from memoryd.api.purge.service import Purge, ScrubLog
from memoryd.dreams.due import DueReviews
from memoryd.dreams.evidence import Evidence
from memoryd.memories.adoption import Adoption
from memoryd.memories.agents import Agents
from memoryd.memories.snapshots import Snapshots
from memoryd.recall.usage import MemoryUsage


def build(
    areas: Areas,
    version: str,
    stop: Callable[[], None],
    scrub_log: ScrubLog = lambda _: 0,
) -> Dispatcher:
    services = areas.services
    usage, agents = MemoryUsage(services.database), Agents(services.places)
    doors = Doors(services, areas.extraction, areas.transcripts.sessions, usage, agents)
    agent_requests = AgentRequests(
        services.scopes,
        agents,
        services.store,
        Snapshots(services.store, services.database, services.now),
        areas.sessions.context,
    )
    spending = SpendingReports(
        areas.extraction.worker, areas.spending, services.settings, areas.models
    )
    health = Health(
        scopes=services.scopes,
        store=services.store,
        versions=services.versions,
        turns=areas.transcripts.turns,
        models=areas.models,
        model=services.settings.model.extraction,
        problems=services.problems,
        projects_in=areas.transcripts.sessions.projects_in,
        identities=services.identities,
    )
    hooks = Hooks(
        places=services.places,
        scopes=services.scopes,
        recall=areas.recall,
        context=areas.sessions.context,
        extraction=areas.extraction,
        typed_commands=TypedCommands(doors.plain.memories, areas.dreamer, areas.extraction.inbox),
        agents=agent_requests,
        session_notes=areas.sessions.notes,
        tail=areas.transcripts.tail,
        background=services.background,
        dream_news=areas.dreamer.news if services.settings.dream.tell else lambda _: "",
        now=services.now,
        switches=services.session_switches,
        identities=services.identities,
    )
    handlers = Handlers(
        status=Status(
            version,
            services,
            tail=areas.transcripts.tail,
            spending=spending,
            health=health,
            dreamer=areas.dreamer,
            recall=areas.recall,
            inbox=areas.extraction.inbox,
            usage=usage,
            team=areas.team.worker,
        ),
        health=health,
        hooks=hooks,
        status_line=StatusLine(
            scopes=services.scopes,
            recall=areas.recall,
            inbox=areas.extraction.inbox,
            dreamer=areas.dreamer,
            spending=spending,
        ),
        doors=doors,
        agents=agent_requests,
        inbox=InboxRequests(areas.extraction.inbox, areas.extraction.exclusions),
        recall_stats=RecallStats(services.scopes, usage),
        due=DueReviews(
            services.scopes,
            services.store,
            doors.plain.catalog,
            Evidence(services.database, services.scopes, services.instructions),
            services.now,
        ),
        purge=Purge(
            services.places,
            services.database,
            services.store,
            doors.plain.versions,
            services.versions,
            scrub_log=scrub_log,
            forget_followers=areas.transcripts.tail.forget_followers,
        ),
        adopt=AdoptRequests(
            services.scopes,
            services.identities,
            Adoption(services.store, services.versions, services.database, services.now),
            areas.sessions.checkpoints,
        ),
        archives=ArchiveRequests(services, areas.sessions.checkpoints, version),
        checkpoints=CheckpointRequests(
            services.scopes, areas.sessions.notes, areas.sessions.checkpoints
        ),
        spending=spending,
    )
    return Dispatcher(areas, handlers, stop)
