"""The tool itself: a name, a description, a schema, and how a call is resolved."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from functools import lru_cache
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Protocol,
    cast,
    get_args,
    get_origin,
    runtime_checkable,
)

from typing_extensions import TypeVar

from toolcrib.contract.execution import Execution
from toolcrib.schema import input_schema

InputT = TypeVar("InputT", default=Any, contravariant=True)


_Schema = Mapping[str, Any]


@lru_cache(maxsize=1024)
def _schema_of(cls: type) -> _Schema:
    """The schema of an input class; the same object every time, so it is compiled once."""
    return input_schema(cls)


@runtime_checkable
class ToolLike(Protocol):
    """What the pipeline needs of a tool; `Tool` is the usual way to get there."""

    name: str

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, Any]: ...

    def resolve_execution(self, args: Any, /) -> Execution | Awaitable[Execution]: ...


class Tool(Generic[InputT]):
    """Base class of tools; `class Dice(Tool[DiceInput])` takes its schema from `DiceInput`.

    Set `name` and `description` (a property is rendered afresh at every listing). `Input` is an
    attrs class, or a JSON Schema as a dict, in which case the arguments stay a mapping.

    A tool may have a method `repair_arguments(arguments)`. It is given the arguments of a call
    that the schema refuses and returns others, which have to fit the schema instead; what it
    leaves wrong is refused with the reason.
    """

    name: str
    if TYPE_CHECKING:
        # A property to type checkers, so that a subclass may make it either.
        @property
        def description(self) -> str: ...
    else:
        description: str
    Input: ClassVar[Any] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "Input" in cls.__dict__:
            return
        for base in cls.__dict__.get("__orig_bases__", ()):
            origin = get_origin(base)
            if isinstance(origin, type) and issubclass(origin, Tool):
                (argument,) = get_args(base)
                if isinstance(argument, type):
                    cls.Input = argument

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema (draft-7) of the arguments."""
        described = self.Input
        return _schema_of(described) if isinstance(described, type) else cast(_Schema, described)

    def resolve_execution(self, args: InputT) -> Execution | Awaitable[Execution]:
        """Say what a call would do, without doing any of it.

        Touch no file and start no process here. Return a `RunnableExecution`, or a `ToolResult`
        with `is_error` when the arguments make no sense; a raised `PathSecurityError` becomes
        the error text of the call.
        """
        raise NotImplementedError(f"{type(self).__name__} has no resolve_execution")
