"""A plugin whose tools show what becomes of a call, and which prints where it should not."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import toolcrib
from toolcrib import (
    Accesses,
    MediaPart,
    Question,
    QuestionAnswer,
    QuestionOption,
    QuestionRequest,
    RunnableExecution,
    TextPart,
    ToolContext,
    ToolContribution,
    ToolResult,
)

sys.stdout.write("printed by a plugin that is imported\n")
os.write(1, b"written by a plugin that is imported\n")

Arguments = Mapping[str, Any]


class Probe(toolcrib.Tool[Arguments]):
    """What the tools have in common."""

    description = "A tool to try things with."
    Input: ClassVar[Any] = {"type": "object", "properties": {}}
    accesses: Accesses | None = Accesses.none()

    def __init__(self, session: toolcrib.Session) -> None:
        self.session = session

    @property
    def folder(self) -> Path:
        return Path(self.session.workspace.root)

    def resolve_execution(self, args: Arguments) -> RunnableExecution:
        return RunnableExecution(
            lambda context: self.run(context, args), self.name, accesses=self.accesses
        )

    async def run(self, context: ToolContext, args: Arguments) -> ToolResult:
        raise NotImplementedError


class Media(Probe):
    """Gives one part of each kind, and says all else that a result can say."""

    name = "Media"

    async def run(self, context: ToolContext, args: Arguments) -> ToolResult:
        parts = (
            TextPart("the parts"),
            MediaPart("image", "image/png", b"png"),
            MediaPart("audio", "audio/wav", b"wav"),
            MediaPart("video", "video/mp4", b"mp4"),
        )
        return ToolResult(parts, note="a note", truncated=True)


class Noise(Probe):
    """Prints in every way there is."""

    name = "Noise"

    async def run(self, context: ToolContext, args: Arguments) -> ToolResult:
        sys.stdout.write("printed by a tool\n")
        sys.stdout.flush()
        os.write(1, b"written by a tool\n")
        process = await asyncio.create_subprocess_exec("echo", "printed by a program")
        await process.wait()
        return ToolResult(sys.stdin.read() + "quiet")


class Loud(Probe):
    """Prints more than any pipe holds."""

    name = "Loud"

    async def run(self, context: ToolContext, args: Arguments) -> ToolResult:
        for _ in range(1000):
            os.write(2, b"a line that nobody wants to read\n" * 10)
        return ToolResult("loud")


class Steps(Probe):
    """Tells how far it is."""

    name = "Steps"

    async def run(self, context: ToolContext, args: Arguments) -> ToolResult:
        for percent in (25, 50, 75):
            context.update(f"at {percent}", percent=percent)
            await asyncio.sleep(0.15)
        return ToolResult("done")


class Slow(Probe):
    """Takes a minute, and notes in a file how it went."""

    name = "Slow"
    Input: ClassVar[Any] = {
        "type": "object",
        "properties": {"log": {"type": "string"}},
        "required": ["log"],
    }

    async def run(self, context: ToolContext, args: Arguments) -> ToolResult:
        log = self.folder / args["log"]
        log.write_text("started")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            log.write_text("cancelled")
            raise
        return ToolResult("slept")


class Alone(Probe):
    """Touches everything; tells how many of it run at the same time."""

    name = "Alone"
    accesses = None
    running = 0

    async def run(self, context: ToolContext, args: Arguments) -> ToolResult:
        Alone.running += 1
        seen = Alone.running
        await asyncio.sleep(0.1)
        Alone.running -= 1
        return ToolResult(f"{seen} at once")


class Count(Probe):
    """Counts in a file how often it ran; tells its session."""

    name = "Count"
    accesses = None

    async def run(self, context: ToolContext, args: Arguments) -> ToolResult:
        file = self.folder / "count"
        file.write_text(str(int(file.read_text()) + 1 if file.exists() else 1))
        return ToolResult(self.session.id)


class Ask(Probe):
    """Asks the user."""

    name = "Ask"

    async def run(self, context: ToolContext, args: Arguments) -> ToolResult:
        colours = (
            QuestionOption(label="red", description="like a rose"),
            QuestionOption(label="blue"),
        )
        request = QuestionRequest(
            id=f"question_{self.session.id}_{context.call_id}",
            agent="main",
            turn_id=context.turn_id,
            call_id=context.call_id,
            questions=(
                Question(question="Which colour?", header="Colour", options=colours),
                Question(question="Why?"),
            ),
        )
        answer = await self.session.interactions.request(request)
        assert isinstance(answer, QuestionAnswer)
        return ToolResult(f"{dict(answer.answers or {})}, {answer.cause}")


class Fail(Probe):
    """Breaks."""

    name = "Fail"

    async def run(self, context: ToolContext, args: Arguments) -> ToolResult:
        raise RuntimeError("it broke")


TOOLS: tuple[type[Probe], ...] = (Media, Noise, Loud, Steps, Slow, Alone, Count, Ask, Fail)


@toolcrib.hookimpl
def contribute_tool() -> list[ToolContribution]:
    return [ToolContribution(name=each.name, factory=each) for each in TOOLS]
