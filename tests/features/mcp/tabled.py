"""A server whose tools are in a file that a test may change; it notes its starts and its calls."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
lock = threading.Lock()


def note(name: str, text: object) -> None:
    with (FOLDER / name).open("a") as file:
        print(text, file=file, flush=True)


def table() -> dict[str, Any]:
    return dict(json.loads((FOLDER / "table.json").read_text("utf-8")))


def send(**message: Any) -> None:
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def follow() -> None:
    """Tell of changes of the file."""
    seen = (FOLDER / "table.json").read_bytes()
    while True:
        time.sleep(0.02)
        now = (FOLDER / "table.json").read_bytes()
        if now and now != seen:
            seen = now
            send(method="notifications/tools/list_changed")


def page(about: dict[str, Any], start: int) -> dict[str, Any]:
    after, calls = about.get("after", {}), FOLDER / "calls"
    called = calls.read_text().splitlines() if calls.exists() else []
    tools = [t for t in about["tools"] if t["name"] not in after or after[t["name"]] in called]
    end = start + about.get("page", len(tools))
    more = {"nextCursor": str(end)} if end < len(tools) else {}
    return {"tools": tools[start:end], **more}


def answer(method: str, params: dict[str, Any]) -> Any:
    about = table()
    match method:
        case "initialize":
            threading.Thread(target=follow, daemon=True).start()
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "tabled", "version": "1"},
            }
        case "tools/list":
            time.sleep(about.get("list_s", 0))
            return page(about, int(params.get("cursor", 0)))
        case "tools/call":
            note("calls", params["name"])
            if params["name"] in about.get("after", {}).values():
                send(method="notifications/tools/list_changed")
            return {"content": [{"type": "text", "text": f"{FOLDER.name}:{params['name']}"}]}
        case "ping":
            return {}
    return None


note("starts", os.getpid())
stubborn = bool(table().get("stubborn"))
if table().get("alone"):
    held = (FOLDER / "held").open("w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("another one is running")
if stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(table().get("start_s", 0))
if table().get("fails"):
    sys.exit("it cannot start")
for line in sys.stdin:
    message = json.loads(line)
    if "method" in message and "id" in message:
        found = answer(message["method"], message.get("params", {}))
        if found is None:
            send(id=message["id"], error={"code": -32601, "message": "no such method"})
        else:
            send(id=message["id"], result=found)
if stubborn:
    time.sleep(300)
