"""Outlines of the files that a session reads in pages, kept as long as the files stay the same."""

from __future__ import annotations

import os
import time
from collections import OrderedDict

from attrs import evolve, frozen

from toolcrib_os.read.outline import Outline
from toolcrib_os.read.source import Source

_ENTRIES = 32
_SETTLED_NS = 2_000_000_000
_GUARD_BYTES = 64 * 1024


@frozen
class _Entry:
    identity: tuple[int, ...]
    settled: bool
    outline: Outline
    guard: int


class OutlineCache:
    """The outlines of the files used last, by real path.

    A file counts as the same when device, inode, size and times are, and it had been left alone
    for two seconds when it was looked at: within one tick of the clock, a file can change twice
    and look the same. An outline that is not of the whole file is also kept while the file grows.
    Outlines go in and out as copies, so that reads in several threads do not meet.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    def find(self, path: str, status: os.stat_result, source: Source) -> Outline | None:
        """The outline of a file, or None if it has to be made."""
        entry = self._entries.get(path)
        if entry is None:
            return None
        outline = evolve(entry.outline, index=entry.outline.index.copy())
        if entry.settled and entry.identity == _identity(status):
            return outline
        if outline.checked or not self._grew(entry, status):
            return None
        outline.index.forget_last_block()
        return outline if _guard(source, outline.index.scanned) == entry.guard else None

    def keep(self, path: str, status: os.stat_result, source: Source, outline: Outline) -> None:
        """Remember the outline of a file that had this status when it was opened."""
        kept = evolve(outline, index=outline.index.copy())
        guard = 0
        if not outline.checked:
            full = outline.index.copy()
            full.forget_last_block()
            guard = _guard(source, full.scanned)
        settled = time.time_ns() - status.st_mtime_ns > _SETTLED_NS
        self._entries.pop(path, None)
        self._entries[path] = _Entry(_identity(status), settled, kept, guard)
        while len(self._entries) > _ENTRIES:
            self._entries.popitem(last=False)

    @staticmethod
    def _grew(entry: _Entry, status: os.stat_result) -> bool:
        device, inode, size, *_ = entry.identity
        return (status.st_dev, status.st_ino) == (device, inode) and status.st_size >= size


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _guard(source: Source, scanned: int) -> int:
    """A digest of both ends of what was scanned, which tells appending from rewriting."""
    start = max(0, scanned - _GUARD_BYTES)
    head, tail = source.read(0, min(_GUARD_BYTES, scanned)), source.read(start, scanned - start)
    return hash((scanned, head, tail))
