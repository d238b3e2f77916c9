"""What a server may ask of its client: the folders, questions to the user, lines for a log."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import mcp_types as types

from toolcrib import Question, QuestionAnswer, QuestionOption, QuestionRequest, Session
from toolcrib_features.mcp.caller import NOBODY, Caller, caller
from toolcrib_features.mcp.forms import LEFT_OUT, Field, UnusableForm, fields_of
from toolcrib_features.mcp.plain import line, plain

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext, ElicitationFnT, ListRootsFnT

LogListener = Callable[[str, str], None]
"""Is given the level of a line of the server's log, and its text."""

MAX_ASKED = 10
"""How many questions of one server may wait for a person at the same time."""
MAX_TRIES = 3
"""How often an answer that does not fit is asked for again."""
_OPENED, _DECLINED = "I have opened it", "Decline"
_YES = "Yes"


class ClientSide:
    """The callbacks of one connection, named as `mcp.ClientSession` takes them.

    Sampling is not among them: it is not announced, so a server that asks for it all the same is
    told that it is not supported.
    """

    def __init__(self, session: Session, server: str, *, roots: bool = True) -> None:
        self._session = session
        self._server = server
        self._roots = roots
        self._listeners: list[LogListener] = []
        self._calls: dict[asyncio.Task[Any] | None, Caller] = {}
        self._asked: set[str] = set()

    @property
    def asking(self) -> bool:
        """Whether a person is asked right now, so that the server's silence says nothing."""
        return bool(self._asked)

    @contextmanager
    def serving_a_call(self) -> Iterator[None]:
        """Take back what the server asks when the only call under way fails or is given up."""
        task = asyncio.current_task()
        self._calls[task] = caller()
        try:
            yield
        except BaseException:
            for id in tuple(self._asked) if len(self._calls) == 1 else ():
                self._session.interactions.cancel(id, "the call that it was for is over")
            raise
        finally:
            del self._calls[task]

    @property
    def elicitation_callback(self) -> ElicitationFnT | None:
        """Asks the user; None when nobody can be asked, so that the server is told beforehand."""
        return self.elicit if self._session.interactions.attended else None

    @property
    def list_roots_callback(self) -> ListRootsFnT | None:
        """Tells the folders of the workspace; None when the server is not to know them."""
        return self.list_roots if self._roots else None

    async def list_roots(
        self, context: ClientRequestContext
    ) -> types.ListRootsResult | types.ErrorData:
        """The folders of the workspace."""
        workspace = self._session.workspace
        folders = (workspace.root, *workspace.additional_dirs)
        roots = [
            types.Root.model_validate({"uri": Path(folder).as_uri(), "name": Path(folder).name})
            for folder in folders
        ]
        return types.ListRootsResult(roots=roots)

    async def logging_callback(self, params: types.LoggingMessageNotificationParams) -> None:
        """Hand a line of the server's log to those who follow it."""
        text = _as_line(params.data)
        source = line(params.logger, 100)
        for listener in tuple(self._listeners):
            try:
                listener(params.level, f"{source}: {text}" if source else text)
            except Exception:
                logging.getLogger("toolcrib").exception("a listener to %r failed", self._server)

    @contextmanager
    def following_log(self, listener: LogListener) -> Iterator[None]:
        """Have `listener` given the lines of the server's log while the block runs."""
        entry = partial(listener)  # an object of its own, so that the right one is taken out
        self._listeners.append(entry)
        try:
            yield
        finally:
            self._listeners.remove(entry)

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Put what the server wants to know to the user."""
        if len(self._asked) >= MAX_ASKED:
            text = f"{MAX_ASKED} questions wait for the user already"
            return types.ErrorData(code=types.INVALID_REQUEST, message=text)
        if isinstance(params, types.ElicitRequestURLParams):
            return await self._show_url(params)
        try:
            fields = fields_of(params.requested_schema)
        except UnusableForm as error:
            return types.ErrorData(code=types.INVALID_PARAMS, message=str(error))
        if not fields:
            return await self._confirm(params.message)
        return await self._fill_in(params.message, fields)

    async def _fill_in(self, message: str, fields: tuple[Field, ...]) -> types.ElicitResult:
        values: dict[str, Any] = {}
        problems: dict[str, str] = {}
        missing = fields
        for _ in range(MAX_TRIES):
            questions = {
                each.name: each.question(
                    self._asks(message if each is missing[0] else "(more of the same form)"),
                    problems.get(each.name),
                )
                for each in missing
            }
            answer = await self._ask(tuple(questions.values()))
            if answer.answers is None:
                return self._dismissed()
            problems.clear()
            for each in missing:
                try:
                    value = each.value(answer.answers.get(questions[each.name].question))
                except ValueError as error:
                    problems[each.name] = line(str(error), 300)
                    continue
                if value is not LEFT_OUT:
                    values[each.name] = value
            missing = tuple(each for each in missing if each.name in problems)
            if not missing:
                content = {each.name: values[each.name] for each in fields if each.name in values}
                return types.ElicitResult(action="accept", content=content)
        return types.ElicitResult(action="cancel")

    async def _confirm(self, message: str) -> types.ElicitResult:
        options = (QuestionOption(label=_YES), QuestionOption(label=_DECLINED))
        question = Question(question=self._asks(message), header="Confirm", options=options)
        return await self._consent(question, _YES, {})

    async def _show_url(
        self, params: types.ElicitRequestURLParams
    ) -> types.ElicitResult | types.ErrorData:
        """Show an address; opening it is the user's business alone."""
        url, host = line(params.url, 4_000), _host(params.url)
        if url != params.url or host is None:
            return types.ErrorData(
                code=types.INVALID_PARAMS, message="the URL is no plain http or https address"
            )
        text = (
            f"{self._asks(params.message)}\n\nIt wants you to open this address of {host!r} in a "
            f"browser. Do so only if you expect it:\n{url}"
        )
        options = (QuestionOption(label=_OPENED), QuestionOption(label=_DECLINED))
        question = Question(question=text, header="Open an address", options=options)
        return await self._consent(question, _OPENED, None)

    async def _consent(
        self, question: Question, yes: str, content: dict[str, Any] | None
    ) -> types.ElicitResult:
        answer = await self._ask((question,))
        if answer.answers is None:
            return self._dismissed()
        if answer.answers.get(question.question) == yes:
            return types.ElicitResult(action="accept", content=content)
        return types.ElicitResult(action="decline")

    async def _ask(self, questions: tuple[Question, ...]) -> QuestionAnswer:
        cause = self._cause()
        request = QuestionRequest(
            id=f"question_{uuid4()}",
            agent=cause.agent,
            turn_id=cause.turn_id,
            questions=questions,
        )
        self._asked.add(request.id)
        try:
            answer = await self._session.interactions.request(request)
        finally:
            self._asked.remove(request.id)
        assert isinstance(answer, QuestionAnswer)
        return answer

    def _cause(self) -> Caller:
        """Whose call the server asks for; older ones do not say, so it has to be the only one."""
        callers = set(self._calls.values())
        only = callers.pop() if len(callers) == 1 else NOBODY
        return self._calls.get(asyncio.current_task(), only)

    def _dismissed(self) -> types.ElicitResult:
        """Somebody who was asked does not want to say; nobody to ask is a no."""
        attended = self._session.interactions.attended
        return types.ElicitResult(action="cancel" if attended else "decline")

    def _asks(self, message: str) -> str:
        return f"The MCP server {line(self._server, 100)!r} asks: {plain(message, 2_000)}"


def _as_line(data: object) -> str:
    if isinstance(data, str):
        return line(data, 500)
    try:
        return line(json.dumps(data, ensure_ascii=False, default=str), 500)
    except (ValueError, RecursionError):
        return "(something that is no JSON)"


def _host(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        return parts.hostname if parts.scheme in ("http", "https") else None
    except ValueError:
        return None
