"""Tools that come and go while a session lives: those of servers, and those of the host."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from attrs import define, field, frozen

from toolcrib.contract.contribution import ToolContribution
from toolcrib.plugins.records import IN_PROCESS, PluginRecord

T = TypeVar("T")

HOST = "host"
"""Who offers the tools that the host registers, in the place of a plugin's name."""


@frozen(kw_only=True)
class WithheldTool:
    """A tool that somebody knows of and does not offer; `toolcrib explain` shows it.

    Attributes:
        name: as models would call it.
        reason: why it is not offered.
        remedy: what would change that.
    """

    name: str
    reason: str
    remedy: str


@frozen(kw_only=True)
class MissingTool:
    """Why there is no tool of a name (any more).

    Attributes:
        reason: why it is not there.
        remedy: what to do.
        known: whether it is known who would offer it.
    """

    reason: str
    remedy: str
    known: bool = True


Explain = Callable[[str], MissingTool | None]
"""Tells of a name why there is no such tool; None when that is not known."""


class ToolSource(Protocol):
    """Something whose tools may not all be known yet, such as servers that are being started."""

    @property
    def unsettled(self) -> bool:
        """Whether there may be tools that nobody knows yet."""
        ...

    def expects(self, name: str) -> bool:
        """Whether a tool that is not in the table may still come."""
        ...

    async def arrived(self, name: str) -> None:
        """Wait until it has, or will not."""
        ...

    async def settled(self) -> None:
        """Wait until its tools are in the table, or will not be."""
        ...

    async def aclose(self) -> None:
        """End whatever it runs; the agent ends."""
        ...


@define
class _Offer:
    plugin: str
    tools: tuple[ToolContribution, ...] = ()
    withheld: tuple[WithheldTool, ...] = field(factory=tuple)


class ToolTable:
    """What an agent is offered beside the contributions of plugins.

    The same filters decide on it; no name of a plugin's tool is ever replaced.
    """

    def __init__(self, records: Mapping[str, PluginRecord], changed: Callable[[str], None]) -> None:
        self._records = records
        self._changed = changed
        self._offers: dict[str, _Offer] = {}
        self._sources: list[ToolSource] = []
        self._explainers: list[tuple[str, Explain]] = []

    def replace(
        self,
        owner: str,
        tools: Iterable[ToolContribution],
        *,
        plugin: str,
        reason: str,
        withheld: Iterable[WithheldTool] = (),
    ) -> None:
        """Let these be the tools of `owner`, instead of those that it had.

        Of two owners with a tool of one name, the one counts that offered first.

        Args:
            owner: whatever tells one from another, such as the name of a server.
            plugin: who acts for it; when that plugin is blocked, so are the tools.
            reason: why, for those who follow the events, such as `mcp.connected`.
            withheld: those that it has and does not offer.
        """
        offer = _Offer(plugin, tuple(tools), tuple(withheld))
        if offer.tools or offer.withheld:
            self._offers[owner] = offer
        elif self._offers.pop(owner, None) is None:
            return
        self._changed(reason)

    def add_source(self, source: ToolSource) -> None:
        """Ask `source` about tools that are not in the table, from now on."""
        self._sources.append(source)

    def explain_with(self, plugin: str, explain: Explain) -> None:
        """Ask `explain` too why a tool is not in the table, from now on.

        It speaks for `plugin`, and gives None for what is no affair of that plugin.
        """
        self._explainers.append((plugin, explain))

    def source(self, kind: type[T]) -> T | None:
        """The source of a kind, if there is one."""
        return next((source for source in self._sources if isinstance(source, kind)), None)

    @property
    def unsettled(self) -> bool:
        """Whether there may be tools that nobody knows yet."""
        return any(source.unsettled for source in self._sources)

    def expects(self, name: str) -> bool:
        """Whether a tool that is not in the table may still come."""
        return any(source.expects(name) for source in self._sources)

    async def arrived(self, name: str) -> None:
        """Wait until it has, or will not."""
        for source in tuple(self._sources):
            if source.expects(name):
                await source.arrived(name)

    def missing(self, name: str) -> tuple[PluginRecord, MissingTool] | None:
        """Why a tool is not in the table, and the plugin that says so, if one does."""
        for plugin, explain in self._explainers:
            why = explain(name)
            if why is not None and (record := self._records.get(plugin)) is not None:
                return record, why
        return None

    async def settled(self) -> None:
        """Wait until every source has brought its tools, or is known not to."""
        for source in tuple(self._sources):
            await source.settled()

    async def aclose(self) -> None:
        """End the sources.

        Raises ExceptionGroup when some failed to end, after all of them were told to.
        """
        failures: list[Exception] = []
        for source in self._sources:
            try:
                await source.aclose()
            except Exception as error:
                failures.append(error)
        if failures:
            raise ExceptionGroup("ending what brings tools", failures)

    def contributions(self) -> Iterator[tuple[PluginRecord, ToolContribution]]:
        """Every tool on offer with the record of the plugin that acts for it."""
        for offer in self._offers.values():
            record = self._record(offer)
            if record is not None:
                for tool in offer.tools:
                    yield record, tool

    def withheld(self) -> Iterator[tuple[PluginRecord, WithheldTool]]:
        """Every tool that is known and not offered."""
        for offer in self._offers.values():
            record = self._record(offer)
            if record is not None:
                for tool in offer.withheld:
                    yield record, tool

    def _record(self, offer: _Offer) -> PluginRecord | None:
        if offer.plugin == HOST:
            return PluginRecord(HOST, IN_PROCESS, "")
        return self._records.get(offer.plugin)
