"""The entries of a provider's list of tools."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import toolcrib
from toolcrib.dialects import DIALECTS, Dialect

PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}


def entry(dialect: Dialect, parameters: Any = PARAMETERS) -> Any:
    info = SimpleNamespace(name="Look", description="Look at it.", parameters=parameters)
    return toolcrib.provider_tool(info, dialect)


def test_each_provider_has_its_shape() -> None:
    named = {"name": "Look", "description": "Look at it."}
    function = {**named, "parameters": PARAMETERS}
    open_parameters = {k: v for k, v in PARAMETERS.items() if k != "additionalProperties"}
    assert {dialect: entry(dialect) for dialect in DIALECTS} == {
        "openai": {"type": "function", "function": function},
        "openai-strict": {"type": "function", "function": {**function, "strict": True}},
        "anthropic": {**named, "input_schema": PARAMETERS},
        "gemini": {**named, "parameters": open_parameters},
        "mcp": {**named, "inputSchema": PARAMETERS},
    }


def test_a_function_without_parameters_has_none_for_gemini() -> None:
    assert "parameters" not in entry("gemini", {"type": "object", "properties": {}})


def test_a_schema_that_was_compiled_is_not_compiled_again() -> None:
    compiled = toolcrib.compile_schema(PARAMETERS, "anthropic")
    info = SimpleNamespace(name="Look", description="", parameters=None)
    shaped = toolcrib.provider_tool(info, "anthropic", compiled)
    assert shaped["input_schema"] is compiled.schema


def test_the_builtin_tools_fit_every_provider(tmp_path: Any, checkers: Any) -> None:
    session = toolcrib.open_session(tmp_path, autoload=False)
    for info in session.tools():
        for dialect in DIALECTS:
            compiled = toolcrib.compile_schema(info.parameters, dialect)
            assert list(checkers.CHECKERS[dialect](compiled.schema)) == []
            assert not any(loss.narrows for loss in compiled.losses)
