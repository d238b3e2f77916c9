"""`toolcrib explain`: why a tool is inactive, and what would be decided of a call."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from core.cli.conftest import Cli

PLUGIN = '''
import toolcrib

class Tool(toolcrib.Tool):
    description = "A tool."
    Input = {"type": "object", "properties": {}}

    def resolve_execution(self, args):
        return toolcrib.ToolResult("done")

def tool(name, **conditions):
    kind = type(name, (Tool,), {"name": name})
    return toolcrib.ToolContribution(name=name, factory=kind, **conditions)

def never(context):
    """Only at full moon."""
    return False

def raising(context):
    raise RuntimeError("no moon")

@toolcrib.hookimpl
def contribute_feature():
    return toolcrib.Feature(name="moon", description="Moon tools.", default=False)

@toolcrib.hookimpl
def contribute_tool():
    return [
        tool("Sound"),
        tool("Featured", feature="moon"),
        tool("Capable", requires={"gpu"}),
        tool("InWorkspace"),
        tool("Unlisted"),
        tool("Disallowed"),
        tool("Never", when=never),
        tool("Raising", when=raising),
        tool("Disabled"),
        toolcrib.ToolContribution(name="Broken", factory="nowhere.tool:Tool"),
        tool("Read"),
    ]
'''
CONFIG = """
default_profile = "p"
[plugins]
blocked = ["blocked"]
[tools]
disabled = ["Disabled"]
[profiles.p]
tools = ["Sound", "Featured", "Capable", "InWorkspace", "Disallowed", "Never", "Raising",
         "Disabled", "Broken", "Read"]
