"""What the command says, and ends with, when it cannot do what is asked."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from toolcrib.cli.main import cli as program

if TYPE_CHECKING:
    from core.cli.conftest import Cli

COMMANDS = ["run", "call", "tools", "explain", "plugins", "config check", "trust", "new"]


@pytest.mark.parametrize("command", ["", *COMMANDS, "config", "completion"])
def test_every_command_explains_itself_with_examples(command: str) -> None:
    helped = CliRunner().invoke(program, [*command.split(), "-h"], prog_name="toolcrib")
    assert (helped.exit_code, helped.stderr) == (0, "")
    assert "Examples:" in helped.stdout and f"toolcrib {command}".strip() in helped.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["expalin"], "explain"),
        (["--sfae"], "--safe"),
        (["tools", "--formt", "mcp"], "--format"),
        (["tools", "--format", "yaml"], "openai"),
        (["tools", "extra"], "extra"),
        (["run", "--mode", "never"], "yolo"),
        (["run", "nowhere.json"], "nowhere.json"),
        (["run", "."], "directory"),
        (["run", "a\udcff.json"], "a\\udcff.json"),
        (["run"], "standard input"),
        (["call"], "NAME"),
        (["tools", "--workspace", "nowhere"], "nowhere"),
        (["tools", "--workspace", "a.txt"], "a.txt"),
        (["config", "check", "--workspace", "nowhere"], "nowhere"),
        (["config", "chekc"], "check"),
        (["tools", "--profile", "defalt"], "default"),
        (["explain", "--call", "{"], "--call"),
        (["explain", "--call", "[]"], "--call"),
        (["explain", "Read", "--call", '{"name": "Read"}'], "--call"),
        (["trust", "a.txt"], "a.txt"),
        (["new", "two words"], "two words"),
        (["completion", "tcsh"], "bash"),
    ],
)
def test_a_mistake_is_one_message_that_names_it(cli: Cli, arguments: list[str], named: str) -> None:
    refused = cli(*arguments)
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith("toolcrib: ") and named in refused.err
    assert refused.err.count("\n") == 1


def test_a_broken_configuration_is_named_by_file_line_and_column(cli: Cli) -> None:
    (cli.workspace / "toolcrib.toml").write_text("[tools]\nenabled = [\n")
    for command in (["tools"], ["explain"], ["plugins"], ["call", "Read"]):
        refused = cli(*command)
        assert (refused.status, refused.out) == (2, "")
        assert "toolcrib.toml:2:" in refused.err


def test_closed_standard_input_is_empty_input(cli: Cli) -> None:
    assert cli.shell("toolcrib run - <&-").status == 2
    called = cli.shell("toolcrib call Read - <&-")
    assert called.status == 1 and "path" in called.out


def test_closed_standard_output_is_told_before_anything_runs(cli: Cli) -> None:
    ran = cli.shell("""toolcrib call Bash '{"command": "touch ran"}' --mode yolo >&-; echo "$?" """)
    assert ran.out == "74\n" and "output" in ran.err
    assert not (cli.workspace / "ran").exists()


def test_closed_standard_error_changes_nothing_else(cli: Cli) -> None:
    assert cli.shell("toolcrib tools 2>&-").out == cli("tools").out
    assert cli.shell("toolcrib tools --workspace nowhere 2>&-").status == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is of Linux")
@pytest.mark.parametrize("command", ["tools --json", "call Read '{}'"])
def test_a_full_disk_is_one_message(cli: Cli, command: str) -> None:
    ran = cli.shell(f"toolcrib {command} > /dev/full")
    assert ran.status == 74
    assert ran.err.startswith("toolcrib: ") and "Traceback" not in ran.err


@pytest.mark.parametrize("command", ["tools --json", "-h"])
def test_a_reader_that_stops_early_hears_no_complaint(cli: Cli, command: str) -> None:
    ran = cli.shell(f"set -o pipefail; toolcrib {command} | head -c 1")
    assert ran.err == ""
    gone = cli.shell(f"toolcrib {command} | true; echo ${{PIPESTATUS[0]}}")
    assert gone.err == ""


def test_python_m_toolcrib_is_the_same_command(cli: Cli) -> None:
    assert cli.shell("python -m toolcrib tools").out == cli("tools").out
    assert cli.shell("python -m toolcrib frob").err == cli("frob").err


@pytest.mark.parametrize("command", ["tools", "config check", "call Read '{}'"])
def test_a_current_folder_that_is_gone_is_named(cli: Cli, command: str) -> None:
    ran = cli.shell(f"mkdir gone && cd gone && rmdir ../gone && toolcrib {command}")
    assert (ran.status, ran.out) == (2, "")
    assert "current folder" in ran.err
