"""What resolving a call gives: a body that can run, with all that is known of it beforehand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from attrs import frozen

from toolcrib.accesses import Accesses
from toolcrib.contract.context import ToolContext
from toolcrib.contract.result import ToolResult

if TYPE_CHECKING:  # thirteen attrs classes that a mere listing does not need
    from toolcrib.contract.display import Display
    from toolcrib.shell.model import CommandAnalysis


@frozen
class RunnableExecution:
    """A resolved call, ready to run.

    `execute` is the body. `approval_rule` is the permission rule that "allow for this session"
    remembers, such as `Read(/ws/a.txt)`. `accesses` says what the body touches; None means
    everything, so the call runs alone. `display` and `description` are for people.
    `matches_rule` tells whether the argument part of a permission rule covers this call. Where it
    raises, and without it, a rule that denies or asks counts, and one that allows does not.
    `analysis` is what the shell command that the call runs would do: with it, rules judge each of
    its commands and paths. A body that `withholds` leaves out of its result whatever
    `ToolContext.withheld` names, so that a search of a folder is no question for the sake of one
    file in it. After a call with `stop_batch_after_this` the later
    calls of the batch are skipped. A call that goes `after_earlier` ones starts when each of them
    has its result, whatever it touches, as one that asks what the others have begun; as long as
    it touches nothing, no later call waits for it. Of tools that may come to be others under the
    same name, `defined_as` tells one from another: an approval for the session holds while it is
    equal.
    """

    execute: Callable[[ToolContext], Awaitable[ToolResult]]
    approval_rule: str
    accesses: Accesses | None = None
    display: Display | None = None
    description: str | None = None
    stop_batch_after_this: bool = False
    matches_rule: Callable[[str], bool] | None = None
    analysis: CommandAnalysis | None = None
    withholds: bool = False
    after_earlier: bool = False
    defined_as: object = None


Execution = RunnableExecution | ToolResult
