"""Two rules hold the house up; each is shown to fail on planted violations.

1. The folders of `memoryd/` stand in one column. A module imports its own folder and folders below.
2. `base/`, `text/` and every `rules/` are pure: they import only their like, and nothing that reads
   the clock, the disk, the network, threads or the log.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

# Lowest first.
# fmt: off
COLUMN = (
    "base", "text", "system", "memories", "team", "transcripts", "llm", "agent",
    "extraction", "recall", "dreams", "sessions", "devices", "api", "daemon",
)
WORLD = frozenset((
    "os", "time", "anyio", "asyncio", "sqlite3", "threading", "socket", "subprocess", "pathlib",
    "structlog", "logging", "random", "shutil", "tempfile", "signal", "select",
))
# fmt: on
# What many modules stand on. Any other foreign package has one importer.
GROUND = frozenset({"anyio", "msgspec", "numpy", "structlog"})
ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"memoryd": ROOT / "memoryd", "memoryd_client": ROOT / "client/memoryd_client"}
Tree = Mapping[str, str]


def tree(package: str) -> dict[str, str]:
    """The source of every module, by its dotted name inside the package."""
    folder = PACKAGES[package]
    return {
        ".".join(path.relative_to(folder).with_suffix("").parts): path.read_text("utf-8")
        for path in folder.rglob("*.py")
        if path.name != "__init__.py"
    }


def imports(source: str, modules: Tree, package: str) -> Iterator[str]:
    """Dotted names that a source imports anywhere; for our own package, modules inside it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            base = f"{package}.{node.module or ''}".rstrip(".") if node.level else node.module or ""
            names = [f"{base}.{alias.name}" for alias in node.names]
            inner = [name.partition(".")[2] for name in names]
            yield from (n if i in modules else base for n, i in zip(names, inner, strict=True))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_pure(module: str) -> bool:
    folder, *rest = module.split(".")
    return folder in {"base", "text"} or "rules" in rest


def verdict_on(module: str, name: str) -> str | None:
    top, _, target = name.partition(".")
    if top == "memoryd_client":
        return f"{module} reaches into the client"
    if top != "memoryd":
        return f"{module} is pure and imports {top}" if is_pure(module) and top in WORLD else None
    if COLUMN.index(target.partition(".")[0]) > COLUMN.index(module.partition(".")[0]):
        return f"{module} reaches up to {target}"
    return f"{module} is pure and {target} is not" if is_pure(module) > is_pure(target) else None


def violations(modules: Tree) -> list[str]:
    found: list[str] = []
    importers: dict[str, set[str]] = {}
    for module, source in sorted(modules.items()):
        if module != "__main__" and module.partition(".")[0] not in COLUMN:
            found.append(f"{module} stands in no folder of the column")
            continue
        names = set(imports(source, modules, "memoryd"))
        found += filter(None, (verdict_on(module, name) for name in sorted(names)))
        for top in {name.partition(".")[0] for name in names} - GROUND - PACKAGES.keys():
            if top not in sys.stdlib_module_names:
                importers.setdefault(top, set()).add(module)
    shared = {package: who for package, who in importers.items() if len(who) > 1}
    return found + [f"{one} has several importers: {sorted(who)}" for one, who in shared.items()]


DOORS = {"memoryd.daemon.main", "memoryd.base.config_listing"}


def client_violations(modules: Tree) -> list[str]:
    """`serve` alone may load the daemon; everything else is the standard library."""
    return [
        f"{module} imports {name}"
        for module, source in sorted(modules.items())
        for name in imports(source, modules, "memoryd_client")
        if name.partition(".")[0] not in {"memoryd_client", *sys.stdlib_module_names}
        and not (module == "serve" and name in DOORS)
    ]


def has_cycle(modules: Tree, package: str) -> bool:
    graph = {
        module: {name.partition(".")[2] for name in imports(source, modules, package)} & {*modules}
        for module, source in modules.items()
    }
    while leaves := [module for module, targets in graph.items() if not targets & graph.keys()]:
        for leaf in leaves:
            del graph[leaf]
    return bool(graph)


def test_the_daemon_keeps_both_rules() -> None:
    assert violations(tree("memoryd")) == []


def test_the_client_needs_the_standard_library_alone() -> None:
    assert client_violations(tree("memoryd_client")) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_import_each_other(package: str) -> None:
    assert not has_cycle(tree(package), package)


def test_every_folder_says_what_it_is_in_one_line_and_holds_no_code() -> None:
    for folder in PACKAGES.values():
        for path in folder.rglob("__init__.py"):
            assert len(path.read_text("utf-8").splitlines()) == 1, path
            assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path


PLANTED = [
    ({"text.a": "from memoryd.llm.b import x", "llm.b": ""}, "text.a reaches up to llm.b"),
    ({"base.a": "def f():\n    from memoryd.api import b", "api.b": ""}, "base.a reaches up to"),
    ({"llm.rules.a": "import anyio.to_thread"}, "llm.rules.a is pure and imports anyio"),
    ({"text.a": "from pathlib import Path"}, "text.a is pure and imports pathlib"),
    ({"llm.rules.a": "import memoryd.llm.b"}, "llm.rules.a is pure and llm.b is not"),
    ({"llm.a": "from memoryd_client.hook import x"}, "llm.a reaches into the client"),
    ({"stray": ""}, "stray stands in no folder"),
    ({"llm.a": "import yaml", "api.b": "from yaml import x"}, "yaml has several importers"),
]


@pytest.mark.parametrize(("planted", "verdict"), PLANTED)
def test_a_planted_violation_is_found(planted: Tree, verdict: str) -> None:
    assert [found.startswith(verdict) for found in violations(planted)] == [True]


def test_a_planted_package_or_cycle_is_found() -> None:
    assert client_violations({"call": "import msgspec"}) == ["call imports msgspec"]
    assert client_violations({"call": "import memoryd.daemon.main"})
    assert has_cycle({"api.a": "import memoryd.api.b", "api.b": "from . import a"}, "memoryd.api")
