"""Counts the lines or words of a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

from acme_tools.count.input import AcmeCountInput
from acme_tools.count.settings import AcmeSettings
from toolcrib import (
    Accesses,
    Execution,
    FileIODisplay,
    RunnableExecution,
    Tool,
    ToolContext,
    ToolResult,
    Workspace,
    literal_rule,
    path_matcher,
    read_description,
)


class AcmeCount(Tool[AcmeCountInput]):
    """Counts the lines or words of a file."""

    name = "AcmeCount"

    def __init__(self, workspace: Workspace, settings: AcmeSettings) -> None:
        self._workspace = workspace
        self._settings = settings

    @property
    def description(self) -> str:
        return read_description(__package__, MAX_BYTES=self._settings.max_bytes)

    def resolve_execution(self, args: AcmeCountInput) -> Execution:
        resolved = self._workspace.resolve(args.path, "read")

        async def execute(context: ToolContext) -> ToolResult:
            file = Path(self._workspace.locate(resolved, "read"))
            try:
                if file.stat().st_size > self._settings.max_bytes:
                    return ToolResult.error(
                        f"{args.path!r} is larger than {self._settings.max_bytes} bytes"
                    )
                text = await asyncio.to_thread(file.read_text, "utf-8")
            except OSError as error:
                return ToolResult.error(f"{args.path!r} cannot be read: {error.strerror}")
            parts = text.splitlines() if args.unit == "lines" else text.split()
            return ToolResult(f"{len(parts)} {args.unit}")

        return RunnableExecution(
            execute,
            approval_rule=literal_rule(self.name, resolved.path),
            accesses=Accesses.read(resolved.path),
            display=FileIODisplay(operation="read", path=resolved.path),
            matches_rule=path_matcher(resolved.path, self._workspace),
        )
