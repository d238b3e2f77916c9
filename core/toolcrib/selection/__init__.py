"""Tools that are announced by name, and loaded into a conversation when the model asks."""

from __future__ import annotations

from toolcrib.selection.outgoing import outgoing
from toolcrib.selection.selection import ToolSelection

__all__ = ["ToolSelection", "outgoing"]
