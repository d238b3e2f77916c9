"""How one entry of a configuration becomes a server, or says what is wrong with it."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib_features.mcp.entries import JSON_KEYS, TOML_KEYS, Entry, read_entry

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*JSON_KEYS, *TOML_KEYS, "x"]), inner, max_size=5)
    ),
    max_leaves=12,
)


def read_json(entry: object, **environ: str) -> Entry:
    return read_entry(entry, JSON_KEYS).server("s", environ, source="mcp.json:3")


def read_toml(entry: object, **environ: str) -> Entry:
    return read_entry(entry, TOML_KEYS).server("s", environ, source="toolcrib.toml:3")


@given(JSON)
@settings(max_examples=200, deadline=None)
def test_no_value_raises_and_each_gives_a_server_or_a_reason(entry: Any) -> None:
    for found in (read_json(entry), read_toml(entry), read_entry(entry, JSON_KEYS).server("s")):
        config = found.config
        assert config.problem or (config.command if config.transport == "stdio" else config.url)
        assert bool(config.problem) == bool(found.faults)
        timeout = config.startup_timeout_s
        assert timeout is None or (timeout > 0 and math.isfinite(timeout))


def test_the_keys_of_both_kinds_of_files_mean_the_same() -> None:
    json_entry = {
        "type": "streamable-http",
        "serverUrl": "https://h/mcp",
        "headers": {"X-A": "b"},
        "bearerTokenEnvVar": "T",
        "disabled": True,
        "startupTimeoutMs": 1500,
        "toolTimeoutMs": 2000,
        "enabledTools": ["a*"],
        "disabledTools": ["b"],
    }
    toml_entry = {
        "transport": "http",
        "url": "https://h/mcp",
        "headers": {"X-A": "b"},
        "bearer_token_env": "T",
        "enabled": False,
        "startup_timeout_s": 1.5,
        "tool_timeout_s": 2,
        "enabled_tools": ["a*"],
        "disabled_tools": ["b"],
    }
    one, other = read_json(json_entry).config, read_toml(toml_entry).config
    assert (one.problem, one.startup_timeout_s, one.enabled) == (None, 1.5, False)
    for name in ("transport", "url", "headers", "bearer_token_env", "enabled_tools"):
        assert getattr(one, name) == getattr(other, name)
    assert one.tool_timeout_s == other.tool_timeout_s == 2


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"command": "x"}, "stdio"),
        ({"url": "http://h"}, "http"),
        ({"url": "http://h", "type": "sse"}, "sse"),
        ({"url": "http://h", "command": "x", "type": "stdio"}, "stdio"),
    ],
)
def test_the_transport_is_inferred(entry: dict[str, Any], transport: str) -> None:
    config = read_json(entry).config
    assert (config.transport, config.problem) == (transport, None)


@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ({}, "command"),
        ({"command": ""}, "command"),
        ({"command": 7}, "7"),
        ({"command": "x", "args": "a b"}, "'a b'"),
        ({"command": "x", "args": ["a", 8080]}, "args[1]"),
        ({"command": "x", "env": {"A=B": "c"}}, "A=B"),
        ({"command": "x\0"}, "NUL"),
        ({"command": "x", "url": "http://h"}, "transport"),
        ({"url": "ftp://h"}, "ftp://h"),
        ({"url": "http://"}, "http://"),
        ({"url": "http://h:x"}, "url"),
        ({"url": "http://h", "headers": {"a b": "c"}}, "a b"),
        ({"url": "http://h", "headers": {"a": "b\r\nc: d"}}, "headers.a"),
        ({"url": "http://h", "type": "websocket"}, "'websocket'"),
        ({"type": "http", "command": "x"}, "url"),
        ({"command": "x", "startupTimeoutMs": 0}, "0"),
        ({"command": "x", "startupTimeoutMs": True}, "True"),
        ({"command": "x", "toolTimeoutMs": 2**31}, str(2**31)),
        ({"command": "x", "enabled": "yes"}, "'yes'"),
        ({"command": "x", "enabled": True, "disabled": True}, "'enabled'"),
        ([], "a list"),
    ],
)
def test_a_problem_names_the_key_or_the_value(entry: object, named: str) -> None:
    assert named in (read_json(entry).config.problem or "")


def test_a_problem_names_all_faults() -> None:
    problem = read_json({"command": 1, "args": 2, "cwd": 3}).config.problem or ""
    assert all(f"{key}: " in problem for key in ("command", "args", "cwd"))


def test_an_unknown_key_is_a_remark_that_names_a_near_one() -> None:
    found = read_json({"command": "x", "startup_timeout_ms": 5})
    assert found.config.problem is None
    assert "'startupTimeoutMs'" in found.remarks[0][1]


def test_what_is_for_the_other_transport_is_a_remark() -> None:
    found = read_json({"url": "http://h", "args": ["x"]})
    assert (found.config.args, found.config.problem) == ((), None)
    assert found.remarks[0][0] == ("args",)


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "x", "env": {"TOKEN": ["s3cret"]}},
        {"url": "http://u:s3cret@h:port"},
        {"url": "http://h", "headers": {"a": "s3cret\n"}},
        {"url": "http://h", "bearerTokenEnvVar": "s3cret-token"},
    ],
)
def test_problems_and_targets_never_show_a_secret(entry: dict[str, Any]) -> None:
    config = read_json(entry).config
    assert config.problem and "s3cret" not in config.problem
    assert "s3cret" not in config.target


def test_variables_are_put_into_commands_addresses_and_their_company() -> None:
    entry = {
        "command": "${BIN}/x",
        "args": ["${A:-d}", "$A"],
        "env": {"K": "${BIN}"},
    }
    config = read_toml(entry, BIN="/b").config
    assert (config.command, config.args, config.env) == ("/b/x", ("d", "$A"), {"K": "/b"})
    assert config.target == "'${BIN}/x' '${A:-d}' '$A'"


def test_an_unset_variable_is_a_problem_with_its_place() -> None:
    problem = read_toml({"url": "https://h", "headers": {"K": "${NONE}"}}).config.problem
    assert problem and "headers.K" in problem and "'NONE'" in problem


def test_a_variable_cannot_smuggle_a_header() -> None:
    entry = {"url": "https://h", "headers": {"K": "${V}"}}
    assert read_toml(entry, V="a\r\nHost: b").config.problem
