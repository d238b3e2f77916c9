"""Writes text in capitals; a function is all it takes."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import Doc

from toolcrib import Accesses, tool


@tool(name="AcmeShout", accesses=Accesses.none())
def shout(text: Annotated[str, Doc("What to write in capitals.")], times: int = 1) -> str:
    """Write a text in capitals."""
    return " ".join([text.upper()] * times)
