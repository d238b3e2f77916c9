"""What git needs to stay intact, and what it can bring back."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from posixpath import basename, dirname, join, normpath
from time import monotonic

from attrs import frozen

_GIT_DIR = re.compile(r"\s*gitdir:\s*(.+?)\s*$", re.IGNORECASE | re.DOTALL)
_HOOKS_PATH = re.compile(r"^\s*hooksPath\s*=\s*\"?([^\"\n#;]+)", re.IGNORECASE | re.MULTILINE)
_MAX_BYTES = 1 << 16
_TIMEOUT_S = 2.0
_SEEN_FOR_S = 1.0
_MOST_SEEN = 64
_seen: dict[str, tuple[float, WorkTree | None]] = {}


@frozen
class WorkTree:
    """A git work tree: its folder, and the folders that control it, by absolute path."""

    root: str
    control: tuple[str, ...]

    def controls(self, path: str) -> bool:
        """Whether a path is or lies in what git takes its orders from."""
        return any(path == c or path.startswith(f"{c}/") for c in self.control)


def is_control_path(path: str, tree: WorkTree | None) -> bool:
    """Whether an absolute path belongs to git itself: `.git`, what it points to, `.gitmodules`."""
    folded = path.lower().replace("\\", "/")
    if "/.git" in folded and (".git" in folded.split("/") or basename(folded) == ".gitmodules"):
        return True
    return tree is not None and tree.controls(path)


def work_tree(folder: str) -> WorkTree | None:
    """The work tree that a folder without links lies in, as it was less than a second ago."""
    now = monotonic()
    known = _seen.get(folder)
    if known is None or known[0] < now:
        if len(_seen) > _MOST_SEEN:
            _seen.clear()
        known = _seen[folder] = (now + _SEEN_FOR_S, _find_tree(folder))
    return known[1]


def _find_tree(folder: str) -> WorkTree | None:
    at = folder
    while True:
        entry = f"{at.rstrip('/')}/.git"
        changed = _mtime(entry)
        if changed:
            return _read_tree(at, entry, changed, _mtime(f"{entry}/config"))
        if at == "/":
            return None
        at = dirname(at)


@lru_cache(maxsize=64)
def _read_tree(root: str, entry: str, changed: int, config_changed: int) -> WorkTree:
    git_dir = entry
    if not os.path.isdir(entry):
        pointer = _GIT_DIR.match(_text(entry).removeprefix("\ufeff"))
        if pointer is not None:
            git_dir = normpath(join(root, pointer[1]))
    control = [entry, git_dir]
    common = _text(join(git_dir, "commondir")).strip()
    shared = normpath(join(git_dir, common)) if common else git_dir
    control.append(shared)
    for found in _HOOKS_PATH.findall(_text(join(shared, "config"))):
        control.append(normpath(join(root, os.path.expanduser(found.strip()))))
    both = [*control, *map(os.path.realpath, control)]
    # A hooks folder that is the work tree itself would forbid everything.
    return WorkTree(root, tuple(dict.fromkeys(c for c in both if c != root)))


async def can_bring_back(paths: Iterable[str], root: str) -> bool:
    """Whether git knows each file, or would once it exists: tracked, or new and not ignored."""
    for path in paths:
        question, answer = _question_about(path)
        if await _git(root, question) != answer:
            return False
    return True


def _question_about(path: str) -> tuple[tuple[str, ...], int]:
    """What to ask git about a file, and the exit code that is good news."""
    if os.path.lexists(path):
        return ("ls-files", "--error-unmatch", "--", path), 0
    return ("check-ignore", "--quiet", "--", path), 1


async def _git(root: str, arguments: tuple[str, ...]) -> int | None:
    """The exit code of git, told to run nothing of the repository's; None when it cannot run."""
    import asyncio

    try:
        process = await asyncio.create_subprocess_exec(
            *("git", "-C", root, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _mtime(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return ""
