"""What each provider refuses, written from the providers' rules and not from the compiler."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jsonschema_rs

Schema = dict[str, Any]
Problems = Iterator[str]

_SCALARS = {"string", "number", "integer", "boolean", "null"}
_COMBINING = {"oneOf", "anyOf", "allOf"}


def below(schema: Any) -> Iterator[tuple[Schema, int]]:
    """All schemas of one, with the number of properties and items that they lie below."""
    pending = [(schema, 0)]
    while pending:
        node, depth = pending.pop()
        if not isinstance(node, dict):
            continue
        yield node, depth
        for keyword in ("properties", "patternProperties", "dependentSchemas"):
            pending += [(child, depth + 1) for child in node.get(keyword, {}).values()]
        for keyword in ("items", "additionalProperties", "contains", "propertyNames"):
            pending.append((node.get(keyword), depth + 1))
        for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
            pending += [(child, depth) for child in node.get(keyword, [])]
        for keyword in ("not", "if", "then", "else", "unevaluatedProperties"):
            pending.append((node.get(keyword), depth))
        pending += [(child, 1) for child in node.get("$defs", {}).values()]


def _is_object(schema: Schema) -> Problems:
    if schema.get("type") != "object":
        yield f"the root is of type {schema.get('type')!r}"
    if not isinstance(schema.get("properties", {}), dict):
        yield "properties is no mapping"


def _is_draft_2020_12(schema: Schema) -> Problems:
    try:
        jsonschema_rs.Draft202012Validator(schema)
    except ValueError as error:
        yield f"no JSON Schema of draft 2020-12: {error}"


def _references_lead_somewhere(schema: Schema) -> Problems:
    for node, _ in below(schema):
        ref = node.get("$ref")
        if ref is None:
            continue
        name = ref.removeprefix("#/$defs/")
        if not ref.startswith("#/$defs/") or name not in schema.get("$defs", {}):
            yield f"the reference {ref!r} dangles"


def mcp(schema: Schema) -> Problems:
    yield from _is_object(schema)
    if not all(isinstance(value, dict) for value in schema.get("properties", {}).values()):
        yield "a property is no mapping"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        yield f"required is {required!r}"


def openai(schema: Schema) -> Problems:
    yield from _is_object(schema)
    yield from _is_draft_2020_12(schema)
    yield from _references_lead_somewhere(schema)
    if "properties" not in schema:
        yield "object schema missing properties"
    for keyword in _COMBINING | {"enum", "not"}:
        if keyword in schema:
            yield f"{keyword} at the top level"
    for node, _ in below(schema):
        kinds = node.get("type", [])
        is_array = "array" in ([kinds] if isinstance(kinds, str) else kinds)
        if is_array and not isinstance(node.get("items"), dict):
            yield "array schema missing items"


def anthropic(schema: Schema) -> Problems:
    yield from _is_object(schema)
    yield from _is_draft_2020_12(schema)
    yield from _references_lead_somewhere(schema)
    for keyword in _COMBINING:
        if keyword in schema:
            yield f"{keyword} at the top level"
    for name in schema.get("properties", {}):
        if not re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name):
            yield f"the property key {name!r}"


_STRICT_KEYWORDS = {
    "string": {"enum", "pattern", "format"},
    "number": {
        "enum", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
    },
    "boolean": {"enum"},
    "null": set(),
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
}  # fmt: skip
_STRICT_FORMATS = {
    "date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid",
}  # fmt: skip


def openai_strict(schema: Schema) -> Problems:
    yield from _is_object(schema)
    yield from _is_draft_2020_12(schema)
    yield from _references_lead_somewhere(schema)
    if "anyOf" in schema:
        yield "anyOf at the root"
    yield from _strict_sizes(schema)
    for node, depth in below(schema):
        if depth > 10:
            yield f"{depth} levels of nesting exceeds limit of 10"
        known = {"description", "$defs"} if node is schema else {"description"}
        if "$ref" in node:
            known |= {"$ref"}
        elif "anyOf" in node:
            known |= {"anyOf"}
        elif "type" not in node:
            yield "schema must have a 'type' key"
        else:
            kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
            for kind in kinds:
                known |= {"type"} | _STRICT_KEYWORDS["number" if kind == "integer" else kind]
        for keyword in node.keys() - known:
            yield f"{keyword!r} is not permitted"
        if "object" in node.get("type", []):
            if node.get("additionalProperties") is not False:
                yield "additionalProperties is required to be supplied and to be false"
            if sorted(node.get("required", ())) != sorted(node.get("properties", [None])):
                yield "required has to list every property"
        if "array" in node.get("type", []) and "items" not in node:
            yield "array schema missing items"
        if node.get("format", "date") not in _STRICT_FORMATS:
            yield f"format {node['format']!r}"
        if re.search(r"\(\?[=!<]", node.get("pattern", "")):
            yield "a pattern that looks around"


def _strict_sizes(schema: Schema) -> Problems:
    nodes = [node for node, _ in below(schema)]
    names = [name for node in nodes for name in node.get("properties", {})]
    values = [value for node in nodes for value in node.get("enum", [])]
    texts = [*names, *schema.get("$defs", {}), *filter(lambda v: isinstance(v, str), values)]
    if len(names) > 5000 or len(values) > 1000 or sum(map(len, texts)) > 120_000:
        yield "too many properties, values or characters"
    for node in nodes:
        enum = node.get("enum", [])
        if len(enum) > 250 and sum(len(v) for v in enum if isinstance(v, str)) > 15_000:
            yield "too long an enum"


_GEMINI_KEYWORDS = {
    "string": {"enum", "format", "pattern", "minLength", "maxLength"},
    "number": {"format", "minimum", "maximum"},
    "integer": {"format", "minimum", "maximum"},
    "boolean": set(),
    "array": {"items", "minItems", "maxItems"},
    "object": {
        "properties", "required", "minProperties", "maxProperties", "propertyOrdering",
    },
}  # fmt: skip
_GEMINI_FORMATS = {
    "string": {"enum", "date-time"},
    "number": {"float", "double"},
    "integer": {"int32", "int64"},
}


def gemini(schema: Schema) -> Problems:
    yield from _is_object(schema)
    for node, depth in below(schema):
        if depth > 32:
            yield "nested too deep"
        if "anyOf" in node:
            if node.keys() != {"anyOf"}:
                yield "specified other fields alongside any_of"
            if not node["anyOf"]:
                yield "an empty any_of"
            continue
        kind = node.get("type")
        if kind not in _GEMINI_KEYWORDS:
            yield f"the type {kind!r}"
            continue
        for keyword in node.keys() - _GEMINI_KEYWORDS[kind] - {"type", "description", "nullable"}:
            yield f"Unknown name {keyword!r} for {kind}"
        if "format" in node and node["format"] not in _GEMINI_FORMATS[kind]:
            yield f"format {node['format']!r} of {kind}"
        if not all(isinstance(value, str) and value for value in node.get("enum", ["x"])):
            yield "enum: only allowed for STRING type, and not empty"
        if node.get("enum") == [] or node.get("properties") == {}:
            yield "should be non-empty"
        if kind == "array" and not isinstance(node.get("items"), dict):
            yield "items: missing field"
        for name in node.get("properties", {}):
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name):
                yield f"the name {name!r}"
        if set(node.get("required", ())) - set(node.get("properties", ())):
            yield "required: property is not defined"


CHECKERS: dict[str, Callable[[Schema], Problems]] = {
    "openai": openai,
    "openai-strict": openai_strict,
    "anthropic": anthropic,
    "gemini": gemini,
    "mcp": mcp,
}


def as_json_schema(schema: Any) -> Any:
    """A schema for Gemini with its `nullable` in the words of JSON Schema."""
    if isinstance(schema, list):
        return [as_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: as_json_schema(value) for key, value in schema.items() if key != "nullable"}
    if schema.get("nullable") is True:
        return {"anyOf": [plain, {"type": "null"}]}
    return plain
