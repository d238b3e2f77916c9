"""The policies that judge a call, one after the other, until one decides."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Literal

from attrs import evolve, frozen

from toolcrib.accesses import FileAccess
from toolcrib.config.permission import PermissionRule
from toolcrib.contract.answers import Approve, Ask, Deny, PermissionAnswer
from toolcrib.contract.call import SessionView, ToolCall
from toolcrib.contract.hooks import PolicyName
from toolcrib.paths import is_secret_store, is_sensitive_file
from toolcrib.permissions.rules import matching
from toolcrib.plugins.hook_calls import Implementation, discard
from toolcrib.plugins.loader import describe

Verdict = Literal["allow", "ask", "deny"]


@frozen(kw_only=True)
class Judgement:
    """What was decided of a call, by which policy, and what else spoke of it.

    `rule` is the pattern of the rule that decided and `source` its `file:line`, or the name of
    the plugin whose policy decided. `overridden` names the rules that matched too and lost.
    """

    decision: Verdict
    policy: str
    rule: str | None = None
    source: str | None = None
    reason: str | None = None
    overridden: tuple[str, ...] = ()


@frozen
class _Case:
    call: ToolCall
    session: SessionView
    rules: tuple[PermissionRule, ...]


Policy = Callable[[_Case], Judgement | None]


async def judge(
    call: ToolCall,
    session: SessionView,
    rules: Sequence[PermissionRule],
    implementations: Sequence[Implementation] = (),
) -> Judgement:
    """Decide on a call: the first policy or plugin with an opinion does.

    Deny rules come first and nothing overrides them. A plugin's `check_permission` stands where
    its `before` or `after` puts it, else right behind the deny rules. Whoever raises, denies.
    """
    case = _Case(call, session, tuple(matching(call, rules)))
    for step in _in_order(implementations):
        if isinstance(step, Implementation):
            judgement = await _asked(step, case)
        else:
            judgement = step(case)
        if judgement is not None:
            return _beside_rules(judgement, case)
    raise AssertionError("the last policy decides every call")


def judge_alone(call: ToolCall, session: SessionView, rules: Sequence[PermissionRule]) -> Judgement:
    """Decide on a call when no plugin has an opinion."""
    case = _Case(call, session, tuple(matching(call, rules)))
    judgements = (policy(case) for policy in _POLICIES.values())
    return _beside_rules(next(filter(None, judgements)), case)


def _in_order(implementations: Sequence[Implementation]) -> list[Policy | Implementation]:
    """The policies and the plugins, in the order in which they are asked."""
    before: dict[str, list[Implementation]] = {name: [] for name in _POLICIES}
    after: dict[str, list[Implementation]] = {name: [] for name in _POLICIES}
    for each in implementations:
        if each.before in before and each.before != "user-configured-deny":
            before[each.before].append(each)
        else:
            place = each.after if each.after in after else "user-configured-deny"
            after[place].append(each)
    steps: list[Policy | Implementation] = []
    for name, policy in _POLICIES.items():
        steps += [*before[name], policy, *after[name]]
    return steps


def _beside_rules(judgement: Judgement, case: _Case) -> Judgement:
    """The judgement with the rules that matched too."""
    deciding = (judgement.decision, judgement.rule, judgement.source)
    others = tuple(
        f"{rule.decision} {rule.pattern} ({rule.source})"
        for rule in case.rules
        if (rule.decision, rule.pattern, rule.source) != deciding
    )
    return evolve(judgement, overridden=others) if others else judgement


def denied_by_rule(
    call: ToolCall, session: SessionView, rules: Sequence[PermissionRule]
) -> Judgement | None:
    """The deny rule that forbids a call, or None."""
    return _deny_rules(_Case(call, session, tuple(matching(call, rules))))


def _deny_rules(case: _Case) -> Judgement | None:
    return _by_rule(case, "deny", "user-configured-deny")


def _by_rule(case: _Case, decision: Verdict, policy: str) -> Judgement | None:
    deciding = next((rule for rule in case.rules if rule.decision == decision), None)
    if deciding is None:
        return None
    return Judgement(
        decision=decision,
        policy=policy,
        rule=deciding.pattern,
        source=deciding.source,
        reason=deciding.reason or f"the rule {deciding.pattern!r} says so",
    )


async def _asked(implementation: Implementation, case: _Case) -> Judgement | None:
    name = implementation.plugin
    try:
        answer: PermissionAnswer = implementation.function(case.call)
        if inspect.isawaitable(answer):
            answer = await answer
        if not isinstance(answer, Approve | Ask | Deny | None):
            discard(answer)
            raise TypeError(f"it answered {answer!r}, not Approve, Deny, Ask or None")
    except (Exception, SystemExit) as error:
        case.session.report(name, "check_permission", describe(error))
        answer = Deny(f"it failed while judging the call: {describe(error)}")
    match answer:
        case None:
            return None
        case Approve(reason):
            decision: Verdict = "allow"
        case Ask(reason):
            decision = "ask"
        case Deny(reason):
            decision = "deny"
    return Judgement(decision=decision, policy=name, source=name, reason=reason)


def _auto_mode(case: _Case) -> Judgement | None:
    if case.session.mode != "auto":
        return None
    secret = _secret(case) if case.session.settings.permission.auto_respects_ask else None
    if secret and not any(rule.decision == "allow" for rule in case.rules):
        return Judgement(
            decision="deny",
            policy="auto-mode-secret-deny",
            reason=f"{secret} may hold secrets and nobody can be asked in mode 'auto'",
        )
    return Judgement(decision="allow", policy="auto-mode-approve", reason="mode 'auto'")


def _ask_rules(case: _Case) -> Judgement | None:
    return _by_rule(case, "ask", "user-configured-ask")


def _allow_rules(case: _Case) -> Judgement | None:
    return _by_rule(case, "allow", "user-configured-allow")


def _sensitive_file(case: _Case) -> Judgement | None:
    secret = _secret(case)
    if secret is None:
        return None
    reason = f"{secret} may hold secrets"
    return Judgement(decision="ask", policy="sensitive-file-access-ask", reason=reason)


def _yolo_mode(case: _Case) -> Judgement | None:
    if case.session.mode != "yolo":
        return None
    return Judgement(decision="allow", policy="yolo-mode-approve", reason="mode 'yolo'")


def _reads_only(case: _Case) -> Judgement | None:
    """A builtin tool that declares what it touches, and writes none of it."""
    accesses = case.call.execution.accesses if case.call.execution else None
    if case.call.source != "builtin" or accesses is None or accesses.everything:
        return None
    if accesses.written_paths():
        return None
    return Judgement(decision="allow", policy="default-tool-approve", reason="it only reads")


def _fallback(case: _Case) -> Judgement:
    return Judgement(decision="ask", policy="fallback-ask", reason="nothing allows it beforehand")


_POLICIES: dict[PolicyName, Policy] = {
    "user-configured-deny": _deny_rules,
    "auto-mode-approve": _auto_mode,
    "user-configured-ask": _ask_rules,
    "user-configured-allow": _allow_rules,
    "sensitive-file-access-ask": _sensitive_file,
    "yolo-mode-approve": _yolo_mode,
    "default-tool-approve": _reads_only,
    "fallback-ask": _fallback,
}


def _secret(case: _Case) -> str | None:
    accesses = case.call.execution.accesses if case.call.execution else None
    for item in accesses.items if accesses else ():
        if isinstance(item, FileAccess) and (
            is_sensitive_file(item.path) or is_secret_store(item.path)
        ):
            return item.path
    return None
