"""From a path to a page of text: opens the file, judges what it is, and shows a part."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from attrs import evolve, field, frozen

from toolcrib import ResolvedPath, ToolContext, ToolResult, Workspace
from toolcrib_os.read import answers
from toolcrib_os.read.cache import OutlineCache
from toolcrib_os.read.column import NoSuchColumn
from toolcrib_os.read.outline import CHECKED_BYTES, NotText, NotUtf8, outline
from toolcrib_os.read.page import Page, column_error
from toolcrib_os.read.source import ChangedWhileReading, FileSource, MemorySource, ReadCancelled
from toolcrib_os.read.status import PageRequest
from toolcrib_os.shared.encoding import SAMPLE_BYTES, UTF_8, Encoding, classify
from toolcrib_os.shared.filetype import text_type
from toolcrib_os.shared.fserrors import fs_failure
from toolcrib_os.shared.names import equivalent_paths
from toolcrib_os.shared.opening import NotAFileError, open_regular

SMALL_BYTES = 1024 * 1024
"""Up to this size a file is read at once, without a thread."""
MAX_UTF16_BYTES = 10 * 1024 * 1024

Cancelled = Callable[[], bool]


@frozen
class FileReader:
    """Reads files of one workspace, and remembers the outlines of large ones."""

    workspace: Workspace
    _cache: OutlineCache = field(factory=OutlineCache)

    async def read(
        self, request: PageRequest, resolved: ResolvedPath, context: ToolContext
    ) -> ToolResult:
        """The page, or an error result.

        Raises:
            PathSecurityError: links lead to where reading is not allowed.
        """
        try:
            return await self._read_located(request, resolved, context)
        except FileNotFoundError:
            return await self._read_equivalent(request, resolved, context)
        except NotAFileError as error:
            return ToolResult.error(
                answers.not_a_file(request.path, resolved.path, error, self.workspace)
            )
        except (OSError, ValueError) as error:
            return ToolResult.error(fs_failure("read", request.path, error))

    async def _read_equivalent(
        self, request: PageRequest, resolved: ResolvedPath, context: ToolContext
    ) -> ToolResult:
        """Look for the one file that the path names if Unicode spellings count as equal."""
        raw, display = request.path, self.workspace.display
        candidates = await asyncio.to_thread(equivalent_paths, resolved.path)
        if len(candidates) == 1:
            name = ascii(display(candidates[0]))
            remark = f"No file has exactly this name; {name}, spelled with other characters, has."
            return await self.read(
                evolve(request, remarks=(*request.remarks, remark)),
                evolve(resolved, path=candidates[0]),
                context,
            )
        if candidates:
            return ToolResult.error(answers.ambiguous(raw, candidates, display))
        message = await asyncio.to_thread(answers.missing, raw, resolved.path, self.workspace)
        return ToolResult.error(message)

    async def _read_located(
        self, request: PageRequest, resolved: ResolvedPath, context: ToolContext
    ) -> ToolResult:
        real = self.workspace.locate(resolved, "read")
        if os.lstat(real).st_size <= SMALL_BYTES:
            return self._read_file(request, real, lambda: False)
        try:
            return await asyncio.to_thread(
                self._read_file, request, real, lambda: context.cancelled
            )
        except ReadCancelled:
            raise asyncio.CancelledError from None

    def _read_file(self, request: PageRequest, real: str, cancelled: Cancelled) -> ToolResult:
        """Read, and if the file changed meanwhile, once more; then it may at most have grown."""
        descriptor, status = open_regular(real)
        try:
            for last_attempt in (False, True):
                result = self._attempt(request, real, _Opened(descriptor, status, cancelled))
                before, status = status, os.fstat(descriptor)
                same = _state(before) == _state(status)
                if result is not None and (
                    same or (last_attempt and status.st_size > before.st_size)
                ):
                    return result
        finally:
            os.close(descriptor)
        return ToolResult.error(f"{request.path!r} changed while it was read: read it again")

    def _attempt(self, request: PageRequest, real: str, opened: _Opened) -> ToolResult | None:
        raw = request.path
        try:
            return self._page(request, real, opened)
        except ChangedWhileReading:
            return None
        except NotText as error:
            return ToolResult.error(answers.binary(raw, error))
        except NotUtf8 as error:
            return ToolResult.error(answers.not_utf8(raw, error.sample, error))
        except NoSuchColumn as error:
            return column_error(request, error)

    def _page(self, request: PageRequest, real: str, opened: _Opened) -> ToolResult:
        raw = request.path
        head = opened.head()
        kind, encoding = text_type(real, head).kind, classify(head)
        if kind in ("image", "video"):
            return ToolResult.error(answers.media(raw, kind))
        if isinstance(encoding, Encoding) and encoding.charset != "utf-8":
            return _utf16_page(request, opened, encoding)
        if encoding == "binary":
            return ToolResult.error(answers.binary(raw))
        if kind == "unknown":
            return ToolResult.error(answers.contradicting(raw))
        if encoding == "other":
            return ToolResult.error(answers.not_utf8(raw, head))
        if opened.small:
            memory = MemorySource(opened.content().removeprefix(encoding.bom))
            return Page(memory, outline(memory), request).read()
        return self._large_page(request, real, opened, len(encoding.bom))

    def _large_page(
        self, request: PageRequest, real: str, opened: _Opened, skip: int
    ) -> ToolResult:
        status = opened.status
        source = FileSource(opened.descriptor, status.st_size - skip, skip, opened.cancelled)
        known = self._cache.find(real, status, source) or outline(source)
        result = Page(source, known, request).read()
        self._cache.keep(real, status, source, known)
        return result


@frozen
class _Opened:
    """A file that was opened, with its state at the time."""

    descriptor: int
    status: os.stat_result
    cancelled: Cancelled

    @property
    def small(self) -> bool:
        return self.status.st_size <= SMALL_BYTES

    def head(self) -> bytes:
        return os.pread(self.descriptor, SAMPLE_BYTES, 0)

    def content(self) -> bytes:
        """All of it; the size is not trusted, since files below /proc claim to have none."""
        parts: list[bytes] = []
        offset = 0
        while part := os.pread(self.descriptor, SMALL_BYTES, offset):
            parts.append(part)
            offset += len(part)
            if offset > CHECKED_BYTES:
                raise ChangedWhileReading
        return b"".join(parts)


def _utf16_page(request: PageRequest, opened: _Opened, encoding: Encoding) -> ToolResult:
    size = opened.status.st_size
    if size > MAX_UTF16_BYTES:
        return ToolResult.error(
            answers.utf16_too_large(request.path, encoding.label, size, MAX_UTF16_BYTES)
        )
    remarks = [*request.remarks, f"The file is {encoding.label}; Write saves UTF-8."]
    data = opened.content()
    try:
        text = encoding.decode(data)
    except UnicodeDecodeError:
        text = data.removeprefix(encoding.bom).decode(encoding.charset, "replace")
        remarks.append("It is damaged: what could not be decoded is shown as \ufffd.")
    memory = MemorySource(UTF_8.encode(text))
    return Page(memory, outline(memory), evolve(request, remarks=tuple(remarks))).read()


def _state(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns
