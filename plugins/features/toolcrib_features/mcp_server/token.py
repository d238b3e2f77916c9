"""The token that HTTP clients have to send."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from toolcrib import ToolcribError, change_private_file, state_folder

MIN_CHARS = 16
_LIMIT = 4096


def token_from(variable: str) -> str:
    """The token in an environment variable, which no program that is started gets to see.

    Raises:
        ToolcribError: there is none, or one that can be guessed.
    """
    token = os.environ.pop(variable, "").strip()
    if len(token) < MIN_CHARS or not token.isascii() or not token.isprintable():
        problem = "is not set" if not token else f"is no token of {MIN_CHARS} ASCII characters"
        raise ToolcribError(
            f"the environment variable {variable} {problem}; make one with "
            "`python -c 'import secrets; print(secrets.token_urlsafe(32))'`"
        )
    return token


def kept_token() -> tuple[str, Path]:
    """The user's own token, made when there is none yet, and the file with it.

    Raises:
        StateError: the file cannot be read or written.
    """
    file = state_folder(os.environ) / "serve" / "token"
    data = change_private_file(file, _made, limit_bytes=_LIMIT)
    assert data is not None
    return data.decode("ascii").strip(), file


def _made(before: bytes | None) -> bytes | None:
    usable = before is not None and len(before.strip()) >= MIN_CHARS and before.isascii()
    return None if usable else secrets.token_urlsafe(32).encode("ascii") + b"\n"
