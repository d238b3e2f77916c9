"""The `[sandbox]` table of the configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable

from attrs import Attribute, Factory, field, frozen

from toolcrib import settings


def _positive(instance: object, attribute: Attribute[int], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"sandbox.{attribute.name} must be a positive whole number, not {value!r}")


def _yes_or_no(instance: object, attribute: Attribute[bool], value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"sandbox.{attribute.name} must be true or false, not {value!r}")


def _texts(value: Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _paths(instance: object, attribute: Attribute[tuple[str, ...]], value: tuple[str, ...]) -> None:
    for path in value:
        if not isinstance(path, str) or not (path.startswith("/") or path.split("/")[0] == "~"):
            raise ValueError(
                f"sandbox.{attribute.name} takes absolute paths and those below ~/, not {path!r}"
            )


def _names(instance: object, attribute: Attribute[tuple[str, ...]], value: tuple[str, ...]) -> None:
    for name in value:
        if not isinstance(name, str) or not name or "=" in name:
            raise ValueError(f"sandbox.{attribute.name} takes names of variables, not {name!r}")


def _inside(
    instance: object, attribute: Attribute[tuple[str, ...]], value: tuple[str, ...]
) -> None:
    for path in value:
        parts = path.split("/") if isinstance(path, str) else [".."]
        if not all(parts) or ".." in parts or "." in parts:
            raise ValueError(
                f"sandbox.{attribute.name} takes paths relative to the workspace, not {path!r}"
            )


def _half_of_memory_mb() -> int:
    return max(256, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2 // (1 << 20))


@settings("sandbox")
@frozen(kw_only=True)
class SandboxSettings:
    """What the sandbox lets through, and how much a command in it may use.

    `network` says whether commands reach the network. `hidden` are more files and folders to hide,
    `readable` some to show although they lie in a hidden place, `writable` some outside of the
    workspace that may be written, and `protected` paths in the workspace, relative to it, that may
    only be read. `hide_workspace_secrets` hides `.env` files, private keys and the like in the
    workspace from commands too. `environment` names variables to pass on although they look like
    secrets. Of all processes of a command together, `memory_mb` bounds the memory (half of the
    machine's by default), `processes` the processes and threads at a time, `cpu_s` the seconds of
    processor time, and `disk_mb` what is written to disks; `open_files` bounds those of each,
    `file_size_mb` one file, `tmp_mb` each of `/tmp`, `/var/tmp` and `/dev/shm`. `free_disk_mb` has
    to stay free on the disk of the workspace.
    """

    network: bool = field(default=False, validator=_yes_or_no)
    hidden: tuple[str, ...] = field(default=(), converter=_texts, validator=_paths)
    readable: tuple[str, ...] = field(default=(), converter=_texts, validator=_paths)
    writable: tuple[str, ...] = field(default=(), converter=_texts, validator=_paths)
    protected: tuple[str, ...] = field(default=(), converter=_texts, validator=_inside)
    hide_workspace_secrets: bool = field(default=True, validator=_yes_or_no)
    environment: tuple[str, ...] = field(default=(), converter=_texts, validator=_names)
    memory_mb: int = field(default=Factory(_half_of_memory_mb), validator=_positive)
    processes: int = field(default=1024, validator=_positive)
    cpu_s: int = field(default=3600, validator=_positive)
    open_files: int = field(default=4096, validator=_positive)
    file_size_mb: int = field(default=4096, validator=_positive)
    tmp_mb: int = field(default=1024, validator=_positive)
    disk_mb: int = field(default=16384, validator=_positive)
    free_disk_mb: int = field(default=512, validator=_positive)
