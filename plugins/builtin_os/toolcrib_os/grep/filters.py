"""Which files the arguments of Grep let through."""

from __future__ import annotations

from attrs import frozen

from toolcrib_os.grep.input import GrepInput
from toolcrib_os.shared.search.file_types import file_types, unknown_type
from toolcrib_os.shared.search.path_glob import GlobError, PathGlob, compile_glob


@frozen
class FileFilter:
    """Globs of which one has to cover a file, globs that must not, and globs of its type."""

    only: tuple[PathGlob, ...]
    leave_out: tuple[str, ...]
    types: tuple[str, ...]

    @staticmethod
    def of(args: GrepInput) -> FileFilter:
        """Read the arguments `glob` and `type`.

        Raises:
            GlobError: one of them cannot be used.
        """
        only: list[PathGlob] = []
        leave_out: list[str] = []
        for text in args.globs:
            negated = text.startswith("!")
            body = text[1:] if negated else text
            if not body.strip("/") or "\0" in body:
                raise GlobError(f"the glob {text!r} can cover no file")
            if negated:
                leave_out += compile_glob(body.rstrip("/")).alternatives
            else:
                only.append(compile_glob(f"{body}**" if body.endswith("/") else body))
        types: tuple[str, ...] = ()
        if args.type is not None:
            types = file_types().get(args.type, ())
            if not types:
                raise GlobError(unknown_type(args.type))
        return FileFilter(tuple(only), tuple(leave_out), types)

    @property
    def alternatives(self) -> tuple[str, ...]:
        """The globs of `only` without braces."""
        return tuple(text for glob in self.only for text in glob.alternatives)

    def covers(self, name: str) -> bool:
        """Whether one of the globs in `only` covers a file, if there are any."""
        return not self.only or any(glob.matches(name) for glob in self.only)
