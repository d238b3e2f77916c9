"""Gives tools, features and services their part of the configuration as typed objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from toolcrib.config.permission import RULE_KEYS, PermissionSettings
from toolcrib.config.settings import Settings
from toolcrib.config.structuring import Problems, structure_class
from toolcrib.contract.settings import needed_in_entries, section_of
from toolcrib.errors import ConfigError, ContractError, Notice

T = TypeVar("T")


def build_section(cls: type[T], settings: Settings) -> T:
    """An instance of a class marked with `settings("section")`, with the configured values.

    Raises:
        ConfigError: a value does not fit, or a key is not one of the class.
        ContractError: the class is not marked.
    """
    section = section_of(cls)
    if section is None:
        raise ContractError(f"{cls.__qualname__} is not marked with @toolcrib.settings('section')")
    problems: Problems = []
    table = settings.section(section)
    ignored = _core_keys() if section == "permission" else ()
    built = structure_class(cls, table, (section,), problems, ignored=ignored)
    if built is None:
        raise ConfigError(*(_notice(settings, path, text) for path, text in problems))
    return built


def build_entries(cls: type[T], settings: Settings) -> tuple[tuple[str, T], ...]:
    """Each `[[section]]` of all sources as an instance of its class, and where it stands.

    The place is `file:line`, or another source.

    Raises:
        ConfigError: a value does not fit, a key is not one of the class, or one is missing.
        ContractError: the class is not marked as that of an array of tables.
    """
    section, needed = section_of(cls), needed_in_entries(cls)
    if section is None or needed is None:
        raise ContractError(
            f"{cls.__qualname__} is not marked with @toolcrib.settings('section', each_needs=...)"
        )
    found: list[tuple[str, T]] = []
    faults: list[Notice] = []
    for layer in settings.layers:
        problems: Problems = []
        array = layer.data.get(section, [])
        if not isinstance(array, list):
            problems.append(((section,), f"expected an array of tables [[{section}]]"))
            array = []
        for index, table in enumerate(array):
            path = (section, index)
            for key in needed:
                if isinstance(table, Mapping) and key not in table:
                    problems.append((path, f"it needs a key {key!r}"))
            built = structure_class(cls, table, path, problems)
            if built is not None:
                found.append((layer.locate(path), built))
        faults += [layer.notice(path, text) for path, text in problems]
    if faults:
        raise ConfigError(*faults)
    return tuple(found)


def check_section(cls: type[object], settings: Settings) -> None:
    """Raise what `build_section` or `build_entries`, whichever the class is for, would raise."""
    if needed_in_entries(cls) is None:
        build_section(cls, settings)
    else:
        build_entries(cls, settings)


def _core_keys() -> tuple[str, ...]:
    from attrs import fields

    return (*RULE_KEYS, *(field.name for field in fields(PermissionSettings)))


def _notice(settings: Settings, path: tuple[str | int, ...], text: str) -> Notice:
    # A key that is in no single source was put together from several: blame its table.
    for length in range(len(path), 0, -1):
        if layer := settings.layer_of(*path[:length]):
            return layer.notice(path, text)
    return Notice(file="default", key=".".join(map(str, path)), text=text)
