"""The Bash tool: what a call would run, and where."""

from __future__ import annotations

from toolcrib import (
    Accesses,
    CommandAnalysis,
    Execution,
    PathSecurityError,
    ResolvedPath,
    RunnableExecution,
    Runtime,
    Tool,
    ToolContext,
    ToolResult,
    Workspace,
    literal_rule,
    read_description,
    text_matcher,
)
from toolcrib_os.bash.input import BashInput
from toolcrib_os.bash.settings import BashSettings

_SHOWN_CHARS = 50


class BashTool(Tool[BashInput]):
    """Runs shell commands in the foreground, one call in one shell."""

    name = "Bash"

    def __init__(self, workspace: Workspace, runtime: Runtime, settings: BashSettings) -> None:
        self._workspace = workspace
        self._runtime = runtime
        self._settings = settings

    @property
    def description(self) -> str:
        return read_description(
            __package__,
            SHELL=self._runtime.shell,
            DEFAULT_TIMEOUT=self._settings.effective_default_s,
            MAX_TIMEOUT=self._settings.max_timeout_s,
        )

    def resolve_execution(self, args: BashInput) -> Execution:
        # Listing the tools does without the classes of displays, the parser and asyncio.
        from toolcrib import CommandDisplay, analyse_command

        if args.run_in_background:
            return ToolResult.error(
                "Running in the background is not available yet. Run the command in the "
                f"foreground with a timeout of up to {self._settings.max_timeout_s} seconds; for a "
                "server, start it, use it and end it within one command."
            )
        cwd = self._workspace.resolve(args.cwd or ".", "search", check_sensitive=False)
        if cwd.outside_workspace:
            raise PathSecurityError(
                f"cwd {args.cwd!r} lies outside the workspace {self._workspace.root!r}: run the "
                "command in a directory of the workspace, and name other places by absolute paths",
                code="PATH_OUTSIDE_WORKSPACE",
                path=cwd.raw,
            )

        async def execute(context: ToolContext) -> ToolResult:
            return await self._run(args, cwd, context)

        analysis = analyse_command(
            args.command,
            cwd=cwd.path.rstrip("/") or "/",
            home_dir=self._workspace.home_dir,
            root=self._workspace.root,
        )
        shown = " ".join(args.command.split())
        cut = "..." if len(shown) > _SHOWN_CHARS else ""
        return RunnableExecution(
            execute=execute,
            approval_rule=literal_rule(self.name, args.command),
            display=CommandDisplay(
                command=args.command, cwd=cwd.path, description=args.description
            ),
            description=f"Running: {shown[:_SHOWN_CHARS]}{cut}",
            matches_rule=text_matcher(args.command),
            accesses=_certain_accesses(analysis),
            analysis=analysis,
        )

    async def _run(self, args: BashInput, cwd: ResolvedPath, context: ToolContext) -> ToolResult:
        from toolcrib_os.bash.foreground import ShellCommand, run_in_foreground

        return await run_in_foreground(
            ShellCommand(
                text=args.command,
                cwd=cwd,
                wanted_s=args.timeout or self._settings.effective_default_s,
                max_s=self._settings.max_timeout_s,
            ),
            self._workspace,
            self._runtime,
            context,
        )


def _certain_accesses(analysis: CommandAnalysis) -> Accesses | None:
    """What a command reads, when it is sure to change nothing and its paths are all known."""
    if not analysis.read_only:
        return None
    accesses = Accesses.none()
    for effect in analysis.effects:
        if effect.path is None or effect.glob:
            return None
        accesses |= Accesses.read(effect.path, recursive=effect.recursive)
    return accesses
