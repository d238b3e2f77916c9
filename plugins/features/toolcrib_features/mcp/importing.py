"""Reads the servers that other clients have configured, each in its own way of writing them."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from toolcrib import ToolcribError
from toolcrib_features.mcp.entries import JSON_KEYS, read_entry
from toolcrib_features.mcp.files import BadFile, read_text
from toolcrib_features.mcp.jsonc import JsonError, parse

MAX_BYTES = 64 << 20
"""Some clients keep their history beside their servers."""
_PLACEHOLDER = re.compile(r"\$\{(env|input):([^}]+)\}|\{env:([^}]+)\}|\$\{(\w+)\}")
_INPUT_LETTERS = re.compile(r"[^A-Z0-9]+")
_APPS = "Library/Application Support" if sys.platform == "darwin" else ".config"
_CODE = f"{_APPS}/Code/User"

CLIENTS: Mapping[str, tuple[str, ...]] = {
    "claude-desktop": (f"{_APPS}/Claude/claude_desktop_config.json",),
    "claude-code": (".claude.json",),
    "cursor": (".cursor/mcp.json", "./.cursor/mcp.json"),
    "vscode": (f"{_CODE}/mcp.json", f"{_CODE}/settings.json", "./.vscode/mcp.json"),
    "windsurf": (".codeium/windsurf/mcp_config.json",),
    "gemini": (".gemini/settings.json", "./.gemini/settings.json"),
    "codex": (".codex/config.toml", "./.codex/config.toml"),
    "cline": (f"{_CODE}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",),
    "zed": (".config/zed/settings.json",),
    "opencode": (".config/opencode/opencode.json", "./opencode.json"),
    "kiro": (".kiro/settings/mcp.json", "./.kiro/settings/mcp.json"),
    "lmstudio": (".lmstudio/mcp.json",),
}
"""Where clients keep their servers: below the home, or with `./` below a project."""


@frozen(kw_only=True)
class Candidate:
    """A server of another client, as it would be written into our file.

    Attributes:
        problem: why it is not taken.
        remarks: what was changed or left out.
    """

    name: str
    entry: Mapping[str, Any] = field(repr=False)
    source: str
    problem: str | None = None
    remarks: tuple[str, ...] = ()


def locations(
    environ: Mapping[str, str], workspace: Path | None, client: str | None = None
) -> list[tuple[str, Path]]:
    """Where clients, or one of them, keep their servers; clients with the files.

    Args:
        workspace: without it, only what belongs to the user.
    """
    home = Path(environ.get("HOME") or Path.home())
    moved = {
        ".claude.json": environ.get("CLAUDE_CONFIG_DIR"),
        ".codex/config.toml": environ.get("CODEX_HOME"),
    }
    found: list[tuple[str, Path]] = []
    for name, files in CLIENTS.items():
        if client is None or name == client:
            for file in files:
                base = workspace if file.startswith("./") else home
                if base is None:
                    continue
                elsewhere = moved.get(file)
                path = Path(elsewhere) / Path(file).name if elsewhere else base / file
                found.append((name, path))
    return found


def candidates(
    file: Path, client: str, workspace: Path, environ: Mapping[str, str]
) -> list[Candidate]:
    """The servers in a file of a client; one that is not named is told by the file itself.

    Raises:
        ToolcribError: the file cannot be read or understood.
    """
    data = _data(file)
    place = f"{client} ({file})" if client else str(file)
    found: list[Candidate] = []
    for name, table, kind in _servers(data, workspace):
        remarks: list[str] = []
        if not isinstance(table, Mapping):
            problem = "expected an object"
            found.append(Candidate(name=name, entry={}, source=place, problem=problem))
            continue
        gemini = client == "gemini" or file.parent.name == ".gemini"
        entry = _entry(table, kind, remarks, sse_url=gemini)
        entry = _translated(entry, workspace, remarks)
        problem_of = read_entry(entry, JSON_KEYS).server(name).config.problem
        if Path(str(entry.get("command", ""))).name == "toolcrib":
            problem_of = "it is toolcrib itself"
        found.append(
            Candidate(
                name=name, entry=entry, source=place, problem=problem_of, remarks=tuple(remarks)
            )
        )
    return found


def _data(file: Path) -> Mapping[str, Any]:
    try:
        text = read_text(file, limit_bytes=MAX_BYTES)
    except BadFile as bad:
        raise ToolcribError(str(bad.notice)) from None
    if text is None:
        raise ToolcribError(f"{file}: the file does not exist")
    data: Any
    try:
        data = tomllib.loads(text) if file.suffix == ".toml" else _json(text)
    except JsonError as error:
        place = f"{file}:{error.line}:{error.column}"
        raise ToolcribError(f"{place}: is not valid JSON: {error}") from None
    except (ValueError, RecursionError) as error:
        raise ToolcribError(f"{file}: cannot be understood: {error}") from None
    if not isinstance(data, Mapping):
        raise ToolcribError(f"{file}: expected an object with servers by name")
    return data


def _json(text: str) -> Any:
    if not text.strip():
        return {}
    try:
        return json.loads(text)  # much faster, for the files that also have a history in them
    except ValueError:
        return parse(text).data


def _servers(data: Mapping[str, Any], workspace: Path) -> Iterator[tuple[str, Any, str]]:
    """Names, entries, and the way in which they are written."""
    projects = _table(data.get("projects"))
    mcp = _table(data.get("mcp"))
    shapes = (
        ("common", _table(data.get("mcpServers"))),
        ("common", _table(_table(projects.get(str(workspace))).get("mcpServers"))),
        ("common", _table(data.get("servers"))),
        ("common", _table(mcp.get("servers"))),
        ("codex", _table(data.get("mcp_servers"))),
        ("zed", _table(data.get("context_servers"))),
        ("opencode", {key: one for key, one in mcp.items() if key not in ("servers", "inputs")}),
    )
    for kind, tables in shapes:
        for name, table in tables.items():
            yield str(name), table, kind


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _entry(
    table: Mapping[str, Any], kind: str, remarks: list[str], *, sse_url: bool
) -> dict[str, Any]:
    """The entry with our keys; those that mean nothing here are left out, and said."""
    table = {key: value for key, value in table.items() if value is not None}
    if kind in ("opencode", "zed"):
        table = _command_taken_apart(table)
    entry: dict[str, Any] = {}
    left: list[str] = []
    for key, value in table.items():
        if key in _RENAMED:
            name, convert = _RENAMED[key]
            entry[name] = convert(value)
        elif key in JSON_KEYS:
            entry[key] = value
        elif key != "source":
            left.append(key)
    variables = _table(table.get("env_http_headers"))
    if headers := {str(key): f"${{{variable}}}" for key, variable in variables.items()}:
        entry["headers"] = {**_table(entry.get("headers")), **headers}
    if passed := {name: f"${{{name}}}" for name in _names(table.get("env_vars"))}:
        entry["env"] = {**passed, **_table(entry.get("env"))}
    if sse_url and "url" in entry and "type" not in entry:
        entry["type"] = "sse"
    if entry.get("type") == "remote":
        entry["type"] = "http"
    for key in ("env", "headers"):
        if isinstance(entry.get(key), Mapping):
            entry[key] = {str(name): _as_text(one) for name, one in entry[key].items()}
    if isinstance(entry.get("args"), list):
        entry["args"] = [_as_text(one) for one in entry["args"]]
    if told := [key for key in left if key not in ("env_http_headers", "env_vars")]:
        remarks.append(f"left out, since they mean nothing here: {', '.join(told)}")
    return entry


def _command_taken_apart(table: Mapping[str, Any]) -> dict[str, Any]:
    """A command that is written as a list or a table of its own."""
    command = table.get("command")
    entry = dict(table)
    if isinstance(command, list) and command:
        entry |= {"command": command[0], "args": command[1:]}
    elif isinstance(command, Mapping):
        entry |= {"command": command.get("path"), **{k: command[k] for k in command if k != "path"}}
        entry.pop("path", None)
    return entry


def _milliseconds(value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return round(value * 1000) if number and abs(value) < 1e9 else value


def _same(value: Any) -> Any:
    return value


_RENAMED: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "environment": ("env", _same),
    "http_headers": ("headers", _same),
    "bearer_token_env_var": ("bearerTokenEnvVar", _same),
    "startup_timeout_sec": ("startupTimeoutMs", _milliseconds),
    "startup_timeout_ms": ("startupTimeoutMs", _same),
    "tool_timeout_sec": ("toolTimeoutMs", _milliseconds),
    "supports_parallel_tool_calls": ("parallel", _same),
    "enabled_tools": ("enabledTools", _same),
    "disabled_tools": ("disabledTools", _same),
    "includeTools": ("enabledTools", _same),
    "excludeTools": ("disabledTools", _same),
}


def _names(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _translated(entry: Any, workspace: Path, remarks: list[str]) -> Any:
    """The texts of an entry with the placeholders of other clients in our own way."""
    if isinstance(entry, Mapping):
        return {key: _translated(value, workspace, remarks) for key, value in entry.items()}
    if isinstance(entry, list):
        return [_translated(value, workspace, remarks) for value in entry]
    if not isinstance(entry, str):
        return entry

    def replaced(match: re.Match[str]) -> str:
        kind, name, braced, word = match.groups()
        if kind == "input":
            variable = _INPUT_LETTERS.sub("_", name.upper()).strip("_")
            variable = variable if variable[:1].isalpha() else f"INPUT_{variable}"
            remarks.append(f"set the environment variable {variable}; the client asks for it")
            return f"${{{variable}}}"
        if kind == "env" or braced:
            return f"${{{name or braced}}}"
        known = {"workspaceFolder": str(workspace), "userHome": "${HOME}"}
        known["workspaceFolderBasename"] = workspace.name
        return known.get(word, match.group())

    return _PLACEHOLDER.sub(replaced, entry)
