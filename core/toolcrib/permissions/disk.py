"""Looks at the disk for what rules about paths need to know; every look is bounded."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator
from itertools import islice

from toolcrib.paths import Workspace
from toolcrib.paths.real import real_path

MOST_ENTRIES = 20_000
"""How much of a folder is looked at before the answer is 'perhaps'."""
_MOST_NAMES = 1_000
_QUOTED = re.compile(r"\\(.)", re.DOTALL)


class Links:
    """Where paths lead once their links are followed, looked up once each."""

    def __init__(self, workspace: Workspace) -> None:
        self._root = workspace.root
        self._real: dict[str, str] = {}

    def real(self, path: str) -> str:
        """The path without links."""
        found = self._real.get(path)
        if found is None:
            found = self._real[path] = real_path(path)
        return found

    def spellings(self, path: str) -> tuple[str, ...]:
        """The path, and the one that its links lead to when that is another.

        Below the real folder of the workspace the second is spelled as if it had no links.
        """
        real = self.real(path)
        if real == path:
            return (path,)
        root = self.real(self._root)
        if real == root or real.startswith(root.rstrip("/") + "/"):
            real = self._root + real[len(root) :]
        return (path,) if real == path else (path, real)


def expanded(pattern: str) -> list[str] | None:
    """The paths that a pattern of bash stands for now; None when they are too many.

    A wildcard covers no hidden name, as in a shell that was not told otherwise, but a bracket may
    hold the dot.
    """
    found: list[str] = []
    for one in braces(pattern):
        names = glob.iglob(one, include_hidden="/[" in one)
        found += islice(names, _MOST_NAMES + 1 - len(found))
        if len(found) > _MOST_NAMES:
            return None
    return found


def holds(folder: str, wanted: Callable[[str], bool], *, hidden: bool) -> bool | None:
    """Whether a folder holds a path that is wanted, at any depth; None when it is too large.

    Args:
        hidden: look at files and folders with hidden names too.
    """
    try:
        return any(wanted(path) for path in _below(folder, hidden=hidden))
    except _TooLarge:
        return None


class _TooLarge(Exception):
    pass


def _below(folder: str, *, hidden: bool) -> Iterator[str]:
    seen = 0
    waiting = [folder]
    for each in waiting:
        try:
            entries = list(os.scandir(each))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > MOST_ENTRIES:
                raise _TooLarge
            if entry.name.startswith(".") and not hidden:
                continue
            yield entry.path
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def braces(pattern: str) -> Iterator[str]:
    """The patterns that brace expansion makes of one; backslashes before characters are gone."""
    opened = _find(pattern, "{", 0)
    depth, start = 0, opened + 1
    parts: list[str] = []
    at = opened
    while 0 <= at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 2
            continue
        depth += (char == "{") - (char == "}")
        if depth == 0 or (char == "," and depth == 1):
            parts.append(pattern[start:at])
            start = at + 1
        if depth == 0:
            if len(parts) == 1:  # no list: a range, which any name may be of, or plain braces
                (part,) = parts
                parts = ["*" if ".." in part else f"\\{{{part}\\}}"]
            for part in parts:
                yield from braces(pattern[:opened] + part + pattern[at + 1 :])
            return
        at += 1
    yield _QUOTED.sub(lambda found: _literal(found[1]), pattern)


def _find(pattern: str, char: str, start: int) -> int:
    """Where a character stands that no backslash precedes; -1 when nowhere."""
    while (at := pattern.find(char, start)) > 0 and pattern[at - 1] == "\\":
        start = at + 1
    return at


def _literal(char: str) -> str:
    return f"[{char}]" if char in "*?[" else char
