"""`toolcrib config check`: everything that is wrong or pointless in the configuration."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import click

from toolcrib.cli.common import open_for, tell
from toolcrib.config.reading import CORE_TABLES
from toolcrib.config.sections import build_section
from toolcrib.errors import ConfigError, Notice
from toolcrib.features import feature_notices
from toolcrib.policy import find_inactive_tool_patterns, suggest
from toolcrib.rules import match_tool_name, parse_rule
from toolcrib.session import Session


@click.group(name="config")
def command() -> None:
    """Work with the configuration."""


@command.command(
    epilog="""\b
Examples:
  toolcrib config check
  toolcrib config check --workspace ~/src/app --profile review
"""
)
@click.option("--workspace", metavar="D", default=".", help="Whose toolcrib.toml is checked too.")
@click.option("--profile", metavar="P", help="The profile to check with.")
@click.pass_context
def check(ctx: click.Context, workspace: str, profile: str | None) -> None:
    """Validate all files; name unknown keys and tools, and patterns that can match nothing.

    Exit status 0 when there is nothing to say, 1 when there is, 2 when a file cannot be used.
    """
    session = open_for(ctx, workspace=workspace, profile=profile)
    problems = list(dict.fromkeys(find_problems(session)))
    for problem in problems:
        click.echo(str(problem))
    if problems or session.settings.notices:
        ctx.exit(1)
    tell("the configuration is fine")


def find_problems(session: Session) -> Iterator[Notice]:
    """What the loading of the configuration does not find, since it needs the plugins."""
    settings = session.settings
    features = session.crib.features()
    yield from feature_notices(features, settings=settings, profile=session.main.profile)
    yield from _sections(session)
    known = [c.name for _, c in session.crib.plugins.contributions()]
    for layer in ("enabled", "disabled"):
        patterns = getattr(settings.tools, layer) or ()
        for found in find_inactive_tool_patterns(patterns, known):
            place = settings.locate("tools", layer)
            yield Notice.at(place, key=f"tools.{layer}", text=_about(found, known))
    for profile in (*settings.profiles.values(), *session.crib.profiles().values()):
        for key in ("tools", "disallowed_tools"):
            patterns = [p for p in getattr(profile, key) or () if p != "*"]
            for found in find_inactive_tool_patterns(patterns, known):
                name = f"profiles.{profile.name}.{key}"
                yield Notice.at(profile.source, key=name, text=_about(found, known))
    for rule in session.permission_rules:
        tool = parse_rule(rule.pattern).tool_name
        if not tool.startswith("mcp__") and not any(match_tool_name(tool, n) for n in known):
            near = suggest(tool, known)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            text = f"the rule {rule.pattern!r} is about no known tool{hint}"
            yield Notice.at(rule.source, key="permission.rules", text=text)


def _sections(session: Session) -> Iterator[Notice]:
    declared: dict[str, str] = {}
    for _, contribution in session.crib.plugins.contributions():
        declared.update(contribution.settings)
    for feature in session.crib.features():
        declared.update(feature.settings)
    for name in session.settings.sections():
        if name in CORE_TABLES:
            continue
        if name not in declared:
            near = suggest(name, [*CORE_TABLES, *declared])
            hint = f"; did you mean [{near[0]}]?" if near else ""
            place = session.settings.locate(name)
            yield Notice.at(place, key=name, text=f"nothing reads the table [{name}]{hint}")
            continue
        module, _, attribute = declared[name].partition(":")
        try:
            build_section(getattr(import_module(module), attribute), session.settings)
        except ConfigError as error:
            yield from error.problems


def _about(found: object, known: list[str]) -> str:
    reason = getattr(found, "reason", "")
    pattern = getattr(found, "pattern", "")
    near = suggest(pattern, known)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{pattern!r} matches nothing: {reason}{hint}"
