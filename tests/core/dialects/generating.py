"""Instances of any schema, made at random and then judged by a validator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any
from urllib.parse import unquote

import jsonschema_rs

from toolcrib.validation.draft import draft_of

TEXTS = [
    "", "a", "abc", "hello world", "main", "2024-05-01", "2024-05-01T10:00:00Z", "10:00:00Z",
    "a@example.com", "https://example.com/x?y=1", "127.0.0.1", "::1", "example.com", "é€𝄞",
    "123e4567-e89b-12d3-a456-426614174000", "ABC-123", "abcdef0123456789", "#ff00aa", "1", "12",
    "true", "null", "{}", "[]", "\"quoted\"", "v1.2.3", "user/repo", "light.kitchen", "P1D",
    "C024BE91L", "1503435956.000247", "x_1", "X-Header", "en-US", "1:2", "/tmp/a", "abcde", "100m",
    "0123456789abcdef0123456789abcdef01234567", "+15551234567", "12345", "a-b", "UPPER_CASE", "q1",
]  # fmt: skip
_TYPES = ["string", "integer", "number", "boolean", "array", "object", "null"]


def validator(schema: Any) -> Any:
    """The validator of the schema's own draft; None when it is no valid schema."""
    classes = {
        "4": jsonschema_rs.Draft4Validator,
        "6": jsonschema_rs.Draft6Validator,
        "7": jsonschema_rs.Draft7Validator,
        "2019-09": jsonschema_rs.Draft201909Validator,
        "2020-12": jsonschema_rs.Draft202012Validator,
    }

    def refuse(uri: str) -> Any:
        raise LookupError(uri)

    try:
        return classes[draft_of(schema)](schema, validate_formats=True, retriever=refuse)
    except ValueError:
        return None


def instances(schema: Any, count: int, seed: int) -> list[Any]:
    """Arguments that the schema accepts, as many as could be found with some effort."""
    judge = validator(schema)
    if judge is None:
        return []
    random = Random(seed)
    found: list[Any] = []
    for attempt in range(count * 30):
        value = Maker(random, schema, attempt % 5 == 4).make(schema, 0)
        if isinstance(value, dict) and judge.is_valid(value):
            found.append(value)
            if len(found) == count:
                break
    return found


