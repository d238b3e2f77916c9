"""Tools of a server, called through the whole pipeline."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from toolcrib import ApprovalAnswer, qualify_tool_name
from toolcrib_features.mcp.model import (
    RequestRefused,
    RequestTimedOut,
    ServerConfig,
    ServerError,
    ServerNeedsLogin,
    ServerUnreachable,
    ToolDefinition,
)
from toolcrib_features.mcp.server_tool import MAX_DESCRIPTION_CHARS, McpTool, failed

Begin = Callable[..., Awaitable[Any]]


def tool(**data: Any) -> McpTool:
    definition = ToolDefinition(name="do.it", data={"name": "do.it", **data})
    config = ServerConfig(name="my server", command="x")

    def server() -> Any:
        raise AssertionError("nothing needs the server before a call")

    return McpTool(qualify_tool_name("my server", "do.it"), definition, config, server)


class TestWhatModelsAreTold:
    def test_a_long_description_is_cut_and_says_so(self) -> None:
        description = tool(description="word " * 10_000).description
        assert len(description) <= MAX_DESCRIPTION_CHARS
        assert description.endswith("cut here.]")

    def test_control_and_hidden_characters_are_taken_out(self) -> None:
        hidden = "\x1b[31mred\u202e\U000e0041\x00\ttab\nline\ud800"
        assert tool(description=hidden).description == "[31mred\ttab\nline"

    @pytest.mark.parametrize(
        "hidden", ["\u061c", "\u00ad", "\u3164", "\ufe01", "\ufff9", "\U000e0150"]
    )
    def test_characters_that_only_a_model_reads_are_taken_out(self, hidden: str) -> None:
        assert tool(description=f"a{hidden}b").description == "ab"

    def test_emoji_stay_whole(self) -> None:
        said = "\u2764\ufe0f \U0001f469\u200d\U0001f4bb"
        assert tool(description=said).description == said

    def test_without_a_description_it_is_named(self) -> None:
        assert "do.it" in tool().description and "my server" in tool(title="T").description

    @pytest.mark.parametrize("schema", [{}, None, {"properties": {}}, 5, []])
    def test_the_schema_is_always_one_of_an_object(self, schema: Any) -> None:
        assert tool(inputSchema=schema).parameters["type"] == "object"

    def test_people_are_told_the_servers_title(self) -> None:
        execution = tool(title="Do\x07 it").resolve_execution({})
        assert execution.display is not None
        assert "Do it" in str(execution.display) and "my server" in str(execution.display)
        assert execution.approval_rule == "mcp__my_server__do_it"
        assert execution.accesses is None


class TestCalls:
    async def test_the_server_gets_the_arguments(self, talk: Begin) -> None:
        session = await talk()
        assert json.loads(await session.text("echo", a="x", free={"k": 1})) == {
            "a": "x",
            "free": {"k": 1},
        }

    async def test_nulls_for_what_may_be_left_out_are_dropped(self, talk: Begin) -> None:
        session = await talk()
        done = await session.call("echo", a=None, b=None, c={"d": None})
        assert json.loads(done.result.output) == {"b": None, "c": {}}

    async def test_what_stays_wrong_is_refused_before_the_server_is_asked(
        self, talk: Begin
    ) -> None:
        session = await talk()
        done = await session.call("echo", a=5, c={"d": None, "e": 1})
        assert done.outcome == "preflight-rejected"
        assert "'e'" in done.result.output
        assert session.server.connection is None

    async def test_a_schema_elsewhere_is_not_fetched(self, talk: Begin) -> None:
        session = await talk()
        done = await session.call("fetches", x=1)
        assert done.outcome == "preflight-rejected"
        assert "127.0.0.1:9" in done.result.output

    async def test_an_error_of_the_tool_is_one(self, talk: Begin) -> None:
        session = await talk()
        content = [{"type": "text", "text": "bad"}]
        done = await session.call("answer", result={"content": content, "isError": True})
        assert done.result.is_error and done.result.output == "bad"

    async def test_a_refusal_names_its_code(self, talk: Begin) -> None:
        session = await talk()
        done = await session.call("refuse")
        assert done.result.is_error
        assert "-32601" in done.result.output and "\x1b" not in done.result.output

    async def test_of_a_server_that_dies_the_outcome_is_unknown(self, talk: Begin) -> None:
        session = await talk()
        done = await session.call("die")
        assert done.result.is_error and "unknown" in done.result.output

    async def test_a_removed_server_says_so(self, talk: Begin) -> None:
        session = await talk()
        await session.server.aclose()
        done = await session.call("echo")
        assert done.result.is_error and "removed" in done.result.output

    async def test_files_are_saved_for_their_owner(self, talk: Begin) -> None:
        session = await talk()
        blob = {"uri": "x:../../../etc/y.pdf", "mimeType": "application/pdf", "blob": "JVBERg=="}
        text = await session.text(
            "answer", result={"content": [{"type": "resource", "resource": blob}]}
        )
        folder = session.harness.session.outputs.folder
        (saved,) = folder.iterdir()
        assert str(saved) in text and saved.suffix == ".pdf"
        assert saved.read_bytes() == b"%PDF"
        assert saved.stat().st_mode & 0o777 == 0o600

    async def test_long_text_is_saved_by_the_pipeline(self, talk: Begin) -> None:
        session = await talk()
        content = [{"type": "text", "text": "line\n" * 40_000}]
        done = await session.call("answer", result={"content": content})
        assert done.result.truncated and "output_path" in done.result.output

    async def test_news_of_a_call_are_few_and_plain(self, talk: Begin) -> None:
        session = await talk()
        news: list[Any] = []
        session.harness.session.subscribe(news.append)
        await session.call("echo")  # so that the server is connected
        await session.call("chat")
        updates = [each.update for each in news if hasattr(each, "update")]
        texts = [update.text or "" for update in updates]
        assert any("line 0" in text for text in texts)
        assert len([text for text in texts if "line" in text]) < 50
        assert not any("\x1b" in text or "\x07" in text for text in texts)
        progress = [update for update in updates if update.kind == "progress"]
        assert [(p.percent, p.text) for p in progress] == [(100.0, "half")]


class TestPermissions:
    async def test_reading_tools_of_trusted_servers_need_no_approval(self, talk: Begin) -> None:
        session = await talk(mode="manual", trusted=True)
        assert (await session.call("look")).outcome == "executed"
        assert (await session.call("echo")).outcome == "vetoed"

    async def test_others_are_not_believed(self, talk: Begin) -> None:
        session = await talk(mode="manual")
        assert (await session.call("look")).outcome == "vetoed"

    async def test_destroying_is_asked_about_each_time(self, talk: Begin) -> None:
        def approve(request: Any) -> ApprovalAnswer:
            return ApprovalAnswer(decision="approved", scope=request.scopes[-1])

        session = await talk(approve, mode="manual", trusted=True)
        for _ in range(2):
            assert (await session.call("destroy")).outcome == "executed"
        assert [request.scopes for request in session.requests] == [("once",), ("once",)]

    async def test_who_wants_no_questions_gets_none(self, talk: Begin) -> None:
        session = await talk(lambda request: None, mode="yolo", trusted=True)
        assert (await session.call("destroy")).outcome == "executed"
        assert session.requests == []


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (ServerNeedsLogin("401"), "toolcrib mcp login 'my server'"),
        (RequestTimedOut("60 s"), "timed out"),
        (RequestRefused("no", code=-1), "-1"),
        (ServerUnreachable("gone", unsent=True), "nothing was done"),
        (ServerUnreachable("gone"), "unknown"),
        (ServerError("odd"), "odd"),
        (ServerError(""), "ServerError"),
    ],
)
def test_each_failure_says_what_to_do(error: ServerError, word: str) -> None:
    result = failed(error, "my server", "failed")
    assert result.is_error and word in str(result.output)
