"""Builds the dreamer from the daemon's services."""

from collections.abc import Awaitable, Callable

import anyio

from memoryd.dreams.apply import Applier
from memoryd.dreams.consolidate import Consolidation
from memoryd.dreams.dream_table import DreamTable
from memoryd.dreams.dreamer import Dreamer
from memoryd.dreams.recent_sessions import ProjectSessions
from memoryd.dreams.rules.similarity import Similarity
from memoryd.dreams.schedule import RealTime, Schedule
from memoryd.dreams.steps import DreamModel, DreamSteps, ModelSteps, RuleSteps, word_similarity
from memoryd.dreams.working_copy import WorkingCopies
from memoryd.llm.connect import ModelServer
from memoryd.memories.services import Services


def build(services: Services, models: ModelServer | None) -> Dreamer:
    """The caller runs it (`run`) and tells it when a turn ended (`turn_ended`)."""
    name = services.settings.model.dream
    model = DreamModel(models.patient, name) if models is not None else None
    return build_with(services, model)


def build_with(
    services: Services,
    model: DreamModel | None,
    *,
    load_similarity: Callable[[], Similarity | None] = word_similarity,
    real_time: RealTime | None = None,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> Dreamer:
    """As `build`; tests bring a model, vectors and clocks of their own."""
    places, settings, now = services.places, services.settings, services.now
    real_time = real_time or RealTime()
    table = DreamTable(services.database)
    sessions = ProjectSessions(places, services.database, services.scopes.memory_is_on)
    copies = WorkingCopies(
        f"{places.state_dir}/dreams", services.store, now=now, skip_index=settings.index.skip
    )
    steps: DreamSteps = RuleSteps(services.versions, load_similarity)
    if model is not None:
        closed = (places.claude_dir, places.state_dir)
        steps = ModelSteps(model, services.versions, sessions, closed=closed, now=now)
    return Dreamer(
        scopes=services.scopes,
        store=services.store,
        table=table,
        applier=Applier(services.store, table, now),
        copies=copies,
        schedule=Schedule(table, sessions, settings, now=now, real_time=real_time),
        consolidation=Consolidation(
            steps,
            table=table,
            copies=copies,
            max_loss_percent=settings.dream.max_loss_percent,
            now=now,
        ),
        notices=services.notices,
        now=now,
        real_time=real_time,
        sleep=sleep,
    )
