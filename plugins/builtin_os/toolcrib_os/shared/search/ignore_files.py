"""Reads ignore files as ripgrep does, for the engine in Python."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from attrs import frozen

from toolcrib_os.shared.search.path_glob import GlobError, PathGlob, compile_glob

_FILES = (".rgignore", ".ignore", ".gitignore")
"""The first that has an opinion wins, however far up it lies."""


@frozen
class IgnoreFile:
    """The patterns of one ignore file, the last one first."""

    patterns: tuple[tuple[PathGlob, bool, bool], ...]

    @staticmethod
    def parse(lines: Iterable[str]) -> IgnoreFile:
        """Read the lines of an ignore file; what is no pattern is passed over."""
        patterns = [found for line in lines if (found := _pattern(line)) is not None]
        return IgnoreFile(tuple(reversed(patterns)))

    def verdict(self, path: str, is_dir: bool) -> bool | None:
        """Whether a path relative to the file's folder is ignored; None is no opinion."""
        for glob, negated, only_dirs in self.patterns:
            if (is_dir or not only_dirs) and glob.matches(path):
                return not negated
        return None


def _pattern(line: str) -> tuple[PathGlob, bool, bool] | None:
    line = line.rstrip("\r\n")
    if line.startswith("#"):
        return None
    line = re.sub(r"(?<!\\)\s+$", "", line)
    negated = line.startswith("!")
    body = line[1:] if negated else line
    only_dirs = body.endswith("/")
    body = body.rstrip("/") if only_dirs else body
    if not body:
        return None
    try:
        return compile_glob(body), negated, only_dirs
    except GlobError:
        return None


@frozen
class IgnoreRules:
    """The ignore files of one folder and of those above it.

    `folder` is absolute and ends in a slash. A `boundary` is the root of a repository: the
    `.gitignore` files above it do not count.
    """

    folder: str
    files: tuple[IgnoreFile | None, ...]
    boundary: bool
    above: IgnoreRules | None

    @staticmethod
    def read(folder: str, above: IgnoreRules | None, *, respects_boundaries: bool) -> IgnoreRules:
        """The rules that hold in a folder; an ignore file that cannot be read says nothing."""
        prefix = folder.rstrip("/") + "/"
        boundary = respects_boundaries and os.path.lexists(prefix + ".git")
        files = tuple(_read(prefix + name) for name in _FILES)
        if above is not None and not boundary and not any(files):
            return above
        return IgnoreRules(prefix, files, boundary, above)

    def ignores(self, path: str, is_dir: bool) -> bool:
        """Whether an absolute path in the folder is left out."""
        for kind, name in enumerate(_FILES):
            rules: IgnoreRules | None = self
            while rules is not None:
                file = rules.files[kind]
                if file is not None:
                    verdict = file.verdict(path[len(rules.folder) :], is_dir)
                    if verdict is not None:
                        return verdict
                if rules.boundary and name == ".gitignore":
                    break
                rules = rules.above
        return False


def _read(path: str) -> IgnoreFile | None:
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="\n") as stream:
            return IgnoreFile.parse(stream)
    except OSError:
        return None
