"""The registry of runtimes: generations, leases, and how a runtime goes."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

import toolcrib
from toolcrib import Launch, LocalRuntime, RuntimeUnavailable, Workspace
from toolcrib import runtimes as registry_module
from toolcrib.runtime import Status
from toolcrib.runtimes import Generation, Lease, RuntimeRegistry


@define(eq=False)
class Place:
    """A runtime that notes what is done with it."""

    id: str = "place"
    capabilities: frozenset[str] = frozenset({"fs", "process"})
    status: Status = "ready"
    log: list[str] = field(factory=list)
    listeners: list[Callable[[], None]] = field(factory=list)
    shell: str = "/bin/sh"
    environment: dict[str, str] = field(factory=dict)

    def launch(self, argv: Any, *, cwd: str, environment: Any) -> Launch:
        return Launch(tuple(argv), cwd, environment)

    def confine(self, workspace: Workspace) -> Workspace:
        return workspace

    def on_status(self, listener: Callable[[], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def becomes(self, status: Status) -> None:
        self.status = status
        for listener in tuple(self.listeners):
            listener()

    async def aclose(self) -> None:
        self.log.append("closed")


def code_of(error: pytest.ExceptionInfo[RuntimeUnavailable]) -> tuple[str, str]:
    return error.value.code, error.value.runtime


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_generations_are_numbered_by_name() -> None:
    registry = RuntimeRegistry()
    local = registry.publish(LocalRuntime())
    assert local.id == "local-1"
    assert registry.publish(Place()).id == "place-1"
    assert registry.publish(LocalRuntime(), replaces=local).id == "local-2"
    assert registry.current("local").id == "local-2"
    assert registry.ids() == ["local", "place"]


def test_an_unknown_runtime_is_named_with_those_there_are() -> None:
    registry = RuntimeRegistry()
    registry.publish(Place("moon"))
    with pytest.raises(RuntimeUnavailable, match="moon") as error:
        registry.acquire("mars")
    assert code_of(error) == ("runtime.not_found", "mars")


class TestPublishing:
    def test_a_name_is_taken_only_once(self) -> None:
        registry = RuntimeRegistry()
        first = registry.publish(Place())
        with pytest.raises(RuntimeUnavailable) as error:
            registry.publish(Place())
        assert code_of(error) == ("runtime.conflict", "place")
        assert registry.current("place") is first

    def test_only_the_current_generation_can_be_replaced(self) -> None:
        registry = RuntimeRegistry()
        first = registry.publish(Place())
        second = registry.publish(Place(), replaces=first)
        with pytest.raises(RuntimeUnavailable) as error:
            registry.publish(Place(), replaces=first)
        assert code_of(error) == ("runtime.conflict", "place")
        assert registry.current("place") is second

    @pytest.mark.parametrize(
        "batch",
        [
            lambda: [Place("new"), Place("new")],
            lambda: [Place("new"), Place("taken")],
            lambda: [Place("new"), object()],
        ],
        ids=["twice", "taken", "none"],
    )
    def test_a_batch_is_published_whole_or_not_at_all(self, batch: Callable[[], list[Any]]) -> None:
        told: list[Generation] = []
        registry = RuntimeRegistry(told.append)
        registry.publish(Place("taken"))
        told.clear()
        with pytest.raises(RuntimeUnavailable):
            registry.publish_batch(batch())
        assert (registry.ids(), told) == (["taken"], [])

    def test_what_is_replaced_has_to_be_in_the_batch(self) -> None:
        registry = RuntimeRegistry()
        old = registry.publish(Place("old"))
        with pytest.raises(RuntimeUnavailable) as error:
            registry.publish_batch([Place("new")], replaces=[old])
        assert error.value.code == "runtime.conflict"
        assert registry.ids() == ["old"]

    async def test_a_batch_tells_of_every_change(self) -> None:
        told: list[tuple[str, str]] = []
        registry = RuntimeRegistry(
            lambda generation: told.append((generation.id, generation.status))
        )
        a = registry.publish(Place("a"))
        registry.publish_batch([Place("a"), Place("b")], replaces=[a])
        assert told == [("a-1", "ready"), ("a-2", "ready"), ("b-1", "ready"), ("a-1", "draining")]
        await registry.aclose()
        assert {name for name, status in told if status == "disposed"} == {"a-1", "a-2", "b-1"}

    @pytest.mark.parametrize(("capability", "lacks"), [("process", "launch"), ("fs", "confine")])
    def test_a_capability_needs_an_implementation(self, capability: str, lacks: str) -> None:
        class Half:
            id = "half"
            capabilities = frozenset({capability})
            status = "ready"
            shell = "/bin/sh"
            environment: dict[str, str] = {}  # noqa: RUF012

            async def aclose(self) -> None: ...

        other = {"launch": "confine", "confine": "launch"}[lacks]
        setattr(Half, other, lambda *args, **more: None)
        with pytest.raises(RuntimeUnavailable, match=f"{capability} without {lacks}") as error:
            RuntimeRegistry().publish(Half())  # type: ignore[arg-type]
        assert code_of(error) == ("runtime.capability_unavailable", "half")


class TestUsability:
    @pytest.mark.parametrize("status", ["connecting", "disconnected"])
    def test_a_runtime_that_is_away_cannot_be_acquired(self, status: Status) -> None:
        registry = RuntimeRegistry()
        registry.publish(Place(status=status))
        with pytest.raises(RuntimeUnavailable, match=status) as error:
            registry.acquire("place")
        assert code_of(error) == ("runtime.unavailable", "place")

    def test_a_degraded_one_can_if_it_has_what_is_needed(self) -> None:
        registry = RuntimeRegistry()
        registry.publish(Place(status="degraded", capabilities=frozenset({"process"})))
        registry.acquire("place", {"process"}).dispose()
        with pytest.raises(RuntimeUnavailable, match="fs") as error:
            registry.acquire("place", {"process", "fs"})
        assert code_of(error) == ("runtime.capability_unavailable", "place")


class TestLeases:
    def test_a_lease_counts_until_it_is_given_back(self) -> None:
        registry = RuntimeRegistry()
        generation = registry.publish(Place())
        with registry.acquire("place") as one:
            other = registry.acquire("place")
            assert (generation.leases, one.runtime) == (2, generation.runtime)
        one.dispose()
        other.dispose()
        other.dispose()
        assert generation.leases == 0

    def test_nothing_is_tied_to_a_lease_that_was_given_back(self) -> None:
        registry = RuntimeRegistry()
        registry.publish(Place())
        lease = registry.acquire("place")
        lease.dispose()
        with pytest.raises(RuntimeUnavailable) as error:
            lease.track(lambda: None)
        assert error.value.code == "runtime.unavailable"

    async def test_nothing_is_tied_to_a_runtime_that_goes(self) -> None:
        registry = RuntimeRegistry()
        generation = registry.publish(Place())
        lease = registry.acquire("place")
        registry.remove(generation)
        with pytest.raises(RuntimeUnavailable, match="draining"):
            lease.track(lambda: None)
        lease.dispose()
        await registry.aclose()


class TestDraining:
    async def test_resources_go_in_reverse_then_the_runtime(self) -> None:
        registry = RuntimeRegistry()
        place = Place()
        generation = registry.publish(place)
        lease = registry.acquire("place")
        lease.track(lambda: place.log.append("first"))
        forget = lease.track(lambda: place.log.append("closed by its owner"))

        async def third() -> None:
            place.log.append("third")

        def fails() -> None:
            place.log.append("fails")
            raise OSError("no")

        lease.track(fails)
        lease.track(third)
        forget()
        forget()
        lease.dispose()
        registry.remove(generation)
        await registry.aclose()
        assert place.log == ["third", "fails", "first", "closed"]
        assert (generation.status, place.listeners) == ("disposed", [])

    async def test_the_runtime_waits_for_its_leases(self) -> None:
        registry = RuntimeRegistry()
        place = Place()
        old = registry.publish(place)
        lease = registry.acquire("place")
        registry.publish(Place(), replaces=old)
        await settle()
        assert (old.status, place.log) == ("draining", [])
        assert lease.runtime is place
        assert registry.acquire("place").generation is registry.current("place")
        lease.dispose()
        await settle()
        assert (old.status, place.log) == ("disposed", ["closed"])

    async def test_but_not_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A lease that is never given back keeps nothing alive; the runtime is closed once."""
        monkeypatch.setattr(registry_module, "DRAIN_S", 0.05)
        registry = RuntimeRegistry()
        place = Place()
        registry.publish(place)
        lease = registry.acquire("place")
        await registry.aclose()
        assert place.log == ["closed"]
        lease.dispose()
        await registry.aclose()
        assert place.log == ["closed"]

    async def test_the_last_published_goes_first(self) -> None:
        registry = RuntimeRegistry()
        log: list[str] = []
        for name in ("a", "b", "c"):
            with Lease(registry.publish(Place(name))) as lease:
                lease.track(functools.partial(log.append, name))
        await registry.aclose()
        assert log == ["c", "b", "a"]
        with pytest.raises(RuntimeUnavailable) as error:
            registry.publish(Place())
        assert error.value.code == "runtime.unavailable"

    async def test_what_went_where_no_loop_ran_is_closed_at_the_end(self) -> None:
        place = Place()

        def replaced() -> RuntimeRegistry:
            registry = RuntimeRegistry()
            registry.publish(Place(), replaces=registry.publish(place))
            return registry

        registry = await asyncio.to_thread(replaced)
        assert place.log == []
        await registry.aclose()
        assert place.log == ["closed"]


