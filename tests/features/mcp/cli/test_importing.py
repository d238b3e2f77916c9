"""`toolcrib mcp import`: servers of other clients."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from features.mcp.cli.conftest import Home

APPS = "Library/Application Support" if sys.platform == "darwin" else ".config"
STDIO = {"command": "x", "args": ["a"]}


@pytest.mark.parametrize(
    ("client", "file", "content", "expected"),
    [
        (
            "claude-desktop",
            f"{APPS}/Claude/claude_desktop_config.json",
            {"mcpServers": {"s": {**STDIO, "env": {"PORT": 80}}}},
            {**STDIO, "env": {"PORT": "80"}},
        ),
        (
            "claude-code",
            ".claude.json",
            {"history": [], "mcpServers": {"s": {"type": "http", "url": "https://h"}}},
            {"type": "http", "url": "https://h"},
        ),
        (
            "cursor",
            ".cursor/mcp.json",
            {"mcpServers": {"s": {**STDIO, "env": {"A": "${env:B}", "C": "${userHome}/d"}}}},
            {**STDIO, "env": {"A": "${B}", "C": "${HOME}/d"}},
        ),
        (
            "vscode",
            f"{APPS}/Code/User/mcp.json",
            '{"inputs": [{"id": "api-key"}], // mine\n"servers": {"s": {"type": "stdio", '
            '"command": "x", "env": {"K": "${input:api-key}"},},}}',
            {"type": "stdio", "command": "x", "env": {"K": "${API_KEY}"}},
        ),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            {"mcpServers": {"s": {"serverUrl": "https://h/mcp"}}},
            {"serverUrl": "https://h/mcp"},
        ),
        (
            "gemini",
            ".gemini/settings.json",
            {"theme": "x", "mcpServers": {"s": {"url": "https://h/sse", "includeTools": ["a"]}}},
            {"url": "https://h/sse", "type": "sse", "enabledTools": ["a"]},
        ),
        (
            "codex",
            ".codex/config.toml",
            'model = "m"\n[mcp_servers.s]\ncommand = "x"\nenv_vars = ["T"]\n'
            "startup_timeout_sec = 1.5\nenabled_tools = ['a']\n"
            "supports_parallel_tool_calls = true\n",
            {
                "command": "x",
                "startupTimeoutMs": 1500,
                "enabledTools": ["a"],
                "parallel": True,
                "env": {"T": "${T}"},
            },
        ),
        (
            "zed",
            ".config/zed/settings.json",
            '{"context_servers": {"s": {"source": "custom", "command": {"path": "x", '
            '"args": ["a"]}}}, /* c */ }',
            STDIO,
        ),
        (
            "opencode",
            ".config/opencode/opencode.json",
            {
                "mcp": {
                    "s": {"type": "local", "command": ["x", "a"], "environment": {"A": "{env:B}"}}
                }
            },
            {**STDIO, "type": "local", "env": {"A": "${B}"}},
        ),
    ],
)
def test_each_client_is_read_in_its_own_way(
    mcp: Home, client: str, file: str, content: object, expected: dict[str, Any]
) -> None:
    mcp.write(file, content)
    done = mcp("import", "--from", client)
    assert done.status == 0 and done.out.startswith("s ")
    assert mcp.entries == {"s": expected}
    mcp.file.unlink()
    assert mcp("import", str(mcp.folder / file)).status == 0
    assert mcp.entries == {"s": expected}


def test_servers_of_a_project_are_those_of_the_workspace(mcp: Home) -> None:
    projects = {str(mcp.workspace): {"mcpServers": {"here": STDIO}}}
    projects["/elsewhere"] = {"mcpServers": {"there": STDIO}}
    mcp.write(".claude.json", {"projects": projects})
    file = mcp.write("ws/.vscode/mcp.json", {"servers": {"v": {"command": "${workspaceFolder}/x"}}})
    untrusted = mcp("import", "--dry-run")
    assert untrusted.out.split()[0] == "here" and str(file) in untrusted.err
    assert "\nv " not in untrusted.out and mcp("import", "--dry-run", str(file)).out[:2] == "v "
    mcp.toolcrib("trust")
    assert mcp("import").status == 0
    assert mcp.entries == {"here": STDIO, "v": {"command": f"{mcp.workspace}/x"}}


def test_nothing_is_overwritten_unless_told(mcp: Home) -> None:
    mcp("add", "s", "--", "mine")
    mcp.write(".cursor/mcp.json", {"mcpServers": {"s": STDIO, "new": STDIO}})
    mcp.write(".kiro/settings/mcp.json", {"mcpServers": {"new": {"command": "other"}}})
    done = mcp("import")
    assert done.status == 0 and "--replace" in done.err
    assert (mcp.entries["s"]["command"], mcp.entries["new"]) == ("mine", STDIO)
    assert mcp("import", "--replace").status == 0 and mcp.entries["s"] == STDIO


def test_a_dry_run_writes_nothing(mcp: Home) -> None:
    mcp.write(".cursor/mcp.json", {"mcpServers": {"s": STDIO}})
    assert mcp("import", "--dry-run").out.startswith("s ")
    assert not mcp.file.exists()


def test_what_cannot_be_used_is_skipped_with_the_reason(mcp: Home) -> None:
    entries = {
        "ours": {"command": "toolcrib", "args": ["serve"]},
        "bad": {"command": 7},
        "no": 3,
        "s": {**STDIO, "autoApprove": ["a"]},
    }
    mcp.write(".cursor/mcp.json", {"mcpServers": entries})
    mcp.write(".codex/config.toml", "[")
    done = mcp("import")
    assert list(mcp.entries) == ["s"] and mcp.entries["s"] == STDIO
    assert all(name in done.err for name in ("'ours'", "'bad'", "'no'", "config.toml"))
    assert "autoApprove" in done.err


def test_nothing_to_import_is_an_error(mcp: Home) -> None:
    assert mcp("import").status == 2
    missing = mcp("import", "nowhere.json")
    assert missing.status == 2 and "nowhere.json" in missing.err
    mcp.write(".cursor/mcp.json", {"mcpServers": {}})
    assert mcp("import").status == 2
    broken = mcp.write("broken.json", '{\n"a" 1}')
    assert f"{broken}:2:5" in mcp("import", str(broken)).err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no servers"),
        (" \n", "no servers"),
        ("{}", "no servers"),
        ('{"mcpServers": {}}', "no servers"),
        ('{"mcpServers": []}', "no servers"),
        ('{"theme": "dark"}', "no servers"),
        ("[]", "object"),
        ("mcpServers: x", "JSON"),
        ('{"mcpServers": {', "JSON"),
    ],
)
def test_of_several_files_one_that_is_bad_has_nothing_written(
    mcp: Home, text: str, told: str
) -> None:
    bad = mcp.write("bad.json", text)
    good = mcp.write("good.json", {"mcpServers": {"s": STDIO}})
    for paths in ([str(bad)], [str(good), str(bad)]):
        done = mcp("import", *paths)
        assert done.status == 2 and not mcp.file.exists()
        assert str(bad) in done.err and told in done.err and "nothing was written" in done.err


def test_several_files_are_taken_together(mcp: Home) -> None:
    one = mcp.write("one.json", {"mcpServers": {"a": STDIO, "both": STDIO}})
    two = mcp.write("two.json", {"servers": {"b": STDIO, "both": {"command": "other"}}})
    done = mcp("import", str(one), str(two))
    assert done.status == 0 and set(mcp.entries) == {"a", "b", "both"}
    assert mcp.entries["both"] == STDIO and str(one) in done.err
    before = mcp.file.read_text()
    again = mcp("import", str(one))
    assert again.status == 0 and "nothing was written" in again.err
    assert mcp.file.read_text() == before
    replaced = mcp("import", "--replace", str(two))
    assert "replaces" in replaced.out and mcp.entries["both"] == {"command": "other"}


def test_servers_that_cannot_be_used_are_told_by_the_exit_status(mcp: Home) -> None:
    file = mcp.write("bad.json", {"mcpServers": {"bad": {"command": 7}, "": STDIO}})
    done = mcp("import", str(file))
    assert done.status == 1 and "'bad'" in done.err and not mcp.file.exists()


@pytest.mark.parametrize("text", ["{", '// mine\n{"mcpServers": {"s": {}}}', '{"mcpServers": 1}'])
def test_a_file_of_ours_that_would_suffer_is_left_alone(mcp: Home, text: str) -> None:
    ours = mcp.write("config/toolcrib/mcp.json", text)
    good = mcp.write("good.json", {"mcpServers": {"t": STDIO}})
    done = mcp("import", "--replace", str(good))
    assert done.status == 2 and str(ours) in done.err
    assert ours.read_text() == text


def test_secrets_are_copied_but_not_shown(mcp: Home) -> None:
    mcp.write(".cursor/mcp.json", {"mcpServers": {"s": {**STDIO, "env": {"T": "s3cret"}}}})
    done = mcp("import")
    assert "s3cret" not in done.out + done.err
    assert mcp.entries["s"]["env"] == {"T": "s3cret"}
