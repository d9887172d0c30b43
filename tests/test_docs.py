"""What the pages say is so: settings, methods, events, commands, links, layers, prices."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from msgspec import inspect

from memoryd.api.results import ANSWERS
from memoryd.api.rules import protocol
from memoryd.base import config, config_file, errors, events
from memoryd.memories.rules import index
from memoryd_client.cli import main
from tests.support.running import ROOT
from tests.test_architecture import COLUMN

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")])


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows(text: str, cells: int) -> list[list[str]]:
    """The rows of all tables with so many columns, without their heads."""
    found = []
    for line in text.splitlines():
        row = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(row) == cells and not set(row[0]) <= set("-: ") and row[0].startswith("`"):
            found.append(row)
    return found


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


# --- settings -----------------------------------------------------------------------------------


def shown(default: object) -> str:
    """A default as the page shows it."""
    if default is msgspec.NODEFAULT:
        return "required"
    if default is None:
        return "none"
    return f"`{msgspec.json.encode(default).decode()}`"


def facts_of(section: type[config.SettingsSection], prefix: str) -> dict[str, tuple[str, str]]:
    return {
        key.removeprefix("."): (
            shown(field.default),
            config_file.expected(inspect.type_info(field.type)),
        )
        for key, field in config_file.keys_in(section, prefix)
    }


def test_every_setting_is_told_with_its_default_and_its_values() -> None:
    expected = facts_of(config.Price, "") | facts_of(config.ProjectSettings, "")
    for name, section in config_file.SECTIONS.items():
        expected |= facts_of(section, name)
    told = {
        names_in(key)[0]: (default, values)
        for key, default, values, _ in rows(text_of("docs/settings.md"), 4)
        if not key.startswith("`claude-") and key != "`unknown`"
    }
    assert told == expected


def test_the_prices_are_those_that_are_built_in() -> None:
    table = text_of("docs/settings.md").partition("What is built in:")[2].partition("\n## ")[0]
    told = {names_in(row[0])[0]: (row[1], row[2], row[3]) for row in rows(table, 4)}

    def long_of(price: config.Price) -> str:
        if price.long_above_tokens is None:
            return ""
        long = f"${price.long_input_usd:.2f} and ${price.long_output_usd:.2f}"
        return f"over {price.long_above_tokens:,} tokens: {long}"

    assert told == {
        model: (f"${price.input_usd:.2f}", f"${price.output_usd:.2f}", long_of(price))
        for model, price in config.DEFAULT_PRICES.items()
    }


def test_the_example_of_settings_is_valid() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", text_of("docs/settings.md"), re.DOTALL)
    assert config_file.load_settings(example, {}).budget.usd_per_day == 0.25


# --- the socket ---------------------------------------------------------------------------------


def params_of(kind: type[msgspec.Struct]) -> list[str]:
    return [
        field.name if field.required else f"{field.name}?" for field in msgspec.structs.fields(kind)
    ]


def test_every_method_is_told_with_its_params() -> None:
    table = text_of("docs/socket.md").partition("## Methods")[2].partition("\n## ")[0]
    told = {names_in(row[0])[0]: names_in(row[1]) for row in rows(table, 3)}
    assert told == {name: params_of(kind) for name, kind in protocol.METHODS.items()}


def test_every_method_is_told_with_its_result() -> None:
    table = text_of("docs/socket.md").partition("## Methods")[2].partition("\n## ")[0]
    for name, _, cell in rows(table, 3):
        declared = ANSWERS[names_in(name)[0]]
        kinds = [one for one in (declared.result, declared.otherwise) if one is not None]
        fields = {field.encode_name for kind in kinds for field in msgspec.structs.fields(kind)}
        told = {one.rstrip("[]") for one in names_in(cell)}
        assert "as in `dream/log`" in cell or fields <= told, name


def test_every_event_is_told_with_its_data() -> None:
    table = text_of("docs/socket.md").partition("## Events")[2].partition("\n## ")[0]
    told = {names_in(row[0])[0]: names_in(row[1]) for row in rows(table, 2)}
    assert told == {
        str(kind.__struct_config__.tag): [
            name for name in kind.__struct_fields__ if name != "project"
        ]
        for kind in events.Event.__subclasses__()
    }


def test_every_error_is_told_with_its_code() -> None:
    table = text_of("docs/socket.md").partition("## Errors")[2].partition("\n## ")[0]
    told = {
        (int(code), kind)
        for code, kinds in re.findall(r"^\| (-\d+) \| (.+?) \|", table, re.MULTILINE)
        for kind in names_in(kinds)
    }
    kinds_of_ours = errors.MemorydError.__subclasses__()
    own = {(one.code, one.kind) for one in kinds_of_ours if one.__module__ == errors.__name__}
    assert own <= told
    assert {code for code, _ in told - own} == {-32700, -32600, -32601, -32602, -32603}


# --- the README ---------------------------------------------------------------------------------


def test_the_worked_example_adds_up() -> None:
    part = text_of("README.md").partition("## What it costs")[2].partition("\n## ")[0]
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part.splitlines()]
    jobs = [row for row in table if len(row) == 5 and row[1].startswith("`")]
    day = 0.0
    for _, model, tokens_in, tokens_out, told in jobs:
        price = config.DEFAULT_PRICES[model.strip("`")]
        sent, received = (int(cell.replace(",", "")) for cell in (tokens_in, tokens_out))
        usd = (sent * price.input_usd + received * price.output_usd) / 1e6
        assert usd == pytest.approx(float(told), abs=0.0001)
        day += usd
    sums = [float(row[4].strip("*")) for row in table if len(row) == 5 and row[0].startswith("**")]
    assert len(jobs) == 4
    assert sums == [round(day, 4), round(22 * day, 2)]
    caps = config.Budget()
    assert f"{caps.usd_per_day:.0f} US dollar a day and {caps.usd_per_month:.0f} a month" in part


def test_the_picture_of_the_house_is_the_column() -> None:
    picture = re.findall(r"^(\w+)/ {3,}\w", text_of("README.md"), re.MULTILINE)
    assert picture == list(reversed(COLUMN))


def test_the_limits_are_those_of_the_index() -> None:
    told = f"over {index.LINE_LIMIT} lines or {index.BYTE_LIMIT:,} bytes"
    assert told in text_of("README.md")


# --- all pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"", prose):
        link = (target[0] or target[1]).partition("#")[0]
        if link and "://" not in link and link != "file.md":
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_is_named_exists(page: Path) -> None:
    known = main.command_line().by_name
    for line in re.findall(r"(?:^\$ |`)memoryd ([^`\n]+)", page.read_text("utf-8"), re.MULTILINE):
        name, *rest = line.split()
        if name.startswith("-"):
            continue
        assert name in known, line
        flags = set(known[name]._option_string_actions)
        for word in rest:
            if word.startswith("--"):
                assert word.partition("=")[0].rstrip(".,;:)") in flags, line


def test_the_picture_is_whole_and_loads_nothing() -> None:
    picture = DOCS / "life-of-a-memory.svg"
    assert ET.parse(picture).getroot().tag.endswith("svg")  # noqa: S314 - our own file
    source = picture.read_text(encoding="utf-8")
    assert "href" not in source
    assert "script" not in source.lower().replace("transcript", "").replace("description", "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_of_ours_that_is_named_exists(page: Path) -> None:
    ours = r"`((?:memoryd|client|tests|docs)/[\w/]+\.(?:py|md))`"
    for name in re.findall(ours, page.read_text("utf-8")):
        assert (ROOT / name).exists(), name
