"""A session moves between runtimes, and its tools and running calls with it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import define, evolve, field, frozen

import toolcrib
from toolcrib import Launch, LocalRuntime, RuntimeContribution, RuntimeUnavailable, Workspace
from toolcrib.contract.events import Event, RuntimeChanged
from toolcrib.runtime import Status
from toolcrib.testing import ToolHarness

Open = Callable[..., ToolHarness]
BUILTIN = ["Bash", "Edit", "Glob", "Grep", "Read", "Write"]
MODULE = """
import toolcrib

@toolcrib.settings("planet")
class Planet:
    pass
"""


@toolcrib.settings("planet")
@frozen(kw_only=True)
class PlanetSettings:
    """Where the planet is."""

    orbit: int = 1


@define(eq=False)
class Planet:
    """This machine under another name, which notes what is done with it."""

    local: LocalRuntime = field(factory=LocalRuntime)
    settings: PlanetSettings = field(factory=PlanetSettings)
    workspace: Workspace | None = None
    id: str = "planet"
    capabilities: frozenset[str] = frozenset({"fs", "process"})
    status: Status = "ready"
    hidden: tuple[str, ...] = ()
    writable: tuple[str, ...] | None = None
    launched: list[tuple[str, ...]] = field(factory=list)
    listeners: list[Callable[[], None]] = field(factory=list)
    closed: int = 0

    @property
    def environment(self) -> Mapping[str, str]:
        return self.local.environment

    @property
    def shell(self) -> str:
        return self.local.shell

    def launch(self, argv: Sequence[str], *, cwd: str, environment: Mapping[str, str]) -> Launch:
        self.launched.append(tuple(argv))
        return Launch(("/usr/bin/env", f"ON={self.id}", *argv), cwd, environment)

    def confine(self, workspace: Workspace) -> Workspace:
        return evolve(workspace, hidden=self.hidden, writable=self.writable)

    def on_status(self, listener: Callable[[], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def becomes(self, status: Status) -> None:
        self.status = status
        for listener in tuple(self.listeners):
            listener()

    async def aclose(self) -> None:
        self.closed += 1


def offering(*contributions: RuntimeContribution, name: str = "astronomy") -> Any:
    """A plugin that offers runtimes."""
    return SimpleNamespace(
        __name__=name, contribute_runtime=toolcrib.hookimpl(lambda: list(contributions))
    )


def planet(factory: Any = Planet, **more: Any) -> RuntimeContribution:
    return RuntimeContribution(
        **{"id": "planet", "factory": factory, "capabilities": {"fs", "process"}, **more}
    )


def tools(crib: ToolHarness) -> list[str]:
    return [tool.name for tool in crib.session.tools() if tool.name in BUILTIN]


@pytest.fixture
async def open_crib(workspace: Path, tmp_path: Path) -> AsyncIterator[Open]:
    opened: list[ToolHarness] = []
    home = tmp_path / "home"
    home.mkdir()

    def open_crib(*plugins: object, **more: Any) -> ToolHarness:
        opened.append(ToolHarness(workspace, home=home, plugins=plugins, **more))
        return opened[-1]

    yield open_crib
    for harness in opened:
        await harness.aclose()


async def start(crib: ToolHarness, *calls: tuple[str, Any]) -> asyncio.Task[Any]:
    """Run a batch in the background; what can start has started on return."""
    task = asyncio.ensure_future(crib.batch(*calls))
    await asyncio.sleep(0.05)
    return task


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


class TestSwitching:
    async def test_tools_follow_and_no_result_is_lost(
        self, open_crib: Open, workspace: Path
    ) -> None:
        """Local, then only processes, then local again, while calls run and others wait."""
        only_process = planet(
            lambda: Planet(capabilities=frozenset({"process"})), capabilities="process"
        )
        crib = open_crib(offering(only_process))
        (workspace / "a.txt").write_text("text\n")
        (workspace / "go").mkdir()
        assert tools(crib) == BUILTIN
        waiting = "until test -e go/{0}; do sleep 0.02; done; echo {0} ${{ON-local}}"
        first = await start(
            crib,
            ("Bash", {"command": waiting.format("one")}),
            ("Read", {"path": "a.txt"}),
            ("Grep", {"pattern": "text"}),
        )
        crib.session.use_runtime("planet")
        assert tools(crib) == ["Bash"]
        assert crib.session.explain("Read").filter == "runtime"
        second = await start(crib, ("Bash", {"command": waiting.format("two")}))
        gone = await crib.call("Read", path="a.txt")
        assert gone.outcome == "preflight-rejected"
        crib.session.use_runtime("local")
        assert tools(crib) == BUILTIN
        (workspace / "go" / "two").touch()
        (workspace / "go" / "one").touch()
        bash, read, grep = await first
        assert bash.result.output == "one local\n"
        assert "text" in str(read.result.output)
        assert "a.txt" in str(grep.result.output)
        assert (await second)[0].result.output == "two planet\n"
        assert (await crib.call("Read", path="a.txt")).result.output == "1\ttext"

    async def test_reads_that_run_finish_where_they_are(
        self, open_crib: Open, workspace: Path
    ) -> None:
        crib = open_crib(offering(planet()))
        (workspace / "big.txt").write_text("line\n" * 1_000_000)
        batch = asyncio.ensure_future(
            crib.batch(*[("Grep", {"pattern": "lin[e]$", "output_mode": "count_matches"})] * 3)
        )
        generation = crib.session.binding.stay.generation
        await until(lambda: generation.leases == 3)
        crib.session.use_runtime("planet")
        assert all("1000000" in str(done.result.output) for done in await batch)
        assert generation.leases == 0

    @pytest.mark.parametrize(
        "call",
        [("Bash", {"command": "touch x"}), ("Grep", {"pattern": "x"}), ("Glob", {"pattern": "*"})],
    )
    async def test_what_was_resolved_for_one_is_not_run_in_another(
        self, open_crib: Open, workspace: Path, call: tuple[str, Any]
    ) -> None:
        crib = open_crib(offering(planet()))
        (workspace / "wait.sh").write_text("until test -e go; do sleep 0.02; done")
        task = await start(crib, ("Bash", {"command": "sh wait.sh"}), call)
        crib.session.use_runtime("planet")
        (workspace / "go").touch()
        waited, refused = await task
        assert not waited.result.is_error
        assert (refused.outcome, refused.result.is_error) == ("aborted", True)
        assert not (await crib.call(*call)).result.is_error

    async def test_the_same_runtime_changes_nothing(self, open_crib: Open) -> None:
        crib = open_crib(offering(planet()))
        events: list[Event] = []
        crib.session.subscribe(events.append)
        stay = crib.session.binding.stay
        crib.session.use_runtime("local")
        crib.session.use_runtime(crib.session.runtime)
        assert (crib.session.binding.stay, events) == (stay, [])

    async def test_an_unknown_runtime_changes_nothing(self, open_crib: Open) -> None:
        crib = open_crib(offering(planet()))
        stay = crib.session.binding.stay
        with pytest.raises(RuntimeUnavailable, match="planet") as error:
            crib.session.use_runtime("planets")
        assert error.value.code == "runtime.not_found"
        assert (crib.session.binding.stay, tools(crib)) == (stay, BUILTIN)

    @pytest.mark.parametrize("status", ["connecting", "disconnected", "draining"])
    async def test_one_that_cannot_be_used_changes_nothing(
        self, open_crib: Open, status: Status
    ) -> None:
        crib = open_crib()
        stay = crib.session.binding.stay
        with pytest.raises(RuntimeUnavailable) as error:
            crib.session.use_runtime(Planet(status=status))
        assert (error.value.code, error.value.runtime) == ("runtime.unavailable", "planet")
        assert crib.session.binding.stay is stay
        assert crib.session.binding.registry.ids() == ["local"]

    async def test_one_with_a_bad_view_of_the_workspace_changes_nothing(
        self, open_crib: Open
    ) -> None:
        crib = open_crib()
        stay = crib.session.binding.stay
        with pytest.raises(RuntimeUnavailable, match="absolute"):
            crib.session.use_runtime(Planet(hidden=("relative",)))
        assert crib.session.binding.stay is stay

    async def test_an_agent_can_be_told_of_the_new_place(
        self, open_crib: Open, workspace: Path
    ) -> None:
        crib = open_crib(offering(planet()))
        events: list[Event] = []
        crib.session.subscribe(events.append)
        crib.session.use_runtime("planet")
        (event,) = [event for event in events if isinstance(event, RuntimeChanged)]
        assert (event.id, event.generation, event.status) == ("planet", "planet-1", "ready")
        assert (event.cwd, event.shell) == (str(workspace), LocalRuntime().shell)
        assert event.capabilities == ("fs", "process")
        assert event.os
        assert "planet" in event.text

    async def test_what_was_read_elsewhere_is_forgotten(
        self, open_crib: Open, workspace: Path
    ) -> None:
        crib = open_crib(offering(planet()))
        (workspace / "a.txt").write_text("old\n")
        await crib.call("Read", path="a.txt")
        crib.session.use_runtime("planet")
        crib.session.use_runtime("local")
        assert (await crib.call("Write", path="a.txt", content="new\n")).result.is_error
        await crib.call("Read", path="a.txt")
        assert not (await crib.call("Write", path="a.txt", content="new\n")).result.is_error

    async def test_a_runtime_that_is_replaced_goes_after_its_calls(
        self, open_crib: Open, workspace: Path
    ) -> None:
        old, new = Planet(), Planet()
        crib = open_crib(runtime=old)
        task = await start(crib, ("Bash", {"command": "until test -e go; do sleep 0.02; done"}))
        crib.session.use_runtime(new)
        assert crib.session.binding.stay.generation.id == "planet-2"
        await asyncio.sleep(0.05)
        assert old.closed == 0
        (workspace / "go").touch()
        assert not (await task)[0].result.is_error
        await until(lambda: old.closed)
        await crib.aclose()
        assert (old.closed, new.closed) == (1, 1)

    async def test_a_runtime_published_by_the_host_is_followed(self, open_crib: Open) -> None:
        old, new = Planet(), Planet(capabilities=frozenset({"process"}))
        crib = open_crib(runtime=old)
        registry = crib.session.binding.registry
        registry.publish(new, replaces=registry.current("planet"))
        assert crib.session.runtime is new
        assert tools(crib) == ["Bash"]


class TestLosing:
    async def test_calls_end_with_an_unknown_outcome(self, open_crib: Open) -> None:
        place = Planet()
        crib = open_crib(runtime=place)
        events: list[Event] = []
        crib.session.subscribe(events.append)
        task = await start(
            crib, ("Bash", {"command": "echo begun; sleep 60; touch x"}), ("Glob", {"pattern": "*"})
        )
        await until(lambda: any(event.type == "tool.progress" for event in events))
        place.becomes("disconnected")
        bash, glob = await task
        assert bash.result.is_error
        assert "unknown" in f"{bash.result.output} {bash.result.note}"
        assert "begun" in str(bash.result.output)
        assert glob.outcome == "aborted"
        assert (await crib.call("Bash", command="true")).outcome == "preflight-rejected"
        assert tools(crib) == []
        assert "disconnected" in (crib.session.explain("Bash").reason or "")
        place.becomes("ready")
        assert tools(crib) == BUILTIN
        assert not (await crib.call("Bash", command="true")).result.is_error

    async def test_a_body_that_does_not_stop_is_given_up(
        self, open_crib: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("toolcrib.pipeline.executor.GRACE_S", 0.05)
        release = asyncio.Event()

        async def stubborn() -> str:
            """Does not stop."""
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

        tool = toolcrib.tool(name="Stubborn", accesses=toolcrib.Accesses.none())(stubborn)
        other = toolcrib.tool(name="Other", accesses=toolcrib.Accesses.none())(stubborn)
        contributions = [
            toolcrib.ToolContribution(name="Stubborn", factory=tool, requires="process"),
            toolcrib.ToolContribution(name="Other", factory=other),
        ]
        plugin = SimpleNamespace(
            __name__="stubbornness", contribute_tool=toolcrib.hookimpl(lambda: contributions)
        )
        place = Planet()
        crib = open_crib(plugin, runtime=place)
        task = await start(crib, ("Stubborn", {}), ("Other", {}))
        place.becomes("disconnected")
        await asyncio.sleep(0.2)
        release.set()
        lost, unconcerned = await task
        assert (lost.outcome, lost.result.is_error) == ("aborted", True)
        assert "unknown" in str(lost.result.output)
        assert (unconcerned.outcome, unconcerned.result.output) == ("executed", "late")

    async def test_a_degraded_runtime_keeps_the_tools_that_it_can_carry(
        self, open_crib: Open
    ) -> None:
        place = Planet()
        crib = open_crib(runtime=place)
        place.capabilities = frozenset({"process"})
        place.becomes("degraded")
        assert tools(crib) == ["Bash"]
        place.capabilities = frozenset({"process", "fs"})
        place.becomes("ready")
        assert tools(crib) == BUILTIN

    async def test_one_that_the_session_has_left_concerns_only_its_calls(
        self, open_crib: Open
    ) -> None:
        place = Planet()
        crib = open_crib(runtime=place)
        task = await start(crib, ("Bash", {"command": "sleep 60"}))
        crib.session.use_runtime("local")
        place.becomes("disconnected")
        (done,) = await task
        assert "unknown" in f"{done.result.output} {done.result.note}"
        assert tools(crib) == BUILTIN


class TestContributions:
    @pytest.fixture
    def module(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        (tmp_path / "made_planet.py").write_text(MODULE)
        monkeypatch.syspath_prepend(str(tmp_path))
        yield "made_planet"
        sys.modules.pop("made_planet", None)

    async def test_nothing_is_imported_before_it_is_chosen(
        self, open_crib: Open, module: str
    ) -> None:
        crib = open_crib(offering(planet(f"{module}:Planet")))
        assert "planet" in crib.session.crib.runtimes()
        crib.session.tools()
        assert module not in sys.modules
        with pytest.raises(RuntimeUnavailable, match="astronomy"):
            crib.session.use_runtime("planet")
        assert module in sys.modules

    async def test_a_factory_gets_services(self, open_crib: Open, workspace: Path) -> None:
        made: list[Planet] = []

        def make(local: LocalRuntime, settings: PlanetSettings, workspace: Workspace) -> Planet:
            made.append(Planet(local, settings, workspace))
            return made[-1]

        crib = open_crib(
            offering(planet(make)), config={"planet": {"orbit": 3}}, environ={"PLANET": "earth"}
        )
        crib.session.use_runtime(Planet(id="other", hidden=(str(workspace / "x"),)))
        crib.session.use_runtime("planet")
        crib.session.use_runtime("local")
        crib.session.use_runtime("planet")
        (one,) = made
        assert one.settings.orbit == 3
        assert one.environment["PLANET"] == "earth"
        assert one.workspace == crib.session.workspace
        await crib.aclose()
        assert one.closed == 1

    @pytest.mark.parametrize(
        ("factory", "code"),
        [
            ("no_such_module:Planet", "runtime.unavailable"),
            ("no place", "runtime.unavailable"),
            (lambda: 1 / 0, "runtime.unavailable"),
            (lambda: sys.exit(3), "runtime.unavailable"),
            (lambda: None, "runtime.unavailable"),
            (lambda: Planet(id="other"), "runtime.unavailable"),
            (lambda: Planet(status="connecting"), "runtime.unavailable"),
            (lambda: Planet(hidden=("relative",)), "runtime.unavailable"),
            (lambda: Planet(capabilities=frozenset({"fs"})), "runtime.capability_unavailable"),
        ],
    )
    async def test_one_that_cannot_be_made_is_an_error_with_its_plugin(
        self, open_crib: Open, factory: Any, code: str
    ) -> None:
        """And nothing takes its place."""
        plugin = offering(planet(factory))
        crib = open_crib(plugin)
        stay = crib.session.binding.stay
        with pytest.raises(RuntimeUnavailable, match="'planet' of the plugin 'astronomy'") as error:
            crib.session.use_runtime("planet")
        assert (error.value.code, error.value.runtime) == (code, "planet")
        assert (crib.session.binding.stay, tools(crib)) == (stay, BUILTIN)
        with pytest.raises(RuntimeUnavailable):
            open_crib(plugin, runtime="planet")

    async def test_other_settings_make_another_runtime(
        self, open_crib: Open, workspace: Path
    ) -> None:
        """When the configuration is read again; what cannot be made leaves all as it was."""
        made: list[Planet] = []

        def make(settings: PlanetSettings) -> Planet:
            made.append(Planet(settings=settings))
            if settings.orbit > 8:
                raise ValueError("no such orbit")
            return made[-1]

        file = workspace.parent / "user.toml"
        file.write_text("[planet]\norbit = 1\n")
        contribution = planet(make, settings={"planet": f"{__name__}:PlanetSettings"})
        crib = open_crib(
            offering(contribution), runtime="planet", environ={"TOOLCRIB_CONFIG": str(file)}
        )
        stay = crib.session.binding.stay
        file.write_text("[planet]\norbit = 1\n[tools]\n")
        crib.session.reload()
        assert crib.session.binding.stay is stay
        file.write_text("[planet]\norbit = 9\n")
        with pytest.raises(RuntimeUnavailable, match="no such orbit"):
            crib.session.reload()
        assert crib.session.binding.stay is stay
        file.write_text("[planet]\norbit = 2\n")
        crib.session.reload()
        assert [one.settings.orbit for one in made] == [1, 9, 2]
        assert crib.session.runtime is made[2]
        assert crib.session.binding.stay.generation.id == "planet-2"
        await until(lambda: made[0].closed)
        crib.session.use_runtime("local")
        file.write_text("[planet]\norbit = 3\n")
        crib.session.reload()
        crib.session.use_runtime("planet")
        assert made[-1].settings.orbit == 3

    async def test_two_with_one_name_are_told(self, open_crib: Open) -> None:
        crib = open_crib(
            offering(planet()),
            offering(planet(), RuntimeContribution(id="local", factory=Planet, capabilities=())),
        )
        offers = crib.session.crib.runtimes()
        assert {name: offers[name][0] for name in offers if name != "sandbox"} == {
            "planet": "astronomy"
        }
        told = [f.reason for f in crib.session.crib.plugins.failures if f.plugin == "astronomy-2"]
        assert len(told) == 2

    async def test_what_is_no_contribution_is_told(self, open_crib: Open) -> None:
        plugin = SimpleNamespace(
            __name__="confused", contribute_runtime=toolcrib.hookimpl(lambda: [Planet()])
        )
        crib = open_crib(plugin)
        assert set(crib.session.crib.runtimes()) == {"sandbox"}
        assert [f.plugin for f in crib.session.crib.plugins.failures] == ["confused"]


class TestOpening:
    async def test_by_name_or_object(self, open_crib: Open) -> None:
        assert open_crib(offering(planet()), runtime="planet").session.runtime.id == "planet"
        place = Planet()
        assert open_crib(runtime=place).session.runtime is place

    async def test_the_configuration_names_the_default(self, open_crib: Open) -> None:
        config = {"default_runtime": "planet"}
        assert open_crib(offering(planet()), config=config).session.runtime.id == "planet"
        crib = open_crib(offering(planet()), config=config, runtime="local")
        assert crib.session.runtime.id == "local"
        crib = open_crib(offering(planet()), environ={"TOOLCRIB_RUNTIME": "planet"})
        assert crib.session.runtime.id == "planet"
        with pytest.raises(RuntimeUnavailable):
            open_crib(config=config)

    async def test_a_workspace_has_to_be_trusted_for_that(
        self, open_crib: Open, workspace: Path
    ) -> None:
        (workspace / "toolcrib.toml").write_text('default_runtime = "local"\n')
        user = {"TOOLCRIB_CONFIG": str(workspace.parent / "user.toml")}
        (workspace.parent / "user.toml").write_text('default_runtime = "planet"\n')
        assert open_crib(offering(planet()), environ=user).session.runtime.id == "planet"
        trusted = {**user, "TOOLCRIB_TRUST_WORKSPACE": "1"}
        assert open_crib(offering(planet()), environ=trusted).session.runtime.id == "local"


class TestActing:
    @pytest.mark.parametrize("engine", ["auto", "python"])
    async def test_every_program_is_started_by_the_runtime(
        self, open_crib: Open, workspace: Path, engine: str
    ) -> None:
        place = Planet()
        crib = open_crib(runtime=place, config={"search": {"engine": engine}})
        (workspace / "a.py").write_text("import this\n")
        assert (await crib.call("Bash", command="echo $ON")).result.output == "planet\n"
        found = await crib.call("Grep", pattern="this", glob="**/a.*")
        assert "a.py" in str(found.result.output)
        assert "a.py" in str((await crib.call("Glob", pattern="**/[ab].py")).result.output)
        assert "a.py" in str((await crib.call("Glob", pattern="*.py")).result.output)
        assert len(place.launched) == 4

    async def test_a_program_that_cannot_be_started_is_an_error(
        self, open_crib: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(self: Planet, argv: Any, **more: Any) -> Launch:
            raise RuntimeUnavailable("full", code="runtime.unavailable", runtime="planet")

        monkeypatch.setattr(Planet, "launch", refuse)
        crib = open_crib(runtime=Planet())
        for call in (("Bash", {"command": "true"}), ("Grep", {"pattern": "x"})):
            done = await crib.call(*call)
            assert done.result.is_error
            assert "full" in str(done.result.output)

    async def test_nothing_shows_what_is_hidden(self, open_crib: Open, workspace: Path) -> None:
        (workspace / "open").mkdir()
        (workspace / "veiled").mkdir()
        for name in ("open/a.txt", "veiled/b.txt", "veil.txt"):
            (workspace / name).write_text(f"word in {name}\n")
        (workspace / "open" / "link").symlink_to(workspace / "veiled")
        (workspace / "open" / "b.txt").symlink_to(workspace / "veil.txt")
        hidden = (str(workspace / "veiled"), str(workspace / "veil.txt"))
        crib = open_crib(runtime=Planet(hidden=hidden))
        for path in ("veil.txt", "veiled", "veiled/b.txt", "open/link/b.txt", "open/b.txt"):
            for name, more in [
                ("Read", {}),
                ("Write", {"content": "x"}),
                ("Grep", {"pattern": "w"}),
            ]:
                done = await crib.call(name, {"path": path, **more})
                assert done.result.is_error, (name, path)
                assert name == "Write" or "hidden" in str(done.result.output)
        searches: list[tuple[str, dict[str, Any]]] = [
            ("Glob", {"pattern": "**", "follow": True, "include_dirs": True}),
            ("Glob", {"pattern": "**"}),
            ("Glob", {"pattern": "veil.txt"}),
            ("Glob", {"pattern": "veiled/*"}),
            ("Grep", {"pattern": "word", "follow": True}),
            ("Grep", {"pattern": "word", "output_mode": "content"}),
            ("Grep", {"pattern": "word", "output_mode": "count_matches"}),
            ("Read", {"path": "."}),
            ("Read", {"path": "veil.tx"}),
        ]
        for name, arguments in searches:
            output = str((await crib.call(name, arguments)).result.output)
            shown = output.replace("'veil.txt'", "").replace("'veiled/*'", "")
            assert "veil.txt" not in shown.replace("veil.tx'", ""), (name, arguments, output)
            assert "b.txt" not in output.replace("open/b.txt", ""), (name, arguments, output)
        assert (workspace / "veil.txt").read_text() == "word in veil.txt\n"

    async def test_only_what_is_writable_is_written(self, open_crib: Open, workspace: Path) -> None:
        (workspace / "out").mkdir()
        (workspace / "a.txt").write_text("a\n")
        (workspace / "out" / "link").symlink_to(workspace / "a.txt")
        crib = open_crib(runtime=Planet(writable=(str(workspace / "out"),)))
        await crib.call("Read", path="a.txt")
        for name, arguments in [
            ("Write", {"path": "b.txt", "content": "b"}),
            ("Write", {"path": "a.txt", "content": "b"}),
            ("Write", {"path": "out/link", "content": "b"}),
            ("Edit", {"path": "a.txt", "old_string": "a", "new_string": "b"}),
        ]:
            done = await crib.call(name, arguments)
            assert done.result.is_error, (name, arguments)
            assert "runtime" in str(done.result.output)
        assert (workspace / "a.txt").read_text() == "a\n"
        assert not (workspace / "b.txt").exists()
        done = await crib.call("Write", path="out/new/b.txt", content="b")
        assert not done.result.is_error
        assert (workspace / "out" / "new" / "b.txt").read_text() == "b"
