"""What is told of a script as a whole."""

from __future__ import annotations

import subprocess
import sys

import pytest

from toolcrib.shell import analyse_command


@pytest.mark.parametrize(
    ("script", "read_only"),
    [
        ("ls -la", True),
        ("cd src && grep -rn foo . | head", True),
        ("timeout 5 ls", True),
        ("timeout 5 ls > out", False),
        ("ls > out", False),
        ("{ ls; } > out", False),
        ("exec > out", False),
        ("rm x", False),
        ("ls; rm x", False),
        ("ls $(rm x)", False),
        ("$X", False),
        ("find . -delete", False),
        ("find . -exec rm {} +", False),
        ("some-program", False),
        ("ls <<E\n$(rm x)\nE", False),
    ],
)
def test_a_script_is_read_only_if_all_of_it_is(script: str, read_only: bool) -> None:
    analysis = analyse_command(script, cwd="/w", home_dir="/home/me", root="/w")

    assert analysis.read_only is read_only


def test_the_effects_of_all_commands_are_told() -> None:
    analysis = analyse_command("cd a && cat b | sed s/x/y/ > c", cwd="/w")

    found = {(effect.operation, effect.path) for effect in analysis.effects}
    assert {("read", "/w/a/b"), ("write", "/w/a/c")} <= found


def test_a_dangerous_command_is_told_even_in_a_script_that_is_not_understood() -> None:
    analysis = analyse_command("x=${!y}; rm -rf /", cwd="/w", home_dir="/home/me", root="/w")

    assert analysis.unanalysable
    assert analysis.dangerous


def test_the_parser_is_imported_only_when_it_is_used() -> None:
    code = "import sys, toolcrib.shell.model; print('toolcrib.shell.parse' in sys.modules)"

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"
