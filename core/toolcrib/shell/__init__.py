"""What a shell command would do: its simple commands, the paths they touch, and the dangers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib.shell.analysis import analyse_command

__all__ = ["analyse_command"]


def __getattr__(name: str) -> object:
    """Import the parser when it is first asked for, because most of what runs parses nothing."""
    if name != "analyse_command":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from toolcrib.shell.analysis import analyse_command

    return analyse_command
