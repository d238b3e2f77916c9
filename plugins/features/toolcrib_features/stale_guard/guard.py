"""Puts a check in front of the body of Write and Edit, and notes what bodies have shown and done.

Both happen inside the body, so while the call has the file to itself: a Read earlier in the same
batch counts if, and only if, it has succeeded.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Literal, TypeVar

from attrs import evolve

from toolcrib import ToolCall, ToolContext, ToolResult
from toolcrib_features.stale_guard.fingerprint import (
    Fingerprint,
    fingerprint,
    stamp_of,
    unchanged,
)
from toolcrib_features.stale_guard.lines import joined, shown_range, total_lines, unseen
from toolcrib_features.stale_guard.memory import Knowledge, Memory, memory_of
from toolcrib_features.stale_guard.settings import StaleGuardSettings

T = TypeVar("T")
_Missing = Literal["all", "change"] | tuple[int, int]
"""The whole file, its latest change, or so many of its lines (and how many it has)."""


def guard(call: ToolCall) -> None:
    """Wrap the body of a resolved Read, Write or Edit."""
    path = _path(call)
    if call.session is None or call.execution is None or path is None:
        return
    settings = StaleGuardSettings(**call.session.section("stale_guard"))
    if settings.mode == "off":
        return
    watch = _Watch(call, path, memory_of(call.session), warn_only=settings.mode == "warn")
    call.execution = evolve(call.execution, execute=watch.execute)


class _Watch:
    """One call, from before its body to after it."""

    def __init__(self, call: ToolCall, path: str, memory: Memory, *, warn_only: bool) -> None:
        assert call.execution is not None
        self._call = call
        self._body = call.execution.execute
        self._path = path
        self._memory = memory
        self._warn_only = warn_only

    async def execute(self, context: ToolContext) -> ToolResult:
        key = self._key()
        real = key[1]
        if self._call.name == "Read":
            return await self._watched_read(context, key)
        known = self._memory.get(key)
        missing = await _quickly(real, lambda: _missing(real, known))
        objection = self._objection(missing)
        if objection is not None and not self._warn_only:
            return ToolResult.error(objection)
        result = await self._body(context)
        if not result.is_error:
            await self._note_change(key, knew_all=missing is None)
        return result if objection is None else _with_warning(result, objection)

    async def _watched_read(self, context: ToolContext, key: tuple[str, str]) -> ToolResult:
        real = key[1]
        before = stamp_of(real)
        result = await self._body(context)
        if result.is_error or before is None:
            return result
        file = await _quickly(real, lambda: fingerprint(real))
        if file is None or file.stamp != before:
            return result  # which content was shown is not known
        known = self._memory.get(key)
        still = known is not None and _same(known.file, file)
        seen = known.seen if known is not None and still else ()
        shown = shown_range(result.output)
        if seen is not None and shown is not None:
            seen = joined(seen, shown)
        self._memory[key] = Knowledge(file, seen)
        return result

    def _objection(self, missing: _Missing | None) -> str | None:
        """Why the call should not run, or None."""
        name, path = self._call.name, self._call.arguments.get("path", self._path)
        match missing:
            case "all":
                return (
                    f"{path!r} exists and was not read yet: Read it first, then repeat the {name}. "
                    "Nothing was changed."
                )
            case "change":
                return (
                    f"{path!r} has changed since it was last read (by a command, another program "
                    f"or the user): Read it again, then repeat the {name} if it still applies. "
                    "Nothing was changed."
                )
            case (count, total) if self._overwrites:
                return (
                    f"{count} lines never shown: {path!r} has {total} lines as it is now, of which "
                    f"you have seen {total - count}, and this Write would delete the others. Read "
                    "them first, or change the part that you know with Edit. Nothing was changed."
                )
        return None

    async def _note_change(self, key: tuple[str, str], *, knew_all: bool) -> None:
        """After a change of its own the agent knows the file as it is now."""
        real = key[1]
        file = await _quickly(real, lambda: fingerprint(real))
        if file is None:
            self._memory.pop(key, None)
            return
        # Where lines have moved to is not known: of a file known in part, none count as seen.
        seen = None if knew_all or self._overwrites else ()
        self._memory[key] = Knowledge(file, seen)

    def _key(self) -> tuple[str, str]:
        return (self._call.agent, os.path.realpath(self._path))

    @property
    def _overwrites(self) -> bool:
        call = self._call
        return call.name == "Write" and call.arguments.get("mode", "overwrite") == "overwrite"


def _missing(real: str, known: Knowledge | None) -> _Missing | None:
    """What an agent does not know of the file as it is; None if it knows all, or there is none."""
    if stamp_of(real) is None:
        return None
    if known is None:
        return "all"
    if not unchanged(real, known.file):
        return "change"
    if known.seen is None:
        return None
    total = total_lines(real)
    count = unseen(known.seen, total)
    return (count, total) if count else None


async def _quickly(path: str, work: Callable[[], T]) -> T:
    """Do work on a file: at once on a small one, in a thread on a big one."""
    try:
        small = os.stat(path).st_size <= 256 * 1024
    except OSError:
        small = True
    return work() if small else await asyncio.to_thread(work)


def _same(one: Fingerprint, other: Fingerprint) -> bool:
    if one.digest is None or other.digest is None:
        return one.brief == other.brief
    return one.digest == other.digest


def _path(call: ToolCall) -> str | None:
    """The absolute path of the one file that the call is about."""
    accesses = call.execution.accesses if call.execution is not None else None
    for access in accesses.items if accesses is not None else ():
        path = getattr(access, "path", None)
        if path is not None and os.path.isabs(path):
            return str(path)
    return None


def _with_warning(result: ToolResult, warning: str) -> ToolResult:
    text = warning.replace("Nothing was changed.", "").strip()
    return evolve(result, note=f"{result.note}\n{text}" if result.note else text)
