"""The parts that can be installed and removed: what each is for, changes, needs and checks."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memoryd_client.cli.commands import Arguments
from memoryd_client.connection.locations import Locations

if TYPE_CHECKING:
    from memoryd_client.install.service import Report


class ServiceSystem(Protocol):
    """What manages services on one kind of system."""

    def install(self, places: Locations, writable: Sequence[str]) -> "Report": ...

    def uninstall(self, places: Locations) -> "Report": ...

    def why_no_manager(self) -> str | None: ...


class Part(NamedTuple):
    """One thing to install or remove; `purpose` and `change` are shown before asking.

    `unless` names the part that makes this one superfluous, `obstacle` says why it cannot work
    here. One that is off by default is only done for a person who asks for it: --yes leaves it out.
    """

    name: str
    purpose: str
    change: str
    run: Callable[[], "Report"]
    is_needed: Callable[[], bool] = lambda: True
    check: Callable[[], str] | None = None
    unless: str = ""
    obstacle: Callable[[], str | None] = lambda: None
    is_off_by_default: bool = False

    @property
    def flag(self) -> str:
        return f"--{self.name} claude-code" if self.name in {"hooks", "model"} else f"--{self.name}"


def parts_to_install(places: Locations, arguments: Arguments) -> list[Part]:
    from memoryd_client.install import claude_code, plugin, service  # noqa: PLC0415 - likewise

    events, settings = len(claude_code.EVENTS), claude_code.settings_file(places)
    return [
        Part(
            "service",
            "runs memoryd in the background, now and after every login",
            f"writes {places.service}",
            lambda: install_service(places, arguments.writable or []),
            check=service.check,
            obstacle=lambda: service_system().why_no_manager(),
        ),
        Part(
            "plugin",
            "gives every session of Claude Code the memories that matter, tools to use them, and"
            " commands such as /memoryd:remember",
            f"runs claude plugin install, with a copy in {plugin.marketplace_folder(places)}",
            lambda: plugin.install(places),
            lambda: plugin.client_knows_plugins(places),
            check=lambda: plugin.check(places),
        ),
        Part(
            "hooks",
            "gives every new session of Claude Code the memories that matter",
            f"adds a command for {events} events to {settings}, and keeps a backup of it",
            lambda: without_plugin(places, claude_code.install_hooks, arguments),
            check=lambda: claude_code.check_hooks(places),
            unless="plugin",
        ),
        Part(
            "mcp",
            "gives Claude Code the tools recall, remember, forget, list_memories and history",
            f"adds a server to {claude_code.servers_file(places)}",
            lambda: without_plugin(places, claude_code.install_mcp, arguments),
            check=lambda: claude_code.check_mcp(places),
            unless="plugin",
        ),
        Part(
            "permissions",
            "lets Claude Code recall and list memories without asking each time; remember and"
            " forget keep asking",
            f"adds memoryd's read-only tools to permissions.allow in {settings}",
            lambda: claude_code.install_permissions(places),
            lambda: plugin.is_installed(places) or claude_code.has_server(places),
        ),
        Part(
            "statusline",
            "shows in Claude Code how many memories a session was given, and what waits for you",
            (
                f"adds memoryd to the end of your own status line in {settings}"
                if claude_code.has_own_status_line(places)
                else f"adds a status line to {settings}"
            ),
            lambda: claude_code.install_status_line(places),
            lambda: not (arguments.yes and claude_code.has_own_status_line(places)),
        ),
        *model_part(places, arguments),
    ]


def model_part(places: Locations, arguments: Arguments) -> list[Part]:
    """The person's own client as the model, offered where there is one."""
    from memoryd_client.install import model_provider  # noqa: PLC0415 - likewise

    if not arguments.model and model_provider.found_client() is None:
        return []
    return [
        Part(
            "model",
            "lets your own Claude Code find what is worth remembering, which works better than the"
            " built-in rules. It is asked a few times a day, at most 24, and every call counts"
            " towards your plan. Your login stays where it is. Check first that your terms allow"
            " it (memoryd manual models says how we read them)",
            f"sets model.provider in {places.config}; off unless you say yes",
            lambda: model_provider.install(places),
            lambda: not model_provider.is_chosen(places),
            is_off_by_default=True,
        )
    ]


