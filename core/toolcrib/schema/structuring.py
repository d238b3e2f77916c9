"""Turn arguments that passed their schema into instances of an input class."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import attrs

from toolcrib.errors import ToolcribError
from toolcrib.schema.derive import annotation_schema
from toolcrib.schema.fields import input_fields, is_union

if TYPE_CHECKING:
    from cattrs import Converter

T = TypeVar("T")


class InvalidArguments(ToolcribError):
    """Arguments fit the schema and not the class; for the model to mend.

    The text is the message of the validator or converter that refused.
    """


def structure(cls: type[T], data: Mapping[str, Any]) -> T:
    """Make an instance of an input class from validated arguments; see `structurer`."""
    return structurer(cls)(data)


def structurer(cls: type[T]) -> Callable[[Mapping[str, Any]], T]:
    """Return the function that makes instances of `cls`; keep it, finding it takes a while.

    The function takes arguments that passed `input_schema(cls)`; where that says integer, 2.0
    becomes 2. It raises `InvalidArguments` when a validator of the class refuses.
    """
    hook = _converter().get_structure_hook(cls)

    def structure_arguments(data: Mapping[str, Any]) -> T:
        try:
            instance: T = hook(data, cls)
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            message = f"text holds {half!a}, half of a surrogate pair, which is no character"
            raise InvalidArguments(message) from error
        except (ValueError, TypeError, ArithmeticError) as error:
            # The validators of attrs pass the attribute and its value after the message.
            message = error.args[0] if error.args else type(error).__name__
            raise InvalidArguments(str(message)) from error
        return instance

    return structure_arguments


@cache
def _converter() -> Converter:
    # Takes tens of milliseconds to import, which a listing of tools has no need to pay.
    from cattrs import Converter

    converter = Converter(detailed_validation=False)
    converter.register_structure_hook_func(lambda cls: cls is object, lambda value, _: value)
    converter.register_structure_hook_factory(attrs.has, lambda cls: _class_hook(cls, converter))
    converter.register_structure_hook_factory(is_union, lambda cls: _union_hook(cls, converter))
    return converter


def _class_hook(cls: type, converter: Converter) -> Callable[[Any, Any], Any]:
    from cattrs.gen import make_dict_structure_fn, override

    aliases = {
        field.name: override(rename=field.property_name)
        for field in input_fields(cls)
        if field.property_name != field.name
    }
    return make_dict_structure_fn(cls, converter, **aliases)  # type: ignore[arg-type]


def _union_hook(union: Any, converter: Converter) -> Callable[[Any, Any], Any]:
    """Structure into the first alternative whose schema accepts the value."""
    from jsonschema_rs import Draft7Validator

    present = [item for item in get_args(union) if item is not types.NoneType]
    accepts_null = len(present) < len(get_args(union))
    if len(present) == 1 and accepts_null:
        alternative = present[0]
        hook = converter.get_structure_hook(alternative)
        return lambda value, _: None if value is None else hook(value, alternative)

    alternatives = [
        (
            Draft7Validator(annotation_schema(item)).is_valid,
            converter.get_structure_hook(item),
            item,
        )
        for item in present
    ]

    def structure_union(value: Any, _: Any) -> Any:
        if value is None and accepts_null:
            return None
        for accepts, hook, alternative in alternatives:
            if accepts(value):
                return hook(value, alternative)
        raise ValueError(f"{value!r} fits none of {union}")

    return structure_union
