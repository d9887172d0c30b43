"""What may be asked about team memory."""

from typing import Annotated, Literal

import msgspec

RoleNames = Annotated[
    list[Annotated[str, msgspec.Meta(min_length=1, max_length=63)]], msgspec.Meta(max_length=1000)
]


class TeamRequest(msgspec.Struct, frozen=True):
    """About the team of the project of `cwd`."""

    cwd: str


class TeamStatusParams(TeamRequest, frozen=True):
    pass


class TeamSyncParams(TeamRequest, frozen=True):
    pass


class TeamInitParams(TeamRequest, frozen=True):
    """`dsn` is for this request alone; the first member of a project is its login."""

    dsn: str = ""
    members: RoleNames = []
    leavers: RoleNames = []
    name: str = ""
    remote: str = ""
    by: Literal["user", "agent"] = "user"


class TeamJoinParams(TeamRequest, frozen=True):
    """Without `dsn`, the database of the settings."""

    dsn: str = ""
    name: str = ""
    remote: str = ""
    by: Literal["user", "agent"] = "user"


class TeamLeaveParams(TeamRequest, frozen=True):
    by: Literal["user", "agent"] = "user"


class TeamShareParams(TeamRequest, frozen=True):
    path: str


class TeamUnshareParams(TeamRequest, frozen=True):
    path: str
    by: Literal["user", "agent"] = "user"


class TeamRemoveParams(TeamRequest, frozen=True):
    """`undo` brings back what somebody removed."""

    path: str
    undo: bool = False
    by: Literal["user", "agent"] = "user"


class TeamLogParams(TeamRequest, frozen=True):
    path: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50


TeamParams = (
    TeamStatusParams
    | TeamSyncParams
    | TeamInitParams
    | TeamJoinParams
    | TeamLeaveParams
    | TeamShareParams
    | TeamUnshareParams
    | TeamRemoveParams
    | TeamLogParams
)
