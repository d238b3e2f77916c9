"""The `[acme]` table of the configuration."""

from __future__ import annotations

from attrs import field, frozen, validators

from toolcrib import settings


@settings("acme")
@frozen(kw_only=True)
class AcmeSettings:
    """`max_bytes` is the size in bytes of the largest file that is counted."""

    max_bytes: int = field(default=1_000_000, validator=validators.ge(1))
