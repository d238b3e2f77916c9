"""Where servers are configured, and which of two counts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen

from toolcrib import open_session
from toolcrib_features.mcp.layers import Servers, read_servers
from toolcrib_features.mcp.model import ServerConfig
from toolcrib_features.mcp.places import may_have_servers


@frozen
class Place:
    """A user with a workspace, and the files that configure servers."""

    folder: Path
    environ: dict[str, str] = field(factory=dict)

    @property
    def workspace(self) -> Path:
        return self.folder / "repo" / "ws"

    @property
    def user(self) -> Path:
        return self.folder / "config" / "toolcrib"

    def write(self, file: Path, content: object) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return file

    def servers(self, overrides: Mapping[str, Any] | None = None, /, **environ: str) -> Servers:
        variables = {
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            **environ,
        }
        session = open_session(
            self.workspace, environ=variables, overrides=overrides, autoload=False
        )
        servers = read_servers(session)
        assert may_have_servers(session, servers.files) or not servers.configs
        return servers


TRUST = {"TOOLCRIB_TRUST_WORKSPACE": "1"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.workspace.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    return place


def by_name(servers: Servers) -> dict[str, ServerConfig]:
    return {config.name: config for config in servers.configs}


def named(command: str) -> dict[str, Any]:
    return {"mcpServers": {"s": {"command": command}}}


def test_nothing_configured_is_nothing_to_say(place: Place) -> None:
    servers = place.servers()
    assert (servers.configs, servers.notices) == ((), ())
    assert place.user / "mcp.json" in servers.files and len(servers.files) == 3


def test_the_strongest_place_counts_with_its_whole_entry(place: Place) -> None:
    toml = '[mcp.servers.s]\ncommand = "{}"\n'
    user = {"mcpServers": {"s": {"command": "1", "env": {"A": "b"}}}}
    steps = [
        (place.user / "mcp.json", user, "1"),
        (place.user / "toolcrib.toml", toml.format("2"), "2"),
        (place.folder / "repo" / ".mcp.json", named("3"), "3"),
        (place.workspace / ".toolcrib" / "mcp.json", named("4"), "4"),
        (place.workspace / "toolcrib.toml", toml.format("5"), "5"),
    ]
    for file, content, command in steps:
        place.write(file, content)
        (config,) = place.servers(**TRUST).configs
        assert (config.command, bool(config.env)) == (command, command == "1")
        assert config.source.startswith(f"{file}:")
    overrides = {"mcp": {"servers": {"s": {"command": "6"}}}}
    assert place.servers(overrides, **TRUST).configs[0].command == "6"


def test_an_untrusted_workspace_configures_nothing_and_that_is_said(place: Place) -> None:
    place.write(place.folder / "repo" / ".mcp.json", named("3"))
    place.write(place.workspace / ".toolcrib" / "mcp.json", named("4"))
    place.write(place.workspace / "toolcrib.toml", '[mcp.servers.s]\ncommand = "5"\n')
    servers = place.servers()
    assert servers.configs == ()
    assert len(servers.notices) == 2 and "toolcrib trust" in str(servers.notices[0])


def test_a_bad_entry_costs_only_itself_and_has_its_line(place: Place) -> None:
    text = (
        '{\n "mcpServers": {\n  "bad": {\n   "command": 7\n  },\n  "good": {"command": "x"}\n }\n}'
    )
    file = place.write(place.user / "mcp.json", text)
    place.write(place.user / "toolcrib.toml", "[mcp.servers]\nno = 3\nyes.command = 'x'\n")
    found = by_name(place.servers())
    assert {name for name, one in found.items() if one.problem} == {"bad", "no"}
    assert found["bad"].source == f"{file}:3"
    assert found["no"].source == f"{place.user / 'toolcrib.toml'}:2"


@pytest.mark.parametrize("content", ["{", "[]", '{"mcpServers": 3}', "\udcff", "{}" + " " * 2**21])
def test_a_bad_file_costs_only_itself(place: Place, content: str) -> None:
    file = place.user / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    place.write(place.workspace / ".toolcrib" / "mcp.json", named("x"))
    servers = place.servers(**TRUST)
    assert list(by_name(servers)) == ["s"]
    assert [notice.file for notice in servers.notices] == [str(file)]


def test_a_pipe_is_not_waited_for(place: Place) -> None:
    place.user.mkdir(parents=True)
    os.mkfifo(place.user / "mcp.json")
    assert "regular" in str(place.servers().notices[0])


def test_a_folder_is_no_file_of_servers(place: Place) -> None:
    (place.user / "mcp.json").mkdir(parents=True)
    assert "regular" in str(place.servers().notices[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_a_stranger_put_above_the_workspace_does_not_count(place: Place) -> None:
    file = place.write(place.folder / "repo" / ".mcp.json", named("x"))
    os.chown(file, 12345, -1)
    servers = place.servers(**TRUST)
    assert servers.configs == () and "another user" in str(servers.notices[0])


def test_blank_files_are_no_servers(place: Place) -> None:
    place.write(place.user / "mcp.json", " \n")
    assert place.servers().notices == ()


def test_relative_folders_are_those_of_the_place(place: Place) -> None:
    entries = {"mcpServers": {"a": {"command": "x"}, "b": {"command": "x", "cwd": "sub"}}}
    place.write(place.folder / "repo" / ".mcp.json", entries)
    entries = {"mcpServers": {"c": {"command": "x"}, "d": {"command": "x", "cwd": "~/y"}}}
    place.write(place.user / "mcp.json", entries)
    found = {name: one.cwd for name, one in by_name(place.servers(**TRUST)).items()}
    repo = place.folder / "repo"
    assert found == {"a": str(repo), "b": str(repo / "sub"), "c": None, "d": f"{place.folder}/y"}


def test_timeouts_come_from_the_entry_then_the_environment_then_the_table(place: Place) -> None:
    place.write(
        place.user / "toolcrib.toml",
        "[mcp]\nstartup_timeout_s = 7\n[mcp.servers]\n"
        "a = {command = 'x', startup_timeout_s = 1}\nb.command = 'x'\n",
    )
    assert [one.startup_timeout_s for one in place.servers().configs] == [1, 7]
    assert [one.tool_timeout_s for one in place.servers().configs] == [60, 60]
    servers = place.servers(
        TOOLCRIB_MCP_STARTUP_TIMEOUT_MS="2500", TOOLCRIB_MCP_TOOL_TIMEOUT_MS="soon"
    )
    assert [one.startup_timeout_s for one in servers.configs] == [1, 2.5]
    assert [one.tool_timeout_s for one in servers.configs] == [60, 60]
    assert "'soon'" in str(servers.notices[0])


def test_variables_change_single_keys(place: Place) -> None:
    place.write(place.user / "mcp.json", {"mcpServers": {"My-Server": {"command": "x"}}})
    servers = place.servers(
        TOOLCRIB_MCP__SERVERS__MY_SERVER__ENABLED="false",
        TOOLCRIB_MCP__SERVERS__NEW__URL="https://h/mcp",
        TOOLCRIB_MCP__SERVERS__NEW__TOOL_TIMEOUT_S="1",
    )
    found = by_name(servers)
    assert (found["My-Server"].command, found["My-Server"].enabled) == ("x", False)
    assert (found["new"].url, found["new"].tool_timeout_s) == ("https://h/mcp", 1)


def test_no_secret_is_in_what_is_said_of_servers(place: Place) -> None:
    entry = {"command": "x", "env": {"TOKEN": "s3cret"}, "headers": {"A": "s3cret"}, "nope": 1}
    place.write(place.user / "mcp.json", {"mcpServers": {"s": entry, "t": {**entry, "args": 1}}})
    servers = place.servers()
    assert "s3cret" not in f"{servers!r}{servers.findings}"
    assert len(servers.findings) > len(servers.notices) > 0
