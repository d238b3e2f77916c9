"""A sink for output of any length: memory stays within the budget, the rest goes to a file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from attrs import define, field

from toolcrib.contract.result import SpilledOutput, ToolResult

MAX_CHARS = 50_000
"""Characters of text that a result may show the model."""
MAX_RETAINED_CHARS = 10_000_000
"""Characters of one result that are kept in its file."""
HEAD_CHARS = 4_096
TAIL_CHARS = 1_024


class SpillFile(Protocol):
    """Where a sink writes what it cannot hold; raises OSError when the disk refuses."""

    @property
    def path(self) -> str: ...

    def write(self, text: str) -> None: ...

    def close(self) -> None: ...


@define
class OutputSink:
    """Takes text piece by piece and ends in a `ToolResult`.

    Up to 50,000 characters are held; from there on the text is in a file (at most 10,000,000
    characters of it) and only its head and tail stay in memory.
    """

    _open_file: Callable[[], SpillFile] | None = None
    _parts: list[str] = field(factory=list, init=False)
    _tail: deque[str] = field(factory=deque, init=False)
    _tail_chars: int = field(default=0, init=False)
    _head: str | None = field(default=None, init=False)
    _file: SpillFile | None = field(default=None, init=False)
    _problem: str | None = field(default=None, init=False)
    total_chars: int = field(default=0, init=False)
    retained_chars: int = field(default=0, init=False)

    @property
    def spilled(self) -> bool:
        """Whether the text has outgrown memory."""
        return self._head is not None

    def write(self, text: str) -> None:
        """Add text; never raises for a full disk (the result tells)."""
        if not text:
            return
        self.total_chars += len(text)
        if self._head is not None:
            self._write_on(text)
            return
        self._parts.append(text)
        if self.total_chars > MAX_CHARS:
            self._overflow()

    def ends_with_newline(self) -> bool:
        """Whether the last character so far is a line feed (true for no text at all)."""
        last = self._tail[-1] if self._tail else (self._parts[-1] if self._parts else "\n")
        return last.endswith("\n")

    def text(self) -> str:
        """The text so far; only while `spilled` is false."""
        joined = "".join(self._parts)
        self._parts = [joined] if joined else []
        return joined

    def result(
        self, ending: str = "", *, is_error: bool = False, note: str | None = None
    ) -> ToolResult:
        """Close the sink; `ending` is a last line that is never cut away, such as an exit code."""
        if self._head is None:
            text = self.text()
            gap = "\n" if text and ending and not text.endswith("\n") else ""
            return ToolResult(text + gap + ending, is_error=is_error, note=note)
        tail = "".join(self._tail)[-TAIL_CHARS:]
        path = self._file.path if self._file is not None else None
        self.close()
        if self._problem is not None:  # closing may have found the disk full
            path = None
        spilled = SpilledOutput(
            path=path,
            total_chars=self.total_chars,
            retained_chars=self.retained_chars if path else 0,
            head=self._head,
            tail=tail,
            problem=self._problem,
        )
        return ToolResult(ending, is_error=is_error, truncated=True, note=note, spilled=spilled)

    def close(self) -> None:
        """Let go of the file; for a body that ends without a result."""
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self._problem = error.strerror or str(error)
            self._file = None

    def _overflow(self) -> None:
        text = "".join(self._parts)
        self._parts = []
        self._head = text[:HEAD_CHARS]
        if self._open_file is None:
            self._problem = "there is no place to save output"
        else:
            try:
                self._file = self._open_file()
            except OSError as error:
                self._problem = error.strerror or str(error)
        self._write_on(text)

    def _write_on(self, text: str) -> None:
        kept = text[: MAX_RETAINED_CHARS - self.retained_chars]
        if kept and self._file is not None and self._problem is None:
            try:
                self._file.write(kept)
                self.retained_chars += len(kept)
            except OSError as error:
                self._problem = error.strerror or str(error)
        self._tail.append(text[-TAIL_CHARS:])
        self._tail_chars += len(self._tail[-1])
        while self._tail_chars - len(self._tail[0]) >= TAIL_CHARS:
            self._tail_chars -= len(self._tail.popleft())
