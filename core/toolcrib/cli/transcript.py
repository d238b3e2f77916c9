"""How completions are printed: JSON lines for programs, a transcript for people."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from toolcrib.cli.common import printable
from toolcrib.contract.content import content_to_json

if TYPE_CHECKING:
    from toolcrib.pipeline.flight import Completion

SHOWN_LINES = 12
SHOWN_COLUMNS = 160
SHOWN_ERROR_COLUMNS = 1_000
"""Errors are shown longer, since they end in what to do next."""
_MARKS = {"executed": "ok", "skipped": "skipped", "aborted": "aborted"}


def completion_record(done: Completion) -> dict[str, Any]:
    """The frozen shape of a completion."""
    result = done.result
    return {
        "id": done.id,
        "name": done.name,
        "outcome": done.outcome,
        "is_error": result.is_error,
        "output": content_to_json(result.output),
        "truncated": result.truncated,
        "note": result.note,
        "duration_ms": round(done.duration_ms, 3),
    }


def print_record(done: Completion) -> None:
    """One line, written out at once: whoever is killed later has said what was done."""
    sys.stdout.write(json.dumps(completion_record(done), ensure_ascii=True) + "\n")
    sys.stdout.flush()


def print_entry(done: Completion, arguments: Any) -> None:
    """A heading with the call, then the first lines of what came of it."""
    state = "error" if done.result.is_error else _MARKS.get(done.outcome, done.outcome)
    if done.result.is_error and done.outcome != "executed":
        state = f"error ({done.outcome})"
    heading = f"[{done.id}] {done.name} {_brief(arguments)}"
    lines = [f"{printable(heading)}  {state}, {done.duration_ms:.0f} ms", *_body(done)]
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode("utf-8"))
    sys.stdout.flush()


def _brief(arguments: Any) -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    text = " ".join(str(text).split())
    return text if len(text) <= 100 else text[:97] + "..."


def _body(done: Completion) -> list[str]:
    output = done.result.output
    if not isinstance(output, str):
        output = "\n".join(getattr(p, "text", f"<{getattr(p, 'kind', '')}>") for p in output)
    lines = output.rstrip("\n").split("\n")
    width = SHOWN_ERROR_COLUMNS if done.result.is_error else SHOWN_COLUMNS
    shown = [f"    {_clipped(line, width)}" for line in lines[:SHOWN_LINES]]
    if len(lines) > SHOWN_LINES:
        shown.append(f"    ... {len(lines) - SHOWN_LINES} more lines")
    return shown


def _clipped(line: str, width: int) -> str:
    clean = printable(line)
    return clean if len(clean) <= width else clean[: width - 3] + "..."
