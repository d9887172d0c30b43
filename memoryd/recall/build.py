"""Builds recall; its heavy half is imported in a thread, after the daemon is up."""

from typing import TYPE_CHECKING

from memoryd.base import paths
from memoryd.llm.connect import Models
from memoryd.memories.directories import has_memories
from memoryd.memories.services import Services
from memoryd.recall.outcome_table import OutcomeTable
from memoryd.recall.rule_table import RuleTable
from memoryd.recall.selector import ModelSelector
from memoryd.recall.service import RecallService
from memoryd.recall.surfaced import Surfaced
from memoryd.recall.usage import MemoryUsage
from memoryd.system.later_log import LaterLog

if TYPE_CHECKING:
    from memoryd.recall.answer import Recall


def build(services: Services, models: Models | None) -> RecallService:
    surfaced, answer_log = Surfaced(services.database, services.now), LaterLog()
    return RecallService(
        lambda: _load(services, surfaced, models, answer_log),
        lambda: has_memories(services.places),
        surfaced,
        answer_log,
        RuleTable(services.database),
        OutcomeTable(services.database),
        usage=MemoryUsage(services.database),
        at_tools=services.settings.recall.at_tools,
        run_soon=services.background.soon,
        now=services.now,
    )


def _load(
    services: Services, surfaced: Surfaced, models: Models | None, answer_log: LaterLog
) -> "Recall":
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
        selector=_selector(services, models),
        calibration=Calibration(),
        limit=wanted.limit,
        deadline_ms=wanted.deadline_ms,
        answer_log=answer_log,
        run_soon=services.background.soon,
        now=services.now,
    )


def _selector(services: Services, models: Models | None) -> ModelSelector | None:
    """A model behind a command would answer long after the deadline, and costs too much for it."""
    if models is None or models.selecting is None:
        return None
    return ModelSelector(models.selecting, services.settings.model.recall)
