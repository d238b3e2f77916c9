"""Where tools act: a runtime offers capabilities and an environment, in numbered generations."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Literal, Protocol, runtime_checkable

from attrs import field, frozen

Capability = Literal["fs", "process"]


@runtime_checkable
class Runtime(Protocol):
    """A place where tools act.

    `generation` changes whenever the place does: a call that was resolved in one generation is
    not executed in another.
    """

    @property
    def id(self) -> str: ...
    @property
    def generation(self) -> str: ...
    @property
    def capabilities(self) -> frozenset[str]: ...
    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def shell(self) -> str: ...


@frozen(kw_only=True)
class LocalRuntime:
    """This machine: its files and its processes. `shell` is the absolute path of a bash or sh."""

    id: str = "local"
    generation: str = "local-1"
    capabilities: frozenset[str] = frozenset({"fs", "process"})
    environment: Mapping[str, str] = field(factory=lambda: os.environ, repr=False)

    @property
    def shell(self) -> str:
        for candidate in ("/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"):
            if os.access(candidate, os.X_OK):
                return candidate
        return shutil.which("bash") or "/bin/sh"
