"""Builds what turns finished turns into memories."""

import msgspec

from memoryd.extraction.attribution import Attribution
from memoryd.extraction.backfill import Backfill
from memoryd.extraction.embedded import EmbeddedExtractor
from memoryd.extraction.exclusions import Exclusions
from memoryd.extraction.inbox import Inbox
from memoryd.extraction.model import ModelExtractor
from memoryd.extraction.pastes import PasteHistory
from memoryd.extraction.rules.batching import Limits
from memoryd.extraction.task import Extractor
from memoryd.extraction.worker import ExtractionWorker
from memoryd.llm.connect import ModelServer
from memoryd.llm.rules.spending import price_of
from memoryd.memories.services import Services
from memoryd.transcripts.build import TranscriptParts


class ExtractionParts(msgspec.Struct, frozen=True):
    worker: ExtractionWorker
    backfill: Backfill
    inbox: Inbox
    exclusions: Exclusions


def build(
    services: Services, transcripts: TranscriptParts, models: ModelServer | None
) -> ExtractionParts:
    inbox = Inbox(
        services.inbox,
        services.scopes,
        services.store,
        reviewer=services.settings.inbox.reviewer,
        now=services.now,
    )
    exclusions = Exclusions(services.scopes, services.instructions)
    wanted, model = services.settings.extraction, services.settings.model.extraction
    worker = ExtractionWorker(
        transcripts.turns,
        services.scopes,
        Attribution(services.store, services.versions),
        _extractor(services, inbox, exclusions, models),
        Limits(
            wanted.every_turns,
            wanted.parallel,
            quiet_seconds=0 if models is None else wanted.quiet_seconds,
        ),
        mode_of=services.settings.extraction_mode_of,
        open_sessions=transcripts.tail.open_sessions,
        pastes=PasteHistory(services.places.claude_dir),
        counts_scripts=wanted.scripted,
        notices=services.notices,
        now=services.now,
    )
    backfill = Backfill(
        root=transcripts.root,
        database=services.database,
        cursors=transcripts.cursors,
        turns=transcripts.turns,
        scopes=services.scopes,
        model=model,
        price=price_of(model, services.settings.prices),
        counts_scripts=wanted.scripted,
        notices=services.notices,
        now=services.now,
    )
    return ExtractionParts(worker, backfill, inbox, exclusions)


def _extractor(
    services: Services, inbox: Inbox, exclusions: Exclusions, models: ModelServer | None
) -> Extractor:
    places, settings = services.places, services.settings
    if models is None:
        return EmbeddedExtractor(
            services.store,
            inbox,
            settings.mode_of,
            extraction_mode_of=settings.extraction_mode_of,
            written_down=exclusions.written_down,
        )
    return ModelExtractor(
        models.patient,
        settings.model.extraction,
        services.store,
        services.versions,
        inbox=inbox,
        state_folder=places.state_dir,
        closed=(places.claude_dir, places.state_dir),
        mode_of=settings.mode_of,
        written_texts=exclusions.written_texts,
        extraction_mode_of=settings.extraction_mode_of,
    )
