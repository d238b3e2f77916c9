"""Tool schemas in the dialects that model providers and protocols accept."""

from toolcrib.dialects.compiling import CompiledSchema, compile_schema
from toolcrib.dialects.losses import Loss, UnusableSchema
from toolcrib.dialects.providers import DIALECTS, Dialect
from toolcrib.dialects.shaping import Describable, provider_tool

__all__ = [
    "DIALECTS",
    "CompiledSchema",
    "Describable",
    "Dialect",
    "Loss",
    "UnusableSchema",
    "compile_schema",
    "provider_tool",
]
