"""The runtimes of a session: published in numbered generations, leased to calls, drained."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from attrs import define, field

from toolcrib.errors import RuntimeUnavailable
from toolcrib.runtime import Runtime, Status, StatusSource

if TYPE_CHECKING:
    import asyncio
    from logging import Logger

DRAIN_S = 5.0
"""Seconds that a runtime which is replaced or closed waits for the calls that act in it."""
_OPEN: frozenset[Status] = frozenset({"ready", "degraded"})
_NEEDED = {"process": ("launch", "shell", "environment"), "fs": ("confine",)}

Close = Callable[[], Any]
"""Ends a resource; may be a coroutine function."""


@define(eq=False)
class Generation:
    """A runtime from its publication to its end.

    Attributes:
        id: the runtime's name with a number, such as `local-1`.
        leases: how many calls and others use it now.
        open: whether calls may start in it.
    """

    id: str
    runtime: Runtime
    leases: int = 0
    open: bool = True
    _phase: Literal["draining", "disposed"] | None = None
    _resources: dict[object, Close] = field(factory=dict, repr=False)
    _idle: asyncio.Event | None = field(default=None, repr=False)

    @property
    def status(self) -> Status:
        return self._phase or self.runtime.status

    @property
    def capabilities(self) -> frozenset[str]:
        """What can be used now: nothing while it is away or going."""
        return self.runtime.capabilities if self.status in _OPEN else frozenset()

    def require(self, capabilities: Iterable[str] = ()) -> None:
        """Raise RuntimeUnavailable unless it can be used, with all these capabilities."""
        name = self.runtime.id
        require_open(name, self.status)
        missing = frozenset(capabilities) - self.runtime.capabilities
        if missing:
            raise RuntimeUnavailable(
                f"the runtime {name!r} lacks {', '.join(sorted(missing))}",
                code="runtime.capability_unavailable",
                runtime=name,
            )

    def release(self) -> None:
        """Give one of the leases back."""
        self.leases -= 1
        if self._idle is not None and not self.leases:
            self._idle.set()

    def track(self, close: Close) -> Callable[[], None]:
        """Have `close` called when the runtime goes; returns the function that forgets it."""
        key = object()
        self._resources[key] = close

        def forget() -> None:
            self._resources.pop(key, None)

        return forget

    def begin_drain(self) -> None:
        self._phase, self.open = "draining", False

    async def drain(self) -> None:
        """Close what is tracked, the last first, wait for the leases, then close the runtime."""
        import asyncio

        while self._resources:
            await _close_quietly(self._resources.popitem()[1])
        if self.leases:
            self._idle = asyncio.Event()
            try:
                async with asyncio.timeout(DRAIN_S):
                    await self._idle.wait()
            except TimeoutError:
                _logger().warning("%s is closed while %d calls act in it", self.id, self.leases)
        await _close_quietly(self.runtime.aclose)
        self._phase = "disposed"


class Lease:
    """A claim on a generation, which keeps it from being closed for a while; see `DRAIN_S`."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self._held = True
        generation.leases += 1

    @property
    def runtime(self) -> Runtime:
        return self.generation.runtime

    def track(self, close: Close) -> Callable[[], None]:
        """Have a resource closed when the runtime goes; it may outlive the lease.

        Returns the function that forgets it, for who closes it earlier. Raises RuntimeUnavailable
        when the lease was given back or the runtime is going.
        """
        if not self._held:
            raise RuntimeUnavailable(
                f"the lease on {self.generation.id} was given back, so it ties nothing any more",
                code="runtime.unavailable",
                runtime=self.runtime.id,
            )
        self.generation.require()
        return self.generation.track(close)

    def dispose(self) -> None:
        """Give the lease back; once more changes nothing."""
        if self._held:
            self._held = False
            self.generation.release()

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *error: object) -> None:
        self.dispose()


