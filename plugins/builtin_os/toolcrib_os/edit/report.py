"""What the model is told of an edit that was made, or that cannot be."""

from __future__ import annotations

from toolcrib import ToolResult
from toolcrib_os.edit.input import EditInput
from toolcrib_os.edit.matching import Document
from toolcrib_os.edit.snippet import around
from toolcrib_os.shared.encoding import Encoding, legacy_candidates

_MAX_LISTED = 10
_MAX_GUESSED_BYTES = 65_536


def edited(
    args: EditInput, before: Document, result: bytes, found: list[int], growth: int
) -> ToolResult:
    """The result of an edit; `growth` is how many bytes longer each new text is."""
    after = Document(result, before.start, before.style)
    starts = [position + index * growth for index, position in enumerate(found)]
    feeds = after.raw(args.new_string).count(b"\n")
    # A text that ends in a line feed does not reach into the line behind it.
    reach = feeds - 1 if feeds and args.new_string.endswith("\n") else feeds
    ranges = [(line, line + reach) for line in after.lines_of(starts)]
    times = f"{len(found)} occurrence{'' if len(found) == 1 else 's'}"
    text = f"Replaced {times} in {args.path}, {_where(ranges)}."
    if before.style == "lf" and "\r" in args.new_string:
        text += (
            " Note: new_string brought carriage returns into a file that had none; send plain "
            "line feeds unless that is wanted."
        )
    snippet = around(result, ranges, before.style)
    return ToolResult(f"{text}\n{snippet}" if snippet else f"{text} The file is empty now.")


def not_unique(document: Document, args: EditInput, found: list[int]) -> ToolResult:
    """The error for an old text that occurs more than once."""
    lines = document.lines_of(found)
    listed = ", ".join(map(str, lines[:_MAX_LISTED]))
    more = f" and {len(lines) - _MAX_LISTED} more" if len(lines) > _MAX_LISTED else ""
    return ToolResult.error(
        f"old_string is not unique in {args.path!r}: it occurs {len(found)} times, on lines "
        f"{listed}{more}; nothing was changed. Add more of the text around the one you mean, or "
        "set replace_all to change them all."
    )


def in_utf_16(path: str, encoding: Encoding) -> ToolResult:
    """The error for a file in UTF-16."""
    source = "UTF-16" if encoding.bom else encoding.charset.upper()
    return _wrong_encoding(path, f"it is in {encoding.label}", source)


def undecodable(path: str, data: bytes, offset: int) -> ToolResult:
    """The error for a file that is not in UTF-8, as the byte at the offset shows."""
    line = data.count(b"\n", 0, offset) + 1
    what = f"it is not valid UTF-8 (byte {data[offset]:#04x} at offset {offset}, line {line})"
    likely = legacy_candidates(data[:_MAX_GUESSED_BYTES])
    guess = f" The encoding may be {' or '.join(likely)}." if likely else ""
    return _wrong_encoding(path, what, "ENCODING", guess)


def _wrong_encoding(path: str, what: str, source: str, guess: str = "") -> ToolResult:
    return ToolResult.error(
        f"cannot edit {path!r}: {what}, and Edit changes UTF-8 files only; nothing was changed. "
        f"Convert it first, for example with `iconv -f {source} -t UTF-8`.{guess}"
    )


def _where(ranges: list[tuple[int, int]]) -> str:
    spans = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    if len(spans) > _MAX_LISTED:
        spans[_MAX_LISTED:] = [f"and {len(ranges) - _MAX_LISTED} more"]
    one = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    return f"{'line' if one else 'lines'} {', '.join(spans)}"
