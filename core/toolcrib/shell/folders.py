"""The folder that a command runs in, as far as it is known before the script runs."""

from __future__ import annotations

from enum import Enum
from posixpath import isabs, normpath
from posixpath import join as join_path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolcrib.shell.model import Word


class _Gone(Enum):
    GONE = "gone"


GONE: Final = _Gone.GONE
"""The folder of what is never reached, such as a command behind `exit`."""

Folder = str | None | _Gone
"""An absolute folder, None when it is not known, or `GONE`."""


def known(folder: Folder) -> str | None:
    return folder if isinstance(folder, str) else None


def join(one: Folder, other: Folder) -> Folder:
    """The folder of a command that is reached from two places."""
    if one is GONE or one == other:
        return other
    return one if other is GONE else None


def below(folder: Folder, path: str, *, physical: bool = False) -> Folder:
    """The folder behind `cd path`.

    Args:
        physical: where links stand before a `..`, it leads to where they lead; so the `..` stays.
    """
    if physical and ".." in path.split("/"):
        return join_path(folder, path) if isinstance(folder, str) else None
    if isinstance(folder, str) and ".." in folder.split("/") and ".." in path.split("/"):
        return None
    if isabs(path):
        return "/" + normpath(path).lstrip("/")
    return normpath(join_path(folder, path)) if isinstance(folder, str) else None


def changed(folder: Folder, words: Sequence[Word], home_dir: str | None) -> Folder:
    """The folder behind `cd`, `pushd` or `popd` if it succeeds."""
    program, *operands = (word.text for word in words)
    if not all(word.literal for word in words) or program == "popd":
        return None
    if operands and operands[0] in ("--", "-L") and program == "cd":
        operands = operands[1:]
    if not operands and program == "cd":
        return home_dir
    if len(operands) != 1 or not operands[0] or operands[0][0] in "-+":
        return None
    return below(folder, operands[0])
