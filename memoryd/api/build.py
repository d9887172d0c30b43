"""Builds what answers requests on the socket."""

from collections.abc import Callable

from memoryd.api.dispatch import Areas, Dispatcher, Handlers
from memoryd.api.handlers.checkpoints import CheckpointRequests
from memoryd.api.handlers.health import Health
from memoryd.api.handlers.hooks import Hooks
from memoryd.api.handlers.inbox import InboxRequests
from memoryd.api.handlers.memories import MemoryRequests
from memoryd.api.handlers.spending import SpendingReports
from memoryd.api.handlers.status import Status
from memoryd.api.handlers.why import Origins
from memoryd.dreams.due import DueReviews
from memoryd.dreams.evidence import Evidence
from memoryd.memories.catalog import Catalog
from memoryd.memories.versions import Versions
from memoryd.recall.recall_table import RecallTable


def build(areas: Areas, version: str, stop: Callable[[], None]) -> Dispatcher:
    services = areas.services
    catalog = Catalog(services.scopes, services.store, services.now)
    versions = Versions(services.scopes, catalog, services.store, services.versions)
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
    )
    hooks = Hooks(
        places=services.places,
        scopes=services.scopes,
        recall=areas.recall,
        context=areas.sessions.context,
        extraction=areas.extraction,
        session_notes=areas.sessions.notes,
        tail=areas.transcripts.tail,
        background=services.background,
        dream_news=areas.dreamer.news if services.settings.dream.tell else lambda _: "",
        now=services.now,
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
        ),
        health=health,
        hooks=hooks,
        catalog=catalog,
        memories=MemoryRequests(catalog, versions, areas.extraction.exclusions),
        inbox=InboxRequests(areas.extraction.inbox, areas.extraction.exclusions),
        due=DueReviews(
            services.scopes,
            services.store,
            catalog,
            Evidence(services.database, services.scopes, services.instructions),
            services.now,
        ),
        why=Origins(
            versions, services.store, areas.transcripts.sessions, RecallTable(services.database)
        ),
        checkpoints=CheckpointRequests(
            services.scopes, areas.sessions.notes, areas.sessions.checkpoints
        ),
        spending=spending,
    )
    return Dispatcher(areas, handlers, stop)
