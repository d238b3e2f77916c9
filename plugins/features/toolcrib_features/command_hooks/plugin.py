"""Asks the user's commands before calls, and tells them of calls that have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib import Feature, hookimpl

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from toolcrib import Approve, Ask, Outcome, ToolCall, Veto
    from toolcrib_features.command_hooks.settings import HookEvent


def _judged(session: object, tool: str) -> bool:
    return _any(session, tool, "PreToolUse")


def _judged_or_told_of(session: object, tool: str) -> bool:
    return _any(session, tool, "PreToolUse", "PostToolUse", "PostToolUseFailure")


def _any(session: object, tool: str, *events: HookEvent) -> bool:
    from toolcrib_features.command_hooks.session_hooks import hooks_of

    own = hooks_of(session)
    return any(own.matching(event, tool) for event in events)


@hookimpl
def contribute_feature() -> Feature:
    return Feature(
        name="command-hooks",
        description="Commands of the user's own judge calls and hear of them ([[hooks]]).",
        surface="refusals and notes that come from those commands",
        needs="hooks",
        plugins=("feature-command-hooks",),
        settings={"hooks": "toolcrib_features.command_hooks.settings:CommandHook"},
    )


# As late as can be, so that what the commands see is what runs; and whoever allowed the call.
@hookimpl(trylast=True, always=True, tools=_judged)
def before_execute(call: ToolCall) -> Awaitable[Veto | None] | None:
    from toolcrib_features.command_hooks.around import before

    return before(call)


# An answer counts like a rule of the user's: behind their ask rules, in front of their allow rules.
@hookimpl(before="user-configured-allow", tools=_judged)
def check_permission(call: ToolCall) -> Approve | Ask | None:
    from toolcrib_features.command_hooks.around import opinion

    return opinion(call)


@hookimpl(trylast=True, tools=_judged_or_told_of)
def did_execute(call: ToolCall, outcome: Outcome) -> None:
    from toolcrib_features.command_hooks.around import after

    after(call, outcome)
