"""The table of active tools: unique names, exact removal, one order."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

import toolcrib
from toolcrib.registry import RegisteredTool, ToolRegistry


@toolcrib.tool
def nothing() -> None:
    """Do nothing."""


def entry(name: str) -> RegisteredTool:
    return RegisteredTool(name=name, tool=nothing)


NAMES = st.sampled_from(["Read", "Bash", "a", "B", "mcp__x__y"])


def test_an_entry_is_found_by_its_name_alone() -> None:
    registry = ToolRegistry()
    read = entry("Read")
    registry.add(read)
    assert registry.get("Read") is read
    assert registry.get("read") is None
    assert "Read" in registry and "read" not in registry
    assert len(registry) == 1


def test_adding_a_name_again_replaces_it() -> None:
    registry = ToolRegistry()
    first, second = entry("Read"), entry("Read")
    remove_first = registry.add(first)
    registry.add(second)
    assert registry.get("Read") is second
    remove_first()
    assert registry.get("Read") is second


def test_a_removal_ends_one_registration_and_may_be_repeated() -> None:
    registry = ToolRegistry()
    read = entry("Read")
    remove = registry.add(read)
    remove()
    assert registry.get("Read") is None
    remove()
    registry.add(read)
    remove_other = registry.add(entry("Bash"))
    remove_other()
    assert registry.names() == ["Read"]


def test_the_table_may_change_while_it_is_read() -> None:
    registry = ToolRegistry()
    removals = [registry.add(entry(name)) for name in ("a", "b", "c")]
    seen = []
    for each in registry:
        seen.append(each.name)
        removals.pop()()
    assert seen == ["a", "b", "c"]
    assert len(registry) == 0


@given(st.lists(st.tuples(NAMES, st.booleans()), max_size=30))
def test_it_behaves_as_a_mapping_in_name_order(steps: list[tuple[str, bool]]) -> None:
    registry, model = ToolRegistry(), dict[str, RegisteredTool]()
    removals: list[tuple[RegisteredTool, Callable[[], None]]] = []
    for name, remove in steps:
        if remove and removals:
            gone, take_out = removals.pop(0)
            take_out()
            if model.get(gone.name) is gone:
                del model[gone.name]
        else:
            made = entry(name)
            removals.append((made, registry.add(made)))
            model[name] = made
        assert registry.names() == sorted(model)
        assert list(registry) == [model[name] for name in sorted(model)]
        assert len(registry) == len(model)
