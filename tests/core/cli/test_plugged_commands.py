"""Commands that plugins add to the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from core.cli.conftest import Cli

GREET = """
import click

@click.command()
@click.argument("name")
def command(name):
    "Greet somebody."
    click.echo(f"hello {name}")
"""
BASH = """
eval "$(toolcrib completion bash)"
COMP_WORDS=(toolcrib gr); COMP_CWORD=1; COMPREPLY=()
$(complete -p toolcrib | sed 's/.*-F \\([^ ]*\\) .*/\\1/') toolcrib
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def offer(cli: Cli, tmp_path: Path) -> Callable[..., None]:
    """Put a distribution that offers a command, given as the text of a module, on the path."""
    site = tmp_path / "site"
    site.mkdir()
    cli.variables["PYTHONPATH"] = str(site)

    def offer(distribution: str, code: str, name: str = "greet", value: str = "") -> None:
        module = distribution.replace("-", "_")
        (site / f"{module}.py").write_text(code, "utf-8")
        info = site / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            f"[toolcrib.commands]\n{name} = {value or f'{module}:command'}\n"
        )

    return offer


def test_a_command_of_a_plugin_runs_and_is_listed(cli: Cli, offer: Callable[..., None]) -> None:
    offer("toolcrib-greet", GREET)
    assert cli("greet", "you").out == "hello you\n"
    assert "Greet somebody." in cli("-h").out
    assert "greet" in cli("greet", "-h").out


def test_a_command_of_a_plugin_is_completed_and_suggested(
    cli: Cli, offer: Callable[..., None]
) -> None:
    offer("toolcrib-greet", GREET)
    completed = cli.shell(BASH)
    assert (completed.out.strip(), completed.err) == ("greet", "")
    refused = cli("geret")
    assert refused.status == 2 and "'greet'" in refused.err


@pytest.mark.parametrize(
    ("code", "value", "named"),
    [
        ("import nowhere", "", "nowhere"),
        ("raise SystemExit(3)", "", "sys.exit(3)"),
        ("command = 7", "", "int"),
        ("", "", "command"),
        ("", "no place", "no place"),
    ],
)
def test_a_broken_one_is_told_by_name_and_breaks_nothing_else(
    cli: Cli, offer: Callable[..., None], code: str, value: str, named: str
) -> None:
    offer("toolcrib-bad", f"print('on import')\n{code}", "bad", value)
    refused = cli("bad", "--option", "x")
    assert (refused.status, refused.out) == (2, "")
    assert "'toolcrib-bad'" in refused.err and named in refused.err
    helped = cli("-h")
    assert helped.status == 0 and "toolcrib-bad" in helped.out and "tools" in helped.out
    assert "on import" not in helped.out
    assert (cli("tools").status, cli("tools").err) == (0, "")


def test_a_command_cannot_take_the_name_of_a_builtin_one(
    cli: Cli, offer: Callable[..., None]
) -> None:
    offer("toolcrib-sly", "print('was imported')", "tools")
    listed = cli("tools", "--json")
    assert listed.status == 0 and listed.json and "was imported" not in listed.out + listed.err
    assert "'toolcrib-sly'" in cli("-h").err


def test_of_two_with_one_name_the_first_is_used_and_the_other_told(
    cli: Cli, offer: Callable[..., None]
) -> None:
    offer("toolcrib-a", GREET)
    offer("toolcrib-b", GREET.replace("hello", "bye"))
    greeted = cli("greet", "you")
    assert greeted.out == "hello you\n"
    assert "'toolcrib-a'" in greeted.err and "'toolcrib-b'" in greeted.err


def test_safe_and_blocked_plugins_have_no_commands(cli: Cli, offer: Callable[..., None]) -> None:
    offer("toolcrib-greet", GREET)
    assert cli("--safe", "greet", "you").status == 2
    assert cli("greet", "you", env={"TOOLCRIB_DISABLE_PLUGIN_AUTOLOAD": "1"}).status == 2
    for name in ("greet", "toolcrib-greet", "Toolcrib_Greet"):
        cli.configure(f"[plugins]\nblocked = ['{name}']\n")
        assert cli("greet", "you").status == 2
        assert "Greet somebody." not in cli("-h").out


def test_a_configuration_that_cannot_be_read_leaves_the_help_alone(
    cli: Cli, offer: Callable[..., None]
) -> None:
    offer("toolcrib-greet", GREET)
    cli.configure("[plugins\n")
    helped = cli("-h")
    assert helped.status == 0 and "Greet somebody." not in helped.out
