"""An MCP server whose tools are offered again: data, a picture, an error, a call that takes long.

The argument is a folder, in which it notes the calls that it was told to cancel.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
SCHEMA = {"type": "object", "properties": {}}
READS = {"readOnlyHint": True, "openWorldHint": False}
TOOLS = [
    {"name": "data", "title": "Some data", "annotations": READS, "inputSchema": SCHEMA},
    {"name": "picture", "annotations": {"title": "A picture"}, "inputSchema": SCHEMA},
    {"name": "fail", "annotations": {"destructiveHint": True}, "inputSchema": SCHEMA},
    {"name": "slow", "inputSchema": SCHEMA},
    {"name": "grow", "inputSchema": SCHEMA},
]
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
RESULTS: dict[str, dict[str, Any]] = {
    "data": {
        "content": [{"type": "text", "text": "two numbers"}],
        "structuredContent": {"numbers": [1, 2]},
    },
    "picture": {"content": [{"type": "image", "data": PICTURE, "mimeType": "image/png"}]},
    "fail": {"content": [{"type": "text", "text": "it went wrong"}], "isError": True},
    "grow": {"content": [{"type": "text", "text": "grown"}]},
}


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(message: dict[str, Any]) -> None:
    params = message.get("params", {})
    match message["method"]:
        case "initialize":
            result: dict[str, Any] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "inner", "version": "1"},
            }
        case "tools/list":
            result = {"tools": TOOLS}
        case "tools/call" if params["name"] == "slow":
            (FOLDER / "slow").write_text("started")
            return
        case "tools/call":
            result = RESULTS[params["name"]]
        case _:
            send(id=message["id"], error={"code": -32601, "message": "no such method"})
            return
    send(id=message["id"], result=result)
    if message["method"] == "tools/call" and params["name"] == "grow":
        TOOLS.append({"name": "grown", "inputSchema": SCHEMA})
        send(method="notifications/tools/list_changed")


for line in sys.stdin:
    received = json.loads(line)
    if "id" in received:
        answer(received)
    elif received.get("method") == "notifications/cancelled":
        (FOLDER / "slow").write_text("cancelled")
