"""Tells whether a file still has the content that it had."""

from __future__ import annotations

import hashlib
import os
import stat

from attrs import frozen

MAX_HASHED_BYTES = 2 * 1024 * 1024


@frozen
class Fingerprint:
    """A file at one moment.

    `stamp` changes with every write, but also with a mere touch; `digest` only with the content.
    It is None for a file over 2 MiB, which counts as changed with `brief`.
    """

    stamp: tuple[int, ...]
    brief: tuple[int, ...]
    digest: bytes | None


def stamp_of(path: str) -> tuple[int, ...] | None:
    """Changes with every write to the file; None if the path leads to no regular file."""
    info = _info(path)
    return None if info is None else _stamp(info)


def fingerprint(path: str) -> Fingerprint | None:
    """The file as it is; None if the path leads to no regular file."""
    info = _info(path)
    if info is None:
        return None
    digest = _digest(path) if info.st_size <= MAX_HASHED_BYTES else None
    return Fingerprint(_stamp(info), (info.st_ino, info.st_size, info.st_mtime_ns), digest)


def unchanged(path: str, known: Fingerprint) -> bool:
    """Whether the file has the content that it had; a rewrite of the same bytes is no change."""
    if stamp_of(path) == known.stamp:
        return True
    now = fingerprint(path)
    if now is None:
        return False
    if now.digest is None or known.digest is None:
        return now.brief == known.brief
    return now.digest == known.digest


def _info(path: str) -> os.stat_result | None:
    try:
        info = os.stat(path)
    except OSError:
        return None
    return info if stat.S_ISREG(info.st_mode) else None


def _stamp(info: os.stat_result) -> tuple[int, ...]:
    # The time of change cannot be set back, as that of modification can.
    return (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def _digest(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return None
