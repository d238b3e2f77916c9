"""The Bash tool: what a call would run, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib import (
    Accesses,
    Execution,
    Lazy,
    PathSecurityError,
    ResolvedPath,
    RunnableExecution,
    Runtime,
    RuntimeRegistry,
    Session,
    Tasks,
    Tool,
    ToolContext,
    ToolResult,
    Workspace,
    literal_rule,
    read_description,
    text_matcher,
)
from toolcrib_os.bash import wording
from toolcrib_os.bash.input import BashInput
from toolcrib_os.bash.settings import MAX_BACKGROUND_S, BashSettings

if TYPE_CHECKING:
    from toolcrib import CommandAnalysis
    from toolcrib_os.bash.foreground import Background
    from toolcrib_os.bash.limits import TimeLimit

_TASK_TOOLS = ("TaskList", "TaskOutput", "TaskStop")
"""What a model needs to look after what runs in the background."""
_SHOWN_CHARS = 50


class BashTool(Tool[BashInput]):
    """Runs shell commands, one call in one shell, while the model waits or in the background."""

    name = "Bash"

    def __init__(
        self,
        workspace: Workspace,
        runtime: Runtime,
        runtimes: RuntimeRegistry,
        session: Session,
        settings: BashSettings,
        tasks: Lazy[Tasks] | None = None,
    ) -> None:
        self._workspace = workspace
        self._runtime = runtime
        self._runtimes = runtimes
        self._session = session
        self._settings = settings
        self._tasks = tasks

    @property
    def description(self) -> str:
        available = self._no_background() is None
        settings = self._settings
        return read_description(
            __package__,
            SHELL=self._runtime.shell,
            DEFAULT_TIMEOUT=settings.effective_default_s,
            MAX_TIMEOUT=settings.max_timeout_s,
            AFTER_TIMEOUT=wording.after_timeout(available and settings.auto_background_on_timeout),
            BACKGROUND=wording.background(settings) if available else wording.NO_BACKGROUND,
        )

    def resolve_execution(self, args: BashInput) -> Execution:
        # Listing the tools does without the classes of displays, the parser and asyncio.
        from toolcrib import CommandDisplay, analyse_command

        if args.run_in_background and (problem := self._no_background()):
            return ToolResult.error(
                f"{problem} Run the command in the foreground with a timeout of up to "
                f"{self._settings.max_timeout_s} seconds; for a server, start it, use it and end "
                "it within one command."
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
        doing = "Starting in the background" if args.run_in_background else "Running"
        return RunnableExecution(
            execute=execute,
            approval_rule=literal_rule(self.name, args.command),
            display=CommandDisplay(
                command=args.command, cwd=cwd.path, description=args.description
            ),
            description=f"{doing}: {shown[:_SHOWN_CHARS]}{cut}",
            matches_rule=text_matcher(args.command),
            accesses=_certain_accesses(analysis),
            analysis=analysis,
        )

    async def _run(self, args: BashInput, cwd: ResolvedPath, context: ToolContext) -> ToolResult:
        from toolcrib_os.bash.background import start_in_background
        from toolcrib_os.bash.foreground import run_in_foreground
        from toolcrib_os.bash.launching import Shell, ShellCommand
        from toolcrib_os.bash.limits import TimeLimit
        from toolcrib_os.bash.work import ShellWork, title_for

        work = ShellWork(
            Shell(self._workspace, self._runtime, self._runtimes),
            ShellCommand(args.command, cwd),
            title_for(args.description, args.command),
        )
        if args.run_in_background and self._tasks is not None:
            return start_in_background(work, self._background_limit(args), self._tasks)
        settings = self._settings
        limit = TimeLimit(args.timeout or settings.effective_default_s, settings.max_timeout_s)
        return await run_in_foreground(work, limit, self._background(), context)

    def _background(self) -> Background | None:
        """Where a command can be moved that the model waits for."""
        if self._tasks is None:
            return None
        from toolcrib_os.bash.foreground import Background

        settings = self._settings
        return Background(
            tasks=self._tasks,
            after_timeout=lambda: (
                settings.auto_background_on_timeout and self._no_background() is None
            ),
            timeout_s=settings.background_timeout_s or None,
        )

    def _background_limit(self, args: BashInput) -> TimeLimit | None:
        from toolcrib_os.bash.limits import TimeLimit

        wanted = args.timeout or self._settings.background_timeout_s
        return None if args.disable_timeout or not wanted else TimeLimit(wanted, MAX_BACKGROUND_S)

    def _no_background(self) -> str | None:
        """Why the model can run nothing in the background now; None when it can."""
        if self._tasks is None:
            return "Nothing can run in the background here: no plugin looks after tasks."
        active = self._session.main.registry
        missing = [name for name in _TASK_TOOLS if name not in active]
        if not missing:
            return None
        return (
            "Nothing can run in the background here, since it could not be looked after: "
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not available."
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
