"""The Write tool: what a call would write, and where."""

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
from toolcrib_os.write.input import WriteInput


class WriteTool(Tool[WriteInput]):
    """Creates a file, replaces its content or appends to it."""

    name = "Write"

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @property
    def description(self) -> str:
        return read_description(__package__)

    def resolve_execution(self, args: WriteInput) -> Execution:
        # Listing the tools must not load what only writing needs.
        from toolcrib_os.shared.changes import carry_out, surrogate_problem
        from toolcrib_os.write.writing import display, write_file

        resolved = self._workspace.resolve(args.path, "write")
        if problem := surrogate_problem("content", args.content):
            return ToolResult.error(problem)

        async def execute(context: ToolContext) -> ToolResult:
            return await carry_out(
                lambda before_commit: write_file(args, resolved, self._workspace, before_commit),
                doing="append to" if args.mode == "append" else "write",
                path=args.path,
                context=context,
            )

        return RunnableExecution(
            execute=execute,
            approval_rule=literal_rule(self.name, resolved.path),
            accesses=Accesses.write(resolved.path),
            display=display(args, resolved.path),
            description=f"Writing {args.path}",
            matches_rule=path_matcher(resolved.path, self._workspace),
        )
