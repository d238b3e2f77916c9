"""The Write tool: what a call would write, and where."""

from __future__ import annotations

import os
from collections.abc import Callable
from os.path import dirname

from toolcrib import (
    Accesses,
    Execution,
    FileIODisplay,
    ResolvedPath,
    RunnableExecution,
    Tool,
    ToolContext,
    ToolResult,
    Workspace,
    literal_rule,
    path_matcher,
    read_description,
)
from toolcrib_os.shared.atomic import Sight, append_content, look, replace_content
from toolcrib_os.shared.changes import carry_out, surrogate_problem
from toolcrib_os.write.before import earlier_content, earlier_ending
from toolcrib_os.write.input import WriteInput
from toolcrib_os.write.report import appended, created, replaced

_SHOWN_CHARS = 256 * 1024


class WriteTool(Tool[WriteInput]):
    """Creates a file, replaces its content or appends to it."""

    name = "Write"

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def description(self) -> str:
        return read_description(__package__)

    def resolve_execution(self, args: WriteInput) -> Execution:
        resolved = self._workspace.resolve(args.path, "write")
        if problem := surrogate_problem("content", args.content):
            return ToolResult.error(problem)

        async def execute(context: ToolContext) -> ToolResult:
            return await carry_out(
                lambda before_commit: self._write(args, resolved, before_commit),
                doing="append to" if args.mode == "append" else "write",
                path=args.path,
                context=context,
            )

        return RunnableExecution(
            execute=execute,
            approval_rule=literal_rule(self.name, resolved.path),
            accesses=Accesses.write(resolved.path),
            display=_display(args, resolved.path),
            description=f"Writing {args.path}",
            matches_rule=path_matcher(resolved.path, self._workspace),
        )

    def _write(
        self, args: WriteInput, resolved: ResolvedPath, before_commit: Callable[[], None]
    ) -> ToolResult:
        path = self._workspace.locate(resolved, "write")
        data = args.content.encode()
        seen = look(path)
        if seen is None:
            os.makedirs(dirname(path), exist_ok=True)
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


def _display(args: WriteInput, path: str) -> FileIODisplay:
    shown = args.content[:_SHOWN_CHARS]
    left = len(args.content) - len(shown)
    return FileIODisplay(
        operation="write",
        path=path,
        content=shown,
        detail=f"{left} more characters" if left else None,
    )
