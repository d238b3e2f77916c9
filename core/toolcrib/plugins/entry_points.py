"""Finds plugins in the metadata of installed distributions; imports none of them."""

from __future__ import annotations

import re

import importlib_metadata

from toolcrib.plugins.records import OWN_DISTRIBUTION, PluginSource

GROUP = "toolcrib"


def find_plugins(group: str = GROUP) -> list[PluginSource]:
    """The plugins of all installed distributions, our own first, then by distribution and name.

    The order does not depend on the order of `sys.path`, so hooks run in the same order on every
    machine. A distribution that is seen twice (a link farm, an old editable copy) counts once.
    """
    found: dict[tuple[str, str, str], PluginSource] = {}
    for point in importlib_metadata.entry_points(group=group):
        dist = point.dist
        distribution = _normalised(dist.name) if dist is not None else "unknown"
        version = dist.version if dist is not None else ""
        key = (distribution, point.name, point.value)
        found.setdefault(key, PluginSource(point.name, point.value, distribution, version))
    return sorted(
        found.values(),
        key=lambda s: (s.distribution != OWN_DISTRIBUTION, s.distribution, s.name, s.value),
    )


def _normalised(name: str) -> str:
    """A distribution's name as the packaging specifications compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
