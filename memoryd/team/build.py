"""Builds team memory from the daemon's services."""

import msgspec

from memoryd.memories.catalog import Catalog
from memoryd.memories.services import Services
from memoryd.team.addresses import Addresses
from memoryd.team.local_files import LocalFiles
from memoryd.team.review import TeamReview
from memoryd.team.service import TeamService
from memoryd.team.status import TeamStatusReader
from memoryd.team.sync import ProjectSync
from memoryd.team.team_table import JoinedProject, TeamTable
from memoryd.team.worker import TeamWorker


class TeamParts(msgspec.Struct, frozen=True):
    """The caller runs the worker (`run`) and tells it what changed and whether a dream runs."""

    worker: TeamWorker
    service: TeamService
    status: TeamStatusReader
    addresses: Addresses


def build(services: Services) -> TeamParts:
    settings, table = services.settings.team, TeamTable(services.database)
    files = LocalFiles(services.store, services.versions, services.now)
    addresses = Addresses(settings, services.env, services.places.home)
    review = TeamReview(services.inbox, services.now)

    def sync_of(project: JoinedProject) -> ProjectSync:
        return ProjectSync(project, table, files, review, settings, services.now)

    worker = TeamWorker(
        table,
        services.notices,
        sync_of=sync_of,
        addresses=addresses,
        poll_seconds=settings.poll_seconds,
        now=services.now,
    )
    service = TeamService(
        scopes=services.scopes,
        store=services.store,
        catalog=Catalog(services.scopes, services.store, services.now),
        mover=services.mover,
        identities=services.identities,
        table=table,
        files=files,
        worker=worker,
        addresses=addresses,
        settings=settings,
        now=services.now,
    )
    status = TeamStatusReader(
        services.scopes, services.store, table, files, worker, addresses, settings
    )
    return TeamParts(worker, service, status, addresses)