class Maker:
    def __init__(self, random: Random, root: Any, extras: bool) -> None:
        self.random = random
        self.root = root
        self.extras = extras

    def make(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict):
            return self.anything(depth)
        schema = self.flat(schema, 0)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self.random.choice(schema["enum"])
        kinds = schema.get("type") or self.guess(schema)
        kind = self.random.choice(kinds if isinstance(kinds, list) else [kinds])
        if kind == "object":
            return self.object(schema, depth)
        if kind == "array":
            return self.array(schema, depth)
        if kind == "string":
            return self.text(schema)
        if kind in ("integer", "number"):
            return self.number(schema, kind)
        return self.random.random() < 0.5 if kind == "boolean" else None

    def flat(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """The schema with one alternative chosen and references put in."""
        result = {k: v for k, v in schema.items() if k not in ("$ref", "allOf", "anyOf", "oneOf")}
        parts = list(schema.get("allOf", []))
        if "$ref" in schema and depth < 20:
            parts.append(self.target(schema["$ref"]))
        for keyword in ("anyOf", "oneOf"):
            if schema.get(keyword):
                parts.append(self.random.choice(schema[keyword]))
        for part in parts:
            if isinstance(part, dict):
                result = _merged(result, self.flat(part, depth + 1))
        return result

    def target(self, ref: str) -> Any:
        value = self.root
        base, _, fragment = ref.partition("#")
        if not fragment.startswith("/") and ref != "#":
            named = [node for node in _nodes(value) if _name(node) in (fragment, base)]
            return named[0] if named else {}
        for step in unquote(fragment).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            value = value[int(step)] if isinstance(value, list) else value.get(step, {})
        return value

    def guess(self, schema: dict[str, Any]) -> Any:
        for kind, keywords in (
            ("object", "properties required additionalProperties patternProperties"),
            ("array", "items prefixItems minItems"),
            ("string", "pattern minLength maxLength format"),
            ("number", "minimum maximum multipleOf"),
        ):
            if any(keyword in schema for keyword in keywords.split()):
                return kind
        return self.random.choice(_TYPES)

    def anything(self, depth: int) -> Any:
        chosen = self.random.randrange(8 if depth < 4 else 5)
        if chosen < 5:
            return [self.random.choice(TEXTS), 3, 2.5, True, None][chosen]
        if chosen == 5:
            return [self.anything(depth + 1) for _ in range(self.random.randrange(3))]
        return {self.random.choice(TEXTS[1:]): self.anything(depth + 1) for _ in range(2)}

    def object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        result = {}
        required = schema.get("required", [])
        chance = self.random.choice([0.2, 0.6, 1.0]) if depth < 4 else 0.1
        for name, child in schema.get("properties", {}).items():
            if name in required or (child is not False and self.random.random() < chance):
                result[name] = self.make(child, depth + 1)
        for name in required:
            result.setdefault(name, self.anything(depth + 1))
        more = schema.get("additionalProperties", self.extras)
        if more and (isinstance(more, dict) or self.extras or not result):
            for _ in range(self.random.randrange(3)):
                name = self.random.choice(TEXTS[1:])
                result.setdefault(name, self.make(more, depth + 1))
        for pattern, child in schema.get("patternProperties", {}).items():
            names = [name for name in TEXTS if re.search(pattern, name)]
            if names:
                result[self.random.choice(names)] = self.make(child, depth + 1)
        return result

    def array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        items, prefix = schema.get("items"), schema.get("prefixItems", [])
        if isinstance(items, list):
            prefix, items = items, schema.get("additionalItems")
        least = schema.get("minItems", 0)
        size = self.random.randint(least, max(least, min(schema.get("maxItems", 3), least + 3)))
        if depth > 6:
            size = least
        made = [self.make(child, depth + 1) for child in prefix[: max(size, len(prefix))]]
        if items is not False:
            made += [self.make(items, depth + 1) for _ in range(size - len(made))]
        return made

    def text(self, schema: dict[str, Any]) -> str:
        fitting = [
            text
            for text in [*TEXTS, *(e for e in schema.get("examples", []) if isinstance(e, str))]
            if schema.get("minLength", 0) <= len(text) <= schema.get("maxLength", 999)
            and re.search(_python(schema.get("pattern", "")), text)
        ]
        if "format" in schema:
            judge = jsonschema_rs.Draft7Validator(
                {"format": schema["format"]}, validate_formats=True
            )
            fitting = [text for text in fitting if judge.is_valid(text)]
        return str(self.random.choice(fitting or ["x" * schema.get("minLength", 3)]))

    def number(self, schema: dict[str, Any], kind: str) -> float:
        low, high = schema.get("minimum", -3), schema.get("maximum")
        for bound, key in ((low, "exclusiveMinimum"), (high, "exclusiveMaximum")):
            exclusive = schema.get(key)
            if isinstance(exclusive, int | float) and not isinstance(exclusive, bool):
                if key == "exclusiveMinimum":
                    low = exclusive + (1 if kind == "integer" else 0.25)
                else:
                    high = exclusive - (1 if kind == "integer" else 0.25)
            elif exclusive and bound is not None:
                low, high = (low + 1, high) if key == "exclusiveMinimum" else (low, bound - 1)
        high = high if high is not None else low + 10
        step = schema.get("multipleOf", 1 if kind == "integer" else 0.25)
        steps = max(0, int((high - low) / step))
        value = low + step * self.random.randint(0, min(steps, 50))
        return int(value) if kind == "integer" else value


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for part in value.values() if isinstance(value, dict) else value:
            yield from _nodes(part)


def _name(node: Any) -> Any:
    return node.get("$anchor", node.get("$id")) if isinstance(node, dict) else None


def _python(pattern: str) -> str:
    return re.sub(r"\\[pP]\{[^}]*\}", r"\\w", pattern)


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    result = {**one, **other}
    for keyword in ("properties", "patternProperties"):
        if keyword in one and keyword in other:
            result[keyword] = {**one[keyword], **other[keyword]}
    if "required" in one and "required" in other:
        result["required"] = [*one["required"], *other["required"]]
    return result
