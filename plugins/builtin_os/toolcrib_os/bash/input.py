"""The arguments of Bash."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Gt, MinLen
from attrs import Attribute, field, frozen
from typing_extensions import Doc


def _runnable(instance: object, attribute: Attribute[str], value: str) -> None:
    if not value.strip():
        raise ValueError("command holds nothing but white space: give a command to run")
    if "\0" in value:
        raise ValueError(
            "command holds a NUL character, which no argument can hold: write '\\0' for printf, "
            "or remove it"
        )


@frozen(kw_only=True)
class BashInput:
    """Which command to run, where, and for how long."""

    command: Annotated[
        str,
        MinLen(1),
        Doc("The command, in the language of the shell; it may have several lines."),
    ] = field(validator=_runnable)
    cwd: Annotated[
        str | None,
        MinLen(1),
        Doc(
            "Directory to run in, inside the workspace; a relative path starts at the working "
            "directory. Default: the working directory."
        ),
    ] = None
    timeout: Annotated[
        int | None,
        Gt(0),
        Doc(
            "Time limit in seconds, not milliseconds. The description says default and maximum, "
            "also for run_in_background."
        ),
    ] = None
    description: Annotated[
        str | None,
        Doc(
            "A few words on what the command does, by which people and lists of tasks name it. "
            "Needed with run_in_background."
        ),
    ] = None
    run_in_background: Annotated[
        bool,
        Doc(
            "Start the command and go on without waiting for it; the result tells its task id, and "
            "you are told when it ends."
        ),
    ] = False
    disable_timeout: Annotated[
        bool,
        Doc("No time limit; only together with run_in_background."),
    ] = False

    def __attrs_post_init__(self) -> None:
        if self.run_in_background and not (self.description or "").strip():
            raise ValueError(
                "run_in_background needs a description: say in a few words what the command does"
            )
        if self.disable_timeout and not self.run_in_background:
            raise ValueError(
                "disable_timeout goes only with run_in_background: "
                "give a timeout in seconds instead"
            )
