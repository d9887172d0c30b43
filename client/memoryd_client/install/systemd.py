"""memoryd as a systemd user service; systemd holds the socket.

Rules:
- A probe first runs inside the fences and shows which of them hold. If the system refuses them, the
  service gets the same unit without those that need user namespaces, and the report says so.
- The socket unit cannot change under a running service, so both stop before both start.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import Locations
from memoryd_client.install import probe, units
from memoryd_client.install.programs import MISSING, Outcome, run
from memoryd_client.install.service import (
    Fence,
    Report,
    make_folders,
    refuse_if_served_by_hand,
    template,
    values_for,
    write_whole,
)

SERVICE, SOCKET, PROBE = "memoryd.service", "memoryd.socket", "memoryd-probe.service"
LOG_HINT = "find out why with: journalctl --user -u memoryd -n 20"


def systemctl(*words: str) -> Outcome:
    return run("systemctl", "--user", *words)


def state_of(unit: str) -> str:
    """active, inactive, failed, ...; empty without a user manager."""
    return systemctl("is-active", unit).out.strip()


def why_no_manager() -> str | None:
    """Why the user's systemd cannot be used, or None when it can."""
    outcome = systemctl("is-system-running")
    if outcome.code == MISSING:
        return "this system has no systemd"
    if outcome.out.strip() in {"", "offline", "unknown"}:
        return f"systemd is not running for this user ({outcome.complaint})"
    return None


def install(places: Locations, writable: Sequence[str]) -> Report:
    """Writes and starts the service; raises LocalFailure if that fails."""
    require_manager()
    paths = unit_files(places)
    for path in paths:
        refuse_if_foreign(path)
    refuse_if_served_by_hand(service_is_active="active" in {state_of(SERVICE), state_of(SOCKET)})
    make_folders(places)
    values = values_for(places, writable)
    service = units.service_unit(template("systemd", SERVICE).read_text("utf-8"), values)
    service, fences, notes = with_working_fences(service, places)
    socket = units.socket_unit(template("systemd", SOCKET).read_text("utf-8"), listen_on(places))
    for path, text in zip(paths, (service, socket), strict=True):
        write_whole(path, text.encode())
    start()
    return Report(written=paths, fences=fences, notes=notes)


def uninstall(places: Locations) -> Report:
    """Stops the service and removes the files that `install` wrote."""
    paths = [path for path in unit_files(places) if path.exists()]
    for path in paths:
        refuse_if_foreign(path)
    if not paths:
        return Report(notes=["there was no service to remove"])
    manager_is_there = why_no_manager() is None
    if manager_is_there:
        systemctl("disable", "--now", SOCKET, SERVICE)
    for path in paths:
        path.unlink()
    if manager_is_there:
        systemctl("daemon-reload")
        systemctl("reset-failed", SERVICE, SOCKET)
    return Report(removed=paths)


def unit_files(places: Locations) -> tuple[Path, Path]:
    return places.service, places.service.with_name(SOCKET)


def require_manager() -> None:
    reason = why_no_manager()
    if reason:
        raise LocalFailure(
            f"{reason}, so memoryd cannot run as a service",
            "run it in a terminal instead: memoryd serve",
        )


def runtime_folder() -> Path:
    return Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")


def listen_on(places: Locations) -> str:
    """The socket's path for the unit, with systemd's %t for the usual runtime folder."""
    if places.socket == runtime_folder() / "memoryd.sock":
        return "%t/memoryd.sock"
    return units.unspecified(str(places.socket))


def refuse_if_foreign(path: Path) -> None:
    if path.exists() and not path.read_text("utf-8", "replace").startswith(units.WRITTEN_BY):
        raise LocalFailure(f"{path} was not written by memoryd", "move it away, then try again")


def with_working_fences(
    service: str, places: Locations
) -> tuple[str, Sequence[Fence], Sequence[str]]:
    """The unit with as many fences as the system allows, which of them hold, and notes."""
    fences, complaint = try_fences(service, places)
    if not complaint:
        return service, fences, ()
    weaker = units.without_namespaces(service)
    fences, worse = try_fences(weaker, places)
    if worse:
        raise LocalFailure(f"the service cannot start inside its fences: {worse}", LOG_HINT)
    note = f"this system refuses user namespaces ({complaint}); installed without those fences"
    return weaker, fences, [note]


def try_fences(service: str, places: Locations) -> tuple[Sequence[Fence], str]:
    """Which fences hold, and why the unit cannot be used; empty if it can."""
    output = runtime_folder() / "memoryd-probe.out"
    words = (sys.executable, "-I", "-S", "-E", probe.__file__)
    command = (*words, str(places.home), str(places.claude), str(places.state))
    outcome = run_probe(units.probe_unit(service, command, str(output)))
    rows = output.read_text("utf-8").splitlines() if output.exists() else []
    output.unlink(missing_ok=True)
    fences = [Fence(name, verdict) for verdict, _, name in (row.partition("\t") for row in rows)]
    if outcome.code:
        return fences, outcome.err
    if Fence(probe.WRITES, "up") not in fences:
        return fences, "memories cannot be written"
    return fences, ""


def run_probe(unit: str) -> Outcome:
    """Starts a temporary unit and waits until it has ended."""
    path = runtime_folder() / "systemd" / "user" / PROBE
    write_whole(path, unit.encode())
    try:
        systemctl("daemon-reload")
        outcome = systemctl("start", PROBE)
        status = systemctl("show", "-p", "ExecMainStatus", "--value", PROBE).out.strip()
    finally:
        path.unlink()
        systemctl("reset-failed", PROBE)
        systemctl("daemon-reload")
    return outcome._replace(err=f"a test start ended with {status}")


def start() -> None:
    """Starts what was written, whatever ran before."""
    systemctl("daemon-reload")
    systemctl("stop", SERVICE, SOCKET)
    systemctl("reset-failed", SERVICE, SOCKET)
    for words in (("enable", SOCKET, SERVICE), ("start", SOCKET), ("start", SERVICE)):
        outcome = systemctl(*words)
        if outcome.code:
            raise LocalFailure(f"systemctl --user {words[0]} failed: {outcome.complaint}", LOG_HINT)
