"""Questions to whoever hosts a session, and their answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from attrs import field, frozen

if TYPE_CHECKING:
    from toolcrib.contract.display import Display
    from toolcrib.contract.result import ContentPart

InteractionKind = Literal["approval", "question", "plan_review", "user_tool"]
ApprovalScope = Literal["once", "session", "project", "user"]
"""How long an approval holds: this call, this session, always in this workspace, always."""


@frozen(kw_only=True)
class ApprovalRequest:
    """May this call run?

    Attributes:
        tool: its name.
        action: what it would do, in a line for people.
        display: what it would do, in full.
        arguments: as the call has them, without secrets.
        policy: the name of the policy that asks.
        reason: why it asks, such as the command that no rule covers.
        rules: the allow rules that an answer for more than once writes down; empty when the call
            can only be approved once.
        scopes: the answers that make sense, `once` first.
    """

    kind: ClassVar[InteractionKind] = "approval"
    id: str
    session_id: str
    agent: str
    turn_id: str | None
    call_id: str
    tool: str
    action: str
    display: Display
    policy: str
    reason: str | None = None
    arguments: Mapping[str, Any] = field(factory=dict, repr=False)
    rules: tuple[str, ...] = ()
    scopes: tuple[ApprovalScope, ...] = ("once",)


@frozen(kw_only=True)
class ApprovalAnswer:
    """What became of an approval request.

    Attributes:
        decision: `cancelled` when nobody answered: an interrupt, the end of the turn, a timeout.
        scope: how long the approval holds.
        feedback: words for the model, with a rejection mostly.
        by: who or what answered, for the audit.
        cause: why it was cancelled.
    """

    decision: Literal["approved", "rejected", "cancelled"]
    scope: ApprovalScope = "once"
    feedback: str | None = None
    by: str | None = None
    cause: str | None = None


@frozen(kw_only=True)
class QuestionOption:
    """One of the answers offered with a question."""

    label: str
    description: str = ""


@frozen(kw_only=True)
class Question:
    """One question, with up to a handful of answers to choose from; any other text is welcome."""

    question: str
    header: str = ""
    options: tuple[QuestionOption, ...] = ()
    multi_select: bool = False


@frozen(kw_only=True)
class QuestionRequest:
    """Questions of a tool to the user."""

    kind: ClassVar[InteractionKind] = "question"
    id: str
    agent: str
    turn_id: str | None
    call_id: str | None = None
    questions: tuple[Question, ...] = ()


@frozen(kw_only=True)
class QuestionAnswer:
    """The answers by question text; None when the user dismissed them, `cause` says why else."""

    answers: Mapping[str, str] | None
    cause: str | None = None


@frozen(kw_only=True)
class PlanReviewRequest:
    """A plan to be approved before the agent carries it out; `options` are ways to choose from."""

    kind: ClassVar[InteractionKind] = "plan_review"
    id: str
    agent: str
    turn_id: str | None
    call_id: str | None = None
    plan: str
    path: str | None = None
    options: tuple[QuestionOption, ...] = ()


@frozen(kw_only=True)
class PlanReviewAnswer:
    """What became of a plan; `selected` is the label of the chosen option."""

    decision: Literal["approved", "revise", "rejected", "rejected_and_exited", "cancelled"]
    selected: str | None = None
    feedback: str | None = None
    cause: str | None = None


@frozen(kw_only=True)
class UserToolRequest:
    """A call of a tool that the host itself carries out.

    `owner` is who registered the tool, when that was said; `arguments` fit its schema.
    """

    kind: ClassVar[InteractionKind] = "user_tool"
    id: str
    agent: str
    turn_id: str | None
    call_id: str
    tool: str
    arguments: Mapping[str, Any] = field(factory=dict, repr=False)
    owner: str | None = None


@frozen(kw_only=True)
class UserToolAnswer:
    """The result of the host's tool, with the meaning that `ToolResult` gives each part."""

    output: str | tuple[ContentPart, ...]
    is_error: bool = False
    stop_turn: bool = False
    note: str | None = None


Request = ApprovalRequest | QuestionRequest | PlanReviewRequest | UserToolRequest
Answer = ApprovalAnswer | QuestionAnswer | PlanReviewAnswer | UserToolAnswer
InteractionHandler = Callable[[Request], Awaitable[Answer]]
"""What a host gives `open_session(interact=...)`: it answers each request, whatever kind it is."""
