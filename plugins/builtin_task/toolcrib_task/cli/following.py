"""Reads what a task has written, from its end or as it comes."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from toolcrib import TerminalText
from toolcrib_task.log import the_file_itself

_BLOCK_BYTES = 1 << 16
_LOOK_EVERY_S = 0.1
_ASK_EVERY_S = 0.5
_CLEAR = "\r\x1b[K"


def written(file: Path, start: int = 0) -> Iterator[bytes]:
    """What is in the file from an offset in bytes on; nothing when there is none."""
    try:
        log = open(file, "rb", opener=the_file_itself)  # noqa: SIM115 (closed below)
    except FileNotFoundError:
        return
    with log:
        log.seek(start)
        while block := log.read(_BLOCK_BYTES):
            yield block


def tail_offset(file: Path, lines: int) -> int:
    """Where the last lines of a file begin, found from its end."""
    try:
        log = open(file, "rb", opener=the_file_itself)  # noqa: SIM115 (closed below)
    except FileNotFoundError:
        return 0
    with log:
        end = position = log.seek(0, 2)
        if lines == 0:
            return end
        # The end of the last line begins no line.
        wanted = lines + 1
        while position > 0:
            start = max(0, position - _BLOCK_BYTES)
            log.seek(start)
            block = log.read(position - start)
            if position == end and not block.endswith(b"\n"):
                wanted -= 1
            for _ in range(block.count(b"\n")):
                found = block.rindex(b"\n")
                wanted -= 1
                if wanted == 0:
                    return start + found + 1
                block = block[:found]
            position = start
    return 0


def follow(file: Path, start: int, running: Callable[[], bool]) -> Iterator[bytes]:
    """What is written from an offset on, as it comes, until the task has ended."""
    asked = 0.0
    goes_on = True
    while goes_on:
        if time.monotonic() - asked >= _ASK_EVERY_S:
            asked = time.monotonic()
            goes_on = running()
        for block in written(file, start):
            start += len(block)
            yield block
        if goes_on:
            time.sleep(_LOOK_EVERY_S)


def print_output(blocks: Iterator[bytes], *, live: bool = False) -> None:
    """To a terminal without escape codes, to anything else byte by byte.

    With `live` a terminal sees a line while it is being written, such as a question or a progress
    bar: whoever follows must not wait for its end.
    """
    if not sys.stdout.isatty():
        sys.stdout.flush()
        for block in blocks:
            sys.stdout.buffer.write(block)
            sys.stdout.buffer.flush()
        return
    text = TerminalText()
    ended = True
    begun = ""
    try:
        for block in blocks:
            settled = text.feed(block)
            if begun:
                sys.stdout.write(_CLEAR)
            ended = _show(settled, ended)
            begun = _one_row(text.held) if live and ended else ""
            _show(begun, True)
    except KeyboardInterrupt:
        _show("\n" if begun or not ended else "", True)
        raise
    if begun:
        sys.stdout.write(_CLEAR)
    if not _show(text.finish(), ended):
        _show("\n", True)


def _one_row(line: str) -> str:
    """So much of it as can be cleared again."""
    columns = shutil.get_terminal_size().columns
    # What is not ASCII may take two columns.
    return line.expandtabs()[: columns - 1 if line.isascii() else columns // 2]


def _show(text: str, ended: bool) -> bool:
    """Write it, and tell whether what was written so far ends a line."""
    if not text:
        return ended
    sys.stdout.write("".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text))
    sys.stdout.flush()
    return text.endswith("\n")
