"""The life of a server that does something wrong: what becomes of it, of calls, and of others."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from toolcrib_features.mcp.model import (
    RequestTimedOut,
    ServerError,
    ServerNeedsLogin,
    ServerUnreachable,
    State,
)
from toolcrib_features.mcp.server import Server

if TYPE_CHECKING:
    from features.mcp.chaos.conftest import Life, MakeChaos, Start


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.01)


async def call(life: Life, name: str = "do", *, repeatable: bool = False, **more: Any) -> str:
    answer = await life.server.call(name, {}, repeatable=repeatable, **more)
    return str(answer["content"][0]["text"])


async def test_a_call_waits_for_its_own_server(chaos: MakeChaos, start: Start) -> None:
    slow, quick = start(chaos("late", 1.0)), start(chaos("fine"))
    assert await call(quick) == "done do"
    assert slow.server.state == "starting"
    assert await call(slow) == "done do"
    assert (slow.server.state, slow.server.error) == ("connected", None)
    assert slow.tools == ["do", "look"]


@pytest.mark.parametrize(
    ("fault", "state", "reason"),
    [
        ("late", "connected", None),
        ("banner", "connected", None),
        ("big-line", "connected", None),
        ("dies-in-call", "connected", None),
        ("always-dies-in-call", "connected", None),
        ("storm", "connected", None),
        ("pages", "connected", None),
        ("endless-pages", "connected", None),
        ("bad-tools", "connected", None),
        ("half-frame", "failed", "exited with code 7"),
        ("exit", "failed", "API_KEY is missing"),
        ("ignores-shutdown", "connected", None),
        ("child", "connected", None),
        ("progress", "connected", None),
        ("unknown-version", "failed", "1999-01-01"),
        ("picky-version", "connected", None),
        ("stderr-flood", "connected", None),
        ("slow-list", "failed", "within 2 s"),
        ("list-shape", "failed", "wrong shape"),
        ("endless-noise", "failed", "no JSON-RPC"),
        ("closes-stdout", "connected", None),
        ("result-shape", "connected", None),
    ],
)
async def test_what_becomes_of_a_faulty_server(
    chaos: MakeChaos, start: Start, fault: str, state: State, reason: str | None
) -> None:
    """One call has at most one effect, another server does not notice, and nothing is left."""
    number = {"late": 0.5, "slow-list": 20}.get(fault, 0)
    faulty = chaos(fault, number).with_(startup_timeout_s=2.0, tool_timeout_s=1.0)
    other = start(chaos("fine"))
    life = start(faulty, first_pause_s=30.0)
    failed = None
    try:
        await call(life)
    except ServerError as error:
        failed = error
    assert await call(other) == "done do"
    assert len(faulty.lines("effects")) <= 1
    if state == "connected":
        assert faulty.lines("effects") == ["do"]
        await life.server.ready()
    else:
        assert failed is not None
        assert getattr(failed, "unsent", True)
    assert life.server.state == state
    assert (reason or "") in (life.server.error or "")
    assert (life.server.error is None) == (reason is None)


async def test_a_call_that_may_have_had_its_effect_is_not_made_again(
    chaos: MakeChaos, start: Start
) -> None:
    faulty = chaos("dies-in-call")
    life = start(faulty)
    with pytest.raises(ServerUnreachable, match="outcome is unknown"):
        await call(life)
    assert faulty.lines("effects") == ["do"]
    assert await call(life) == "done do"
    assert faulty.lines("effects") == ["do", "do"]


async def test_a_call_that_may_be_repeated_is_made_again(chaos: MakeChaos, start: Start) -> None:
    faulty = chaos("dies-in-call")
    told: list[str] = []
    life = start(faulty)
    assert await call(life, repeatable=True, on_status=told.append) == "done do"
    assert len(faulty.lines("effects")) == len(faulty.lines("starts")) == 2
    assert any("lost" in text for text in told)


async def test_a_repeatable_call_is_given_up_in_the_end(chaos: MakeChaos, start: Start) -> None:
    faulty = chaos("always-dies-in-call")
    life = start(faulty)
    with pytest.raises(ServerUnreachable, match="code 9"):
        await call(life, repeatable=True)
    assert len(faulty.lines("effects")) == 2


async def test_a_call_that_was_not_sent_is_made_over_a_new_connection(
    chaos: MakeChaos, start: Start
) -> None:
    faulty = chaos("fine")
    life = start(faulty, first_pause_s=30.0)
    await call(life)
    assert life.server.connection is not None
    lost = life.server.connection
    assert lost.pid is not None
    os.kill(lost.pid, signal.SIGKILL)
    await lost.closed.wait()
    assert await call(life) == "done do"
    assert faulty.lines("effects") == ["do", "do"]
    assert life.states[-2:] == ["starting", "connected"]


async def test_calls_that_fail_together_share_a_connection(chaos: MakeChaos, start: Start) -> None:
    """And one of them that is cancelled does not take it from the others."""
    faulty = chaos("silent-at-first")
    life = start(faulty)
    connection = await life.server.ready()
    assert connection.pid is not None
    calls = [asyncio.create_task(call(life, "look", repeatable=True)) for _ in range(3)]
    await until(lambda: len(faulty.lines("effects")) == 3)
    os.kill(connection.pid, signal.SIGKILL)
    await until(lambda: life.server.state == "starting")
    calls[0].cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1:] == ["done look"] * 2
    assert len(faulty.lines("starts")) == 2


async def test_a_server_that_hangs_is_replaced(chaos: MakeChaos, start: Start) -> None:
    faulty = chaos("stops").with_(tool_timeout_s=0.3)
    life = start(faulty)
    with pytest.raises(RequestTimedOut):
        await call(life)
    await until(lambda: len(faulty.lines("starts")) == 2)
    assert await call(life) == "done do"


async def test_a_lost_server_is_connected_again_in_the_background(
    chaos: MakeChaos, start: Start
) -> None:
    faulty = chaos("fine")
    life = start(faulty)
    connection = await life.server.ready()
    assert connection.pid is not None
    os.kill(connection.pid, signal.SIGKILL)
    await until(lambda: life.server.connection not in (None, connection))
    assert life.states == ["connected", "failed", "starting", "connected"]
    assert len(life.listings) == 2


async def test_it_is_tried_so_often_and_then_by_calls_alone(
    chaos: MakeChaos, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcrib_features.mcp.server.MAX_TRIES", 3)
    faulty = chaos("half-frame")
    life = start(faulty, first_pause_s=0.01)
    await until(lambda: life.server.tries == 3)
    assert life.server.next_try_s is None
    with pytest.raises(ServerUnreachable):
        await call(life)
    assert life.server.tries == 4
    assert life.server.state == "failed"


async def test_what_does_not_pass_is_not_tried_again(chaos: MakeChaos, start: Start) -> None:
    life = start(chaos("unknown-version"))
    with pytest.raises(ServerError):
        await life.server.ready()
    assert life.server.next_try_s is None


async def test_many_changes_of_the_tools_cost_one_listing(chaos: MakeChaos, start: Start) -> None:
    faulty = chaos("storm")
    life = start(faulty)
    await until(lambda: len(life.listings) > 1)
    await asyncio.sleep(0.5)
    assert life.tools == ["do", "look", "new"]
    assert len(faulty.lines("lists")) in (2, 3)


async def test_tools_that_change_at_each_listing_are_listed_ever_more_seldom(
    chaos: MakeChaos, start: Start
) -> None:
    """Not every 0.2 seconds, but after 0.4, 0.8, 1.6..."""
    faulty = chaos("churn")
    life = start(faulty)
    await until(lambda: len(life.listings) > 1)
    await asyncio.sleep(3)
    assert len(faulty.lines("lists")) <= 6


async def test_listing_is_part_of_starting(chaos: MakeChaos, start: Start) -> None:
    faulty = chaos("slow-list", 20).with_(startup_timeout_s=0.5)
    life = start(faulty, first_pause_s=30.0)
    with pytest.raises(ServerUnreachable, match="list its tools"):
        await life.server.ready()
    assert not life.listings
    faulty.assert_gone()


async def test_closing_while_it_connects(chaos: MakeChaos, start: Start) -> None:
    faulty = chaos("never")
    life = start(faulty)
    waiting = asyncio.create_task(life.server.ready())
    await until(lambda: bool(faulty.lines("starts")))
    await life.server.aclose()
    with pytest.raises(ServerError):
        await waiting
    faulty.assert_gone()
    assert life.server.state == "removed"
    assert not life.states


async def test_who_stops_waiting_does_not_stop_the_attempt(chaos: MakeChaos, start: Start) -> None:
    life = start(chaos("late", 0.5))
    waiting = [asyncio.create_task(life.server.ready()) for _ in range(2)]
    await asyncio.sleep(0.1)
    waiting[0].cancel()
    assert await waiting[1] is life.server.connection


async def test_reconnecting_by_hand(chaos: MakeChaos, start: Start) -> None:
    faulty = chaos("fine")
    life = start(faulty)
    first = await life.server.ready()
    await life.server.reconnect()
    assert life.server.connection is not first
    assert first.closed.is_set() or first.why_closed
    assert len(faulty.lines("starts")) == 2


async def test_a_login_that_is_missing(chaos: MakeChaos) -> None:
    async def connect() -> Any:
        raise ServerNeedsLogin("log in")

    states: list[str] = []
    server = Server(
        chaos("fine").config,
        connect=connect,
        listed=lambda listing: None,
        changed=lambda: states.append(server.state),
    )
    server.start()
    with pytest.raises(ServerNeedsLogin):
        await server.ready()
    assert (server.state, server.error, server.next_try_s) == ("needs-auth", "log in", None)
    await server.aclose()


async def test_a_disabled_server_is_left_alone(chaos: MakeChaos, start: Start) -> None:
    faulty = chaos("fine").with_(enabled=False)
    life = start(faulty)
    with pytest.raises(ServerError, match="disabled"):
        await life.server.ready()
    assert not faulty.lines("starts")


async def test_starting_blocks_nothing(chaos: MakeChaos, start: Start) -> None:
    began = time.monotonic()
    for fault in ("never", "late", "exit", "endless-noise", "stderr-flood"):
        start(chaos(fault, 5), first_pause_s=30.0)
    await asyncio.sleep(0)
    assert time.monotonic() - began < 5
