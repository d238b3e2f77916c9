"""What the agents of a session know of files."""

from __future__ import annotations

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


def memory_of(session: object) -> Memory:
    """The memory of a session; it goes with the session."""
    memory = _memories.get(session)
    if memory is None:
        memory = _memories[session] = {}
    return memory
