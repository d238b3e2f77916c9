"""Put a tool as an entry of the list of tools that a provider's API takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from toolcrib.dialects.compiling import CompiledSchema, compile_schema
from toolcrib.dialects.providers import Dialect


class Describable(Protocol):
    """What a model has to know of a tool; `toolcrib.Session.tools` gives such objects."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...


def provider_tool(
    info: Describable, dialect: Dialect, compiled: CompiledSchema | None = None
) -> dict[str, Any]:
    """The entry of a tool: of `tools` for OpenAI (chat completions), Anthropic and MCP.

    For Gemini it is an entry of `functionDeclarations`. With `compiled`, the schema is not compiled
    again; keep it anyway, for its `restore` is what the arguments of calls need.

    Raises:
        UnusableSchema: The schema cannot be that of a tool.
    """
    schema = (compiled or compile_schema(info.parameters, dialect)).schema
    named = {"name": info.name, "description": info.description}
    if dialect == "openai":
        return {"type": "function", "function": {**named, "parameters": schema}}
    if dialect == "openai-strict":
        return {"type": "function", "function": {**named, "strict": True, "parameters": schema}}
    if dialect == "gemini":
        # A function without parameters has none at all; properties must not be empty.
        return {**named, "parameters": schema} if schema.get("properties") else named
    return {**named, ("input_schema" if dialect == "anthropic" else "inputSchema"): schema}
