"""The Grep tool, as far as listing it needs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from toolcrib import Execution, Runtime, Tool, Workspace, read_description
from toolcrib_os.grep.input import DEFAULT_LIMIT, GrepInput
from toolcrib_os.shared.search.settings import SearchSettings

if TYPE_CHECKING:
    from toolcrib_os.grep.search import GrepSearch


class GrepTool(Tool[GrepInput]):
    """Searches what files hold."""

    name = "Grep"

    def __init__(self, workspace: Workspace, runtime: Runtime, settings: SearchSettings) -> None:
        self._workspace = workspace
        self._runtime = runtime
        self._settings = settings

    @property
    def description(self) -> str:
        return read_description(__package__, LIMIT=DEFAULT_LIMIT)

    def resolve_execution(self, args: GrepInput) -> Execution:
        return self._search.resolve(args)

    @cached_property
    def _search(self) -> GrepSearch:
        # Listing the tools must not load what only searching needs.
        from toolcrib_os.grep.search import GrepSearch

        return GrepSearch(self._workspace, self._runtime, self._settings)
