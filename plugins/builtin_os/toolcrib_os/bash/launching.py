"""Starts shell commands in the runtime of the session, or says why one was not started."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from toolcrib import (
    Launch,
    LocalRuntime,
    PathSecurityError,
    ResolvedPath,
    RunningProcess,
    Runtime,
    RuntimeRegistry,
    RuntimeUnavailable,
    TaskLog,
    Workspace,
    start_process,
)
from toolcrib_os.shared.fserrors import fs_reason

_ADDED = {"NO_COLOR": "1", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}
_OWN_SECRET = re.compile(r"TOOLCRIB_.*(TOKEN|KEY|SECRET|PASSWORD)")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_TELLS_ITS_END = '"$@"; code=$?; echo "$code" >"$0"; exit "$code"'
"""Runs a program, and leaves its exit code in a file for when nobody waits for it any more."""


class NotStarted(OSError):
    """A command that was not started; the text is for the model."""


@frozen
class ShellCommand:
    """A command and the directory that it runs in."""

    text: str
    cwd: ResolvedPath

    @property
    def runnable(self) -> str:
        """The command as text that can be encoded."""
        return encodable(self.text)


@frozen
class Shell:
    """The shell of the session's runtime, with the workspace as it is seen from there."""

    workspace: Workspace
    runtime: Runtime
    runtimes: RuntimeRegistry

    def start(
        self,
        command: ShellCommand,
        *,
        on_output: Callable[[bytes], None],
        log: TaskLog | None = None,
    ) -> RunningProcess:
        """Start a command, as a task if it has a log.

        When that says so, the command writes its output and its exit code by itself.

        Raises:
            NotStarted: it cannot be started; says why.
            RuntimeUnavailable: the runtime cannot start anything any more.
        """
        cwd = self._usable(command.cwd)
        try:
            launch = self.runtime.launch(
                [self.runtime.shell, "-c", command.runnable],
                cwd=cwd,
                environment=_environment(self.runtime, command.cwd.path),
            )
            if log is None:
                return start_process(launch, on_output=on_output)
            # Other runtimes end with the session, and all that runs there with them.
            lasting = isinstance(self.runtime, LocalRuntime)
            file = log.hand_out() if lasting else None
            if file is None:
                return start_process(launch, on_output=on_output, token=log.task_id)
            argv = ("/bin/sh", "-c", _TELLS_ITS_END, log.exit_file, *launch.argv)
            return start_process(
                Launch(argv, launch.cwd, launch.environment),
                on_output=on_output,
                output_file=file,
                token=log.task_id,
            )
        except OSError as error:
            raise NotStarted(_start_failure(error, self.runtime.shell, command.text)) from error

    def tie(self, close: Callable[[], Any]) -> Callable[[], None]:
        """Have `close` called when the runtime goes; gives the function that forgets it.

        Raises RuntimeUnavailable when it is going already.
        """
        name = self.runtime.id
        with self.runtimes.acquire(name, ("process",)) as lease:
            if lease.runtime is not self.runtime:
                raise RuntimeUnavailable(
                    f"the runtime {name!r} has been replaced",
                    code="runtime.unavailable",
                    runtime=name,
                )
            return lease.track(close)

    def _usable(self, cwd: ResolvedPath) -> str:
        """The real directory to run in; raises NotStarted when there is none."""
        try:
            real = self.workspace.locate(cwd, "search", check_sensitive=False)
        except PathSecurityError as error:
            raise NotStarted(str(error)) from error
        if os.path.isdir(real):
            return real
        root = self.workspace.root
        if not os.path.isdir(root):
            raise NotStarted(
                f"The workspace directory {root!r} does not exist any more, so no command can run "
                "in it. It has to be created again from outside, or the session opened in another "
                "directory."
            )
        reason = "is not a directory" if os.path.exists(real) else "does not exist"
        raise NotStarted(
            f"cwd {cwd.raw!r} {reason}. The command was not run. Leave cwd out to run it in the "
            f"workspace directory {root!r}, or give a directory that exists."
        )


def encodable(text: str) -> str:
    """The text with a replacement for what UTF-8 cannot hold."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def _environment(runtime: Runtime, cwd: str) -> Mapping[str, str]:
    """What the command inherits, told that nobody watches and without secrets of toolcrib."""
    inherited = {
        name: value
        for name, value in runtime.environment.items()
        if not (name.startswith("TOOLCRIB_") and _OWN_SECRET.fullmatch(name))
    }
    # PWD keeps the spelling of the workspace that the model knows, links and all.
    return {"GIT_TERMINAL_PROMPT": "0", **inherited, **_ADDED, "SHELL": runtime.shell, "PWD": cwd}


def _start_failure(error: OSError, shell: str, command: str) -> str:
    if error.errno == errno.E2BIG:
        return (
            f"The command was not started: {len(command.encode('utf-8', 'replace'))} bytes of "
            "command and environment are more than the system passes to a program. Write the "
            "script to a file with Write, and run that file."
        )
    return f"The command was not started: cannot start {shell!r}: {fs_reason(error)}"
