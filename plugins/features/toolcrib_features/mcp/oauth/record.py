"""What is kept of the logins at one server."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from attrs import Attribute, field, frozen

EARLY_S = 120.0
"""Seconds before the end of a token at which it is renewed; half its life when that is less."""

Document = Mapping[str, Any]


def _has_token(grant: object, field: Attribute[Any], tokens: Document) -> None:
    token = tokens.get("access_token")
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise ValueError("the access token is missing or cannot be sent in a header")


@frozen(kw_only=True)
class Grant:
    """What a login has given us.

    Attributes:
        tokens: the answer of the token endpoint (RFC 6749 5.1).
        obtained_at: when it came, in seconds since 1970.
        client: as whom we are registered there (RFC 7591).
        resource: what the server says of itself (RFC 9728), if it does.
        authority: what its authorization server says of itself (RFC 8414), if it does.
    """

    tokens: Document = field(repr=False, validator=_has_token)
    obtained_at: float
    client: Document = field(repr=False)
    resource: Document | None = field(default=None, repr=False)
    authority: Document | None = field(default=None, repr=False)

    @property
    def access_token(self) -> str:
        return str(self.tokens["access_token"])

    @property
    def refresh_token(self) -> str | None:
        token = self.tokens.get("refresh_token")
        return token if isinstance(token, str) and token else None

    @property
    def expires_at(self) -> float | None:
        """In seconds since 1970; None when it never does."""
        lifetime = self._lifetime_s
        return None if lifetime is None else self.obtained_at + lifetime

    def expired(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at

    def due(self, now: float) -> bool:
        """Whether it is time to renew it, and that can be done."""
        lifetime = self._lifetime_s
        if lifetime is None or self.refresh_token is None:
            return False
        return now >= self.obtained_at + lifetime - min(EARLY_S, lifetime / 2)

    @property
    def _lifetime_s(self) -> float | None:
        lifetime = self.tokens.get("expires_in")
        if lifetime is None:
            return None
        try:
            return max(float(lifetime), 0.0)
        except (TypeError, ValueError):
            return 0.0


@frozen(kw_only=True)
class Record:
    """The content of a server's file.

    Attributes:
        epoch: another one after each logout, so that what was begun before it is not kept.
        client: as whom we are registered; the next login uses it again.
        grant: what the last login has given.
        wanted_scope: what the server has asked for on top of that.
    """

    epoch: str = field(factory=lambda: secrets.token_hex(8))
    client: Document | None = field(default=None, repr=False)
    grant: Grant | None = None
    wanted_scope: str | None = None


def parsed(data: bytes) -> Record:
    """Raises ValueError when it is none; the text has nothing of the data."""
    try:
        stored = json.loads(data)
        grant = stored["grant"]
        record = Record(
            epoch=_text(stored["epoch"]),
            client=_document(stored["client"]),
            grant=None if grant is None else _grant(grant),
            wanted_scope=None if stored["wanted_scope"] is None else _text(stored["wanted_scope"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None
    return record


def written(record: Record, *, server: str, url: str) -> bytes:
    grant = record.grant
    stored = {
        "server": server,
        "url": url,
        "epoch": record.epoch,
        "wanted_scope": record.wanted_scope,
        "client": record.client,
        "grant": grant
        and {
            "obtained_at": grant.obtained_at,
            "tokens": grant.tokens,
            "client": grant.client,
            "resource": grant.resource,
            "authority": grant.authority,
        },
    }
    return json.dumps(stored, indent=1).encode("ascii")


def _grant(stored: Document) -> Grant:
    tokens, client = _document(stored["tokens"]), _document(stored["client"])
    if tokens is None or client is None:
        raise TypeError
    _text(client["client_id"])
    return Grant(
        tokens=tokens,
        obtained_at=float(stored["obtained_at"]),
        client=client,
        resource=_document(stored["resource"]),
        authority=_document(stored["authority"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _document(value: object) -> Document | None:
    if value is not None and not isinstance(value, dict):
        raise TypeError
    return value
