"""News for the model: each given once, offered again on demand, whatever a source does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import toolcrib
from toolcrib import ContextMessage, ContextMessages
from toolcrib.contract.events import ContextMessagesReady, Event
from toolcrib.testing import ToolHarness


class Source:
    """Gives each of its news once, and again when it comes back."""

    def __init__(self, *ids: str) -> None:
        self.news = {one: ContextMessage(id=one, text=f"text of {one}") for one in ids}
        self.told: set[str] = set()

    def take_messages(self) -> Sequence[ContextMessage]:
        taken = [message for one, message in self.news.items() if one not in self.told]
        self.told |= self.news.keys()
        return taken

    def return_messages(self, ids: frozenset[str]) -> None:
        self.told -= ids


class Broken:
    def take_messages(self) -> Sequence[ContextMessage]:
        raise RuntimeError("nothing to be had")

    def return_messages(self, ids: frozenset[str]) -> None:
        raise RuntimeError("nothing to be given")


def ids(messages: Sequence[ContextMessage]) -> list[str]:
    return [message.id for message in messages]


@pytest.fixture
def announced() -> list[str]:
    return []


@pytest.fixture
def messages(announced: list[str]) -> ContextMessages:
    return ContextMessages(lambda: announced.append("announced"))


def test_without_sources_there_is_no_news(messages: ContextMessages) -> None:
    assert messages.take() == []
    messages.give_back(["a"])


def test_each_is_given_once_source_by_source(messages: ContextMessages) -> None:
    messages.add_source(Source("a", "b"))
    messages.add_source(Source("c"))
    assert ids(messages.take()) == ["a", "b", "c"]
    assert messages.take() == []


def test_what_is_given_back_comes_again(messages: ContextMessages) -> None:
    """By itself or by its id; what no source knows does no harm."""
    messages.add_source(Source("a", "b"))
    messages.add_source(Source("c"))
    first, *_ = messages.take()
    back: list[ContextMessage | str] = [first, "c", "of somebody else"]
    messages.give_back(iter(back))
    assert ids(messages.take()) == ["a", "c"]
    assert messages.take() == []


def test_a_source_that_fails_costs_nothing_of_the_others(
    messages: ContextMessages, caplog: pytest.LogCaptureFixture
) -> None:
    """Theirs count as delivered by then, and would be lost."""
    for source in (Source("a"), Broken(), Source("b")):
        messages.add_source(source)
    taken = messages.take()
    assert ids(taken) == ["a", "b"]
    messages.give_back(taken)
    assert ids(messages.take()) == ["a", "b"]
    assert "Broken" in caplog.text


def test_announcing_is_up_to_the_source(messages: ContextMessages, announced: list[str]) -> None:
    messages.add_source(Source("a"))
    assert announced == []
    messages.announce()
    assert announced == ["announced"]
    assert ids(messages.take()) == ["a"]


def test_a_message_is_one_of_the_user_that_wakes_by_default() -> None:
    message = ContextMessage(id="a", text="news")
    assert (message.role, message.wakes, message.origin) == ("user", True, {})


class NewsPlugin:
    """A third party's plugin whose service has news."""

    def __init__(self) -> None:
        self.source = Source("a")
        self.messages: list[ContextMessages] = []

    @toolcrib.hookimpl
    def contribute_tool(self) -> toolcrib.ToolContribution:
        plugin = self

        class Newsy(toolcrib.Tool[None]):
            name = "Newsy"
            description = "Has news."
            Input = {"type": "object"}  # noqa: RUF012

            def __init__(self, messages: ContextMessages) -> None:
                messages.add_source(plugin.source)
                plugin.messages.append(messages)

            def resolve_execution(self, args: object) -> toolcrib.ToolResult:
                return toolcrib.ToolResult("nothing")

        return toolcrib.ToolContribution(name="Newsy", factory=Newsy)


async def test_a_session_collects_the_news_of_its_services_and_tells_of_them(
    workspace: Path,
) -> None:
    plugin = NewsPlugin()
    events: list[Event] = []
    async with ToolHarness(workspace, plugins=[plugin]) as harness:
        session = harness.session
        session.tools()
        (messages,) = plugin.messages
        messages.announce()  # nobody listens yet
        session.subscribe(events.append)
        messages.announce()
        assert [type(event) for event in events] == [ContextMessagesReady]
        (message,) = session.context_messages()
        assert message.text == "text of a"
        assert session.context_messages() == []
        session.return_messages([message])
        assert ids(session.context_messages()) == ["a"]
