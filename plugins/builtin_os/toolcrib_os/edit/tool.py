"""The Edit tool: what a call would change, and how."""

from __future__ import annotations

from collections.abc import Callable

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
from toolcrib_os.edit.diagnosis import not_found
from toolcrib_os.edit.input import EditInput
from toolcrib_os.edit.matching import Document, spliced
from toolcrib_os.edit.report import edited, not_unique, undecodable
from toolcrib_os.shared.atomic import read_whole, replace_content
from toolcrib_os.shared.changes import carry_out, surrogate_problem


class EditTool(Tool[EditInput]):
    """Replaces an exact text in a file."""

    name = "Edit"

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def description(self) -> str:
        return read_description(__package__)

    def resolve_execution(self, args: EditInput) -> Execution:
        resolved = self._workspace.resolve(args.path, "write")
        for name, text in (("old_string", args.old_string), ("new_string", args.new_string)):
            if problem := surrogate_problem(name, text):
                return ToolResult.error(problem)

        async def execute(context: ToolContext) -> ToolResult:
            if args.old_string == args.new_string:
                return ToolResult.error(
                    f"there is nothing to change in {args.path!r}: old_string and new_string are "
                    "the same."
                )
            return await carry_out(
                lambda before_commit: self._edit(args, resolved, before_commit),
                doing="edit",
                path=args.path,
                context=context,
            )

        return RunnableExecution(
            execute=execute,
            approval_rule=literal_rule(self.name, resolved.path),
            accesses=Accesses.readwrite(resolved.path),
            display=FileIODisplay(
                operation="edit",
                path=resolved.path,
                before=args.old_string,
                after=args.new_string,
            ),
            description=f"Editing {args.path}",
            matches_rule=path_matcher(resolved.path, self._workspace),
        )

    def _edit(
        self, args: EditInput, resolved: ResolvedPath, before_commit: Callable[[], None]
    ) -> ToolResult:
        path = self._workspace.locate(resolved, "write")
        data, seen = read_whole(path)
        try:
            document = Document.of(data)
        except UnicodeDecodeError as error:
            return undecodable(args.path, data, error.start)
        found = document.find(args.old_string)
        if not found:
            return not_found(document, args)
        if len(found) > 1 and not args.replace_all:
            return not_unique(document, args, found)
        old, new = document.raw(args.old_string), document.raw(args.new_string)
        if old == new:
            return ToolResult.error(
                f"there is nothing to change in {args.path!r}: old_string and new_string differ "
                "only in line endings, and those of the file are kept."
            )
        result = spliced(data, found, len(old), new)
        replace_content(path, result, seen=seen, before_commit=before_commit)
        return edited(args, document, result, found, len(new) - len(old))
