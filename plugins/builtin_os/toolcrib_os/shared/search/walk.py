"""Walks a tree as ripgrep does, for the engine in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from attrs import define, field

from toolcrib_os.shared.search.ignore_files import IgnoreRules
from toolcrib_os.shared.search.path_glob import PathGlob, compile_glob
from toolcrib_os.shared.search.request import VERSION_CONTROL, SearchRequest

Warn = Callable[[str, OSError], None]


def walk(request: SearchRequest, warn: Warn) -> Iterator[str]:
    """The files of a request, relative to its folder, in no particular order.

    `warn` gets every folder that cannot be read.
    """
    return _Walk(request, warn).files()


@define
class _Walk:
    request: SearchRequest
    warn: Warn
    _only: list[PathGlob] = field(init=False)
    _leave_out: list[PathGlob] = field(init=False)
    _types: list[PathGlob] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._only = [compile_glob(glob) for glob in self.request.only]
        self._leave_out = [compile_glob(glob) for glob in self.request.leave_out]
        self._types = [compile_glob(glob) for glob in self.request.types]

    def files(self) -> Iterator[str]:
        root = self.request.cwd.rstrip("/") + "/"
        stack = [("", self._rules_above(), frozenset[tuple[int, int]]())]
        while stack:
            prefix, above, ancestors = stack.pop()
            folder = root + prefix
            try:
                with os.scandir(folder) as entries:
                    listed = list(entries)
                    if self.request.follow:
                        status = os.stat(folder)
                        ancestors = ancestors | {(status.st_dev, status.st_ino)}
            except OSError as error:
                self.warn("./" + prefix.rstrip("/"), error)
                continue
            rules = self._rules(folder, above)
            for entry in listed:
                path = prefix + entry.name
                is_dir = self._is_dir(entry, ancestors)
                if is_dir is None or self._left_out(path, entry.path, is_dir, rules):
                    continue
                if is_dir:
                    stack.append((path + "/", rules, ancestors))
                elif self._wanted(path, entry.name):
                    yield path

    def _is_dir(
        self, entry: os.DirEntry[str], ancestors: frozenset[tuple[int, int]]
    ) -> bool | None:
        """Whether an entry is a folder; None for what is neither folder nor file to search."""
        if entry.name in VERSION_CONTROL:
            return None
        try:
            if entry.is_symlink():
                if not self.request.follow:
                    return None
                status = entry.stat()
                if (status.st_dev, status.st_ino) in ancestors:
                    return None
            if entry.is_dir():
                return True
            return False if entry.is_file() else None
        except OSError as error:
            self.warn("./" + os.path.relpath(entry.path, self.request.cwd), error)
            return None

    def _left_out(self, path: str, absolute: str, is_dir: bool, rules: IgnoreRules | None) -> bool:
        if any(glob.matches(path) for glob in self._leave_out):
            return True
        return rules is not None and rules.ignores(absolute, is_dir)

    def _wanted(self, path: str, name: str) -> bool:
        if self._types and not any(glob.matches(name) for glob in self._types):
            return False
        return not self._only or any(glob.matches(path) for glob in self._only)

    def _rules(self, folder: str, above: IgnoreRules | None) -> IgnoreRules | None:
        if self.request.include_ignored:
            return None
        return IgnoreRules.read(folder, above, respects_boundaries=self.request.repository)

    def _rules_above(self) -> IgnoreRules | None:
        """The rules of the folders from the base down to the one above the search."""
        rules: IgnoreRules | None = None
        folder = self.request.base
        below = os.path.relpath(self.request.cwd, folder)
        for name in [] if below == "." else below.split("/"):
            rules = self._rules(folder, rules)
            folder = os.path.join(folder, name)
        return rules
