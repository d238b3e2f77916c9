"""The plugin that asks the permission question before every call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib.contract.answers import BeforeAnswer
from toolcrib.contract.hooks import hookimpl

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from toolcrib.contract.call import ToolCall


@hookimpl(trylast=True, always=True)
def before_execute(call: ToolCall) -> BeforeAnswer | Awaitable[BeforeAnswer]:
    """Let a call run, have it approved, or veto it with the reason."""
    session, execution = call.session, call.execution
    assert session is not None and execution is not None
    rules, checks = session.permission_rules, session.permission_checks(call.name)
    if session.mode == "yolo" and not rules and not checks and not session.observed:
        accesses = execution.accesses
        if execution.analysis is None and (accesses is None or not accesses.items):
            return None
    # Imported here: a session that never judges a call does not need the policies.
    from toolcrib.permissions.question import decide

    return decide(call, session, rules, checks)
