"""A server over standard input that answers what it is told to, and asks its client things."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOLS: dict[str, dict[str, Any]] = {
    "answer": {"description": "Gives back the `result` that it is given.", "inputSchema": {}},
    "echo": {
        "title": "Echo",
        "description": "Gives back its arguments.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"type": ["string", "null"]},
                "c": {"type": "object", "properties": {"d": {"$ref": "#/$defs/whole"}}},
                "free": {"type": "object"},
            },
            "$defs": {"whole": {"type": "integer"}},
        },
    },
    "fetches": {
        "inputSchema": {
            "type": "object",
            "properties": {"x": {"$ref": "http://127.0.0.1:9/x.json"}},
        }
    },
    "look": {
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True, "title": "Look"},
    },
    "destroy": {
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"destructiveHint": True},
    },
    "chat": {"inputSchema": {"type": "object", "properties": {}}},
    "ask": {"inputSchema": {"type": "object"}},
    "refuse": {"inputSchema": {"type": "object", "properties": {}}},
    "die": {"inputSchema": {"type": "object", "properties": {}}},
}
PROMPTS = [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]
RESOURCES = [{"uri": "note://1", "name": "Note", "mimeType": "text/plain", "size": 3}]


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return dict(json.loads(line))


def ask(method: str, params: dict[str, Any]) -> Any:
    send(id="mine", method=method, params=params)
    while (message := receive()).get("id") != "mine" or "method" in message:
        pass
    return message.get("result", {"error": message.get("error")})


def text(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(value, sort_keys=True)}]}


def call(name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    match name:
        case "answer":
            return dict(arguments["result"])
        case "ask":
            return text(ask(arguments["method"], arguments.get("params", {})))
        case "chat":
            for number in range(100):
                params = {"level": "info", "logger": "me", "data": f"\x1b[31mline {number}"}
                send(method="notifications/message", params=params)
            token = {"progressToken": meta["progressToken"]}
            progress = {"progress": 2, "total": 2, "message": "half\x07"}
            send(method="notifications/progress", params={**token, **progress})
        case "die":
            sys.exit()
    return text(arguments)


def answer(method: str, params: dict[str, Any]) -> Any:
    match method:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "logging": {}},
                "serverInfo": {"name": "talkative", "version": "1"},
            }
        case "tools/list":
            return {"tools": [{"name": name, **about} for name, about in TOOLS.items()]}
        case "resources/list":
            return {"resources": RESOURCES}
        case "resources/read":
            return {"contents": [{"uri": params["uri"], "text": "one"}]}
        case "prompts/list":
            return {"prompts": PROMPTS}
        case "prompts/get":
            content = {"type": "text", "text": f"Hello {params['arguments']['who']}"}
            return {"messages": [{"role": "user", "content": content}]}
        case "tools/call" if params["name"] != "refuse":
            return call(params["name"], params["arguments"], params.get("_meta", {}))
        case "ping":
            return {}
    return None


while True:
    request = receive()
    if "method" in request and "id" in request:
        found = answer(request["method"], request.get("params", {}))
        if found is None:
            send(id=request["id"], error={"code": -32601, "message": "no\x1b[2J such thing"})
        else:
            send(id=request["id"], result=found)
