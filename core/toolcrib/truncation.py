"""The output budget: long results go to a file, the model gets a pointer and a preview."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from attrs import define, field

from toolcrib.contract.output import (
    HEAD_CHARS,
    MAX_CHARS,
    MAX_RETAINED_CHARS,
    TAIL_CHARS,
    OutputSink,
)
from toolcrib.contract.result import MediaPart, SpilledOutput, TextPart, ToolResult

if TYPE_CHECKING:
    from typing import TextIO

MAX_LINE_CHARS = 2_000
"""Characters of one line when shortening the long lines alone makes a text fit."""
DEFAULT_QUOTA_BYTES = 1 << 30
KEPT_FILES = 20
"""The newest files that the quota never removes."""
KEPT_S = 30 * 24 * 3600
"""Seconds after which the output of a session is removed."""
_SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")
_CUT = " [... {} characters of this line cut]"


def exceeds_budget(text: str) -> bool:
    """Whether a text is too long for the model."""
    return len(text) > MAX_CHARS


@define
class OutputFile:
    """An open file of saved output; see `toolcrib.contract.output.SpillFile`.

    It is removed when the disk refuses a part of it: nobody is told where the rest lies.
    """

    path: str
    _stream: TextIO = field(repr=False)

    def write(self, text: str) -> None:
        with self._removed_on_failure():
            self._stream.write(text)

    def close(self) -> None:
        with self._removed_on_failure():
            self._stream.close()

    @contextlib.contextmanager
    def _removed_on_failure(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            Path(self.path).unlink(missing_ok=True)
            raise


@define
class OutputStore:
    """The folder for one session's saved output: readable by its owner alone, within a quota.

    When the files outgrow `quota_bytes`, the oldest go, but never the newest twenty.
    """

    folder: Path
    quota_bytes: int = DEFAULT_QUOTA_BYTES
    _saved: deque[str] = field(factory=deque, init=False)

    def open(self, tool_name: str, call_id: str) -> OutputFile:
        """A new file for the output of a call; raises OSError when there can be none."""
        path, descriptor = self._create(tool_name, call_id, ".txt")
        stream = os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="")
        return OutputFile(path, stream)

    def save(self, data: bytes, tool_name: str, call_id: str, suffix: str) -> str:
        """Keep bytes that are no text; returns the absolute path, raises OSError when it cannot.

        A `suffix` that is more than a dot and a few letters or digits becomes `.bin`.
        """
        suffix = suffix if _SUFFIX.fullmatch(suffix) else ".bin"
        path, descriptor = self._create(tool_name, call_id, suffix)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
        except OSError:
            Path(path).unlink(missing_ok=True)
            raise
        return path

    def sink(self, tool_name: str, call_id: str) -> OutputSink:
        """An accumulator whose overflow lands in this store."""
        return OutputSink(lambda: self.open(tool_name, call_id))

    def _create(self, tool_name: str, call_id: str, suffix: str) -> tuple[str, int]:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._make_room()
        path = self.folder / f"{file_stem(tool_name, call_id)}-{secrets.token_hex(8)}{suffix}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._saved.append(str(path))
        return str(path), descriptor

    def _make_room(self) -> None:
        if len(self._saved) < KEPT_FILES:
            return
        sizes = {path: _size(path) for path in self._saved}
        total = sum(sizes.values())
        while total > self.quota_bytes and len(self._saved) > KEPT_FILES:
            oldest = self._saved.popleft()
            total -= sizes[oldest]
            Path(oldest).unlink(missing_ok=True)


def remove_old_outputs(sessions: Path) -> None:
    """Remove what sessions saved that have written nothing for a month.

    `sessions` is the folder in which each session has one of its own.
    """
    oldest = time.time() - KEPT_S
    for outputs in sessions.glob("*/tool-results"):
        with contextlib.suppress(OSError):
            if outputs.stat().st_mtime < oldest:
                shutil.rmtree(outputs)
                outputs.parent.rmdir()


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def file_stem(tool_name: str, call_id: str) -> str:
    """The readable part of a file name: tool and call, at most 80 safe characters."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", f"{tool_name}-{call_id}").strip("_")[:80]
    return stem.strip("_") or "tool-result"


