"""Commands that run on while the model does: how they are started, and what is told of them."""

from __future__ import annotations

from toolcrib import Lazy, TaskInfo, Tasks, ToolcribError, ToolResult
from toolcrib_os.bash.launching import NotStarted
from toolcrib_os.bash.limits import TimeLimit
from toolcrib_os.bash.work import ShellWork

_HINT = "people see it with `toolcrib tasks list`"


def start_in_background(work: ShellWork, limit: TimeLimit | None, tasks: Lazy[Tasks]) -> ToolResult:
    """Start a command as a task, without a limit when there is none; unless there is no room."""
    try:
        if problem := tasks().room():
            return ToolResult.error(problem)
        info = tasks().start(work, timeout_s=None if limit is None else limit.seconds)
    except (NotStarted, ToolcribError) as error:
        return ToolResult.error(str(error))
    next_step = (
        "it runs on while you do something else; you are told when it ends, so do not wait for it, "
        "poll it, or call TaskOutput only to see whether it is done. Call TaskStop only to cancel "
        "it."
    )
    return ToolResult(_fields(info, next_step), note=None if limit is None else limit.note)


def moved_to_background(info: TaskInfo, why: str) -> str:
    """What is told of a command that somebody had waited for; `why` says why nobody does now."""
    next_step = (
        f"{why}, so it was moved to the background, where it runs on. You are told when it ends: "
        "do not run it again, wait for it or poll it, but go on with something else."
    )
    return _fields(info, next_step)


def _fields(info: TaskInfo, next_step: str) -> str:
    fields = {
        "task_id": info.task_id,
        "pid": info.details["pid"],
        "description": info.description,
        "status": info.status,
        "timeout_s": "none" if info.timeout_s is None else f"{info.timeout_s:g}",
        "automatic_notification": "true",
        "next_step": next_step,
        "human_shell_hint": _HINT,
    }
    return "\n".join(f"{name}: {value}" for name, value in fields.items())
