"""Read the fields of an input class: property names, resolved annotations, defaults."""

from __future__ import annotations

import types
import typing
from functools import reduce
from operator import or_
from typing import Annotated, Any, Union, get_args, get_origin

import attrs

from toolcrib.errors import ToolcribError
from toolcrib.schema.markers import Alias, Nullable


class SchemaError(ToolcribError):
    """An input class cannot be put as JSON Schema; for the author of the tool to mend."""


@attrs.frozen(kw_only=True)
class InputField:
    """One field of an input class as the caller of the tool sees it.

    Attributes:
        name: The name of the attribute.
        property_name: The name of the property in JSON.
        annotation: The type, without `Annotated`, and without None where null is not accepted.
        metadata: What `Annotated` says besides the type.
        default: The default value or `attrs.Factory`; `attrs.NOTHING` if the field is required.
    """

    name: str
    property_name: str
    annotation: Any
    metadata: tuple[Any, ...]
    default: Any

    @property
    def is_required(self) -> bool:
        """Whether a caller has to give the property."""
        return self.default is attrs.NOTHING


def input_fields(cls: type) -> tuple[InputField, ...]:
    """The fields that can be given when an instance is made, in order.

    Raises:
        SchemaError: `cls` is no attrs class, or an annotation is missing or cannot be resolved.
    """
    if not attrs.has(cls):
        raise SchemaError(f"input class {cls!r} is no attrs class: decorate it with attrs.frozen")
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception as error:
        # Annotations are evaluated here, so whatever their text says can be raised.
        raise SchemaError(
            f"input class {cls.__qualname__!r}: cannot resolve its annotations ({error}); "
            "names in them must be importable from the module of the class"
        ) from error
    return tuple(
        _input_field(cls, attribute, hints.get(attribute.name, attribute.type))
        for attribute in attrs.fields(cls)
        if attribute.init
    )


def split_annotated(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Part an annotation into the type and the metadata of `Annotated`."""
    if get_origin(annotation) is Annotated:
        return annotation.__origin__, annotation.__metadata__
    return annotation, ()


def is_union(annotation: Any) -> bool:
    """Whether an annotation is `A | B` or `Union[A, B]`."""
    return get_origin(annotation) in (Union, types.UnionType)


def _input_field(cls: type, attribute: attrs.Attribute[Any], hint: Any) -> InputField:
    if hint is None:
        raise SchemaError(f"input class {cls.__qualname__!r}: field {attribute.name!r} has no type")
    annotation, metadata = split_annotated(hint)
    nullable = any(item is Nullable or isinstance(item, Nullable) for item in metadata)
    if attribute.default is None and is_union(annotation) and not nullable:
        annotation, inner_metadata = split_annotated(_without_none(annotation))
        metadata += inner_metadata
    alias = next((item.name for item in metadata if isinstance(item, Alias)), None)
    return InputField(
        name=attribute.name,
        property_name=alias or attribute.alias or attribute.name,
        annotation=annotation,
        metadata=metadata,
        default=attribute.default,
    )


def _without_none(union: Any) -> Any:
    return reduce(or_, (item for item in get_args(union) if item is not types.NoneType))
