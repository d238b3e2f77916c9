"""Two tools that work."""

from toolcrib import Accesses, tool


@tool(name="BrokenBefore", accesses=Accesses.none())
def before() -> str:
    """Answer, unless a hook prevents it."""
    return "the body ran"


@tool(name="BrokenDid", accesses=Accesses.none())
def did() -> str:
    """Answer, whatever a hook does afterwards."""
    return "the body ran"
