"""The plugins and services of a process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from toolcrib.binding import Offers
from toolcrib.contract.contribution import RuntimeContribution
from toolcrib.errors import PluginError
from toolcrib.features import Feature
from toolcrib.plugins.loader import PluginHost, describe, wanted_sources
from toolcrib.plugins.records import OWN_DISTRIBUTION, normalised
from toolcrib.profiles import Profile
from toolcrib.runtime import LOCAL
from toolcrib.services import Scope

PERMISSION_PLUGIN = "permissions"
T = TypeVar("T")


class Crib:
    """The plugins and services of a process, shared by its sessions."""

    def __init__(self, plugins: PluginHost) -> None:
        self.plugins = plugins
        self.scope = Scope("crib")
        self._collected: dict[str, list[Any]] = {}
        plugins.on_change(self._plugins_changed)
        offer_services(plugins, self.scope)

    async def aclose(self) -> None:
        """Close the services of the process; a session does so for the plugins that it loaded."""
        await self.scope.aclose()

    def _plugins_changed(self) -> None:
        self._collected.clear()
        offer_services(self.plugins, self.scope)

    @staticmethod
    def load(
        *,
        blocked: Iterable[str] = (),
        autoload: bool = True,
        environ: Mapping[str, str] | None = None,
    ) -> Crib:
        """Find and load the installed plugins; without `autoload` only the builtin ones."""
        from toolcrib.plugins.entry_points import find_plugins

        sources = wanted_sources(os.environ if environ is None else environ, find_plugins())
        if not autoload:
            sources = [s for s in sources if s.distribution == OWN_DISTRIBUTION]
        plugins = PluginHost(blocked=blocked)
        plugins.load(sources)
        return Crib(plugins)

    def features(self) -> list[Feature]:
        """The features that plugins describe."""
        return [feature for _, feature in self._collect("contribute_feature", Feature)]

    def profiles(self) -> dict[str, Profile]:
        """The profiles that plugins offer, by name; the first one with a name counts."""
        found: dict[str, Profile] = {}
        for _, profile in self._collect("contribute_profile", Profile):
            found.setdefault(profile.name, profile)
        return found

    def runtimes(self) -> Offers:
        """The runtimes that plugins offer beside `local`, by name, each with its plugin's."""
        found: dict[str, tuple[str, RuntimeContribution]] = {}
        for plugin, item in self._collect("contribute_runtime", RuntimeContribution):
            if item.id == LOCAL or item.id in found:
                problem = f"there is a runtime {item.id!r} already; give yours another name"
                self.plugins.report(plugin, "duplicate", problem)
            else:
                found[item.id] = (plugin, item)
        return found

    def _collect(self, hook: str, kind: type[T]) -> list[tuple[str, T]]:
        """What plugins answer to a hook, each with its plugin's name."""
        if hook not in self._collected:
            items = []
            for plugin, item in self.plugins.collect(hook):
                if isinstance(item, kind):
                    items.append((plugin, item))
                else:
                    self.plugins.report(plugin, "contribute", f"{hook} gave {item!r}")
            self._collected[hook] = items
        return self._collected[hook]

    def register(self, plugin: object) -> None:
        """Register a plugin of the host's own, which ought to work: it may be there to guard.

        Raises PluginError when it cannot be used.
        """
        record = self.plugins.register(plugin)
        reasons = [f.reason for f in self.plugins.failures if f.plugin == record.name]
        if record.status == "failed":
            raise PluginError(f"the plugin {record.name!r} cannot be used: {'; '.join(reasons)}")
        if not record.hooks:
            raise PluginError(
                f"{plugin!r} is no plugin: it has no function marked with @toolcrib.hookimpl"
            )

    def require(self, names: Iterable[str], blocked: Iterable[str]) -> None:
        """Refuse to go on without the plugins or distributions that the user relies on.

        Raises PluginError for one that is not installed, is blocked, or could not be loaded whole.
        """
        for name in names:
            records = [
                record
                for record in self.plugins.records.values()
                if name == record.name or normalised(name) == normalised(record.distribution)
            ]
            if not records:
                raise PluginError(
                    f"the plugin {name!r} is required by [plugins] required and is not installed, "
                    "so nothing may run: install it, or take it out of the list"
                )
            for record in records:
                faults = [f.reason for f in self.plugins.failures if f.plugin == record.name]
                if by := record.blocked_in(frozenset(blocked)):
                    faults.insert(0, f"it is blocked ({by})")
                if faults or record.status != "loaded":
                    raise PluginError(
                        f"the plugin {record.name!r} is required by [plugins] required and does "
                        f"not work, so nothing may run: {'; '.join(faults) or record.status}"
                    )

    def require_permissions(self) -> None:
        """Refuse to go on without the plugin that asks the permission question.

        Blocking it is the user's right; losing it to a fault would let every call run. Raises
        PluginError.
        """
        record = self.plugins.records.get(PERMISSION_PLUGIN)
        if record is None:
            raise PluginError(
                "toolcrib's own plugins were not found: it has to be installed (pip install -e . "
                "in a checkout), being on the import path is not enough"
            )
        if record.status == "failed":
            reasons = "; ".join(f.reason for f in self.plugins.failures if f.plugin == record.name)
            raise PluginError(
                f"the permission plugin could not be loaded, so nothing may run: {reasons}"
            )


def offer_services(plugins: PluginHost, scope: Scope) -> None:
    """Let every plugin that has not done so yet register its services in a scope."""
    for record in list(plugins.records.values()):
        asked = any(provider is record.plugin for provider in scope.providers)
        if record.status == "loaded" and "contribute_service" in record.hooks and not asked:
            scope.providers.append(record.plugin)
            try:
                record.plugin.contribute_service(scope)
            except (Exception, SystemExit) as error:
                message = f"contribute_service failed: {describe(error)}"
                plugins.report(record.name, "contribute", message)
