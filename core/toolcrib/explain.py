"""What would be decided of a call, without running it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolcrib.agent import Agent
from toolcrib.contract.call import ToolCall
from toolcrib.permissions.case import Case
from toolcrib.permissions.chain import Judgement, judge, with_overridden
from toolcrib.pipeline.flight import Flight, drive
from toolcrib.pipeline.preflight import preflight
from toolcrib.pipeline.prepare import resolve


async def explain_call(agent: Agent, call: Mapping[str, Any]) -> Judgement:
    """The decision on a call with `name` and `arguments`; a call that cannot run is denied."""
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
        return Judgement(decision="deny", policy=flight.outcome, reason=str(flight.result.output))
    case = Case(flight.call, session, session.permission_rules)
    judgement = judge(case, session.permission_checks(flight.call.name))
    if not isinstance(judgement, Judgement):
        judgement = await judgement
    return with_overridden(judgement, case)
