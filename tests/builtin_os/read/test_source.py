"""Access to an open file that others may change."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib_os.read.source import ChangedWhileReading, FileSource, ReadCancelled


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "a.txt").write_bytes(b"BOMabcdef")
    descriptor = os.open(tmp_path / "a.txt", os.O_RDWR)
    yield descriptor
    os.close(descriptor)


def test_offsets_start_behind_the_byte_order_mark(descriptor: int) -> None:
    source = FileSource(descriptor, 6, 3, lambda: False)
    assert source.read(0, 2) == b"ab"
    assert source.read(4, 100) == b"ef"
    assert source.read(6, 100) == b""


def test_what_is_appended_later_is_not_there(descriptor: int) -> None:
    source = FileSource(descriptor, 6, 3, lambda: False)
    os.pwrite(descriptor, b"more", 9)
    assert source.read(0, 100) == b"abcdef"


def test_a_file_that_became_shorter_is_noticed(descriptor: int) -> None:
    source = FileSource(descriptor, 6, 3, lambda: False)
    os.ftruncate(descriptor, 5)
    with pytest.raises(ChangedWhileReading):
        source.read(0, 6)


def test_a_cancelled_call_stops_at_the_next_access(descriptor: int) -> None:
    with pytest.raises(ReadCancelled):
        FileSource(descriptor, 6, 3, lambda: True).read(0, 1)
