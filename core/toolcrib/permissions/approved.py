"""What was approved, to be compared with what is about to run."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from attrs import define

from toolcrib.contract.call import ToolCall
from toolcrib.contract.execution import RunnableExecution

Signature = tuple[str, int, int, int, int] | None


@define(eq=False)
class Approved:
    """A call as somebody saw it: its body, its arguments, and the files that it would change."""

    execution: RunnableExecution
    arguments: str
    files: dict[str, Signature]

    @classmethod
    def of(cls, call: ToolCall) -> Approved:
        """What is shown of a call now."""
        assert call.execution is not None
        accesses = call.execution.accesses
        written = accesses.written_paths() if accesses else ()
        return cls(call.execution, _as_text(call.arguments), {p: signature(p) for p in written})

    def difference(self, call: ToolCall) -> str | None:
        """What is not any more as it was approved, in words for the model; None when all is."""
        if call.execution is not self.execution or _as_text(call.arguments) != self.arguments:
            return (
                f"{call.name} was not run: its arguments were changed after it was approved. Call "
                "it again, so that what runs is what is approved."
            )
        for path, known in self.files.items():
            if signature(path) != known:
                return (
                    f"{call.name} was not run: {path!r} changed after the approval was asked for. "
                    "Read it again, then repeat the call if it still fits."
                )
        return None

    def expect(self, path: str) -> None:
        """Take the present state of a file as known: a call of the session has just written it."""
        if path in self.files:
            self.files[path] = signature(path)


def signature(path: str) -> Signature:
    """What tells one state of a file from another: where it is, and when it was changed."""
    real = os.path.realpath(path)
    try:
        stat = os.stat(real)
    except OSError:
        return None
    return real, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _as_text(arguments: Mapping[str, object]) -> str:
    return json.dumps(arguments, sort_keys=True, default=repr)
