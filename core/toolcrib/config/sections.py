"""Gives tools, features and services their part of the configuration as typed objects."""

from __future__ import annotations

from typing import TypeVar

from toolcrib.config.permission import RULE_KEYS, PermissionSettings
from toolcrib.config.settings import Settings
from toolcrib.config.structuring import Problems, structure_class
from toolcrib.contract.settings import section_of
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


def _core_keys() -> tuple[str, ...]:
    from attrs import fields

    return (*RULE_KEYS, *(field.name for field in fields(PermissionSettings)))


def _notice(settings: Settings, path: tuple[str | int, ...], text: str) -> Notice:
    # A key that is in no single source was put together from several: blame its table.
    for length in range(len(path), 0, -1):
        if layer := settings.layer_of(*path[:length]):
            return layer.notice(path, text)
    return Notice(file="default", key=".".join(map(str, path)), text=text)
