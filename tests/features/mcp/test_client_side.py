"""What a server may ask of us, over a real connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.agent import Agent
from toolcrib_features.mcp.client_side import MAX_ASKED, ClientSide
from toolcrib_features.mcp.forms import LEFT_OUT, UnusableForm, fields_of

Begin = Callable[..., Awaitable[Any]]


async def elicited(session: Any, message: str = "Who?", **properties: Any) -> Any:
    required = [name for name, each in properties.items() if "default" not in each]
    schema = {"type": "object", "properties": properties, "required": required}
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return json.loads(await session.text("ask", method="elicitation/create", params=params))


class TestForms:
    async def test_answers_become_values_of_their_types(self, talk: Begin) -> None:
        answers = {
            "name": "Ada",
            "age": "36",
            "ratio": "0.5",
            "sure": "Yes",
            "color": "Rot",
            "several": "a, c",
            "spare": "-",
        }

        def answer(question: str) -> str:
            return next(a for name, a in answers.items() if f"\n{name}" in question)

        session = await talk(answer)
        reply = await elicited(
            session,
            name={"type": "string", "minLength": 2},
            age={"type": "integer", "minimum": 1},
            ratio={"type": "number"},
            sure={"type": "boolean"},
            color={"type": "string", "enum": ["r", "g"], "enumNames": ["Rot", "Grün"]},
            several={"type": "array", "items": {"enum": ["a", "b", "c"]}},
            spare={"type": "string", "default": "standard"},
        )
        assert reply == {
            "action": "accept",
            "content": {
                "name": "Ada",
                "age": 36,
                "ratio": 0.5,
                "sure": True,
                "color": "r",
                "several": ["a", "c"],
                "spare": "standard",
            },
        }

    async def test_the_question_says_which_server_asks_and_is_plain(self, talk: Begin) -> None:
        session = await talk(lambda question: "x")
        await elicited(session, "\x1b[2JPass\u202eword?", p={"type": "string"})
        (question,) = session.requests[0].questions
        assert "'talk'" in question.question
        assert "\x1b" not in question.question and "\u202e" not in question.question

    async def test_what_does_not_fit_is_asked_for_again_alone(self, talk: Begin) -> None:
        ages = iter(["old", "0", "7"])

        def answer(question: str) -> str:
            return next(ages) if "\nage" in question else "Ada"

        session = await talk(answer)
        schema = {"type": "integer", "minimum": 1}
        reply = await elicited(session, name={"type": "string"}, age=schema)
        assert reply["content"] == {"name": "Ada", "age": 7}
        assert [len(request.questions) for request in session.requests] == [2, 1, 1]
        assert "'old'" in session.requests[1].questions[0].question

    async def test_who_never_answers_fittingly_cancels(self, talk: Begin) -> None:
        session = await talk(lambda question: "no number")
        assert await elicited(session, age={"type": "integer"}) == {"action": "cancel"}

    async def test_who_dismisses_the_question_cancels(self, talk: Begin) -> None:
        session = await talk(lambda question: None)
        assert await elicited(session, age={"type": "integer"}) == {"action": "cancel"}

    async def test_without_fields_it_is_a_yes_or_no(self, talk: Begin) -> None:
        session = await talk(lambda question: "Decline")
        assert await elicited(session) == {"action": "decline"}

    async def test_nested_forms_are_refused(self, talk: Begin) -> None:
        session = await talk(lambda question: "x")
        reply = await elicited(session, deep={"type": "object"})
        assert reply["error"]["code"] == mcp_types.INVALID_PARAMS
        assert session.requests == []

    async def test_without_anybody_it_is_not_supported(self, talk: Begin) -> None:
        session = await talk()
        assert "error" in await elicited(session, age={"type": "integer"})

    async def test_it_is_asked_for_the_agent_and_the_turn_of_the_call(self, talk: Begin) -> None:
        session = await talk(lambda question: "7")
        host = session.harness.session
        helper = Agent(host, "helper", host.main.profile)
        helper.refresh("open")
        schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
        params = {"mode": "form", "message": "Age?", "requestedSchema": schema}
        arguments = {"method": "elicitation/create", "params": params}
        call = {"id": "1", "name": "mcp__talk__ask", "arguments": arguments}
        for agent, turn in ((helper, "turn 2"), (host.main, "turn 3")):
            async for done in agent.execute([call], turn):
                assert '"accept"' in done.result.output
        asked = [(request.agent, request.turn_id) for request in session.requests]
        assert asked == [("helper", "turn 2"), ("main", "turn 3")]

    async def test_not_more_is_asked_at_once_than_a_person_can_overlook(self, talk: Begin) -> None:
        """The others of a thousand questions are refused at once."""
        session = await talk(lambda question: "x")
        host = session.harness.session
        side = ClientSide(host, "talk")
        context: Any = None
        params = mcp_types.ElicitRequestFormParams(
            message="?",
            requested_schema={"type": "object", "properties": {"x": {"type": "string"}}},
        )
        replies = await asyncio.gather(*(side.elicit(context, params) for _ in range(1_000)))
        refused = [reply for reply in replies if isinstance(reply, mcp_types.ErrorData)]
        assert len(session.requests) == MAX_ASKED
        assert len(refused) == 1_000 - MAX_ASKED and not side.asking
        assert isinstance(await side.elicit(context, params), mcp_types.ElicitResult)

    async def test_what_is_asked_for_a_call_ends_with_it(self, talk: Begin) -> None:
        """This server goes on asking when it is told that the call is cancelled."""
        asked = asyncio.Event()

        async def answer(question: str) -> None:
            asked.set()
            await asyncio.Event().wait()

        session = await talk(answer)
        call = asyncio.create_task(elicited(session, age={"type": "integer"}))
        await asked.wait()
        session.harness.session.cancel(by_user=True)
        with pytest.raises(json.JSONDecodeError):
            await call
        async with asyncio.timeout(10):
            while session.harness.session.interactions.pending():
                await asyncio.sleep(0.01)
        assert await session.text("echo", a="x") == '{"a": "x"}'


class TestAddresses:
    async def shown(self, session: Any, url: str) -> Any:
        params = {"mode": "url", "message": "Pay", "url": url, "elicitationId": "1"}
        return json.loads(await session.text("ask", method="elicitation/create", params=params))

    async def test_an_address_is_shown_and_never_opened(self, talk: Begin) -> None:
        session = await talk(lambda question: "I have opened it")
        assert await self.shown(session, "https://evil.example/x?y=1") == {"action": "accept"}
        text = session.requests[0].questions[0].question
        assert "https://evil.example/x?y=1" in text and "'evil.example'" in text

    async def test_anything_else_is_a_no(self, talk: Begin) -> None:
        session = await talk(lambda question: "what?")
        assert await self.shown(session, "https://a.example/") == {"action": "decline"}

    @pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:x()", "http://[", "x"])
    async def test_other_addresses_are_refused(self, talk: Begin, url: str) -> None:
        session = await talk(lambda question: "I have opened it")
        assert "error" in await self.shown(session, url)
        assert session.requests == []


async def test_roots_are_the_folders_of_the_workspace(talk: Begin) -> None:
    session = await talk()
    reply = json.loads(await session.text("ask", method="roots/list"))
    root = Path(session.harness.session.workspace.root)
    assert reply["roots"] == [{"uri": root.as_uri(), "name": root.name}]


async def test_sampling_is_not_supported(talk: Begin) -> None:
    session = await talk()
    params = {"messages": [], "maxTokens": 5}
    reply = json.loads(await session.text("ask", method="sampling/createMessage", params=params))
    assert "not supported" in reply["error"]["message"].lower()


_VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats()
_SCHEMAS = st.dictionaries(
    st.sampled_from(
        ["type", "enum", "enumNames", "oneOf", "items", "default", "minimum", "pattern"]
    ),
    _VALUES
    | st.sampled_from(["string", "integer", "number", "boolean", "array"])
    | st.lists(_VALUES | st.dictionaries(st.sampled_from(["const", "title"]), _VALUES), max_size=4)
    | st.dictionaries(st.just("enum"), st.lists(_VALUES, max_size=3)),
)


@given(_SCHEMAS, st.none() | st.text(max_size=10), st.booleans())
def test_no_form_breaks_it(schema: Any, answer: str | None, needed: bool) -> None:
    """Whatever a form says, an answer is a value that JSON has, left out, or refused in words."""
    try:
        (field,) = fields_of({"properties": {"x": schema}, "required": ["x"] if needed else []})
    except UnusableForm:
        return
    assert field.question("the server asks", None).question
    try:
        value = field.value(answer)
    except ValueError as error:
        assert str(error)
    else:
        assert value is LEFT_OUT or json.dumps(value)
