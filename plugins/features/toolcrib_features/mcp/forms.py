"""The form that a server wants filled in, as questions to a person, and the answers as values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from attrs import frozen

from toolcrib import Question, QuestionOption
from toolcrib_features.mcp.plain import line, plain

MAX_FIELDS = 50
MAX_CHOICES = 200
LEFT_OUT = object()
"""The value of a field that the person does not want to fill in."""
LEAVE_OUT = "-"
"""What a person types for that."""

Kind = Literal["string", "integer", "number", "boolean", "choice", "choices"]
_YES_NO = (("Yes", True), ("No", False))
_WORDS = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
_LIMITS: dict[str, type | tuple[type, ...]] = {
    "minLength": int,
    "maxLength": int,
    "minimum": (int, float),
    "maximum": (int, float),
    "minItems": int,
    "maxItems": int,
    "format": str,
    "pattern": str,
}
_WANTED: dict[Kind, str] = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "choice": "one of the choices",
    "choices": "any of the choices",
}


class UnusableForm(Exception):
    """The form asks for what no form may; the text is for the server."""


@frozen(kw_only=True)
class Field:
    """One value of a form; `choices` are the labels with their values."""

    name: str
    kind: Kind
    required: bool
    schema: Mapping[str, Any]
    choices: tuple[tuple[str, Any], ...] = ()

    @property
    def default(self) -> Any:
        """The value that the server proposes, if it is one."""
        value = self.schema.get("default", LEFT_OUT)
        return LEFT_OUT if value is LEFT_OUT or self._problem(value) else value

    def question(self, introduction: str, problem: str | None) -> Question:
        """How a person is asked; `problem` says what was wrong with the last answer."""
        title = line(self.schema.get("title"), 100) or line(self.name, 100)
        text = f"{introduction}\n\n{title}"
        if title != self.name:
            text += f" ({line(self.name, 100)})"
        about = plain(self.schema.get("description"), 1_000)
        text += f": {about}" if about else ""
        text += f"\nWanted: {_WANTED[self.kind]}{self._unless()}."
        if problem:
            text += f"\nThe last answer cannot be used: {problem}."
        options = [QuestionOption(label=label) for label, _ in self.choices]
        if options and (not self.required or self.default is not LEFT_OUT):
            options.append(QuestionOption(label=LEAVE_OUT, description="leave it out"))
        return Question(
            question=text,
            header=title[:30],
            options=tuple(options),
            multi_select=self.kind == "choices",
        )

    def value(self, answer: str | None) -> Any:
        """The value that an answer stands for; raises ValueError with the reason when none."""
        text = (answer or "").strip()
        default = self.default
        if not text or (text == LEAVE_OUT and (not self.required or default is not LEFT_OUT)):
            if self.required and default is LEFT_OUT:
                raise ValueError("an answer is needed")
            return default
        value = self._parsed(text)
        if problem := self._problem(value):
            raise ValueError(problem)
        return value

    def _unless(self) -> str:
        if self.default is not LEFT_OUT:
            return f"; {LEAVE_OUT!r} for {line(str(self.default), 100)!r}"
        return "" if self.required else f"; {LEAVE_OUT!r} leaves it out"

    def _parsed(self, text: str) -> Any:
        match self.kind:
            case "string":
                return text
            case "integer" | "number":
                return _number(text, whole=self.kind == "integer")
            case "choices":
                try:
                    return [self._chosen(text)]
                except ValueError:
                    return [self._chosen(each.strip()) for each in text.split(",") if each.strip()]
            case _:
                return self._chosen(text)

    def _chosen(self, text: str) -> Any:
        for label, value in self.choices:
            if text in (label, str(value)):
                return value
        if self.kind == "boolean" and text.lower() in _WORDS:
            return _WORDS[text.lower()]
        raise ValueError(f"{text[:100]!r} is none of the choices")

    def _problem(self, value: object) -> str | None:
        import jsonschema_rs

        try:
            compiled = jsonschema_rs.Draft7Validator(_limits(self), validate_formats=True)
            return next((error.message for error in compiled.iter_errors(value)), None)
        except ValueError as error:  # a pattern of the server's, or a value that is no JSON
            return f"it cannot be checked: {line(str(error), 200)}"


def fields_of(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields of a form; raises UnusableForm for more than flat values."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        raise UnusableForm("the form has no usable properties")
    if len(properties) > MAX_FIELDS:
        raise UnusableForm(f"the form has {len(properties)} fields, at most {MAX_FIELDS} are asked")
    return tuple(_field(name, each, name in required) for name, each in properties.items())


def _field(name: str, schema: object, required: bool) -> Field:
    if not isinstance(schema, Mapping):
        raise UnusableForm(f"the field {name!r} has no schema")
    kind, choices = _kind(name, schema)
    if len(choices) > MAX_CHOICES:
        raise UnusableForm(f"the field {name!r} has more than {MAX_CHOICES} choices")
    return Field(name=name, kind=kind, required=required, schema=schema, choices=choices)


def _kind(name: str, schema: Mapping[str, Any]) -> tuple[Kind, tuple[tuple[str, Any], ...]]:
    match schema.get("type"):
        case "boolean":
            return "boolean", _YES_NO
        case "array":
            choices = _choices(schema.get("items"))
            if choices:
                return "choices", choices
        case "string" | None if choices := _choices(schema):
            return "choice", choices
        case ("string" | "integer" | "number") as kind:
            return kind, ()
    raise UnusableForm(f"the field {name!r} is no text, number, boolean or choice")


def _choices(schema: object) -> tuple[tuple[str, Any], ...]:
    """The choices of an enumeration, with the titles that the server gives them."""
    if not isinstance(schema, Mapping):
        return ()
    values = schema.get("enum")
    if isinstance(values, list):
        names = schema.get("enumNames")
        titles = names if isinstance(names, list) and len(names) == len(values) else values
        return _labelled(zip(titles, values, strict=True))
    titled = schema.get("oneOf", schema.get("anyOf"))
    if not isinstance(titled, list):
        return ()
    return _labelled(
        (each.get("title", each["const"]), each["const"])
        for each in titled
        if isinstance(each, Mapping) and "const" in each
    )


def _labelled(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[str, Any], ...]:
    labelled: dict[str, Any] = {}
    for title, value in pairs:
        label = line(str(title), 100) or "(nothing)"
        if label in labelled:
            label = f"{label} ({line(str(value), 100)})"
        labelled.setdefault(label, value)
    return tuple(labelled.items())


def _number(text: str, *, whole: bool) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if whole or not math.isfinite(value):
        raise ValueError(f"{text[:100]!r} is no {'whole ' if whole else ''}number")
    return value


def _limits(field: Field) -> dict[str, Any]:
    """What the server demands of a value, as far as it can be checked."""
    limits = {
        key: field.schema[key]
        for key, kind in _LIMITS.items()
        if isinstance(field.schema.get(key), kind) and not isinstance(field.schema[key], bool)
    }
    if "pattern" in limits and not _compiles(limits["pattern"]):
        del limits["pattern"]
    values = [value for _, value in field.choices]
    match field.kind:
        case "choice" | "boolean":
            return {"enum": values}
        case "choices":
            return {**limits, "type": "array", "items": {"enum": values}}
        case kind:
            return {**limits, "type": kind}


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True
