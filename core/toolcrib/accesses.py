"""What a call touches, and which two calls must not run at the same time."""

from __future__ import annotations

import os
from typing import Literal

from attrs import field, frozen

Operation = Literal["read", "write", "readwrite", "search"]


def _as_text(path: str | os.PathLike[str]) -> str:
    return path if type(path) is str else os.fsdecode(path)


@frozen
class FileAccess:
    """Use of one path; `recursive` covers everything below it."""

    operation: Operation
    path: str = field(converter=_as_text)
    recursive: bool = False

    @property
    def writes(self) -> bool:
        return self.operation in ("write", "readwrite")


@frozen
class ResourceAccess:
    """Use of a named resource such as `db:main`; exclusive unless `shared`."""

    name: str
    shared: bool = False


Access = FileAccess | ResourceAccess


@frozen
class Accesses:
    """Everything that a call touches; `a | b` joins two."""

    items: tuple[Access, ...] = ()
    everything: bool = False

    @staticmethod
    def none() -> Accesses:
        """Touches nothing: runs beside anything."""
        return _NONE

    @staticmethod
    def all() -> Accesses:
        """Touches anything: runs alone."""
        return _ALL

    @staticmethod
    def read(path: str | os.PathLike[str], recursive: bool = False) -> Accesses:
        """Reads a file, or a whole folder."""
        return Accesses((FileAccess("read", path, recursive),))

    @staticmethod
    def write(path: str | os.PathLike[str], recursive: bool = False) -> Accesses:
        """Writes a file, or anything in a folder."""
        return Accesses((FileAccess("write", path, recursive),))

    @staticmethod
    def readwrite(path: str | os.PathLike[str], recursive: bool = False) -> Accesses:
        """Changes a file, or anything in a folder."""
        return Accesses((FileAccess("readwrite", path, recursive),))

    @staticmethod
    def search(path: str | os.PathLike[str]) -> Accesses:
        """Reads everything below a folder."""
        return Accesses((FileAccess("search", path, True),))

    @staticmethod
    def resource(name: str, *, shared: bool = False) -> Accesses:
        """Uses a named resource, such as `db:main`; calls that share it may overlap."""
        return Accesses((ResourceAccess(name, shared),))

    def __or__(self, other: Accesses) -> Accesses:
        if self.everything or other.everything:
            return _ALL
        return Accesses(self.items + other.items)

    def __bool__(self) -> bool:
        return self.everything or bool(self.items)

    @property
    def only_reads(self) -> bool:
        """Whether the call declares to change nothing: no path, and no resource held alone."""
        return not self.everything and not any(
            i.writes if isinstance(i, FileAccess) else not i.shared for i in self.items
        )

    def written_paths(self) -> tuple[str, ...]:
        """The paths that the call declares to write."""
        return tuple(i.path for i in self.items if isinstance(i, FileAccess) and i.writes)


_NONE = Accesses()
_ALL = Accesses(everything=True)


def fold_path(path: str) -> str:
    """The form in which declared paths are compared.

    Separators normalised, repeated and trailing ones dropped, case folded: two spellings that
    name one file on some system are taken for one file, since waiting too often is safe.
    """
    folded = path.replace("\\", "/").casefold()
    while "//" in folded:
        folded = folded.replace("//", "/")
    return folded.rstrip("/") or "/"


def covers(ancestor: str, path: str) -> bool:
    """Whether a folded path is the other one or lies below it."""
    return path == ancestor or path.startswith(ancestor if ancestor == "/" else ancestor + "/")


def conflict(left: Accesses | None, right: Accesses | None) -> bool:
    """Whether two calls must run one after the other, by what they declare.

    None stands for everything. Nothing conflicts with an empty declaration, not even everything.
    """
    left = _ALL if left is None else left
    right = _ALL if right is None else right
    if not left or not right:
        return False
    if left.everything or right.everything:
        return True
    return any(_clash(mine, theirs) for mine in left.items for theirs in right.items)


def _clash(mine: Access, theirs: Access) -> bool:
    if isinstance(mine, ResourceAccess) or isinstance(theirs, ResourceAccess):
        return (
            isinstance(mine, ResourceAccess)
            and isinstance(theirs, ResourceAccess)
            and mine.name == theirs.name
            and not (mine.shared and theirs.shared)
        )
    if not (mine.writes or theirs.writes):
        return False
    a, b = fold_path(mine.path), fold_path(theirs.path)
    return a == b or (mine.recursive and covers(a, b)) or (theirs.recursive and covers(b, a))
