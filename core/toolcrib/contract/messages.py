"""Messages that a host puts into the conversation of its model, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from attrs import field, frozen


@frozen(kw_only=True)
class ContextMessage:
    """Something that the model has to be told, as a message with the role `user`.

    Attributes:
        id: the same for the same news, so that a host can tell whether it has it already.
        text: what the model reads.
        origin: where it comes from, ready for JSON; its `kind` is `task` for the end of a task.
        wakes: whether the news is worth a turn of its own; if not, it goes along with the next.
    """

    role: ClassVar[str] = "user"
    id: str
    text: str
    origin: Mapping[str, Any] = field(factory=dict)
    wakes: bool = True


class MessageSource(Protocol):
    """Something with news for the model."""

    def take_messages(self) -> Sequence[ContextMessage]:
        """The news since the last time; they count as delivered from now on."""
        ...

    def return_messages(self, ids: frozenset[str]) -> None:
        """Of the messages with these ids, offer those again that are one's own."""
        ...
