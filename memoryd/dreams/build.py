"""Puts dreams together."""

from memoryd.dreams.dream_table import DreamTable
from memoryd.dreams.dreamer import Dreamer
from memoryd.dreams.recent_sessions import ProjectSessions
from memoryd.dreams.run import Means
from memoryd.dreams.steps import DreamModel, word_similarity
from memoryd.llm.connect import ModelServer
from memoryd.memories.services import Services


def build(services: Services, models: ModelServer | None) -> Dreamer:
    places, settings = services.places, services.settings
    means = Means(
        store=services.store,
        history=services.versions,
        book=DreamTable(services.database),
        sessions=ProjectSessions(places, services.database, services.scopes.memory_is_on),
        dreams_folder=f"{places.state_dir}/dreams",
        max_loss_percent=settings.dream.max_loss_percent,
        now=services.now,
        tell=services.notices.post,
        mind=DreamModel(models.patient, settings.model.dream) if models else None,
        similarity=word_similarity,
        closed=(places.claude_dir, places.state_dir),
        skip_index=settings.index.skip,
    )
    return Dreamer(means, services.scopes, settings)
