"""What a plugin's check learns about the paths of a call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib import Match
from toolcrib.testing import ToolHarness


class Noting:
    """Notes how sure it is that each call reads or writes below `infra/`."""

    def __init__(self) -> None:
        self.found: tuple[Match, Match] | None = None

    @toolcrib.hookimpl
    def check_permission(self, call: toolcrib.ToolCall) -> toolcrib.Deny:
        self.found = (
            toolcrib.touches_path(call, "infra/**", "read"),
            toolcrib.touches_path(call, "infra/**", "write"),
        )
        return toolcrib.Deny("only to be looked at")


NO, PERHAPS, YES = Match


@pytest.mark.parametrize(
    ("name", "arguments", "read", "written"),
    [
        ("Read", {"path": "infra/a"}, YES, NO),
        ("Write", {"path": "infra/b", "content": ""}, NO, YES),
        ("Write", {"path": "link/b", "content": ""}, NO, YES),
        ("Write", {"path": "infrastructure", "content": ""}, NO, NO),
        ("Edit", {"path": "infra/a", "old_string": "a", "new_string": "b"}, YES, YES),
        ("Bash", {"command": "cat < infra/a > elsewhere"}, YES, NO),
        ("Bash", {"command": "cd infra && cp a b"}, YES, YES),
        ("Bash", {"command": "rm -r ."}, NO, YES),
        ("Bash", {"command": "rm infra/*"}, NO, PERHAPS),
        ("Bash", {"command": 'echo > "$X"'}, NO, PERHAPS),
        ("Bash", {"command": "echo infra/a; ls infra"}, NO, NO),
        ("Bash", {"command": "if"}, PERHAPS, PERHAPS),
    ],
)
async def test_commands_and_declared_accesses_count_alike(
    workspace: Path, name: str, arguments: dict[str, Any], read: Match, written: Match
) -> None:
    (workspace / "infra").mkdir()
    (workspace / "infra" / "a").write_text("a", "utf-8")
    (workspace / "link").symlink_to("infra")
    noting = Noting()
    async with ToolHarness(workspace, plugins=[noting]) as harness:
        await harness.call(name, arguments)
    assert noting.found == (read, written)


async def test_what_is_denied_when_it_is_true_is_denied_in_doubt() -> None:
    assert not NO
    assert PERHAPS and YES
