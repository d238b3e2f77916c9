"""`toolcrib config check`: everything that is wrong or pointless in the configuration."""

from __future__ import annotations

import os
from pathlib import Path

import click

from toolcrib.cli.common import complete_folder, complete_profile, json_option, print_json, tell


@click.group(
    name="config",
    epilog="""\b
Examples:
  toolcrib config check
""",
)
def command() -> None:
    """Work with the configuration."""


@command.command(
    epilog="""\b
Examples:
  toolcrib config check
  toolcrib config check --workspace ~/src/app
  toolcrib config check --json
"""
)
@click.option(
    "--workspace",
    metavar="D",
    default=".",
    show_default=True,
    shell_complete=complete_folder,
    help="The folder whose toolcrib.toml is checked, beside the user's and the environment.",
)
@json_option
@click.option(
    "--profile",
    metavar="P",
    shell_complete=complete_profile,
    help="A profile that has to exist; all are checked.",
)
@click.pass_context
def check(ctx: click.Context, workspace: str, as_json: bool, profile: str | None) -> None:
    """Name every fault: unknown keys and tools, rules and patterns that can match nothing.

    A workspace that is not trusted is checked as if it were. Exit status 0 when there is nothing
    to say, 1 when there is, 2 when a file cannot be used.
    """
    from attrs import asdict

    from toolcrib.cli.checks import check_configuration

    root = Path(workspace).absolute()
    if not root.is_dir():
        raise click.BadParameter(f"{workspace!r} is not a folder", param_hint="--workspace")
    found = check_configuration(
        root, os.environ, autoload=ctx.obj.get("autoload", True), profile=profile
    )
    for remark in found.remarks:
        tell(f"note: {remark}")
    if as_json:
        print_json([asdict(notice) for notice in found.findings])
    else:
        for notice in found.findings:
            click.echo(str(notice))
        if not found.findings:
            tell("the configuration is fine")
    if found.findings:
        ctx.exit(2 if found.unusable else 1)
