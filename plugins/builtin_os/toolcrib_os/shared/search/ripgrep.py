"""Where ripgrep is, and how a request is put to it."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator

from toolcrib_os.shared.search.request import MAX_LINE_BYTES, VERSION_CONTROL, SearchRequest

_NAME = "rg.exe" if sys.platform == "win32" else "rg"
# The engine in Python knows no other ignore files, and both have to find the same.
_ALWAYS = ("--no-config", "--color=never", "--hidden", "--no-ignore-global", "--no-ignore-exclude")
_MODES = {
    "list": ("--files", "--null"),
    "files": ("--files-with-matches", "--null"),
    "count": ("--count-matches", "--with-filename", "--null"),
    "content": ("--heading", "--with-filename", "--line-number", "--null"),
}


def find_ripgrep(rg_path: str | None, search_path: str) -> str | None:
    """The absolute path of an executable ripgrep: the configured one, on PATH, or our wheel's.

    Relative entries of PATH are passed over, so that no workspace can bring its own.

    Raises:
        FileNotFoundError: the configured one is not there or cannot be executed.
    """
    if rg_path is not None:
        path = os.path.abspath(os.path.expanduser(rg_path))
        if not _executable(path):
            raise FileNotFoundError(
                f"[search] rg_path names {rg_path!r}, which is no executable file: correct it, or "
                "remove it to let ripgrep be found"
            )
        return path
    return next(filter(_executable, _candidates(search_path)), None)


def _candidates(search_path: str) -> Iterator[str]:
    for folder in (*search_path.split(os.pathsep), os.path.dirname(sys.executable)):
        if os.path.isabs(folder):
            yield os.path.join(folder, _NAME)
    if scripts := sysconfig.get_path("scripts"):
        yield os.path.join(scripts, _NAME)


def _executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def ripgrep_arguments(request: SearchRequest, only_file: str | None) -> list[str]:
    """The arguments for ripgrep; `only_file` is an ignore file made by `only_lines`."""
    arguments = [*_ALWAYS, *_MODES[request.mode]]
    arguments += [f"--glob=!{name}" for name in VERSION_CONTROL]
    arguments += [f"--glob=!{glob}" for glob in request.leave_out]
    for glob in request.types:
        arguments.append(f"--type-add=wanted:{glob}")
    if request.types:
        arguments.append("--type=wanted")
    if only_file is not None:
        arguments.append(f"--ignore-file={only_file}")
    if request.include_ignored:
        arguments.append("--no-ignore")
    else:
        if not request.repository:
            arguments.append("--no-require-git")
        if request.base == request.cwd:
            arguments.append("--no-ignore-parent")
    if request.follow:
        arguments.append("--follow")
    if request.mode != "list":
        arguments += _pattern_arguments(request)
    return [*arguments, "--", f"./{request.file or ''}"]


def _pattern_arguments(request: SearchRequest) -> list[str]:
    arguments = ["--crlf"]
    if request.ignore_case:
        arguments.append("--ignore-case")
    else:
        arguments.append("--case-sensitive")
    if request.fixed_strings:
        arguments.append("--fixed-strings")
    if request.word:
        arguments.append("--word-regexp")
    if request.multiline:
        arguments += ["--multiline", "--multiline-dotall"]
    if request.mode == "content":
        arguments += [f"--max-columns={MAX_LINE_BYTES}", "--max-columns-preview"]
        if request.only_matching:
            arguments.append("--only-matching")
        if request.before:
            arguments.append(f"--before-context={request.before}")
        if request.after:
            arguments.append(f"--after-context={request.after}")
    return [*arguments, f"--regexp={request.pattern}"]


def only_lines(globs: tuple[str, ...]) -> str:
    """An ignore file that leaves everything out but folders and what the globs cover.

    A glob given as an option would bring back what other ignore files leave out.
    """
    return "\n".join(("*", "!*/", *(f"!{glob}" for glob in globs), ""))
