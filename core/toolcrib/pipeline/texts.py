"""What the pipeline itself tells the model."""

from __future__ import annotations

SKIPPED = "Tool skipped because a previous tool call stopped the turn."
ABORTED = "The call was aborted before it finished; what it had already done stays done."
NOT_STARTED = "The call was aborted before it started; nothing was done."
INTERRUPTED = (
    "The user interrupted this call on purpose. It is neither a failure nor a time-out: do not "
    "repeat it on your own, wait for what the user says next."
)
NO_OUTPUT = "The tool gave no output."
MEDIA_ONLY = "The tool returned content that is not text; it follows."
RUNTIME_CHANGED = (
    "The runtime changed between resolving this call and running it, so it was not run. "
    "Call the tool again."
)
RUNTIME_AWAY = (
    "The runtime went away between resolving this call and running it, so it was not run. "
    "Nothing was done."
)
RUNTIME_LOST = (
    "The runtime was disconnected while this call ran: its outcome is unknown. It may have done "
    "nothing, a part or all of its work; find out before you repeat it."
)


def invalid_arguments(name: str, problem: str) -> str:
    return f'Invalid args for tool "{name}": {problem}'


def timed_out(name: str, limit_s: float) -> str:
    return f"{name} timed out after {limit_s:g} s."


def unknown_tool(name: str, near: tuple[str, ...], reason: str | None) -> str:
    if reason:
        return f"Tool {name!r} is not available: {reason}"
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    return f"There is no tool {name!r}.{hint} Use one of the tools you were given."


def aborted(by_user: bool, started: bool) -> str:
    if by_user:
        return INTERRUPTED
    return ABORTED if started else NOT_STARTED


EXECUTION_REPLACED = (
    "The call was not run: a plugin replaced what would run after the call was judged, so nobody "
    "knows what it would do."
)
