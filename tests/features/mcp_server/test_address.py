"""Which addresses only this machine can reach: all others need the user's consent."""

from __future__ import annotations

import pytest

from toolcrib_features.mcp_server.address import Address


@pytest.mark.parametrize(
    "text", ["8765", "localhost:1", "127.0.0.1:1", "127.8.9.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"]
)
def test_addresses_of_this_machine_alone(text: str) -> None:
    assert Address.parse(text).local


@pytest.mark.parametrize(
    "text",
    ["0.0.0.0:1", "[::]:1", "[::ffff:0.0.0.0]:1", "[::ffff:10.0.0.1]:1", "10.0.0.1:1", "box:1"],
)
def test_addresses_that_others_may_reach(text: str) -> None:
    assert not Address.parse(text).local
