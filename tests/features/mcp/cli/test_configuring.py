"""`toolcrib mcp add`, `remove` and `list`, and what `toolcrib config check` says of servers."""

from __future__ import annotations

import json
import shlex
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from toolcrib import server_prefix

if TYPE_CHECKING:
    from features.mcp.cli.conftest import Home


def test_a_command_is_added_listed_and_removed(mcp: Home) -> None:
    added = mcp("add", "fs", "--env", "A=b", "--env", "TOKEN", "--cwd", "x", "--", "npx", "-y", "s")
    assert added.status == 0 and "mcp test fs" in added.err and "'TOKEN'" in added.err
    assert mcp.entries["fs"] == {
        "command": "npx",
        "args": ["-y", "s"],
        "env": {"A": "b", "TOKEN": "${TOKEN}"},
        "cwd": "x",
    }
    assert stat.S_IMODE(mcp.file.stat().st_mode) == 0o600
    mcp.variables["TOKEN"] = "s3cret"
    (listed,) = mcp("list", "--no-connect", "--json").json
    assert (listed["name"], listed["state"], listed["problem"]) == ("fs", "configured", None)
    assert (listed["target"], listed["env_keys"]) == ("npx -y s", ["A", "TOKEN"])
    assert listed["source"] == f"{mcp.file}:3"
    assert mcp("remove", "fs").status == 0 and mcp.entries == {}


def test_an_address_is_added_with_headers(mcp: Home) -> None:
    options = ("--header", "X-A: b", "--header", "C=d", "--bearer-token-env", "T")
    assert mcp("add", "web", "https://h/mcp", *options, "--deferred").status == 0
    assert mcp.entries["web"] == {
        "type": "http",
        "url": "https://h/mcp",
        "headers": {"X-A": "b", "C": "d"},
        "bearerTokenEnvVar": "T",
        "deferred": True,
    }


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("a b", ("npx",)),
        ("a__b", ("npx",)),
        ("it's", ("npx",)),
        ("s", ("--", "example.com/x")),
        ("s", ("./a.sh/x",)),
        ("s", ("/bin/x",)),
        ("s", ("C.exe",)),
    ],
)
def test_names_are_quoted_where_they_are_typed(
    mcp: Home, name: str, target: tuple[str, ...]
) -> None:
    added = mcp("add", name, *target)
    assert added.status == 0 and mcp.entries[name]["command"] == target[-1]
    assert f"`toolcrib mcp test {shlex.quote(name)}`" in added.err
    prefix = server_prefix(name)
    assert (prefix in added.err) == (prefix != f"mcp__{name}__")


def test_a_name_is_not_taken_twice_unless_told(mcp: Home) -> None:
    assert mcp("add", "s", "--", "one").status == 0
    refused = mcp("add", "s", "--", "two")
    assert refused.status == 2 and "--replace" in refused.err and str(mcp.file) in refused.err
    assert mcp("add", "s", "--replace", "--", "two").status == 0
    assert mcp.entries["s"]["command"] == "two"


def test_unknown_keys_and_the_order_stay(mcp: Home) -> None:
    before = {"z": 1, "mcpServers": {"b": {"command": "x", "odd": [1.5]}, "a": {}}, "note": "ü"}
    file = mcp.write("config/toolcrib/mcp.json", before)
    mcp("add", "c", "--", "y")
    text = file.read_text("utf-8")
    before["mcpServers"]["c"] = {"command": "y", "args": []}  # type: ignore[index]
    assert text == json.dumps(before, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("text", ["{", '// mine\n{"mcpServers": {}}', "[]", '{"a": 1, "a": 2}'])
def test_a_file_that_would_suffer_is_left_alone(mcp: Home, text: str) -> None:
    file = mcp.write("config/toolcrib/mcp.json", text)
    refused = mcp("add", "s", "--", "x")
    assert refused.status == 2 and str(file) in refused.err
    assert file.read_text("utf-8") == text


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("s", "npx", "-y"), "'--'"),
        (("s", "ftp://h", "--transport", "http"), "https://"),
        (("s", "ftp://h"), "'ftp://h'"),
        (("s", "--", "ftp://h"), "'ftp://h'"),
        (("s", "notaurl://h/x"), "https://"),
        (("s", "http//typo"), "'http//typo'"),
        (("s", "https:/typo"), "'https:/typo'"),
        (("s", "https://"), "url"),
        (("s", "mcp.example.com/mcp"), "https://"),
        (("s", "localhost:8080"), "https://"),
        (("s", "127.0.0.1:8080/mcp"), "https://"),
        (("s", "http://h", "--env", "A=b"), "--env"),
        (("s", "http://h", "--cwd", "x"), "--cwd"),
        (("s", "--header", "A=b", "--", "x"), "--header"),
        (("s", "--bearer-token-env", "A", "--", "x"), "--bearer-token-env"),
        (("s", "--transport", "stdio", "http://h"), "command"),
        (("s", "--transport", "http", "--", "npx", "x"), "'x'"),
        (("s", "--env", "=x", "--", "x"), "environment variable"),
        (("s", "http://h", "--header", "a b=c"), "header"),
        (("s", "http://h", "--header", "x"), "--header"),
        (("s", "http://h", "--workspace", "nowhere"), "nowhere"),
        (("", "--", "x"), "name"),
        ((" ", "--", "x"), "name"),
        ((" s", "--", "x"), "' s'"),
        (("a\nb", "--", "x"), "'a\\nb'"),
        (("\x1b[2J", "--", "x"), "name"),
        (("__", "--", "x"), "'__'"),
        (("s",), "URL"),
        (("s", "http://h", "--", "a"), "'a'"),
    ],
)
def test_what_cannot_work_is_not_written(mcp: Home, arguments: tuple[str, ...], named: str) -> None:
    refused = mcp("add", *arguments)
    assert refused.status == 2 and named in refused.err
    assert not mcp.file.exists()


