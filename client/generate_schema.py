"""Writes what describes the socket, from the daemon's own types: `make schema`.

The files are checked in and shipped, so the client needs nothing of the daemon to read them. A test
fails when they are not current.
"""

import json
from pathlib import Path

import generate_library
from memoryd.api.openrpc import document
from memoryd_client.cli.main import OPENRPC
from memoryd_client.version import __version__

LIBRARY = OPENRPC.with_name("library")


def generated() -> dict[Path, str]:
    """Every generated file, by its path."""
    described = document(__version__)
    return {
        OPENRPC: json.dumps(described, indent=1) + "\n",
        LIBRARY / "wire_types.py": generate_library.wire_types(described),
        LIBRARY / "calls.py": generate_library.calls(described),
    }


def main() -> None:
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