async def test_a_change_of_status_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, bool]] = []
    registry = RuntimeRegistry(lambda generation: told.append((generation.status, generation.open)))
    place = Place(status="connecting")
    generation = registry.publish(place)
    statuses: list[Status] = ["ready", "degraded", "disconnected", "ready"]
    for status in statuses:
        place.becomes(status)
    assert told == [
        ("connecting", False),
        ("ready", True),
        ("degraded", True),
        ("disconnected", False),
        ("ready", True),
    ]
    assert generation.capabilities == place.capabilities


def test_what_plugins_need_is_exported() -> None:
    assert toolcrib.Lease is Lease
    assert toolcrib.RuntimeRegistry is RuntimeRegistry
    assert toolcrib.RuntimeContribution(id="x", factory="a:b", capabilities="fs").capabilities == {
        "fs"
    }


@pytest.mark.parametrize("id", ["", None, 3])
def test_a_runtime_needs_a_name(id: Any) -> None:
    """Others can be told apart from it, and listed with it."""
    registry = RuntimeRegistry()
    with pytest.raises(RuntimeUnavailable):
        registry.publish(Place(id))
    assert registry.ids() == []


async def test_what_is_being_closed_is_not_published_again() -> None:
    """Otherwise the end of its first generation would close it under the calls of the second."""
    registry = RuntimeRegistry()
    place = Place()
    first = registry.publish(place)
    second = registry.publish(Place(), replaces=first)
    with pytest.raises(RuntimeUnavailable) as error:
        registry.publish(place, replaces=second)
    assert code_of(error) == ("runtime.unavailable", "place")
    assert registry.current("place") is second
    await registry.aclose()


async def test_a_close_that_ends_in_cancellation_is_survived() -> None:
    """The rest is closed, and whoever closes the registry is not cancelled."""

    class Cancelled(Place):
        async def aclose(self) -> None:
            raise asyncio.CancelledError

    registry = RuntimeRegistry()
    other = Place("other")
    generation, _ = registry.publish_batch([Cancelled(), other])
    await registry.aclose()
    assert other.log == ["closed"] and generation.status == "disposed"


async def test_what_never_closes_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolcrib.runtimes.DRAIN_S", 0.05)
    closed = []

    class Stuck(toolcrib.LocalRuntime):
        async def aclose(self) -> None:
            closed.append("begun")
            await asyncio.sleep(3600)

    registry = toolcrib.RuntimeRegistry()
    registry.publish(Stuck(id="stuck"))
    await registry.aclose()
    assert closed == ["begun"]
