"""The plugin that asks the permission question before every call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib.contract.answers import BeforeAnswer, Veto
from toolcrib.contract.hooks import hookimpl

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from toolcrib.contract.call import SessionView, ToolCall
    from toolcrib.permissions.chain import Judgement


@hookimpl(trylast=True, always=True)
def before_execute(call: ToolCall) -> BeforeAnswer | Awaitable[BeforeAnswer]:
    """Let a call run, or veto it with the reason."""
    session, execution = call.session, call.execution
    assert session is not None and execution is not None
    rules, checks = session.permission_rules, session.permission_checks
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
        return _judged(call, session)
    return _answer(call, chain.judge_alone(call, session, rules))


async def _judged(call: ToolCall, session: SessionView) -> BeforeAnswer:
    from toolcrib.permissions.chain import judge

    return _answer(
        call, await judge(call, session, session.permission_rules, session.permission_checks)
    )


def _answer(call: ToolCall, judgement: Judgement) -> BeforeAnswer:
    return None if judgement.decision == "allow" else _veto(call, judgement)


def _veto(call: ToolCall, judgement: Judgement) -> Veto:
    because = f" ({judgement.reason})" if judgement.reason else ""
    rule = f" by the permission rule {judgement.rule!r}" if judgement.rule else ""
    if judgement.decision == "deny":
        return Veto(
            f"{call.name} was denied{rule}{because}. It was not run; find another way or ask the "
            "user to change the rule."
        )
    return Veto(
        f"{call.name} needs an approval{rule}{because} and nobody can be asked here, so it was "
        "not run. The user can allow it with a rule such as "
        f"{call.execution.approval_rule if call.execution else call.name!r} under "
        "[permission] allow in toolcrib.toml, or with another mode."
    )
