"""Finds plugins in the metadata of installed distributions; imports none of them."""

from __future__ import annotations

import re

import importlib_metadata

from toolcrib.plugins.records import OWN_DISTRIBUTION, PluginSource

GROUP = "toolcrib"
_NAME = re.compile(r"^Name:[ \t]*(\S+)", re.MULTILINE)
_VERSION = re.compile(r"^Version:[ \t]*(\S+)", re.MULTILINE)


def find_plugins(group: str = GROUP) -> list[PluginSource]:
    """The plugins of all installed distributions, our own first, then by distribution and name.

    The order does not depend on the order of `sys.path`, so hooks run in the same order on every
    machine. A distribution that is seen twice (a link farm, an old editable copy) counts once.
    """
    found: dict[tuple[str, str, str], PluginSource] = {}
    identities: dict[importlib_metadata.Distribution | None, tuple[str, str]] = {}
    for point in importlib_metadata.entry_points(group=group):
        if point.dist not in identities:
            identities[point.dist] = _identity(point.dist)
        distribution, version = identities[point.dist]
        key = (distribution, point.name, point.value)
        found.setdefault(key, PluginSource(point.name, point.value, distribution, version))
    return sorted(
        found.values(),
        key=lambda s: (s.distribution != OWN_DISTRIBUTION, s.distribution, s.name, s.value),
    )


def _identity(dist: importlib_metadata.Distribution | None) -> tuple[str, str]:
    """Name and version of a distribution.

    They are in the first lines of its metadata. To parse all of it takes longer than everything
    else that finding plugins does, and the parser of mails takes longer to import.
    """
    if dist is None:
        return "unknown", ""
    head = (dist.read_text("METADATA") or dist.read_text("PKG-INFO") or "")[:4096]
    name, version = _NAME.search(head), _VERSION.search(head)
    return _normalised(name[1]) if name else "unknown", version[1] if version else ""


def _normalised(name: str) -> str:
    """A distribution's name as the packaging specifications compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
