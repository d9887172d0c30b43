"""What may be asked about a person's own machines."""

from typing import Annotated, Literal

import msgspec

from memoryd.api.rules.team_params import RoleNames

DeviceName = Annotated[str, msgspec.Meta(max_length=60)]


class DeviceRequest(msgspec.Struct, frozen=True):
    """About the machines of the person."""


class DeviceAddParams(DeviceRequest, frozen=True):
    """Without `code`: a code for another machine, after making this one the first if need be."""

    cwd: str = ""
    code: Annotated[str, msgspec.Meta(max_length=100)] = ""
    name: DeviceName = ""
    dsn: str = ""
    start_over: bool = False
    by: Literal["user", "agent"] = "user"


class DeviceInitParams(DeviceRequest, frozen=True):
    """Makes the tables, and lets these logins keep their machines in step through them."""

    members: RoleNames
    dsn: str = ""
    by: Literal["user", "agent"] = "user"


class DeviceListParams(DeviceRequest, frozen=True):
    pass


class DeviceRevokeParams(DeviceRequest, frozen=True):
    name: DeviceName
    by: Literal["user", "agent"] = "user"


class DeviceSyncParams(DeviceRequest, frozen=True):
    cwd: str = ""


class DeviceProjectParams(DeviceRequest, frozen=True):
    """`name` is what the project of `cwd` is called on all machines."""

    cwd: str
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    by: Literal["user", "agent"] = "user"


DeviceParams = (
    DeviceInitParams
    | DeviceAddParams
    | DeviceListParams
    | DeviceRevokeParams
    | DeviceSyncParams
    | DeviceProjectParams
)
