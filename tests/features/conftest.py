"""Packages of npm, which are installed once and kept from one run to the next."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

NpmInstall = Callable[[Mapping[str, str]], Path]


@pytest.fixture(scope="session")
def npm_install(tmp_path_factory: pytest.TempPathFactory) -> NpmInstall:
    """Gives the folder that has packages, by name and range of versions, in `node_modules`."""

    def install(packages: Mapping[str, str]) -> Path:
        if shutil.which("node") is None or shutil.which("npm") is None:
            pytest.skip("node and npm are not installed")
        named = json.dumps(packages, sort_keys=True)
        digest = hashlib.sha256(named.encode()).hexdigest()[:12]
        temporary = tmp_path_factory.getbasetemp()
        kept = [each for each in temporary.parents if each.name.startswith("pytest-of-")]
        folder = (kept or [temporary])[0] / f"toolcrib-npm-{digest}"
        folder.mkdir(mode=0o700, exist_ok=True)
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "complete").exists():
                _install(folder, packages)
                (folder / "complete").touch()
        return folder

    return install


def _install(folder: Path, packages: Mapping[str, str]) -> None:
    described = {"private": True, "type": "module", "dependencies": dict(packages)}
    (folder / "package.json").write_text(json.dumps(described))
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)
    if done.returncode:
        pytest.skip(f"npm cannot install its packages: {done.stderr[-500:]}")
