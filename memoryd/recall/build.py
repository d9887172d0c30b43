"""Builds recall; its heavy half is imported in a thread, after the daemon is up."""

from typing import TYPE_CHECKING

from memoryd.base import paths
from memoryd.llm.connect import ModelServer
from memoryd.memories.services import Services
from memoryd.recall.outcome_table import OutcomeTable
from memoryd.recall.rule_table import RuleTable
from memoryd.recall.selector import ModelSelector
from memoryd.recall.service import RecallService
from memoryd.recall.surfaced import Surfaced

if TYPE_CHECKING:
    from memoryd.recall.answer import Recall


def build(services: Services, models: ModelServer | None) -> RecallService:
    surfaced = Surfaced(services.database, services.now)
    return RecallService(
        lambda: _load(services, surfaced, models),
        surfaced,
        RuleTable(services.database),
        OutcomeTable(services.database),
        at_tools=services.settings.recall.at_tools,
        run_soon=services.background.soon,
        now=services.now,
    )


def _load(services: Services, surfaced: Surfaced, models: ModelServer | None) -> "Recall":
    from memoryd.recall.answer import Recall  # noqa: PLC0415 - numpy loads slowly
    from memoryd.recall.calibration import Calibration  # noqa: PLC0415
    from memoryd.recall.embeddings import Embeddings  # noqa: PLC0415

    places, wanted = services.places, services.settings.recall
    folder = wanted.model_dir and paths.expand_home(wanted.model_dir, places.home)
    embeddings = Embeddings(folder, f"{places.state_dir}/vectors")
    embeddings.load()
    return Recall(
        places=places,
        scopes=services.scopes,
        store=services.store,
        surfaced=surfaced,
        embeddings=embeddings,
        calibration=Calibration(),
        selector=ModelSelector(models.metered, services.settings.model.recall) if models else None,
        limit=wanted.limit,
        deadline_ms=wanted.deadline_ms,
        run_soon=services.background.soon,
        now=services.now,
    )
