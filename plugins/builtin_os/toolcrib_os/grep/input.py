"""The arguments of Grep."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, MinLen
from attrs import frozen
from typing_extensions import Doc

from toolcrib import Alias

DEFAULT_LIMIT = 250

OutputMode = Literal["files_with_matches", "content", "count_matches"]


@frozen(kw_only=True)
class GrepInput:
    """What to look for, where, and how much of it to show."""

    pattern: Annotated[
        str,
        MinLen(1),
        Doc("Regular expression in ripgrep's (Rust) syntax: no look-around, no backreferences."),
    ]
    path: Annotated[
        str | None,
        Doc(
            "File or directory to search: absolute, or relative to the working directory. "
            "Default: the working directory."
        ),
    ] = None
    glob: Annotated[
        str | list[str] | None,
        Doc(
            "Search only files that this glob covers, or one of several: `*.py`, "
            "`src/**/*.{ts,tsx}`, relative to `path`. With a leading `!` it leaves files and "
            "directories out: `!tests`."
        ),
    ] = None
    type: Annotated[
        str | None,
        Doc("Search only files of this type, such as py, js, ts, rust, go, java, md."),
    ] = None
    output_mode: Annotated[
        OutputMode,
        Doc(
            "files_with_matches (default) lists paths, newest first; content shows the lines; "
            "count_matches counts the matches of each file."
        ),
    ] = "files_with_matches"
    ignore_case: Annotated[bool, Alias("-i"), Doc("Ignore case. Default: false.")] = False
    line_numbers: Annotated[
        bool, Alias("-n"), Doc("Show line numbers; for content only. Default: true.")
    ] = True
    after: Annotated[
        int | None, Ge(0), Alias("-A"), Doc("Lines to show after each match; for content only.")
    ] = None
    before: Annotated[
        int | None, Ge(0), Alias("-B"), Doc("Lines to show before each match; for content only.")
    ] = None
    context: Annotated[
        int | None,
        Ge(0),
        Alias("-C"),
        Doc("Lines to show before and after each match, instead of -A and -B; for content only."),
    ] = None
    head_limit: Annotated[
        int,
        Ge(0),
        Doc(
            "How many entries (paths, lines or counts) to show at most; 0 shows all. "
            f"Default: {DEFAULT_LIMIT}."
        ),
    ] = DEFAULT_LIMIT
    offset: Annotated[
        int,
        Ge(0),
        Doc("How many entries to skip, to go on where an earlier call stopped. Default: 0."),
    ] = 0
    multiline: Annotated[
        bool,
        Doc("Let matches span lines, and `.` match line ends. Default: false."),
    ] = False
    fixed_strings: Annotated[bool, Doc("Take the pattern as plain text. Default: false.")] = False
    word: Annotated[bool, Doc("Match whole words only. Default: false.")] = False
    only_matching: Annotated[
        bool, Doc("Show only the matching part of each line; for content only. Default: false.")
    ] = False
    include_ignored: Annotated[
        bool,
        Doc("Also search files that ignore files such as `.gitignore` leave out. Default: false."),
    ] = False
    follow: Annotated[
        bool,
        Doc("Also enter linked directories and search linked files. Default: false."),
    ] = False

    @property
    def globs(self) -> list[str]:
        """The globs, however they were given."""
        if self.glob is None:
            return []
        return [self.glob] if isinstance(self.glob, str) else self.glob

    @property
    def lines_around(self) -> tuple[int, int]:
        """How many lines to show before and after a match."""
        if self.output_mode != "content" or self.only_matching:
            return 0, 0
        if self.context is not None:
            return self.context, self.context
        return self.before or 0, self.after or 0
