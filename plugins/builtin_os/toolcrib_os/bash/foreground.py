"""One command run while the model waits: started, limited, ended, and told about."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import time
from collections.abc import Mapping
from contextlib import closing

from attrs import define, frozen

from toolcrib import (
    OutputSink,
    PathSecurityError,
    ResolvedPath,
    RunningProcess,
    Runtime,
    TerminalText,
    ToolContext,
    ToolResult,
    Workspace,
    start_process,
)
from toolcrib_os.bash.ending import Ending, How, describe_ending, note_on
from toolcrib_os.shared.fserrors import fs_reason

_ADDED = {"NO_COLOR": "1", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}
_OWN_SECRET = re.compile(r"TOOLCRIB_.*(TOKEN|KEY|SECRET|PASSWORD)")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@frozen(kw_only=True)
class ShellCommand:
    """A command with the directory and the time limits in seconds that it runs under."""

    text: str
    cwd: ResolvedPath
    wanted_s: int
    max_s: int

    @property
    def limit_s(self) -> int:
        return min(self.wanted_s, self.max_s)


async def run_in_foreground(
    command: ShellCommand, workspace: Workspace, runtime: Runtime, context: ToolContext
) -> ToolResult:
    """Run a command to its end, whatever end that is, and leave no process behind."""
    if context.cancelled:
        return ToolResult.error("The command was not started: the call was cancelled before.")
    try:
        cwd = workspace.locate(command.cwd, "search", check_sensitive=False)
    except PathSecurityError as error:
        return ToolResult.error(str(error))
    if problem := _unusable(cwd, command.cwd, workspace):
        return ToolResult.error(problem)
    with closing(context.output()) as sink:
        output = _Output(sink, TerminalText(), context)
        started = time.perf_counter()
        try:
            launch = runtime.launch(
                [runtime.shell, "-c", _LONE_SURROGATE.sub("\ufffd", command.text)],
                cwd=cwd,
                environment=_environment(runtime, command.cwd.path),
            )
            process = start_process(launch, on_output=output.take)
        except OSError as error:
            return ToolResult.error(_start_failure(error, runtime.shell, command.text))
        ending = await _see_through(process, command, started)
        output.finish()
        return _result(ending, output)


async def _see_through(process: RunningProcess, command: ShellCommand, started: float) -> Ending:
    how: How = "exited"
    try:
        async with asyncio.timeout(command.limit_s):
            await process.wait()
    except TimeoutError:
        how = "exited" if process.returncode is not None else "timed out"
    except asyncio.CancelledError:
        how = "interrupted"
    remains = await process.stop()
    return Ending(
        how=how,
        returncode=process.returncode,
        seconds=time.perf_counter() - started,
        wanted_s=command.wanted_s,
        max_s=command.max_s,
        remains=remains,
    )


@define
class _Output:
    """Carries what a command writes into the result, cleaned, and to whoever watches."""

    sink: OutputSink
    text: TerminalText
    context: ToolContext

    def take(self, data: bytes) -> None:
        self._pass_on(self.text.feed(data))

    def finish(self) -> None:
        self._pass_on(self.text.finish())

    def _pass_on(self, piece: str) -> None:
        if piece:
            self.sink.write(piece)
            if self.context.watched:
                self.context.update(piece, kind="stdout")


def _result(ending: Ending, output: _Output) -> ToolResult:
    sink = output.sink
    shown = "" if sink.spilled else sink.text()
    return sink.result(
        describe_ending(ending, shown, silent=sink.total_chars == 0),
        is_error=not ending.succeeded,
        note=note_on(ending, nul_replaced=output.text.nul_replaced),
    )


def _environment(runtime: Runtime, cwd: str) -> Mapping[str, str]:
    """What the command inherits, told that nobody watches and without secrets of toolcrib."""
    inherited = {
        name: value
        for name, value in runtime.environment.items()
        if not (name.startswith("TOOLCRIB_") and _OWN_SECRET.fullmatch(name))
    }
    # PWD keeps the spelling of the workspace that the model knows, links and all.
    return {"GIT_TERMINAL_PROMPT": "0", **inherited, **_ADDED, "SHELL": runtime.shell, "PWD": cwd}


def _unusable(real: str, cwd: ResolvedPath, workspace: Workspace) -> str | None:
    """Say why a command cannot run in a directory, or give None."""
    if os.path.isdir(real):
        return None
    if not os.path.isdir(workspace.root):
        return (
            f"The workspace directory {workspace.root!r} does not exist any more, so no command "
            "can run in it. It has to be created again from outside, or the session opened in "
            "another directory."
        )
    reason = "is not a directory" if os.path.exists(real) else "does not exist"
    return (
        f"cwd {cwd.raw!r} {reason}. The command was not run. Leave cwd out to run it in the "
        f"workspace directory {workspace.root!r}, or give a directory that exists."
    )


def _start_failure(error: OSError, shell: str, command: str) -> str:
    if error.errno == errno.E2BIG:
        return (
            f"The command was not started: {len(command.encode('utf-8', 'replace'))} bytes of "
            "command and environment are more than the system passes to a program. Write the "
            "script to a file with Write, and run that file."
        )
    return f"The command was not started: cannot start {shell!r}: {fs_reason(error)}"
