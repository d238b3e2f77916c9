"""`@tool`: a typed function as a tool, for authors who need no more."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints, overload

import attrs

from toolcrib.accesses import Accesses
from toolcrib.contract.context import ToolContext
from toolcrib.contract.execution import Execution, RunnableExecution
from toolcrib.contract.result import MediaPart, TextPart, ToolResult
from toolcrib.contract.tool import Tool
from toolcrib.errors import ContractError
from toolcrib.schema import input_schema


class FunctionTool(Tool[Any]):
    """A tool whose body is a function; made by `@tool`.

    The function's parameters are the schema, its docstring the description. A parameter annotated
    `ToolContext` receives the context. The return value is text, a `ToolResult`, a content part
    or a tuple of parts, or None; anything else is shown as JSON. A raised exception becomes the
    error of the call.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        accesses: Accesses | None = None,
    ) -> None:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ContractError(
                f"tool {name or function.__name__!r} is a generator: return the whole answer, or "
                "write to the output() of a ToolContext"
            )
        self.function = function
        self.name = name or function.__name__
        self._description = description or inspect.getdoc(function) or ""
        if not self._description:
            raise ContractError(
                f"tool {self.name!r} has no description: give the function a docstring"
            )
        self._accesses = accesses
        self._context_name, self._input = _input_class(function, self.name)
        self._parameters = input_schema(self._input)
        self.Input = self._input  # type: ignore[misc]

    @property
    def description(self) -> str:
        return self._description

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._parameters

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def resolve_execution(self, args: Any) -> Execution:
        values = {a.name: getattr(args, a.name) for a in attrs.fields(self._input)}

        async def execute(context: ToolContext) -> ToolResult:
            if self._context_name is not None:
                values[self._context_name] = context
            answer = self.function(**values)
            if inspect.isawaitable(answer):
                answer = await answer
            return as_result(answer)

        return RunnableExecution(execute, approval_rule=self.name, accesses=self._accesses)


def _input_class(function: Callable[..., Any], name: str) -> tuple[str | None, type]:
    hints = get_type_hints(function, include_extras=True)
    context_name: str | None = None
    fields: dict[str, Any] = {}
    annotations: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        annotation = hints.get(parameter.name)
        if annotation is ToolContext:
            context_name = parameter.name
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ContractError(f"tool {name!r}: *{parameter.name} cannot be part of a schema")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ContractError(f"tool {name!r}: {parameter.name!r} must not be positional-only")
        if annotation is None:
            raise ContractError(f"tool {name!r}: parameter {parameter.name!r} has no annotation")
        default = parameter.default
        annotations[parameter.name] = annotation
        fields[parameter.name] = attrs.field(
            default=attrs.NOTHING if default is inspect.Parameter.empty else default,
            kw_only=True,
        )
    body = {**fields, "__annotations__": annotations, "__module__": function.__module__}
    return context_name, attrs.frozen(type(f"{name}Input", (), body))


def as_result(answer: object) -> ToolResult:
    """What a function returned, as a result."""
    match answer:
        case ToolResult():
            return answer
        case str():
            return ToolResult(answer)
        case None:
            return ToolResult("")
        case TextPart() | MediaPart():
            return ToolResult((answer,))
        case tuple() | list() if answer and all(
            isinstance(p, TextPart | MediaPart) for p in answer
        ):
            return ToolResult(tuple(answer))
    import json

    return ToolResult(json.dumps(answer, ensure_ascii=False, default=str))


@overload
def tool(function: Callable[..., Any]) -> FunctionTool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    accesses: Accesses | None = None,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    accesses: Accesses | None = None,
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Turn a typed function into a tool.

    `accesses` says what the function touches; leave it out and its calls run alone. Raises
    `ContractError` for a function that cannot be a tool, naming the parameter.
    """

    def make(target: Callable[..., Any]) -> FunctionTool:
        return FunctionTool(target, name=name, description=description, accesses=accesses)

    return make if function is None else make(function)
