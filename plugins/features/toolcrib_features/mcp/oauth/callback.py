"""Where the browser comes back to after a login: one page on the loopback interface."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from attrs import field, frozen

from toolcrib_features.mcp.model import ServerNeedsLogin
from toolcrib_features.mcp.plain import line

PATH = "/callback"
_HEAD_BYTES = 16_384
_HEAD_S = 10.0
_PAGE = """<!doctype html><meta charset="utf-8"><title>toolcrib</title>
<body style="font-family: sans-serif; margin: 4em auto; max-width: 32em">
<h1>{title}</h1><p>{text}</p></body>
"""


@frozen(kw_only=True)
class Answer:
    """What the authorization server has sent along (RFC 6749 4.1.2, RFC 9207)."""

    code: str = field(repr=False)
    state: str = field(repr=False)
    issuer: str | None = None


class Callback:
    """Waits for the redirect that ends a login; nothing but that gets an answer other than 404."""

    def __init__(self, server_name: str) -> None:
        self._server_name = server_name
        self._state: str | None = None
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

    async def open(self, port: int = 0) -> str:
        """Listen, at the given port if it is free; returns the redirect URI."""
        try:
            self._server = await asyncio.start_server(
                self._serve, "127.0.0.1", port, limit=_HEAD_BYTES
            )
        except OSError:
            if port == 0:
                raise
            return await self.open()
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{PATH}"

    def expect(self, state: str) -> None:
        """Take the answer with this state."""
        self._state = state

    async def answer(self) -> Answer:
        """Wait for it, however long. Raises ServerNeedsLogin when the login was refused."""
        return await asyncio.shield(self._answer)

    def paste(self, text: str) -> str | None:
        """Take what the user copied from a browser that cannot reach us; says what is wrong.

        That is the address it was sent to, or the code alone.
        """
        text = text.strip()
        if "code=" in text or "error=" in text:
            query = urlsplit(text).query if "?" in text else text
            if not self._take(dict(parse_qsl(query))):
                return "that address belongs to another login, or a part of it is missing"
        elif not text or any(mark in text for mark in "/ ?\t"):
            return "that is neither the address with 'code=' in it nor a code"
        else:
            # It cannot be of another login: the code of one does not fit our PKCE verifier.
            self._take({"code": text, "state": self._state or ""})
        return None

    async def aclose(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.close()
        if self._answer.done() and not self._answer.cancelled():
            self._answer.exception()  # nobody may have waited for it
        self._answer.cancel()

    def _take(self, query: Mapping[str, str]) -> bool:
        """Whether the query answers our question; the first answer counts."""
        state = query.get("state", "").encode()
        if self._state is None or not secrets.compare_digest(state, self._state.encode()):
            return False
        code, error = query.get("code"), query.get("error")
        if not code and not error:
            return False
        if not self._answer.done():
            if code and not error:
                answer = Answer(code=code, state=self._state, issuer=query.get("iss"))
                self._answer.set_result(answer)
            else:
                self._answer.set_exception(self._refused(query))
        return True

    def _refused(self, query: Mapping[str, str]) -> ServerNeedsLogin:
        why = line(query.get("error"), 100)
        if described := line(query.get("error_description"), 300):
            why += f": {described}"
        return ServerNeedsLogin(f"the login at {self._server_name!r} was refused ({why})")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._response(head))
                await writer.drain()
        except (TimeoutError, OSError, EOFError, asyncio.LimitOverrunError):
            pass  # a browser that only opens connections, or something that speaks no HTTP
        finally:
            self._writers.discard(writer)
            with contextlib.suppress(OSError):
                writer.close()

    def _response(self, head: bytes) -> bytes:
        request = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        method, target = (request[0], request[1]) if len(request) == 3 else ("", "")
        path, _, query = target.partition("?")
        if method != "GET" or path != PATH or not self._take(dict(parse_qsl(query))):
            return _page("404 Not Found", "Nothing here", "This is not the login that is awaited.")
        if not self._answer.cancelled() and self._answer.exception() is not None:
            return _page("200 OK", "Not logged in", "The login was refused. Close this page.")
        return _page("200 OK", "Almost done", "Close this page and go back to toolcrib.")


def _page(status: str, title: str, text: str) -> bytes:
    body = _PAGE.format(title=title, text=text).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n"
        "Referrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'; "
        "style-src 'unsafe-inline'\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
