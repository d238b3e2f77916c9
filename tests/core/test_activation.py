"""From what plugins offer to what an agent has: the filters, their order, and when they run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import toolcrib
from toolcrib.contract.tool import _schema_of
from toolcrib.decisions import Decision
from toolcrib.testing import ToolHarness

Open = Callable[..., ToolHarness]

MODULE = """
import attrs
import toolcrib


@attrs.frozen(kw_only=True)
class {name}Input:
    text: str = ""


class {name}(toolcrib.Tool[{name}Input]):
    name = "{name}"
    description = "The tool {name}."

    def resolve_execution(self, args):
        async def execute(context):
            return toolcrib.ToolResult("{name} ran")

        return toolcrib.RunnableExecution(
            execute, approval_rule="{name}", accesses=toolcrib.Accesses.none()
        )
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Writes a module with a tool; gives the place of its class."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def write(name: str, text: str = MODULE) -> str:
        (folder / f"made_{name.lower()}.py").write_text(text.format(name=name))
        return f"made_{name.lower()}:{name}"

    yield write
    for name in [name for name in sys.modules if name.startswith("made_")]:
        del sys.modules[name]


def imported(name: str) -> bool:
    return f"made_{name.lower()}" in sys.modules


def offering(*contributions: Any, name: Any = "probing", **hooks: Any) -> SimpleNamespace:
    """A plugin with contributions, given or made by a function."""

    def contribute_tool() -> Any:
        return contributions

    marked = {hook: toolcrib.hookimpl(function) for hook, function in hooks.items()}
    return SimpleNamespace(
        __name__=name, **{"contribute_tool": toolcrib.hookimpl(contribute_tool), **marked}
    )


def echo(text: str, name: str = "Echo") -> Any:
    @toolcrib.tool(name=name, accesses=toolcrib.Accesses.none())
    def say() -> str:
        """Say something."""
        return text

    return say


def contribution(name: str, factory: Any = None, **more: Any) -> toolcrib.ToolContribution:
    return toolcrib.ToolContribution(name=name, factory=factory or echo(name, name), **more)


def place(id: str, *capabilities: str) -> toolcrib.Runtime:
    return toolcrib.LocalRuntime(id=id, capabilities=frozenset(capabilities))


@pytest.fixture
async def open_crib(workspace: Path, tmp_path: Path) -> AsyncIterator[Open]:
    opened: list[ToolHarness] = []

    def open_crib(*plugins: object, **more: Any) -> ToolHarness:
        harness = ToolHarness(workspace, home=tmp_path, plugins=plugins, **more)
        opened.append(harness)
        return harness

    yield open_crib
    for harness in opened:
        await harness.aclose()


def decision(crib: ToolHarness, name: str = "Probe") -> Decision:
    return crib.session.explain(name)


OBSTACLES = {
    "plugin": "probing",
    "feature": "'probes'",
    "runtime": "lonely",
    "workspace": "toolcrib.toml",
    "profile": "'narrow'",
    "profile-disallowed": "'narrow'",
    "when": "Only on the moon.",
    "tools.enabled": "[tools] enabled",
    "tools.disabled": "[tools] disabled",
    "session": "session",
    "factory": "made_probe",
}
"""Each filter in its order, and what its decision has to mention."""


class TestFilters:
    """Every obstacle is in the way of one tool; they are taken away one after the other."""

    def open(self, open_crib: Open, workspace: Path, factory: str, passed: int) -> ToolHarness:
        blocks = dict.fromkeys(list(OBSTACLES)[passed:])

        def when(context: Any) -> bool:
            """Only on the moon."""
            return "when" not in blocks

        probe = contribution(
            "Probe", factory, feature="probes", requires={"lonely", "fs"}, when=when
        )
        plugin = offering(
            probe,
            contribute_feature=lambda: toolcrib.Feature(
                name="probes", description="", default="feature" not in blocks
            ),
        )
        if "workspace" in blocks:
            (workspace / "toolcrib.toml").write_text('[tools]\ndisabled = ["Probe"]\n')
        else:
            (workspace / "toolcrib.toml").unlink(missing_ok=True)
        config = {
            "plugins": {"blocked": ["probing"] if "plugin" in blocks else []},
            "profiles": {
                "narrow": {
                    "tools": ["Read"] if "profile" in blocks else ["Read", "Probe"],
                    "disallowed_tools": ["Probe"] if "profile-disallowed" in blocks else [],
                }
            },
            "tools": {
                "enabled": ["Read"] if "tools.enabled" in blocks else ["Read", "Probe"],
                "disabled": ["Probe"] if "tools.disabled" in blocks else [],
            },
        }
        crib = open_crib(plugin, config=config, profile="narrow")
        if "session" in blocks:
            crib.session.disable_tools("Probe")
        capabilities = {"fs"} if "runtime" in blocks else {"fs", "lonely"}
        crib.session.use_runtime(place("moon", *capabilities))
        return crib

    @pytest.mark.parametrize("passed", range(len(OBSTACLES)), ids=list(OBSTACLES))
    async def test_the_first_obstacle_decides_and_nothing_is_imported(
        self, open_crib: Open, workspace: Path, module: Callable[..., str], passed: int
    ) -> None:
        factory = module("Probe", "raise RuntimeError('made_probe does not work')")
        wanted = list(OBSTACLES)[passed]
        crib = self.open(open_crib, workspace, factory, passed)
        found = decision(crib)
        assert (found.name, found.plugin) == ("Probe", "probing")
        assert (found.active, found.filter) == (False, wanted)
        assert found.reason and found.remedy
        assert OBSTACLES[wanted] in f"{found.reason} {found.remedy}"
        assert not imported("Probe")
        done = await crib.call("Probe")
        assert (done.outcome, done.result.is_error) == ("preflight-rejected", True)
        failed = {failure.plugin for failure in crib.session.crib.plugins.failures}
        assert failed == ({"probing"} if wanted == "factory" else set())

    async def test_behind_the_last_one_it_is_active(
        self, open_crib: Open, workspace: Path, module: Callable[..., str]
    ) -> None:
        crib = self.open(open_crib, workspace, module("Probe"), len(OBSTACLES))
        assert decision(crib) == Decision("Probe", "probing", True)
        assert imported("Probe")
        assert (await crib.call("Probe")).result.output == "Probe ran"
        assert {tool.name for tool in crib.session.tools()} == {"Read", "Probe"}

    async def test_an_unknown_feature_is_no_feature_that_is_on(self, open_crib: Open) -> None:
        crib = open_crib(offering(contribution("Probe", feature="probse")))
        assert decision(crib).filter == "feature"

    async def test_an_unknown_tool_gets_near_names(self, open_crib: Open) -> None:
        found = decision(open_crib(), "Raed")
        assert (found.active, found.filter) == (False, "unknown")
        assert "'Read'" in (found.remedy or "")

    async def test_every_contribution_has_one_decision(self, open_crib: Open) -> None:
        crib = open_crib(
            offering(contribution("Probe"), contribution("Other", requires={"x"})),
            offering(contribution("Probe"), name="second"),
        )
        found = [
            (d.name, d.plugin, d.active)
            for d in crib.session.decisions()
            if d.plugin in ("probing", "second")
        ]
        assert found == [
            ("Other", "probing", False),
            ("Probe", "probing", True),
            ("Probe", "second", False),
        ]


async def test_a_thousand_tools_of_which_twenty_are_active(
    open_crib: Open, module: Callable[..., str]
) -> None:
    """Nothing is imported for the others, and no schema derived."""
    names = [f"Made{number}" for number in range(1000)]
    wanted = names[::50]
    offers = [contribution(name, module(name)) for name in names]
    before = _schema_of.cache_info().misses
    crib = open_crib(
        offering(*offers), config={"profiles": {"few": {"tools": wanted}}}, profile="few"
    )
    assert [tool.name for tool in crib.session.tools()] == sorted(wanted)
    assert _schema_of.cache_info().misses - before == len(wanted)
    assert {name for name in names if imported(name)} == set(wanted)
    by_filter = [d.filter for d in crib.session.decisions() if d.name in set(names) - set(wanted)]
    assert by_filter == ["profile"] * 980


class TestNames:
    async def test_the_first_with_a_name_keeps_it(self, open_crib: Open) -> None:
        crib = open_crib(
            offering(contribution("Echo", echo("first")), name="one"),
            offering(contribution("Echo", echo("second")), name="two"),
        )
        assert (await crib.call("Echo")).result.output == "first"
        refused = [d for d in crib.session.decisions() if d.plugin == "two"]
        assert [d.filter for d in refused] == ["name"]
        assert "'one'" in str(refused[0].reason)
        failures = crib.session.crib.plugins.failures
        assert [(f.plugin, f.stage) for f in failures] == [("two", "duplicate")]

    async def test_one_plugin_cannot_offer_a_name_twice(self, open_crib: Open) -> None:
        crib = open_crib(
            offering(contribution("Echo", echo("first")), contribution("Echo", echo("second")))
        )
        assert (await crib.call("Echo")).result.output == "first"
        assert [f.stage for f in crib.session.crib.plugins.failures] == ["duplicate"]

    @pytest.mark.parametrize("overrider_first", [False, True])
    @pytest.mark.parametrize("name", ["Echo", "Louder"])
    async def test_an_override_replaces_whatever_the_order(
        self, open_crib: Open, overrider_first: bool, name: str
    ) -> None:
        plugins = [
            offering(contribution("Echo", echo("quiet")), name="one"),
            offering(contribution(name, echo("LOUD", name), overrides="Echo"), name="two"),
        ]
        crib = open_crib(*(reversed(plugins) if overrider_first else plugins))
        assert (await crib.call(name)).result.output == "LOUD"
        assert crib.session.crib.plugins.failures == []
        (replaced,) = [d for d in crib.session.decisions() if d.plugin == "one"]
        assert (replaced.active, replaced.filter) == (False, "name")
        assert "'two'" in str(replaced.reason)

    @pytest.mark.parametrize("overrider_first", [False, True])
    async def test_an_inactive_override_replaces_nothing(
        self, open_crib: Open, overrider_first: bool
    ) -> None:
        plugins = [
            offering(contribution("Echo", echo("quiet")), name="one"),
            offering(
                contribution("Echo", echo("LOUD"), overrides="Echo", requires={"x"}), name="two"
            ),
        ]
        crib = open_crib(*(reversed(plugins) if overrider_first else plugins))
        assert (await crib.call("Echo")).result.output == "quiet"
        crib.session.use_runtime(place("x", "fs", "process", "x"))
        assert (await crib.call("Echo")).result.output == "LOUD"
        crib.session.use_runtime(place("y", "fs", "process"))
        assert (await crib.call("Echo")).result.output == "quiet"

    @pytest.mark.parametrize("overrider_first", [False, True])
    @pytest.mark.parametrize("name", ["Echo", "Better"])
    async def test_a_broken_override_replaces_nothing(
        self, open_crib: Open, overrider_first: bool, name: str
    ) -> None:
        plugins = [
            offering(contribution("Echo", echo("quiet")), name="one"),
            offering(contribution(name, "no_such_module:Tool", overrides="Echo"), name="two"),
        ]
        crib = open_crib(*(reversed(plugins) if overrider_first else plugins))
        assert (await crib.call("Echo")).result.output == "quiet"
        (broken,) = [d for d in crib.session.decisions() if d.plugin == "two"]
        assert (broken.active, broken.filter) == (False, "factory")
        crib.session.disable_tools("Read")
        assert (await crib.call("Echo")).result.output == "quiet"

    async def test_of_two_overrides_the_first_replaces(self, open_crib: Open) -> None:
        crib = open_crib(
            offering(contribution("Echo", echo("quiet")), name="one"),
            offering(contribution("Echo", echo("LOUD"), overrides="Echo"), name="two"),
            offering(contribution("Echo", echo("LOUDER"), overrides="Echo"), name="three"),
        )
        assert (await crib.call("Echo")).result.output == "LOUD"
        active = [d.plugin for d in crib.session.decisions() if d.name == "Echo" and d.active]
        assert active == ["two"]

    async def test_a_builtin_tool_can_be_replaced(self, open_crib: Open) -> None:
        crib = open_crib(offering(contribution("Read", echo("mine", "Read"), overrides="Read")))
        (tool,) = [tool for tool in crib.session.tools() if tool.name == "Read"]
        assert (tool.plugin, tool.source) == ("probing", "plugin")
        assert (await crib.call("Read")).result.output == "mine"

    async def test_a_stranger_is_not_builtin(self, open_crib: Open) -> None:
        crib = open_crib(offering(contribution("Probe", source="builtin")))
        (tool,) = [tool for tool in crib.session.tools() if tool.name == "Probe"]
        assert tool.source == "plugin"


class NoResolve:
    name, description = "Probe", "Has no resolve_execution."
    parameters: ClassVar[Any] = {"type": "object"}


class Sized:
    def __init__(self, size: int) -> None: ...


def fail(*_: object) -> Any:
    raise RuntimeError("no idea")


async def slowly(context: object) -> bool:
    """No predicate: what it gives is always true."""
    return False


def leave(*_: object) -> Any:
    sys.exit(3)


class Described(toolcrib.Tool[Any]):
    """A tool whose description or schema is given or made by a function."""

    name = "Probe"

    def __init__(self, description: Any, parameters: Any) -> None:
        self._description, self._parameters = description, parameters

    @property
    def description(self) -> Any:
        return self._description() if callable(self._description) else self._description

    @property
    def parameters(self) -> Any:
        return self._parameters() if callable(self._parameters) else self._parameters


class TestBroken:
    """A broken tool is inactive with a reason, and costs nothing else."""

    @pytest.mark.parametrize(
        ("factory", "told"),
        [
            ("no_such_module:Probe", "no_such_module"),
            ("toolcrib.session:Nothing", "Nothing"),
            ("toolcrib.session", "session"),
            ("", ""),
            (fail, "no idea"),
            (leave, "sys.exit"),
            (NoResolve, "resolve_execution"),
            (Sized, "'size'"),
            (lambda: echo("x", "Other"), "'Other'"),
            (lambda: None, "None"),
            (5, "callable"),
        ],
    )
    async def test_a_factory(self, open_crib: Open, factory: Any, told: str) -> None:
        offer = toolcrib.ToolContribution(name="Probe", factory=factory)
        await self._only_probe_is_inactive(open_crib(offering(offer, contribution("Fine"))), told)

    @pytest.mark.parametrize("when", [fail, leave, 5, slowly])
    async def test_a_when(self, open_crib: Open, when: Any) -> None:
        crib = open_crib(offering(contribution("Probe", when=when), contribution("Fine")))
        await self._only_probe_is_inactive(crib, "", "when")

    @pytest.mark.parametrize(
        ("description", "parameters", "told"),
        [
            (fail, {"type": "object"}, "no idea"),
            (leave, {"type": "object"}, "sys.exit"),
            (None, {"type": "object"}, "None"),
            (5, {"type": "object"}, "5"),
            ("Fine.", fail, "no idea"),
            ("Fine.", None, "None"),
            ("Fine.", [1], "[1]"),
        ],
    )
    async def test_a_description_or_schema(
        self, open_crib: Open, description: Any, parameters: Any, told: str
    ) -> None:
        """It shows when the tools are listed; the tool is withdrawn then."""
        offer = contribution("Probe", lambda: Described(description, parameters))
        crib = open_crib(offering(offer, contribution("Fine")))
        crib.session.tools()
        await self._only_probe_is_inactive(crib, told)

    async def _only_probe_is_inactive(
        self, crib: ToolHarness, told: str, by: str = "factory"
    ) -> None:
        found = decision(crib)
        assert (found.active, found.filter) == (False, by)
        assert told in str(found.reason) and "probing" in str(found.remedy)
        assert {"Fine", "Read"} <= {tool.name for tool in crib.session.tools()}
        assert (await crib.call("Probe")).outcome == "preflight-rejected"
        assert (await crib.call("Fine")).result.output == "Fine"
        (failure,) = crib.session.crib.plugins.failures
        assert failure.plugin == "probing" and "Probe" in failure.reason

    @pytest.mark.parametrize("name", [None, 5, "", ["x"]])
    @pytest.mark.parametrize("field", ["name", "feature", "overrides"])
    async def test_a_name_that_is_none(self, open_crib: Open, field: str, name: Any) -> None:
        if name is None and field != "name":
            return

        def contribute_tool() -> Any:
            values: Any = {"name": "Probe", "factory": echo("x", "Probe"), field: name}
            return toolcrib.ToolContribution(**values)

        crib = open_crib(offering(contribute_tool=contribute_tool))
        (failure,) = crib.session.crib.plugins.failures
        assert (failure.plugin, failure.stage) == ("probing", "contribute")
        assert field in failure.reason
        assert crib.session.decisions()

    async def test_a_broken_tool_is_not_tried_again_before_it_has_to_be(
        self, open_crib: Open
    ) -> None:
        tries: list[int] = []

        def sometimes() -> Any:
            tries.append(1)
            return fail() if len(tries) == 1 else echo("ran", "Probe")

        crib = open_crib(offering(contribution("Probe", sometimes)))
        crib.session.disable_tools("Read")
        assert len(tries) == 1 and not decision(crib).active
        crib.session.reload()
        assert len(tries) == 2 and decision(crib).active


