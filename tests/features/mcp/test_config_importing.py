"""Whatever other clients have written, reading it ends in servers or in reasons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib import ToolcribError
from toolcrib_features.mcp.entries import JSON_KEYS, read_entry
from toolcrib_features.mcp.importing import CLIENTS, candidates, locations

_KEYS = (
    *("mcpServers", "servers", "mcp", "mcp_servers", "context_servers", "projects", "s"),
    *("command", "args", "env", "env_vars", "env_http_headers", "headers", "url", "type", "path"),
    *("environment", "startup_timeout_sec", "disabled", "/ws"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["x", "${input:1}"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4)
    ),
    max_leaves=15,
)
SERVER = st.dictionaries(st.sampled_from(_KEYS), JSON, max_size=5)
FILE = st.builds(lambda key, server: {key: {"s": server}}, st.sampled_from(_KEYS[:5]), SERVER)


@given(JSON | FILE, st.sampled_from(["", *CLIENTS]))
@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_json_gives_servers_that_can_be_used_or_reasons(
    tmp_path: Path, content: Any, client: str
) -> None:
    file = tmp_path / "x.json"
    file.write_text(json.dumps(content))
    try:
        found = candidates(file, client, Path("/ws"), {})
    except ToolcribError as error:
        assert str(file) in str(error)
        return
    for one in found:
        read = read_entry(one.entry, JSON_KEYS).server(one.name)
        assert one.problem or read.config.problem is None
        if one.problem is None:
            json.dumps(one.entry, allow_nan=False)


@pytest.mark.parametrize("content", [b"\xff", b"[", b"3", b"[" * 100_000])
def test_a_broken_file_is_named(tmp_path: Path, content: bytes) -> None:
    for suffix in ("json", "toml"):
        file = tmp_path / f"x.{suffix}"
        file.write_bytes(content)
        with pytest.raises(ToolcribError, match=str(file)):
            candidates(file, "", tmp_path, {})


def test_clients_that_were_moved_are_found(tmp_path: Path) -> None:
    environ = {"HOME": "/h", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d"}
    found = {str(file) for _, file in locations(environ, tmp_path)}
    assert {"/c/config.toml", "/d/.claude.json", "/h/.cursor/mcp.json"} <= found
    assert {client for client, _ in locations(environ, tmp_path, "zed")} == {"zed"}
