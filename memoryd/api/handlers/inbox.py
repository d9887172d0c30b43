"""Decides about waiting statements over the socket, with the exclusions that every save has.

One that is refused does not stop the others: it waits on, and the answer says why.
"""

import msgspec

from memoryd.api.rules import protocol
from memoryd.base.errors import MemorydError
from memoryd.extraction.exclusions import Exclusions, without_secrets
from memoryd.extraction.inbox import Inbox
from memoryd.extraction.inbox_answers import Kept


class NotKept(msgspec.Struct, frozen=True):
    id: int
    reason: str
    hint: str


class KeptAnswer(msgspec.Struct, frozen=True):
    kept: list[Kept]
    refused: list[NotKept]


class RejectedAnswer(msgspec.Struct, frozen=True):
    rejected: int


class InboxRequests:
    """All methods block."""

    def __init__(self, inbox: Inbox, exclusions: Exclusions) -> None:
        self._inbox = inbox
        self._exclusions = exclusions

    def accept(self, params: protocol.InboxAcceptParams) -> KeptAnswer:
        kept: list[Kept] = []
        refused: list[NotKept] = []
        # All of them first: a wrong id must not leave the others half decided.
        waiting = [self._inbox.get(number) for number in dict.fromkeys(params.ids)]
        for one in waiting:
            try:
                self._check(one.id, one.candidate.body, params)
                kept += self._inbox.accept([one.id], by=params.by)
            except MemorydError as error:
                if len(waiting) == 1:
                    raise
                refused.append(NotKept(one.id, error.message, error.hint))
        return KeptAnswer(kept, refused)

    def edit(self, params: protocol.InboxEditParams) -> KeptAnswer:
        (number,) = params.ids
        text = params.text
        if text is not None:
            self._check(number, text, params)
            text = without_secrets(text)
        kept = self._inbox.edit(number, text, type_=params.type, by=params.by)
        return KeptAnswer([kept], [])

    def reject(self, params: protocol.InboxRejectParams) -> RejectedAnswer:
        return RejectedAnswer(self._inbox.reject(params.ids, by=params.by))

    def _check(
        self,
        number: int,
        text: str,
        params: protocol.InboxAcceptParams | protocol.InboxEditParams,
    ) -> None:
        candidate = self._inbox.get(number).candidate
        if candidate.retires:
            return  # nothing is saved
        self._exclusions.check(
            candidate.project, text, scope=candidate.scope, by=params.by, anyway=params.anyway
        )
