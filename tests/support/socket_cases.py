"""Environments, and where the command finds the socket in each: what every editor must agree with.

Also texts, for the names and descriptions that the command gives to them.
"""

import os
import pwd
from itertools import product
from typing import Any

from memoryd_client import hook

FOLDERS = (None, "", "relative", "/", "/run/user/7", "/a//b/./c/", "/x" * 60, "/tmp/" + "y" * 5000)
SOCKETS = (None, "", "/tmp/m.sock", "rel.sock", "/" + "z" * 102, "/" + "z" * 106, "/" + "z" * 107)
HOMES = (None, "/home/dev", "/Users/a b", "/é" * 50, pwd.getpwuid(os.getuid()).pw_dir)
TEXTS = (
    "Use tabs in Makefiles, never spaces.",
    "Deploy: we ship on Thursdays. Then lunch.",
    "  One\n line after   another, with\ttabs  ",
    "- ...",
    "Naïve cafés façade " * 12,
    "x" * 200,
    "e.g. this is one. And that is another!",
    "日本語のメモ。" * 30,
    "first line\nsecond line",
)


def socket_cases() -> list[dict[str, Any]]:
    """All combinations, each with what `hook` says; `there` are the sockets that exist."""
    return [
        case_for(named(HOME=home, XDG_RUNTIME_DIR=run, XDG_STATE_HOME=state), platform, there)
        for home, run, state, platform, there in product(
            HOMES, FOLDERS, (None, "/state", "/x" * 60), ("linux", "darwin"), (False, True)
        )
    ] + [
        case_for(named(HOME="/home/dev", XDG_RUNTIME_DIR="/run/x", MEMORYD_SOCKET=asked), platform)
        for asked, platform in product(SOCKETS, ("linux", "darwin"))
    ]


def named(**variables: str | None) -> dict[str, str]:
    return {name: value for name, value in variables.items() if value is not None}


def case_for(
    environ: dict[str, str], platform: str, other_is_there: bool = False
) -> dict[str, Any]:
    """One case; with `other_is_there`, only the place that the variables do not name exists."""
    uid = os.getuid()
    encoded = {os.fsencode(name): os.fsencode(value) for name, value in environ.items()}
    user_home = pwd.getpwuid(uid).pw_dir
    state = hook.within(hook.state_folder(encoded, uid, platform), b"memoryd.sock")
    runtime = hook.within(hook.USUAL_RUNTIME, b"%d/memoryd.sock" % uid)
    has_runtime = bool(hook.folder_in(encoded, b"XDG_RUNTIME_DIR"))
    try:
        path = hook.socket_path(encoded, uid, platform)
    except ValueError as error:
        return case(environ, platform, user_home, [], {"problem": str(error)})
    there = []
    if other_is_there:
        there = [state if has_runtime else runtime]
        if has_runtime or hook.is_own_home(encoded, uid):
            path = there[0]
    return case(environ, platform, user_home, there, {"path": os.fsdecode(path)})


def case(
    environ: dict[str, str],
    platform: str,
    user_home: str,
    there: list[bytes],
    expected: dict[str, str],
) -> dict[str, Any]:
    return {
        "environ": environ,
        "platform": platform,
        "uid": os.getuid(),
        "homedir": user_home,
        "there": [os.fsdecode(path) for path in there],
        "expected": expected,
    }
