"""The question whether a call may run: judged, asked about, or refused with the way out."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from toolcrib.contract.answers import BeforeAnswer, Veto
from toolcrib.contract.call import SessionView, ToolCall
from toolcrib.permissions.case import Case
from toolcrib.permissions.chain import judge
from toolcrib.permissions.policies import Judgement, denied_by_rule, says_so
from toolcrib.permissions.ruleset import RuleSet
from toolcrib.plugins.hook_calls import Implementation


def decide(
    call: ToolCall, session: SessionView, rules: RuleSet, checks: Sequence[Implementation]
) -> BeforeAnswer | Awaitable[BeforeAnswer]:
    """Let a call run, have it approved, or veto it; None lets it run."""
    case = Case(call, session, rules)
    if case.execution.withholds:
        call.withheld = case.withheld()
    if call.allowed_by is not None:
        allowed = Judgement(decision="allow", policy=call.allowed_by, source=call.allowed_by)
        return _act(case, denied_by_rule(case) or allowed)
    judgement = judge(case, checks)
    return _act(case, judgement) if isinstance(judgement, Judgement) else _later(case, judgement)


async def _later(case: Case, judgement: Awaitable[Judgement]) -> BeforeAnswer:
    answer = _act(case, await judgement)
    return answer if answer is None or isinstance(answer, Veto) else await answer


def _act(case: Case, judgement: Judgement) -> Veto | Awaitable[Veto | None] | None:
    if case.session.observed:
        _announce(case, judgement)
    if judgement.decision == "allow":
        return None
    if judgement.decision == "ask" and case.session.interactions.attended:
        from toolcrib.permissions.asking import ask

        return ask(case, judgement)
    if judgement.decision == "ask" and case.session.observed:
        _announce_nobody(case)
    return _veto(case, judgement)


def _announce(case: Case, judgement: Judgement) -> None:
    from toolcrib.contract.events import PermissionDecided
    from toolcrib.redaction import redacted

    call = case.call
    case.session.emit(
        PermissionDecided(
            agent=call.agent,
            turn_id=call.turn_id,
            call_id=call.id,
            name=call.name,
            mode=case.session.mode,
            decision=judgement.decision,
            policy=judgement.policy,
            rule=judgement.rule,
            source=judgement.source,
            reason=redacted(judgement.reason),
            arguments=redacted(call.arguments),
        )
    )


def _announce_nobody(case: Case) -> None:
    """A question that nobody can answer is answered: it is no."""
    from toolcrib.contract.events import ApprovalResolved
    from toolcrib.interactions import NOBODY

    call = case.call
    case.session.emit(
        ApprovalResolved(
            agent=call.agent,
            turn_id=call.turn_id,
            call_id=call.id,
            name=call.name,
            request_id=None,
            decision="cancelled",
            scope="once",
            by=None,
            cause=NOBODY,
            has_feedback=False,
            remembered=(),
            duration_ms=0.0,
        )
    )


def _veto(case: Case, judgement: Judgement) -> Veto:
    told = not judgement.reason or judgement.reason == says_so(judgement.rule or "")
    because = "" if told else f" ({judgement.reason})"
    fate = (
        f"was denied{_by(judgement)}{because}, so it was not run."
        if judgement.decision == "deny"
        else f"needs an approval{_by(judgement)}{because} and nobody can be asked here, so it was "
        "not run."
    )
    return Veto(f"{case.call.name} {fate} {_way_out(case, judgement)}")


def _by(judgement: Judgement) -> str:
    if judgement.rule:
        return f" by the permission rule {judgement.rule!r}"
    return f" by the plugin {judgement.source!r}" if judgement.source else ""


def _way_out(case: Case, judgement: Judgement) -> str:
    """What would let the call run: an allow rule does, unless a rule or a plugin decided."""
    if judgement.rule or judgement.source:
        what = "rule" if judgement.rule else "plugin"
        return f"Find another way, or ask the user about that {what}."
    if judgement.policy == "configuration-write-ask":
        return "Tell the user what to change there, and let them do it."
    if judgement.once:
        return (
            "Find a way without it; the user can turn the guard off with "
            "dangerous_command_guard = false under [permission] in toolcrib.toml."
        )
    from toolcrib.permissions.grants import grants

    rules = " and ".join(map(repr, grants(case)))
    if not rules or judgement.decision == "deny":
        return "The user can choose another mode, or do it."
    return (
        f"The user can allow it with {rules} under [permission] allow in toolcrib.toml, "
        "or choose another mode."
    )