def without_plugin(
    places: Locations, install_part: Callable[[Locations], "Report"], arguments: Arguments
) -> "Report":
    """Installs a part in the settings, in place of the plugin if that is there: never both."""
    from memoryd_client.install import claude_code, plugin  # noqa: PLC0415 - likewise

    report = install_part(places)
    if not plugin.is_installed(places):
        return report
    plugin.uninstall(places)
    notes = [*report.notes, "the plugin is removed: never both"]
    if not (arguments.mcp or claude_code.has_server(places)):
        notes.append("its tools are gone too; to have them: memoryd install --mcp")
    if not (arguments.hooks or claude_code.has_hooks(places)):
        notes.append("its hooks are gone too; to have them: memoryd install --hooks claude-code")
    return report._replace(notes=notes)


def install_service(places: Locations, writable: Sequence[str]) -> "Report":
    """The service, and the launcher: with both, a plugin installed inside the client works."""
    from memoryd_client.install import launcher  # noqa: PLC0415 - likewise

    report = service_system().install(places, writable)
    return report._replace(written=[*report.written, *launcher.ensure(places)])


def parts_to_remove(places: Locations) -> list[Part]:
    from memoryd_client.install import claude_code, footprint, model_provider, plugin  # noqa: PLC0415 - likewise

    return [
        Part(
            "model",
            "memoryd no longer asks your Claude Code",
            f"removes the provider from {places.config}",
            lambda: model_provider.uninstall(places),
            lambda: model_provider.is_chosen(places),
        ),
        Part(
            "plugin",
            "Claude Code loses memoryd's hooks, tools and commands",
            "runs claude plugin uninstall",
            lambda: plugin.uninstall(places),
            lambda: plugin.has_anything(places),
        ),
        Part(
            "hooks",
            "sessions of Claude Code get no memories any more",
            f"removes memoryd's entries from {claude_code.settings_file(places)}",
            lambda: claude_code.uninstall_hooks(places),
            lambda: claude_code.has_hooks(places),
        ),
        Part(
            "mcp",
            "Claude Code loses the tools of memoryd",
            f"removes memoryd's server from {claude_code.servers_file(places)}",
            lambda: claude_code.uninstall_mcp(places),
            lambda: claude_code.has_server(places),
        ),
        Part(
            "permissions",
            "Claude Code asks before it uses memoryd's tools",
            f"removes them from {claude_code.settings_file(places)}",
            lambda: claude_code.uninstall_permissions(places),
            lambda: claude_code.has_permissions(places),
        ),
        Part(
            "statusline",
            "the status line no longer shows memoryd; your own stays",
            f"removes it from {claude_code.settings_file(places)}",
            lambda: claude_code.uninstall_status_line(places),
            lambda: claude_code.has_status_line(places),
        ),
        Part(
            "service",
            "memoryd no longer runs in the background",
            f"removes {places.service}",
            lambda: service_system().uninstall(places),
            places.service.exists,
        ),
        Part(
            "state",
            "deletes earlier versions of memories, checkpoints, the record of spending and the"
            " log; memories and session notes stay",
            f"removes {places.state}",
            lambda: footprint.remove_state(places),
            lambda: footprint.has_state(places),
            is_off_by_default=True,
        ),
    ]


def service_system() -> ServiceSystem:
    """The service manager of this machine."""
    if sys.platform == "darwin":
        from memoryd_client.install import launchd  # noqa: PLC0415 - only one of the two is needed

        return launchd
    from memoryd_client.install import systemd  # noqa: PLC0415 - likewise

    return systemd
