"""The note beside the text: what was returned, what is left, and how to get it."""

from __future__ import annotations

import json

from attrs import frozen

from toolcrib_os.read.outline import CHECKED_BYTES


@frozen(kw_only=True)
class PageRequest:
    """The part of a file that is wanted.

    `path` is spelled as the model did; `budget` in characters; `asked_chars` is what the call
    asked for if that was more than is allowed; `remarks` are sentences that end the note.
    """

    path: str
    line_offset: int
    column_offset: int
    n_lines: int | None
    budget: int
    asked_chars: int | None
    remarks: tuple[str, ...] = ()


@frozen(kw_only=True)
class Fragment:
    """Columns `[start, end)` of a line; `length` of the whole line if it is known."""

    start: int
    end: int
    length: int | None
    continues: bool


@frozen(kw_only=True)
class Continuation:
    """The arguments that read on, beside path and budget."""

    line_offset: int
    column_offset: int | None = None
    n_lines: int | None = None


@frozen(kw_only=True)
class Status:
    """Facts about a page; `first` is None when it has no lines, `total` when nobody counted."""

    first: int | None
    count: int
    total: int | None
    at_end: bool
    checked: bool
    mixed: bool
    fragment: Fragment | None = None
    following: Continuation | None = None


def render_status(request: PageRequest, status: Status) -> str:
    """The note of a page, in sentences."""
    parts = [_lines(status), _total(status)]
    if status.following is None:
        parts.append("The requested range is complete.")
    else:
        parts.append("Incomplete: the character budget is used up.")
    parts.append(f"Budget: {request.budget} characters.")
    if request.asked_chars is not None:
        parts.append(f"max_chars {request.asked_chars} is over the maximum and was lowered.")
    if status.at_end:
        parts.append("End of file.")
    if status.fragment is not None:
        parts.append(_fragment(status.fragment))
    if status.following is not None:
        parts.append(f"To continue, call Read with {_arguments(request, status.following)}")
    if status.mixed:
        parts.append(
            r"Line ends are mixed: \r is a carriage return; in JSON for Edit write the escape \r."
        )
    if not status.checked:
        size = CHECKED_BYTES // 2**20
        parts.append(f"The file is larger than {size} MiB: only the lines shown were checked.")
    return " ".join((*parts, *request.remarks))


def _lines(status: Status) -> str:
    if status.first is None:
        return "No lines returned."
    plural = "line" if status.count == 1 else "lines"
    if status.first < 0:
        return (
            f"{status.count} {plural} returned, numbered from the end of the file (-1 is the last)."
        )
    return f"{status.count} {plural} returned, from line {status.first}."


def _total(status: Status) -> str:
    if status.total is None:
        return "The total number of lines was not counted."
    return f"Total lines in file: {status.total}."


def _fragment(fragment: Fragment) -> str:
    of = f" of {fragment.length}" if fragment.length is not None else ""
    then = "the line continues" if fragment.continues else "the line is complete"
    return f"Columns [{fragment.start}, {fragment.end}){of} of the first line; {then}."


def _arguments(request: PageRequest, following: Continuation) -> str:
    arguments: dict[str, object] = {"path": request.path, "line_offset": following.line_offset}
    if following.column_offset is not None:
        arguments["column_offset"] = following.column_offset
    if following.n_lines is not None:
        arguments["n_lines"] = following.n_lines
    arguments["max_chars"] = request.budget
    return json.dumps(arguments, ensure_ascii=not request.path.isprintable())
