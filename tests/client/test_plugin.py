"""The plugin: what it ships, and how it gets into Claude Code and out again."""

import json
import sys
from pathlib import Path

import pytest

from memoryd_client.cli.main import main
from memoryd_client.connection.locations import locations
from memoryd_client.doctor import local_checks
from memoryd_client.install import claude_code, plugin, settings_json
from memoryd_client.mcp.tools import TOOLS
from memoryd_client.version import __version__
from tests.client.test_install import THEIRS, Terminal, tree
from tests.support.running import ROOT

# Does to the settings what the real command does; `make test-client` runs the real one.
STAND_IN = """#!{python}
import json, pathlib, sys
path = pathlib.Path.home() / ".claude/settings.json"
with (pathlib.Path.home() / "asked").open("a") as asked:
    print(*sys.argv[1:], file=asked)
settings = json.loads(path.read_text()) if path.exists() else {{}}
plugins = settings.setdefault("enabledPlugins", {{}})
places = settings.setdefault("extraKnownMarketplaces", {{}})
match sys.argv[1:]:
    case ["plugin", "marketplace", "add", folder]:
        assert pathlib.Path(folder, "plugin/hooks/hooks.json").exists()
        places["memoryd"] = {{"source": folder}}
    case ["plugin", "install", name]:
        plugins[name] = True
    case ["plugin", "uninstall", name]:
        plugins.pop(name, None)
    case ["plugin", "marketplace", "remove", name]:
        places.pop(name, None)
    case ["plugin", "list", "--json"]:
        sys.exit(0)
path.write_text(json.dumps(settings, indent=4, ensure_ascii=False))
"""


@pytest.fixture
def client(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for Claude Code's command, the only program there is."""
    folder = home / "programs"
    folder.mkdir()
    (folder / "claude").write_text(STAND_IN.format(python=sys.executable))
    (folder / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder / "claude"


def settings_of(home: Path) -> dict[str, object]:
    return dict(json.loads((home / ".claude/settings.json").read_text()))


def test_the_plugin_runs_the_same_commands_as_the_settings() -> None:
    hooks = json.loads((ROOT / "plugin/hooks/hooks.json").read_text())["hooks"]
    assert set(hooks) == set(claude_code.EVENTS)
    places = locations()
    for groups in hooks.values():
        (entry,) = groups[0]["hooks"]
        assert entry["command"].replace('"', "").replace("$HOME", str(places.home)) == (
            claude_code.hook_command()
        )
        assert entry["timeout"] == claude_code.TIMEOUT_SECONDS
    server = json.loads((ROOT / "plugin/.mcp.json").read_text())["mcpServers"]["memoryd"]
    words = [server["command"], *server["args"]]
    assert [word.replace("${HOME}", str(places.home)) for word in words] == (
        claude_code.server_words(places)
    )


def test_the_plugin_has_our_version() -> None:
    manifest = json.loads((ROOT / "plugin/.claude-plugin/plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("memoryd", __version__)


@pytest.mark.parametrize("name", ["remember", "recall", "dream", "forget", "inbox"])
def test_every_skill_says_when_it_is_for(name: str) -> None:
    text = (ROOT / f"plugin/skills/{name}/SKILL.md").read_text()
    assert text.startswith("---\ndescription: ")
    prefix = "mcp__plugin_memoryd_memoryd__"
    named = {word.strip(" ,").removeprefix(prefix) for word in text.split() if prefix in word}
    assert named <= {tool.name for tool in TOOLS if tool.only_reads}


def test_installing_and_removing_leaves_a_home_as_it_was(home: Path, client: Path) -> None:
    (home / ".claude/settings.json").write_text(THEIRS)
    before = tree(home)
    assert main(["install", "--plugin"]) == 0
    assert settings_of(home)["enabledPlugins"] == {plugin.ID: True}
    assert plugin.is_installed(locations())
    assert main(["uninstall", "--plugin"]) == 0
    (home / "asked").unlink()
    after = tree(home)
    assert json.loads(after.pop(".claude/settings.json") or b"") == json.loads(THEIRS)
    del before[".claude/settings.json"]
    assert after == before


def test_the_plugin_replaces_hooks_and_server(
    home: Path, client: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "--hooks", "claude-code", "--mcp"]) == 0
    assert main(["install", "--plugin"]) == 0
    assert claude_code.installed_commands(locations()) == []
    assert not claude_code.has_server(locations())
    assert "it replaces memoryd's entries" in capsys.readouterr().out


def test_hooks_in_the_settings_replace_the_plugin(home: Path, client: Path) -> None:
    assert main(["install", "--plugin"]) == 0
    assert main(["install", "--hooks", "claude-code"]) == 0
    assert not plugin.is_installed(locations())
    assert len(claude_code.installed_commands(locations())) == len(claude_code.EVENTS)


def test_without_the_clients_command_there_is_an_error_with_another_way(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(home / "nothing"))
    assert main(["install", "--plugin"]) == 1
    assert "--hooks claude-code --mcp" in capsys.readouterr().err


def test_who_takes_the_plugin_is_not_asked_about_hooks(
    home: Path, client: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("y\nn\nn\n"))
    assert main(["install"]) == 0
    shown = capsys.readouterr().out
    assert "/memoryd:remember" in shown
    assert "hooks:" not in shown
    assert plugin.is_installed(locations())


def test_who_declines_the_plugin_is_asked_about_hooks(
    home: Path, client: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("n\ny\nn\n"))
    assert main(["install"]) == 0
    assert not plugin.is_installed(locations())
    assert claude_code.installed_commands(locations())


def test_a_plugin_is_removed_from_the_settings_even_without_the_client(
    home: Path, client: Path
) -> None:
    assert main(["install", "--plugin"]) == 0
    client.unlink()
    assert main(["uninstall", "--plugin"]) == 0
    assert not (home / ".claude/settings.json").exists()


def test_the_doctor_knows_the_plugin(home: Path, client: Path) -> None:
    places = locations()
    assert main(["install", "--plugin"]) == 0
    assert local_checks.hooks_finding(places).verdict == "ok"
    assert local_checks.server_finding(places).verdict == "ok"
    settings_json.change(
        claude_code.settings_file(places), claude_code.add_hooks, claude_code.remove_hooks
    )
    assert "twice" in local_checks.hooks_finding(places).reason
    places.launcher.unlink()
    assert local_checks.hooks_finding(places).verdict == "warn"
