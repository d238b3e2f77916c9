"""The Edit tool: what a call would change, and how."""

from __future__ import annotations

from toolcrib import (
    Accesses,
    Execution,
    RunnableExecution,
    Tool,
    ToolContext,
    ToolResult,
    Workspace,
    literal_rule,
    path_matcher,
    read_description,
)
from toolcrib_os.edit.input import EditInput


class EditTool(Tool[EditInput]):
    """Replaces an exact text in a file."""

    name = "Edit"

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def description(self) -> str:
        return read_description(__package__)

    def resolve_execution(self, args: EditInput) -> Execution:
        # Listing the tools must not load what only editing needs.
        from toolcrib import FileIODisplay
        from toolcrib_os.edit.editing import edit_file
        from toolcrib_os.shared.changes import carry_out, surrogate_problem

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
                lambda before_commit: edit_file(args, resolved, self._workspace, before_commit),
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
