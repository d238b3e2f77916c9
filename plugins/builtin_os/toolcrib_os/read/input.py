"""The arguments of Read."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Lt
from attrs import frozen
from typing_extensions import Doc


@frozen(kw_only=True)
class ReadInput:
    """Which lines of which file to show, and how many characters at most."""

    path: Annotated[
        str,
        Doc(
            "Path of a text file. A relative path starts at the working directory; a file outside "
            "it needs an absolute path. For a directory use `ls` with Bash, to find files by "
            "pattern use Glob."
        ),
    ]
    line_offset: Annotated[
        Annotated[int, Ge(1)] | Annotated[int, Lt(0)],
        Doc(
            "The line to start at, counted from 1. A negative number -N stands for the last N "
            "lines. Default: 1."
        ),
    ] = 1
    column_offset: Annotated[
        int,
        Ge(0),
        Doc(
            "How many characters of the first line to skip, for going on in a line that was too "
            "long for one call. Only with a positive line_offset. Default: 0."
        ),
    ] = 0
    n_lines: Annotated[
        int | None,
        Ge(1),
        Doc(
            "How many lines to show. Without it, all up to the end of the file or the character "
            "budget."
        ),
    ] = None
    max_chars: Annotated[
        int | None,
        Ge(1),
        Doc("Character budget of this call, when the default does not fit the purpose."),
    ] = None
