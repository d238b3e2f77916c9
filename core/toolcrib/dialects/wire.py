"""Parts of a compiled schema, and how values that need another form are written."""

from __future__ import annotations

import json
from typing import Any

from attrs import frozen

from toolcrib.dialects.plans import AS_IS, Plan

Schema = dict[str, Any]


@frozen
class Compiled:
    """A schema as it is sent, and how to read what comes back."""

    schema: Schema
    plan: Plan = AS_IS

    @property
    def wire_types(self) -> frozenset[str]:
        """The types of what the model writes."""
        options = [Compiled(option) for option in self.schema.get("anyOf", ())]
        if options:
            return frozenset(kind for option in options for kind in option.wire_types)
        given = self.schema.get("type", "object")  # a reference can lead to anything
        return frozenset([given] if isinstance(given, str) else given)


def are_mixed_up(options: list[Compiled]) -> bool:
    """Whether a text or list could have been meant in two ways."""
    for index, option in enumerate(options):
        if option.plan is AS_IS:
            continue
        others = [other for place, other in enumerate(options) if place != index]
        for kind in option.wire_types & {"string", "array"}:
            if any(kind in other.wire_types for other in others):
                return True
    return False


def as_texts(values: list[Any]) -> dict[str, Any]:
    """Texts for values: a text is itself, anything else its JSON; where that clashes, all JSON."""
    texts = {v if isinstance(v, str) and v else _json(v): v for v in values}
    return texts if len(texts) == len(values) else {_json(v): v for v in values}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
