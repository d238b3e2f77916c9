"""Turns the plain values of TOML into typed ones, noting every value that does not fit."""

from __future__ import annotations

import types
from collections import abc
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs

from toolcrib.config.lines import KeyPath

C = TypeVar("C")

Problems = list[tuple[KeyPath, str]]
"""Where a value does not fit, and why."""

_LISTS: tuple[Any, ...] = (list, tuple, set, frozenset, abc.Sequence, abc.Iterable, abc.Collection)
_TABLES: tuple[Any, ...] = (dict, abc.Mapping, abc.MutableMapping)


class RawText(str):
    """The text of an environment variable, whose type is known only where it is used."""

    __slots__ = ()

    def parsed_as(self, hint: Any) -> object:
        """The TOML value that the text spells; the text itself when it spells none."""
        import tomllib

        if hint is bool and self in ("0", "1"):
            return self == "1"
        try:
            document = tomllib.loads(f"value = {self}")
        except tomllib.TOMLDecodeError:
            return str(self)
        return document["value"] if len(document) == 1 else str(self)


class Bounds:
    """Limits of a number, in an `Annotated` hint; those of `annotated_types` work as well."""

    def __init__(
        self,
        *,
        ge: float | None = None,
        gt: float | None = None,
        le: float | None = None,
        lt: float | None = None,
    ) -> None:
        self.ge, self.gt, self.le, self.lt = ge, gt, le, lt


def structure_class(
    cls: type[C],
    table: object,
    path: KeyPath,
    problems: Problems,
    *,
    given: Mapping[str, Any] | None = None,
    ignored: abc.Collection[str] = (),
) -> C | None:
    """An instance of an attrs class whose fields all have defaults, or None after a problem.

    Args:
        table: the value found at `path`.
        given: finished values for fields that are not read from the table.
        ignored: keys of the table that belong to someone else.
    """
    if not isinstance(table, Mapping):
        problems.append((path, _expected("a table", table)))
        return None
    before = len(problems)
    given = given or {}
    if not table:
        return _construct(cls, {}, given, path, problems)  # saves resolving the hints
    hints = _hints(cls)  # type: ignore[arg-type]  # classes are hashable
    names = {field.name for field in attrs.fields(cls) if field.init} - given.keys()  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key in names:
            values[key] = structure(value, hints[key], (*path, key), problems)
        elif key not in ignored:
            problems.append(((*path, key), f"unknown key; {suggestion(key, {*names, *ignored})}"))
    if len(problems) > before:
        return None
    return _construct(cls, values, given, path, problems)


@cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def _construct(
    cls: type[C],
    values: dict[str, Any],
    given: Mapping[str, Any],
    path: KeyPath,
    problems: Problems,
) -> C | None:
    try:
        return cls(**values, **given)
    except (TypeError, ValueError) as error:
        problems.append(_blame(cls, values, given, path, error))
        return None


def _blame(
    cls: type[Any],
    values: dict[str, Any],
    given: Mapping[str, Any],
    path: KeyPath,
    error: Exception,
) -> tuple[KeyPath, str]:
    """Find the key that a validator refused: the one that is refused without the others too."""
    for key, value in values.items():
        try:
            cls(**{key: value}, **given)
        except (TypeError, ValueError) as alone:
            return (*path, key), _text_of(alone)
    return path, _text_of(error)


def _text_of(error: Exception) -> str:
    # The validators of attrs raise with the attribute and the value behind the message.
    return str(error.args[0]) if error.args else str(error)


