"""Tools that the host program registers in a session, and who carries out their calls."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from attrs import define, evolve, field, frozen

from toolcrib.accesses import Accesses
from toolcrib.contract.context import ToolContext, Update
from toolcrib.contract.contribution import Disclosure, ToolContribution
from toolcrib.contract.execution import RunnableExecution
from toolcrib.contract.function_tool import as_result
from toolcrib.contract.interaction import UserToolAnswer, UserToolRequest
from toolcrib.contract.result import ToolResult
from toolcrib.contract.tool import Tool
from toolcrib.interactions import new_id
from toolcrib.offered import HOST
from toolcrib.policy import MCP_PREFIX
from toolcrib.rules import arguments_matcher
from toolcrib.validation.validator import ArgumentValidator

if TYPE_CHECKING:
    from toolcrib.agent import Agent
    from toolcrib.session import Session

Handler = Callable[..., Any]
"""Carries out a call: given the arguments, and the `ToolContext` if it takes a second argument."""


@frozen(kw_only=True)
class HostTool:
    """A tool as the host describes it; see `Session.register_tool`."""

    name: str
    description: str
    schema: Mapping[str, Any] = field(repr=False, eq=json.dumps)  # where 1 is not true
    handler: Handler | None = None
    disclosure: Disclosure = "inline"
    accesses: Accesses | None = None
    timeout_s: float | None = None
    owner: str | None = None

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.description, str) or not self.description.strip():
            raise ValueError(f"the tool {self.name!r} has no description: say what it does")
        if self.disclosure not in get_args(Disclosure):
            raise ValueError(
                f"the tool {self.name!r} cannot be disclosed {self.disclosure!r}: use one of "
                f"{', '.join(get_args(Disclosure))}"
            )
        limit = self.timeout_s
        if limit is not None and not (isfinite(limit) and limit > 0):
            raise ValueError(f"timeout_s of {self.name!r} is {limit!r}: give seconds above 0")
        if self.handler is not None:
            _takes_context(self.handler)


@define(eq=False)
class _Registration:
    """A tool from its registration on, until no call of it is left.

    It is `leaving` while its owner is away and may come back, and `gone` when it did not.
    """

    tool: HostTool
    contribution: ToolContribution
    state: Literal["here", "leaving", "gone"] = "here"


@define(eq=False)
class _Asked:
    """A call that waits for its owner's answer; a `successor` is asked instead."""

    registration: _Registration
    successor: _Registration | None = None


