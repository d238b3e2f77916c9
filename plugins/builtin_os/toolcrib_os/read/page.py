"""One page of a text: as many whole lines as fit the budget together with the note."""

from __future__ import annotations

from attrs import frozen

from toolcrib import ToolResult
from toolcrib_os.read.column import NoSuchColumn, cut_shown, line_length, seek_column
from toolcrib_os.read.index import end_of_lines, start_of_tail
from toolcrib_os.read.outline import NotUtf8, Outline
from toolcrib_os.read.source import Source
from toolcrib_os.read.status import Continuation, Fragment, PageRequest, Status, render_status
from toolcrib_os.read.window import Line, take_backward, take_forward

ROOM_FOR_STATUS = 1000


@frozen
class Page:
    """Shows a part of a text.

    Raises:
        NotText, NotUtf8: the part shown is no text.
        NoSuchColumn: the first line has no such column.
    """

    source: Source
    outline: Outline
    request: PageRequest

    def read(self) -> ToolResult:
        """The page, or an error when nothing fits."""
        if self.request.line_offset < 0:
            return self._tail()
        try:
            return self._forward()
        except UnicodeDecodeError as error:  # on the way to a column of a line not checked before
            around = error.object[max(0, error.start - 64) : error.start + 64]
            byte = error.object[error.start]
            raise NotUtf8(self.request.line_offset, byte, around) from None

    def _forward(self) -> ToolResult:
        number, column = self.request.line_offset, self.request.column_offset
        style = self.outline.style
        start = self.outline.index.start_of(self.source, number)
        if start is None:
            return self._nothing()
        at = seek_column(self.source, start, column, style) if column else start
        lines, more = take_forward(
            self.source,
            at,
            number=number,
            count=self.request.n_lines,
            budget=self.request.budget,
            style=style,
        )
        lines = lines or [Line(number, "", "", self.source.size)]
        length = None
        width = _width(lines)
        mixed = self._mixed(lines)
        while True:
            if not lines[0].whole and length is None and self.outline.checked:
                length = line_length(self.source, start, style)
            note = self._note(self._forward_status(lines, more, length, mixed))
            excess = width + 1 + len(note) - self.request.budget
            if excess <= 0:
                return _result(lines, note, truncated=more or not lines[-1].whole)
            if len(lines) > 1:
                width -= lines.pop().size + 1
                more = True
                continue
            cut = cut_shown(lines[0].raw, len(lines[0].shown) - excess)
            if not cut:
                return self._too_small(note)
            lines = [Line(number, cut, cut.replace("\r", "\\r"), lines[0].end, False)]
            width = _width(lines)

    def _forward_status(
        self, lines: list[Line], more: bool, length: int | None, mixed: bool
    ) -> Status:
        column, last = self.request.column_offset, lines[-1]
        at_end = last.whole and last.end == self.source.size
        total = self.outline.index.total(self.source)
        fragment = None
        if column or not last.whole:
            shown = column + len(lines[0].shown)
            whole = lines[0].whole
            fragment = Fragment(
                start=column, end=shown, length=shown if whole else length, continues=not whole
            )
        following = None
        if more or not last.whole:
            line = last.number + (1 if last.whole else 0)
            n_lines = self.request.n_lines
            following = Continuation(
                line_offset=line,
                column_offset=None if last.whole else column + len(last.shown),
                n_lines=n_lines and n_lines - (line - self.request.line_offset),
            )
        return Status(
            first=lines[0].number,
            count=len(lines),
            total=last.number if at_end else total,
            at_end=at_end,
            checked=self.outline.checked,
            mixed=mixed,
            fragment=fragment,
            following=following,
        )

    def _tail(self) -> ToolResult:
        window, n_lines = -self.request.line_offset, self.request.n_lines
        index = self.outline.index
        total = index.total(self.source)
        if total is None:
            start, total = start_of_tail(self.source, window)
            if total is None and (page := self._numbered_from_end(start, window)) is not None:
                return page
            total = index.count_all(self.source)
        if total == 0:
            return self._nothing()
        first = max(1, total - window + 1)
        last = min(total, first + n_lines - 1) if n_lines else total
        start = index.start_of(self.source, first) or 0
        end = index.start_of(self.source, last + 1) if last < total else None
        lines = take_backward(
            self.source,
            start,
            self.source.size if end is None else end,
            number=last,
            budget=self.request.budget,
            style=self.outline.style,
        )
        width = _width(lines)
        mixed = self._mixed(lines)
        while True:
            note = self._note(self._tail_status(lines, first, last, total, mixed))
            if lines and width + 1 + len(note) <= self.request.budget:
                return _result(lines, note, truncated=len(lines) <= last - first)
            if not lines:
                return self._no_line_fits(note)
            width -= lines.pop(0).size + 1

    def _tail_status(
        self, lines: list[Line], first: int, last: int, total: int, mixed: bool
    ) -> Status:
        missing = last - first + 1 - len(lines)
        return Status(
            first=lines[0].number if lines else None,
            count=len(lines),
            total=total,
            at_end=bool(lines) and last == total,
            checked=self.outline.checked,
            mixed=mixed,
            following=Continuation(line_offset=first, n_lines=missing) if missing else None,
        )

    def _numbered_from_end(self, start: int, window: int) -> ToolResult | None:
        """The tail of a text whose lines nobody counted, if all of it fits."""
        wanted = min(self.request.n_lines or window, window)
        size = self.source.size
        lines = take_backward(
            self.source,
            start,
            size if wanted == window else end_of_lines(self.source, start, wanted),
            number=wanted - window - 1,
            budget=self.request.budget,
            style=self.outline.style,
        )
        if len(lines) < wanted:
            return None
        status = Status(
            first=lines[0].number,
            count=wanted,
            total=None,
            at_end=wanted == window,
            checked=False,
            mixed=self._mixed(lines),
        )
        note = self._note(status)
        if _width(lines) + 1 + len(note) > self.request.budget:
            return None
        return _result(lines, note, truncated=False)

    def _nothing(self) -> ToolResult:
        status = Status(
            first=None,
            count=0,
            total=self.outline.index.total(self.source),
            at_end=True,
            checked=self.outline.checked,
            mixed=False,
        )
        note = self._note(status)
        if len(note) > self.request.budget:
            return self._too_small(note)
        return _result([], note, truncated=False)

    def _no_line_fits(self, note: str) -> ToolResult:
        if len(note) > self.request.budget:
            return self._too_small(note)
        return ToolResult(
            f"the last line of the range is longer than the budget of {self.request.budget} "
            "characters: read forward with the arguments in the note, which cuts long lines",
            is_error=True,
            truncated=True,
            note=note,
        )

    def _too_small(self, note: str) -> ToolResult:
        return ToolResult.error(
            f"max_chars {self.request.budget} leaves no room for text beside the status note: "
            f"give at least {max(ROOM_FOR_STATUS, 2 * len(note))}"
        )

    def _note(self, status: Status) -> str:
        return render_status(self.request, status)

    def _mixed(self, lines: list[Line]) -> bool:
        if self.outline.checked:
            return self.outline.style == "mixed"
        return any(
            "\r" in line.shown or line.shown != line.raw.removesuffix("\r") for line in lines
        )


def column_error(request: PageRequest, error: NoSuchColumn) -> ToolResult:
    """The answer to a column that the line does not have."""
    why = (
        f"line {request.line_offset} is shown with {error.length} characters"
        if error.length is not None
        else f"it lies inside a \\r of line {request.line_offset}"
    )
    return ToolResult.error(
        f"column_offset {request.column_offset} is no place to start at: {why}. Use 0, or the "
        "arguments that the note of the last Read suggests"
    )


def _width(lines: list[Line]) -> int:
    return sum(line.size + 1 for line in lines) - 1 if lines else 0


def _result(lines: list[Line], note: str, *, truncated: bool) -> ToolResult:
    output = "\n".join(f"{line.number}\t{line.shown}" for line in lines)
    return ToolResult(output, truncated=truncated, note=note)
