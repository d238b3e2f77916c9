"""What of the messages of a conversation may still be sent to its model."""

from __future__ import annotations

from attrs import evolve

from toolcrib.contract.messages import ContextMessage
from toolcrib.registry import SELECT_TOOLS, ToolRegistry
from toolcrib.selection.told import Record


def outgoing(message: ContextMessage, registry: ToolRegistry) -> ContextMessage | None:
    """The message without tools that are not active, or None when nothing is left of it.

    While no tool is loaded on demand, nothing is left of those that announce and load tools.
    """
    if Record.of(message.origin) is None:
        return message
    if SELECT_TOOLS not in registry:
        return None
    left = tuple(tool for tool in message.tools if tool["name"] in registry)
    if len(left) == len(message.tools):
        return message
    return evolve(message, tools=left) if left else None
