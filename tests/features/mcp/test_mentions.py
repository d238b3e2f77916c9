"""Names of servers and tools in rules, policies and profiles, checked without any server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import define
from hypothesis import given
from hypothesis import strategies as st

from toolcrib import Notice, qualify_tool_name
from toolcrib.cli.checks import check_configuration
from toolcrib.rules import match_tool_name
from toolcrib_features.mcp.memory import Remembered, ServerMemory
from toolcrib_features.mcp.mentions import Mentions
from toolcrib_features.mcp.model import Listing, ServerConfig, ToolDefinition

LONG = "a_server_with_a_name_that_is_too_long_for_the_providers_of_models"
SERVERS = {"github": {"command": "gh-mcp"}, "my files": {"command": "files-mcp"}, LONG: {}}


@define
class Home:
    """A user with servers that nobody can start."""

    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "TOOLCRIB_STATE": str(self.folder / "state"),
        }

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def servers(self, entries: dict[str, Any]) -> None:
        self.write("config/toolcrib/mcp.json", json.dumps({"mcpServers": entries}))

    def check(self, text: str) -> list[Notice]:
        file = str(self.write("config/toolcrib/toolcrib.toml", text))
        workspace = self.folder / "ws"
        workspace.mkdir(exist_ok=True)
        found = check_configuration(workspace, self.environ).findings
        return [notice for notice in found if notice.file == file]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.servers({name: {"command": "nowhere", **entry} for name, entry in SERVERS.items()})
    return home


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("[permission]\ndeny = ['mcp__gihub__*']\n", 2, "'github'"),
        ("[permission]\ndeny = ['Bash(x)',\n'mcp__gihub__drop(repo=x)']\n", 3, "'github'"),
        ("[permission]\nallow = ['mcp__GitHub__*']\n", 2, "'github'"),
        ("[permission]\nallow = ['mcp__myfiles__*']\n", 2, "'my_files'"),
        ("[permission]\nask = ['mcp__zzz__read']\n", 2, "'my files'"),
        ("[permission]\nask = ['mcp__gihub*']\n", 2, "'github'"),
        ("[permission]\nask = ['mcp__{github,gitlab}__*']\n", 2, "gitlab"),
        ("[permission]\nask = ['mcp__my files__read']\n", 2, "'mcp__my_files__read'"),
        ("[permission]\nask = ['mcp__github__pull.merge']\n", 2, "'mcp__github__pull_merge'"),
        (f"[permission]\nask = ['mcp__github__{'x' * 60}']\n", 2, "xxx_"),
        ("[permission]\ndeny = ['mcp__github__read(/etc/*)']\n", 2, "every call"),
        ("[permission]\nallow = ['mcp__github__read(/etc/*)']\n", 2, "nothing"),
        ("[permission]\nallow = ['mcp__github__*(x)']\n", 2, "nothing"),
        ("[permission]\ndeny = ['*(x)']\n", 2, "every call of some tools"),
        ("[permission]\nallow = ['mcp__github__a']\ndeny = ['mcp__github__*(*)']\n", 2, "never"),
        ("[tools]\ndisabled = ['Bash', 'mcp__gihub__*']\n", 2, "'github'"),
        ("[tools]\nenabled = ['Bash',\n'mcp__gihub__*']\n", 3, "'github'"),
        ("[profiles.p]\ntools = ['Bash',\n'mcp__gihub__*']\n", 3, "'github'"),
        ("[profiles.p]\ndisallowed_tools = ['mcp__gihub__*']\n", 2, "'github'"),
        ("[profiles.p]\n\ndeny = 'mcp__gihub__*'\n", 3, "'github'"),
        (
            "[[permission.rules]]\ndecision='deny'\npattern='mcp__github__read(x)'\n"
            "no_match = ['y']\n",
            1,
            "every call",
        ),
    ],
)
def test_a_name_that_means_nothing_is_found_once(
    home: Home, text: str, line: int, told: str
) -> None:
    (finding,) = home.check(text)
    assert finding.line == line
    assert told in finding.text


@pytest.mark.parametrize(
    "name",
    [
        "mcp__*",
        "mcp__github__*",
        "mcp__git*",
        "mcp__*__read_file",
        "mcp__github__read",
        "mcp__githu?__read",
        "mcp__[gm]*__read",
        "mcp__{github,my_files}__*",
        "mcp__my_files__read",
        "mcp__plugin-jokes_db__tell",
        qualify_tool_name("github", "x" * 60),
        qualify_tool_name(LONG, "x"),
        f"mcp__{LONG[:40]}*",
    ],
)
def test_names_that_may_be_meant_are_no_findings(home: Home, name: str) -> None:
    assert home.check(f"[permission]\nask = ['{name}']\n") == []
    text = f"[tools]\ndisabled = ['{name}']\n[profiles.p]\ntools = ['{name}']\n"
    assert home.check(text) == []


@pytest.mark.parametrize("pattern", ["(*)", "(**)", "(repo=acme/*)", "(!repo=acme/*)", ""])
@pytest.mark.parametrize("decision", ["deny", "ask", "allow"])
def test_patterns_that_can_be_told_are_no_findings(home: Home, decision: str, pattern: str) -> None:
    assert home.check(f"[permission]\n{decision} = ['mcp__github__read{pattern}']\n") == []


def test_without_servers_a_rule_is_about_none_and_a_list_for_those_to_come(home: Home) -> None:
    home.servers({})
    (finding,) = home.check("[permission]\ndeny = ['mcp__github__*']\n")
    assert "'github'" in finding.text
    assert home.check("[tools]\ndisabled = ['mcp__github__*']\n") == []


def test_servers_that_are_disabled_or_cannot_be_used_are_configured(home: Home) -> None:
    home.servers({"off": {"command": "x", "disabled": True}, "bad": {"comand": "x"}})
    assert home.check("[permission]\ndeny = ['mcp__off__*', 'mcp__bad__x']\n") == []


def test_what_a_server_listed_last_time_is_known(home: Home) -> None:
    config = ServerConfig(name="github", command="nowhere", written=("nowhere",))
    listing = Listing(
        tools=tuple(ToolDefinition(name=n, data={"name": n}) for n in ("read", "merge.it")),
        quarantined={"odd": "no schema"},
    )
    known = Remembered().with_listing(listing)
    mentions = Mentions([config], lambda config: known)
    for name in ("read", "merge_it", "odd", "read_resource", "authenticate", "r*", "{read,odd}"):
        assert list(mentions.faults(f"mcp__github__{name}")) == []
    (fault,) = mentions.faults("mcp__github__raed")
    assert "'mcp__github__read'" in fault
    (fault,) = mentions.faults("mcp__github__{read,wrte}")
    assert "mcp__github__wrte" in fault or "did not list" in fault


def test_a_damaged_memory_is_no_reason_to_doubt_a_name(home: Home) -> None:
    (config,) = (c for c in _configs(home) if c.name == "github")
    file = ServerMemory(home.folder / "state", config).file
    file.parent.mkdir(parents=True, mode=0o700)
    file.write_text("{")
    assert home.check("[permission]\ndeny = ['mcp__github__raed']\n") == []


def _configs(home: Home) -> tuple[ServerConfig, ...]:
    from toolcrib import open_session
    from toolcrib_features.mcp.layers import read_servers

    (home.folder / "ws").mkdir()
    session = open_session(home.folder / "ws", environ=home.environ, autoload=False)
    return read_servers(session).configs


NAMES = st.text(alphabet="ab_- .", min_size=1, max_size=70)
PATTERNS = st.text(alphabet="ab_-*?{},[]!", max_size=8).map(lambda text: f"mcp__{text}")


@given(server=NAMES, tool=NAMES, pattern=PATTERNS)
def test_a_pattern_that_covers_a_tool_is_never_a_finding(
    server: str, tool: str, pattern: str
) -> None:
    """No warning is wrong: what names a tool of a configured server is never said to name none."""
    mentions = Mentions([ServerConfig(name=server, command="x")], lambda config: Remembered())
    name = qualify_tool_name(server, tool)
    assert list(mentions.faults(name)) == []
    if match_tool_name(pattern, name) and "{" not in pattern:
        assert list(mentions.faults(pattern)) == []
    for cut in (6, 8, 12):
        assert list(mentions.faults(f"{name[:cut]}*")) == []
