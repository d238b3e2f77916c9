"""From the pattern that a model wrote to one that can be matched."""

from __future__ import annotations

import re

from attrs import frozen

from toolcrib_os.shared.search.path_glob import GlobError, PathGlob, compile_glob

_MAGIC = re.compile(r"[*?\[{\\]")


@frozen
class Wanted:
    """What to list: a compiled pattern, and whether it is about directories only."""

    glob: PathGlob
    only_dirs: bool

    @property
    def literal(self) -> str | None:
        """The path that a pattern without wildcards names."""
        text = self.glob.pattern.removeprefix("./").lstrip("/")
        return None if _MAGIC.search(text) else text

    @property
    def literal_prefix(self) -> str:
        """The directories that every path found lies in, as far as the pattern names them."""
        text = self.glob.pattern.removeprefix("./").lstrip("/")
        magic = _MAGIC.search(text)
        return text[: magic.start() if magic else len(text)].rpartition("/")[0]


def read_pattern(pattern: str, root: str, home_dir: str | None) -> Wanted:
    """Compile a pattern that may also be absolute, as long as it begins with the root.

    Raises:
        GlobError: the pattern cannot be used.
    """
    if "\0" in pattern:
        raise GlobError(f"the pattern {pattern!r} holds a null byte, which no path can hold")
    if pattern.startswith("!"):
        raise GlobError(
            f"the pattern {pattern!r} begins with `!`: a pattern can only say what to list; write "
            "`\\!` when names begin with an exclamation mark"
        )
    if home_dir is not None and pattern.startswith("~/"):
        pattern = home_dir + pattern[1:]
    prefix = root.rstrip("/") + "/"
    if pattern.startswith(prefix):
        pattern = "/" + pattern[len(prefix) :]
    body = pattern.rstrip("/")
    if not body:
        raise GlobError(f"the pattern {pattern!r} names the folder itself: use `**` or `/*`")
    return Wanted(compile_glob(body), only_dirs=body != pattern)
