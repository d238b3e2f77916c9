"""The file systems of this machine that can be written, as this process sees them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress

_OF_THE_KERNEL = frozenset(
    {"autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts"}
    | {"fusectl", "mqueue", "nsfs", "proc", "pstore", "securityfs", "sysfs", "tracefs"}
)


def writable_mounts() -> Iterator[str]:
    """Where they are mounted, the outer ones first; without those that others lie over."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.split() for line in file]
    except OSError:
        return
    for fields in lines:
        number, path, options = fields[0], _decoded(fields[4]), fields[5].split(",")
        kind = fields[fields.index("-", 6) + 1]
        if "rw" in options and kind not in _OF_THE_KERNEL and _mount_of(path) == number:
            yield path


def _decoded(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), path)


def _mount_of(path: str) -> str:
    """The number of the mount that a path leads to; empty where it leads nowhere."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            with open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as file:
                return file.read().partition("mnt_id:")[2].split()[0]
        finally:
            os.close(descriptor)
    return ""
