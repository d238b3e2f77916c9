"""`toolcrib permissions`: what is approved and ruled, and how to take it back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolcrib.cli.common import (
    json_option,
    open_for,
    print_json,
    print_table,
    printable,
    profile_option,
    tell,
    workspace_option,
)
from toolcrib.config.folders import state_folder
from toolcrib.runtime import LOCAL

if TYPE_CHECKING:
    from toolcrib.approvals.persist import PersistentScope
    from toolcrib.approvals.table import Approval
    from toolcrib.config.permission import PermissionRule
    from toolcrib.session import Session

NOTHING_MATCHED = 1
"""Exit status when there was nothing to revoke, or it cannot be revoked."""


@click.group(
    epilog="""\b
Examples:
  toolcrib permissions list
  toolcrib permissions revoke 12
  toolcrib permissions revoke 'Bash(make test)'
"""
)
def command() -> None:
    """List what sessions and rules allow, and take it back."""


@command.command(
    "list",
    epilog="""\b
Examples:
  toolcrib permissions list
  toolcrib permissions list --workspace ~/src/app --json
""",
)
@workspace_option
@profile_option
@json_option
@click.pass_context
def list_(ctx: click.Context, workspace: str, profile: str | None, as_json: bool) -> None:
    """List the approvals of running sessions, and the rules in force in a workspace.

    An approval is listed with the id that revokes it, a rule with the place where it is written.
    """
    from toolcrib.approvals.table import living_approvals

    # The configured runtime may not work here, and has no part in this.
    session = open_for(ctx, workspace=workspace, profile=profile, runtime=LOCAL)
    approvals = living_approvals(_file())
    if as_json:
        rules = list(_rules_as_data(session))
        print_json({"approvals": [_approval_as_data(each) for each in approvals], "rules": rules})
        return
    print_table(
        ("id", "rule", "tool", "agent", "since", "session", "workspace"),
        (
            (str(a.id), a.rule, a.tool, a.agent, _time(a.since), a.session, a.workspace)
            for a in approvals
        ),
        "no running session has approvals",
    )
    print_table(
        ("decision", "rule", "from", "reason"),
        (
            (
                rule["decision"],
                rule["rule"],
                f"{rule['scope']} {rule['source']}",
                rule["reason"] or "",
            )
            for rule in _rules_as_data(session)
        ),
        "no rules are in force",
    )


@command.command(
    epilog="""\b
Examples:
  toolcrib permissions revoke 12
  toolcrib permissions revoke 'Bash(make test)'
  toolcrib permissions revoke --all --session 20260102-120000-0a1b2c3d
"""
)
@click.argument("target", metavar="[RULE|ID]", required=False)
@click.option("--session", metavar="S", help="Only approvals of this session.")
@click.option("--all", "everything", is_flag=True, help="Every approval of running sessions.")
@workspace_option
@click.pass_context
def revoke(
    ctx: click.Context, target: str | None, session: str | None, everything: bool, workspace: str
) -> None:
    """Take back an approval by its id, or approvals and allow rules by their rule.

    A rule is taken out of the user's and the workspace's toolcrib.toml, unless --session is given.
    Rules that ask or deny are not touched. Exit status 1 when nothing was found to revoke.
    """
    if (target is None) == (not everything):
        raise click.UsageError("give either a rule or an id, or --all")
    removed = 0
    for removal in _removals(target, session, workspace):
        click.echo(printable(removal))
        removed += 1
    if not removed:
        tell(_why_nothing(target, session, workspace))
        ctx.exit(NOTHING_MATCHED)


def _removals(target: str | None, session: str | None, workspace: str) -> Iterator[str]:
    """Take back what was asked for, and say what it was as soon as it is gone."""
    yield from _revoke_approvals(target, session)
    if target is not None and session is None:
        yield from _revoke_rules(target, workspace)


def _revoke_approvals(target: str | None, session: str | None) -> list[str]:
    from toolcrib.approvals.table import living_approvals, revoke_approvals

    chosen = [
        approval
        for approval in living_approvals(_file())
        if target in (None, str(approval.id), approval.rule) and session in (None, approval.session)
    ]
    if chosen:
        revoke_approvals(_file(), [approval.id for approval in chosen])
    return [f"revoked {a.rule} (approval {a.id}) in session {a.session}" for a in chosen]


def _revoke_rules(pattern: str, workspace: str) -> Iterator[str]:
    from toolcrib.approvals.persist import forget_rule

    root = Path(workspace).absolute()
    scopes: tuple[PersistentScope, ...] = ("user", "project")
    for scope in scopes:
        for place in forget_rule(pattern, scope=scope, workspace_root=root, environ=os.environ):
            yield f"removed allow {pattern} from {place}"


def _why_nothing(target: str | None, session: str | None, workspace: str) -> str:
    from toolcrib.config.load import load_settings

    if target is None or session is not None:
        whose = f"the session {session!r}" if session else "a running session"
        what = "approvals" if target is None else f"an approval {target!r}"
        return f"nothing was revoked: there is no sign that {whose} has {what}"
    settings = load_settings(workspace=Path(workspace).absolute(), environ=os.environ)
    in_profiles = (rule for profile in settings.profiles.values() for rule in profile.rules)
    for rule in (*settings.permission.rules, *in_profiles):
        if rule.pattern == target.strip():
            return (
                f"nothing was revoked: {rule.decision} {rule.pattern!r} at {rule.source} is not a "
                "rule that this command takes away; edit it there"
            )
    return (
        f"nothing was revoked: no running session and no toolcrib.toml allows {target!r} in these "
        "words; see 'toolcrib permissions list'"
    )


def _rules_as_data(session: Session) -> Iterator[dict[str, Any]]:
    for rule in session.permission_rules.rules:
        configured = rule in session.settings.permission.rules
        yield _rule_as_data(rule, None if configured else session.main.profile.name)


def _rule_as_data(rule: PermissionRule, profile: str | None) -> dict[str, Any]:
    return {
        "decision": rule.decision,
        "rule": rule.pattern,
        "source": rule.source,
        "scope": f"profile {profile}" if profile else rule.scope,
        "reason": rule.reason,
    }


def _approval_as_data(approval: Approval) -> dict[str, Any]:
    from attrs import asdict

    return {**asdict(approval), "since": _time(approval.since)}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def _file() -> Path:
    return state_folder(os.environ) / "approvals.db"
