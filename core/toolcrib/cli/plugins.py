"""`toolcrib plugins`: what is installed, what it offers, what went wrong with it."""

from __future__ import annotations

import click

from toolcrib.binding import Offers
from toolcrib.cli.common import (
    LOCAL,
    complete_folder,
    json_option,
    open_for,
    print_json,
    print_table,
    tell,
)
from toolcrib.plugins.records import PluginFailure, PluginRecord


@click.command(
    epilog="""\b
Examples:
  toolcrib plugins
  toolcrib --safe plugins
  toolcrib plugins --json
"""
)
@click.option(
    "--workspace",
    metavar="D",
    default=".",
    show_default=True,
    shell_complete=complete_folder,
    help="Whose configuration counts.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, workspace: str, as_json: bool) -> None:
    """List the plugins with their distribution, hooks, tools, runtimes, failures and load time.

    Exit status 1 when a plugin failed.
    """
    # One of the runtimes that are listed may be the configured one, and not work.
    session = open_for(ctx, workspace=workspace, runtime=LOCAL)
    session.tools()
    runtimes = _runtimes_of(session.crib.runtimes())
    host = session.crib.plugins
    listed = [(record, _failures_of(record, host.failures)) for record in host.records.values()]
    known = {failure for _, failures in listed for failure in failures}
    strays = [failure for failure in host.failures if failure not in known]
    if as_json:
        print_json(
            [_plain(r, f, runtimes.get(r.name, [])) for r, f in listed]
            + [_stray(f) for f in strays]
        )
    else:
        print_table(
            (
                "plugin",
                "distribution",
                "version",
                "status",
                "hooks",
                "tools",
                "runtimes",
                "load ms",
            ),
            [_row(record, runtimes.get(record.name, [])) for record, _ in listed],
            "no plugins were found: is toolcrib installed (pip install -e .), or only on the path?",
        )
        for failure in host.failures:
            tell(
                f"{failure.plugin} ({failure.distribution}): {failure.stage} failed: "
                f"{failure.reason}"
            )
    if host.failures or not listed:
        ctx.exit(1)


def _failures_of(record: PluginRecord, failures: list[PluginFailure]) -> list[PluginFailure]:
    return [
        f for f in failures if f.plugin == record.name and f.distribution == record.distribution
    ]


def _runtimes_of(offers: Offers) -> dict[str, list[str]]:
    """The names of the runtimes of each plugin."""
    found: dict[str, list[str]] = {}
    for name, (plugin, _) in offers.items():
        found.setdefault(plugin, []).append(name)
    return found


def _plain(
    record: PluginRecord, failures: list[PluginFailure], runtimes: list[str]
) -> dict[str, object]:
    return {
        "name": record.name,
        "distribution": record.distribution,
        "version": record.version,
        "status": record.status,
        "hooks": list(record.hooks),
        "contributions": [c.name for c in record.contributions],
        "runtimes": runtimes,
        "failures": [{"stage": f.stage, "reason": f.reason} for f in failures],
        "load_ms": round(record.load_ms, 3),
        "blocked_by": record.blocked_by,
    }


def _stray(failure: PluginFailure) -> dict[str, object]:
    """A plugin that never got a place of its own, such as the second of two with one name."""
    record = PluginRecord(failure.plugin, failure.distribution, "", status="failed")
    return _plain(record, [failure], [])


def _row(record: PluginRecord, runtimes: list[str]) -> tuple[str, ...]:
    return (
        record.name,
        record.distribution,
        record.version,
        record.status,
        ", ".join(record.hooks),
        ", ".join(c.name for c in record.contributions),
        ", ".join(runtimes),
        f"{record.load_ms:.1f}",
    )
