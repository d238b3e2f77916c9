"""What the configuration says of one command hook."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from annotated_types import Ge, Le
from attrs import field, frozen

from toolcrib import settings

HookEvent = Literal[
    "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionResult"
]
OnError = Literal["deny", "ask", "allow"]


def _is_pattern(instance: object, attribute: object, value: str) -> None:
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{value!r} is no regular expression: {error}") from None


def _is_command(instance: object, attribute: object, value: str) -> None:
    if not value.strip() or "\0" in value:
        raise ValueError(f"expected a command for the shell, not {value!r}")


@settings("hooks", each_needs=("event", "command"))
@frozen(kw_only=True)
class CommandHook:
    """A command that runs at an event of a call, given one JSON object on standard input.

    `matcher` is a regular expression that is searched for in the name of the tool; empty, it
    matches every tool. `command` runs in `sh`, in the folder of the workspace, for at most
    `timeout` seconds (1 to 600). `on_error` says what becomes of a call whose PreToolUse hook does
    not work: `deny` (also when it is left out), `ask`, or `allow`, which goes on without it.
    """

    event: HookEvent = "PreToolUse"
    matcher: str = field(default="", validator=_is_pattern)
    # Every hook has to name its own; this stands in where values are checked one by one.
    command: str = field(default="true", validator=_is_command, repr=False)
    timeout: Annotated[float, Ge(1), Le(600)] = 30.0
    on_error: OnError | None = None

    def __attrs_post_init__(self) -> None:
        if self.on_error is not None and self.event != "PreToolUse":
            raise ValueError(
                f"on_error is for PreToolUse: a hook of {self.event} decides nothing, and what "
                "goes wrong with it is reported; leave on_error out"
            )