def fit_budget(
    result: ToolResult, *, tool_name: str, call_id: str, store: OutputStore | None
) -> ToolResult:
    """The result as the model gets it.

    A text within the budget passes untouched. A longer one is saved whole (up to 10,000,000
    characters) and replaced by a pointer with its head and tail; when cutting very long lines is
    enough, the shortened text itself stays. Pictures and the like stay beside the text.
    """
    if result.spilled is not None:
        return _with_text(result, _point_to(result.spilled, tool_name, call_id, result.output))
    if result.spill_exempt:
        return result
    text = _text_of(result.output)
    if not exceeds_budget(text):
        return result
    spilled = _save(text, tool_name, call_id, store)
    shaped = _cut_long_lines(text)
    if not exceeds_budget(shaped):
        return _with_text(result, shaped.rstrip("\n") + "\n" + _shaped_pointer(spilled))
    return _with_text(result, _point_to(spilled, tool_name, call_id, ""))


def _text_of(output: str | tuple[object, ...]) -> str:
    if isinstance(output, str):
        return output
    return "".join(part.text for part in output if isinstance(part, TextPart))


def _with_text(result: ToolResult, text: str) -> ToolResult:
    output: str | tuple[TextPart | MediaPart, ...] = text
    if not isinstance(result.output, str):
        media = tuple(part for part in result.output if isinstance(part, MediaPart))
        output = (TextPart(text), *media) if media else text
    return attrs.evolve(result, output=output, truncated=True, spilled=None, structured=None)


def _save(text: str, tool_name: str, call_id: str, store: OutputStore | None) -> SpilledOutput:
    path, problem = None, "there is no place to save output"
    kept = text[:MAX_RETAINED_CHARS]
    if store is not None:
        try:
            file = store.open(tool_name, call_id)
            try:
                file.write(kept)
            finally:
                file.close()
            path = file.path
        except OSError as error:
            problem = error.strerror or str(error)
    return SpilledOutput(
        path=path,
        total_chars=len(text),
        retained_chars=len(kept) if path else 0,
        head=text[:HEAD_CHARS],
        tail=text[-TAIL_CHARS:],
        problem=None if path else problem,
    )


def _cut_long_lines(text: str) -> str:
    return "\n".join(_cut_line(line) for line in text.split("\n"))


def _cut_line(line: str) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    marker = _CUT.format(len(line))
    return line[: MAX_LINE_CHARS - len(marker)] + marker


def _shaped_pointer(spilled: SpilledOutput) -> str:
    where = (
        f"output_path: {spilled.path}\nnext_step: use Read on output_path to see the whole lines"
        if spilled.path
        else f"The whole output could not be saved: {spilled.problem}."
    )
    return f"[Lines over {MAX_LINE_CHARS:,} characters were cut.]\n{where}{_kept(spilled)}"


def render_preview(tool_name: str, tool_call_id: str, text: str, output_path: str | None) -> str:
    """The pointer that stands for a text saved at `output_path`, with its head and tail."""
    spilled = SpilledOutput(
        path=output_path,
        total_chars=len(text),
        retained_chars=min(len(text), MAX_RETAINED_CHARS),
        head=text[:HEAD_CHARS],
        tail=text[-TAIL_CHARS:],
    )
    return _point_to(spilled, tool_name, tool_call_id, "")


def _point_to(spilled: SpilledOutput, tool_name: str, call_id: str, ending: object) -> str:
    total, head, tail = spilled.total_chars, spilled.head, spilled.tail
    lines = [
        f"[The output is longer than {MAX_CHARS:,} characters; this is only its start and end.]",
        f"tool_name: {tool_name}",
        f"tool_call_id: {call_id}",
        f"output_size_chars: {total}",
    ]
    if spilled.path:
        lines.append(f"output_path: {spilled.path}")
        lines.append(
            "next_step: page through output_path with Read, or search it with Grep; "
            "do not run the call again to see more"
        )
    else:
        lines.append(f"The rest was not saved: {spilled.problem or 'saving failed'}.")
    lines[-1] += _kept(spilled)
    lines.append(f"\n--- characters 0 to {len(head)} ---\n{head}")
    if total > len(head) + len(tail):
        lines.append(f"--- {total - len(head) - len(tail)} characters left out ---")
    lines.append(f"--- characters {total - len(tail)} to {total} ---\n{tail}")
    if isinstance(ending, str) and ending:
        lines.append(ending)
    return "\n".join(lines)


def _kept(spilled: SpilledOutput) -> str:
    if spilled.path is None or spilled.retained_chars >= spilled.total_chars:
        return ""
    return (
        f"\nincomplete: the file holds only the first {spilled.retained_chars} of "
        f"{spilled.total_chars} characters"
    )
