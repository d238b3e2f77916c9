"""What a running body is given: who it runs for, and where its news and output go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import get_ident
from typing import Any, Literal, Protocol

from attrs import define, field, frozen

from toolcrib.contract.output import OutputSink

UpdateKind = Literal["stdout", "stderr", "progress", "status", "custom"]


@frozen
class Update:
    """News from a running body. `percent` runs from 0 to 100; `replace` overwrites the last one."""

    kind: UpdateKind
    text: str | None = None
    percent: float | None = None
    data: Any = None
    replace: bool = False


class Outputs(Protocol):
    """Where long output of calls is kept."""

    def sink(self, tool_name: str, call_id: str) -> OutputSink: ...

    def save(self, data: bytes, tool_name: str, call_id: str, suffix: str) -> str: ...


@define
class ToolContext:
    """Handed to `execute`.

    `metadata` is what a hook attached with `Proceed`. When the call is cancelled, the body gets
    `asyncio.CancelledError` and 2 seconds to return a result of its own; `cancelled` is true from
    then on. `withheld` tells of an absolute path whether a permission rule keeps it from the model;
    None when no rule does. `agent` names the agent that makes the call.
    """

    turn_id: str | None
    call_id: str
    tool_name: str
    metadata: Mapping[str, Any] | None = None
    cancelled: bool = False
    _send: Callable[[Update], None] | None = field(default=None, repr=False)
    withheld: Callable[[str], bool] | None = None
    _outputs: Outputs | None = field(default=None, repr=False)
    agent: str = "main"

    @property
    def watched(self) -> bool:
        """Whether anyone follows the updates, so that a body can skip making them."""
        return self._send is not None

    def update(
        self,
        text: str | None = None,
        *,
        kind: UpdateKind = "status",
        percent: float | None = None,
        data: Any = None,
        replace: bool = False,
    ) -> None:
        """Tell the host how the call is going; dropped once the call is cancelled."""
        if self._send is not None and not self.cancelled:
            self._send(Update(kind, text, percent, data, replace))

    @contextmanager
    def threaded(self, hand_over: Callable[..., object]) -> Iterator[None]:
        """Let updates come from other threads too meanwhile; none arrives afterwards.

        `hand_over` has a function called where the host is, with the arguments behind it.
        """
        send, home = self._send, get_ident()
        if send is not None:

            def deliver(update: Update) -> None:
                if self._send is not None:
                    send(update)

            def pass_on(update: Update) -> None:
                if get_ident() == home:
                    deliver(update)
                else:
                    hand_over(deliver, update)

            self._send = pass_on

        try:
            yield
        finally:
            self._send = None

    def output(self) -> OutputSink:
        """A sink for text of any length that keeps memory within the output budget."""
        if self._outputs is None:
            return OutputSink()
        return self._outputs.sink(self.tool_name, self.call_id)

    def save(self, data: bytes, *, suffix: str = ".bin") -> str:
        """Keep bytes that are no text in a file of the session; returns its absolute path.

        The file lies with the long outputs, within their quota, and only its owner can read it.
        Raises OSError when it cannot be saved.
        """
        if self._outputs is None:
            raise OSError("there is no place to save output")
        return self._outputs.save(data, self.tool_name, self.call_id, suffix)
