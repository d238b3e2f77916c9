"""Check the arguments of a call against a tool's JSON Schema, with errors a model can act on."""

from toolcrib.validation.validator import ArgumentValidator, validate_args, validator_for

__all__ = ["ArgumentValidator", "validate_args", "validator_for"]
