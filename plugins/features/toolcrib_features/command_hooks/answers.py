"""What a command that ran before a call says about it."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from typing import Any, Literal

from attrs import frozen

from toolcrib import redacted
from toolcrib_features.command_hooks.process import Ran

MAX_TEXT = 4_000
"""Characters of a reason or a context."""
BLOCKS = 2
_SHELL_CODES = {126: "its file cannot be executed", 127: "there is no such command"}

Decision = Literal["allow", "ask", "deny"]


@frozen(kw_only=True)
class HookAnswer:
    """The opinion of one hook, if any; with a `fault` it could not form one."""

    decision: Decision | None = None
    reason: str | None = None
    context: str | None = None
    fault: str | None = None


def read_answer(ran: Ran) -> HookAnswer:
    """The opinion: exit code 2 denies, 0 says what standard output says, all else is a fault."""
    if ran.failure is None and ran.returncode == BLOCKS:
        return HookAnswer(decision="deny", reason=_text(ran.stderr))
    fault = fault_of(ran)
    if fault is not None:
        return HookAnswer(fault=fault)
    said = ran.stdout.strip()
    return _read_json(said) if said.startswith("{") else HookAnswer()


def fault_of(ran: Ran) -> str | None:
    """Why the command did not work, in words that go on from its name; None when it did."""
    if ran.failure is not None:
        return ran.failure
    code = ran.returncode
    if code == 0:
        return None
    if code is None:
        return "could not be ended"
    if code < 0:
        return f"was killed by {_signal_name(-code)}"
    meaning = f" ({_SHELL_CODES[code]})" if code in _SHELL_CODES else ""
    words = (_text(ran.stderr) or "").splitlines()
    return f"failed with exit code {code}{meaning}" + (f": {words[-1][:200]}" if words else "")


def _read_json(said: str) -> HookAnswer:
    try:
        answer = json.loads(said)
    except (ValueError, RecursionError) as error:
        return HookAnswer(fault=f"wrote JSON that cannot be read ({error})")
    if "decision" in answer or answer.get("continue") is False:
        return HookAnswer(
            fault="answered with 'decision' or 'continue'; the answer is "
            "hookSpecificOutput.permissionDecision"
        )
    specific = answer.get("hookSpecificOutput", {})
    if not isinstance(specific, Mapping):
        return HookAnswer(fault=f"gave hookSpecificOutput {specific!r:.80}, no object")
    if specific.get("updatedInput") is not None:
        # To run the call as it was would not be what the hook has agreed to.
        return HookAnswer(fault="wants to change the arguments (updatedInput); no hook can")
    decision: Any = specific.get("permissionDecision")
    if decision not in (None, "allow", "ask", "deny"):
        return HookAnswer(fault=f"gave permissionDecision {decision!r:.80}, not allow, ask or deny")
    return HookAnswer(
        decision=decision,
        reason=_text(specific.get("permissionDecisionReason")),
        context=_text(specific.get("additionalContext")),
    )


def _text(value: object) -> str | None:
    """Text that may be shown and logged, without what looks like a secret."""
    if not isinstance(value, str) or not value.strip():
        return None
    text = value.strip()
    text = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."
    return str(redacted(text))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
