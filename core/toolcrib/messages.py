"""Collects what the model has to be told, for the host to put it into the conversation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib.contract.messages import ContextMessage, MessageSource


class ContextMessages:
    """The news of an agent's services; `announced` is called when there are some worth a turn."""

    def __init__(self, announced: Callable[[], None]) -> None:
        self._sources: list[MessageSource] = []
        self._announced = announced

    def add_source(self, source: MessageSource) -> None:
        """Ask `source` for news from now on."""
        self._sources.append(source)

    def announce(self) -> None:
        """Say that there are news, so that a host which is idle takes them."""
        self._announced()

    def take(self) -> list[ContextMessage]:
        """The news since the last time, each once; a source that fails costs its own alone."""
        taken: list[ContextMessage] = []
        for source in self._sources:
            try:
                taken += source.take_messages()
            except Exception as error:
                _report(source, error)
        return taken

    def give_back(self, messages: Iterable[ContextMessage | str]) -> None:
        """Offer messages again that did not stay in the conversation, given by themselves or id."""
        ids = frozenset(m if isinstance(m, str) else m.id for m in messages)
        for source in self._sources:
            try:
                source.return_messages(ids)
            except Exception as error:
                _report(source, error)


def _report(source: MessageSource, error: Exception) -> None:
    import logging

    logging.getLogger("toolcrib").error(
        "%s failed to give or take back messages", type(source).__qualname__, exc_info=error
    )
