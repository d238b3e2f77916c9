"""Every block of the documentation works as it stands.

The blocks of one document are used in their order, in one folder:

- a block behind `<!-- file: NAME -->` becomes that file, for the blocks behind it;
- one behind `<!-- copy of: PATH -->` has to equal that file of the repository, and becomes a file
  of the same name;
- `python` is run as a script;
- `toml` that begins with a comment `# toolcrib.toml` is loaded as the user's configuration;
- `console`: each line that begins with `$` is run, and has to end with status 0; lines behind it
  are what it prints, with `/home/ann/app` for the folder;
- a block behind `<!-- skip: REASON -->` is left alone, and so is one in another language.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import Factory, define, frozen

from toolcrib.config.load import load_settings

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDER = "/home/ann/app"
LANGUAGES = {"python", "toml", "console", "markdown", "sh", "json", "text", ""}


@frozen
class Block:
    """A fenced block: where it is, its language, its text and the comment in front of it."""

    place: str
    language: str
    text: str
    comment: str

    @property
    def file(self) -> str | None:
        """The name of the file that the block is."""
        found = re.fullmatch(r"<!-- file: (\S+) -->", self.comment)
        if found:
            return found[1]
        return self.original.name if self.original else None

    @property
    def original(self) -> Path | None:
        """The file of the repository that the block repeats."""
        found = re.fullmatch(r"<!-- copy of: (\S+) -->", self.comment)
        return ROOT / found[1] if found else None

    @property
    def skipped(self) -> bool:
        return re.fullmatch(r"<!-- skip: .+ -->", self.comment) is not None


def blocks(document: Path) -> Iterator[Block]:
    """The fenced blocks of a document."""
    comment, opened, lines, start = "", "", [""], 0
    for number, line in enumerate(document.read_text("utf-8").splitlines(), 1):
        if opened:
            if line.strip() == "```":
                text = "\n".join(lines) + "\n"
                yield Block(f"{document.name}:{start}", opened.strip("`"), text, comment)
                opened, comment = "", ""
            else:
                lines.append(line)
        elif line.startswith("```"):
            opened, lines, start = line, [], number
        elif line.strip():
            comment = line.strip() if line.startswith("<!--") else ""
    assert not opened, f"{document.name}:{start}: the block has no end"


@define
class Reader:
    """Somebody who follows a document in a folder of their own."""

    folder: Path
    home: Path
    paths: list[str] = Factory(list)

    @property
    def variables(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TOOLCRIB", "PYTHON"))}
        return {
            **kept,
            # Programs that the documents need are installed beside the interpreter.
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), kept.get("PATH", "")]),
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "TOOLCRIB_STATE": str(self.home / "state"),
            "PYTHONPATH": os.pathsep.join([str(self.folder), *self.paths]),
            "PYTHONWARNINGS": "error",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }

    def use(self, block: Block) -> None:
        """Do what the block says; fails the test with the block's place."""
        if block.skipped:
            return
        if block.original is not None:
            assert block.text.rstrip() == block.original.read_text("utf-8").rstrip(), block.place
        if block.file is not None:
            file = self.folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, "utf-8")
            if file.suffix == ".py":
                compile(block.text, block.place, "exec")
        elif block.language == "python":
            script = self.folder / f"block_{block.place.rpartition(':')[2]}.py"
            script.write_text(block.text, "utf-8")
            self.run([sys.executable, str(script)], block)
        elif block.language == "console":
            for typed in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                line, _, shown = typed.partition("\n")
                printed = self.type(line, block).replace(str(self.folder), FOLDER)
                assert not shown.strip() or _lines(printed) == _lines(shown), block.place
        elif block.language == "toml" and block.text.startswith("# toolcrib.toml"):
            file = self.home / "checked.toml"
            file.write_text(block.text, "utf-8")
            settings = load_settings(workspace=self.home, environ={}, config_file=file)
            assert not settings.notices, block.place

    def type(self, line: str, block: Block) -> str:
        """Run a command line of a console block, and give what it prints."""
        program, *arguments = shlex.split(line)
        if program == "pip":
            assert arguments[:2] == ["install", "-e"], f"{block.place}: {line}"
            self.install_in_place()
            return ""
        if program == "python":
            return self.run([sys.executable, *arguments], block)
        assert program in ("toolcrib", "pytest"), f"{block.place}: {line}"
        quiet = ["-p", "no:cacheprovider"] if program == "pytest" else []
        return self.run([sys.executable, "-m", program, *arguments, *quiet], block)

    def install_in_place(self) -> None:
        """What `pip install -e .` comes down to; tests/packaging does it with pip itself."""
        described = tomllib.loads((self.folder / "pyproject.toml").read_text("utf-8"))
        project = described["project"]
        wheel = described["tool"]["hatch"]["build"]["targets"]["wheel"]
        (package,) = wheel.get("packages") or wheel["only-include"]
        parent = (self.folder / package).parent
        info = parent / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        )
        points = [
            f"{name} = {value}" for name, value in project["entry-points"]["toolcrib"].items()
        ]
        (info / "entry_points.txt").write_text("\n".join(["[toolcrib]", *points]) + "\n")
        self.paths.append(str(parent))

    def run(self, command: list[str], block: Block) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
        )
        said = f"{block.place}: {command}\n{done.stdout}\n{done.stderr}"
        assert done.returncode == 0, said
        return done.stdout


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_the_blocks_of_a_document_work(document: Path, tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    reader = Reader(folder, home)
    for block in blocks(document):
        assert block.language in LANGUAGES, f"{block.place}: {block.language!r}"
        reader.use(block)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_its_links_lead_somewhere(document: Path) -> None:
    """Links to files of the repository, and to headings in them."""
    text = document.read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = document.parent / name if name else document
        assert file.exists(), target
        assert not anchor or anchor in _anchors(file), target


def _anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings
    }
