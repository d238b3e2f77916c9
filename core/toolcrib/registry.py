"""The table of an agent's active tools, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import define, field

from toolcrib.contract.contribution import Disclosure, Source
from toolcrib.contract.tool import ToolLike

SELECT_TOOLS = "select_tools"
"""The tool that loads others: while it is active, deferred tools are given to a model on demand."""


@define(eq=False)
class RegisteredTool:
    """An active tool with what the pipeline works out of it once.

    `check` and `structure` are made from the schema at the first call, and again when the tool
    swaps its schema. `repair` is the tool's own `repair_arguments`, if it has one. A tool that is
    `always_listed` passes lists of allowed tools.
    """

    name: str
    tool: ToolLike
    source: Source = "plugin"
    disclosure: Disclosure = "inline"
    domain: str = "other"
    plugin: str = ""
    requires: frozenset[str] = frozenset()
    always_listed: bool = False
    schema: Mapping[str, Any] | None = field(default=None, init=False, repr=False)
    check: Callable[[Any], str | None] | None = field(default=None, init=False, repr=False)
    structure: Callable[[Any], Any] | None = field(default=None, init=False, repr=False)
    repair: Callable[[Any], Any] | None = field(default=None, init=False, repr=False)


class ToolRegistry:
    """A map from names to tools. Adding a name again replaces it; a removal ends one registration.

    Iteration is in name order, so that listings are the same in every run.
    """

    def __init__(self) -> None:
        self._tools: dict[str, RegisteredTool] = {}

    def add(self, entry: RegisteredTool) -> Callable[[], None]:
        """Register a tool; the function returned takes exactly this registration out again."""
        self._tools[entry.name] = entry

        def remove() -> None:
            if self._tools.get(entry.name) is entry:
                del self._tools[entry.name]

        return remove

    def get(self, name: str) -> RegisteredTool | None:
        return self._tools.get(name)

    def names(self) -> list[str]:
        return sorted(self._tools)

    def __iter__(self) -> Iterator[RegisteredTool]:
        return iter([self._tools[name] for name in sorted(self._tools)])

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools
