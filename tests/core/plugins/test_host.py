"""Plugins that the host registers itself, and takes out again."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import toolcrib
from toolcrib.plugins.hook_calls import HookTable
from toolcrib.plugins.loader import MAX_REPORTS, PluginHost


def hook(function: Any, **marks: Any) -> Any:
    return toolcrib.hookimpl(**marks)(function)


def before_execute(call: Any) -> None:
    """Asked before every call."""


def did_execute(outcome: Any) -> Any:
    return outcome


class HalfReadable:
    """A plugin with a property that cannot be read."""

    @property
    def settings(self) -> str:
        raise RuntimeError("not now")


class Unreadable:
    """A plugin that does not even tell what it has."""

    def __dir__(self) -> list[str]:
        raise RuntimeError("not now")


class Answering:
    """Has every attribute, like the mocks and proxies that modules import."""

    def __getattr__(self, name: str) -> Answering:
        return Answering()


def test_an_object_that_cannot_be_read_is_reported() -> None:
    host = PluginHost()
    assert host.register(HalfReadable()).status == "loaded"
    record = host.register(Unreadable())
    assert record.status == "failed"
    assert "not now" in host.failures[0].reason
    assert host.register(SimpleNamespace(before_execute=hook(before_execute))).status == "loaded"


def test_objects_with_every_attribute_are_no_hooks() -> None:
    module = ModuleType("p_with_proxy")
    module.call = Answering()  # type: ignore[attr-defined]
    module.before_execute = hook(before_execute)  # type: ignore[attr-defined]
    host = PluginHost()
    record = host.register(module)
    assert (record.status, record.hooks) == ("loaded", ("before_execute",))


def test_an_optional_hook_may_be_unknown() -> None:
    plugin = SimpleNamespace(
        of_the_future=hook(lambda call: None, optionalhook=True),
        before_execute=hook(before_execute, optionalhook=True),
    )
    host = PluginHost()
    record = host.register(plugin)
    assert host.failures == []
    assert record.hooks == ("before_execute",)


def test_the_same_object_twice_is_a_duplicate() -> None:
    host = PluginHost()
    plugin = SimpleNamespace(before_execute=hook(before_execute))
    assert host.register(plugin).status == "loaded"
    assert host.register(plugin).status == "failed"
    assert [failure.stage for failure in host.failures] == ["duplicate"]
    assert len(HookTable(host).all("before_execute")) == 1


def test_two_objects_of_one_class_are_two_plugins() -> None:
    host = PluginHost()
    names = [host.register(SimpleNamespace()).name for _ in range(3)]
    assert len(set(names)) == 3


def test_a_name_is_free_again_after_unregistering() -> None:
    host = PluginHost()
    plugin = SimpleNamespace(before_execute=hook(before_execute))
    for _ in range(2):
        assert host.register(plugin, "mine").status == "loaded"
        host.unregister("mine")
    assert HookTable(host).all("before_execute") == ()
    with pytest.raises(KeyError):
        host.unregister("mine")


def test_a_plugin_that_could_not_be_registered_leaves_no_hook() -> None:
    plugin = SimpleNamespace(
        before_execute=hook(before_execute), did_execute=hook(lambda wrong: None)
    )
    host = PluginHost()
    host.register(plugin, "half")
    assert HookTable(host).all("before_execute") == ()
    plugin.did_execute = hook(did_execute)
    host.unregister("half")
    assert host.register(plugin, "half").status == "loaded"
    assert len(HookTable(host).all("before_execute")) == 1


def test_implementations_may_leave_arguments_out() -> None:
    host = PluginHost()
    host.register(SimpleNamespace(did_execute=hook(did_execute)), "part")
    host.register(SimpleNamespace(did_execute=hook(lambda: "none")), "none")
    host.register(
        SimpleNamespace(did_execute=hook(lambda outcome, call: (call, outcome))), "turned"
    )
    answers = {
        i.plugin: i.function("the call", "the outcome") for i in HookTable(host).all("did_execute")
    }
    assert answers == {
        "part": "the outcome",
        "none": "none",
        "turned": ("the call", "the outcome"),
    }


def test_changes_are_told_and_counted() -> None:
    host = PluginHost()
    told: list[int] = []
    stop = host.on_change(lambda: told.append(host.generation))
    host.register(SimpleNamespace(), "one")
    host.unregister("one")
    stop()
    stop()
    host.register(SimpleNamespace(), "two")
    assert told == [1, 2]


def test_faults_are_remembered_once_and_not_without_end() -> None:
    host = PluginHost()
    for _ in range(3):
        host.report("clumsy", "hook", "always the same")
    assert len(host.failures) == 1
    for number in range(1_000):
        host.report("clumsy", "hook", f"number {number}")
    host.report("other", "hook", "still heard")
    assert len(host.failures) == MAX_REPORTS + 1
