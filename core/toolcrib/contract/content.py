"""Content parts as JSON-ready data."""

from __future__ import annotations

import base64
from typing import Any

from toolcrib.contract.result import ContentPart, TextPart


def content_to_json(output: str | tuple[ContentPart, ...]) -> Any:
    """A string stays as it is; parts become objects with `type`, media as base64."""
    if isinstance(output, str):
        return output
    return [part_to_json(part) for part in output]


def part_to_json(part: ContentPart) -> dict[str, Any]:
    """One part as an object."""
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    return {
        "type": part.kind,
        "media_type": part.media_type,
        "data": base64.b64encode(part.data).decode("ascii"),
    }
