"""Runs what can run together and keeps the order of what cannot.

Every path is a node in a tree, as in the multiple-granularity locking of database systems (Gray,
Lorie, Putzolu and Traiger, 1976): a call that uses a file announces its intention on all folders
above it, a call that uses a whole folder claims the folder. A call waits for exactly the earlier
unfinished calls whose claims exclude its own, and finding them costs the depth of its paths, not
the number of calls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from toolcrib.accesses import Accesses, FileAccess, fold_path
from toolcrib.pipeline.identity import PathIdentity

READ_BELOW, WRITE_BELOW, SHARED, EXCLUSIVE = range(4)

EXCLUDED_BY = (
    (EXCLUSIVE,),
    (SHARED, EXCLUSIVE),
    (WRITE_BELOW, EXCLUSIVE),
    (READ_BELOW, WRITE_BELOW, SHARED, EXCLUSIVE),
)
"""For each kind of claim, the kinds of earlier claims on the same node that it waits for."""

ROOT = "*"
_INSIDE = "\0"
Claim = tuple[str, int]


class Ticket:
    """One call's place in the schedule; it may run when `waits` is 0."""

    __slots__ = ("claims", "finished", "number", "start", "waits")

    def __init__(self, number: int, claims: list[Claim], start: Callable[[], None]) -> None:
        self.number = number
        self.claims = claims
        self.start = start
        self.waits = 0
        self.finished = False


class _Node:
    """The unfinished claims on one path, oldest first, and who waits for them, by kind."""

    __slots__ = ("claims", "waiting")

    def __init__(self) -> None:
        self.claims: tuple[deque[Ticket], ...] = (deque(), deque(), deque(), deque())
        self.waiting: tuple[deque[Ticket], ...] = (deque(), deque(), deque(), deque())

    def oldest(self, kind: int) -> Ticket | None:
        queue = self.claims[kind]
        while queue and queue[0].finished:
            queue.popleft()
        return queue[0] if queue else None

    def is_empty(self) -> bool:
        return not any(self.claims)


class Scheduler:
    """Starts calls as soon as no earlier unfinished call conflicts with them.

    Shared by the agents of a session, so that their calls keep out of each other's way too. Not
    thread-safe: it belongs to the event loop.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._number = 0

    def submit(
        self, accesses: Accesses | None, start: Callable[[], None], identity: PathIdentity
    ) -> Ticket:
        """Take a call in. With `waits` 0 it may run at once, else `start` is called later."""
        self._number += 1
        ticket = Ticket(self._number, claims_of(accesses, identity), start)
        nodes = [(self._nodes.get(path), path, kind) for path, kind in ticket.claims]
        for node, _, kind in nodes:
            if node is None:
                continue
            for excluded in EXCLUDED_BY[kind]:
                if node.oldest(excluded) is not None:
                    node.waiting[excluded].append(ticket)
                    ticket.waits += 1
        for _, path, kind in nodes:
            self._nodes.setdefault(path, _Node()).claims[kind].append(ticket)
        return ticket

    def finish(self, ticket: Ticket) -> None:
        """A call is over (or will never run): start those that waited for it alone."""
        if ticket.finished:
            return
        ticket.finished = True
        ready: list[Ticket] = []
        for path, kind in ticket.claims:
            node = self._nodes.get(path)
            if node is None:
                continue
            oldest = node.oldest(kind)
            waiting = node.waiting[kind]
            while waiting and (oldest is None or waiting[0].number <= oldest.number):
                waiter = waiting.popleft()
                waiter.waits -= 1
                if waiter.waits == 0 and not waiter.finished:
                    ready.append(waiter)
            if oldest is None and node.is_empty():
                del self._nodes[path]
        for waiter in sorted(ready, key=lambda each: each.number):
            waiter.start()

    @property
    def idle(self) -> bool:
        """Whether no unfinished call holds a claim."""
        return not self._nodes


def claims_of(accesses: Accesses | None, identity: PathIdentity) -> list[Claim]:
    """The nodes that a call claims, and how; None stands for everything."""
    if accesses is None or accesses.everything:
        return [(ROOT, EXCLUSIVE)]
    if not accesses.items:
        return []
    claims: dict[Claim, None] = {}
    for item in accesses.items:
        if isinstance(item, FileAccess):
            claims.update(dict.fromkeys(_file_claims(item, identity)))
        else:
            claims[(ROOT, READ_BELOW if item.shared else WRITE_BELOW)] = None
            claims[("resource:" + item.name, SHARED if item.shared else EXCLUSIVE)] = None
    return list(claims)


def _file_claims(access: FileAccess, identity: PathIdentity) -> Iterator[Claim]:
    below, whole = (WRITE_BELOW, EXCLUSIVE) if access.writes else (READ_BELOW, SHARED)
    yield ROOT, below
    declared = fold_path(access.path)
    real, inode = identity.of(access.path)
    yield from _path_claims(declared, access.recursive, below, whole)
    if real is not None:
        folded = fold_path(real)
        if folded != declared:
            yield from _path_claims(folded, access.recursive, below, whole)
    if inode is not None:
        yield "inode:" + inode, whole


def _path_claims(path: str, recursive: bool, below: int, whole: int) -> Iterator[Claim]:
    end = 0 if path.startswith("/") else -1
    if path != "/":
        if end == 0:
            yield "/", below
        while (end := path.find("/", end + 1)) != -1:
            yield path[:end], below
    if recursive:
        yield path, whole
    else:
        yield path, below
        yield path + _INSIDE, whole
