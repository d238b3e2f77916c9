"""Looks at the disk for what rules about paths need to know; every look is bounded."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator
from itertools import islice

from toolcrib.paths import Workspace
from toolcrib.paths.real import real_path

MOST_ENTRIES = 20_000
"""How much of a folder is looked at before the answer is 'perhaps'."""
_MOST_NAMES = 1_000
_WILD = re.compile(r"[*?\[]")
_CLASS = re.compile(r"\[[:.=]")
_QUOTING_SET = re.compile(r"\[(?:[^\]\\]|\\.)*+\]", re.DOTALL)
"""A set of characters; with a quoted one in it, it counts as any character."""
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
    patterns = list(islice(braces(pattern), _MOST_NAMES + 1))
    if len(patterns) > _MOST_NAMES:
        return None
    budget = [MOST_ENTRIES]
    try:
        return [path for one in patterns for path in _matching(one, budget)]
    except _TooLarge:
        return None


def _matching(pattern: str, budget: list[int]) -> list[str]:
    """The paths that an absolute pattern without braces may stand for.

    The last names need not exist: they may come from braces, or be written.

    Args:
        budget: how many entries may still be looked at.
    """
    paths = [""]
    for segment in pattern.split("/")[1:]:
        if _WILD.search(segment):
            wanted = _as_regex(segment)
            hidden = segment.startswith((".", "["))
            paths = [
                f"{path}/{name}"
                for path in paths
                for name in _entries(path or "/", budget)
                if wanted.match(name) and (hidden or not name.startswith("."))
            ]
        else:
            paths = [f"{path}/{segment}" for path in paths]
    return paths


def _entries(folder: str, budget: list[int]) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    budget[0] -= len(names)
    if budget[0] < 0:
        raise _TooLarge
    return names


def _as_regex(segment: str) -> re.Pattern[str]:
    """A wildcard of bash in a name; a class such as `[[:alpha:]]` counts as any text."""
    if _CLASS.search(segment):
        return re.compile(".*", re.DOTALL)
    return re.compile(fnmatch.translate(segment.replace("[^", "[!")), re.IGNORECASE)


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
    yield _QUOTED.sub(lambda found: _literal(found[1]), _QUOTING_SET.sub(_any_of, pattern))


def _any_of(found: re.Match[str]) -> str:
    return "?" if "\\" in found[0] else found[0]


def _find(pattern: str, char: str, start: int) -> int:
    """Where a character stands that no backslash precedes; -1 when nowhere."""
    while (at := pattern.find(char, start)) > 0 and pattern[at - 1] == "\\":
        start = at + 1
    return at


def _literal(char: str) -> str:
    return f"[{char}]" if char in "*?[" else char
