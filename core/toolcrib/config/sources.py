"""Reads the sources of the configuration: files, environment variables and flags."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from attrs import frozen

from toolcrib.config.lines import KeyPath, index_lines, nearest_line
from toolcrib.config.permission import RuleScope
from toolcrib.config.structuring import RawText
from toolcrib.errors import ConfigError, Notice

MAX_PROJECT_BYTES = 1 << 20
"""Size up to which the file of a workspace is read."""
_VARIABLE = re.compile(r"TOOLCRIB_[A-Z0-9]+(?:_+[A-Z0-9]+)*")
_SHORT_VARIABLES = {
    "TOOLCRIB_PROFILE": ("default_profile",),
    "TOOLCRIB_RUNTIME": ("default_runtime",),
    "TOOLCRIB_MODE": ("permission", "default_mode"),
}


@frozen(kw_only=True, slots=False)  # with slots, attrs rewrites a class that caches a property
class Layer:
    """What one source sets.

    Attributes:
        name: a file, or the words for another source.
        scope: `project` for the workspace's file, else `user`.
        text: of the file.
    """

    name: str
    scope: RuleScope = "user"
    data: Mapping[str, Any]
    text: str = ""

    @cached_property
    def _lines(self) -> Mapping[KeyPath, int]:
        return index_lines(self.text)

    def line(self, path: KeyPath) -> int | None:
        return nearest_line(self._lines, path) if self.text else None

    def locate(self, path: KeyPath) -> str:
        line = self.line(path)
        return self.name if line is None else f"{self.name}:{line}"

    def notice(self, path: KeyPath, text: str) -> Notice:
        return Notice(file=self.name, line=self.line(path), key=dotted(path), text=text)

    def sets(self, path: KeyPath) -> bool:
        value: Any = self.data
        for key in path:
            if isinstance(value, Mapping):
                known = key in value
            else:
                known = isinstance(value, list) and isinstance(key, int) and key < len(value)
            if not known:
                return False
            value = value[key]
        return True


def read_file(file: Path, *, scope: RuleScope, required: bool = False) -> Layer | None:
    """The layer of a TOML file; None when it does not exist and does not have to.

    Raises:
        ConfigError: the file cannot be read, or is not TOML in UTF-8; for the file of a workspace
            also that it is no regular file, or too big.
    """
    try:
        content = _read_untrusted(file) if scope == "project" else file.read_bytes()
        text = content.decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        if not required:
            return None
        raise ConfigError(Notice(file=str(file), text="the file does not exist")) from None
    except OSError as error:
        problem = Notice(file=str(file), text=f"cannot be read: {error.strerror or error}")
        raise ConfigError(problem) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(Notice(file=str(file), line=line, text="is not UTF-8 text")) from error
    return Layer(name=str(file), scope=scope, data=_parse(text, file), text=text)


def _read_untrusted(file: Path) -> bytes:
    """The content of a file that comes with a workspace: a pipe there must not be waited for."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        if status.st_size > MAX_PROJECT_BYTES:
            raise OSError(f"it has {status.st_size} bytes, the most are {MAX_PROJECT_BYTES}")
        return os.read(descriptor, MAX_PROJECT_BYTES)
    finally:
        os.close(descriptor)


def _parse(text: str, file: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, line, column = _syntax_place(str(error), text)
        problem = Notice(file=str(file), line=line, column=column, text=message)
        raise ConfigError(problem) from error
    except RecursionError as error:
        raise ConfigError(Notice(file=str(file), text="is nested too deeply")) from error


def _syntax_place(message: str, text: str) -> tuple[str, int, int]:
    place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if place is None:
        return f"not valid TOML: {message}", 1, 1
    words = f"not valid TOML: {message[: place.start()]}"
    if place[1]:
        return words, int(place[1]), int(place[2])
    last = text.rstrip("\n").rpartition("\n")[2]
    return words, text.rstrip("\n").count("\n") + 1, len(last) + 1


def environment_layers(environ: Mapping[str, str]) -> list[Layer]:
    """A layer for each variable `TOOLCRIB_<TABLE>__<KEY>`, and for those with short names."""
    layers: list[Layer] = []
    for variable in sorted(name for name in environ if name.startswith("TOOLCRIB_")):
        path = _SHORT_VARIABLES.get(variable) or _long_path(variable)
        if path and environ[variable]:
            data: Any = RawText(environ[variable])
            for key in reversed(path):
                data = {key: data}
            layers.append(Layer(name=f"environment variable {variable}", data=data))
    return layers


def _long_path(variable: str) -> tuple[str, ...] | None:
    parts = tuple(variable.removeprefix("TOOLCRIB_").lower().split("__"))
    well_formed = len(parts) > 1 and all(parts) and _VARIABLE.fullmatch(variable)
    return parts if well_formed else None


def merge_tables(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of both tables; `above` wins, except that tables in tables are merged too."""
    merged = dict(below)
    for key, value in above.items():
        beneath = merged.get(key)
        both = isinstance(value, Mapping) and isinstance(beneath, Mapping)
        merged[key] = merge_tables(beneath, value) if both else value  # type: ignore[arg-type]
    return merged


def dotted(path: Iterable[str | int]) -> str:
    """The path in the way that messages write it: `permission.rules[0].pattern`."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}"
    return text.removeprefix(".")
