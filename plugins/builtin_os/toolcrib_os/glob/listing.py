"""Chooses the newest of the paths that a pattern covers."""

from __future__ import annotations

from attrs import define, field

from toolcrib_os.glob.input import GlobInput
from toolcrib_os.glob.pattern import Wanted
from toolcrib_os.shared.search.pages import Smallest, capacity_for
from toolcrib_os.shared.search.root import SearchRoot, Shield, modified


@define
class Listing:
    """Takes all files of a tree, and holds what the wanted page can show of them."""

    wanted: Wanted
    root: SearchRoot
    shield: Shield
    include_dirs: bool
    _best: Smallest[tuple[int, str]]
    _prefix: str
    _dirs: set[str] = field(factory=lambda: {""})

    @staticmethod
    def of(args: GlobInput, wanted: Wanted, root: SearchRoot, shield: Shield) -> Listing:
        best = Smallest[tuple[int, str]](capacity_for(args.offset, args.limit))
        prefix = root.folder.rstrip("/") + "/"
        return Listing(wanted, root, shield, args.include_dirs, best, prefix)

    @property
    def total(self) -> int:
        """How many paths there are."""
        return self._best.total

    def take(self, names: list[str]) -> None:
        """Take the names of more files, relative to the root."""
        allows, prefix, glob = self.shield.allows, self._prefix, self.wanted.glob
        if not self.wanted.only_dirs:
            covered = [name for name in glob.select(names) if allows(name)]
            self._best.add([(-modified(prefix + name), name) for name in covered])
        if self.include_dirs:
            dirs = glob.select(self._new_dirs(names))
            self._best.add(
                [(-modified(prefix + name), name + "/") for name in dirs if allows(name)]
            )

    def page(self, offset: int, limit: int) -> list[str]:
        """The paths of a page as the model reads them, newest first."""
        return [self.root.shown(name) for _, name in self._best.page(offset, limit)]

    def _new_dirs(self, names: list[str]) -> list[str]:
        new: list[str] = []
        for name in names:
            directory = name.rpartition("/")[0]
            while directory not in self._dirs:
                self._dirs.add(directory)
                new.append(directory)
                directory = directory.rpartition("/")[0]
        return new
