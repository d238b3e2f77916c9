"""`toolcrib new`: a new plugin project that installs, passes its own tests and shows up."""

from __future__ import annotations

import keyword
import os
import re
import secrets
import shlex
import shutil
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from string import Template

import click
from attrs import frozen

from toolcrib._version import __version__
from toolcrib.errors import ToolcribError

MAX_NAME_CHARS = 50
"""Model providers allow tool names of 64 characters; this leaves room for a prefix."""
OWN_PACKAGES = frozenset({"toolcrib", "toolcrib_os", "toolcrib_task", "toolcrib_features"})
_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_SUFFIX = ".tmpl"
_PACKAGE_FOLDER = "PACKAGE"


class NewProjectError(ToolcribError):
    """A project that cannot be made under this name or in this place; the user acts on it."""


@frozen(kw_only=True)
class Names:
    """What is called how in a project.

    Attributes:
        distribution: the name under which it is installed, as the user gave it.
        package: the import package.
        plugin: the name of the entry point.
        tool: the name of the tool, and of its class.
    """

    distribution: str
    package: str
    plugin: str
    tool: str


@click.command(
    epilog="""\b
Examples:
  toolcrib new toolcrib-weather
  toolcrib new toolcrib-weather --directory ~/src
"""
)
@click.argument("name")
@click.option(
    "--directory",
    metavar="D",
    help="The folder to make the project in; the current one by default.",
)
def command(name: str, directory: str | None) -> None:
    """Make a new plugin project in a folder called NAME.

    The project holds one working tool with its tests. Nothing that exists is overwritten.
    """
    new_command(name, directory)


def new_command(name: str, directory: str | None = None) -> None:
    """Make a project and print its files, and to standard error what to do next.

    Raises NewProjectError when the name or the place cannot be used.
    """
    folder = Path(directory or ".")
    for path in create_project(name, folder):
        click.echo(str(path))
    tool = names_of(name).tool
    click.echo(
        f"\nNext steps:\n"
        f"  cd {shlex.quote(str(folder / name))}\n"
        f"  pip install -e '.[test]'\n"
        f"  pytest\n"
        f"  toolcrib tools\n"
        f'  toolcrib call {tool} \'{{"path": "README.md"}}\' --mode yolo',
        err=True,
    )


def create_project(name: str, folder: Path) -> list[Path]:
    """Make the project `folder/name` and return the paths of its files.

    It is made beside its place and moved there when it is whole, so a failure leaves nothing.

    Raises:
        NewProjectError: the name is no good or taken, `folder` is no folder, the place exists,
            or the disk refuses.
    """
    names = names_of(name)
    _check_free(names)
    target = folder / name
    if not folder.is_dir():
        raise NewProjectError(f"{str(folder)!r} is not a folder: create it first")
    if os.path.lexists(target):
        raise NewProjectError(f"{str(target)!r} exists already: choose another name or directory")
    try:
        draft = folder / f".{name}-{secrets.token_hex(4)}"
        draft.mkdir()
        try:
            made = sorted(_write_files(names, draft))
            draft.rename(target)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        raise NewProjectError(f"{str(target)!r} cannot be made: {error.strerror}") from error
    return [target / path for path in made]


def names_of(name: str) -> Names:
    """The names that follow from that of a project.

    Raises NewProjectError for a name that no distribution, package or tool can have.
    """
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS:
        raise NewProjectError(
            f"{name!r} cannot be the name of a project: use up to {MAX_NAME_CHARS} letters, "
            "digits, '-', '_' and '.', with a letter first and no separator last, "
            "such as 'toolcrib-weather'"
        )
    words = [word for word in re.split(r"[-_.]+", name) if word]
    package = "_".join(words).lower()
    if package in OWN_PACKAGES:
        raise NewProjectError(f"{name!r} would hide a part of toolcrib: choose another name")
    if keyword.iskeyword(package) or package in sys.stdlib_module_names:
        raise NewProjectError(
            f"{name!r} cannot be imported beside Python's own {package!r}: "
            f"choose another name, such as 'toolcrib-{name.lower()}'"
        )
    own = words[1:] if words[0].lower() == "toolcrib" else words
    tool = "".join(word[:1].upper() + word[1:] for word in own)
    if not tool[:1].isalpha():
        raise NewProjectError(
            f"{name!r} gives the tool the name {tool!r}: let the part after 'toolcrib-' begin "
            "with a letter"
        )
    return Names(distribution=name, package=package, plugin="-".join(words).lower(), tool=tool)


def _check_free(names: Names) -> None:
    """Refuse names that something installed has: one of the two would hide the other."""
    from importlib_metadata import PackageNotFoundError, distribution

    from toolcrib.crib import Crib

    try:
        distribution(names.distribution)
        installed = True
    except PackageNotFoundError:
        installed = find_spec(names.package) is not None
    if installed:
        raise NewProjectError(
            f"something named {names.distribution!r} is installed already: choose another name"
        )
    plugins = Crib.load().plugins
    owner = next((r for r in plugins.records.values() if r.name == names.plugin), None)
    if owner is not None:
        raise NewProjectError(
            f"{owner.distribution!r} has a plugin {names.plugin!r} already: choose another name"
        )
    for record, contribution in plugins.contributions():
        if contribution.name == names.tool:
            raise NewProjectError(
                f"the plugin {record.name!r} has a tool {names.tool!r} already: choose another name"
            )


def _write_files(names: Names, draft: Path) -> Iterator[Path]:
    """Fill the templates in; yields the paths relative to the project."""
    values = {
        "distribution": names.distribution,
        "package": names.package,
        "plugin": names.plugin,
        "tool": names.tool,
        "version": __version__,
    }
    for place, template in _templates(files("toolcrib.cli") / "templates" / "plugin", Path()):
        parts = [names.package if part == _PACKAGE_FOLDER else part for part in place.parts]
        path = Path(*parts)
        (draft / path).parent.mkdir(parents=True, exist_ok=True)
        text = Template(template.read_text("utf-8")).substitute(values)
        (draft / path).write_text(text, "utf-8", newline="\n")
        yield path


def _templates(folder: Traversable, place: Path) -> Iterator[tuple[Path, Traversable]]:
    for item in folder.iterdir():
        if item.is_dir():
            yield from _templates(item, place / item.name)
        elif item.name.endswith(_SUFFIX):
            yield place / item.name.removesuffix(_SUFFIX), item
