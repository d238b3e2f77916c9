"""`toolcrib tools` and `toolcrib plugins`, and the completion scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from core.cli.conftest import Cli

BASH = """
eval "$(toolcrib completion bash)"
COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); COMPREPLY=()
compopt() {{ COMPREPLY+=("$@"); }}
$(complete -p toolcrib | sed 's/.*-F \\([^ ]*\\) .*/\\1/') toolcrib
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

ODD = """
import toolcrib


def tool(name, schema):
    body = {"name": name, "description": "d", "Input": schema, "resolve_execution": print}
    return type(name, (toolcrib.Tool,), body)


@toolcrib.hookimpl
def contribute_tool():
    schemas = {"Odd": {"type": "string"}, "Loose": {"type": "object", "properties": {"a": "what"}}}
    return [
        toolcrib.ToolContribution(name=name, factory=tool(name, schema))
        for name, schema in schemas.items()
    ]
"""


def test_the_table_has_the_frozen_shape(cli: Cli) -> None:
    listed = cli("tools", "--json")
    assert (listed.status, listed.err) == (0, "")
    for tool in listed.json:
        assert list(tool) == [
            "name", "source", "disclosure", "domain", "plugin", "description", "parameters",
        ]  # fmt: skip
        assert tool["parameters"]["type"] == "object"
    assert {"Bash", "Edit", "Glob", "Grep", "Read", "Write"} <= {t["name"] for t in listed.json}


@pytest.mark.parametrize(
    ("shape", "schema"),
    [
        ("openai", lambda tool: tool["function"]["parameters"]),
        ("anthropic", lambda tool: tool["input_schema"]),
        ("mcp", lambda tool: tool["inputSchema"]),
    ],
)
def test_prints_the_shapes_of_providers(cli: Cli, shape: str, schema: Callable[[Any], Any]) -> None:
    plain = cli("tools", "--json").json
    shaped = cli("tools", "--format", shape).json
    assert [schema(tool) for tool in shaped] == [tool["parameters"] for tool in plain]
    names = [tool.get("function", tool) for tool in shaped]
    assert [tool["name"] for tool in names] == [tool["name"] for tool in plain]
    assert [tool["description"] for tool in names] == [tool["description"] for tool in plain]
    if shape == "openai":
        assert {tool["type"] for tool in shaped} == {"function"}


def test_prints_what_other_providers_accept_and_notes_what_they_cannot_have(cli: Cli) -> None:
    names = [tool["name"] for tool in cli("tools", "--json").json]
    strict = cli("tools", "--format", "openai-strict")
    assert [tool["function"]["name"] for tool in strict.json] == names
    for tool in strict.json:
        parameters = tool["function"]["parameters"]
        assert tool["function"]["strict"] is True
        assert parameters["required"] == list(parameters["properties"])
    notes = strict.err.splitlines()
    assert len(notes) == len({note.split(": ")[2] for note in notes})  # one for each tool
    assert any("note: Bash: #/properties/command: minLength" in note for note in notes)
    gemini = cli("tools", "--format", "gemini")
    assert [tool["name"] for tool in gemini.json] == names
    assert gemini.status == strict.status == 0


def test_a_tool_that_no_provider_can_have_costs_only_itself(
    cli: Cli, install: Callable[[str, str], None]
) -> None:
    install("odd_tools", ODD)
    listed = cli("tools", "--format", "anthropic")
    names = [tool["name"] for tool in listed.json]
    assert "Loose" in names and "Odd" not in names and "Read" in names
    assert "note: Odd is left out" in listed.err
    assert [line for line in listed.err.splitlines() if "note: Loose:" in line]


def test_a_pipe_gets_lines_of_fields(cli: Cli) -> None:
    rows = [line.split("\t") for line in cli("tools").out.splitlines()]
    assert [row[0] for row in rows] == [tool["name"] for tool in cli("tools", "--json").json]
    assert {len(row) for row in rows} == {4}


def test_plugins_end_with_1_when_one_failed_and_say_which(
    cli: Cli, install: Callable[[str, str], None]
) -> None:
    assert cli("plugins").status == 0
    install("failing", "print('to standard output'); import nowhere")
    listed = cli("plugins")
    assert listed.status == 1 and "failing" in listed.err
    assert "to standard output" not in listed.out
    found = cli("plugins", "--json")
    (failed,) = [plugin for plugin in found.json if plugin["failures"]]
    assert failed["name"] == failed["distribution"] == "failing"
    assert "nowhere" in failed["failures"][0]["reason"]
    assert cli("--safe", "plugins").status == 0
    assert cli("tools").status == 0


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("toolcrib ''", {"run", "call", "tools", "explain", "plugins", "config", "trust", "new"}),
        ("toolcrib ex", {"explain"}),
        ("toolcrib run --mode ''", {"manual", "auto", "yolo"}),
        ("toolcrib explain Gr", {"Grep"}),
        ("toolcrib tools --profile re", {"review"}),
        ("toolcrib config ''", {"check"}),
        ("toolcrib run --runtime lo", {"local"}),
        ("toolcrib tools --workspace ''", {"dirnames"}),
        ("toolcrib run ''", {"default"}),
    ],
)
def test_bash_completes(cli: Cli, words: str, offered: set[str]) -> None:
    cli.configure("[profiles.review]\ntools = ['Read']\n")
    completed = cli.shell(BASH.format(words=words))
    assert completed.err == ""
    assert offered <= set(completed.out.split())
    if len(offered) == 1:
        assert set(completed.out.split()) - {"-o"} == offered


def test_completion_keeps_quiet_about_a_broken_configuration(cli: Cli) -> None:
    cli.configure("[tools\n")
    completed = cli.shell(BASH.format(words="toolcrib explain Gr"))
    assert (completed.out.strip(), completed.err) == ("", "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_a_script(cli: Cli, shell: str) -> None:
    printed = cli("completion", shell)
    assert printed.status == 0 and f"_TOOLCRIB_COMPLETE={shell}_complete" in printed.out
