"""Filters system calls for what namespaces do not separate: keys, kernel interfaces, sockets."""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable

from attrs import frozen

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
# Offsets in the kernel's struct seccomp_data; of the arguments, the lower halves are looked at.
_NUMBER, _ARCH, _FIRST, _SECOND = 0, 4, 16, 24
_X32 = 0x40000000
_FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
_IOCTLS = {"TIOCSTI": 0x5412, "TIOCLINUX": 0x541C}


@frozen(kw_only=True)
class _Machine:
    """The numbers of a processor's system calls."""

    arch: int
    refused: dict[int, int]
    socket: int
    ioctl: int


_IO_URING = dict.fromkeys((425, 426, 427), errno.ENOSYS)
"""Its requests pass by every filter."""

_MACHINES = {
    "x86_64": _Machine(
        arch=0xC000003E,
        # add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd; fallocate takes disk
        # space faster than anybody can watch.
        refused={
            **dict.fromkeys((248, 249, 250, 321, 298, 323), errno.EPERM),
            285: errno.EOPNOTSUPP,
            **_IO_URING,
        },
        socket=41,
        ioctl=16,
    ),
    "aarch64": _Machine(
        arch=0xC00000B7,
        refused={
            **dict.fromkeys((217, 218, 219, 280, 241, 282), errno.EPERM),
            47: errno.EOPNOTSUPP,
            **_IO_URING,
        },
        socket=198,
        ioctl=29,
    ),
}


def filter_program(machine: str = "") -> bytes | None:
    """The filter in the kernel's format; None for a processor whose numbers are not known."""
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    foreign = _refuse(errno.ENOSYS)
    code = [_step(_LOAD, _ARCH), _step(_EQUAL, known.arch, 1, 0), foreign, _step(_LOAD, _NUMBER)]
    if known.arch == _MACHINES["x86_64"].arch:
        code += [_step(_AT_LEAST, _X32, 0, 1), foreign]
    for number, error in known.refused.items():
        code += [_step(_EQUAL, number, 0, 1), _refuse(error)]
    code += _by_argument(known.socket, _FIRST, _FAMILIES.values(), allowed=True)
    code += _by_argument(known.ioctl, _SECOND, _IOCTLS.values(), allowed=False)
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _by_argument(number: int, offset: int, values: Iterable[int], *, allowed: bool) -> list[bytes]:
    """Decide over one system call by one of its arguments; jumps over it for all others."""
    accept = _step(_RETURN, _ALLOW)
    refuse = _refuse(errno.EAFNOSUPPORT if allowed else errno.EPERM)
    body = [_step(_LOAD, offset)]
    for value in values:
        body += [_step(_EQUAL, value, 0, 1), accept if allowed else refuse]
    body.append(refuse if allowed else accept)
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _ERRNO | error)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
