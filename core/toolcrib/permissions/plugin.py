"""The plugin that asks the permission question before every call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib.contract.answers import BeforeAnswer, Veto
from toolcrib.contract.hooks import hookimpl

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from toolcrib.contract.call import SessionView, ToolCall
    from toolcrib.permissions.chain import Judgement
    from toolcrib.plugins.hook_calls import Implementation


@hookimpl(trylast=True, always=True)
def before_execute(call: ToolCall) -> BeforeAnswer | Awaitable[BeforeAnswer]:
    """Let a call run, or veto it with the reason."""
    session, execution = call.session, call.execution
    assert session is not None and execution is not None
    rules, checks = session.permission_rules, session.permission_checks(call.name)
    if session.mode == "yolo" and not rules and not checks:
        accesses = execution.accesses
        if accesses is None or not accesses.items:
            return None
    # Imported here: a session that never judges a call does not need the chain.
    from toolcrib.permissions import chain

    if call.allowed_by is not None:
        denied = chain.denied_by_rule(call, session, rules)
        return None if denied is None else _veto(call, denied)
    if checks:
        return _judged(call, session, checks)
    return _answer(call, chain.judge_alone(call, session, rules))


async def _judged(
    call: ToolCall, session: SessionView, checks: Sequence[Implementation]
) -> BeforeAnswer:
    from toolcrib.permissions.chain import judge

    return _answer(call, await judge(call, session, session.permission_rules, checks))


def _answer(call: ToolCall, judgement: Judgement) -> BeforeAnswer:
    return None if judgement.decision == "allow" else _veto(call, judgement)


def _veto(call: ToolCall, judgement: Judgement) -> Veto:
    because = f" ({judgement.reason})" if judgement.reason else ""
    fate = (
        f"was denied{_by(judgement)}{because}, so it was not run."
        if judgement.decision == "deny"
        else f"needs an approval{_by(judgement)}{because} and nobody can be asked here, so it was "
        "not run."
    )
    return Veto(f"{call.name} {fate} {_way_out(call, judgement)}")


def _by(judgement: Judgement) -> str:
    if judgement.rule:
        return f" by the permission rule {judgement.rule!r}"
    return f" by the plugin {judgement.source!r}" if judgement.source else ""


def _way_out(call: ToolCall, judgement: Judgement) -> str:
    """What would let the call run: an allow rule does, unless a rule or a plugin decided."""
    if judgement.rule or judgement.source:
        what = "rule" if judgement.rule else "plugin"
        return f"Find another way, or ask the user about that {what}."
    assert call.execution is not None
    return (
        f"The user can allow it with the rule {call.execution.approval_rule!r} under "
        "[permission] allow in toolcrib.toml, or choose another mode."
    )
