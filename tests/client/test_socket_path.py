"""The daemon and the client, which share no code, look for the socket in the same place."""

import os

from hypothesis import given
from hypothesis import strategies as st

from memoryd.base import paths
from memoryd.base.errors import ConfigError
from memoryd_client import hook

FOLDERS = st.sampled_from(
    ["", "relative", "/", "/run/user/1000", "/a//b/./c/", "/x" * 60, "/é" * 45, "/tmp/" + "y" * 300]
)
SOCKETS = st.sampled_from(["", "/tmp/m.sock", "rel.sock", "/" + "z" * 106, "/" + "z" * 107])


@given(
    st.fixed_dictionaries(
        {"HOME": st.sampled_from(["/home/dev", "/Users/a b", "/h" * 70])},
        optional={
            "XDG_RUNTIME_DIR": FOLDERS,
            "XDG_STATE_HOME": FOLDERS,
            "MEMORYD_SOCKET": SOCKETS,
        },
    ),
    st.sampled_from(["linux", "darwin"]),
    st.sampled_from([0, 501, 1000]),
)
def test_both_halves_name_the_same_socket(env: dict[str, str], platform: str, uid: int) -> None:
    try:
        daemons = paths.places(env, platform, uid, env["HOME"]).socket
    except ConfigError:
        daemons = "refused"
    encoded = {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
    try:
        clients = os.fsdecode(hook.socket_path(encoded, uid, platform))
    except ValueError:
        clients = "refused"
    assert clients == daemons