class TestEvaluatingAgain:
    async def test_on_another_runtime(self, open_crib: Open) -> None:
        crib = open_crib()
        assert decision(crib, "Bash").active
        crib.session.use_runtime(place("files-only", "fs"))
        found = decision(crib, "Bash")
        assert (found.active, found.filter) == (False, "runtime")
        assert "process" in str(found.reason) and decision(crib, "Read").active
        crib.session.use_runtime(place("both", "fs", "process"))
        assert decision(crib, "Bash").active

    async def test_on_another_profile(self, open_crib: Open) -> None:
        crib = open_crib(config={"profiles": {"reader": {"tools": ["Read"]}}})
        crib.session.use_profile("reader")
        assert [tool.name for tool in crib.session.tools()] == ["Read"]
        crib.session.use_profile("default")
        assert decision(crib, "Bash").active

    async def test_when_tools_are_disabled_for_the_session(self, open_crib: Open) -> None:
        crib = open_crib()
        crib.session.disable_tools("Bash", "Read")
        crib.session.enable_tools("Read")
        assert (decision(crib, "Bash").filter, decision(crib, "Read").active) == ("session", True)
        done = await crib.call("Bash", command="true")
        assert done.outcome == "preflight-rejected"

    async def test_when_the_configuration_is_read_again(
        self, open_crib: Open, tmp_path: Path
    ) -> None:
        path = tmp_path / "user.toml"
        path.write_text("")
        crib = open_crib(environ={"TOOLCRIB_CONFIG": str(path)})
        path.write_text('[tools]\ndisabled = ["Bash"]\n')
        assert decision(crib, "Bash").active
        crib.session.reload()
        found = decision(crib, "Bash")
        assert found.filter == "tools.disabled"
        assert f"{path}:2" in str(found.remedy)

    async def test_when_a_plugin_comes_or_goes(self, open_crib: Open) -> None:
        crib = open_crib()
        plugins = crib.session.crib.plugins
        assert decision(crib).filter == "unknown"
        plugins.register(offering(contribution("Probe")))
        assert decision(crib).active
        assert (await crib.call("Probe")).outcome == "executed"
        plugins.unregister("probing")
        assert decision(crib).filter == "unknown"
        assert (await crib.call("Probe")).outcome == "preflight-rejected"
        with pytest.raises(KeyError):
            plugins.unregister("probing")

    async def test_what_stays_active_is_not_made_again(self, open_crib: Open) -> None:
        made: list[int] = []

        def make() -> Any:
            made.append(1)
            return echo("x", "Probe")

        crib = open_crib(offering(contribution("Probe", make)))
        crib.session.disable_tools("Bash")
        crib.session.use_runtime(place("x", "fs"))
        crib.session.crib.plugins.register(SimpleNamespace(), "other")
        assert len(made) == 1
        crib.session.disable_tools("Probe")
        crib.session.enable_tools("Probe")
        assert len(made) == 2

    async def test_changes_are_told_with_their_reason(self, open_crib: Open) -> None:
        crib = open_crib(config={"profiles": {"reader": {"tools": ["Read", "Probe"]}}})
        events: list[Any] = []
        crib.session.subscribe(events.append)
        crib.session.crib.plugins.register(offering(contribution("Probe")))
        crib.session.use_profile("reader")
        crib.session.disable_tools("Nobody")
        first, second = events
        assert (first.reason, first.added, first.removed) == ("plugins", ("Probe",), ())
        assert (second.reason, second.added) == ("profile", ())
        assert "Bash" in second.removed and "Read" not in second.removed

    async def test_a_withdrawn_tool_finishes_its_running_call(self, open_crib: Open) -> None:
        running, go_on = asyncio.Event(), asyncio.Event()

        @toolcrib.tool(name="Probe", accesses=toolcrib.Accesses.none())
        async def probe() -> str:
            """Wait."""
            running.set()
            await go_on.wait()
            return "finished"

        crib = open_crib(offering(contribution("Probe", probe)))
        call = asyncio.create_task(crib.call("Probe"))
        await running.wait()
        crib.session.crib.plugins.unregister("probing")
        assert not decision(crib).active
        go_on.set()
        done = await call
        assert (done.outcome, done.result.output) == ("executed", "finished")

    async def test_when_sees_the_facts_of_the_session(
        self, open_crib: Open, workspace: Path
    ) -> None:
        seen: list[Any] = []

        def when(context: Any) -> bool:
            seen.append(
                (
                    context.profile,
                    context.workspace,
                    context.mode,
                    context.section("probe"),
                    context.environment["PROBE"],
                )
            )
            return bool(context.mode == "auto")

        crib = open_crib(
            offering(contribution("Probe", when=when)),
            config={"probe": {"size": 3}, "profiles": {"p": {}}},
            mode="auto",
            environ={"PROBE": "on"},
        )
        assert seen == [("default", str(workspace), "auto", {"size": 3}, "on")]
        assert decision(crib).active
        crib.session.use_profile("p")
        assert seen[-1][0] == "p"


