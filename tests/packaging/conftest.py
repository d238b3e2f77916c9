"""Wheels and virtual environments, built once for all tests of this folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen

ROOT = Path(__file__).parents[2]
THIRD_PARTY = ROOT / "tests" / "third_party"
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
BUILD = """
import os, sys
from hatchling.build import build_wheel
for project in sys.argv[2:]:
    os.chdir(project)
    build_wheel(sys.argv[1])
"""


@frozen
class Environment:
    """A virtual environment without pip; `pip` is that of the builder, told where to install.

    Commands run outside of the checkout, with configuration and state of the tests' own.
    """

    folder: Path
    _pip: Sequence[str]
    variables: Mapping[str, str] = field(repr=False)

    def path(self, program: str) -> str:
        return str(self.folder / SCRIPTS / program)

    def pip(self, *arguments: str) -> None:
        """Install or uninstall; fails the test with pip's own words."""
        self.check(*self._pip, "--python", self.path("python"), *arguments, PIP_NO_COMPILE="1")

    def run(
        self, *command: str, given: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the environment's folder."""
        return subprocess.run(
            command,
            input=given,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env={**self.variables, **variables},
            timeout=240,
        )

    def check(self, *command: str, **variables: str) -> str:
        """Run a command that has to end with status 0; returns its standard output."""
        done = self.run(*command, **variables)
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def json(self, *arguments: str, **variables: str) -> Any:
        """What `toolcrib ... --json` prints."""
        done = self.run(self.path("toolcrib"), *arguments, "--json", **variables)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def names(self, *arguments: str, **variables: str) -> set[str]:
        """The names in the list that `toolcrib ... --json` prints."""
        return {item["name"] for item in self.json(*arguments, **variables)}

    def call(
        self,
        name: str,
        /,
        *,
        flags: Sequence[str] = ("--mode", "yolo"),
        variables: Mapping[str, str] | None = None,
        **arguments: Any,
    ) -> dict[str, Any]:
        """The completion of one call by `toolcrib run`, in mode yolo unless `flags` say else."""
        batch = json.dumps([{"id": "1", "name": name, "arguments": arguments}])
        command = [self.path("toolcrib"), "run", "-", "--json", *flags]
        done = self.run(*command, given=batch, **(variables or {}))
        assert done.returncode == 0, done.stderr
        completion: dict[str, Any] = json.loads(done.stdout)
        return completion

    def mypy(self, project: Path, *, cache: Path) -> None:
        """Check a project with its own settings; fails the test with mypy's words."""
        command = [sys.executable, "-m", "mypy", "--python-executable", self.path("python")]
        done = subprocess.run(
            [*command, "--cache-dir", str(cache)], cwd=project, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def files(self) -> set[str]:
        """Everything that is installed, without what Python compiled."""
        (site,) = self.folder.glob("**/site-packages")
        paths = (path.relative_to(self.folder) for path in site.rglob("*"))
        scripts = (path.relative_to(self.folder) for path in (self.folder / SCRIPTS).iterdir())
        return {str(path) for path in (*paths, *scripts) if "__pycache__" not in path.parts}


@frozen
class Builder:
    """Makes wheels and environments; `hatchling` is installed, so that no build fetches it."""

    folder: Path
    variables: Mapping[str, str] = field(repr=False)

    @property
    def pip(self) -> tuple[str, ...]:
        python = str(self.folder / "builder" / SCRIPTS / "python")
        return (python, "-m", "pip", "-q", "--disable-pip-version-check")

    def environment(self, name: str) -> Environment:
        """A new and empty environment."""
        folder = self.folder / name
        if not folder.exists():
            venv.create(folder, with_pip=False, symlinks=os.name != "nt")
        return Environment(folder, self.pip, self.variables)

    def wheels(self, *projects: Path) -> list[str]:
        """Build a wheel of each project, all in one process; the projects stay as they are."""
        target = self.folder / "wheels" / "-".join(project.name for project in projects)
        target.mkdir(parents=True)
        python = str(self.folder / "builder" / SCRIPTS / "python")
        subprocess.run(
            [python, "-c", BUILD, str(target), *map(str, projects)],
            check=True,
            env=self.variables,
            stdout=subprocess.DEVNULL,
        )
        return sorted(str(path) for path in target.glob("*.whl"))


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Where wheels and environments are made."""
    folder = tmp_path_factory.mktemp("packaging")
    left_out = ("PYTHON", "TOOLCRIB", "COV", "VIRTUAL_ENV")
    variables = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
    variables |= {"XDG_CONFIG_HOME": f"{folder}/config", "TOOLCRIB_STATE": f"{folder}/state"}
    venv.create(folder / "builder", with_pip=True, symlinks=os.name != "nt")
    made = Builder(folder, variables)
    subprocess.run([*made.pip, "install", "hatchling", "editables"], check=True, env=variables)
    return made


@pytest.fixture(scope="session")
def own_wheel(builder: Builder) -> str:
    """The wheel of toolcrib itself."""
    (wheel,) = builder.wheels(ROOT)
    return wheel


@pytest.fixture(scope="session")
def installed(builder: Builder, own_wheel: str) -> Environment:
    """toolcrib's wheel with its dependencies and nothing else, at first.

    A test that installs more uninstalls it in the end.
    """
    environment = builder.environment("installed")
    environment.pip("install", own_wheel)
    return environment
