"""Where an HTTP server listens, by which names it may be called, and what else it is told."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable

from attrs import field, frozen

from toolcrib import ToolcribError

_ADDRESS = re.compile(r"(?:(?P<host>\[[^\]]+\]|[^:\[\]]+):)?(?P<port>\d{1,5})")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s]+", re.ASCII)
_KEEP_ALIVE = {
    "TCP_KEEPIDLE": 30,
    "TCP_KEEPINTVL": 10,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 120_000,
}
"""When a machine that is silent counts as gone: seconds and a number, and the last milliseconds."""
_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::\d{1,5})?", re.ASCII)


@frozen
class Address:
    """A host and a port; port 0 is any that is free."""

    host: str
    port: int

    @staticmethod
    def parse(text: str) -> Address:
        """Read `[HOST:]PORT`; without a host it is this machine alone.

        Raises:
            ValueError: it is no address.
        """
        found = _ADDRESS.fullmatch(text.strip())
        if found is None or int(found["port"]) > 65_535:
            raise ValueError(f"{text!r} is no [HOST:]PORT, such as 8765 or 127.0.0.1:8765")
        host = (found["host"] or "127.0.0.1").strip("[]").lower()
        return Address(host, int(found["port"]))

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        # Python before 3.13 does not look at what an address of IPv6 stands for.
        return (getattr(address, "ipv4_mapped", None) or address).is_loopback

    def listen(self) -> socket.socket:
        """Take the port.

        Raises:
            ToolcribError: it is taken, or is not to be had.
        """
        host = "127.0.0.1" if self.host == "localhost" else self.host
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            # With the protocol named, asyncio sends what is written at once: 40 ms a request.
            listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        except OSError as error:
            raise ToolcribError(f"cannot listen on {self}: {error.strerror}") from None
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            _watch_over(listening)
            listening.bind((host, self.port))
            listening.listen(128)
            listening.setblocking(False)
        except OSError as error:
            listening.close()
            hint = "; choose another port, or 0 for any" if self.port else ""
            raise ToolcribError(
                f"cannot listen on {self}: {error.strerror or error}{hint}"
            ) from None
        return listening

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def _watch_over(listening: socket.socket) -> None:
    """Notice clients that fall silent: connections take the options of the socket they come from.

    Nobody hears of a machine that lost its power or its network otherwise, as long as it is not
    sent anything.
    """
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:
            listening.setsockopt(socket.IPPROTO_TCP, option, value)


@frozen(kw_only=True)
class HttpOptions:
    """How the server is reached, and by whom.

    Attributes:
        token: what clients have to send.
        token_place: where people find it.
        hosts: further names of the server.
        origins: web pages that may call it.
        idle_s: seconds without a request after which a client counts as gone.
        max_clients: so many at the same time.
    """

    address: Address
    token: str = field(repr=False)
    token_place: str
    hosts: tuple[str, ...] = ()
    origins: frozenset[str] = frozenset()
    idle_s: float = 1800.0
    max_clients: int = 64


@frozen
class Names:
    """The names in `Host` headers by which a server may be called.

    A page of a foreign site whose name was made to point here would call it by that name.
    """

    names: frozenset[str]
    any_number: bool

    @staticmethod
    def of(address: Address, more: Iterable[str]) -> Names:
        """Those that lead to the address, and more; ports make no difference.

        Raises:
            ToolcribError: one of them is no name.
        """
        names = {"localhost", "127.0.0.1", "::1", address.host}
        for each in more:
            name = _name(each)
            if name is None:
                raise ToolcribError(f"{each!r} is no name of a host, such as tools.example.org")
            names.add(name)
        return Names(frozenset(names), any_number=not address.local)

    def allow(self, host: str) -> bool:
        """Whether a `Host` header is one of them; an address in numbers is nobody's to redirect."""
        name = _name(host)
        return name is not None and (name in self.names or (self.any_number and _is_number(name)))


def origins_of(pages: Iterable[str]) -> frozenset[str]:
    """Web pages as browsers name them in `Origin` headers.

    Raises:
        ToolcribError: one of them is no address of a page.
    """
    origins = {page.rstrip("/").lower() for page in pages}
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise ToolcribError(
                f"{origin!r} is no origin of a web page, such as http://localhost:6274"
            )
    return frozenset(origins)


def _name(host: str) -> str | None:
    """The name in `NAME[:PORT]`."""
    found = _HOST.fullmatch(host)
    return found["host"].lower().strip("[]").removesuffix(".") if found else None


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