def test_the_file_of_a_workspace_counts_once_it_is_trusted(mcp: Home) -> None:
    added = mcp("add", "s", "--workspace", ".", "--", "x")
    assert added.status == 0 and "trust" in added.err
    assert not mcp.file.exists()
    listed = mcp("list", "--no-connect", "--json")
    assert listed.json == [] and "not trusted" in listed.err
    mcp.toolcrib("trust")
    assert [one["name"] for one in mcp("list", "--no-connect", "--json").json] == ["s"]
    assert mcp("remove", "s", "--workspace", ".").status == 0


def test_a_link_out_of_the_workspace_is_not_followed(mcp: Home) -> None:
    other = mcp.write("other.json", {})
    (mcp.workspace / ".toolcrib").mkdir()
    (mcp.workspace / ".toolcrib" / "mcp.json").symlink_to(other)
    assert mcp("add", "s", "--workspace", ".", "--", "x").status == 2
    assert other.read_text() == "{}"


def test_what_is_configured_elsewhere_is_not_removed_but_named(mcp: Home) -> None:
    file = mcp.write("config/toolcrib/toolcrib.toml", '\n[mcp.servers.s]\ncommand = "x"\n')
    refused = mcp("remove", "s")
    assert refused.status == 2 and f"{file}:2" in refused.err
    mcp("add", "github", "--", "x")
    assert "'github'" in mcp("remove", "githb").err


def test_several_processes_lose_nothing(mcp: Home) -> None:
    names = [f"s{number}" for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda name: mcp("add", name, "--", "x"), names))
    assert [one.status for one in done] == [0] * 4 and sorted(mcp.entries) == names


def test_a_list_is_for_people_too_and_shows_no_secret_and_moves_no_cursor(mcp: Home) -> None:
    entry = {"command": "x", "args": ["--api-key", "s3cret", "\x1b[2J"], "env": {"K": "s3cret"}}
    mcp.write("config/toolcrib/mcp.json", {"mcpServers": {"s": entry, "t": {"url": 3}}})
    listed = mcp("list", "--no-connect")
    as_json = mcp("list", "--no-connect", "--json")
    assert listed.status == 0 and "s3cret" not in listed.out + as_json.out
    assert "\x1b" not in listed.out
    assert [line.split("\t")[:2] for line in listed.out.splitlines()] == [
        ["s", "configured"],
        ["t", "failed"],
    ]


def test_the_check_of_the_configuration_names_bad_servers_with_their_lines(mcp: Home) -> None:
    text = "[mcp.servers]\na.command = 1\nb.command = 'x'\n"
    toml = mcp.write("config/toolcrib/toolcrib.toml", text)
    shared = mcp.write("ws/.mcp.json", '{"mcpServers": {\n"c": {"command": "x", "arg": 1}}}')
    checked = mcp.toolcrib("config", "check")
    assert checked.status == 1
    lines = checked.out.splitlines()
    assert any(line.startswith(f"{toml}:2: ") for line in lines)
    assert any(line.startswith(f"{shared}:2: ") and "'args'" in line for line in lines)
    assert mcp.toolcrib("tools", "--json").status == 0


def test_every_part_has_help_with_examples(mcp: Home) -> None:
    for part in ("add", "remove", "list", "import"):
        assert "Examples:" in mcp(part, "--help").out
