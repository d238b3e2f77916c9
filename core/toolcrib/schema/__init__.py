"""Input classes: their JSON Schema, and instances of them from arguments."""

from toolcrib.schema.derive import input_schema
from toolcrib.schema.fields import SchemaError
from toolcrib.schema.markers import Alias, Nullable
from toolcrib.schema.nodes import close_object_nodes
from toolcrib.schema.structuring import InvalidArguments, structure, structurer

__all__ = [
    "Alias",
    "InvalidArguments",
    "Nullable",
    "SchemaError",
    "close_object_nodes",
    "input_schema",
    "structure",
    "structurer",
]
