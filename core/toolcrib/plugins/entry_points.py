"""Finds plugins in the metadata of installed distributions; imports none of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import cast

import importlib_metadata
from importlib_metadata import Distribution

from toolcrib.plugins.loader import describe
from toolcrib.plugins.records import OWN_DISTRIBUTION, PluginSource

GROUP = "toolcrib"
_VERSION = re.compile(r"^Version:[ \t]*(\S+)", re.MULTILINE)


def find_plugins(group: str = GROUP) -> list[PluginSource]:
    """The plugins of all installed distributions, our own first, then by distribution and name.

    The order does not depend on the order of `sys.path`, so hooks run in the same order on every
    machine. A distribution that is seen twice (a link farm, an old editable copy) counts once, as
    the copy that Python would import. One whose entry points cannot be read has a source that
    tells the problem.
    """
    found: dict[PluginSource, None] = {}
    for name, dist in _distributions():
        found.update(dict.fromkeys(_plugins_of(name, dist, group)))
    return sorted(
        found, key=lambda s: (s.distribution != OWN_DISTRIBUTION, s.distribution, s.name, s.value)
    )


def _distributions() -> Iterator[tuple[str, Distribution]]:
    """Every distribution with its normalised name, once."""
    copies: dict[str, list[Distribution]] = {}
    for dist in cast(Iterable[Distribution], importlib_metadata.distributions()):
        try:
            # From the folder's name: to read the metadata of all would take ten times as long.
            name = dist._normalized_name.replace("_", "-")
        except Exception:  # noqa: S112 (nameless leftovers, of whatever shape)
            continue
        copies.setdefault(name, []).append(dist)
    for name, dists in copies.items():
        # A folder without metadata is what an interrupted uninstall leaves.
        yield name, next((d for d in dists if len(dists) > 1 and _metadata(d)), dists[0])


def _plugins_of(name: str, dist: Distribution, group: str) -> Iterator[PluginSource]:
    try:
        text = dist.read_text("entry_points.txt")
    except (OSError, UnicodeDecodeError):
        return  # whether it meant to offer plugins to us, nobody can tell
    if not text or f"[{group}]" not in text:
        return
    found = _VERSION.search(_metadata(dist))
    version = found[1] if found else ""
    try:
        points = dist.entry_points.select(group=group)
    except Exception as error:
        problem = f"its entry_points.txt cannot be read: {describe(error)}"
        yield PluginSource(name, "", name, version, problem)
        return
    for point in points:
        yield PluginSource(point.name, point.value, name, version)


def _metadata(dist: Distribution) -> str:
    """The first lines of the metadata; to parse all of it takes longer than all the rest."""
    try:
        return (dist.read_text("METADATA") or dist.read_text("PKG-INFO") or "")[:4096]
    except (OSError, UnicodeDecodeError):
        return ""
