"""First step: arguments parsed, tool found, policy asked, arguments valid and structured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.arguments import parse_arguments
from toolcrib.pipeline.flight import Flight
from toolcrib.pipeline.host import Host
from toolcrib.pipeline.texts import invalid_arguments
from toolcrib.plugins.loader import describe
from toolcrib.registry import RegisteredTool
from toolcrib.schema import InvalidArguments, structurer
from toolcrib.validation import validator_for

if TYPE_CHECKING:
    from toolcrib.selection import ToolSelection


def preflight(flight: Flight, host: Host) -> None:
    """Check a call as far as it can be checked without the tool; a bad one is refused.

    The tool may still be on its way: then the call `awaits_tool`, and is to be checked once more.
    """
    call = flight.call
    entry = host.registry.get(call.name)
    if entry is None:
        if not flight.awaits_tool and host.table.expects(call.name):
            flight.awaits_tool = True
            return
        flight.refuse("preflight-rejected", host.explain_missing(call.name))
        return
    flight.entry = entry
    call.source = entry.source
    call.domain = entry.domain
    refusal = host.refusal(entry)
    if refusal is not None:
        flight.refuse("preflight-rejected", refusal)
        return
    unloaded = _unloaded(entry, host) if entry.disclosure == "deferred" else None
    if unloaded is not None and not unloaded.is_announced(entry.name):
        flight.refuse("preflight-rejected", unloaded.load_first(entry.name))
        return
    parsed = parse_arguments(call.raw_arguments)
    problem = parsed.error or _structured(flight, entry, parsed.data)
    if unloaded is not None and problem is None:
        flight.note = unloaded.load_by_call(entry.name)
    elif unloaded is not None:
        flight.refuse("preflight-rejected", unloaded.load_first(entry.name))
    elif problem is not None:
        flight.refuse("preflight-rejected", invalid_arguments(call.name, problem))


def _unloaded(entry: RegisteredTool, host: Host) -> ToolSelection | None:
    """What would load a tool that the model has no definition of; None when it has, or needs none.

    A model that was told of a tool may guess how to call it.
    """
    selection = host.selection
    return selection if selection is not None and selection.lacks(entry) else None


def _structured(flight: Flight, entry: RegisteredTool, data: Any) -> str | None:
    """Fill in the call's arguments; returns what is wrong with them, if anything is."""
    try:
        schema = entry.tool.parameters
        if schema is not entry.schema:
            prepare_entry(entry, schema)
        assert entry.check is not None
        problem = entry.check(data)
        if problem is not None and entry.repair is not None:
            data = entry.repair(data)
            problem = entry.check(data)
        if problem is not None:
            return problem
        flight.call.arguments = data
        flight.call.args = data if entry.structure is None else entry.structure(data)
    except InvalidArguments as error:
        return str(error)
    except (Exception, SystemExit) as error:
        return f"the tool is broken, its arguments cannot be checked ({describe(error)})"
    return None


def prepare_entry(entry: RegisteredTool, schema: Mapping[str, Any]) -> None:
    """Compile the schema of a tool and find out how its arguments are structured."""
    described = getattr(entry.tool, "Input", None)
    entry.check = validator_for(schema).check
    entry.structure = structurer(described) if isinstance(described, type) else None
    entry.repair = getattr(entry.tool, "repair_arguments", None)
    entry.schema = schema
