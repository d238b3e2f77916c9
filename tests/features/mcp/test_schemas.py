"""Schemas as servers list them: mended where it is plain what they mean, else told as unusable."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcrib import ArgumentValidator
from toolcrib_features.mcp.closing import closed

DRAFT_4 = "http://json-schema.org/draft-04/schema#"


def of(name: str, schema: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "inputSchema": schema}


def with_x(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, **more}


USABLE = [
    of("good", with_x({"type": "string"})),
    of("untyped", {"anyOf": [{"type": "object"}]}),
    of("from-php", {"type": "object", "properties": []}),
    of("from-go", {"type": "object", "required": None}),
]
UNUSABLE = [
    of("text", {"type": "string"}),
    of("int", {"type": "int"}),
    of("null", None),
    of("pattern", with_x({"type": "string", "pattern": "("})),
    of("kind", with_x({"type": "int"})),
    of("nowhere", with_x({"$ref": "#/$defs/none"})),
    of("elsewhere", with_x({"$ref": "http://127.0.0.1:9/x.json"})),
]


async def test_a_tool_whose_schema_is_wrong_is_withheld_with_the_reason(
    place: Any, call: Any
) -> None:
    async with place.session(place.server("s", *USABLE, *UNUSABLE)) as session:
        await session.settle_tools()
        offered = [tool.name for tool in session.tools() if tool.source == "mcp"]
        assert offered == sorted(f"mcp__s__{tool['name']}" for tool in USABLE)
        for name in offered:
            assert not (await call(session, name)).result.is_error
        for tool in UNUSABLE:
            decision = session.explain(f"mcp__s__{tool['name']}")
            assert decision.filter == "withheld" and "cannot be used" in (decision.reason or "")


@pytest.mark.parametrize(
    ("entry", "overrides"),
    [
        ({"deferred": True}, {}),
        ({"disabled_tools": ["pattern"]}, {}),
        ({"enabled_tools": ["good"]}, {}),
        ({}, {"tools": {"disabled": ["mcp__s__p*"]}}),
    ],
    ids=["deferred", "disabled", "not enabled", "against the policy"],
)
async def test_schemas_that_nobody_needs_yet_are_not_looked_at(
    place: Any, entry: dict[str, Any], overrides: dict[str, Any]
) -> None:
    server = place.server("s", USABLE[0], UNUSABLE[3]), entry
    async with place.session(server, **overrides) as session:
        await session.settle_tools()
        assert not session.explain("mcp__s__good").reason
        assert "cannot be used" not in (session.explain("mcp__s__pattern").reason or "")


@pytest.mark.parametrize(
    ("schema", "fits", "does_not"),
    [
        ([], 5, None),
        ({"type": "string", "description": None, "enum": None}, "a", 5),
        ({"const": None}, None, 5),
        ({"type": "array", "items": None}, [1], 1),
        ({"minimum": 3, "exclusiveMinimum": True}, 4, 3),
        ({"maximum": 3, "exclusiveMaximum": True}, 2, 3),
        ({"minimum": 3, "exclusiveMinimum": False}, 3, 2),
        ({"not": {"minimum": 3, "exclusiveMinimum": True}}, 3, 4),
        ({"anyOf": [{"type": "string"}, {"properties": [], "type": "object"}]}, {}, 5),
    ],
    ids=json.dumps,
)
def test_what_no_draft_has_is_mended(schema: Any, fits: Any, does_not: Any) -> None:
    validator = ArgumentValidator(closed(with_x(schema)))
    assert validator.schema_error is None
    assert validator.check({"x": fits}) is None
    assert does_not is None or validator.check({"x": does_not}) is not None


def test_what_a_draft_has_stays() -> None:
    flag = with_x({"minimum": 3, "exclusiveMinimum": True}, **{"$schema": DRAFT_4})
    assert closed(flag)["properties"] == flag["properties"]
    kept = with_x({"default": None, "examples": [None, []], "items": [], "enum": [None, []]})
    assert closed(kept)["properties"] == kept["properties"]
