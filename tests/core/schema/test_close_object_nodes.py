"""Objects are closed where the schema speaks of data, and only there."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from toolcrib.schema import close_object_nodes

OPEN = {"type": "object"}
CLOSED = {"type": "object", "additionalProperties": False}


@pytest.mark.parametrize(
    "around",
    [
        pytest.param(lambda node: node, id="the root"),
        pytest.param(lambda node: {"properties": {"type": node}}, id="a property"),
        pytest.param(lambda node: {"items": node}, id="items"),
        pytest.param(lambda node: {"items": [node, True]}, id="a tuple of items"),
        pytest.param(lambda node: {"prefixItems": [node]}, id="newer tuples"),
        pytest.param(lambda node: {"anyOf": [node, {"oneOf": [node]}]}, id="alternatives"),
        pytest.param(lambda node: {"definitions": {"a": node}}, id="definitions"),
        pytest.param(lambda node: {"$defs": {"a": node}}, id="newer definitions"),
        pytest.param(lambda node: {"additionalProperties": node}, id="other properties"),
        pytest.param(lambda node: {"then": node, "else": node}, id="consequences"),
    ],
)
def test_an_object_node_is_closed_wherever_it_stands(around: Any) -> None:
    assert close_object_nodes(around(OPEN)) == around(CLOSED)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "additionalProperties": True},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"properties": {}},
        {"type": ["object", "null"]},
        {"default": OPEN, "const": OPEN, "enum": [OPEN], "examples": [OPEN]},
        {"if": OPEN, "not": OPEN},
        {"x-note": OPEN},
        True,
    ],
    ids=repr,
)
def test_these_stay_as_they_are(schema: Any) -> None:
    assert close_object_nodes(schema) == schema


def test_the_argument_is_not_changed() -> None:
    schema = {"type": "object", "properties": {"a": OPEN}}
    before = copy.deepcopy(schema)
    close_object_nodes(schema)
    assert schema == before
