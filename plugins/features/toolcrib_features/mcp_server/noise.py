"""Takes what is printed to where somebody may read it, and never waits for them."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import sys
import threading

_PATIENCE_S = 0.2
"""How long a reader may pause before what is printed meanwhile is dropped."""
_GOODBYE_S = 1.0


def quieten() -> None:
    """Have what is printed pass through a pipe that is always read.

    Many clients open standard error and do not read it, or close it: what a plugin prints would
    bring the server to a stop, or fail.
    """
    printed, into = os.pipe()
    outside = os.dup(2)
    for descriptor in (1, 2):
        os.dup2(into, descriptor)
    os.close(into)
    passing = threading.Thread(
        target=_pass_on, args=(printed, outside), name="toolcrib serve: errors", daemon=True
    )
    passing.start()
    atexit.register(_say_goodbye, passing)


def _pass_on(printed: int, outside: int) -> None:
    wanted = True
    while data := os.read(printed, select.PIPE_BUF):  # what a pipe takes at once that is ready
        # A reader that has paused once is not waited for again until it reads.
        wanted = bool(select.select([], [outside], [], _PATIENCE_S if wanted else 0)[1])
        if wanted:
            with contextlib.suppress(OSError):
                os.write(outside, data)


def _say_goodbye(passing: threading.Thread) -> None:
    """Let what was printed last come out; a program that was left running may keep the pipe."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)
    passing.join(_GOODBYE_S)
