"""Builds what turns finished turns into memories."""

from math import inf

import msgspec

from memoryd.base.config import Price, Settings
from memoryd.extraction.agent_runs import AgentRuns
from memoryd.extraction.attribution import Attribution
from memoryd.extraction.backfill import Backfill
from memoryd.extraction.by_program import ProgramExtractor
from memoryd.extraction.embedded import EmbeddedExtractor
from memoryd.extraction.exclusions import Exclusions
from memoryd.extraction.inbox import Inbox
from memoryd.extraction.model import ModelExtractor
from memoryd.extraction.pastes import PasteHistory
from memoryd.extraction.placing import Placing
from memoryd.extraction.rules.batching import LONGEST_TALK_SECONDS, Limits
from memoryd.extraction.task import Extractor
from memoryd.extraction.worker import ExtractionWorker
from memoryd.llm.connect import ModelProgram, Models
from memoryd.llm.rules.spending import FREE, price_of
from memoryd.memories.agents import Agents
from memoryd.memories.services import Services
from memoryd.transcripts.build import TranscriptParts

BUILT_IN = "the built-in rules"

# A session that never pauses for so many idle times is extracted all the same.
IDLES_IN_A_TALK = 8


class ExtractionParts(msgspec.Struct, frozen=True):
    worker: ExtractionWorker
    backfill: Backfill
    inbox: Inbox
    exclusions: Exclusions
    placing: Placing
    agent_runs: AgentRuns


def build(
    services: Services, transcripts: TranscriptParts, models: Models | None
) -> ExtractionParts:
    placing = Placing(services.scopes, services.names, services.settings.scopes.user)
    inbox = Inbox(
        services.inbox,
        services.scopes,
        services.store,
        reviewer=services.settings.inbox.reviewer,
        placing=placing,
        now=services.now,
    )
    exclusions = Exclusions(services.scopes, services.instructions)
    wanted, agents = services.settings.extraction, Agents(services.places)
    extractor = _extractor(services, inbox, exclusions, placing, models)
    paced = extractor if isinstance(extractor, ProgramExtractor) else None
    worker = ExtractionWorker(
        transcripts.turns,
        services.scopes,
        Attribution(services.store, services.versions, services.notices),
        extractor,
        _limits(services.settings, models),
        rest=paced.rest if paced else lambda: None,
        mode_of=services.settings.extraction_mode_of,
        open_sessions=transcripts.tail.open_sessions,
        pastes=PasteHistory(services.places.claude_dir),
        counts_scripts=wanted.scripted,
        agents=agents,
        off_for=services.session_switches.reason,
        notices=services.notices,
        now=services.now,
    )
    importer, unpriced = _importer(services.settings.model.extraction, models)
    backfill = Backfill(
        root=transcripts.root,
        database=services.database,
        cursors=transcripts.cursors,
        turns=transcripts.turns,
        scopes=services.scopes,
        model=importer,
        price=price_of(importer, services.settings.prices, unpriced),
        counts_scripts=wanted.scripted,
        notices=services.notices,
        private=transcripts.private,
        now=services.now,
    )
    agent_runs = AgentRuns(
        transcripts.root,
        transcripts.turns,
        services.scopes,
        agents,
        worker.wake,
        services.now,
    )
    return ExtractionParts(worker, backfill, inbox, exclusions, placing, agent_runs)


def _limits(settings: Settings, models: Models | None) -> Limits:
    """What behind a plan has few calls a day, so it waits for longer pauses."""
    wanted = settings.extraction
    if models is None:
        return Limits(wanted.every_turns, wanted.parallel)
    if not isinstance(models, ModelProgram):
        return Limits(wanted.every_turns, wanted.parallel, quiet_seconds=wanted.quiet_seconds)
    if models.provider == "command":
        return Limits(wanted.every_turns, 1, quiet_seconds=wanted.quiet_seconds)
    idle_seconds = settings.model.claude_code.idle_minutes * 60
    return Limits(
        wanted.every_turns,
        1,
        quiet_seconds=idle_seconds,
        longest_talk_seconds=max(LONGEST_TALK_SECONDS, IDLES_IN_A_TALK * idle_seconds),
    )


def _importer(model: str, models: Models | None) -> tuple[str, Price | None]:
    """What extracts imported turns, and its price if none is set."""
    if not isinstance(models, ModelProgram):
        return model, None
    return (BUILT_IN if models.provider == "claude-code" else models.pace.model), FREE


def _extractor(
    services: Services,
    inbox: Inbox,
    exclusions: Exclusions,
    placing: Placing,
    models: Models | None,
) -> Extractor:
    places, settings = services.places, services.settings
    by_rules = EmbeddedExtractor(
        services.store,
        inbox,
        settings.mode_of,
        extraction_mode_of=settings.extraction_mode_of,
        written_down=exclusions.written_down,
        placing=placing,
    )
    if models is None:
        return by_rules
    by_model = ModelExtractor(
        models.patient,
        settings.model.extraction,
        services.store,
        services.versions,
        inbox=inbox,
        state_folder=places.state_dir,
        closed=places.private_folders,
        is_private=services.private.has,
        mode_of=settings.mode_of,
        written_texts=exclusions.written_texts,
        written_down=exclusions.written_down,
        extraction_mode_of=settings.extraction_mode_of,
        placing=placing,
    )
    if not isinstance(models, ModelProgram):
        return by_model
    is_plan = models.provider == "claude-code"
    hours = settings.model.claude_code.backlog_hours if is_plan else inf
    return ProgramExtractor(
        by_model, by_rules, models.pace, backlog_seconds=hours * 3600, now=services.now
    )
