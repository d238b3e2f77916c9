"""Distributions as pip leaves them, in a folder that is on `sys.path`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Install = Callable[..., Path]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("p_"):
            del sys.modules[name]


@pytest.fixture
def install(site: Path) -> Install:
    """`install("p-one", plugin="source")` writes a distribution with one plugin or several."""

    def write(
        name: str,
        *,
        version: str = "1.0",
        at: Path | None = None,
        raw: str | bytes | None = None,
        metadata: bool = True,
        **plugins: str,
    ) -> Path:
        at = at or site
        info = at / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        if metadata:
            head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            (info / "METADATA").write_text(head)
        lines = ["[toolcrib]"]
        for plugin, source in plugins.items():
            module = f"p_{name.replace('-', '_').removeprefix('p_')}_{plugin}"
            (at / f"{module}.py").write_text(source)
            lines.append(f"{plugin} = {module}")
        text = "\n".join(lines) if raw is None else raw
        (info / "entry_points.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
        return info

    return write
