"""Take combinations apart: what a node accepts, as alternatives without references."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from attrs import define, evolve, field

from toolcrib.dialects.fitting import Fitting, said_of_item, said_of_property
from toolcrib.dialects.losses import Losses
from toolcrib.dialects.node import Document, Node, same

MAX_BRANCHES = 48
MAX_DEPTH = 48
MAX_NODES = 50_000
_HIGHEST = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_LOWEST = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")

_Key = tuple[int, frozenset[str]]


@define
class Merging:
    """Alternatives of the nodes of one document.

    Attributes:
        keeps_recursion: leave a reference to a definition that contains itself as it is.
    """

    _document: Document
    _losses: Losses
    keeps_recursion: bool = False
    _recursive: frozenset[str] | None = field(default=None, init=False)
    _known: dict[tuple[int, frozenset[str]], tuple[Node, list[Node]]] = field(
        factory=dict, init=False
    )

    def branches(
        self, node: Node, opened: frozenset[str] = frozenset(), depth: int = 0
    ) -> list[Node]:
        """Nodes without combinations, of which a value must fit one; none if nothing fits.

        With `keeps_recursion` a branch can also be a bare reference.
        """
        if self.is_kept(node):
            return [node]
        if not node.is_combined:
            return [] if node.is_never else [node]
        known = (id(node), opened)
        if known not in self._known:
            # The entry holds the node, so its id cannot pass to another one.
            self._known[known] = (node, self._taken_apart(node, opened, depth))
        return self._known[known][1]

    def _taken_apart(self, node: Node, opened: frozenset[str], depth: int) -> list[Node]:
        if depth > MAX_DEPTH or len(self._known) > MAX_NODES:
            self._losses.add(node.at, "schema", "has too many combinations; anything is accepted")
            return [Node(at=node.at, says=node.says)]
        found = [evolve(node.own(), says={})] if not node.is_never else []
        for part in self._parts(node, opened, depth + 1):
            if len(found) * len(part) > MAX_BRANCHES:
                self._losses.add(node.at, "anyOf", "has too many combinations; one is left out")
                continue
            found = [both for one in found for other in part for both in self._meet(one, other)]
        if len(found) == 1:  # Otherwise the words are about all of them.
            return [evolve(found[0], says={**found[0].says, **node.says})]
        return found

    def _parts(self, node: Node, opened: frozenset[str], depth: int) -> Iterable[list[Node]]:
        if node.ref is not None:
            if node.ref in opened:
                self._losses.add(node.at, "$ref", "leads to itself and says nothing; dropped")
            else:
                target = self._document.targets[node.ref]
                more = {node.ref} if self.is_recursive(node.ref) else set()
                yield self.branches(target, opened | more, depth)
        for other in node.all_of:
            yield self.branches(other, opened, depth)
        for index, group in enumerate(node.any_of):
            if index in node.exclusive and len(group) > 1:
                self._note_exclusive(node, group)
            yield [branch for other in group for branch in self.branches(other, opened, depth)]

    def _note_exclusive(self, node: Node, group: tuple[Node, ...]) -> None:
        kinds = [other.types for other in group]
        apart = all(
            not _meet_types(kinds[i], kinds[j]) for i in range(len(kinds)) for j in range(i)
        )
        if not apart and not _have_tags(group):
            self._losses.add(node.at, "oneOf", "that only one may fit is not said; read as anyOf")

    def is_kept(self, node: Node) -> bool:
        """Whether a node stays a reference: it is no more than one, to what contains itself."""
        if not self.keeps_recursion or node.ref is None or not node.is_plain:
            return False
        alone = not (node.all_of or node.any_of or node.asides)
        return alone and self.is_recursive(node.ref)

    def is_recursive(self, ref: str) -> bool:
        """Whether the target of a reference can be one that contains itself."""
        if self._recursive is None:
            self._recursive = _on_cycles(self._document)
        return ref in self._recursive

    def opened(self, node: Node) -> frozenset[str]:
        """The recursive references that are followed to say what a node accepts."""
        found: set[str] = set()
        seen: set[int] = set()
        pending = [node]
        while pending:
            current = pending.pop()
            if id(current) in seen:
                continue
            seen.add(id(current))
            if current.ref is not None and not self.is_kept(current):
                if self.is_recursive(current.ref):
                    found.add(current.ref)
                pending.append(self._document.targets[current.ref])
            pending.extend(current.all_of)
            pending.extend(branch for group in current.any_of for branch in group)
        return frozenset(found)

    def _meet(self, one: Node, other: Node) -> list[Node]:
        """What fits both."""
        if one.is_plain and not one.is_combined and not one.asides:
            return [evolve(other, says={**other.says, **one.says}, nullable=_null(one, other))]
        if other.is_plain and not other.is_combined and not other.asides:
            return [evolve(one, says={**other.says, **one.says}, nullable=_null(one, other))]
        for kept, rest in ((one, other), (other, one)):
            if kept.ref is not None:  # To add something to a definition takes a copy of it.
                copies = self._document.targets[kept.ref]
                met = [self._meet(copy, rest) for copy in self._unfolded(copies, kept.ref)]
                return [both for several in met for both in several]
        types = _meet_types(one.types, other.types)
        if not types:
            return []
        met_node = Node(
            at=one.at,
            says={**other.says, **one.says},
            types=types,
            nullable=_null(one, other),
            limits=self._meet_limits(one, other),
            required=tuple(dict.fromkeys((*one.required, *other.required))),
            additional=_both(one.additional, other.additional),
            patterns=_both_by_name(one.patterns, other.patterns),
            asides=self._meet_asides(one, other),
        )
        met_node.properties = {
            name: _all_of([*said_of_property(one, name), *said_of_property(other, name)])
            for name in dict.fromkeys((*one.properties, *other.properties))
        }
        met_node.prefix = tuple(
            _both(said_of_item(one, index), said_of_item(other, index)) or Node(at=one.at)
            for index in range(max(len(one.prefix), len(other.prefix)))
        )
        met_node.items = _both(one.items, other.items)
        return self._with_values(met_node, one, other)

    def _unfolded(self, target: Node, ref: str) -> list[Node]:
        return Merging(self._document, self._losses).branches(target, frozenset({ref}))

    def _with_values(self, met: Node, one: Node, other: Node) -> list[Node]:
        if one.enum is None and other.enum is None:
            return [met]
        judge = Fitting(self._document)
        values = one.enum if one.enum is not None else other.enum or []
        met.enum = [v for v in values if judge.fits(one, v) and judge.fits(other, v)]
        return [met] if met.enum else []

    def _meet_limits(self, one: Node, other: Node) -> dict[str, Any]:
        limits = {**other.limits, **one.limits}
        for keyword in one.limits.keys() & other.limits.keys():
            mine, theirs = one.limits[keyword], other.limits[keyword]
            if keyword in _HIGHEST:
                limits[keyword] = max(mine, theirs)
            elif keyword in _LOWEST:
                limits[keyword] = min(mine, theirs)
            elif mine != theirs:
                self._losses.add(other.at, keyword, f"{theirs!r:.60} holds beside another; dropped")
        return limits

    def _meet_asides(self, one: Node, other: Node) -> dict[str, Any]:
        for keyword in one.asides.keys() & other.asides.keys():
            self._losses.add(other.at, keyword, "holds beside another; dropped")
        return {**other.asides, **one.asides}


def _on_cycles(document: Document) -> frozenset[str]:
    """The references on cycles, and between two of them: what is left of all without ends."""
    left = {ref: refs_in(target) for ref, target in document.targets.items()}
    users: dict[str, list[str]] = {ref: [] for ref in left}
    for ref, others in left.items():
        for other in others:
            users[other].append(ref)
    ends = deque(ref for ref, others in left.items() if not others)
    while ends:
        end = ends.popleft()
        del left[end]
        for user in users[end]:
            left[user].discard(end)
            if not left[user]:
                ends.append(user)
    return frozenset(left)


def refs_in(node: Node) -> set[str]:
    """All references below a node, without following them."""
    found: set[str] = set()
    pending = [node]
    while pending:
        current = pending.pop()
        if current.ref is not None:
            found.add(current.ref)
        pending.extend(children(current))
    return found


def children(node: Node) -> Iterable[Node]:
    """The nodes directly below one."""
    yield from node.properties.values()
    yield from node.patterns.values()
    yield from node.prefix
    yield from (below for below in (node.additional, node.items) if below is not None)
    yield from node.all_of
    for group in node.any_of:
        yield from group
    for value in node.asides.values():
        if isinstance(value, Node):
            yield value
        elif isinstance(value, dict):
            yield from (below for below in value.values() if isinstance(below, Node))


def _null(one: Node, other: Node) -> bool:
    return one.nullable or other.nullable


def _meet_types(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    both = set(one & other)
    if "number" not in both and {"number", "integer"} & one and {"number", "integer"} & other:
        both.add("integer")
    return frozenset(both)


def _have_tags(group: tuple[Node, ...]) -> bool:
    """Whether a property with one value each tells the alternatives apart."""
    first, *others = group
    for name, below in first.properties.items():
        if not below.enum or len(below.enum) != 1:
            continue
        tags = [other.properties[name].enum for other in others if name in other.properties]
        if len(tags) == len(others) and all(tag and not same(tag, below.enum) for tag in tags):
            return True
    return False


def _all_of(said: list[Node]) -> Node:
    if len(said) == 1:
        return said[0]
    words: dict[str, Any] = {}
    for node in reversed(said):
        words |= node.says
    return Node(at=said[0].at, says=words, all_of=tuple(said))


def _both(one: Node | None, other: Node | None) -> Node | None:
    return _all_of([node for node in (one, other) if node is not None]) if one or other else None


def _both_by_name(one: dict[str, Node], other: dict[str, Node]) -> dict[str, Node]:
    return {
        name: _all_of([part[name] for part in (one, other) if name in part])
        for name in dict.fromkeys((*one, *other))
    }
