"""Random access to the bytes of a text, in memory or in an open file."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from attrs import frozen


class ChangedWhileReading(Exception):
    """The file became shorter, or other, under our hands."""


class ReadCancelled(Exception):
    """The call was cancelled; nobody waits for the result."""


class Source(Protocol):
    """UTF-8 text without a byte order mark."""

    @property
    def size(self) -> int: ...

    def read(self, offset: int, length: int) -> bytes:
        """The bytes from an offset on: `length`, or fewer only where the text ends."""
        ...


@frozen
class MemorySource:
    """A text that is in memory already."""

    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]


@frozen
class FileSource:
    """An open file as it was when it was opened: what is appended later does not exist here.

    `skip` is the length of its byte order mark. `cancelled` is asked before each access.
    """

    descriptor: int
    size: int
    skip: int
    cancelled: Callable[[], bool]

    def read(self, offset: int, length: int) -> bytes:
        if self.cancelled():
            raise ReadCancelled
        wanted = max(0, min(length, self.size - offset))
        data = os.pread(self.descriptor, wanted, self.skip + offset)
        while len(data) < wanted:
            more = os.pread(self.descriptor, wanted - len(data), self.skip + offset + len(data))
            if not more:
                raise ChangedWhileReading
            data += more
        return data
