"""Answers for paths that cannot be read as text: what is wrong, and what to do instead."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence

from toolcrib import Workspace
from toolcrib_os.read.outline import NotText, NotUtf8
from toolcrib_os.shared.encoding import legacy_candidates
from toolcrib_os.shared.names import missing_directory, similar_paths
from toolcrib_os.shared.opening import NotAFileError

_LISTED_ENTRIES = 50


def missing(raw: str, path: str, workspace: Workspace) -> str:
    """There is nothing at the path."""
    display = workspace.display
    if os.path.islink(path):
        return f"{raw!r} is a link to {os.readlink(path)!r}, which does not exist"
    if (directory := missing_directory(path)) is not None:
        return f"{raw!r} does not exist: there is no {display(directory)!r}"
    near = [candidate for candidate in similar_paths(path) if not workspace.hides(candidate)]
    names = [repr(display(candidate)) for candidate in near]
    hint = f"did you mean {' or '.join(names)}?" if names else "look for it with Glob"
    return f"{raw!r} does not exist: {hint}"


def ambiguous(raw: str, candidates: Sequence[str], display: Callable[[str], str]) -> str:
    """Several files have an equivalent name; escapes show how they differ."""
    names = "\n".join(ascii(display(candidate)) for candidate in candidates)
    return (
        f"{raw!r} does not exist, and several names differ from it only in how Unicode spells "
        f"them. Give one of these exactly:\n{names}"
    )


def not_a_file(raw: str, path: str, error: NotAFileError, workspace: Workspace) -> str:
    """There is a directory or a device at the path."""
    if error.kind != "directory":
        return f"{raw!r} is a {error.kind}, not a file: only regular files can be read"
    message = (
        f"{raw!r} is a directory, not a file: list it with `ls` via Bash, or match names below it "
        "with Glob"
    )
    real = os.path.realpath(path)
    try:
        with os.scandir(real) as entries:
            names = sorted(
                entry.name + "/" * entry.is_dir()
                for entry in entries
                if not workspace.hides(os.path.join(real, entry.name))
            )
    except OSError:
        return message
    if not names:
        return f"{message}. It is empty"
    more = len(names) - _LISTED_ENTRIES
    rest = f"\n({more} more)" if more > 0 else ""
    return f"{message}. It holds:\n" + "\n".join(names[:_LISTED_ENTRIES]) + rest


def media(raw: str, kind: str) -> str:
    """The file is a picture or a video."""
    article = "an" if kind == "image" else "a"
    return (
        f"{raw!r} is {article} {kind}, and Read shows text only: use ReadMediaFile if you have "
        "that tool, else a program via Bash"
    )


def contradicting(raw: str) -> str:
    """The name of the file stands for another type than its contents."""
    return (
        f"{raw!r} cannot be read as text: its name and its contents stand for different types of "
        "file. Look at it with `file` via Bash"
    )


def binary(raw: str, error: NotText | None = None) -> str:
    """The file holds something else than text."""
    why = f" (there is a null byte in line {error.line})" if error is not None else ""
    return (
        f"{raw!r} is not readable as text{why}: use a program for its type via Bash, such as "
        "`file`, `strings` or `xxd`"
    )


def not_utf8(raw: str, sample: bytes, error: NotUtf8 | None = None) -> str:
    """The file is text in an encoding that is not a Unicode one."""
    where = f" (byte {error.byte:#04x} in line {error.line})" if error is not None else ""
    guesses = legacy_candidates(sample)
    fits = f"; its bytes would make sense as {', '.join(guesses)}" if guesses else ""
    name = shlex.quote(raw)
    return (
        f"{raw!r} is neither UTF-8 nor UTF-16{where}{fits}. Look at it converted, via Bash: "
        f"`iconv -f {guesses[0] if guesses else 'ENCODING'} -t utf-8 {name}`"
    )


def utf16_too_large(raw: str, label: str, size: int, limit: int) -> str:
    """The file would have to be decoded as a whole."""
    return (
        f"{raw!r} is {label} text of {size} bytes; over {limit} bytes it has to be converted "
        f"first: `iconv -f {label.split()[0]} -t utf-8 {shlex.quote(raw)}` via Bash"
    )
