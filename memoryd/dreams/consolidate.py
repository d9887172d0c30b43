"""The work of a dream: copy the memories, consolidate the copy, review it, and apply it or not."""

from collections.abc import Callable
from functools import partial

import anyio
import anyio.to_thread

from memoryd.base.timestamps import iso_time
from memoryd.dreams.apply import changed_files, undoable
from memoryd.dreams.copied_files import Files
from memoryd.dreams.distil_logs import distil
from memoryd.dreams.dream_table import DreamTable
from memoryd.dreams.housekeeping import Housekeeping
from memoryd.dreams.rules import plan, review
from memoryd.dreams.rules.story import in_words
from memoryd.dreams.run import DreamRun
from memoryd.dreams.steps import DreamSteps
from memoryd.dreams.working_copy import WorkingCopies, WorkingCopy
from memoryd.memories import daily_logs
from memoryd.memories.inbox_table import InboxTable
from memoryd.memories.rules.retirement import is_in_retired
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.system.cancellation import cancellable


class Consolidation:
    """`steps` are those of the rules or of a model."""

    def __init__(
        self,
        steps: DreamSteps,
        housekeeping: Housekeeping,
        *,
        table: DreamTable,
        inbox: InboxTable,
        copies: WorkingCopies,
        max_loss_percent: float,
        now: Callable[[], float],
    ) -> None:
        self._steps = steps
        self._housekeeping = housekeeping
        self._table = table
        self._inbox = inbox
        self._copies = copies
        self._max_loss_percent = max_loss_percent
        self._now = now

    async def dream(self, run: DreamRun) -> None:
        run.summarize(how=self._steps.how)
        copy = await anyio.to_thread.run_sync(self._copy, run)
        try:
            await anyio.to_thread.run_sync(self._distil_logs, run, copy)
            run.summarize(said=await self._steps.take(run, copy))
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._conclude, run, copy)
        finally:
            is_kept = run.state == "refused"
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(copy.close, keep=is_kept))

    def _copy(self, run: DreamRun) -> WorkingCopy:
        copy = self._copies.make(run.id, run.target.directory, run.progress.on_change)
        memories = sum(file != INDEX_FILE and not is_in_retired(file) for file in copy.before)
        run.progress.read = memories
        run.summarize(memories=memories, daily_logs=copy.daily_logs)
        run.announce_start()
        return copy

    def _distil_logs(self, run: DreamRun, copy: WorkingCopy) -> None:
        directory = run.target.directory
        marks = self._table.logs_read(directory.path)
        unread = daily_logs.unread(directory, marks, run.since)
        distil(copy, unread.entries)
        run.summarize(logs_read=unread.marks)

    def _conclude(self, run: DreamRun, copy: WorkingCopy) -> None:
        """Reviews the copy, and applies it or not."""
        today = iso_time(self._now())[:10]
        after, believed = copy.after(), copy.believed()
        before_texts, after_texts = review.under_own_names(*_texts(copy, after))
        loss = review.loss(
            before_texts,
            after_texts,
            today,
            run.ended_files,
            parse=plan.topic_of,
            pace=cancellable,
        )
        run.summarize(
            files=review.diffs(
                before_texts,
                after_texts,
                today,
                present=copy.present,
                parse=plan.topic_of,
                pace=cancellable,
            ),
            flags=(
                *plan.flags(believed, after_texts.get(INDEX_FILE, "")),
                *self._housekeeping.due(run, copy),
            ),
            lost=loss.lost,
        )
        counts = run.counts(left=len(believed))
        run.summarize(counts=counts, words=in_words(counts))
        if run.cause == "dry-run":
            run.end("previewed")
        elif loss.is_too_much(self._max_loss_percent):
            self._keep_for_review(run, copy, after)
            run.end(
                "refused",
                f"it would lose {len(loss.lost)} of {loss.memories} memories,"
                f" more than {self._max_loss_percent:g} percent; nothing was changed",
            )
        else:
            run.apply(copy.before, after)
            self._ask(run)

    def _ask(self, run: DreamRun) -> None:
        for one in run.questions:
            if one.retires not in run.summary.left_alone:
                self._inbox.add(run.target.directory.path, one, at=self._now())

    def _keep_for_review(self, run: DreamRun, copy: WorkingCopy, after: Files) -> None:
        """The copy stays, and the table records what it was made from."""
        run.release_lock()
        copy.lay_out()
        run.summarize(kept_at=copy.directory.path)
        files = {one.file for one in run.summary.files} | {*changed_files(copy.before, after)}
        rows = [undoable(file, copy.before, after) for file in sorted(files)]
        self._table.note_files(run.id, rows)


def _texts(copy: WorkingCopy, after: Files) -> tuple[dict[str, str], dict[str, str]]:
    """Masked where they differ: masking is not a loss, and a diff must not show secrets."""
    changed = {*changed_files(copy.before, after)}

    def texts(files: Files) -> dict[str, str]:
        return {
            file: copy.present(stored.text) if file in changed else stored.text
            for file, stored in cancellable(files.items())
        }

    return texts(copy.before), texts(after)
