"""Requests that a server answers only when it has been told more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.client._input_required import run_input_required_driver

from toolcrib_features.mcp.model import ServerError
from toolcrib_features.mcp.session import Answer, Session

MAX_ROUNDS = 10


async def ask_in_rounds(
    ask: Callable[[Mapping[str, Any]], Awaitable[Answer]],
    params: Mapping[str, Any],
    session: Session,
) -> Answer:
    """Ask with `params`, and again with what the server wants to know, until it answers.

    Raises what `ask` does, and what the callbacks of the session refuse.
    """
    first = _needs_input(await ask(params))
    if not isinstance(first, types.InputRequiredResult):
        return first

    async def again(
        responses: types.InputResponses | None, state: str | None
    ) -> Answer | types.InputRequiredResult:
        more: dict[str, Any] = {}
        if responses is not None:
            more["inputResponses"] = {
                key: response.model_dump(by_alias=True, mode="json", exclude_none=True)
                for key, response in responses.items()
            }
        if state is not None:
            more["requestState"] = state
        return _needs_input(await ask({**params, **more}))

    return await run_input_required_driver(
        first, dispatch=session.fulfil, retry=again, max_rounds=MAX_ROUNDS
    )


def _needs_input(answer: Answer) -> Answer | types.InputRequiredResult:
    if answer.get("resultType") != "input_required":
        return answer
    try:
        return types.InputRequiredResult.model_validate(answer)
    except ValueError as error:
        raise ServerError("it asks for input in the wrong shape") from error
