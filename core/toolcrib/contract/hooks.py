"""Every hook of toolcrib: what plugins can implement, and what each answer means."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import pluggy

from toolcrib.contract.answers import BeforeAnswer, PermissionAnswer
from toolcrib.contract.call import Outcome, SessionView, ToolCall
from toolcrib.contract.contribution import RuntimeContribution, ToolContribution

if TYPE_CHECKING:
    from toolcrib.contract.events import Event
    from toolcrib.features import Feature
    from toolcrib.profiles import Profile
    from toolcrib.services import ServiceRegistrar

PROJECT_NAME = "toolcrib"
CONTRACT_VERSION = 1
"""Goes up when a plugin written for the old contract no longer works."""

hookspec = pluggy.HookspecMarker(PROJECT_NAME)
_mark = pluggy.HookimplMarker(PROJECT_NAME)

F = TypeVar("F", bound=Callable[..., Any])
Tools = Iterable[str] | Callable[[SessionView, str], bool]
"""Names of tools, or what tells of a name in a session whether it is one of them."""

PolicyName = Literal[
    "auto-mode-ask-user-question-deny",
    "user-configured-deny",
    "possible-deny-ask",
    "configuration-write-ask",
    "dangerous-command-ask",
    "auto-mode-approve",
    "session-approval-history",
    "user-configured-ask",
    "user-configured-allow",
    "sensitive-file-access-ask",
    "git-control-path-access-ask",
    "yolo-mode-approve",
    "default-tool-approve",
    "git-cwd-write-approve",
    "fallback-ask",
]
"""The policies that judge a call, in their order; the first one that decides ends it."""


@overload
def hookimpl(function: F) -> F: ...
@overload
def hookimpl(
    *,
    tryfirst: bool = False,
    trylast: bool = False,
    tools: Tools | None = None,
    before: PolicyName | None = None,
    after: PolicyName | None = None,
    always: bool = False,
    optionalhook: bool = False,
) -> Callable[[F], F]: ...
def hookimpl(
    function: F | None = None,
    *,
    tryfirst: bool = False,
    trylast: bool = False,
    tools: Tools | None = None,
    before: PolicyName | None = None,
    after: PolicyName | None = None,
    always: bool = False,
    optionalhook: bool = False,
) -> F | Callable[[F], F]:
    """Mark a function of a plugin as the implementation of the hook with its name.

    `tryfirst` and `trylast` move it to the front or the back of the order. `tools` limits a hook
    of the pipeline to calls of these tools, so that other calls do not pay for it; a function of
    the session and a tool's name is asked once for each tool, and again when the configuration
    changes. `before` and `after` place a `check_permission` in front of or behind the policy with
    that name; nothing goes in front of the deny rules. `always` has a `before_execute` called even
    after another plugin's `Allow` (`call.allowed_by` tells).

    Raises TypeError for both `before` and `after`.
    """

    if before is not None and after is not None:
        raise TypeError(f"before={before!r} and after={after!r}: a check has one place")

    def mark(target: F) -> F:
        marked = _mark(tryfirst=tryfirst, trylast=trylast, optionalhook=optionalhook)(target)
        names = tools if tools is None or callable(tools) else frozenset(tools)
        marked.toolcrib_tools = names  # type: ignore[attr-defined]
        marked.toolcrib_before = before  # type: ignore[attr-defined]
        marked.toolcrib_after = after  # type: ignore[attr-defined]
        marked.toolcrib_always = always  # type: ignore[attr-defined]
        return marked

    return mark if function is None else mark(function)


@hookspec
def contribute_tool() -> ToolContribution | Iterable[ToolContribution] | None:
    """Say which tools the plugin offers.

    Called once when the plugin is loaded. None means none. Import no tool here: name its place
    in `ToolContribution.factory`. An exception is recorded and costs the plugin's tools.
    """
    raise NotImplementedError


@hookspec
def contribute_service(services: ServiceRegistrar) -> None:
    """Register factories of services that tools ask for in their constructors.

    Called at the creation of each scope; `services.kind` is `crib`, `session` or `agent`. An
    exception is recorded; the services registered before it stay.
    """


@hookspec
def contribute_profile() -> Profile | Iterable[Profile] | None:
    """Offer profiles. Called once at discovery; a profile of the configuration wins over it."""
    raise NotImplementedError


@hookspec
def contribute_runtime() -> RuntimeContribution | Iterable[RuntimeContribution] | None:
    """Offer runtimes: other places where tools act. Called once at discovery.

    Import none here: name its place in `RuntimeContribution.factory`, which is made when a session
    chooses it. A factory that fails costs the session that wanted it, with the plugin's name.
    """
    raise NotImplementedError


@hookspec
def contribute_feature() -> Feature | Iterable[Feature] | None:
    """Describe the features that the plugin's tools and hooks belong to. Called at discovery."""
    raise NotImplementedError


@hookspec
def check_permission(call: ToolCall) -> PermissionAnswer | Awaitable[PermissionAnswer]:
    """Judge whether a call may run.

    Called inside the permission question, in order, until one has an opinion; None is none.
    Deny rules of the user hold whatever a plugin answers. An exception denies the call.
    """
    raise NotImplementedError


@hookspec
def before_execute(call: ToolCall) -> BeforeAnswer | Awaitable[BeforeAnswer]:
    """Have a say before a resolved call runs.

    None and `Proceed` let it go on, `Veto` ends it with a result, `Allow` skips the permission
    question and everything after it. Answers are taken in order; coroutines are awaited one by
    one, and those behind the deciding answer are closed unrun. An exception denies the call.
    """
    raise NotImplementedError


@hookspec
def will_execute(call: ToolCall) -> Awaitable[None] | None:
    """A call was allowed and is about to be scheduled; a coroutine is waited for.

    An exception is reported as an event and otherwise ignored.
    """


@hookspec
def did_execute(call: ToolCall, outcome: Outcome) -> Awaitable[None] | None:
    """A call has ended, whatever way; `outcome.result` may be replaced.

    Called before the output budget. An exception leaves the result in place, with a note that
    names the plugin.
    """


@hookspec
def observe(event: Event) -> None:
    """Watch the events of `toolcrib.contract.events`. Exceptions are ignored."""