def structure(value: object, hint: Any, path: KeyPath, problems: Problems) -> Any:
    """The value as the type that the hint asks for; a misfit is added to `problems`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bounded(value, arguments, path, problems)
    if origin in (Union, types.UnionType):
        return _union(value, arguments, path, problems)
    if isinstance(value, RawText) and not _takes_text(hint):
        value = value.parsed_as(hint)
    if hint in (Any, object):
        return value
    if origin is Literal:
        return _choice(value, arguments, path, problems)
    if (origin or hint) in _LISTS:
        return _list(value, origin or hint, arguments, path, problems)
    if (origin or hint) in _TABLES:
        return _table(value, arguments, path, problems)
    if attrs.has(hint):
        return structure_class(hint, value, path, problems)
    return _scalar(value, hint, path, problems)


def _choice(value: object, choices: tuple[Any, ...], path: KeyPath, problems: Problems) -> Any:
    spelt = [value, value.parsed_as(Any)] if isinstance(value, RawText) else [value]
    for choice in choices:
        if any(choice == one and isinstance(one, type(choice)) for one in spelt):
            return choice
    return _misfit(describe(Literal[choices]), value, path, problems)


def _scalar(value: object, hint: type[Any], path: KeyPath, problems: Problems) -> Any:
    if hint is Path and isinstance(value, str):
        return Path(value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        chosen = [member for member in hint if member.value == value]
        return chosen[0] if chosen else _misfit(describe(hint), value, path, problems)
    if hint is float and type(value) is int:
        return float(value)
    if hint is str and isinstance(value, RawText):
        return str(value)
    fits = isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool)
    return value if fits else _misfit(describe(hint), value, path, problems)


def _bounded(value: object, arguments: tuple[Any, ...], path: KeyPath, problems: Problems) -> Any:
    before = len(problems)
    result = structure(value, arguments[0], path, problems)
    if len(problems) == before and result is not None:
        for mark in arguments[1:]:
            if broken := _broken_bound(result, mark):
                problems.append((path, f"{broken}, not {value!r}"))
    return result


def _broken_bound(value: Any, mark: object) -> str | None:
    # Written as "not (value > bound)", so that nan breaks every bound.
    def bound(name: str) -> Any:
        return getattr(mark, name, None)

    if (least := bound("ge")) is not None and not value >= least:
        return f"must be at least {least}"
    if (least := bound("gt")) is not None and not value > least:
        return f"must be above {least}"
    if (most := bound("le")) is not None and not value <= most:
        return f"must be at most {most}"
    if (most := bound("lt")) is not None and not value < most:
        return f"must be below {most}"
    if (length := bound("min_length")) is not None and len(value) < length:
        return f"must have at least {length} elements"
    if (length := bound("max_length")) is not None and len(value) > length:
        return f"must have at most {length} elements"
    return None


def _union(value: object, members: tuple[Any, ...], path: KeyPath, problems: Problems) -> Any:
    attempts: list[Problems] = []
    for member in members:
        if member is type(None):
            continue
        attempt: Problems = []
        result = structure(value, member, path, attempt)
        if not attempt:
            return result
        attempts.append(attempt)
    if len(attempts) == 1 or any(where != path for where, _ in attempts[-1]):
        problems.extend(attempts[-1])
        return None
    return _misfit(describe(Union[members]), value, path, problems)  # noqa: UP007


def _list(
    value: object, kind: Any, arguments: tuple[Any, ...], path: KeyPath, problems: Problems
) -> Any:
    if not isinstance(value, list | tuple):
        wanted = f"a list of {describe(arguments[0])} values" if arguments else "a list"
        return _misfit(wanted, value, path, problems)
    if kind is tuple and arguments and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            return _misfit(f"a list of {len(arguments)} elements", value, path, problems)
        hints: list[Any] = list(arguments)
    else:
        hints = [arguments[0] if arguments else Any] * len(value)
    items = [
        structure(item, hint, (*path, index), problems)
        for index, (item, hint) in enumerate(zip(value, hints, strict=True))
    ]
    maker = kind if kind in (list, set, frozenset) else tuple
    return maker(items)


def _table(value: object, arguments: tuple[Any, ...], path: KeyPath, problems: Problems) -> Any:
    if not isinstance(value, Mapping):
        return _misfit("a table", value, path, problems)
    hint = arguments[1] if arguments else Any
    return {key: structure(item, hint, (*path, key), problems) for key, item in value.items()}


def _takes_text(hint: Any) -> bool:
    return hint in (str, Path) or get_origin(hint) is Literal


def _misfit(wanted: str, value: object, path: KeyPath, problems: Problems) -> None:
    problems.append((path, _expected(wanted, value)))


def _expected(wanted: str, value: object) -> str:
    shown = repr(value)
    return f"expected {wanted}, not {shown if len(shown) <= 80 else shown[:77] + '...'}"


def describe(hint: Any) -> str:
    """The type in the words of a message."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return describe(arguments[0])
    if origin in (Union, types.UnionType):
        return " or ".join(describe(member) for member in arguments if member is not type(None))
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}"
    if isinstance(hint, type) and issubclass(hint, Enum):
        return f"one of {', '.join(repr(member.value) for member in hint)}"
    if (origin or hint) in _LISTS:
        return f"a list of {describe(arguments[0])} values" if arguments else "a list"
    if (origin or hint) in _TABLES or attrs.has(hint):
        return "a table"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return names[hint] if hint in names else str(getattr(hint, "__name__", hint))


def suggestion(name: str, known: abc.Collection[str]) -> str:
    """A hint at the known name that was meant, or else at all of them."""
    import difflib

    if close := difflib.get_close_matches(name, known, n=1):
        return f"did you mean {close[0]!r}?"
    return f"known are {', '.join(sorted(known))}" if known else "none is known here"
