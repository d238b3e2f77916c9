"""How far a command is, on standard error."""

from __future__ import annotations

import contextlib
import os
import sys
from time import monotonic

from toolcrib.cli.common import printable, tell

EVERY_S = 1.0
"""How often somebody who waits has something new to show."""
SAID_EVERY_S = 5.0
"""How often it is said where it cannot be rewritten."""
_CLEAR = "\r\x1b[K"


class StatusLine:
    """A line that is rewritten at a terminal, and said again every few seconds elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = False
        self._said = -SAID_EVERY_S

    def show(self, text: str, *, now: bool = False) -> None:
        """Tell how far it is; `now` if something else begins, so that it cannot wait."""
        text = printable(text)
        if self._terminal:
            self._shown = True
            # What is longer than a row could not be cleared any more.
            write_error(_CLEAR + text[: _columns() - 1])
        elif now or monotonic() - self._said >= SAID_EVERY_S:
            self._said = monotonic()
            tell(text)

    def clear(self) -> None:
        """Make room for what else is written."""
        if self._shown:
            self._shown = False
            write_error(_CLEAR)

    def say(self, text: str) -> None:
        """A remark of its own."""
        self.clear()
        tell(text)


def write_error(text: str) -> None:
    """Write to standard error; a reader of it that has gone is no reason to stop the calls."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80
