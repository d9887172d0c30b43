"""Answers `device/...`."""

from typing import assert_never

from memoryd.api.rules import device_params
from memoryd.devices.answers import (
    DeviceAddAnswer,
    DeviceInitAnswer,
    DeviceList,
    DeviceProjectAnswer,
    DeviceRevokeAnswer,
    DeviceSyncAnswer,
)
from memoryd.devices.service import DeviceService

DeviceResult = (
    DeviceAddAnswer
    | DeviceInitAnswer
    | DeviceList
    | DeviceProjectAnswer
    | DeviceRevokeAnswer
    | DeviceSyncAnswer
)


async def answer(service: DeviceService, params: device_params.DeviceParams) -> DeviceResult:
    match params:
        case device_params.DeviceInitParams():
            return await service.init(params.members, dsn=params.dsn, by=params.by)
        case device_params.DeviceAddParams():
            return await service.add(
                params.cwd,
                code=params.code,
                name=params.name,
                dsn=params.dsn,
                start_over=params.start_over,
                by=params.by,
            )
        case device_params.DeviceListParams():
            return await service.list()
        case device_params.DeviceRevokeParams():
            return await service.revoke(params.name, by=params.by)
        case device_params.DeviceSyncParams():
            return await service.sync(params.cwd)
        case device_params.DeviceProjectParams():
            return await service.project(params.cwd, params.name, by=params.by)
        case _:
            assert_never(params)
