"""What a task has written, with the record of the task, as text for a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolcrib import TaskInfo, TaskOutput, Tasks, ToolResult
from toolcrib_task.records import MAX_VALUE_CHARS, clipped, render, task_record

MAX_OUTPUT_BYTES = 32_768
"""How much of the output of a task a result shows."""
_LISTED_IDS = 20
_READABLE = 20
"""In text at most one character in so many is a byte that belongs to none."""


def output_report(
    info: TaskInfo,
    output: TaskOutput,
    *,
    since: int | None = None,
    before: Mapping[str, Any] | None = None,
    max_chars: int = MAX_VALUE_CHARS,
) -> str:
    """The record of a task, and a piece of its output.

    `since` is the offset from which the output was asked for; None for its end. The fields
    `before` precede those of the task. Values longer than `max_chars` are cut.
    """
    left_out = _left_out(output, since)
    record = {
        **(before or {}),
        **task_record(info),
        "output_path": output.path,
        "terminal_reason": _terminal_reason(info),
        "output_size_bytes": output.total_bytes,
        "output_preview_bytes": output.end - output.start,
        "output_truncated": bool(left_out),
        "next_offset": output.end,
        "full_output_available": output.path is not None and _whole(output),
        "output_problem": output.problem,
        **_full_output(output),
    }
    text = _shown(output) or _nothing(info, output, since)
    return "\n".join([render(record, max_chars=max_chars), "", *left_out, "[output]", text])


def unknown_tasks(tasks: Tasks, task_ids: Sequence[str]) -> ToolResult:
    """The error for ids of which there is no task, with those that there are."""
    known = tasks.list(active_only=False)
    named = ", ".join(repr(clipped(task_id, 100)) for task_id in task_ids)
    lines = [f"Task not found: {named}."]
    for info in known:
        agent = info.details.get("agent_id")
        if agent is not None and agent in task_ids:
            lines.append(f"{agent!r} is the id of an agent; its task is {info.task_id}.")
    if known:
        lines.append(f"Known tasks, newest first: {newest(known)}. TaskList tells what they are.")
    else:
        lines.append("There are no background tasks; TaskList shows those that were started.")
    return ToolResult.error(" ".join(lines))


def newest(infos: Sequence[TaskInfo], limit: int = _LISTED_IDS) -> str:
    """Ids and states of the last ones of some tasks."""
    names = [f"{info.task_id} ({info.status})" for info in reversed(infos[-limit:])]
    more = len(infos) - limit
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _terminal_reason(info: TaskInfo) -> str | None:
    if info.status == "timed_out":
        return "timed_out"
    if info.stop_reason is None:
        return None
    return {"killed": "stopped", "failed": "failed"}.get(info.status)


def _whole(output: TaskOutput) -> bool:
    return output.kept_bytes >= output.total_bytes


def _full_output(output: TaskOutput) -> dict[str, str]:
    """How to see what is not shown."""
    if output.path is None or not output.total_bytes:
        return {}
    if output.binary:
        return {
            "full_output_hint": "The output is binary, which Read does not show. Look at the file "
            "with a command such as `file`, `xxd` or `strings`."
        }
    if output.start == 0 and output.end >= output.total_bytes:
        holds = "All output is shown here, and the file holds the same."
    elif _whole(output):
        holds = "The file holds all output."
    else:
        holds = f"The file holds the first {output.kept_bytes} bytes of the output."
    return {
        "full_output_tool": "Read",
        "full_output_hint": f"{holds} To page through it use Read with this path, n_lines=300 and "
        "line_offset=1, then 301 and so on; -300 is its end. Grep searches it.",
    }


def _left_out(output: TaskOutput, since: int | None) -> list[str]:
    """Lines on what is missing around the piece that is shown."""
    lines = []
    if since is None and output.start > 0:
        kept = "holds the rest" if _whole(output) else "holds what was kept of the rest"
        where = f"{output.path} {kept}" if output.path else "no file holds the rest"
        lines.append(
            f"[Only bytes {output.start} to {output.end} of {output.total_bytes} are shown; "
            f"{where}.]"
        )
    elif since is not None and output.start - since > 3:
        lines.append(f"[Bytes {since} to {output.start} were not kept.]")
    follows = output.total_bytes - output.end
    if since is None or follows <= 3:
        return lines
    if output.end >= output.kept_bytes and not output.text:
        lines.append(f"[The {follows} bytes that follow were not kept.]")
    else:
        lines.append(f"[{follows} more bytes follow; go on with since_offset={output.end}.]")
    return lines


def _shown(output: TaskOutput) -> str:
    """The text, unless it is nothing that could be read."""
    if output.binary and output.text.count("\ufffd") * _READABLE > len(output.text):
        return f"[{output.end - output.start} bytes of binary output are not shown]"
    return output.text


def _nothing(info: TaskInfo, output: TaskOutput, since: int | None) -> str:
    if since is not None and since > output.total_bytes:
        return f"[since_offset {since} lies behind the end: {output.total_bytes} bytes so far]"
    if since:
        return f"[no new output since offset {since}]"
    return "[no output yet]" if info.active else "[no output]"
