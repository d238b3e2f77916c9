"""Writes docs/reference.md from the schemas, settings classes and help texts.

Run `python docs/make_reference.py` after a change; a test compares.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Container, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import click

import toolcrib
from toolcrib.cli.main import cli
from toolcrib.contract.settings import needed_in_entries

TARGET = Path(__file__).with_name("reference.md")
HEAD = """# Reference

Made by `docs/make_reference.py` from the code; change the code, not this page.
"""


def reference() -> str:
    """The whole page."""
    with tempfile.TemporaryDirectory() as home:
        environ = {"HOME": home, "XDG_CONFIG_HOME": home, "PATH": os.environ.get("PATH", "")}
        environ["TOOLCRIB_FEATURE_TOOL_SELECT"] = "1"
        session = toolcrib.open_session(
            home,
            environ=environ,
            autoload=False,
            model_capabilities=("tool_use", "dynamically_loaded_tools"),
        )
        parts = [HEAD, *_tools(session), *_settings(session), *_commands()]
    return "\n".join(parts)


def _tools(session: toolcrib.Session) -> Iterator[str]:
    yield "## Builtin tools\n"
    for tool in session.tools():
        yield f"### {tool.name}\n"
        first = tool.description.strip().splitlines()[0]
        yield first.replace(session.runtime.shell, "bash") + "\n"
        yield "| argument | type | needed | meaning |"
        yield "| --- | --- | --- | --- |"
        required = tool.parameters.get("required", ())
        for name, schema in tool.parameters["properties"].items():
            needed = "yes" if name in required else _default(schema)
            meaning = _cell(schema.get("description", ""))
            yield f"| `{name}` | {_cell(_type(schema))} | {needed} | {meaning} |"
        yield ""


def _default(schema: dict[str, Any]) -> str:
    return f"no, `{schema['default']!r}`" if "default" in schema else "no"


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(option) for option in schema["anyOf"]))
    bounds = {"minimum": "≥", "maximum": "≤", "exclusiveMinimum": ">", "exclusiveMaximum": "<"}
    limits = [f"{sign} {schema[key]}" for key, sign in bounds.items() if key in schema]
    return " ".join([str(schema.get("type", "anything")), *limits])


def _settings(session: toolcrib.Session) -> Iterator[str]:
    yield "## Tables of the configuration\n"
    yield "Beside those of toolcrib itself, which docs/hosts.md shows.\n"
    places: dict[str, str] = {}
    for _, contribution in session.crib.plugins.contributions():
        places.update(contribution.settings)
    for _, runtime in session.crib.runtimes().values():
        places.update(runtime.settings)
    for feature in session.crib.features():
        places.update(feature.settings)
    for section, place in sorted(places.items()):
        module, _, name = place.partition(":")
        cls = getattr(import_module(module), name)
        needed = needed_in_entries(cls)
        yield f"### [{section}]\n" if needed is None else f"### [[{section}]]\n"
        yield " ".join((cls.__doc__ or "").split()) + "\n"
        yield "| key | default |"
        yield "| --- | --- |"
        for field in attrs.fields(cls):
            yield f"| `{field.name}` | {_set_to(field, needed or ())} |"
        yield ""


def _set_to(field: attrs.Attribute[object], needed: Container[str]) -> str:
    if field.name in needed:
        return "needed"
    # What a function works out differs from one machine to the next.
    worked_out = type(field.default).__name__ == "Factory"
    return "worked out" if worked_out else f"`{field.default!r}`"


def _commands() -> Iterator[str]:
    yield "## Commands\n"
    context = click.Context(cli, info_name="toolcrib")
    context.params["safe"] = True  # what else is installed here has no place in it
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield from _command(command, context, name)


def _command(command: click.Command, parent: click.Context, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    arguments = [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
    yield f"### {' '.join([context.command_path, *arguments])}\n"
    yield " ".join((command.help or "").split()) + "\n"
    for option in command.params:
        if isinstance(option, click.Option):
            yield f"- `{', '.join(option.opts)}`: {option.help or ''}"
    yield ""
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            assert found is not None
            yield from _command(found, context, child)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
