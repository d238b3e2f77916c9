"""What would be decided of a call, without running it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from toolcrib.agent import Agent
from toolcrib.contract.call import ToolCall
from toolcrib.errors import Notice
from toolcrib.permissions.case import Case
from toolcrib.permissions.chain import judge, with_overridden
from toolcrib.permissions.lint import lint_rules
from toolcrib.permissions.policies import Judgement
from toolcrib.pipeline.flight import Flight, drive
from toolcrib.pipeline.preflight import preflight
from toolcrib.pipeline.prepare import resolve


@frozen
class Part:
    """A command of a script, with what allows it; None when nothing does."""

    command: str
    allowed_by: str | None


async def explain_call(agent: Agent, call: Mapping[str, Any]) -> Judgement:
    """The decision on a call with `name` and `arguments`; a call that cannot run is denied."""
    return (await examine_call(agent, call))[0]


async def examine_call(agent: Agent, call: Mapping[str, Any]) -> tuple[Judgement, tuple[Part, ...]]:
    """The decision on a call, and what is thought of each command of a shell script."""
    session = agent.session
    flight = Flight(
        ToolCall(
            id="explain",
            name=str(call.get("name", "")),
            raw_arguments=call.get("arguments"),
            agent=agent.name,
            session=session,
        )
    )
    preflight(flight, agent)
    await drive(resolve(flight, agent))
    if flight.outcome is not None and flight.result is not None:
        reason = str(flight.result.output)
        return Judgement(decision="deny", policy=flight.outcome, reason=reason), ()
    case = Case(flight.call, session, session.permission_rules)
    judgement = judge(case, session.permission_checks(flight.call.name))
    if not isinstance(judgement, Judgement):
        judgement = await judgement
    return with_overridden(judgement, case), _parts(case)


def _parts(case: Case) -> tuple[Part, ...]:
    """Each command of the script, in order."""
    if case.analysis is None:
        return ()
    # What a stronger rule says of the script does not change what allow rules say of a command.
    allowed = (case.rules.own["allow"], case.session_rules)
    by_rule, by_approval = (case.allowance(a, only_in_root=a is allowed[1]) for a in allowed)
    return tuple(
        Part(
            command.source,
            case.allowing_rule(command)
            if by_rule.covers(command) or by_approval.covers(command)
            else None,
        )
        for command in case.analysis.commands
    )


def dead_rules(agent: Agent) -> tuple[Notice, ...]:
    """The rules in force that can never decide: unknown tools, wrong patterns, shadowed ones."""
    rules = agent.session.permission_rules
    return tuple(lint_rules(rules.rules, rules.domains, agent.session.workspace))
