"""Messages that a host puts into the conversation of its model, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from attrs import field, frozen


@frozen(kw_only=True)
class ContextMessage:
    """Something that the model has to be told, as a message with the role `user` or `system`.

    Attributes:
        id: the same for the same news, so that a host can tell whether it has it already.
        text: what the model reads.
        origin: where it comes from, ready for JSON; its `kind` is `task` for the end of a task.
        wakes: whether the news is worth a turn of its own; if not, it goes along with the next.
        tools: tools that the model can call from here on, each as `name`, `description` and
            `parameters`; a message that has some has the role `system` and no text.
    """

    id: str
    text: str
    role: Literal["user", "system"] = "user"
    tools: tuple[Mapping[str, Any], ...] = ()
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
