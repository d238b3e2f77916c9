"""What a conversation has told its model of tools that can be loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from attrs import field, frozen

ANNOUNCEMENT = "loadable-tools"
SCHEMAS = "dynamic_tool_schema"


@frozen(kw_only=True)
class Record:
    """What one message has told: names that came and went, and definitions by their hash."""

    id: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    schemas: Mapping[str, str] = field(factory=dict)

    @property
    def origin(self) -> dict[str, Any]:
        """The record as the `origin` of its message, ready for JSON."""
        if self.schemas:
            return {"kind": SCHEMAS, "id": self.id, "tools": dict(self.schemas)}
        about = {"added": list(self.added), "removed": list(self.removed)}
        return {"kind": ANNOUNCEMENT, "id": self.id, **about}

    @classmethod
    def of(cls, origin: Mapping[str, Any]) -> Self | None:
        """The record that an origin holds; None when the message tells of nothing like it."""
        name = str(origin.get("id", ""))
        match origin:
            case {"kind": "dynamic_tool_schema", "tools": Mapping() as schemas}:
                return cls(id=name, schemas={str(k): str(v) for k, v in schemas.items()})
            case {"kind": "loadable-tools", "added": [*added], "removed": [*removed]}:
                return cls(id=name, added=tuple(map(str, added)), removed=tuple(map(str, removed)))
        return None


class Told:
    """The messages of a conversation, folded in their order.

    `known` are the names that the model was told of and not told the end of; `loaded` has the
    hashes of the definitions that it was given, also of tools that are gone meanwhile.
    """

    def __init__(self) -> None:
        self._records: list[Record] = []
        self.known: set[str] = set()
        self.loaded: dict[str, str] = {}

    def add(self, record: Record) -> None:
        """A message was delivered."""
        self._records.append(record)
        self.known.difference_update(record.removed)
        self.known.update(record.added, record.schemas)
        self.loaded.update(record.schemas)

    def take_back(self, ids: frozenset[str]) -> list[Record]:
        """Forget messages that did not stay in the conversation; returns what they told."""
        gone = [record for record in self._records if record.id in ids]
        if gone:
            self.reset([record for record in self._records if record.id not in ids])
        return gone

    def reset(self, records: Iterable[Record]) -> None:
        """Let the conversation hold these messages and no others."""
        self._records, self.known, self.loaded = [], set(), {}
        for record in records:
            self.add(record)
