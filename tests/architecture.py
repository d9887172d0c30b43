"""The house's plan as data, and the pure check that holds a tree of sources against it."""

import ast
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence

# Lowest row first. A module may import what stands in a lower row, or to its left in its own row.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "events", "wire", "config", "config_file", "moments"),
    (
        "patterns",
        "invisible",
        "masking.values",
        "masking.names",
        "masking.shapes",
        "masking.places",
        "masking",
        "paths",
        "projects",
        "claude_settings",
        "headers",
        "topics",
        "logbook",
        "index",
        "globs",
        "reach",
        "shell_words",
        "transcripts.lines",
        "transcripts.entries",
        "transcripts.turns",
        "transcripts",
        "instructions.text",
        "instructions.git_patterns",
        "instructions.globs",
        "whereabouts",
        "instructions",
        "guidance",
        "notes",
        "notes_extract",
        "coalesce",
        "dream.gates",
        "ranking.words",
        "ranking.postings",
        "ranking.vectors",
        "ranking.relevance",
        "ranking.index",
        "ranking.search",
        "recall.text",
        "prose",
        "date_forms",
        "dates",
        "dream.likeness",
        "dream.plan",
        "dream.review",
        "statements.forms",
        "statements.feedback",
        "statements.order_forms",
        "statements.orders",
        "statements.ways_in",
        "statements.user",
        "statements.reference",
        "statements.project",
        "statements.facts",
        "statements.kinds",
        "statements.passages",
        "statements",
        "restatement",
        "dialogue",
        "spending",
        "meter",
        "prompts",
        "extract.messages",
        "extract.evidence",
        "import_rules",
        "framing",
    ),
    (
        "cancellation",
        "plain_file",
        "files",
        "fence",
        "children",
        "lock",
        "instance",
        "supervisor",
        "state",
        "turn_queue",
        "cursors",
        "history",
        "markdown_files",
        "stored",
        "listing",
        "store",
        "memory_folders",
        "leftovers",
        "daily_logs",
        "scopes",
        "dream.book",
        "dream.sessions",
        "dream.ground",
        "dream.stage",
        "instructions.files",
        "sweep",
        "transcript_file",
        "old_turns",
        "watch",
        "encoder",
        "meaning",
        "llm",
        "guards",
        "ledger",
        "backlog",
        "providers",
        "journal",
        "hub",
        "errands",
        "departure",
    ),
    (
        "memories",
        "health",
        "versions",
        "memory_watch",
        "recall.surfaced",
        "recall.senses",
        "recall.shelf",
        "recall.shelves",
        "recall.model",
        "recall.answer",
        "agenda",
        "reading",
        "sweeper",
        "tail",
        "sessions",
        "backfill",
        "agent.inputs",
        "agent.matcher",
        "agent.files",
        "agent.search",
        "agent.shell",
        "agent.writing",
        "agent.tools",
        "agent.loop",
        "agent.credit",
        "extract.task",
        "extract.daylog",
        "extract.embedded",
        "extract.provenance",
        "extract.log_pen",
        "extract.model",
        "extract.worker",
        "session_notes",
        "checkpoints",
        "dream.apply",
        "dream.distil",
        "dream.notary",
        "dream.work",
        "dream.run",
        "dream.accept",
        "dream.schedule",
        "dream.dreamer",
        "context",
    ),
    (
        "recall.methods",
        "transcript_methods",
        "extract.methods",
        "dream.methods",
        "hooks",
        "session_methods",
        "rpc",
        "door",
        "telling",
        "methods",
        "parts",
        "daemon",
    ),
)

# A foreign package has one importer, so that replacing it is one file. These four are the ground
# that every async, data-bearing or counting module stands on.
GROUND = frozenset({"anyio", "msgspec", "numpy", "structlog"})

CLIENT = "memoryd_client"
DAEMON = "memoryd"
OWN = frozenset({CLIENT, DAEMON})


def imported_modules(source: str, package: str) -> Iterator[str]:
    """Every dotted name that a source imports, wherever in the file it does so."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = f"{package}.{base}".rstrip(".")
            if base == package or base.startswith(f"{package}."):
                yield from (f"{base}.{alias.name}" for alias in node.names)
            else:
                yield base


def module_in(name: str, known: Collection[str]) -> str:
    """The module that a dotted name leads to: the longest beginning of it that is one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in known:
            return ".".join(parts[:length])
    return parts[0]


def place_of(module: str, layers: Sequence[Sequence[str]]) -> tuple[int, int] | None:
    for row, names in enumerate(layers):
        if module in names:
            return row, names.index(module)
    return None


def verdict_on(module: str, name: str, layers: Sequence[Sequence[str]]) -> str | None:
    """What is wrong with `module` importing `name` of our own code, if anything is."""
    top, _, rest = name.partition(".")
    if top == CLIENT and rest:
        return f"{module} reaches into the client"
    if top == DAEMON and rest:
        target = module_in(rest, [known for row in layers for known in row])
        place, other = place_of(module, layers), place_of(target, layers)
        if place is None or other is None or other >= place:
            return f"{module} may not import {target}"
    return None


def violations(sources: Mapping[str, str], layers: Sequence[Sequence[str]] = LAYERS) -> list[str]:
    """What breaks the plan among the daemon's sources, given by module name."""
    found: list[str] = []
    importers: dict[str, set[str]] = {}
    for module, source in sorted(sources.items()):
        if place_of(module, layers) is None:
            found.append(f"{module} has no place in the layers")
            continue
        names = list(imported_modules(source, DAEMON))
        found += filter(None, (verdict_on(module, name, layers) for name in names))
        for top in {name.partition(".")[0] for name in names} - OWN - GROUND:
            if top not in sys.stdlib_module_names:
                importers.setdefault(top, set()).add(module)
    return found + [
        f"{package} has more than one importer: {', '.join(sorted(modules))}"
        for package, modules in sorted(importers.items())
        if len(modules) > 1
    ]


def client_violations(sources: Mapping[str, str]) -> list[str]:
    """Where the client leans on anything but the standard library.

    `serve` alone may load the daemon, and only its composition root.
    """
    found: list[str] = []
    for module, source in sorted(sources.items()):
        for name in imported_modules(source, CLIENT):
            top = name.partition(".")[0]
            serves = module == "serve" and name in {"memoryd.daemon", "memoryd"}
            if top != CLIENT and top not in sys.stdlib_module_names and not serves:
                found.append(f"{module} imports {name}, which is not in the standard library")
    return found


def cycles(sources: Mapping[str, str], package: str) -> list[str]:
    """Chains of modules that import each other, each named once."""
    graph = {
        module: {
            module_in(name.removeprefix(f"{package}."), sources.keys())
            for name in imported_modules(source, package)
            if name.startswith(f"{package}.")
        }
        & sources.keys()
        for module, source in sources.items()
    }
    found: list[str] = []
    done: set[str] = set()

    def walk(module: str, trail: tuple[str, ...]) -> None:
        if module in trail:
            loop = trail[trail.index(module) :]
            found.append(" -> ".join((*loop, module)))
            return
        if module in done:
            return
        for target in sorted(graph[module]):
            walk(target, (*trail, module))
        done.add(module)

    for module in sorted(graph):
        walk(module, ())
    return found
