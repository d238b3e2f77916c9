"""The arguments of Glob."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Le, MinLen
from attrs import frozen
from typing_extensions import Doc

DEFAULT_LIMIT = 100
MAX_LIMIT = 1_000


@frozen(kw_only=True)
class GlobInput:
    """Which files to list."""

    pattern: Annotated[
        str,
        MinLen(1),
        Doc(
            "Glob pattern relative to `path`. Without a slash it is about the file name, at any "
            "depth: `*.py`. With a slash it is about the whole path: `src/**/*.ts`, `/*.md`."
        ),
    ]
    path: Annotated[
        str | None,
        Doc(
            "Directory to search: absolute, or relative to the working directory. Default: the "
            "working directory."
        ),
    ] = None
    include_ignored: Annotated[
        bool,
        Doc("Also list files that ignore files such as `.gitignore` leave out. Default: false."),
    ] = False
    include_dirs: Annotated[
        bool,
        Doc("Also list directories that hold files, with a slash at the end. Default: false."),
    ] = False
    follow: Annotated[
        bool,
        Doc("Also enter linked directories and list linked files. Default: false."),
    ] = False
    limit: Annotated[
        int,
        Ge(1),
        Le(MAX_LIMIT),
        Doc(f"How many paths to list at most. Default: {DEFAULT_LIMIT}."),
    ] = DEFAULT_LIMIT
    offset: Annotated[
        int,
        Ge(0),
        Doc("How many paths to skip, to go on where an earlier call stopped. Default: 0."),
    ] = 0
