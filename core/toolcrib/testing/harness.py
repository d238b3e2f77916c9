"""Runs calls through a real session in a workspace of the test's own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from toolcrib.config.permission import Mode
from toolcrib.contract.interaction import InteractionHandler
from toolcrib.pipeline.flight import Completion
from toolcrib.runtime import Runtime
from toolcrib.session import Session, open_session


class ToolHarness:
    """A session for tests: `await harness.call("Read", path="a.txt")`.

    Nothing of the user's is used: configuration and state lie below `root`'s parent, and `config`
    stands for the configuration file; `interact` answers approvals and other questions. Only the
    builtin plugins and `plugins` are loaded, unless `autoload` is set.
    """

    def __init__(
        self,
        root: Path,
        *,
        home: Path | None = None,
        config: Mapping[str, Any] | None = None,
        mode: Mode = "yolo",
        profile: str | None = None,
        runtime: str | Runtime | None = None,
        plugins: Iterable[object] = (),
        autoload: bool = False,
        environ: Mapping[str, str] | None = None,
        interact: InteractionHandler | None = None,
        model_capabilities: Iterable[str] = (),
    ) -> None:
        self.root = root
        self.home = home or root
        self.environ = {
            **os.environ,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(root.parent / "config"),
            "TOOLCRIB_STATE": str(root.parent / "state"),
            **(environ or {}),
        }
        self.session: Session = open_session(
            root,
            mode=mode,
            profile=profile,
            runtime=runtime,
            plugins=plugins,
            autoload=autoload,
            environ=self.environ,
            overrides=config,
            interact=interact,
            model_capabilities=model_capabilities,
        )

    async def call(
        self, name: str, arguments: Mapping[str, Any] | str | None = None, /, **more: Any
    ) -> Completion:
        """Run one call; keyword arguments are arguments of the tool."""
        if more:
            assert not isinstance(arguments, str)
            arguments = {**(arguments or {}), **more}
        (done,) = await self.batch((name, arguments))
        return done

    async def batch(self, *calls: tuple[str, Mapping[str, Any] | str | None]) -> list[Completion]:
        """Run a batch; the completions come in the order of the calls."""
        batch = [
            {"id": str(number), "name": name, "arguments": arguments}
            for number, (name, arguments) in enumerate(calls, 1)
        ]
        done = {completion.id: completion async for completion in self.session.execute(batch)}
        return [done[str(number)] for number in range(1, len(calls) + 1)]

    async def aclose(self) -> None:
        """Close the session."""
        await self.session.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
