"""The select_tools tool."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, field

from toolcrib import (
    Accesses,
    Agent,
    Execution,
    RunnableExecution,
    Tool,
    ToolContext,
    ToolResult,
    read_description,
)
from toolcrib_features.select_tools.input import MAX_MATCHES, SelectToolsInput
from toolcrib_features.select_tools.wanted import Pattern, resolved

MAX_SUGGESTED = 10
"""So many unknown names get close ones suggested; more are guesswork."""


class SelectTools(Tool[SelectToolsInput]):
    """Loads tools by name or by keywords."""

    name = "select_tools"

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @property
    def description(self) -> str:
        return read_description(__package__)

    def resolve_execution(self, args: SelectToolsInput) -> Execution:
        async def execute(context: ToolContext) -> ToolResult:
            choice = _Choice(self._agent)
            for text in dict.fromkeys(args.names or ()):
                await choice.take(text)
            if args.query is not None:
                choice.find(args.query)
            return choice.result()

        asked = [*(args.names or ()), *([f"query {args.query!r}"] if args.query else [])]
        return RunnableExecution(
            execute=execute,
            approval_rule=self.name,
            accesses=Accesses.none(),
            description=f"Loading tools: {', '.join(asked)}",
        )


@define
class _Choice:
    """What one call loads."""

    agent: Agent
    loaded: dict[str, None] = field(factory=dict)
    available: dict[str, None] = field(factory=dict)
    remarks: list[str] = field(factory=list)
    unknown: int = 0

    async def take(self, text: str) -> None:
        """Load what a name or a pattern means."""
        selection = self.agent.selection
        wanted = resolved(text, selection.loadable() if selection else ())
        if isinstance(wanted, Pattern):
            self._take_matches(wanted)
            return
        if wanted not in self.agent.registry and self.agent.table.expects(wanted):
            await self.agent.table.arrived(wanted)
        if wanted in self.agent.registry:
            self._load([wanted])
        else:
            self._miss(wanted)

    def find(self, query: str) -> None:
        """Load what fits keywords best."""
        selection = self.agent.selection
        found = selection.search(query) if selection else []
        self._load(found)
        if not found:
            self.remarks.append(f"No tool fits the query {query!r}: try other keywords.")

    def result(self) -> ToolResult:
        """What became of it all, for the model."""
        if self.agent.selection is None:
            return ToolResult.error("Tools cannot be loaded any more: this model cannot take them.")
        lines = []
        if self.loaded:
            lines.append(f"Loaded: {', '.join(self.loaded)}")
        if self.available:
            lines.append(f"Already available: {', '.join(self.available)}")
        output = "\n".join([*lines, *self.remarks])
        return ToolResult(output, is_error=not lines)

    def _take_matches(self, pattern: Pattern) -> None:
        self._load(pattern.matches[:MAX_MATCHES])
        if not pattern.matches:
            self.remarks.append(
                f"No tool matches {pattern.text!r}: choose from the latest announcement."
            )
        elif left := pattern.matches[MAX_MATCHES:]:
            self.remarks.append(
                f"{pattern.text!r} matches {len(left)} more, which were left out (at most "
                f"{MAX_MATCHES} are loaded): name those that you need. They begin with {left[0]}."
            )

    def _load(self, names: Iterable[str]) -> None:
        selection, registry = self.agent.selection, self.agent.registry
        for name in names:
            entry = registry.get(name)
            if selection is None or entry is None or name in self.loaded:
                continue
            if selection.lacks(entry):
                selection.load([name])
                self.loaded[name] = None
            else:
                self.available[name] = None

    def _miss(self, name: str) -> None:
        """Say why there is no such tool, or which one may be meant."""
        decisions = self.agent.decisions()
        decision = next((each for each in decisions if each.name == name), None)
        if decision is not None:
            self.remarks.append(
                f"{name!r} is not active: {decision.reason}. Ask the user to enable it "
                f"({decision.remedy})."
            )
            return
        self.unknown += 1
        selection = self.agent.selection
        near = selection.near(name) if selection and self.unknown <= MAX_SUGGESTED else ()
        meant = f" Did you mean {', '.join(near)}?" if near else ""
        self.remarks.append(f"Unknown tool {name!r}: choose from the latest announcement.{meant}")
