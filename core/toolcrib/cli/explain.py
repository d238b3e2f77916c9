"""`toolcrib explain`: why a tool is there or not, and what would be decided of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from toolcrib.cli.calls import Call, read_calls
from toolcrib.cli.common import (
    complete_tool,
    json_option,
    mode_option,
    open_for,
    print_json,
    print_table,
    settle,
    tell,
    workspace_options,
)
from toolcrib.decisions import Decision

if TYPE_CHECKING:
    from toolcrib.session import Session


@click.command(
    epilog="""\b
Examples:
  toolcrib explain
  toolcrib explain Bash Grep
  toolcrib explain --call '{"name": "Bash", "arguments": {"command": "rm -r build"}}'
"""
)
@click.argument("names", nargs=-1, metavar="[NAME ...]", shell_complete=complete_tool)
@workspace_options
@mode_option
@json_option
@click.option(
    "--call",
    "call",
    metavar="JSON",
    help="Say what rules, plugins' checks and the mode decide on this call; runs nothing.",
)
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    workspace: str,
    profile: str | None,
    runtime: str | None,
    mode: str | None,
    as_json: bool,
    call: str | None,
) -> None:
    """Say of every tool whether it is active, what decided that, and what would change it."""
    if call is not None and names:
        raise click.UsageError("give names of tools or --call, not both")
    asked = None if call is None else _read_call(call)
    session = open_for(ctx, workspace=workspace, profile=profile, runtime=runtime, mode=mode)
    settle(session)
    if asked is not None:
        _explain_call(session, asked, as_json)
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


def _read_call(text: str) -> Call:
    """The one call, in any of the shapes that `toolcrib run` reads."""
    batches = read_calls(text.encode("utf-8", "surrogateescape"), "--call")
    calls = [call for batch in batches for call in batch]
    if len(calls) != 1:
        raise click.BadParameter(f"expected one call, not {len(calls)}", param_hint="--call")
    return calls[0]


def _explain_call(session: Session, call: Call, as_json: bool) -> None:
    import asyncio

    from attrs import asdict

    from toolcrib.explain import dead_rules, examine_call

    judgement, parts = asyncio.run(examine_call(session.main, call))
    dead = [str(notice) for notice in dead_rules(session.main)]
    if as_json:
        print_json({name: value for name, value in asdict(judgement).items() if name != "once"})
        for notice in dead:
            tell(f"dead rule: {notice}")
        return
    lines = [f"decision: {judgement.decision}"]
    for label in ("policy", "rule", "source", "reason"):
        if value := getattr(judgement, label):
            lines.append(f"{label}: {value}")
    if len(parts) > 1:
        lines += [
            f"command: {part.command!r}: {part.allowed_by or 'no rule allows it'}" for part in parts
        ]
    lines += [f"overridden: {rule}" for rule in judgement.overridden]
    lines += [f"dead rule: {notice}" for notice in dead]
    click.echo("\n".join(lines).encode("utf-8", "backslashreplace"))