class TestFeatures:
    """While a feature is off its tools are inactive and the hooks of its plugins silent."""

    async def refuses_unread(self, crib: ToolHarness) -> bool:
        """Whether Write refuses to overwrite a file that was never read."""
        path = crib.root / "old.txt"
        path.write_text("old")
        done = await crib.call("Write", path="old.txt", content="new")
        assert path.read_text() == ("old" if done.result.is_error else "new")
        return bool(done.result.is_error)

    async def test_it_is_on_unless_somebody_says_otherwise(self, open_crib: Open) -> None:
        assert await self.refuses_unread(open_crib())

    @pytest.mark.parametrize(
        "options",
        [
            {"config": {"features": {"stale-guard": False}}},
            {
                "config": {"profiles": {"free": {"features": {"stale-guard": False}}}},
                "profile": "free",
            },
            {"environ": {"TOOLCRIB_FEATURE_STALE_GUARD": "0"}},
        ],
        ids=["configuration", "profile", "environment"],
    )
    async def test_off_it_is_silent(self, open_crib: Open, options: dict[str, Any]) -> None:
        crib = open_crib(**options)
        assert not await self.refuses_unread(crib)
        assert crib.session.crib.plugins.records["feature-stale-guard"].status == "loaded"

    async def test_it_can_be_turned_off_and_on_in_a_session(self, open_crib: Open) -> None:
        crib = open_crib(config={"profiles": {"free": {"features": {"stale-guard": False}}}})
        assert await self.refuses_unread(crib)
        crib.session.use_profile("free")
        assert not await self.refuses_unread(crib)
        crib.session.use_profile("default")
        (crib.root / "other.txt").write_text("old")
        done = await crib.call("Write", path="other.txt", content="new")
        assert done.result.is_error

    async def test_every_hook_of_its_plugins_is_silent(self, open_crib: Open) -> None:
        heard: list[str] = []
        hooks: dict[str, Callable[..., Any]] = {
            "check_permission": lambda call: heard.append("check_permission"),
            "before_execute": lambda call: heard.append("before_execute"),
            "will_execute": lambda call: heard.append("will_execute"),
            "did_execute": lambda call, outcome: heard.append("did_execute"),
            "observe": lambda event: heard.append("observe"),
        }
        plugin = offering(
            contribution("Probe", feature="probes"),
            contribution("Free"),
            contribute_feature=lambda: toolcrib.Feature(
                name="probes", description="", default=False, plugins=("probing",)
            ),
            **hooks,
        )
        crib = open_crib(plugin, config={"profiles": {"on": {"features": {"probes": True}}}})
        assert (await crib.call("Free")).outcome == "executed"
        assert heard == [] and decision(crib).filter == "feature"
        crib.session.use_profile("on")
        assert (await crib.call("Probe")).outcome == "executed"
        assert set(heard) == set(hooks)
        heard.clear()
        crib.session.use_profile("default")
        await crib.call("Free")
        assert heard == []
