"""Which files the arguments of Grep let through."""

from __future__ import annotations

from attrs import frozen

from toolcrib_os.grep.input import GrepInput
from toolcrib_os.shared.search.file_types import file_types, unknown_type
from toolcrib_os.shared.search.path_glob import GlobError, PathGlob, compile_glob
from toolcrib_os.shared.search.request import narrow, read_alike


@frozen
class FileFilter:
    """Globs of which one has to cover a file, globs that must not, and globs of its type.

    A glob that must not cover a file must not cover a folder above it either.
    """

    only: tuple[PathGlob, ...]
    leave_out: tuple[PathGlob, ...]
    types: tuple[str, ...]

    @staticmethod
    def of(args: GrepInput) -> FileFilter:
        """Read the arguments `glob` and `type`.

        Raises:
            GlobError: one of them cannot be used.
        """
        only: list[PathGlob] = []
        leave_out: list[PathGlob] = []
        for text in args.globs:
            negated = text.startswith("!")
            body = text[1:] if negated else text
            if negated:
                leave_out.append(compile_glob(body.rstrip("/") or body))
            else:
                only.append(compile_glob(f"{body}**" if body.endswith("/") else body))
        types: tuple[str, ...] = ()
        if args.type is not None:
            types = file_types().get(args.type, ())
            if not types:
                raise GlobError(unknown_type(args.type))
        return FileFilter(tuple(only), tuple(leave_out), types)

    def narrowed(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """`only`, `types` and `leave_out` of a search request, as far as the engines can help."""
        only, types = narrow((text for glob in self.only for text in glob.alternatives), self.types)
        leave_out = read_alike(text for glob in self.leave_out for text in glob.alternatives)
        return only, types, leave_out or ()

    def covers(self, name: str) -> bool:
        """Whether a file passes the globs; its type is left to the engine."""
        if self.only and not any(glob.matches(name) for glob in self.only):
            return False
        if not self.leave_out:
            return True
        ends = [index for index, character in enumerate(name) if character == "/"]
        parts = [name[:end] for end in ends] + [name]
        return not any(glob.matches(part) for glob in self.leave_out for part in parts)
