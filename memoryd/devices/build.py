"""Builds what keeps a person's machines in step, from the daemon's services."""

import msgspec

from memoryd.devices.device_table import DeviceTable
from memoryd.devices.keyring import KeyringFile
from memoryd.devices.members import Members
from memoryd.devices.own_files import OwnFiles
from memoryd.devices.own_places import OwnPlaces
from memoryd.devices.service import DeviceService
from memoryd.devices.sync import PrivateSync
from memoryd.devices.worker import DeviceWorker
from memoryd.memories.services import Services
from memoryd.sessions.checkpoints import Checkpoints
from memoryd.team.addresses import Addresses
from memoryd.team.team_table import TeamTable


class DeviceParts(msgspec.Struct, frozen=True):
    """The caller runs the worker (`run`) and tells it what changed and whether a dream runs."""

    worker: DeviceWorker
    service: DeviceService


def build(services: Services, checkpoints: Checkpoints, addresses: Addresses) -> DeviceParts:
    table, agreed = DeviceTable(services.database), TeamTable(services.database)
    places = OwnPlaces(services.scopes, services.identities, table)
    files = OwnFiles(services.store, services.versions, checkpoints, services.now)
    members = Members(KeyringFile(services.places.state_dir), table)
    worker = DeviceWorker(
        members,
        PrivateSync(table, agreed, places, files, services.now),
        services.notices,
        is_on=services.settings.sync.private,
        address=addresses.needed,
        poll_seconds=services.settings.team.poll_seconds,
        now=services.now,
    )
    service = DeviceService(services.scopes, members, places, worker, agreed, addresses)
    return DeviceParts(worker, service)
