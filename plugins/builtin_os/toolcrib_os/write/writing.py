"""Carries out a Write: new files, replaced content, appended content."""

from __future__ import annotations

from collections.abc import Callable

from toolcrib import FileIODisplay, ResolvedPath, ToolResult, Workspace
from toolcrib_os.shared.atomic import Sight, append_content, look, replace_content
from toolcrib_os.write.before import earlier_content, earlier_ending
from toolcrib_os.write.input import WriteInput
from toolcrib_os.write.report import appended, created, replaced

_SHOWN_CHARS = 256 * 1024


def display(args: WriteInput, path: str) -> FileIODisplay:
    """What people are shown of a Write before it is carried out."""
    shown = args.content[:_SHOWN_CHARS]
    left = len(args.content) - len(shown)
    return FileIODisplay(
        operation="write",
        path=path,
        content=shown,
        detail=f"{left} more characters" if left else None,
    )


def write_file(
    args: WriteInput,
    resolved: ResolvedPath,
    workspace: Workspace,
    before_commit: Callable[[], None],
) -> ToolResult:
    """Write as the arguments say; `before_commit` is called just before others can see it."""
    path = workspace.locate(resolved, "write")
    data = args.content.encode()
    seen = look(path)
    if seen is None:
        replace_content(path, data, seen=None, before_commit=before_commit)
        return created(args, len(data))
    if args.mode == "append":
        return _append(path, data, args, before_commit)
    return _replace(path, data, seen, args, before_commit)


def _append(
    path: str, data: bytes, args: WriteInput, before_commit: Callable[[], None]
) -> ToolResult:
    ending = earlier_ending(path)
    if ending is not None and ending.utf_16:
        return ToolResult.error(
            f"cannot append to {args.path!r}: it is in UTF-16, and UTF-8 text would make it "
            "unreadable. Convert it first, for example with `iconv -f UTF-16 -t UTF-8`."
        )
    old_size = append_content(path, data, before_commit=before_commit)
    return appended(args, len(data), old_size, ending)


def _replace(
    path: str, data: bytes, seen: Sight, args: WriteInput, before_commit: Callable[[], None]
) -> ToolResult:
    earlier = earlier_content(path)
    if earlier == data:
        return ToolResult(
            f"{args.path} is unchanged: it already holds exactly these {len(data)} bytes."
        )
    replace_content(path, data, seen=seen, before_commit=before_commit)
    return replaced(args, data, seen.size, earlier)
