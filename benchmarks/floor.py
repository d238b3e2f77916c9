"""The least that a call can cost: arguments parsed and validated, hooks, a task of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import jsonschema_rs
import pluggy

from benchmarks.echo import echo

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "times": {"type": "integer", "default": 1}},
    "required": ["text"],
    "additionalProperties": False,
}

_spec, _impl = pluggy.HookspecMarker("floor"), pluggy.HookimplMarker("floor")


class _Spec:
    @_spec
    def around(self, name: str, arguments: Any) -> None: ...


class _Plugin:
    @_impl
    def around(self, name: str, arguments: Any) -> None: ...


def composed_floor() -> Callable[[str], Awaitable[str]]:
    """A function that makes a call of Echo from its JSON arguments."""
    manager = pluggy.PluginManager("floor")
    manager.add_hookspecs(_Spec)
    for _ in range(3):
        manager.register(_Plugin())
    around = manager.hook.around
    validate = jsonschema_rs.validator_for(SCHEMA).validate

    async def call(text: str) -> str:
        arguments = json.loads(text)
        validate(arguments)
        around(name="Echo", arguments=arguments)
        output = await asyncio.create_task(echo(**arguments))
        around(name="Echo", arguments=arguments)
        return output

    return call
