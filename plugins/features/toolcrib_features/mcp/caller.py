"""On whose behalf a server is called; it travels with the task of the call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from attrs import frozen


@frozen
class Caller:
    """An agent, and its turn."""

    agent: str = "main"
    turn_id: str | None = None


NOBODY = Caller()
"""What is asked for no call, or for several, concerns the main agent."""
_caller: ContextVar[Caller] = ContextVar("caller", default=NOBODY)


@contextmanager
def called_by(agent: str, turn_id: str | None) -> Iterator[None]:
    """Let what is called in the block be called for this agent."""
    token = _caller.set(Caller(agent, turn_id))
    try:
        yield
    finally:
        _caller.reset(token)


def caller() -> Caller:
    """For whom this task calls."""
    return _caller.get()
