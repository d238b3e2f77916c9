"""Facts about tasks as text for a model: one `key: value` a line."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from toolcrib import TaskInfo

MAX_VALUE_CHARS = 4_000
"""How much of one value a record shows."""
SEPARATOR = "\n---\n"


def task_record(info: TaskInfo) -> dict[str, Any]:
    """All that is known of a task, in the order in which it is shown."""
    record = {
        "task_id": info.task_id,
        "description": info.description,
        "status": info.status,
        "detached": info.detached,
        "started_at": _milliseconds(info.started_at),
        "ended_at": _milliseconds(info.ended_at),
        "stop_reason": info.stop_reason,
        "terminal_notification_suppressed": info.suppressed or None,
        "timeout_ms": _milliseconds(info.timeout_s),
        "kind": info.kind,
    }
    # What an extension adds of its own stands for nothing that is known already.
    added = {key: value for key, value in info.details.items() if key not in record}
    return {
        **record,
        **added,
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(info.started_at)),
        "age": duration(time.time() - info.started_at),
    }


def render(record: Mapping[str, Any], *, max_chars: int = MAX_VALUE_CHARS) -> str:
    """The text of a record; what is None is left out, and no value can pass for another key."""
    text = "\n".join(
        f"{key}: {_value(value, max_chars)}" for key, value in record.items() if value is not None
    )
    # Half a surrogate pair cannot be sent to anybody.
    return text.encode("utf-8", "replace").decode()


def render_all(infos: Iterable[TaskInfo], *, max_chars: int = 200) -> str:
    """The records of several tasks, with their long values cut."""
    return SEPARATOR.join(render(task_record(info), max_chars=max_chars) for info in infos)


def clipped(text: str, max_chars: int) -> str:
    """A text with its end left out when it is longer than that, and a word on how much."""
    left_out = len(text) - max_chars
    return text if left_out <= 0 else f"{text[:max_chars]}... [{left_out} more characters]"


def duration(seconds: float) -> str:
    """So many seconds for people: `8s`, `2m 05s`, `1h 30m`, `3d 04h`; a second part of 0 goes."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    for size, unit, part, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "m")):
        if whole >= size:
            return _two_parts(whole, size, unit, part, smaller)
    return _two_parts(whole, 60, "m", 1, "s")


def _two_parts(whole: int, size: int, unit: str, part: int, smaller: str) -> str:
    rest = whole % size // part
    return f"{whole // size}{unit}" + (f" {rest:02}{smaller}" if rest else "")


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _value(value: object, max_chars: int) -> str:
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "\n  ".join(clipped(value, max_chars).splitlines())
