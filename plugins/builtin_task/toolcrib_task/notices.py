"""What the model is told when background tasks have ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from toolcrib import STOPPED_BY_USER, ContextMessage, TaskInfo, TaskOutput, TaskStatus, redacted
from toolcrib_task.records import duration

Ended = tuple[TaskInfo, TaskOutput | None]
"""A task that has ended, and the end of its output; None when that cannot be read."""

MOST_SINGLE = 5
"""More ends than this, told at once, become one message."""
PREVIEW_BYTES = 3000
TAIL_BYTES = 1500
TAIL_LINES = 20
_DIGEST_TAILS_BYTES = 6000
_DIGEST_TAIL_BYTES = 100
_DESCRIPTION_CHARS = 200
_REASON_CHARS = 600
_BETWEEN_IDS = "+"
_EXPLAINED: tuple[TaskStatus, ...] = ("failed", "timed_out", "lost")
"""Ends that the last lines of the output help to understand."""


def messages(ended: Sequence[Ended], *, wakes: bool) -> list[ContextMessage]:
    """One message for each task, or a single one for all of them when they are many.

    Of each output the last 4 KiB are enough.
    """
    if len(ended) > MOST_SINGLE:
        return [digest(ended, wakes=wakes)]
    return [task_message(info, output, wakes=wakes) for info, output in ended]


def notification_id(info: TaskInfo) -> str:
    """The name of the news that a task has ended in this way: `task:TASK_ID:STATUS`."""
    return f"task:{info.task_id}:{info.status}"


def single_ids(message_ids: Iterable[str]) -> frozenset[str]:
    """The names of the ends that messages tell of, from the ids of the messages.

    A message of one end has its name for an id, and a digest the names of all its ends joined by
    `+`. So an end is known again from a message's id alone, also by a later session, and a single
    name out of a digest's `origin["notification_ids"]` does as well as the digest's id.
    """
    return frozenset(name for joined in message_ids for name in joined.split(_BETWEEN_IDS))


def task_message(info: TaskInfo, output: TaskOutput | None, *, wakes: bool) -> ContextMessage:
    """The message that one task has ended."""
    name = notification_id(info)
    opening = _tag(
        "notification",
        id=name,
        category="task",
        type=f"task.{info.status}",
        source_kind="background_task",
        source_id=info.task_id,
        agent_id=info.details.get("agent_id"),
    )
    lines = [
        opening,
        f"Title: Background {_line(info.kind, 40)} {info.status.replace('_', ' ')}",
        f"Severity: {_severity([info])}",
        *_told(info),
        *_output(info, output),
        "</notification>",
    ]
    origin = {
        "kind": "task",
        "task_id": info.task_id,
        "status": info.status,
        "notification_id": name,
        "notification_ids": [name],
    }
    return ContextMessage(id=name, text="\n".join(lines), origin=origin, wakes=wakes)


def digest(ended: Sequence[Ended], *, wakes: bool) -> ContextMessage:
    """One message that several tasks have ended, those that did not complete first."""
    ended = sorted(ended, key=lambda each: each[0].status == "completed")
    infos = [info for info, _ in ended]
    counts = Counter(info.status.replace("_", " ") for info in infos)
    explained = sum(info.status in _EXPLAINED for info in infos)
    tail_bytes = min(TAIL_BYTES, _DIGEST_TAILS_BYTES // max(1, explained))
    lines = [
        _tag("notification", category="task", type="task.digest", source_kind="background_task"),
        f"Title: {len(infos)} background tasks ended: "
        + ", ".join(f"{count} {status}" for status, count in counts.items()),
        f"Severity: {_severity(infos)}",
        "Read an output file, or call TaskOutput with the id, for what a task has written.",
        *(line for info, output in ended for line in _entry(info, output, tail_bytes)),
        "</notification>",
    ]
    names = [notification_id(info) for info in infos]
    return ContextMessage(
        id=_BETWEEN_IDS.join(names),
        text="\n".join(lines),
        origin={
            "kind": "task",
            "task_ids": [info.task_id for info in infos],
            "notification_ids": names,
        },
        wakes=wakes,
    )


def _entry(info: TaskInfo, output: TaskOutput | None, tail_bytes: int) -> list[str]:
    """A task within a digest."""
    shown = output if output is not None and output.total_bytes else None
    opening = _tag(
        "task",
        id=info.task_id,
        status=info.status,
        exit_code=info.details.get("exit_code"),
        agent_id=info.details.get("agent_id"),
        output_file=shown.path if shown else None,
        output_bytes=shown.kept_bytes if shown else None,
    )
    lines = [opening, *_told(info), *(_problem(shown) if shown else ())]
    if shown and info.status in _EXPLAINED and tail_bytes >= _DIGEST_TAIL_BYTES:
        lines += _tail_block(shown, tail_bytes)
    return [*lines, "</task>"]


def _severity(infos: Iterable[TaskInfo]) -> str:
    return "info" if all(info.status == "completed" for info in infos) else "warning"


def _told(info: TaskInfo) -> list[str]:
    """What it was, how it ended and why, and what to do about it."""
    lines = [
        f"Description: {_line(info.description, _DESCRIPTION_CHARS) or '(none)'}",
        f"End: {_ending(info)}",
    ]
    if info.stop_reason and info.stop_reason != STOPPED_BY_USER:
        lines.append(f"Reason: {_line(info.stop_reason, _REASON_CHARS)}")
    if left := info.details.get("left_running"):
        lines.append(f"Left running: {_line(str(left), _REASON_CHARS)}")
    return lines + _recovery(info)


def _ending(info: TaskInfo) -> str:
    ended_at = info.started_at if info.ended_at is None else info.ended_at
    after = f" after {duration(ended_at - info.started_at)}"
    code = _exit_code(info)
    match info.status:
        case "completed":
            return f"completed{code}{after}"
        case "failed":
            return f"failed{code}{after}"
        case "timed_out":
            limit = f" of {info.timeout_s:g} s" if info.timeout_s else ""
            return f"stopped{code} since its time{limit} was over"
        case "killed" if info.stop_reason == STOPPED_BY_USER:
            return (
                f"stopped by the user{after}, which was meant: do not start it again unless the "
                "user wants it"
            )
        case "killed":
            return f"stopped{code}{after}"
        case _:
            return "unknown, since the session that looked after it was gone by then"


def _exit_code(info: TaskInfo) -> str:
    code, signal = info.details.get("exit_code"), info.details.get("signal")
    if code is None:
        return ""
    named = f" ({signal})" if signal else ""
    return " " + _line(f"with exit code {code}{named}", 60)


def _recovery(info: TaskInfo) -> list[str]:
    """How to go on with an agent that did not come to its end."""
    agent = info.details.get("agent_id")
    if info.kind != "agent" or info.status == "completed" or agent in (None, info.task_id):
        return []
    return [
        f"To go on, resume the agent {_line(str(agent), 100)} with the Agent tool (this is its "
        f"agent_id; {info.task_id} is only the task). It remembers what it did; the result of the "
        "tool call that it was in is lost. It may run in the background again."
    ]


def _output(info: TaskInfo, output: TaskOutput | None) -> list[str]:
    """Where the output is, and as much of it as the end needs."""
    if output is None:
        return ["Its output cannot be read now; TaskOutput may give it later."]
    if not output.total_bytes:
        return ["It wrote no output."]
    if output.path is None:
        preview = _end_of(output, PREVIEW_BYTES, None)
        return _problem(output) + _block("output-preview", output, preview)
    lines = [
        *_problem(output),
        _tag("output-file", path=output.path, bytes=output.kept_bytes),
        "Read this file for the output, or call TaskOutput.",
        "</output-file>",
    ]
    return lines + (_tail_block(output, TAIL_BYTES) if info.status in _EXPLAINED else [])


def _problem(output: TaskOutput) -> list[str]:
    if not output.problem:
        return []
    return [f"Not all of its output was kept: {_line(output.problem, _REASON_CHARS)}"]


def _tail_block(output: TaskOutput, max_bytes: int) -> list[str]:
    if output.binary:
        return ["The output is binary."]
    return _block("output-tail", output, _end_of(output, max_bytes, TAIL_LINES))


def _block(name: str, output: TaskOutput, shown: str) -> list[str]:
    if not shown:
        return []
    cut = output.truncated or len(shown) < len(redacted(output.text).strip("\n"))
    opening = _tag(
        name,
        bytes=len(shown.encode("utf-8", "replace")),
        total_bytes=output.total_bytes,
        truncated="true" if cut else "false",
    )
    return [opening, _escaped(shown), f"</{name}>"]


def _end_of(output: TaskOutput, max_bytes: int, max_lines: int | None) -> str:
    """The last whole lines that take at most `max_bytes` when escaped; else the end of the last."""
    text = output.text.strip("\n")
    if output.truncated:
        # A line without its beginning may show a value whose name would have told it a secret.
        text = text.partition("\n")[2] or text
    text = redacted(text)
    lines: list[str] = text.split("\n")
    if max_lines is not None:
        lines = lines[-max_lines:]
    start, size = len(lines), -1
    while start and (size := size + 1 + _size(lines[start - 1])) <= max_bytes:
        start -= 1
    if start < len(lines):
        return "\n".join(lines[start:])
    last, size = lines[-1], 0
    for index in range(len(last) - 1, -1, -1):
        size += _size(last[index])
        if size > max_bytes:
            return last[index + 1 :]
    return last


def _size(text: str) -> int:
    return len(_escaped(text).encode("utf-8", "replace"))


def _tag(name: str, **attributes: object) -> str:
    """An opening tag with those attributes that are known."""
    shown = [
        f'{key}="{_attribute(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    ]
    return f"<{' '.join([name, *shown])}>"


def _attribute(value: str) -> str:
    return _escaped(_printable(value)).replace('"', "&quot;")


def _line(text: str, max_chars: int) -> str:
    """Text of others as one line without secrets, so that it can pass for none of ours."""
    line = _printable(" ".join(redacted(text).split()))
    if len(line) > max_chars:
        line = f"{line[: max_chars - 1]}…"
    return _escaped(line)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
