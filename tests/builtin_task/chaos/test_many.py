"""Two hundred tasks at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

MANY = 200


async def test_each_has_its_own_output_and_end_and_is_told_of_once(chaos: Any) -> None:
    host = chaos.open()
    commands = [f"echo begun {n}; sleep 0.2; seq {n} {n + 99}; exit {n % 3}" for n in range(MANY)]
    ids = await host.bash_many(commands)
    assert len(set(ids)) == MANY
    infos = await host.ended(*ids)
    for n, info in enumerate(infos):
        assert info.status == ("failed" if n % 3 else "completed")
        assert info.details["exit_code"] == n % 3
        expected = "".join(f"{line}\n" for line in [f"begun {n}", *range(n, n + 100)])
        assert host.output(info.task_id).text == expected
        assert host.log(info.task_id).read_text() == expected
    assert Counter(host.told()) == Counter(ids)
    assert host.told() == []
    kinds = Counter(event.type for event in host.events if event.type.startswith("task."))
    assert set(kinds.values()) == {MANY}, kinds


async def test_closing_the_session_ends_them_all(chaos: Any) -> None:
    """Half of them do not listen to the polite way."""
    host = chaos.open()
    commands = [
        f"{'trap : TERM; ' * (n % 2)}echo begun; sleep 300 & wait; sleep 300" for n in range(MANY)
    ]
    ids = await host.bash_many(commands)
    assert len(host.tasks.list()) == MANY
    for task_id in ids:
        await host.written(task_id, "begun")
    async with asyncio.timeout(60):
        await host.harness.aclose()
    assert chaos.processes() == []
    assert {host.info(task_id).status for task_id in ids} == {"killed"}
    assert chaos.open().told() == []


async def test_stopping_them_all_at_once(chaos: Any) -> None:
    host = chaos.open()
    ids = await host.bash_many(["echo begun; exec sleep 300"] * (MANY // 4))
    infos = await asyncio.gather(*(host.tasks.stop(one, "enough") for one in ids))
    assert {(info.status, info.stop_reason) for info in infos} == {("killed", "enough")}
    assert Counter(host.told()) == Counter(ids)
