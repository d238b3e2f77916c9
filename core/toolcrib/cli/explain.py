"""`toolcrib explain`: why a tool is there or not, and what would be decided of a call."""

from __future__ import annotations

import json
from typing import Any

import click

from toolcrib.cli.common import (
    json_option,
    mode_option,
    open_for,
    print_json,
    print_table,
    workspace_options,
)
from toolcrib.decisions import Decision


@click.command(
    epilog="""\b
Examples:
  toolcrib explain
  toolcrib explain Bash Grep
  toolcrib explain --call '{"name": "Bash", "arguments": {"command": "rm -r build"}}'
"""
)
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@workspace_options
@mode_option
@json_option
@click.option(
    "--call", "call", metavar="JSON", help="Say what would be decided of this call; runs nothing."
)
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    workspace: str,
    profile: str | None,
    mode: str | None,
    as_json: bool,
    call: str | None,
) -> None:
    """Say of every tool whether it is active, what decided that, and what would change it."""
    session = open_for(ctx, workspace=workspace, profile=profile, mode=mode)
    if call is not None:
        _explain_call(session, call, as_json)
        return
    session.tools()  # descriptions and schemas are made now, so a broken one shows
    decisions = [session.explain(name) for name in names] if names else session.decisions()
    if as_json:
        print_json([_plain(decision) for decision in decisions])
    else:
        print_table(
            ("tool", "plugin", "active", "filter", "reason", "remedy"),
            [_row(decision) for decision in decisions],
            "no plugin contributes a tool",
        )


def _plain(decision: Decision) -> dict[str, object]:
    return {
        "name": decision.name,
        "plugin": decision.plugin,
        "active": decision.active,
        "filter": decision.filter,
        "reason": decision.reason,
        "remedy": decision.remedy,
    }


def _row(decision: Decision) -> tuple[str, ...]:
    return (
        decision.name,
        decision.plugin,
        "yes" if decision.active else "no",
        decision.filter or "",
        decision.reason or "",
        decision.remedy or "",
    )


def _explain_call(session: Any, text: str, as_json: bool) -> None:
    import asyncio

    from attrs import asdict

    from toolcrib.explain import explain_call

    try:
        call = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--call") from None
    if not isinstance(call, dict) or "name" not in call:
        raise click.BadParameter('expected {"name": ..., "arguments": ...}', param_hint="--call")
    judgement = asyncio.run(explain_call(session.main, call))
    if as_json:
        print_json(asdict(judgement))
        return
    click.echo(f"decision: {judgement.decision}")
    for label in ("policy", "rule", "source", "reason"):
        if value := getattr(judgement, label):
            click.echo(f"{label}: {value}")
    for rule in judgement.overridden:
        click.echo(f"overridden: {rule}")
