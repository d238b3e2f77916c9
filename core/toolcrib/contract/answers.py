"""What hooks may answer: to `before_execute`, and to `check_permission`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from toolcrib.contract.result import ToolResult


def _as_error(result: ToolResult | str) -> ToolResult:
    return ToolResult.error(result) if isinstance(result, str) else result


@frozen
class Veto:
    """The call does not run; the model gets `result` instead, a text as an error."""

    result: ToolResult = field(converter=_as_error)


@frozen
class Allow:
    """The call runs without the permission question; deny rules and earlier vetoes still hold."""

    reason: str | None = None


@frozen
class Proceed:
    """No objection; `metadata` reaches the body as `ToolContext.metadata` (the first one wins)."""

    metadata: Mapping[str, Any] | None = None


@frozen
class Approve:
    """The call may run without asking anyone."""

    reason: str | None = None


@frozen
class Deny:
    """The call must not run; the model reads `reason`."""

    reason: str | None = None


@frozen
class Ask:
    """Somebody has to approve the call; without anybody to ask it is denied."""

    reason: str | None = None


BeforeAnswer = Veto | Allow | Proceed | None
PermissionAnswer = Approve | Deny | Ask | None
