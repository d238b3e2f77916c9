"""Finds a text in the bytes of a file, and puts another in its place without touching the rest."""

from __future__ import annotations

import codecs

from attrs import frozen

from toolcrib_os.shared.text import EolStyle, materialise, style_of_counts


@frozen
class Document:
    """The bytes of a UTF-8 file; positions count from the start of the file, BOM included."""

    data: bytes
    start: int
    """Where the text starts: behind the byte order mark, if there is one."""
    style: EolStyle

    @staticmethod
    def of(data: bytes) -> Document:
        """Raises UnicodeDecodeError when the bytes are no UTF-8."""
        data.decode()
        start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        style = style_of_counts(data.count(b"\n"), data.count(b"\r"), data.count(b"\r\n"))
        return Document(data, start, style)

    def raw(self, text: str) -> bytes:
        """A text of the model as it would be in this file."""
        return materialise(text, self.style).encode()

    def find(self, text: str) -> list[int]:
        """Where a text begins, each time it occurs; occurrences do not overlap."""
        if self.style == "crlf" and "\r" in text.replace("\r\n", ""):
            # The model's view has no carriage returns: this must not match half of a line end.
            return []
        needle = self.raw(text)
        found, position = [], self.data.find(needle, self.start)
        while position >= 0:
            found.append(position)
            position = self.data.find(needle, position + len(needle))
        return found

    def line_of(self, position: int) -> int:
        """The number of the line, from 1, that holds a position."""
        return self.data.count(b"\n", 0, position) + 1

    def lines_of(self, positions: list[int]) -> list[int]:
        """The same for ascending positions, in one pass."""
        lines, line, before = [], 1, 0
        for position in positions:
            line += self.data.count(b"\n", before, position)
            before = position
            lines.append(line)
        return lines


def spliced(data: bytes, positions: list[int], old_size: int, new: bytes) -> bytes:
    """The bytes with `new` in place of `old_size` bytes at each of the ascending positions."""
    pieces, before = [], 0
    for position in positions:
        pieces.append(data[before:position])
        before = position + old_size
    pieces.append(data[before:])
    result = new.join(pieces)
    _prove_rest_untouched(data, result, positions, old_size, len(new))
    return result


def _prove_rest_untouched(
    data: bytes, result: bytes, positions: list[int], old_size: int, new_size: int
) -> None:
    """Compare, before anything is written, every byte that is not to change."""
    left, right = memoryview(data), memoryview(result)
    source = target = 0
    for position in [*positions, len(data)]:
        length = position - source
        if left[source:position] != right[target : target + length]:
            raise AssertionError(f"bytes {source} to {position} would be changed by the edit")
        source, target = position + old_size, target + length + new_size
    if target - new_size != len(result):
        raise AssertionError(f"the edit would leave {len(result)} bytes")
