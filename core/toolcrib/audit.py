"""Writes down every decision about a call, and who answered, as JSON Lines in a file."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolcrib.contract.events import Event
from toolcrib.redaction import redacted

_EVENTS = frozenset(
    {"permission.decided", "permission.approval.requested", "permission.approval.resolved"}
)
_REFUSED = frozenset({"preflight-rejected", "resolution-failed"})
"""Outcomes of calls that nobody had to judge, such as one that reads a secret file."""
_KEYS: Mapping[str, str] = {
    "agent": "agent",
    "turn_id": "turn",
    "call_id": "call",
    "name": "tool",
    "outcome": "outcome",
    "mode": "mode",
    "request_id": "request",
    "decision": "decision",
    "policy": "policy",
    "rule": "rule",
    "source": "source",
    "reason": "reason",
    "scope": "scope",
    "by": "by",
    "cause": "cause",
    "has_feedback": "feedback",
    "remembered": "remembered",
    "duration_ms": "duration_ms",
    "arguments": "arguments",
}
"""The fields of events that are written, with their keys in the file."""
_MAX_CHARACTERS = 500
"""Of each text among the arguments: what a file was to contain is not for an audit."""


class AuditLog:
    """A file that gets one line for each event about a permission.

    A line is written at once and as a whole, so several sessions can share the file. A file that
    cannot be written is reported once, and no call waits or fails for it.

    Args:
        path: made with its folders when there is something to write, readable by the user alone.
        session: the id that the lines carry.
        report: told what is wrong with the file; the log `toolcrib` by default.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        session: str = "",
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.path = Path(path)
        self.session = session
        self._report = report or logging.getLogger("toolcrib").warning
        self._descriptor: int | None = None
        self._failed = False
        self._torn = False

    def take(self, event: Event) -> None:
        """Write the event down when it is about a permission, or a call refused before."""
        if event.type not in _EVENTS and getattr(event, "outcome", None) not in _REFUSED:
            return
        line = json.dumps(self._record(event), ensure_ascii=True, default=str) + "\n"
        try:
            self._write(line.encode("ascii"))
        except OSError as error:
            self.close()
            if not self._failed:
                self._failed = True
                self._report(
                    f"the audit file {str(self.path)!r} cannot be written: "
                    f"{error.strerror or error}; decisions are not recorded until it can"
                )
        else:
            self._failed = False

    def close(self) -> None:
        """Close the file; another event opens it again."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _record(self, event: Event) -> dict[str, Any]:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record: dict[str, Any] = {"time": now, "session": self.session, "event": event.type}
        for name, key in _KEYS.items():
            if hasattr(event, name):
                record[key] = _shortened(redacted(getattr(event, name)))
        if event.type == "tool.result":
            record["reason"] = _shortened(redacted(getattr(event, "output", None)))
        if event.type == "permission.approval.resolved":
            record["answer"] = record.pop("decision")
        return record

    def _write(self, line: bytes) -> None:
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # O_NONBLOCK: a pipe that nobody reads must not hold up the calls.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
            self._descriptor = os.open(self.path, flags | os.O_NOCTTY, 0o600)
        whole = b"\n" + line if self._torn else line
        written = os.write(self._descriptor, whole)
        self._torn = written < len(whole)
        if self._torn:
            raise OSError(f"only {written} of {len(whole)} bytes fitted")


def _shortened(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _MAX_CHARACTERS:
        return f"{value[:_MAX_CHARACTERS]}... ({len(value)} characters)"
    if isinstance(value, Mapping):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item) for item in value]
    return value
