"""Refuses calls that mention a forbidden word, whatever tool they are for."""

from __future__ import annotations

import json

from toolcrib import ToolCall, Veto, hookimpl

FORBIDDEN = "acme-secret"


@hookimpl
async def before_execute(call: ToolCall) -> Veto | None:
    if FORBIDDEN in json.dumps(dict(call.arguments)):
        return Veto(f"acme-guard: arguments must not mention {FORBIDDEN!r}")
    return None
