"""The Read tool: what a call would read, and the body that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from toolcrib import (
    Accesses,
    Execution,
    PathSecurityError,
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
from toolcrib_os.read.input import ReadInput
from toolcrib_os.read.settings import ReadSettings

if TYPE_CHECKING:
    from toolcrib_os.read.reading import FileReader


class ReadTool(Tool[ReadInput]):
    """Shows numbered lines of a text file."""

    name = "Read"

    def __init__(self, workspace: Workspace, settings: ReadSettings) -> None:
        self._workspace = workspace
        self._settings = settings
        self._reader: FileReader | None = None

    @property
    def description(self) -> str:
        return read_description(
            __package__,
            DEFAULT_MAX_CHARS=self._settings.effective_default,
            MAX_CHARS=self._settings.max_chars,
        )

    def resolve_execution(self, args: ReadInput) -> Execution:
        """Check path and arguments.

        Raises:
            PathSecurityError: the path may not be read.
        """
        if args.column_offset and args.line_offset < 0:
            return _exempt(
                ToolResult.error(
                    f"column_offset {args.column_offset} goes with a positive line_offset only, "
                    f"not with {args.line_offset}: give the number of the line, as the note of "
                    "the last Read suggests"
                )
            )
        # Listing the tools must not load what only calls need.
        from toolcrib import FileIODisplay

        resolved = self._workspace.resolve(args.path, "read")

        async def execute(context: ToolContext) -> ToolResult:
            return await self._execute(args, resolved, context)

        return RunnableExecution(
            execute=execute,
            approval_rule=literal_rule("Read", resolved.path),
            accesses=Accesses.read(resolved.path),
            display=FileIODisplay(operation="read", path=resolved.path),
            description=f"Reading {args.path}",
            matches_rule=path_matcher(resolved.path, self._workspace),
        )

    async def _execute(
        self, args: ReadInput, resolved: ResolvedPath, context: ToolContext
    ) -> ToolResult:
        # Listing the tools must not load what only reading needs.
        from toolcrib_os.read.reading import FileReader
        from toolcrib_os.read.status import PageRequest

        if self._reader is None:
            self._reader = FileReader(self._workspace)
        wanted = args.max_chars or self._settings.effective_default
        request = PageRequest(
            path=args.path,
            line_offset=args.line_offset,
            column_offset=args.column_offset,
            n_lines=args.n_lines,
            budget=min(wanted, self._settings.max_chars),
            asked_chars=wanted if wanted > self._settings.max_chars else None,
        )
        try:
            return _exempt(await self._reader.read(request, resolved, context))
        except PathSecurityError as error:
            return _exempt(ToolResult.error(str(error)))


def _exempt(result: ToolResult) -> ToolResult:
    """Read keeps to a budget of its own, so the one for all tools leaves its results alone."""
    return evolve(result, spill_exempt=True)
