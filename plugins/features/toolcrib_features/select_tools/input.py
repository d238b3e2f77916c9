"""The arguments of select_tools."""

from __future__ import annotations

from typing import Annotated

from annotated_types import MaxLen, MinLen
from attrs import frozen
from typing_extensions import Doc

MAX_NAMES = 100
MAX_NAME_CHARS = 200
MAX_QUERY_CHARS = 500
MAX_MATCHES = 20


@frozen(kw_only=True)
class SelectToolsInput:
    """Which tools to load."""

    names: Annotated[
        list[Annotated[str, MinLen(1), MaxLen(MAX_NAME_CHARS)]] | None,
        MinLen(1),
        MaxLen(MAX_NAMES),
        Doc(
            "Names of tools as they were announced. `mcp__server__*` or `server:*` loads all tools "
            f"of a server, {MAX_MATCHES} at most."
        ),
    ] = None
    query: Annotated[
        str | None,
        MinLen(1),
        MaxLen(MAX_QUERY_CHARS),
        Doc(
            "Keywords, for when you do not know the name: the tools whose names and descriptions "
            "fit best are loaded, 10 at most."
        ),
    ] = None

    def __attrs_post_init__(self) -> None:
        if self.names is None and self.query is None:
            raise ValueError("give names or a query")
