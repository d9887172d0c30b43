"""Answers `team/...`: each request to the part of team memory that knows."""

from typing import assert_never

import anyio.to_thread

from memoryd.api.rules import team_params
from memoryd.team.answers import (
    InitAnswer,
    JoinAnswer,
    LeaveAnswer,
    LogAnswer,
    SharedAnswer,
    SyncAnswer,
    TeamStatus,
)
from memoryd.team.build import TeamParts

TeamResult = (
    TeamStatus | SyncAnswer | InitAnswer | JoinAnswer | LeaveAnswer | SharedAnswer | LogAnswer
)


async def answer(team: TeamParts, params: team_params.TeamParams) -> TeamResult:
    service = team.service
    match params:
        case team_params.TeamStatusParams():
            return await anyio.to_thread.run_sync(team.status.of, params.cwd)
        case team_params.TeamSyncParams():
            return await service.sync(params.cwd)
        case team_params.TeamInitParams():
            return await service.init(
                params.cwd,
                dsn=params.dsn,
                members=params.members,
                leavers=params.leavers,
                name=params.name,
                remote=params.remote,
                by=params.by,
            )
        case team_params.TeamJoinParams():
            return await service.join(
                params.cwd, dsn=params.dsn, name=params.name, remote=params.remote, by=params.by
            )
        case team_params.TeamLeaveParams():
            return await service.leave(params.cwd, by=params.by)
        case team_params.TeamShareParams():
            return await service.share(params.cwd, params.path)
        case team_params.TeamUnshareParams():
            return await service.unshare(params.cwd, params.path, by=params.by)
        case team_params.TeamRemoveParams():
            return await service.remove(params.cwd, params.path, undo=params.undo, by=params.by)
        case team_params.TeamLogParams():
            return await service.log(params.cwd, limit=params.limit, path=params.path)
        case _:
            assert_never(params)
