"""Which places of this machine a command in the sandbox sees, and what it may do there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from attrs import frozen

import toolcrib
from toolcrib import Workspace
from toolcrib_os.sandbox.hiding import TEMPORARY, hidden_places, own_home
from toolcrib_os.sandbox.settings import SandboxSettings

Kind = Literal["read", "write", "hide", "temporary"]


@frozen
class View:
    """What each place is: the deepest one that holds a path decides over it.

    Attributes:
        places: by real path; what lies in none of them may be read.
    """

    places: Mapping[str, Kind]

    def kind(self, path: str) -> Kind:
        """What may be done with an absolute real path."""
        while path not in self.places:
            if path == "/":
                return "read"
            path = os.path.dirname(path)
        return self.places[path]

    def covered(self, path: str) -> bool:
        """Whether a path is out of sight."""
        return self.kind(path) in ("hide", "temporary")

    def holds_more(self, path: str) -> bool:
        """Whether something in a hidden folder is in sight after all."""
        return any(place.startswith(f"{path}/") for place in self.of("read", "write", "temporary"))

    def of(self, *kinds: Kind) -> tuple[str, ...]:
        return tuple(path for path, kind in self.places.items() if kind in kinds)

    def read_only(self) -> Iterator[str]:
        """The places that lie where everything else may be written."""
        for path in self.of("read"):
            if self.kind(os.path.dirname(path)) == "write":
                yield path

    def steps(self) -> Iterator[tuple[str, Kind]]:
        """The places that have to be mounted, the outer ones first."""
        for path in sorted(self.places, key=lambda path: (path.count("/"), path)):
            kind = self.places[path]
            if kind == "hide" and (path == "/" or self.covered(os.path.dirname(path))):
                continue
            if kind == "temporary" or os.path.lexists(path):
                yield path, kind


def build_view(
    workspace: Workspace,
    settings: SandboxSettings,
    environment: Mapping[str, str],
    outputs: str,
) -> View:
    """What is seen of a workspace and of the machine around it, apart from what changes often.

    `outputs` is the folder of what was too long for the results of the session.
    """
    places: dict[str, Kind] = {}
    view = View(places)
    places.update((os.path.realpath(path), "hide") for path in hidden_places(environment))
    places.update((os.path.realpath(path), "temporary") for path in TEMPORARY)
    home = own_home(environment)
    if home and view.covered(home):
        places[home] = "read"
    for folder in _own_programs():
        if view.covered(folder):
            places[folder] = "read"
    places.update((path, "hide") for path in _real(settings.hidden, home))
    places.update((path, "read") for path in _real(settings.readable, home))
    places.update((path, "write") for path in _real(settings.writable, home))
    places[os.path.realpath(outputs)] = "read"
    places.update((path, "write") for path in roots(workspace))
    for folder in map(os.path.realpath, (sys.prefix, sys.base_prefix)):
        if view.kind(folder) == "write" and folder not in places:
            places[folder] = "read"  # what this program itself is made of
    for path in view.of("read", "write"):
        # A running command could make it, and change it for a link at the wrong moment.
        if view.kind(os.path.dirname(path)) == "write" and not os.path.exists(path):
            del places[path]
    return view


def roots(workspace: Workspace) -> tuple[str, ...]:
    """The real paths of the folders that make up a workspace."""
    return tuple(map(os.path.realpath, (workspace.root, *workspace.additional_dirs)))


def _own_programs() -> set[str]:
    """Where the programs lie that tools start themselves: Python, ripgrep."""
    packages = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    core = os.path.dirname(toolcrib.__path__[0])
    folders = (sys.prefix, sys.base_prefix, core, packages)
    return {folder for folder in map(os.path.realpath, folders) if folder != "/"}


def _real(paths: Iterable[str], home: str | None) -> Iterator[str]:
    for path in paths:
        if path.startswith("/"):
            yield os.path.realpath(path)
        elif home:
            yield os.path.realpath(home + path[1:])
