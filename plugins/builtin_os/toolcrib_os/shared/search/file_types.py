"""The kinds of files that `type` can name, the same for both engines."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files


@lru_cache(maxsize=1)
def file_types() -> dict[str, tuple[str, ...]]:
    """Globs of file names by the name of the type, as ripgrep 15 has them."""
    text = files(__package__ or "").joinpath("file_types.txt").read_text("utf-8")
    pairs = (line.split(": ", 1) for line in text.splitlines())
    return {name: tuple(globs.split(", ")) for name, globs in pairs}


def unknown_type(name: str) -> str:
    """The message for a type that does not exist: what is near, and what else to do."""
    from difflib import get_close_matches

    types = file_types()
    suffix = f"*.{name.lstrip('.').lower()}"
    near = [known for known, globs in types.items() if suffix in globs]
    near += get_close_matches(name.lower(), types, n=5, cutoff=0.6)
    meant = ", ".join(dict.fromkeys(near))
    hint = f" Did you mean: {meant}?" if meant else " Examples: py, js, ts, rust, go, java, md."
    return f"There is no file type {name!r}.{hint} Or filter by name, with glob: '{suffix}'."
