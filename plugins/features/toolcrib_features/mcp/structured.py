"""The structured part of an answer as text, where the answer does not say the same already."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_RESERVED = frozenset({"modelcontextprotocol", "mcp"})


def structured_text(structured: Any, meta: Any, texts: Sequence[str]) -> str | None:
    """`structuredContent` and `_meta` between tags; None when there is nothing new to say.

    What cannot be written as JSON is left out.
    """
    said: dict[str, Any] = {}
    if structured is not None and not is_told(structured, texts):
        said["structuredContent"] = structured
    if isinstance(meta, Mapping):
        own = {key: value for key, value in meta.items() if not is_reserved(key)}
        if own:
            said["_meta"] = own
    written = _json(said) if said else None
    if written is None:
        return None
    # No tag inside ends the text early, and the JSON still means the same.
    written = written.replace("</", "<\\/")
    return f"<mcp-structured-result>\n{written}\n</mcp-structured-result>"


def is_told(structured: Any, texts: Sequence[str]) -> bool:
    """Whether a text has the same value, or all texts together have that of a lone `result`.

    Servers put a value that is no object under this key.
    """
    if any(_says(text, structured) for text in texts):
        return True
    if not isinstance(structured, Mapping) or structured.keys() != {"result"}:
        return False
    value = structured["result"]
    if any(_says(text, value) for text in texts):
        return True
    return (
        isinstance(value, list)
        and len(value) == len(texts)
        and all(_says(text, item) for text, item in zip(texts, value, strict=True))
    )


def is_reserved(key: object) -> bool:
    """Whether a key of `_meta` belongs to the protocol: `mcp.dev/x`, `io.modelcontextprotocol/x`.

    One edition of the protocol reserves prefixes with its name before the last label, later ones
    those with its name as the second.
    """
    prefix, slash, _ = str(key).partition("/")
    labels = prefix.lower().split(".")
    return bool(slash) and (_any_reserved(labels[:-1]) or _any_reserved(labels[1:2]))


def _any_reserved(labels: Iterable[str]) -> bool:
    return not _RESERVED.isdisjoint(labels)


def _says(text: str, value: Any) -> bool:
    if isinstance(value, str):
        return text == value
    written = _json(value, canonical=True)
    try:
        return written is not None and _json(json.loads(text), canonical=True) == written
    except (ValueError, RecursionError):
        return False


def _json(value: Any, *, canonical: bool = False) -> str | None:
    """JSON text; None for what has none."""
    try:
        return json.dumps(value, ensure_ascii=canonical, sort_keys=canonical, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