class RuntimeRegistry:
    """One current generation for each name; `changed` is given each that is new or has changed.

    What is published belongs to the registry, which closes it. To be used in one thread.
    """

    def __init__(self, changed: Callable[[Generation], None] = lambda generation: None) -> None:
        self.changed = changed
        self._current: dict[str, Generation] = {}
        self._numbers: dict[str, int] = {}
        self._going: list[Generation] = []
        self._draining: list[Generation] = []
        self._drains: set[asyncio.Task[None]] = set()
        self._closed = False

    def ids(self) -> list[str]:
        return sorted(self._current)

    def current(self, id: str) -> Generation:
        """The current generation of a runtime; raises RuntimeUnavailable when there is none."""
        generation = self._current.get(id)
        if generation is None:
            raise RuntimeUnavailable(
                f"there is no runtime {id!r}; there are: {', '.join(self.ids()) or 'none'}",
                code="runtime.not_found",
                runtime=id,
            )
        return generation

    def acquire(self, id: str, capabilities: Iterable[str] = ()) -> Lease:
        """A lease on the current generation; raises RuntimeUnavailable when it cannot be used."""
        generation = self.current(id)
        generation.require(capabilities)
        return Lease(generation)

    def publish(self, runtime: Runtime, *, replaces: Generation | None = None) -> Generation:
        """Make a runtime available; see `publish_batch`."""
        return self.publish_batch([runtime], replaces=() if replaces is None else (replaces,))[0]

    def publish_batch(
        self, runtimes: Iterable[Runtime], *, replaces: Iterable[Generation] = ()
    ) -> tuple[Generation, ...]:
        """Make runtimes available, all or none of them.

        A name that is taken needs its current generation among `replaces`; what is replaced
        finishes its calls in the background. Raises RuntimeUnavailable.
        """
        batch = tuple(runtimes)
        expected = {old.runtime.id: old for old in replaces}
        self._check(batch, expected)
        fresh = tuple(map(self._numbered, batch))
        self._current.update({generation.runtime.id: generation for generation in fresh})
        try:
            for generation in fresh:
                self.changed(generation)
        finally:
            for old in expected.values():
                self._retire(old)
        return fresh

    def remove(self, generation: Generation) -> None:
        """Take a generation out; calls that act in it finish."""
        if self._current.get(generation.runtime.id) is generation:
            del self._current[generation.runtime.id]
            self._retire(generation)

    async def aclose(self) -> None:
        """Drain everything, what was published last first; failures are logged."""
        import asyncio

        self._closed = True
        for generation in reversed(list(self._current.values())):
            self.remove(generation)
        while self._drains:
            await asyncio.gather(*self._drains)
        while self._going:  # retired where no event loop ran
            await self._drain(self._going.pop())

    def _check(self, batch: tuple[Runtime, ...], expected: dict[str, Generation]) -> None:
        if self._closed:
            raise RuntimeUnavailable(
                "the session is closed", code="runtime.unavailable", runtime=""
            )
        for runtime in batch:
            require_implemented(runtime)
            if any(runtime is old.runtime for old in self._draining):
                raise RuntimeUnavailable(
                    f"the runtime {runtime.id!r} was replaced and is being closed: give a new one",
                    code="runtime.unavailable",
                    runtime=runtime.id,
                )
        ids = [runtime.id for runtime in batch]
        for id in ids:
            current = self._current.get(id)
            if ids.count(id) > 1 or current is not expected.get(id):
                taken = current is not None and id not in expected
                raise RuntimeUnavailable(
                    f"there is a runtime {id!r} already"
                    if taken or ids.count(id) > 1
                    else f"the runtime {id!r} is no longer the one to be replaced",
                    code="runtime.conflict",
                    runtime=id,
                )
        for id in expected.keys() - set(ids):
            raise RuntimeUnavailable(
                f"nothing was given to replace the runtime {id!r}",
                code="runtime.conflict",
                runtime=id,
            )

    def _numbered(self, runtime: Runtime) -> Generation:
        number = self._numbers[runtime.id] = self._numbers.get(runtime.id, 0) + 1
        generation = Generation(f"{runtime.id}-{number}", runtime, open=runtime.status in _OPEN)
        if isinstance(runtime, StatusSource):
            generation.track(runtime.on_status(lambda: self._status_changed(generation)))
        return generation

    def _status_changed(self, generation: Generation) -> None:
        generation.open = generation.status in _OPEN
        self.changed(generation)

    def _retire(self, generation: Generation) -> None:
        import asyncio

        generation.begin_drain()
        self._draining.append(generation)
        self.changed(generation)
        try:
            task = asyncio.get_running_loop().create_task(self._drain(generation))
        except RuntimeError:  # nothing runs, so nothing acts in it either
            self._going.append(generation)
        else:
            self._drains.add(task)
            task.add_done_callback(self._drains.discard)

    async def _drain(self, generation: Generation) -> None:
        await generation.drain()
        self._draining.remove(generation)
        self.changed(generation)


def require_open(name: str, status: Status) -> None:
    """Raise RuntimeUnavailable for a runtime that cannot be used at all now."""
    if status not in _OPEN:
        raise RuntimeUnavailable(
            f"the runtime {name!r} is {status}", code="runtime.unavailable", runtime=name
        )


def require_implemented(runtime: Any) -> None:
    """Raise RuntimeUnavailable for what is no runtime, or declares what it does not implement."""
    name = getattr(runtime, "id", None)
    name = name if isinstance(name, str) and name else type(runtime).__name__
    lacking = [
        f"{capability} without {', '.join(missing)}"
        for capability in sorted(getattr(runtime, "capabilities", ()))
        if (missing := [a for a in _NEEDED.get(capability, ()) if not hasattr(runtime, a)])
    ]
    if lacking:
        raise RuntimeUnavailable(
            f"the runtime {name!r} declares {'; '.join(lacking)}",
            code="runtime.capability_unavailable",
            runtime=name,
        )
    if not isinstance(runtime, Runtime) or name != runtime.id:
        raise RuntimeUnavailable(
            f"{runtime!r} is no runtime: see toolcrib.Runtime for what one has",
            code="runtime.unavailable",
            runtime=name,
        )


async def _close_quietly(close: Close) -> None:
    """One thing that fails to close, or takes longer than `DRAIN_S`, does not keep the rest."""
    import asyncio

    try:
        answer = close()
        if inspect.isawaitable(answer):
            async with asyncio.timeout(DRAIN_S):
                await answer
    except TimeoutError:
        _logger().warning("%r did not close within %g seconds", close, DRAIN_S)
    except (Exception, asyncio.CancelledError) as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise  # it is the drain that was cancelled, not something in what is closed
        _logger().exception("%r failed to close", close)


def _logger() -> Logger:
    import logging

    return logging.getLogger("toolcrib")
