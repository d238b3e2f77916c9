"""What the agents of a session know of the files of the runtime that they are in."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from attrs import frozen

from toolcrib_features.stale_guard.fingerprint import Fingerprint
from toolcrib_features.stale_guard.lines import Ranges


@frozen
class Knowledge:
    """A file as an agent knows it; `seen` is None when the agent knows all of it."""

    file: Fingerprint
    seen: Ranges | None = None


Memory = dict[tuple[str, str], Knowledge]
"""By agent and real path."""

_memories: WeakKeyDictionary[object, Memory] = WeakKeyDictionary()


def memory_of(session: Any) -> Memory:
    """The memory of a session; it ends when the session does or moves to another runtime."""
    stay = session.binding.stay
    memory = _memories.get(stay)
    if memory is None:
        memory = _memories[stay] = {}
    return memory
