"""Notes on using a tool are noise while it is in use; warnings are not."""

from memoryd.recall.rules.tool_notes import is_usage_of, tool_names
from memoryd.recall.rules.tool_rules import ToolCall


def test_tools_are_named_as_people_name_them() -> None:
    calls = [
        ToolCall("mcp__tracker__create_issue"),
        ToolCall("Bash", "cd x && kubectl get pods | grep web"),
        ToolCall("WebFetch"),
    ]
    assert list(tool_names(calls)) == ["tracker", "cd", "kubectl", "grep", "webfetch"]


def test_how_to_use_a_tool_in_use_is_noise_and_a_warning_is_not() -> None:
    usage = ("Kubectl commands", "how to list pods", "kubectl get pods -n web")
    warning = ("Kubectl commands", "how to list pods", "kubectl delete hangs on finalizers")
    assert is_usage_of(["kubectl"], *usage)
    assert not is_usage_of(["docker"], *usage)
    assert not is_usage_of(["kubectl"], *warning)
    assert not is_usage_of(["kubectl"], "Cluster", "kubectl context is web-eu", "Use web-eu.")
