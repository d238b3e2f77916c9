"""What a variable puts into the configuration of a server is shown nowhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from features.mcp.cli.conftest import Home

SECRET = "hunter2-hunter2"
TALKS = ["-c", "import sys; sys.exit('said ' + sys.argv[1])", "${SECRET_KEY}"]


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "/bin/${SECRET_KEY}"},
        {"command": "true", "cwd": "/${SECRET_KEY}"},
        {"command": "python3", "args": TALKS},
    ],
)
@pytest.mark.parametrize("options", [["list"], ["list", "--json"], ["test", "one"]])
def test_errors_hide_the_values_of_variables(
    mcp: Home, entry: dict[str, Any], options: list[str]
) -> None:
    mcp.file.parent.mkdir(parents=True, exist_ok=True)
    mcp.file.write_text(json.dumps({"mcpServers": {"one": entry}}))
    mcp.variables["SECRET_KEY"] = SECRET
    ran = mcp(*options)
    assert "one" in ran.out + ran.err
    assert SECRET not in ran.out + ran.err
