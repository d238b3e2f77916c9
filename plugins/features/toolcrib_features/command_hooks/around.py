"""Around one call: asks hooks before it, brings their opinion in, tells hooks of its end."""

from __future__ import annotations

from collections.abc import Awaitable

from attrs import evolve

from toolcrib import Approve, Ask, Outcome, PermissionDecided, ToolCall, Veto, redacted
from toolcrib_features.command_hooks.answers import HookAnswer, read_answer
from toolcrib_features.command_hooks.payload import call_payload, ended_payload
from toolcrib_features.command_hooks.session_hooks import (
    Hook,
    SessionHooks,
    Verdict,
    hooks_of,
)

POLICY = "command-hook"
_STRENGTH = {"deny": 3, "ask": 2, "allow": 1, None: 0}


def before(call: ToolCall) -> Awaitable[Veto | None] | None:
    """Ask the hooks that the call is for; None when there are none."""
    own = hooks_of(call.session)
    hooks = own.matching("PreToolUse", call.name)
    return _ask(call, own, hooks) if hooks else None


def opinion(call: ToolCall) -> Approve | Ask | None:
    """What the hooks that were asked before bring to the permission question."""
    verdict = hooks_of(call.session).verdict(call)
    match verdict.answer.decision if verdict else None:
        case "allow":
            return Approve(_because(verdict))
        case "ask":
            return Ask(_because(verdict))
    return None


def after(call: ToolCall, outcome: Outcome) -> None:
    """Add what hooks had to say to the result, and start those that are told of the end."""
    own = hooks_of(call.session)
    verdict = own.forget(call)
    if verdict is not None and verdict.notes:
        note = "\n".join(filter(None, (outcome.result.note, *verdict.notes)))
        outcome.result = evolve(outcome.result, note=note)
    if outcome.kind not in ("executed", "aborted"):
        return
    failed = outcome.kind == "aborted" or outcome.result.is_error
    event = "PostToolUseFailure" if failed else "PostToolUse"
    if hooks := own.matching(event, call.name):
        own.tell(hooks, ended_payload(event, call, outcome))


async def _ask(call: ToolCall, own: SessionHooks, hooks: tuple[Hook, ...]) -> Veto | None:
    payload = call_payload("PreToolUse", call)
    answers = [read_answer(ran) for ran in await own.run(hooks, payload)]
    for hook, answer in zip(hooks, answers, strict=True):
        if answer.fault is not None:
            own.report(hook, payload, answer.fault)
    verdict = _together(hooks, answers)
    assert call.session is not None
    match verdict.answer.decision:
        case "deny":
            return _veto(call, verdict)
        case "ask" if call.session.mode == "auto":
            return _veto(call, verdict, "and nobody can be asked in mode 'auto'")
        case "ask":
            call.allowed_by = None  # the question that it would skip has to be asked now
    own.remember(call, verdict)
    return None


def _together(hooks: tuple[Hook, ...], answers: list[HookAnswer]) -> Verdict:
    """Deny beats ask beats allow; of equal ones the first in the configuration counts."""
    taken = [_with_fault(hook, answer) for hook, answer in zip(hooks, answers, strict=True)]
    first = max(range(len(taken)), key=lambda index: _STRENGTH[taken[index].decision])
    notes = tuple(
        f"The hook {hook} says: {answer.context}"
        for hook, answer in zip(hooks, taken, strict=True)
        if answer.context
    )
    return Verdict(hooks[first], taken[first], notes)


def _with_fault(hook: Hook, answer: HookAnswer) -> HookAnswer:
    """What counts instead of the answer of a hook that does not work."""
    wanted = hook.settings.on_error or "deny"
    if answer.fault is None or wanted == "allow":
        return answer
    return evolve(answer, decision=wanted)


def _because(verdict: Verdict | None) -> str | None:
    if verdict is None:
        return None
    answer = verdict.answer
    if answer.fault is not None:
        return f"the hook {verdict.hook} {answer.fault}"
    said = f": {answer.reason}" if answer.reason else ""
    return f"the hook {verdict.hook} says {answer.decision!r}{said}"


def _veto(call: ToolCall, verdict: Verdict, why: str = "") -> Veto:
    reason = " ".join(filter(None, (_because(verdict), why)))
    _announce(call, verdict, reason)
    if verdict.answer.fault is not None:
        way_out = (
            "Nothing runs while the hook that guards it does not work: tell the user, who can mend "
            "it, or set its on_error."
        )
    else:
        way_out = "Find another way, or ask the user about that hook."
    return Veto(f"{call.name} was not run: {reason.rstrip('.')}. {way_out}")


def _announce(call: ToolCall, verdict: Verdict, reason: str) -> None:
    session = call.session
    if session is not None and session.observed:
        session.emit(
            PermissionDecided(
                agent=call.agent,
                turn_id=call.turn_id,
                call_id=call.id,
                name=call.name,
                mode=session.mode,
                decision="deny",
                policy=POLICY,
                source=verdict.hook.place,
                reason=reason,
                arguments=redacted(call.arguments),
            )
        )
