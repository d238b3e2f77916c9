"""What a server has changed about a tool, for a person to judge."""

from __future__ import annotations

import difflib
import json

from toolcrib_features.mcp.model import ToolDefinition


def difference(before: ToolDefinition, after: ToolDefinition) -> list[str]:
    """The lines that were taken out (`-`) and put in (`+`), with a few around them.

    Everything that is not ASCII is escaped, so that nothing can hide in the lines.
    """
    lines = difflib.unified_diff(_lines(before), _lines(after), "accepted", "now", lineterm="")
    return list(lines)


def _lines(tool: ToolDefinition) -> list[str]:
    shown = {key: value for key, value in tool.data.items() if key not in ("_meta", "icons")}
    if isinstance(text := shown.get("description"), str):  # to see the line that is another
        shown["description"] = text.split("\n")
    return json.dumps(shown, indent=2, sort_keys=True).splitlines()
