"""`--runtime`: where the calls of a command act, with a runtime of an installed distribution."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from core.cli.conftest import Cli

PLUGIN = """
import toolcrib

class Moon(toolcrib.LocalRuntime):
    def launch(self, argv, *, cwd, environment):
        return toolcrib.Launch(tuple(argv), cwd, {**environment, "ON": "the moon"})

def moon():
    return Moon(id="moon", capabilities=frozenset({"process"}))

def dark():
    raise OSError("no light")

@toolcrib.hookimpl
def contribute_runtime():
    return [
        toolcrib.RuntimeContribution(id="moon", factory=moon, capabilities="process"),
        toolcrib.RuntimeContribution(id="dark", factory=dark, capabilities="process"),
    ]
"""
BASH = json.dumps({"id": "1", "name": "Bash", "arguments": {"command": "echo $ON"}})


@pytest.fixture
def moon(cli: Cli, install: Callable[[str, str], None]) -> Cli:
    install("acme-moon", PLUGIN)
    return cli


def test_calls_act_there(moon: Cli) -> None:
    done = moon("run", "--runtime", "moon", "--mode", "yolo", "--json", given=BASH)
    assert (done.status, done.records[0]["output"]) == (0, "the moon\n")
    done = moon("call", "Bash", '{"command": "echo $ON"}', "--runtime", "moon", "--mode", "yolo")
    assert (done.status, done.out.strip()) == (0, "the moon")
    done = moon("run", "--mode", "yolo", "--json", given=BASH)
    assert done.records[0]["output"] == "\n"


def test_the_tools_are_those_that_it_carries(moon: Cli) -> None:
    names = {tool["name"] for tool in moon("tools", "--json", "--runtime", "moon").json}
    assert "Bash" in names and "Write" not in names
    (read,) = moon("explain", "Read", "--json", "--runtime", "moon").json
    assert (read["active"], read["filter"]) == (False, "runtime")
    assert "moon" in read["reason"]


@pytest.mark.parametrize(
    ("name", "says"), [("dark", ("acme-moon", "no light")), ("mon", ("moon",)), ("", ("local",))]
)
@pytest.mark.parametrize("command", [("run", "-"), ("tools",), ("call", "Bash"), ("explain",)])
def test_one_that_cannot_be_used_is_an_error(
    moon: Cli, command: tuple[str, ...], name: str, says: tuple[str, ...]
) -> None:
    done = moon(*command, "--runtime", name, given=BASH)
    assert (done.status, done.out) == (2, "")
    assert all(part in done.err for part in says)


def test_the_configured_one_is_used(moon: Cli) -> None:
    moon.configure('default_runtime = "moon"\n')
    there = {tool["name"] for tool in moon("tools", "--json").json}
    here = {tool["name"] for tool in moon("tools", "--json", "--runtime", "local").json}
    assert "Bash" in there and "Write" in here - there
    moon.configure('default_runtime = "dark"\n')
    assert moon("tools").status == 2
    assert moon("plugins").status == 0
    moon.configure('default_runtime = "mon"\n')
    done = moon("config", "check")
    assert done.status != 0
    assert "toolcrib.toml:1" in done.out + done.err
    assert "moon" in done.out + done.err


def test_the_list_of_plugins_has_them(moon: Cli) -> None:
    listed = {plugin["name"]: plugin["runtimes"] for plugin in moon("plugins", "--json").json}
    assert listed["acme-moon"] == ["moon", "dark"]
    assert listed["os-read"] == []
