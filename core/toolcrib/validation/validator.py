"""Compile a schema once and check arguments against it many times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from toolcrib.validation.draft import Draft, draft_of

if TYPE_CHECKING:
    import jsonschema_rs

_CACHE_SIZE = 1024
_ITEMS_FOR_ALL_ERRORS = 2_000


class ArgumentValidator:
    """A compiled schema.

    Attributes:
        schema_error: Why the schema could not be compiled; then every call is rejected with it.
    """

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self.schema_error: str | None = None
        draft = draft_of(schema)
        try:
            self._compiled = _compile(schema, draft)
            self._is_valid = self._compiled.is_valid
        except Exception as error:
            # Schemas come from servers and plugins; whatever the compiler says is theirs to read.
            self.schema_error = _explain_schema_error(error, schema, draft)

    def check(self, data: Any) -> str | None:
        """Return None when `data` fits the schema, else all that is wrong, joined by `; `.

        Arguments with thousands of items get their first error only. Never raises.
        """
        if self.schema_error is not None:
            return self.schema_error
        try:
            if self._is_valid(data):
                return None
            errors = _errors(self._compiled, data)
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            return f"text holds {half!a}, half of a surrogate pair, which is no character"
        except (ValueError, TypeError, RecursionError) as error:
            return f"the arguments are no JSON data: {error}"

        # Only a rejected call pays for the wording.
        from toolcrib.validation.wording import word_errors

        return word_errors(errors, self._schema, data)


def validate_args(schema: Any, args: Any) -> str | None:
    """Return what is wrong with `args` by `schema`, or None; see `ArgumentValidator.check`."""
    return validator_for(schema).check(args)


def validator_for(schema: Any) -> ArgumentValidator:
    """Return the validator of this very schema object, compiled on its first use.

    A schema that is changed in place keeps its validator: put a new object in its place.
    """
    # The entry holds the schema, so its id cannot pass to another object.
    entry = _validators.get(id(schema))
    if entry is None:
        if len(_validators) >= _CACHE_SIZE:
            _validators.pop(next(iter(_validators)), None)
        entry = _validators[id(schema)] = (schema, ArgumentValidator(schema))
    return entry[1]


_validators: dict[int, tuple[Any, ArgumentValidator]] = {}


def _compile(schema: Any, draft: Draft) -> jsonschema_rs.Validator:
    import jsonschema_rs

    classes: dict[Draft, type[jsonschema_rs.Validator]] = {
        "4": jsonschema_rs.Draft4Validator,
        "6": jsonschema_rs.Draft6Validator,
        "7": jsonschema_rs.Draft7Validator,
        "2019-09": jsonschema_rs.Draft201909Validator,
        "2020-12": jsonschema_rs.Draft202012Validator,
    }
    return classes[draft](schema, validate_formats=True, retriever=_refuse_to_fetch)


def _refuse_to_fetch(uri: str) -> NoReturn:
    raise LookupError(f"references to other documents are not followed, {uri!r} is one")


def _errors(compiled: jsonschema_rs.Validator, data: Any) -> list[jsonschema_rs.ValidationError]:
    """The errors; making one costs microseconds, and each item of a long list can have one."""
    import jsonschema_rs

    if _has_few_items(data):
        return list(compiled.iter_errors(data))
    try:
        compiled.validate(data)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []


def _has_few_items(data: Any) -> bool:
    pending, count = [data], 0
    while pending:
        value = pending.pop()
        if isinstance(value, dict | list | tuple):
            count += len(value)
            if count > _ITEMS_FOR_ALL_ERRORS:
                return False
            pending.extend(value.values() if isinstance(value, dict) else value)
    return True


def _explain_schema_error(error: Exception, schema: Any, draft: Draft) -> str:
    problem = getattr(error, "message", str(error))
    if getattr(error, "instance_path", None):
        problem = _nearest_schema_error(schema, draft) or problem
    return f"the schema of this tool is invalid, so its arguments cannot be checked: {problem}"


def _nearest_schema_error(schema: Any, draft: Draft) -> str | None:
    """The most telling violation of the draft's own schema; jsonschema ranks them well."""
    from jsonschema import validators  # type: ignore[import-untyped]  # has no stubs of its own
    from jsonschema.exceptions import SchemaError  # type: ignore[import-untyped]

    classes = {
        "4": validators.Draft4Validator,
        "6": validators.Draft6Validator,
        "7": validators.Draft7Validator,
        "2019-09": validators.Draft201909Validator,
        "2020-12": validators.Draft202012Validator,
    }
    try:
        classes[draft].check_schema(schema)
    except SchemaError as error:
        return f"{error.message} (at {error.json_path})"
    return None
