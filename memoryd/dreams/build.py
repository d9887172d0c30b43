"""Builds the dreamer from the daemon's services."""

from collections.abc import Awaitable, Callable

import anyio

from memoryd.dreams.apply import Applier
from memoryd.dreams.consolidate import Consolidation
from memoryd.dreams.dream_table import DreamTable
from memoryd.dreams.dreamer import Dreamer
from memoryd.dreams.either_steps import FEW_CALLS, EitherSteps, may_dream
from memoryd.dreams.estimates import DreamEstimates, ModelPrice
from memoryd.dreams.evidence import Evidence
from memoryd.dreams.housekeeping import Housekeeping
from memoryd.dreams.recent_sessions import ProjectSessions
from memoryd.dreams.rules.similarity import Similarity
from memoryd.dreams.schedule import RealTime, Schedule
from memoryd.dreams.steps import DreamModel, DreamSteps, ModelSteps, RuleSteps, word_similarity
from memoryd.dreams.working_copy import WorkingCopies
from memoryd.llm.connect import Models
from memoryd.llm.rules.spending import FREE, price_of
from memoryd.memories.services import Services


def build(services: Services, models: Models | None) -> Dreamer:
    """The caller runs it (`run`) and tells it when a turn ended (`turn_ended`)."""
    if models is None:
        return build_with(services, None)
    name, pace = services.settings.model.dream, models.pace
    if pace is None:
        return build_with(services, DreamModel(models.patient, name))
    model = DreamModel(models.patient, name, FEW_CALLS, unpriced=FREE)
    return build_with(services, model, may_ask=may_dream(pace))


def build_with(
    services: Services,
    model: DreamModel | None,
    *,
    may_ask: Callable[[], bool] | None = None,
    load_similarity: Callable[[], Similarity | None] = word_similarity,
    real_time: RealTime | None = None,
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
) -> Dreamer:
    """As `build`; tests bring a model, vectors and clocks of their own.

    With `may_ask`, a dream is dreamt by rules when the model must not be asked.
    """
    places, settings, now = services.places, services.settings, services.now
    real_time = real_time or RealTime()
    table = DreamTable(services.database)
    sessions = ProjectSessions(places, services.database, services.scopes.memory_is_on)
    copies = WorkingCopies(
        f"{places.state_dir}/dreams", services.store, now=now, skip_index=settings.index.skip
    )
    evidence = Evidence(services.database, services.scopes, services.instructions)
    housekeeping = Housekeeping(evidence, now)
    by_rules = RuleSteps(services.versions, housekeeping, load_similarity)
    steps: DreamSteps = by_rules
    price = None
    if model is not None:
        closed = places.private_folders
        by_model = ModelSteps(
            model,
            services.versions,
            housekeeping,
            sessions,
            closed=closed,
            names=lambda: services.names.of_all(services.scopes.roots()),
            is_private=services.private.has,
            now=now,
        )
        named = price_of(model.name, settings.prices, model.unpriced)
        price = ModelPrice(named, model.limits.usd)
        steps = EitherSteps(by_model, by_rules, may_ask) if may_ask else by_model
    return Dreamer(
        scopes=services.scopes,
        store=services.store,
        table=table,
        applier=Applier(services.store, table, now),
        copies=copies,
        schedule=Schedule(table, sessions, settings, now=now, real_time=real_time),
        estimates=DreamEstimates(services.store, price),
        consolidation=Consolidation(
            steps,
            housekeeping,
            table=table,
            inbox=services.inbox,
            copies=copies,
            max_loss_percent=settings.dream.max_loss_percent,
            now=now,
        ),
        notices=services.notices,
        now=now,
        real_time=real_time,
        sleep=sleep,
    )
