"""Asks whoever hosts the session to approve a call, and remembers the answer."""

from __future__ import annotations

from time import perf_counter

from toolcrib.approvals.persist import offered_scopes, remember_rule
from toolcrib.contract.answers import Veto
from toolcrib.contract.display import GenericDisplay, without_secrets
from toolcrib.contract.events import ApprovalRequested, ApprovalResolved
from toolcrib.contract.interaction import ApprovalAnswer, ApprovalRequest, ApprovalScope
from toolcrib.errors import ToolcribError
from toolcrib.interactions import new_id
from toolcrib.permissions.approved import Approved
from toolcrib.permissions.case import Case
from toolcrib.permissions.grants import grants
from toolcrib.permissions.policies import Judgement
from toolcrib.permissions.ruleset import PATH_DOMAINS
from toolcrib.redaction import redacted, secret_values

_FOR_SUB_AGENTS = (
    " Choose another approach: do not repeat the call, and do not work around the refusal."
)


async def ask(case: Case, judgement: Judgement) -> Veto | None:
    """Let the call run when somebody approves it, and refuse it otherwise."""
    call, awaiting = case.call, case.session.awaiting
    approved = Approved.of(call)
    awaiting.add(approved)
    try:
        request = _request(case, judgement)
        _announce(case, request)
        started = perf_counter()
        answer = await case.session.interactions.request(request)
        assert isinstance(answer, ApprovalAnswer)
        veto = _refusal(case, approved, answer)
        written = () if veto is not None else _remember(case, request, answer.scope)
        if veto is None:
            call.approved = approved
    finally:
        if call.approved is not approved:
            awaiting.discard(approved)
    _announce_answer(case, request, answer, written, (perf_counter() - started) * 1000)
    return veto


def _request(case: Case, judgement: Judgement) -> ApprovalRequest:
    call, session = case.call, case.session
    arguments = redacted(call.arguments)
    rules = () if judgement.once else grants(case)
    if any(map(secret_values, rules)):  # a secret is not written down
        rules = ()
    scopes: tuple[ApprovalScope, ...] = ("once",)
    if rules:
        scopes = offered_scopes(session.workspace.root, session.environment)
    by_plugin = judgement.policy == judgement.source
    if by_plugin or judgement.policy in ("possible-deny-ask", "user-configured-ask"):
        # A written allow rule would not change the answer: who asks is stronger.
        scopes = tuple(scope for scope in scopes if scope in ("once", "session"))
    action = case.execution.description or f"approve {call.name}"
    return ApprovalRequest(
        id=new_id("approval"),
        session_id=session.id,
        agent=call.agent,
        turn_id=call.turn_id,
        call_id=call.id,
        tool=call.name,
        action=action,
        display=case.execution.display or GenericDisplay(summary=action, detail=arguments),
        policy=judgement.policy,
        reason=judgement.reason,
        arguments=arguments,
        rules=rules,
        scopes=scopes,
    )


def _refusal(case: Case, approved: Approved, answer: ApprovalAnswer) -> Veto | None:
    """What the model is told when the call must not run."""
    name = case.call.name
    if answer.decision == "approved":
        problem = approved.difference(case.call)
        return None if problem is None else Veto(problem)
    if answer.decision == "rejected":
        text = f"{name} was not run: the user rejected it."
    else:
        cause = f" ({answer.cause})" if answer.cause else ""
        text = f"{name} was not run: the request for an approval was cancelled{cause}."
    if answer.feedback and answer.feedback.strip():
        text += f" The user says: {answer.feedback.strip()}"
    return Veto(text if case.call.agent == "main" else text + _FOR_SUB_AGENTS)


def _remember(case: Case, request: ApprovalRequest, scope: ApprovalScope) -> tuple[str, ...]:
    """Have an approval hold for longer; returns where it was written for other sessions."""
    session = case.session
    if scope != "once":
        session.approvals.remember(
            request.rules,
            tool=request.tool,
            agent=request.agent,
            defined_as=case.execution.defined_as,
        )
    if scope == "once" or scope == "session":
        return ()
    written = []
    try:
        for rule in request.rules:
            place = remember_rule(
                rule,
                scope=scope,
                workspace_root=session.workspace.root,
                environ=session.environment,
                about_path=case.call.domain in PATH_DOMAINS,
            )
            written.append(place)
    except (OSError, ToolcribError) as error:
        # It holds for the session all the same; only what is for later could not be written.
        session.report("permissions", "remembering an approval", str(error))
    return tuple(written)


def _announce(case: Case, request: ApprovalRequest) -> None:
    if case.session.observed:
        case.session.emit(
            ApprovalRequested(
                agent=request.agent,
                turn_id=request.turn_id,
                call_id=request.call_id,
                name=request.tool,
                request_id=request.id,
                policy=request.policy,
                reason=redacted(request.reason),
                display=without_secrets(request.display),
                arguments=request.arguments,
            )
        )


def _announce_answer(
    case: Case,
    request: ApprovalRequest,
    answer: ApprovalAnswer,
    written: tuple[str, ...],
    duration_ms: float,
) -> None:
    lasts = answer.scope != "once"
    if case.session.observed:
        case.session.emit(
            ApprovalResolved(
                agent=request.agent,
                turn_id=request.turn_id,
                call_id=request.call_id,
                name=request.tool,
                request_id=request.id,
                decision=answer.decision,
                scope=answer.scope,
                by=answer.by,
                cause=answer.cause,
                has_feedback=bool(answer.feedback),
                remembered=request.rules if answer.decision == "approved" and lasts else (),
                written=written,
                duration_ms=duration_ms,
            )
        )
