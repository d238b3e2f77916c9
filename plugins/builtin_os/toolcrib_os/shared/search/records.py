"""Reads what a search prints, in pieces of any size: names, counts, and blocks of lines."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from attrs import define

_COUNT = re.compile(rb"([^\0]+)\0(\d+)\r?\n")


def path_of(name: bytes) -> str:
    """A printed path, relative to the folder searched; bytes that are no UTF-8 are kept."""
    return os.fsdecode(name[2:] if name.startswith(b"./") else name)


@define
class NameReader:
    """Reads paths that end in a null byte."""

    take: Callable[[list[str]], None]
    _rest: bytes = b""

    def feed(self, data: bytes) -> None:
        """Take the next piece; an incomplete name waits for the rest."""
        whole, null, rest = data.rpartition(b"\0")
        if not null:
            self._rest += data
            return
        text = os.fsdecode(self._rest + whole)
        self._rest = rest
        self.take(text.removeprefix("./").replace("\0./", "\0").split("\0"))


@define
class CountReader:
    """Reads a path, a null byte, a number and a line end."""

    take: Callable[[list[tuple[str, int]]], None]
    _rest: bytes = b""

    def feed(self, data: bytes) -> None:
        """Take the next piece; an incomplete record waits for the rest."""
        data = self._rest + data
        found = list(_COUNT.finditer(data))
        self._rest = data[found[-1].end() :] if found else data
        self.take([(path_of(record[1]), int(record[2])) for record in found])


@define
class BlockReader:
    """Reads blocks: a path and a null byte, then numbered lines up to an empty one.

    `take` gets the path and some whole lines, more than once for a long block.
    """

    take: Callable[[str, bytes], None]
    _path: str | None = None
    _rest: bytes = b""

    def feed(self, data: bytes) -> None:
        """Take the next piece; an incomplete line waits for the rest."""
        data = self._rest + data
        position = 0
        while position < len(data):
            if self._path is None:
                null = data.find(b"\0", position)
                if null < 0:
                    break
                self._path = path_of(data[position:null])
                position = null + 1
            elif data[position] == 0x0A:
                self._path = None
                position += 1
            else:
                end = data.find(b"\n\n", position)
                end = data.rfind(b"\n", position) if end < 0 else end
                if end < 0:
                    break
                self.take(self._path, data[position : end + 1])
                position = end + 1
        self._rest = data[position:]
