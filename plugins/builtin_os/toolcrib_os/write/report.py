"""What the model is told of a write: how much, in place of what, and what is different now."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from toolcrib import ToolResult
from toolcrib_os.shared.changes import utf_16_of
from toolcrib_os.shared.text import count_lines, style_of_counts
from toolcrib_os.write.before import Ending
from toolcrib_os.write.input import WriteInput


def created(args: WriteInput, size: int) -> ToolResult:
    """The result for a file that did not exist."""
    lines = _lines(count_lines(args.content))
    return ToolResult(f"Created {args.path}: wrote {_bytes(size)}, {lines}.")


def replaced(args: WriteInput, data: bytes, old_size: int, earlier: bytes | None) -> ToolResult:
    """The result for a file that has other content now; `earlier` is its old one, if known."""
    lines = _lines(count_lines(args.content))
    before = _bytes(old_size)
    if earlier is not None:
        before += f", {_lines(_count_lines(earlier))}"
    text = f"Wrote {_bytes(len(data))}, {lines}, to {args.path}, replacing {before}."
    return ToolResult(" ".join([text, *(_differences(earlier, data) if earlier else ())]))


def appended(args: WriteInput, size: int, old_size: int, ending: Ending | None) -> ToolResult:
    """The result for content at the end of a file; `ending` is how it ended, if known."""
    text = f"Appended {_bytes(size)} to {args.path}, which has {old_size + size} now."
    if ending is not None and ending.open_line and size:
        text += (
            " Note: it did not end in a newline, so the content continues what was the last line."
        )
    if ending is not None and ending.crlf and "\n" in args.content.replace("\r\n", ""):
        text += " Note: its lines end in CRLF, those that were appended in LF."
    return ToolResult(text)


def _differences(old: bytes, new: bytes) -> Iterator[str]:
    if utf_16_of(old):
        yield "Note: the file was in UTF-16 and is in UTF-8 now."
    elif old.startswith(codecs.BOM_UTF8) and not new.startswith(codecs.BOM_UTF8):
        yield "Note: the file had a UTF-8 byte order mark and has none now."
    before, after = _style(old), _style(new)
    if before == "crlf" and after != "crlf" and b"\n" in new:
        yield "Note: the lines of the file ended in CRLF; those of the new content do not."


def _style(data: bytes) -> str:
    return style_of_counts(data.count(b"\n"), data.count(b"\r"), data.count(b"\r\n"))


def _count_lines(data: bytes) -> int:
    return data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def _bytes(count: int) -> str:
    return f"{count} byte{'' if count == 1 else 's'}"