disallowed_tools = ["Disallowed"]
"""


@pytest.fixture
def moon(cli: Cli, install: Callable[[str, str], None]) -> Cli:
    install("moon", PLUGIN)
    install("blocked", "raise SystemExit('imported though it is blocked')")
    install("failing", "import nowhere")
    cli.configure(CONFIG)
    (cli.workspace / "toolcrib.toml").write_text('[tools]\ndisabled = [\n  "InWorkspace"]\n')
    return cli


def test_names_a_filter_and_a_remedy_for_every_cause(moon: Cli) -> None:
    explained = moon("explain", "--json")
    assert explained.status == 0
    decisions = {(d["name"], d["plugin"]): d for d in explained.json}
    for decision in explained.json:
        assert list(decision) == ["name", "plugin", "active", "filter", "reason", "remedy"]
        facts = (decision["filter"], decision["reason"], decision["remedy"])
        assert all(fact is None for fact in facts) if decision["active"] else all(facts)
    causes = {
        ("blocked", "blocked"): ("plugin", "toolcrib.toml:4"),
        ("failing", "failing"): ("load", "nowhere"),
        ("Featured", "moon"): ("feature", "TOOLCRIB_FEATURE_MOON"),
        ("Capable", "moon"): ("runtime", "gpu"),
        ("InWorkspace", "moon"): ("workspace", "toolcrib.toml:3"),
        ("Unlisted", "moon"): ("profile", "toolcrib.toml:7"),
        ("Disallowed", "moon"): ("profile-disallowed", "toolcrib.toml:7"),
        ("Never", "moon"): ("when", "full moon"),
        ("Raising", "moon"): ("when", "no moon"),
        ("Disabled", "moon"): ("tools.disabled", "toolcrib.toml:6"),
        ("Broken", "moon"): ("factory", "nowhere"),
        ("Read", "moon"): ("name", "os-read"),
    }
    for key, (cause, told) in causes.items():
        decision = decisions[key]
        assert (decision["active"], decision["filter"]) == (False, cause)
        assert told in decision["reason"] + decision["remedy"]
    assert decisions["Sound", "moon"]["active"]


def test_the_remedy_works(moon: Cli) -> None:
    assert moon("explain", "Featured", "--json", env={"TOOLCRIB_FEATURE_MOON": "1"}).json[0][
        "active"
    ]
    assert moon("explain", "Unlisted", "--json", "--profile", "default").json[0]["active"]
    moon.configure('[tools]\nenabled = ["Read"]\n')
    (decision,) = moon("explain", "Bash", "--json").json
    assert decision["filter"] == "tools.enabled" and "toolcrib.toml:2" in decision["remedy"]
    moon.configure('[tools]\nenabled = ["Read", "Bash"]\n')
    assert moon("explain", "Bash", "--json").json[0]["active"]


def test_an_unknown_name_gets_a_near_one(cli: Cli) -> None:
    (decision,) = cli("explain", "Raed", "--json").json
    assert decision["filter"] == "unknown" and "'Read'" in decision["remedy"]


def test_safe_leaves_out_everything_that_is_not_builtin(moon: Cli) -> None:
    names = {d["plugin"] for d in moon("--safe", "explain", "--json", "--profile", "default").json}
    assert "moon" not in names and "os-read" in names


RULES = """
[permission]
deny = "Bash(rm *)"
ask = ["Bash(git push*)"]
allow = [{ pattern = "Bash(git *)", reason = "harmless" }, "Bash(rm x)"]
"""


@pytest.mark.parametrize(
    ("name", "arguments", "mode", "decision", "policy", "line"),
    [
        ("Bash", {"command": "rm x"}, "manual", "deny", "user-configured-deny", 3),
        ("Bash", {"command": "rm x"}, "yolo", "deny", "user-configured-deny", 3),
        ("Bash", {"command": "rm x"}, "auto", "deny", "user-configured-deny", 3),
        ("Bash", {"command": "git push"}, "yolo", "ask", "user-configured-ask", 4),
        ("Bash", {"command": "git push"}, "auto", "allow", "auto-mode-approve", None),
        ("Bash", {"command": "git log"}, "manual", "allow", "user-configured-allow", 5),
        ("Bash", {"command": "ls"}, "yolo", "allow", "yolo-mode-approve", None),
        ("Read", {"path": "a.txt"}, "manual", "allow", "default-tool-approve", None),
        ("Write", {"path": "/b", "content": ""}, "manual", "ask", "fallback-ask", None),
        (
            "Grep",
            {"pattern": "a", "path": ".env"},
            "yolo",
            "ask",
            "sensitive-file-access-ask",
            None,
        ),
        ("Read", {"path": ".env"}, "yolo", "deny", "resolution-failed", None),
        ("Nope", {}, "yolo", "deny", "preflight-rejected", None),
    ],
)
def test_names_what_decides_of_a_call(
    cli: Cli,
    name: str,
    arguments: dict[str, Any],
    mode: str,
    decision: str,
    policy: str,
    line: int | None,
) -> None:
    file = cli.configure(RULES)
    asked = json.dumps({"name": name, "arguments": arguments})
    judged = cli("explain", "--call", asked, "--mode", mode, "--json").json
    assert list(judged) == ["decision", "policy", "rule", "source", "reason", "overridden"]
    assert (judged["decision"], judged["policy"]) == (decision, policy)
    assert judged["source"] == (f"{file}:{line}" if line else None)
    assert judged["reason"]


def test_names_the_rules_that_lost(cli: Cli) -> None:
    file = cli.configure(RULES)
    asked = json.dumps({"name": "Bash", "arguments": {"command": "git push"}})
    (lost,) = cli("explain", "--call", asked, "--json").json["overridden"]
    assert "Bash(git *)" in lost and f"{file}:5" in lost
    assert len(cli("explain", "--call", asked, "--json", "--mode", "auto").json["overridden"]) == 2


def test_reads_a_call_as_a_provider_writes_it_and_runs_nothing(cli: Cli) -> None:
    asked = {"type": "tool_use", "name": "Bash", "input": {"command": "touch ran"}}
    judged = cli("explain", "--call", json.dumps(asked), "--json", "--mode", "yolo").json
    assert judged["decision"] == "allow"
    assert not (cli.workspace / "ran").exists()
