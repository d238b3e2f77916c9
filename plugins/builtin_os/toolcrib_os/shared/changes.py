"""What Write and Edit share: text as bytes, and changes that no cancelling leaves half done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toolcrib import PathSecurityError, ToolContext, ToolResult
from toolcrib_os.shared.atomic import (
    MAX_BYTES,
    FileChangedError,
    FileTooBigError,
)
from toolcrib_os.shared.encoding import Encoding, classify
from toolcrib_os.shared.fserrors import fs_failure
from toolcrib_os.shared.opening import NotAFileError

Change = Callable[[Callable[[], None]], ToolResult]
"""A change of a file; it calls its argument just before the first byte that others can see."""


class _Stopped(Exception):
    """The call was cancelled in time: nothing was changed."""


def surrogate_problem(name: str, text: str) -> str | None:
    """Why an argument cannot be written to a file, or None if it can."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return (
            f"{name} holds half of a surrogate pair, {text[error.start]!a}, at character offset "
            f"{error.start}, which UTF-8 cannot encode; nothing was written. Send the whole "
            "character instead."
        )
    return None


def utf_16_of(head: bytes) -> Encoding | None:
    """The encoding of a file that starts like this, if it is UTF-16, which takes no UTF-8 text."""
    encoding = classify(head)
    return None if isinstance(encoding, str) or encoding.charset == "utf-8" else encoding


async def carry_out(change: Change, *, doing: str, path: str, context: ToolContext) -> ToolResult:
    """Make a change in a thread, and word its failure.

    A cancelled call changes nothing if the change is not being committed yet; otherwise the
    result says what was done.

    Args:
        doing: the verb for messages, such as `write`.
        path: the path as the model gave it, for messages.
    """

    def before_commit() -> None:
        if context.cancelled:
            raise _Stopped

    def work() -> ToolResult | None:
        try:
            return change(before_commit)
        except _Stopped:
            return None
        except PathSecurityError as error:
            return ToolResult.error(str(error))
        except NotAFileError as error:
            return ToolResult.error(f"cannot {doing} {path!r}: {error}.")
        except FileTooBigError as error:
            return ToolResult.error(
                f"cannot {doing} {path!r}: {error}, more than the limit of {MAX_BYTES}. Change it "
                "with a command instead."
            )
        except FileChangedError as error:
            return ToolResult.error(
                f"cannot {doing} {path!r}: {error}; nothing was written. Read it again, then "
                "repeat the change if it still applies."
            )
        except (OSError, ValueError) as error:
            return ToolResult.error(fs_failure(doing, path, error) + ".")

    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        result = await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        result = running.result()
    if result is None:
        raise asyncio.CancelledError
    return result
