"""Put alternatives together where only one schema may stand, and part what has several types."""

from __future__ import annotations

from attrs import evolve

from toolcrib.dialects.losses import Losses, UnusableSchema
from toolcrib.dialects.merging import Merging
from toolcrib.dialects.node import (
    ANYTHING,
    ARRAY_LIMITS,
    NUMBER_LIMITS,
    OBJECT_LIMITS,
    STRING_LIMITS,
    Node,
    has_type,
)

_LIMITS = {
    "number": (*NUMBER_LIMITS, "format"),
    "integer": (*NUMBER_LIMITS, "format"),
    "string": (*STRING_LIMITS, "format"),
    "array": ARRAY_LIMITS,
    "object": OBJECT_LIMITS,
}


def objects_of(root: Node, merging: Merging, losses: Losses) -> Node:
    """One node without combinations that accepts the objects that a root accepts.

    Raises:
        UnusableSchema: It accepts none.
    """
    found = [
        evolve(branch, types=frozenset({"object"}))
        for branch in merging.branches(root)
        if "object" in branch.types
        and (branch.enum is None or any(isinstance(value, dict) for value in branch.enum))
    ]
    if not found:
        raise UnusableSchema("the schema accepts no object, so a tool cannot have arguments by it")
    return _join(found, root, losses)


def _join(branches: list[Node], whole: Node, losses: Losses) -> Node:
    """One object node that accepts whatever one of the branches accepts, as far as it is named."""
    if len(branches) == 1:
        return branches[0]
    text = "alternatives of the whole are put together; which properties go together is not said"
    losses.add(whole.at, "oneOf" if whole.exclusive else "anyOf", text, narrows=_differ(branches))
    joined = Node(at=whole.at, types=frozenset({"object"}), says=whole.says)
    for name in dict.fromkeys(name for branch in branches for name in branch.properties):
        said = [branch.properties[name] for branch in branches if name in branch.properties]
        joined.properties[name] = _any_of([below for below in said if not below.is_never])
    first, *others = branches
    joined.required = tuple(
        name for name in first.required if all(name in other.required for other in others)
    )
    joined.limits = {
        keyword: value
        for keyword, value in first.limits.items()
        if all(other.limits.get(keyword) == value for other in others)
    }
    more = [branch.additional for branch in branches]
    if None not in more:
        allowed = [below for below in more if below is not None and not below.is_never]
        joined.additional = _any_of(allowed)
    for branch in branches:
        joined.patterns |= branch.patterns
    for keyword in dict.fromkeys(keyword for branch in branches for keyword in branch.asides):
        losses.add(whole.at, keyword, "stands in an alternative of the whole; dropped")
    return joined


def _differ(branches: list[Node]) -> bool:
    """Whether a property of one branch has no name in another that would take it."""
    names = {name for branch in branches for name in branch.properties}
    return any(
        name not in branch.properties
        and not (branch.additional is not None and branch.additional.is_never)
        for branch in branches
        for name in names
    )


def _any_of(nodes: list[Node]) -> Node:
    if not nodes:
        return Node(types=frozenset())
    different = list({id(node): node for node in nodes}.values())
    if len(different) == 1:
        return different[0]
    words = next((node.says for node in different if "description" in node.says), {})
    return Node(at=different[0].at, says=words, any_of=(tuple(different),))


def split(node: Node, losses: Losses) -> list[Node]:
    """Nodes of one type each, which together accept the same; of any type where all is open."""
    if node.ref is not None:
        return [node]
    types = node.types
    if types == ANYTHING and node.enum is None:
        said = node.says_of_types()
        if not said:
            return [node]
        text = f"is missing; read as {' or '.join(sorted(said))}"
        losses.add(node.at, "type", text, narrows=True)
        types = frozenset(said)
    if node.enum is not None:
        return _by_value(node)
    return [_of_type(node, kind) for kind in _ORDER if kind in types]


_ORDER = ("string", "integer", "number", "boolean", "array", "object", "null")


def _by_value(node: Node) -> list[Node]:
    found = []
    for kind in _ORDER:
        only = frozenset({kind})
        values = [value for value in node.enum or () if has_type(value, only)]
        if kind == "number":
            values = [value for value in values if not has_type(value, frozenset({"integer"}))]
        if values and (kind in node.types or "number" in node.types or kind == "null"):
            found.append(Node(at=node.at, says=node.says, types=only, enum=values))
    return [evolve(each, enum=None) if each.types == {"null"} else each for each in found]


def _of_type(node: Node, kind: str) -> Node:
    known = _LIMITS.get(kind, ())
    limits = {key: value for key, value in node.limits.items() if key in known}
    if kind == "object":
        return evolve(node, types=frozenset({kind}), limits=limits, prefix=(), items=None)
    bare = evolve(
        node,
        types=frozenset({kind}),
        limits=limits,
        properties={},
        required=(),
        patterns={},
        additional=None,
    )
    return bare if kind == "array" else evolve(bare, prefix=(), items=None)
