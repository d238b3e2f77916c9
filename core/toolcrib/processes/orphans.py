"""Ends what calls have left running whose program was killed, so that it could not do so itself."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
from collections.abc import Iterator

from toolcrib.processes import table
from toolcrib.processes.identity import process_started
from toolcrib.processes.table import ProcessTable
from toolcrib.processes.tree import ProcessTree

_SPACE = "/proc/self/ns/pid"


def owned_token() -> str:
    """A marker for processes that must not outlive this one; it says whose they are."""
    pid = os.getpid()
    started = (process_started(pid) or "").rpartition(":")[2]
    return f"{_process_space()}/{pid}/{started}/{secrets.token_hex(6)}"


def end_orphans() -> None:
    """Kill every process that was started by a program of this kind which is gone.

    Those of programs in other containers stay: whether these are gone can be told only there. So
    do those from whose calls this process itself descends, over however many programs. Outside
    Linux nothing can be found.
    """
    if not table.HAS_PROC:
        return
    everyone = table.look_at_all(math.inf)
    tokens = {everyone.token(pid) for pid in everyone.processes} - set(_around_us(everyone))
    for token in filter(None, tokens):
        if _is_orphaned(text := token.decode("ascii", "replace")):
            ProcessTree.marked(text).kill()


def _around_us(everyone: ProcessTable) -> Iterator[bytes | None]:
    """The markers of this process and of all that it descends from."""
    yield table.read_token(os.getpid())
    pid = os.getppid()
    while (process := everyone.processes.get(pid)) is not None:
        yield everyone.token(pid)
        pid = process.parent


def _is_orphaned(token: str) -> bool:
    space, _, owner = token.partition("/")
    pid, _, rest = owner.partition("/")
    started, _, unique = rest.partition("/")
    if not (unique and pid.isdecimal()) or space != _process_space():
        return False
    now = process_started(int(pid))
    return now is None or (now != "" and now.rpartition(":")[2] != started)


def _process_space() -> str:
    """Within it process numbers mean something."""
    with contextlib.suppress(OSError):
        return os.readlink(_SPACE)
    return ""
