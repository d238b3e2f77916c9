"""Opening a session, what it holds, who hears of its calls, and how it ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import attrs
import pytest

import toolcrib
from toolcrib.errors import ConfigError, PluginError
from toolcrib.plugins.loader import PluginHost
from toolcrib.plugins.records import PluginSource
from toolcrib.testing import ToolHarness


@toolcrib.tool(accesses=toolcrib.Accesses.none())
def Echo(text: str) -> str:
    """Say the same."""
    return text


class Echoing:
    @toolcrib.hookimpl
    def contribute_tool(self) -> toolcrib.ToolContribution:
        return toolcrib.ToolContribution(name="Echo", factory=Echo)


@pytest.fixture
def environ(workspace: Path, tmp_path: Path) -> dict[str, str]:
    """An environment in which nothing of the user's is found."""
    return {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "TOOLCRIB_STATE": str(tmp_path / "state"),
        "PATH": "/usr/bin:/bin",
    }


@pytest.fixture
def config(tmp_path: Path, environ: dict[str, str]) -> Path:
    """The user's configuration file, which tests write."""
    path = tmp_path / "user.toml"
    environ["TOOLCRIB_CONFIG"] = str(path)
    path.write_text("")
    return path


class TestOpening:
    def test_a_workspace_has_to_be_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        for name in ("file", "missing"):
            with pytest.raises(NotADirectoryError, match=name):
                toolcrib.open_session(tmp_path / name, autoload=False)

    def test_a_relative_workspace_is_made_absolute_once(
        self, workspace: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(workspace.parent)
        session = toolcrib.open_session("ws/../ws", autoload=False, environ=environ)
        monkeypatch.chdir("/")
        assert session.workspace.root == str(workspace)

    def test_a_relative_workspace_needs_a_current_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "gone").mkdir()
        monkeypatch.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        with pytest.raises(NotADirectoryError, match="does not exist"):
            toolcrib.open_session(".", autoload=False)

    def test_a_mode_that_there_is_not_is_refused(self, workspace: Path) -> None:
        with pytest.raises(ValueError, match="'yelo'"):
            toolcrib.open_session(workspace, mode="yelo", autoload=False)  # type: ignore[arg-type]

    def test_a_profile_that_there_is_not_is_refused(
        self, workspace: Path, environ: dict[str, str]
    ) -> None:
        with pytest.raises(ConfigError, match="nobody"):
            toolcrib.open_session(workspace, profile="nobody", autoload=False, environ=environ)

    async def test_additional_folders_come_from_configuration_and_arguments(
        self, workspace: Path, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        extra, more = tmp_path / "extra", tmp_path / "more"
        extra.mkdir()
        (extra / "a.txt").write_text("far away")
        async with toolcrib.open_session(
            workspace,
            autoload=False,
            environ=environ,
            additional_dirs=[str(extra), str(more)],
            overrides={"workspace": {"additional_dirs": [str(more)]}},
        ) as session:
            assert session.workspace.additional_dirs == (str(more), str(extra))
            calls = [{"id": "1", "name": "Read", "arguments": {"path": "../extra/a.txt"}}]
            (done,) = [done async for done in session.execute(calls)]
            assert "far away" in str(done.result.output)

    @pytest.mark.parametrize(
        ("flag", "profile", "configured", "expected"),
        [
            ("auto", "yolo", "manual", "auto"),
            (None, "yolo", "auto", "yolo"),
            (None, None, "auto", "auto"),
            (None, None, None, "manual"),
        ],
    )
    def test_the_mode_is_that_of_the_caller_the_profile_or_the_configuration(
        self,
        workspace: Path,
        environ: dict[str, str],
        flag: Any,
        profile: str | None,
        configured: str | None,
        expected: str,
    ) -> None:
        overrides: dict[str, Any] = {"profiles": {"mine": {"mode": profile} if profile else {}}}
        if configured:
            overrides["permission"] = {"default_mode": configured}
        session = toolcrib.open_session(
            workspace,
            profile="mine",
            mode=flag,
            autoload=False,
            environ=environ,
            overrides=overrides,
        )
        assert session.mode == expected

    def test_sessions_have_different_ids(self, workspace: Path, environ: dict[str, str]) -> None:
        crib = toolcrib.Crib.load(autoload=False)
        ids = {toolcrib.open_session(workspace, environ=environ, crib=crib).id for _ in range(20)}
        assert len(ids) == 20


class TestPermissionPlugin:
    """Losing it to a fault would let every call run; blocking it is the user's right."""

    def test_without_it_nothing_is_opened(self, workspace: Path, environ: dict[str, str]) -> None:
        with pytest.raises(PluginError):
            toolcrib.open_session(
                workspace, environ=environ, crib=toolcrib.Crib(PluginHost()), mode="yolo"
            )

    def test_a_broken_one_is_told_with_its_fault(
        self, workspace: Path, environ: dict[str, str]
    ) -> None:
        plugins = PluginHost()
        plugins.load([PluginSource("permissions", "no.such.module", "toolcrib", "1")])
        with pytest.raises(PluginError, match=r"no\.such|'no'"):
            toolcrib.open_session(workspace, environ=environ, crib=toolcrib.Crib(plugins))

    async def test_a_plugin_cannot_take_its_name(self, workspace: Path) -> None:
        async with ToolHarness(workspace, mode="manual") as crib:
            record = crib.session.crib.plugins.register(SimpleNamespace(), "permissions")
            assert record.status == "failed"
            done = await crib.call("Bash", command="true")
            assert done.outcome == "vetoed"

    async def test_the_user_may_block_it(
        self, workspace: Path, config: Path, environ: dict[str, str]
    ) -> None:
        config.write_text('[plugins]\nblocked = ["permissions"]\n')
        async with ToolHarness(workspace, mode="manual", environ=environ) as crib:
            assert (await crib.call("Bash", command="true")).outcome == "executed"

    async def test_the_workspace_may_not(self, workspace: Path) -> None:
        (workspace / "toolcrib.toml").write_text('[plugins]\nblocked = ["permissions"]\n')
        async with ToolHarness(workspace, mode="manual") as crib:
            assert (await crib.call("Bash", command="true")).outcome == "vetoed"


class Clock:
    pass


class Ticking(toolcrib.Tool[Any]):
    name, description = "Tick", "Use a clock."
    Input: ClassVar[Any] = {"type": "object"}

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def resolve_execution(self, args: Any) -> toolcrib.Execution:
        async def execute(context: toolcrib.ToolContext) -> toolcrib.ToolResult:
            return toolcrib.ToolResult(str(id(self.clock)))

        return toolcrib.RunnableExecution(execute, approval_rule="Tick")


class Clocks:
    """Offers a clock in one kind of scope, and a tool that needs it."""

    def __init__(self, kind: str, *, fails: bool = False) -> None:
        self.kind = kind
        self.fails = fails
        self.closed = 0

    @toolcrib.hookimpl
    def contribute_service(self, services: Any) -> None:
        if services.kind == self.kind:
            services.add_factory(Clock, Clock, self._close)

    @toolcrib.hookimpl
    def contribute_tool(self) -> toolcrib.ToolContribution:
        return toolcrib.ToolContribution(name="Tick", factory=Ticking)

    async def _close(self, clock: Clock) -> None:
        self.closed += 1
        if self.fails:
            raise RuntimeError(self.kind)


async def tick(session: toolcrib.Session) -> str:
    (done,) = [d async for d in session.execute([{"id": "1", "name": "Tick", "arguments": {}}])]
    assert done.outcome == "executed", done
    return str(done.result.output)


class TestServices:
    @pytest.mark.parametrize("kind", ["crib", "session", "agent"])
    async def test_each_scope_is_closed_once_with_the_session(
        self, workspace: Path, kind: str
    ) -> None:
        clocks = Clocks(kind)
        async with ToolHarness(workspace, plugins=[clocks]) as crib:
            await tick(crib.session)
            assert clocks.closed == 0
        assert clocks.closed == 1
        await crib.aclose()
        assert clocks.closed == 1

    async def test_a_plugin_that_comes_later_offers_its_services_too(self, workspace: Path) -> None:
        for kind in ("crib", "session", "agent"):
            clocks = Clocks(kind)
            async with ToolHarness(workspace) as crib:
                crib.session.crib.plugins.register(clocks)
                await tick(crib.session)
                crib.session.crib.plugins.register(SimpleNamespace(), "other")
                await tick(crib.session)
            assert clocks.closed == 1

    async def test_failures_keep_no_scope_from_closing(self, workspace: Path) -> None:
        plugins = [Clocks(kind, fails=True) for kind in ("crib", "session")]

        class Needs:
            @toolcrib.hookimpl
            def contribute_service(self, services: Any) -> None:
                if services.kind == "agent":
                    services.add_factory(Needs, Needs, lambda needs: 1 / 0)
                    services.get(Needs)

        harness = ToolHarness(workspace, plugins=[*plugins, Needs()])
        await tick(harness.session)
        assert harness.session.crib.scope.get(Clock)
        with pytest.raises(ExceptionGroup) as caught:
            await harness.aclose()
        assert [plugin.closed for plugin in plugins] == [1, 1]
        leaves = [leaf for group in caught.value.exceptions for leaf in group.exceptions]
        assert [type(leaf) for leaf in leaves] == [
            ZeroDivisionError,
            RuntimeError,
            RuntimeError,
        ]

    async def test_sessions_share_a_crib_and_its_services_alone(
        self, workspace: Path, environ: dict[str, str]
    ) -> None:
        for kind, shared in (("crib", True), ("session", False)):
            crib = toolcrib.Crib.load(autoload=False)
            clocks = Clocks(kind)
            crib.plugins.register(clocks)
            first, second = (
                toolcrib.open_session(workspace, mode="yolo", environ=environ, crib=crib)
                for _ in range(2)
            )
            assert (await tick(first) == await tick(second)) is shared
            await first.aclose()
            assert clocks.closed == (0 if shared else 1)
            await tick(second)
            await second.aclose()
            await crib.aclose()
            assert clocks.closed == (1 if shared else 2)

    async def test_a_closed_session_no_longer_follows_the_plugins(
        self, workspace: Path, environ: dict[str, str]
    ) -> None:
        crib = toolcrib.Crib.load(autoload=False)
        closed = toolcrib.open_session(workspace, environ=environ, crib=crib)
        live = toolcrib.open_session(workspace, environ=environ, crib=crib)
        await closed.aclose()
        crib.plugins.register(Echoing())
        assert live.explain("Echo").active
        assert not closed.explain("Echo").active
        await live.aclose()


class TestEvents:
    async def test_each_call_starts_and_ends_exactly_once(self, workspace: Path) -> None:
        class Denying:
            @toolcrib.hookimpl(tools=["Write"])
            def before_execute(self, call: Any) -> toolcrib.Veto:
                return toolcrib.Veto("no")

        async with ToolHarness(workspace, plugins=[Echoing(), Denying()]) as crib:
            events: list[Any] = []
            crib.session.subscribe(events.append)
            await crib.batch(
                ("Echo", {"text": "x"}),
                ("Echo", {"wrong": 1}),
                ("Echo", "{"),
                ("Nobody", {}),
                ("Write", {"path": "a", "content": ""}),
                ("Read", {"path": ".env"}),
                ("Bash", {"command": "exit 3"}),
            )
        seen = Counter((event.call_id, event.type) for event in events if hasattr(event, "call_id"))
        for number in range(1, 8):
            assert seen.pop((str(number), "tool.call.started")) == 1
            assert seen.pop((str(number), "tool.result")) == 1
        assert seen.pop(("1", "permission.decided")) == 1
        assert seen.pop(("7", "permission.decided")) == 1
        assert all(kind == "tool.progress" for _, kind in seen)
        order = [e.type for e in events if getattr(e, "call_id", None) == "1"]
        assert order == ["permission.decided", "tool.call.started", "tool.result"]

    async def test_listeners_and_plugins_get_the_same_events(self, workspace: Path) -> None:
        observed: list[Any] = []

        class Watching:
            @toolcrib.hookimpl
            def observe(self, event: Any) -> None:
                observed.append(event)

        async with ToolHarness(workspace, plugins=[Echoing(), Watching()]) as crib:
            del observed[:]
            heard: list[Any] = []
            unsubscribe = crib.session.subscribe(heard.append)
            await crib.call("Echo", text="x")
            assert heard == observed and len(heard) == 3
            unsubscribe()
            unsubscribe()
            await crib.call("Echo", text="x")
            assert len(heard) == 3 and len(observed) == 6

    async def test_without_listeners_no_event_is_made(
        self, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from toolcrib.contract import events

        async with ToolHarness(workspace, plugins=[Echoing()]) as crib:
            made: list[object] = []
            for kind in (events.ToolCallStarted, events.ToolResultReady, events.ToolListUpdated):
                build = kind.__init__

                def counting(self: Any, *, _build: Any = build, **values: Any) -> None:
                    made.append(self)
                    _build(self, **values)

                monkeypatch.setattr(kind, "__init__", counting)
            await crib.call("Echo", text="x")
            crib.session.disable_tools("Echo")
            assert made == []
            crib.session.subscribe(lambda event: None)
            crib.session.enable_tools("Echo")
            await crib.call("Echo", text="x")
            assert len(made) == 3

    async def test_a_failing_listener_stops_neither_calls_nor_other_listeners(
        self, workspace: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(event: Any) -> None:
            raise RuntimeError("no idea")

        async with ToolHarness(workspace, plugins=[Echoing()]) as crib:
            heard: list[Any] = []
            crib.session.subscribe(fail)
            crib.session.subscribe(heard.append)
            done = await crib.batch(("Echo", {"text": "x"}), ("Bash", {"command": "echo a"}))
            assert [d.outcome for d in done] == ["executed", "executed"]
            assert sum(event.type == "tool.result" for event in heard) == 2
        assert "no idea" in caplog.text

    async def test_a_listener_may_leave_while_it_is_told(self, workspace: Path) -> None:
        async with ToolHarness(workspace, plugins=[Echoing()]) as crib:
            heard: list[Any] = []

            def once(event: Any) -> None:
                heard.append(event)
                leave()

            leave = crib.session.subscribe(once)
            await crib.call("Echo", text="x")
            assert len(heard) == 1


class TestClosing:
    async def test_what_runs_is_cancelled(self, workspace: Path) -> None:
        harness = ToolHarness(workspace)

        async def collect() -> list[Any]:
            calls = [
                {"id": "1", "name": "Bash", "arguments": {"command": "sleep 60"}},
                {"id": "2", "name": "Bash", "arguments": {"command": "sleep 60"}},
            ]
            return [done async for done in harness.session.execute(calls)]

        started = asyncio.Event()
        harness.session.subscribe(lambda event: started.set())
        batch = asyncio.create_task(collect())
        await started.wait()
        await asyncio.sleep(0.1)
        await harness.aclose()
        done = await batch
        assert sorted(d.id for d in done) == ["1", "2"]
        assert all(d.result.is_error for d in done)

    async def test_a_session_that_ran_nothing_closes(self, workspace: Path) -> None:
        async with ToolHarness(workspace) as crib:
            pass
        await crib.aclose()


class TestReload:
    async def test_a_broken_file_leaves_everything_as_it_was(
        self, workspace: Path, config: Path, environ: dict[str, str]
    ) -> None:
        config.write_text('[tools]\ndisabled = ["Bash"]\n')
        async with ToolHarness(workspace, environ=environ) as crib:
            before = crib.session.settings
            config.write_text("[tools]\ndisabled = 5\n")
            with pytest.raises(ConfigError):
                crib.session.reload()
            assert crib.session.settings is before
            assert not crib.session.explain("Bash").active
            config.write_text("")
            crib.session.reload()
            assert crib.session.explain("Bash").active

    async def test_tools_get_their_new_settings(
        self, workspace: Path, config: Path, environ: dict[str, str]
    ) -> None:
        @toolcrib.settings("dice")
        @attrs.frozen(kw_only=True)
        class DiceSettings:
            sides: int = 6

        def make(settings: Any) -> Any:
            sides = settings.sides

            @toolcrib.tool(name="Dice", accesses=toolcrib.Accesses.none())
            def roll() -> str:
                """Roll."""
                return str(sides)

            return roll

        make.__annotations__["settings"] = DiceSettings

        class Rolling:
            @toolcrib.hookimpl
            def contribute_tool(self) -> toolcrib.ToolContribution:
                return toolcrib.ToolContribution(name="Dice", factory=make)

        async with ToolHarness(workspace, environ=environ, plugins=[Rolling()]) as crib:
            assert (await crib.call("Dice")).result.output == "6"
            config.write_text("[dice]\nsides = 20\n")
            assert (await crib.call("Dice")).result.output == "6"
            crib.session.reload()
            assert (await crib.call("Dice")).result.output == "20"
