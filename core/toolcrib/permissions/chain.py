"""Asks the policies and the plugins about a call, one after the other, until one decides."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Iterator, Sequence
from itertools import takewhile
from typing import get_args

from attrs import evolve

from toolcrib.contract.answers import Approve, Ask, Deny, PermissionAnswer
from toolcrib.contract.hooks import PolicyName
from toolcrib.permissions.case import Case
from toolcrib.permissions.policies import (
    POLICIES,
    Answer,
    Judgement,
    Policy,
    Verdict,
    possible_deny,
)
from toolcrib.plugins.hook_calls import Implementation, discard
from toolcrib.plugins.loader import describe

_FIRST: tuple[PolicyName, ...] = ("auto-mode-ask-user-question-deny", "user-configured-deny")
"""Nothing goes in front of these."""
_UNREMEMBERED = frozenset(takewhile(lambda name: name != "session-approval-history", POLICIES))
"""Those in front of the approvals of the session."""


def judge(
    case: Case, implementations: Sequence[Implementation] = ()
) -> Judgement | Awaitable[Judgement]:
    """Decide on a call: the first policy or plugin with an opinion does.

    Deny rules come first and nothing overrides them. A plugin's `check_permission` stands where
    its `before` or `after` puts it, else right behind the deny rules. Whoever raises, denies. The
    answer is awaitable when a policy or plugin has to wait for something.
    """
    steps = iter(_in_order(implementations) if implementations else POLICIES.values())
    return _go_on(steps, case)


def _go_on(steps: Iterator[Policy], case: Case) -> Judgement | Awaitable[Judgement]:
    for step in steps:
        answer = step(case)
        if type(answer) is Judgement:
            return answer
        if answer is not None:
            return _wait_for(answer, steps, case)  # type: ignore[arg-type]
    raise AssertionError("the last policy decides every call")


async def _wait_for(awaited: Awaitable[Answer], steps: Iterator[Policy], case: Case) -> Judgement:
    answer = await awaited
    while answer is None:
        rest = _go_on(steps, case)
        if isinstance(rest, Judgement):
            return rest
        answer = await rest
    return answer


def with_overridden(judgement: Judgement, case: Case) -> Judgement:
    """The judgement with the rules that spoke of the call too, and lost."""
    # A deny rule that may be meant is asked about: its decision is not that of the judgement.
    decided = "deny" if judgement.policy == "possible-deny-ask" else judgement.decision
    deciding = (decided, judgement.rule, judgement.source)
    # Of a script, several allow rules decide together.
    together = case.analysis is not None and judgement.policy == "user-configured-allow"
    others = tuple(
        f"{rule.rule.decision} {rule.rule.pattern} ({rule.rule.source})"
        for decision in get_args(Verdict)
        if not (together and decision == "allow")
        for rule, _ in case.speaking(decision)
        if (rule.rule.decision, rule.rule.pattern, rule.rule.source) != deciding
    )
    return evolve(judgement, overridden=others)


def _in_order(implementations: Sequence[Implementation]) -> list[Policy]:
    """The policies and the plugins, in the order in which they are asked."""
    before: dict[str, list[Policy]] = {name: [] for name in POLICIES}
    after: dict[str, list[Policy]] = {name: [] for name in POLICIES}
    for each in implementations:
        if each.before in before and each.before not in _FIRST:
            place, side = each.before, before
        else:
            place = each.after if each.after in after and each.after not in _FIRST else _FIRST[-1]
            side = after
        # What was approved for the session is looked up behind these, so it would answer none.
        once = place in _UNREMEMBERED or (place == "session-approval-history" and side is before)
        side[place].append(_plugin(each, once=once))
    steps: list[Policy] = []
    for name, policy in POLICIES.items():
        steps += [*before[name], policy, *after[name]]
    return steps


def _plugin(implementation: Implementation, *, once: bool) -> Policy:
    """A plugin's `check_permission` as a policy; no approval of it overrides a deny rule."""

    def ask(case: Case) -> Answer | Awaitable[Answer]:
        try:
            answer = implementation.function(case.call)
            if inspect.isawaitable(answer):
                return wait(answer, case)
            opinion = _opinion(answer, implementation, once=once)
        except (Exception, SystemExit, GeneratorExit) as error:
            return _failed(error, implementation, case)
        return _within_deny_rules(opinion, case)

    async def wait(awaited: Awaitable[PermissionAnswer], case: Case) -> Answer:
        try:
            opinion = _opinion(await awaited, implementation, once=once)
        except (Exception, SystemExit) as error:
            return _failed(error, implementation, case)
        return _within_deny_rules(opinion, case)

    return ask


def _within_deny_rules(opinion: Answer, case: Case) -> Answer:
    if opinion is not None and opinion.decision == "allow":
        return possible_deny(case) or opinion
    return opinion


def _opinion(answer: object, implementation: Implementation, *, once: bool) -> Answer:
    match answer:
        case None:
            return None
        case Approve(reason):
            decision: Verdict = "allow"
        case Ask(reason):
            decision = "ask"
        case Deny(reason):
            decision = "deny"
        case _:
            discard(answer)
            raise TypeError(f"it answered {answer!r}, not Approve, Deny, Ask or None")
    name = implementation.plugin
    return Judgement(decision=decision, policy=name, source=name, reason=reason, once=once)


def _failed(error: BaseException, implementation: Implementation, case: Case) -> Judgement:
    name = implementation.plugin
    case.session.report(name, "check_permission", describe(error))
    reason = f"it failed while judging the call: {describe(error)}"
    return Judgement(decision="deny", policy=name, source=name, reason=reason)
