"""Listing the tools from cold imports nothing that only calls need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LATE = {
    "asyncio",
    "difflib",
    "jsonschema",
    "jsonschema_rs",
    "pathspec",
    "rich",
    "sqlite3",
    "svcs",
    "toolcrib.selection",
    "wcmatch",
}
CODE = """
import contextlib, io, json, sys
from toolcrib.cli.main import main
sys.argv = ["toolcrib", "tools", "--json"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
print(json.dumps(sorted(sys.modules)))
"""


def test_a_listing_imports_nothing_that_only_calls_need(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert LATE & set(json.loads(done.stdout)) == set()
