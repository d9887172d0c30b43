"""Builds what answers requests on the socket."""

from collections.abc import Callable

from memoryd.api.dispatch import Areas, Dispatcher, Handlers
from memoryd.api.handlers.adopt import AdoptRequests
from memoryd.api.handlers.archives import ArchiveRequests
from memoryd.api.handlers.checkpoints import CheckpointRequests
from memoryd.api.handlers.health import Health
from memoryd.api.handlers.hooks import Hooks
from memoryd.api.handlers.inbox import InboxRequests
from memoryd.api.handlers.memories import MemoryRequests
from memoryd.api.handlers.recall_stats import RecallStats
from memoryd.api.handlers.spending import SpendingReports
from memoryd.api.handlers.status import Status
from memoryd.api.handlers.status_line import StatusLine
from memoryd.api.handlers.typed_commands import TypedCommands
from memoryd.api.handlers.why import Origins
from memoryd.api.purge.service import Purge, ScrubLog
from memoryd.dreams.due import DueReviews
from memoryd.dreams.evidence import Evidence
from memoryd.memories.adoption import Adoption
from memoryd.memories.archive import ArchiveWriter
from memoryd.memories.catalog import Catalog
from memoryd.memories.trusting import Trusting
from memoryd.memories.versions import Versions
from memoryd.recall.usage import MemoryUsage


def build(
    areas: Areas,
    version: str,
    stop: Callable[[], None],
    scrub_log: ScrubLog = lambda _: 0,
) -> Dispatcher:
    services = areas.services
    catalog = Catalog(services.scopes, services.store, services.now)
    versions = Versions(services.scopes, catalog, services.store, services.versions)
    trusting = Trusting(
        services.scopes, catalog, services.store, services.versions, services.notices
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
        projects_in=areas.transcripts.sessions.projects_in,
        identities=services.identities,
    )
    memories = MemoryRequests(catalog, versions, trusting, areas.extraction.exclusions)
    hooks = Hooks(
        places=services.places,
        scopes=services.scopes,
        recall=areas.recall,
        context=areas.sessions.context,
        extraction=areas.extraction,
        typed_commands=TypedCommands(memories, areas.dreamer, areas.extraction.inbox),
        session_notes=areas.sessions.notes,
        tail=areas.transcripts.tail,
        background=services.background,
        dream_news=areas.dreamer.news if services.settings.dream.tell else lambda _: "",
        now=services.now,
        switches=services.session_switches,
        identities=services.identities,
    )
    usage = MemoryUsage(services.database)
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
        catalog=catalog,
        inbox=InboxRequests(areas.extraction.inbox, areas.extraction.exclusions),
        why=Origins(versions, services.store, areas.transcripts.sessions, usage),
        recall_stats=RecallStats(services.scopes, usage),
        due=DueReviews(
            services.scopes,
            services.store,
            catalog,
            Evidence(services.database, services.scopes, services.instructions),
            services.now,
        ),
        memories=memories,
        purge=Purge(
            services.places,
            services.database,
            services.store,
            versions,
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
        archives=ArchiveRequests(
            services,
            ArchiveWriter(services.store, services.versions),
            areas.sessions.checkpoints,
            version,
        ),
        checkpoints=CheckpointRequests(
            services.scopes, areas.sessions.notes, areas.sessions.checkpoints
        ),
        spending=spending,
    )
    return Dispatcher(areas, handlers, stop)
