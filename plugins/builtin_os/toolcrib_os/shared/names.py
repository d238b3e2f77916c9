"""Files that a path may have meant when there is none of its exact name."""

from __future__ import annotations

import os
import posixpath
import unicodedata
from itertools import islice

from toolcrib import is_sensitive_file

_MAX_ENTRIES = 2000
_MAX_SUGGESTIONS = 3
_MAX_DISTANCE = 2


def equivalent_paths(path: str) -> list[str]:
    """Existing paths that differ only in how Unicode spells accents and spaces.

    Args:
        path: absolute, of something that does not exist.

    Returns:
        At most ten, absolute; none if some part of the path has no counterpart.
    """
    parent, rest = _existing_parent(path)
    found = [parent] if rest else []  # a link to nothing has no parts that lack
    for name in rest:
        wanted = _spelling(name)
        found = [
            posixpath.join(directory, entry)
            for directory in found
            for entry in _entries(directory)
            if _spelling(entry) == wanted
        ][:10]
    return found


def similar_paths(path: str) -> list[str]:
    """Up to three files beside a missing one whose names are close to its name, closest first."""
    directory, wanted = posixpath.split(path)
    ranked = []
    for name in _entries(directory):
        rank = _distance(wanted, name)
        candidate = posixpath.join(directory, name)
        if rank is not None and name != wanted and not is_sensitive_file(candidate):
            ranked.append((rank, name, candidate))
    return [candidate for _, _, candidate in sorted(ranked)[:_MAX_SUGGESTIONS]]


def missing_directory(path: str) -> str | None:
    """The first directory on the way to a path that does not exist; None if only the file lacks."""
    parent, rest = _existing_parent(path)
    return posixpath.join(parent, rest[0]) if len(rest) > 1 else None


def _existing_parent(path: str) -> tuple[str, list[str]]:
    parent, rest = path.rstrip("/"), list[str]()
    while parent != "/" and not os.path.lexists(parent):
        parent, name = posixpath.split(parent)
        rest.insert(0, name)
    return parent, rest


def _entries(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in islice(entries, _MAX_ENTRIES)]
    except OSError:
        return []  # what cannot be listed has nothing to suggest


def _spelling(name: str) -> str:
    composed = unicodedata.normalize("NFC", name)
    return "".join(" " if unicodedata.category(char) == "Zs" else char for char in composed)


def _distance(wanted: str, name: str) -> int | None:
    """How far a name is from the wanted one; None if too far."""
    if wanted.casefold() == name.casefold():
        return 0
    edits = _edits(wanted.casefold(), name.casefold())
    if edits is not None:
        return edits
    stem = posixpath.splitext(wanted)[0]
    return _MAX_DISTANCE + 1 if stem and posixpath.splitext(name)[0] == stem else None


def _edits(left: str, right: str) -> int | None:
    """The number of single-character edits between two names, if it is small beside them."""
    limit = min(_MAX_DISTANCE, (len(left) - 1) // 2)
    if abs(len(left) - len(right)) > limit:
        return None
    row = list(range(len(right) + 1))
    for i, char in enumerate(left, 1):
        corner, row[0] = row[0], i
        for j, other in enumerate(right, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (char != other))
        if min(row) > limit:
            return None
    return row[-1] if row[-1] <= limit else None
