"""What `install` leaves in a fixed place of the person's own, for Claude Code and for a removal.

Rules:
- Claude Code runs only the launcher, a script that needs nothing but /bin/sh. A hook of it exits
  with 0 and prints nothing whatever is missing: the client reads exit code 2 as "block", and an
  interpreter without its script exits with 2.
- Nothing in it comes from the environment that a repository can change: the interpreter and the
  package are full paths, the variables that lead to the socket are those of the installing shell,
  and no word in it is looked up in PATH.
- Beside it are the client itself as one file, and a script that runs its `uninstall`: a person who
  removed the package first can still remove the rest. The three are the last things to go.
"""

import io
import os
import shlex
import sys
import zipfile
from pathlib import Path

from memoryd_client import compiled_hook, hook
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import Locations
from memoryd_client.install.service import write_whole

MARK = "memoryd/bin/memoryd-launch"
WRITTEN_BY = "# Written by `memoryd install`."
UNINSTALLER, ARCHIVE = "memoryd-uninstall", "memoryd-client.pyz"
MAIN = "import sys\nfrom memoryd_client.entry import main\nsys.exit(main())\n"
# These decide where the socket is; the launcher replaces whatever a session has.
PLACE_VARIABLES = ("HOME", "MEMORYD_SOCKET", "XDG_RUNTIME_DIR", "XDG_STATE_HOME")

LAUNCHER = """\
#!/bin/sh
{written_by} Claude Code runs this for memoryd's hooks, its MCP server and its status line.
# If memoryd is gone, it does nothing; to remove what is left: {uninstaller}
{places}
case $1-$# in
hook-*|statusline-1)
  [ -r {hook} ] || exit 0
  {python} -I -S -E -c {run} {hook} "$@" 2>/dev/null ||
  {python} -I -S -E {hook} "$@" 2>/dev/null
  exit 0 ;;
statusline-*)
  exec {python} -I -S -E {launched} "$@" ;;
mcp-*)
  exec {python} -I -S -E {launched} mcp ;;
esac
exit 0
"""

# Python compiles a script at every start, which takes longer than all that a hook does; this runs
# the bytecode that an import would use. If it cannot, it fails before it reads, and the script is
# run instead.
RUN_COMPILED = (
    "import sys, _frozen_importlib_external as loaders; path = sys.argv.pop(1); "
    "exec(loaders.SourceFileLoader('hook', path).get_code('hook'), {'__name__': '__main__'})"
)

REMOVER = """\
#!/bin/sh
{written_by} It removes memoryd, also when the package is already gone.
for python in {python} python3 /usr/bin/python3 /usr/local/bin/python3 /opt/homebrew/bin/python3; do
  if "$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    exec "$python" -I {archive} uninstall "$@"
  fi
done
echo "this needs Python 3.11 or newer: python3.11 {archive} uninstall" >&2
exit 1
"""


def ensure(places: Locations) -> list[Path]:
    """Writes the launcher and the uninstaller; returns the launcher if it is new or changed."""
    archive = client_archive()
    text = launcher_text(places)
    is_new = content_of(places.launcher) != text.encode()
    write_whole(archive_file(places), archive)
    write_whole(uninstaller(places), remover_text(places).encode(), mode=0o755)
    write_whole(places.launcher, text.encode(), mode=0o755)
    compiled_hook.renew()
    return [places.launcher] if is_new else []


def remove(places: Locations) -> None:
    """Removes what `ensure` wrote, and its folders where they are empty then."""
    for path in (places.launcher, archive_file(places), uninstaller(places)):
        path.unlink(missing_ok=True)
    for folder in (places.launcher.parent, data_folder(places)):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def is_there(places: Locations) -> bool:
    return places.launcher.exists() or uninstaller(places).exists()


def problem(places: Locations) -> str:
    """Why the launcher does not run this memoryd; empty if it does."""
    ours = runs(launcher_text(places).encode())
    found = runs(content_of(places.launcher))
    if not found:
        return f"the launcher {places.launcher} is missing or empty"
    return "" if found == ours else f"the launcher runs another memoryd: {found[0]}"


def runs(text: bytes) -> list[str]:
    """What a launcher runs; the places in it may differ from one shell to the next."""
    return [
        line.strip().decode("utf-8", "replace")
        for line in text.splitlines()
        if b" -I -S -E " in line
    ]


def content_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def data_folder(places: Locations) -> Path:
    return places.launcher.parent.parent


def archive_file(places: Locations) -> Path:
    return data_folder(places) / ARCHIVE


def uninstaller(places: Locations) -> Path:
    return places.launcher.with_name(UNINSTALLER)


def launcher_text(places: Locations) -> str:
    return LAUNCHER.format(
        written_by=WRITTEN_BY,
        uninstaller=uninstaller(places),
        places="\n".join(map(assignment, PLACE_VARIABLES)),
        python=quoted(os.path.realpath(sys.executable)),
        run=quoted(RUN_COMPILED),
        hook=quoted(str(package_folder() / "hook.py")),
        launched=quoted(str(package_folder() / "launched.py")),
    )


def remover_text(places: Locations) -> str:
    return REMOVER.format(
        written_by=WRITTEN_BY,
        python=quoted(os.path.realpath(sys.executable)),
        archive=quoted(str(archive_file(places))),
    )


def assignment(name: str) -> str:
    """A line that gives a variable the value that it has now."""
    value = os.environ.get(name)
    return f"{name}={quoted(value)}; export {name}" if value else f"unset {name}"


def quoted(text: str) -> str:
    """One word for the shell, always in quotes: a word alone could be a keyword or an alias."""
    if "\n" in text or "\0" in text:
        raise LocalFailure("a path with a line break cannot be used", "rename the folder")
    return "'" + text.replace("'", "'\\''") + "'"


def package_folder() -> Path:
    return Path(hook.__file__).resolve().parent


def is_only_the_archive() -> bool:
    """Whether this is the copy that `install` left, and the package may be gone."""
    return not package_folder().is_dir()


def client_archive() -> bytes:
    """The client as one file that any Python can run: it imports only the standard library."""
    package = package_folder()
    if is_only_the_archive():
        raise LocalFailure(
            "this copy of memoryd can only uninstall", "install memoryd with pip, pipx or uv first"
        )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py"), MAIN)
        for path in sorted(package.rglob("*.py")):
            name = str(path.relative_to(package.parent))
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return target.getvalue()


def command(places: Locations, word: str) -> str:
    """The shell command that Claude Code runs; it succeeds even where there is no launcher."""
    return f"/bin/sh {shlex.quote(str(places.launcher))} {word} 2>/dev/null; exit 0"
