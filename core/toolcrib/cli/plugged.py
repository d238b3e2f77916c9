"""Commands that plugins add to the command line; a broken one costs nothing but itself."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Container
from typing import Any

import click

from toolcrib.errors import ConfigError, ToolcribError
from toolcrib.plugins.records import OWN_DISTRIBUTION, PluginRecord, PluginSource

GROUP = "toolcrib.commands"


def plugged_commands(
    *, autoload: bool, taken: Container[str], on_clash: Callable[[str], None]
) -> dict[str, PluginSource]:
    """The commands of plugins by name, those of toolcrib itself first; imports none of them.

    Of two with one name the first one counts, and none whose name is in `taken` does; `on_clash`
    is told. Without `autoload` there are only toolcrib's own.
    """
    from toolcrib.plugins.entry_points import find_plugins
    from toolcrib.plugins.loader import wanted_sources

    found: dict[str, PluginSource] = {}
    for source in _unblocked(wanted_sources(os.environ, find_plugins(GROUP)), autoload):
        owner = found[source.name].distribution if source.name in found else OWN_DISTRIBUTION
        if source.name in taken or source.name in found:
            on_clash(
                f"note: the command {source.name!r} of {source.distribution!r} is not used: "
                f"{owner!r} has one of that name"
            )
        else:
            found[source.name] = source
    return found


def plugged_command(source: PluginSource) -> click.Command:
    """The command, imported; one that says what is wrong when that fails."""
    from toolcrib.plugins.loader import describe, load_factory

    problem = source.problem
    command: Any = None
    if problem is None:
        try:
            with contextlib.redirect_stdout(sys.stderr):
                command = load_factory(source.value)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            problem = describe(error)
    if problem is None and not isinstance(command, click.Command):
        problem = f"{source.value} is no click command, but {type(command).__name__}"
    return command if problem is None else _broken(source, problem)


def _unblocked(sources: list[PluginSource], autoload: bool) -> list[PluginSource]:
    """Those that may be used; nobody blocks toolcrib's own commands."""
    own = [source for source in sources if source.distribution == OWN_DISTRIBUTION]
    others = sources[len(own) :] if autoload else []
    if not others:
        return own
    from toolcrib.config.load import load_settings

    try:
        blocked = load_settings(workspace=os.getcwd()).plugins.blocked
    except (ConfigError, OSError):
        return own  # whether it blocks the others, nobody knows
    records = ((s, PluginRecord(s.name, s.distribution, s.version)) for s in others)
    return own + [source for source, record in records if record.blocked_in(blocked) is None]


def _broken(source: PluginSource, problem: str) -> click.Command:
    text = f"The command {source.name!r} of {source.distribution!r} cannot be used: {problem}"

    def fail(arguments: tuple[str, ...]) -> None:
        raise ToolcribError(text)

    return click.Command(
        source.name,
        callback=fail,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        help=text,
        short_help=f"(of {source.distribution}; cannot be used: {problem})",
    )
