"""The result of a call as MCP clients take it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any

import mcp_types as mcp

from toolcrib import Completion, MediaPart, TextPart

META = "toolcrib/"
"""Begins the names of what we add to a result for programs."""


def converted(done: Completion, news: Iterable[str]) -> mcp.CallToolResult:
    """The result of a call; `news` is what the model has to be told besides."""
    result = done.result
    parts = (TextPart(result.output),) if isinstance(result.output, str) else result.output
    content = [_block(part) for part in parts]
    if result.note:
        content.append(_text(result.note))
    if result.delivery is not None:
        content.append(_text(result.delivery.message))
    content += map(_text, news)
    meta: dict[str, Any] = {f"{META}outcome": done.outcome}
    if result.truncated:
        meta[f"{META}truncated"] = True
    if result.stop_turn:
        meta[f"{META}stopTurn"] = True
    return mcp.CallToolResult(
        content=content or [_text("")],
        structured_content=_sendable(result.structured),
        is_error=result.is_error,
        _meta=meta,
    )


def failed(message: str) -> mcp.CallToolResult:
    """A call that went wrong here, with a message for the model."""
    return mcp.CallToolResult(content=[_text(message)], is_error=True)


def _block(part: TextPart | MediaPart) -> mcp.ContentBlock:
    if isinstance(part, TextPart):
        return _text(part.text)
    data = base64.b64encode(part.data).decode("ascii")
    if part.kind == "image":
        return mcp.ImageContent(data=data, mime_type=part.media_type)
    if part.kind == "audio":
        return mcp.AudioContent(data=data, mime_type=part.media_type)
    # The protocol has no block for videos.
    return mcp.EmbeddedResource(
        resource=mcp.BlobResourceContents(
            uri=f"attachment://{part.kind}", mime_type=part.media_type, blob=data
        )
    )


def _sendable(data: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Data of a result as JSON; None where it has none, as of a number that is infinite."""
    try:
        sent = json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError):
        return None
    found = json.loads(sent)
    return found if isinstance(found, dict) else None


def _text(text: str) -> mcp.TextContent:
    # A lone surrogate, such as that of a file name which is no UTF-8, cannot be sent.
    return mcp.TextContent(text=text.encode("utf-8", "replace").decode("utf-8"))
