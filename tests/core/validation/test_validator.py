"""Validators are compiled once per schema object, choose their draft and never raise."""

from __future__ import annotations

import http.server
import threading
from typing import Any

import pytest

from toolcrib.validation import ArgumentValidator, validate_args, validator_for
from toolcrib.validation.draft import draft_of


@pytest.mark.parametrize(
    ("schema", "draft"),
    [
        ({}, "7"),
        (True, "7"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "4"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": []}, "7"),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, "2020-12"),
        ({"$schema": "https://example.org/own"}, "7"),
        ({"properties": {"a": {"items": [{"prefixItems": [True]}]}}}, "2020-12"),
        ({"not": {"dependentRequired": {}}}, "2019-09"),
        ({"$defs": {}}, "2019-09"),
        ({"properties": {"prefixItems": {}}, "default": {"prefixItems": []}}, "7"),
    ],
    ids=repr,
)
def test_the_draft_is_declared_or_told_by_keywords_or_seven(schema: Any, draft: str) -> None:
    assert draft_of(schema) == draft


def test_a_validator_is_kept_per_schema_object() -> None:
    schema = {"type": "string"}
    assert validator_for(schema) is validator_for(schema)
    assert validator_for(dict(schema)) is not validator_for(schema)


def test_schemas_that_come_and_go_do_not_get_anothers_validator() -> None:
    for number in range(3000):
        assert validate_args({"const": number}, number) is None


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ({"properties": {"a": {"type": "strin"}}}, "$.properties.a.type"),
        ({"required": "a"}, "required"),
        ({"pattern": "("}, "pattern"),
        ({"$ref": "#/definitions/q"}, "/definitions/q"),
        ({"$ref": "other.json"}, "other.json"),
        ({"properties": {"a": {1: 2}}}, ""),
        (5, "5"),
    ],
    ids=repr,
)
def test_a_schema_that_cannot_be_compiled_rejects_every_call(schema: Any, named: str) -> None:
    validator = ArgumentValidator(schema)
    assert validator.schema_error
    assert named in validator.schema_error
    assert validator.check({}) == validator.check([1]) == validator.schema_error


def test_references_to_other_documents_are_never_fetched() -> None:
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/schema.json"
        error = validate_args({"properties": {"a": {"$ref": url}}}, {"a": 1})
        server.shutdown()
        thread.join()
    assert url in (error or "")
    assert asked == []


@pytest.mark.parametrize(
    "data",
    [{1: 2}, {"a": {1}}, {"a": b"x"}, {"a": ...}, "\ud800", {"\ud800": 1}],
    ids=ascii,
)
def test_what_is_no_json_data_is_rejected_without_raising(data: Any) -> None:
    closed = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "additionalProperties": False,
    }
    assert validate_args(closed, data)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_have_are_no_numbers(number: float) -> None:
    error = validate_args({"properties": {"a": {"type": "number"}}}, {"a": number})
    assert str(number) in (error or "")


def test_references_within_the_schema_work() -> None:
    schema = {
        "properties": {"tree": {"$ref": "#/definitions/tree"}},
        "definitions": {"tree": {"type": "array", "items": {"$ref": "#/definitions/tree"}}},
    }
    assert validate_args(schema, {"tree": [[], [[]]]}) is None
    assert "tree[1][0]" in (validate_args(schema, {"tree": [[], [5]]}) or "")


@pytest.mark.parametrize(
    ("format_", "good", "bad"),
    [
        ("date-time", "2024-02-29T10:00:00Z", "2023-02-29T10:00:00Z"),
        ("date", "2024-02-29", "2023-02-29"),
        ("email", "a@example.org", "a.example.org"),
        ("ipv4", "127.0.0.1", "127.0.0.256"),
        ("uri", "https://example.org/a", "not a uri"),
        ("regex", "^a+$", "("),
    ],
)
def test_formats_are_checked(format_: str, good: str, bad: str) -> None:
    schema = {"format": format_}
    assert validate_args(schema, good) is None
    assert format_ in (validate_args(schema, bad) or "")
    assert validate_args(schema, 5) is None


def test_a_pattern_that_explodes_is_stopped() -> None:
    assert validate_args({"pattern": "^(?=(a+)+$)(a|aa)+$"}, "a" * 5000 + "b")


def test_a_schema_that_holds_itself_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"child": schema}
    problem = ArgumentValidator(schema).schema_error
    assert problem and "schema" in problem