class HostTools:
    """The tools of the host, for every agent that they are offered to.

    They belong to the session: an agent that inherits them is given them by `offer_to`.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._agents: list[Agent] = []
        self._registered: dict[str, _Registration] = {}
        self._asked: dict[str, _Asked] = {}
        self._graces: dict[str, asyncio.TimerHandle] = {}

    def offer_to(self, agent: Agent) -> None:
        """Offer an agent the tools that are registered, and those that come."""
        self._agents.append(agent)
        if self._registered:
            self._publish([agent])

    def register(self, tool: HostTool) -> Callable[[], None]:
        """Register a tool, in the place of one of the same name; returns what ends that.

        Raises ValueError when a plugin has a tool of that name, or it cannot be a name.
        """
        self._check_name(tool.name)
        before = self._registered.get(tool.name)
        if before is not None and before.tool == tool:
            before.state = "here"
            return self._ending(before)
        executing = _HostTool(tool, self)
        registration = executing.registration = _Registration(
            tool,
            ToolContribution(
                name=tool.name, factory=executing, source="user", disclosure=tool.disclosure
            ),
        )
        self._registered[tool.name] = registration
        if before is not None:
            self._succeed(before, registration)
        self._publish(self._agents)
        return self._ending(registration)

    def unregister(self, name: str) -> bool:
        """Withdraw a tool; calls that run are finished. False when there is none."""
        registration = self._registered.pop(name, None)
        if registration is not None:
            self._publish(self._agents)
        return registration is not None

    def drop_owner(self, owner: str, grace_s: float) -> None:
        """Note that an owner is away; after `grace_s` seconds its tools and calls are given up."""
        timer = self._graces.pop(owner, None)
        if timer is not None:
            timer.cancel()
        for registration in self._of(owner):
            registration.state = "leaving"
        if grace_s > 0:
            loop = asyncio.get_running_loop()
            self._graces[owner] = loop.call_later(grace_s, self._give_up, owner)
        else:
            self._give_up(owner)

    def close(self) -> None:
        """Wait for no owner any more."""
        for timer in self._graces.values():
            timer.cancel()

    async def run(
        self, registration: _Registration, arguments: Mapping[str, Any], context: ToolContext
    ) -> ToolResult:
        """Carry out a call, by whoever it is now that does so."""
        latest = self._registered.get(registration.tool.name)
        if registration.state != "here" and latest is not None and _can_take(latest, registration):
            registration = latest
        if registration.tool.handler is not None:
            return await _handled(registration.tool.handler, arguments, context)
        if registration.state == "gone":
            return ToolResult.error(f"{context.tool_name} was not run: {_away(registration)}")
        request = UserToolRequest(
            id=new_id("user_tool"),
            agent=context.agent,
            turn_id=context.turn_id,
            call_id=context.call_id,
            tool=registration.tool.name,
            arguments=arguments,
            owner=registration.tool.owner,
        )
        asked = self._asked[request.id] = _Asked(registration)
        try:
            answer = await self._session.interactions.request(
                request, progress=_progress_of(context)
            )
        finally:
            del self._asked[request.id]
        if asked.successor is not None:
            return await self.run(asked.successor, arguments, context)
        return _answered(cast(UserToolAnswer, answer))

    def _check_name(self, name: str) -> None:
        if isinstance(name, str) and name.startswith(MCP_PREFIX):
            raise ValueError(
                f"a tool of the host cannot be named {name!r}: names that begin with "
                f"{MCP_PREFIX!r} are those of MCP servers"
            )
        for record, contribution in self._session.crib.plugins.contributions():
            if contribution.name == name:
                raise ValueError(
                    f"a tool of the host cannot be named {name!r}: the plugin {record.name!r} has "
                    "a tool of that name, in use or not; choose another name"
                )

    def _succeed(self, before: _Registration, after: _Registration) -> None:
        """Give what a registration owes to the next one, if its owner is away."""
        if before.state != "leaving":
            return
        if before.tool.owner == after.tool.owner:
            before.state = "here"  # it is back, and answers what it was asked
        elif _can_take(after, before):
            for id, asked in list(self._asked.items()):
                if asked.registration is before and self._session.interactions.cancel(
                    id, f"{after.tool.owner or 'the host'} carries it out instead"
                ):
                    asked.successor = after

    def _give_up(self, owner: str) -> None:
        self._graces.pop(owner, None)
        for registration in list(self._of(owner)):
            if registration.state == "leaving":
                registration.state = "gone"
                if self._registered.get(registration.tool.name) is registration:
                    self.unregister(registration.tool.name)
        for id, asked in list(self._asked.items()):
            if asked.registration.state == "gone":
                self._session.interactions.cancel(id, _away(asked.registration))

    def _of(self, owner: str) -> Iterator[_Registration]:
        """The registrations of an owner, and those replaced that have calls left."""
        for registration in self._registered.values():
            if registration.tool.owner == owner:
                yield registration
        for asked in self._asked.values():
            if asked.registration.tool.owner == owner:
                yield asked.registration

    def _ending(self, registration: _Registration) -> Callable[[], None]:
        def end() -> None:
            if self._registered.get(registration.tool.name) is registration:
                self.unregister(registration.tool.name)

        return end

    def _publish(self, agents: list[Agent]) -> None:
        offered = [registration.contribution for registration in self._registered.values()]
        for agent in agents:
            agent.table.replace(HOST, offered, plugin=HOST, reason="host")


class _HostTool(Tool[Any]):
    """What the pipeline sees of a tool of the host."""

    registration: _Registration

    def __init__(self, described: HostTool, tools: HostTools) -> None:
        self.name = described.name
        self.Input = described.schema  # type: ignore[misc]  # each has a schema of its own
        self._described = described
        # Which function carries it out is the host's own affair, and often a new one each time.
        self._defined_as = evolve(described, handler=None)
        self._tools = tools

    @property
    def description(self) -> str:
        return self._described.description

    def resolve_execution(self, args: Mapping[str, Any]) -> RunnableExecution:
        limit = self._described.timeout_s

        async def execute(context: ToolContext) -> ToolResult:
            try:
                async with asyncio.timeout(limit) as deadline:
                    return await self._tools.run(self.registration, args, context)
            except TimeoutError:
                if not deadline.expired():
                    raise  # one of the handler's own
                return ToolResult.error(
                    f"{self.name} gave no result within {limit:g} s and was given up; what it "
                    "began may be done all the same, so look before you repeat the call."
                )

        return RunnableExecution(
            execute,
            approval_rule=self.name,
            accesses=self._described.accesses,
            matches_rule=arguments_matcher(args, self._described.schema.get("properties")),
            defined_as=self._defined_as,
        )


def checked_schema(name: str, schema: object) -> Mapping[str, Any]:
    """A copy of a schema that arguments can be checked by; raises ValueError for any other."""
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise ValueError(
            f"the schema of {name!r} does not describe an object: give a JSON Schema with "
            '"type": "object" and the arguments as its properties'
        )
    try:
        copy = cast(Mapping[str, Any], json.loads(json.dumps(dict(schema), allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the schema of {name!r} is no JSON data: {error}") from None
    problem = ArgumentValidator(copy).schema_error
    if problem is not None:
        raise ValueError(f"the tool {name!r} cannot be registered: {problem}")
    return copy


async def _handled(
    handler: Handler, arguments: Mapping[str, Any], context: ToolContext
) -> ToolResult:
    given = (arguments, context) if _takes_context(handler) else (arguments,)
    if _is_async(handler):
        return as_result(await handler(*given))
    with context.threaded(asyncio.get_running_loop().call_soon_threadsafe):
        answer = await asyncio.to_thread(_call, handler, given)
        if inspect.isawaitable(answer):
            answer = await answer
    return as_result(answer)


def _call(handler: Handler, given: tuple[Any, ...]) -> Any:
    try:
        return handler(*given)
    except StopIteration as error:  # no future can hold one, so the call would wait for ever
        raise RuntimeError(f"it raised {error!r}") from error


def _is_async(handler: Handler) -> bool:
    call = getattr(handler, "__call__", None)  # noqa: B004  # of an object, not whether it has one
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(call)


def _takes_context(handler: Handler) -> bool:
    """Whether a handler needs a second argument; raises ValueError when it takes neither."""
    if not callable(handler):
        raise ValueError(f"the handler is {handler!r}, which cannot be called")
    try:
        signature = inspect.signature(handler)
    except ValueError:  # some functions written in C tell nothing
        return False
    for takes_context, given in ((False, (None,)), (True, (None, None))):
        try:
            signature.bind(*given)
        except TypeError:
            continue
        return takes_context
    raise ValueError(
        f"the handler {handler!r} has to take the arguments as one mapping, and may take a "
        f"ToolContext behind it; it takes {signature}"
    )


def _can_take(after: _Registration, before: _Registration) -> bool:
    """Whether arguments for one registration are arguments for another."""
    schemas = [json.dumps(each.tool.schema, sort_keys=True) for each in (after, before)]
    return after.state == "here" and schemas[0] == schemas[1]


def _away(registration: _Registration) -> str:
    return f"{registration.tool.owner!r}, who carries it out, went away and did not come back"


def _progress_of(context: ToolContext) -> Callable[[Update], None]:
    def show(update: Update) -> None:
        context.update(update.text, kind=update.kind, percent=update.percent)

    return show


def _answered(answer: UserToolAnswer) -> ToolResult:
    output = answer.output
    return ToolResult(
        output if isinstance(output, str) else tuple(output),
        is_error=answer.is_error,
        stop_turn=answer.stop_turn,
        note=answer.note,
    )
