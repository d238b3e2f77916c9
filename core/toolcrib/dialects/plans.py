"""How what a model wrote by a compiled schema is turned back, part by part."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attrs import define, frozen

from toolcrib.dialects.fitting import MAX_DEPTH, Fitting
from toolcrib.dialects.node import Document, Node, has_type


@define
class Run:
    """One restoration; what makes no sense stays as it is, for the validation to tell."""

    document: Document
    definitions: Mapping[str, Plan]
    depth: int = 0

    def restore(self, plan: Plan, value: Any) -> Any:
        """The value as the original schema knows it."""
        if self.depth > MAX_DEPTH:
            return value
        self.depth += 1
        try:
            return plan.restored(value, self)
        finally:
            self.depth -= 1

    def accepts(self, node: Node, value: Any) -> bool:
        """Whether a restored value may be what a node of the original means."""
        judge = Fitting(self.document)
        return judge.fits(node, judge.without_nulls(node, value))


class Plan:
    """Leave a value as it is."""

    def restored(self, value: Any, run: Run) -> Any:
        """The value that the model meant."""
        return value


AS_IS = Plan()


@frozen
class JsonText(Plan):
    """A value that was written as JSON text, or a plain text where that alone can be meant."""

    node: Node

    def restored(self, value: Any, run: Run) -> Any:
        if not isinstance(value, str):
            return value
        try:
            meant = json.loads(value, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return value
        is_plain_text = run.accepts(self.node, value) and not run.accepts(self.node, meant)
        return value if is_plain_text else meant


@frozen
class Choice(Plan):
    """One of some values, which the model sees as texts."""

    values: Mapping[str, Any]

    def restored(self, value: Any, run: Run) -> Any:
        return self.values.get(value, value) if isinstance(value, str) else value


@frozen
class Property:
    """What a property of the compiled schema stands for.

    Attributes:
        null_is_absent: null says that the property is not given, whatever the original accepts.
    """

    name: str
    plan: Plan
    null_is_absent: bool = False


@frozen
class Fields(Plan):
    """An object with named properties.

    Attributes:
        rest: the property whose value holds those that have no name in the schema.
    """

    properties: Mapping[str, Property]
    rest: str | None = None
    rest_plan: Plan = AS_IS

    def restored(self, value: Any, run: Run) -> Any:
        if not isinstance(value, Mapping):
            return value
        result: dict[str, Any] = {}
        more: Any = {}
        for name, part in value.items():
            known = self.properties.get(name)
            if name == self.rest:
                more = run.restore(self.rest_plan, part)
            elif known is None:
                result[name] = part
            elif part is not None or not known.null_is_absent:
                result[known.name] = run.restore(known.plan, part)
        return {**more, **result} if isinstance(more, Mapping) else result


@frozen
class Pairs(Plan):
    """An object with free keys, written as a list of `{key, value}`."""

    value: Plan

    def restored(self, value: Any, run: Run) -> Any:
        if isinstance(value, Mapping):
            return {key: run.restore(self.value, part) for key, part in value.items()}
        if not isinstance(value, list):
            return value
        result = {}
        for pair in value:
            if not isinstance(pair, Mapping) or not isinstance(pair.get("key"), str):
                return value
            result[pair["key"]] = run.restore(self.value, pair.get("value"))
        return result


@frozen
class Items(Plan):
    """A list, the first items of which can be of their own kind."""

    prefix: tuple[Plan, ...]
    rest: Plan

    def restored(self, value: Any, run: Run) -> Any:
        if not isinstance(value, list):
            return value
        plans = (*self.prefix, *[self.rest] * (len(value) - len(self.prefix)))
        return [run.restore(plan, item) for plan, item in zip(plans, value, strict=False)]


@frozen
class OneOf(Plan):
    """Alternatives; the first that gives what its original accepts is meant."""

    options: tuple[tuple[Node, Plan], ...]

    def restored(self, value: Any, run: Run) -> Any:
        results = [(node, run.restore(plan, value)) for node, plan in self.options]
        for node, result in results:
            if run.accepts(node, result):
                return result
        for _, result in results:
            if any(run.accepts(node, result) for node, _ in results):
                return result
        for node, result in results:
            if has_type(result, node.types):
                return result
        return value


@frozen
class Definition(Plan):
    """A reference to a definition of the compiled schema."""

    name: str

    def restored(self, value: Any, run: Run) -> Any:
        return run.restore(run.definitions[self.name], value)


@frozen
class Wrapped(Plan):
    """All arguments in one property."""

    name: str
    plan: Plan

    def restored(self, value: Any, run: Run) -> Any:
        if isinstance(value, Mapping) and set(value) == {self.name}:
            return run.restore(self.plan, value[self.name])
        return value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
