"""Arguments of an original schema as a model would write them by the compiled one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from toolcrib.dialects import CompiledSchema
from toolcrib.dialects.node import same
from toolcrib.dialects.plans import (
    AS_IS,
    Choice,
    Definition,
    Fields,
    Items,
    JsonText,
    OneOf,
    Pairs,
    Plan,
    Property,
    Wrapped,
)


class Encoder:
    """The ways to write arguments for one compiled schema."""

    def __init__(self, compiled: CompiledSchema, plain: Any) -> None:
        self.compiled = compiled
        self.root = plain
        self.judge = jsonschema_rs.Draft202012Validator(plain)

    def writings(self, arguments: Any, limit: int = 40) -> list[Any]:
        """What the compiled schema accepts of the ways to write the arguments."""
        found: list[Any] = []
        for written in self._ways(self.root, self.compiled.plan, arguments):
            if self.judge.is_valid(written) and written not in found:
                found.append(written)
            limit -= 1
            if limit < 0:
                break
        return found

    def _ways(self, schema: Any, plan: Plan, value: Any) -> Iterator[Any]:
        if isinstance(plan, Definition):
            plan = self.compiled._definitions[plan.name]
        if isinstance(schema, dict) and schema.get("$ref", "").startswith("#/$defs/"):
            schema = self.root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        if value is None and isinstance(schema, dict) and self._takes_null(schema):
            yield None
        if isinstance(plan, JsonText):
            yield json.dumps(value)
            return
        if isinstance(plan, Choice):
            yield from (text for text, other in plan.values.items() if same(other, value))
            return
        if isinstance(plan, OneOf):
            for _, option in plan.options:
                yield from self._ways(schema, option, value)
            return
        if isinstance(schema, dict) and ("anyOf" in schema or "oneOf" in schema):
            for branch in [*schema.get("anyOf", []), *schema.get("oneOf", [])]:
                rest = {k: v for k, v in schema.items() if k not in ("anyOf", "oneOf", "$defs")}
                yield from self._ways({**rest, **branch} if rest else branch, plan, value)
            return
        yield self._one(schema if isinstance(schema, dict) else {}, plan, value)

    def _first(self, schema: Any, plan: Plan, value: Any) -> Any:
        ways = list(self._ways(schema, plan, value))[:40]
        within = {"$defs": self.root.get("$defs", {})}
        judge = jsonschema_rs.Draft202012Validator(
            {**schema, **within} if isinstance(schema, dict) else {}
        )
        return next((way for way in ways if judge.is_valid(way)), ways[0] if ways else value)

    def _takes_null(self, schema: Any) -> bool:
        within = {"$defs": self.root.get("$defs", {})}
        return jsonschema_rs.Draft202012Validator({**schema, **within}).is_valid(None)

    def _one(self, schema: dict[str, Any], plan: Plan, value: Any) -> Any:
        if isinstance(plan, Wrapped):
            return {plan.name: self._first({}, plan.plan, value)}
        if isinstance(plan, Pairs):
            if not isinstance(value, dict):
                return value
            pair = schema.get("items", {}).get("properties", {})
            return [
                {"key": key, "value": self._first(pair.get("value"), plan.value, part)}
                for key, part in value.items()
            ]
        if isinstance(value, dict):
            return self._object(schema, plan, value)
        if isinstance(value, list):
            prefix, rest = (plan.prefix, plan.rest) if isinstance(plan, Items) else ((), AS_IS)
            plans = (*prefix, *[rest] * len(value))
            tuples = schema.get("prefixItems", [])
            schemas = [*tuples, *[schema.get("items", {})] * len(value)]
            return [self._first(s, p, v) for s, p, v in zip(schemas, plans, value, strict=False)]
        return value

    def _object(self, schema: dict[str, Any], plan: Plan, value: dict[str, Any]) -> Any:
        properties = schema.get("properties", {})
        known = {name: Property(name, AS_IS) for name in properties}
        rest, rest_plan = None, AS_IS
        if isinstance(plan, Fields):
            known, rest, rest_plan = dict(plan.properties), plan.rest, plan.rest_plan
        written: dict[str, Any] = {}
        left = dict(value)
        for wire, meant in known.items():
            if meant.name in left:
                part = left.pop(meant.name)
                written[wire] = self._first(properties.get(wire, {}), meant.plan, part)
            elif wire in schema.get("required", ()) and self._takes_null(properties[wire]):
                written[wire] = None
        if rest is not None and rest in properties:
            written[rest] = self._first(properties[rest], rest_plan, left) if left else None
            if written[rest] is None and rest not in schema.get("required", ()):
                del written[rest]
            return written
        more = schema.get("additionalProperties", {})
        more = more if isinstance(more, dict) else {}
        return {**written, **{key: self._first(more, AS_IS, part) for key, part in left.items()}}
