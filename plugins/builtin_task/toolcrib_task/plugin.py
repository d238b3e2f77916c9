"""Offers the background tasks of an agent as the service `Tasks`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib import Tasks, hookimpl

if TYPE_CHECKING:
    from toolcrib import ServiceRegistrar


@hookimpl
def contribute_service(services: ServiceRegistrar) -> None:
    if services.kind != "agent":
        return

    def make() -> Tasks:
        # Listing the tools needs neither asyncio nor the database.
        from toolcrib import end_orphans
        from toolcrib_task.manager import TaskManager

        # Calls that were waited for are written down nowhere: this is all that ends what is left
        # of them when a session was killed.
        end_orphans()
        return services.construct(TaskManager)

    async def close(tasks: Tasks) -> None:
        await tasks.aclose()

    services.add_factory(Tasks, make, on_close=close)  # type: ignore[type-abstract]
