"""Says why a pattern may have found nothing."""

from __future__ import annotations

import os
from collections.abc import Callable

from attrs import evolve, frozen

from toolcrib import PathSecurityError, ResolvedPath, Workspace
from toolcrib_os.glob.pattern import Wanted
from toolcrib_os.shared.search.engine import SearchEngine
from toolcrib_os.shared.search.records import NameReader
from toolcrib_os.shared.search.request import VERSION_CONTROL, SearchRequest
from toolcrib_os.shared.search.root import SearchRoot, Shield
from toolcrib_os.shared.search.texts import plural

_SECOND_LOOK_SECONDS = 1.0


@frozen
class Hints:
    """A second look at a search without a result."""

    engine: SearchEngine
    workspace: Workspace
    request: SearchRequest
    wanted: Wanted
    root: SearchRoot
    withheld: Callable[[str], bool] | None = None

    def literal_file(self) -> str | None:
        """The file that a pattern without wildcards names, although a search passes it over."""
        literal = self.wanted.literal
        if (
            literal is None
            or self.wanted.only_dirs
            or not set(VERSION_CONTROL).isdisjoint(literal.split("/"))
        ):
            return None
        path = ResolvedPath(literal, os.path.join(self.root.folder, literal), self.root.outside)
        try:
            real = self.workspace.locate(path, "search")
        except PathSecurityError:
            return None
        if self.withheld is not None and (self.withheld(path.path) or self.withheld(real)):
            return None
        return self.root.shown(literal) if os.path.isfile(real) else None

    async def sentences(self) -> list[str]:
        """What is known of the reason, at the price of at most about a second."""
        return self._directories() or await self._ignored()

    def _directories(self) -> list[str]:
        folder, wanted = self.root.folder, self.wanted
        literal = wanted.literal
        if literal is not None and self._is_directory(os.path.join(folder, literal)):
            return [f"{literal!r} is a directory: list what is in it with '{literal}/**'."]
        prefix = wanted.literal_prefix
        if prefix and not self._is_directory(os.path.join(folder, prefix)):
            if wanted.glob.pattern.startswith("/") and self._is_directory(f"/{prefix}"):
                return [f"To search the directory '/{prefix}' give it as `path`."]
            return [f"There is no directory {prefix!r} in {self.root.shown('') or '.'!r}."]
        return []

    def _is_directory(self, path: str) -> bool:
        return os.path.isdir(path) and not self.workspace.hides(os.path.realpath(path))

    async def _ignored(self) -> list[str]:
        if self.request.include_ignored:
            return []
        count = 0
        shield = Shield(self.root, self.workspace, self.request.follow, self.withheld)

        def take(names: list[str]) -> None:
            nonlocal count
            count += sum(map(shield.allows, self.wanted.glob.select(names)))

        request = evolve(self.request, include_ignored=True)
        await self.engine.search(request, NameReader(take).feed, timeout_s=_SECOND_LOOK_SECONDS)
        if not count:
            return []
        return [
            f"{plural(count, 'ignored file')} would match: set include_ignored to true to list "
            "what ignore files leave out."
        ]
