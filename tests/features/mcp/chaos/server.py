"""An MCP server that does one thing wrong, told by its first argument.

The second argument is a folder: `effects` gets a line for each effect that a call has had, `seen`
one for each message that came, `starts` one for each start.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

FAULT, FOLDER = sys.argv[1], Path(sys.argv[2])
NUMBER = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
SCHEMA = {"type": "object", "properties": {}}
stop_waiting = threading.Event()


def note(name: str, text: object) -> None:
    with (FOLDER / name).open("a") as file:
        print(text, file=file)


def times(name: str) -> int:
    file = FOLDER / name
    return len(file.read_text().splitlines()) if file.exists() else 0


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(**message: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def notify(method: str, **params: Any) -> None:
    send(method=method, params=params)


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "inputSchema": SCHEMA, **more}


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def begin() -> None:
    """What goes wrong before the first message."""
    match FAULT:
        case "late":
            time.sleep(NUMBER)
        case "banner":
            write(b"Starting v1\n\n\xff\xfe\n")
        case "endless-noise":
            write(b"no protocol at all\n" * 5_000)
        case "stderr-flood":
            sys.stderr.write("flood of complaints\n" * 200_000 + "the last words\n")
        case "half-frame":
            write(b'{"jsonrpc": "2.0", "method": "notifications/tools/list_ch')
            os._exit(7)
        case "exit":
            sys.stderr.write(
                "the key API_KEY is \x1b[31mmissing\x1b[0m\nVALUE=" + os.environ.get("VALUE", "")
            )
            sys.exit(3)
        case "reads-nothing":
            os.close(0)
            time.sleep(0.1)
            sys.stderr.write("no module")
            sys.exit(4)
        case "complains-and-exits":
            sys.stderr.write("a long complaint\n" * 200_000 + "the last words\n")
            sys.exit(6)
        case "killed":
            sys.stderr.write("no memory")
            sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        case "launcher":
            os.system("(sleep 300; true) &")
            sys.exit(5)
        case "ignores-shutdown":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case "child":
            child = [sys.executable, "-c", "import time; time.sleep(300)"]
            note("child", subprocess.Popen(child, start_new_session=True).pid)
        case "never":
            time.sleep(300)


def initialize(number: Any, params: dict[str, Any]) -> None:
    version = params["protocolVersion"]
    if FAULT == "unknown-version":
        version = "1999-01-01"
    if FAULT == "old-version":
        version = "2024-11-05"
    if FAULT == "picky-version" and version != "2025-03-26":
        data = {"supported": ["2024-11-05", "2025-03-26"], "requested": version}
        send(id=number, error={"code": -32602, "message": "Unsupported version", "data": data})
        return
    result: Any = {
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "chaos", "version": "1"},
        "instructions": "be \x1b[31mcareful",
    }
    if FAULT == "bad-handshake":
        result = {"protocolVersion": version}
    send(id=number, result=result)


def list_tools(number: Any, params: dict[str, Any]) -> None:
    cursor = params.get("cursor")
    tools = [tool("do"), tool("look", annotations={"readOnlyHint": True})]
    more: dict[str, Any] = {}
    match FAULT:
        case "slow-list":
            time.sleep(NUMBER)
        case "pages":
            tools = [tool(f"page{cursor or 1}")]
            more = {"nextCursor": "2"} if cursor is None else {}
        case "endless-pages":
            page = int(cursor or 0)
            tools, more = [tool(f"tool{page}")], {"nextCursor": str(page + 1)}
        case "same-cursor":
            tools, more = [tool("first" if cursor is None else "second")], {"nextCursor": "x"}
        case "bad-tools":
            tools += [
                tool("do"),
                {"name": "no-schema"},
                {**tool("list-schema"), "inputSchema": {"type": "array"}},
                tool(""),
                "tool?",  # type: ignore[list-item]
                {**tool("odd"), "annotations": "none", "title": 7},
            ]
        case "storm" if times("lists"):
            tools.append(tool("new"))
        case "list-shape":
            send(id=number, result={"tools": "none"})
            return
    note("lists", "tools/list")
    send(id=number, result={"tools": tools, **more})
    if FAULT == "churn":
        notify("notifications/tools/list_changed")
    if FAULT == "storm" and times("lists") == 1:
        for _ in range(500):
            notify("notifications/tools/list_changed")


def call(number: Any, params: dict[str, Any]) -> None:
    note("effects", params["name"])
    first = times("effects") == 1
    token = params.get("_meta", {}).get("progressToken")
    match FAULT:
        case "dies-in-call" if first:
            os._exit(9)
        case "always-dies-in-call":
            os._exit(9)
        case "big-line":
            send(id=number, result=text("x" * 2_000_000))
            return
        case "too-long-line" if first:
            send(id=number, result=text("x" * 2_000_000))
            return
        case "endless-line" if first:
            while True:
                write(b"x" * 100_000)
        case "twice":
            send(id=number, result=text("one"))
            send(id=number, result=text("two"))
            send(id=9_999, result=text("for nobody"))
            return
        case "progress":
            for step in range(8):
                notify("notifications/progress", progressToken=token, progress=step, total=8)
                time.sleep(0.1)
        case "progress-only":
            threading.Thread(target=report_for_ever, args=(token,), daemon=True).start()
            return
        case "silent":
            return
        case "silent-at-first" if times("starts") == 1:
            return
        case "closes-stdout" if first:
            os.close(1)
            time.sleep(300)
        case "stops" if first:
            os.kill(os.getpid(), signal.SIGSTOP)
        case "result-shape":
            send(id=number, result={"answer": 42})
            return
        case "no-object":
            send(id=number, result="done")
            return
        case "bad-bytes":
            write(b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [' % number)
            write(b'{"type": "text", "text": "caf\xe9"}]}}\r\n')
            return
        case "batch":
            answer = {"jsonrpc": "2.0", "id": number, "result": text("in a batch")}
            write(json.dumps([answer]).encode() + b"\n")
            return
        case "refuses":
            send(
                id=number, error={"code": -32000, "message": "no \x1b[31mway\x1b[0m " + "x" * 9_000}
            )
            return
        case "asks":
            send(id="question", method="sampling/createMessage", params={"messages": []})
    send(id=number, result=text(f"done {params['name']}"))


def report_for_ever(token: Any) -> None:
    step = 0
    while not stop_waiting.wait(0.05):
        step += 1
        notify("notifications/progress", progressToken=token, progress=step)


def serve() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        note("seen", method or json.dumps(message))
        params = message.get("params") or {}
        match method:
            case "server/discover" if FAULT == "dies-of-unknown":
                os._exit(1)
            case "server/discover" if FAULT == "mute-at-unknown":
                pass
            case "initialize":
                initialize(number, params)
            case "tools/list":
                list_tools(number, params)
            case "tools/call":
                call(number, params)
            case "notifications/cancelled":
                stop_waiting.set()
            case "ping":
                send(id=number, result={})
            case _ if number is not None and method is not None:
                send(id=number, error={"code": -32601, "message": "method not found"})
    if FAULT == "ignores-shutdown":
        time.sleep(300)


note("starts", os.getpid())
begin()
serve()
