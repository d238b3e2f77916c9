"""The parts of the description that depend on whether commands can run in the background."""

from __future__ import annotations

from toolcrib_os.bash.settings import MAX_BACKGROUND_S, BashSettings

NO_BACKGROUND = (
    "When the shell exits, processes that it left running with `&` are stopped too, daemons "
    "included. Start a server, use it and end it in one call. `run_in_background` is not available "
    "here."
)


def after_timeout(moved: bool) -> str:
    """What becomes of a command that takes longer than it may."""
    if moved:
        return (
            "is moved to the background and goes on there: you get its task id and the output so "
            "far."
        )
    return "is killed with all its children; the output so far is kept."


def background(settings: BashSettings) -> str:
    """How to run something in the background, and how to behave then."""
    limit = settings.background_timeout_s
    default = f"{limit} s" if limit else "none"
    return (
        "For what takes long or does not end by itself, such as builds, test suites and servers, "
        "set `run_in_background` and give a `description`: the call returns at once with a task "
        f"id. The time limit is {default} then unless `timeout` (at most {MAX_BACKGROUND_S}) or "
        "`disable_timeout` says otherwise. You are told when the task ends: go on with other work, "
        "and do not wait for it with `sleep` or ask for it again and again. TaskOutput shows what "
        "it has written so far, TaskStop ends it.\n"
        "- When the shell exits, processes that it left running with `&` are stopped too, daemons "
        "included; start them with `run_in_background` instead."
    )
