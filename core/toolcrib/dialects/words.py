"""What a compiled schema says in words: descriptions, and what no keyword may say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_MAX_DEFAULT_CHARS = 200


def with_words(
    schema: dict[str, Any], says: Mapping[str, Any], dropped: Sequence[str] = ()
) -> dict[str, Any]:
    """The schema with a description, in which the default and the dropped limits are named."""
    remarks = list(dropped)
    if "default" in says and says["default"] is not None:
        default = json.dumps(says["default"], ensure_ascii=False)
        if len(default) <= _MAX_DEFAULT_CHARS:
            remarks.append(f"default: {default}")
    text = schema.get("description") or says.get("description") or says.get("title") or ""
    if remarks:
        text = f"{text} ({', '.join(remarks)})".lstrip()
    if not text:
        return schema
    return (
        {**{k: v for k, v in schema.items() if k == "type"}, "description": text}
        | schema
        | {"description": text}
    )


def hints(limits: Mapping[str, Any]) -> list[str]:
    """Limits for readers."""
    return [f"{keyword}: {json.dumps(value)}" for keyword, value in limits.items()]
