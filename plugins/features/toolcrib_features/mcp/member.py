"""One of an agent's MCP servers, and what becomes of its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from attrs import define, field, frozen

from toolcrib import McpServerStatus, ToolContribution, WithheldTool
from toolcrib_features.mcp.memory import Remembered, ServerMemory
from toolcrib_features.mcp.model import Listing, ServerConfig, State, ToolDefinition

if TYPE_CHECKING:
    from toolcrib_features.mcp.server import Server


@frozen(kw_only=True)
class Collision:
    """A tool that is not registered, since an earlier one has its name already.

    `collides_with` is the name of that tool as the same server calls it, or the other server.
    """

    name: str
    tool: str
    server: str
    kind: Literal["same_server", "other_server"]
    collides_with: str

    def __str__(self) -> str:
        whose = "its own tool" if self.kind == "same_server" else "a tool of the server"
        return (
            f"the tool {self.tool!r} is not registered: {whose} {self.collides_with!r} has the "
            f"name {self.name!r} already"
        )


@define(eq=False)
class Member:
    """One server: what is configured, what is known of it, and its life."""

    config: ServerConfig
    memory: ServerMemory
    known: Remembered = field(factory=Remembered)
    damaged: str | None = None
    """Why nobody can tell whether its tools are those that were accepted."""
    forgetful: str | None = None
    """Why what it lists in this session cannot be remembered for the next."""
    latest: Listing | None = None
    """What it has listed in this session."""
    server: Server | None = None
    removed: bool = False
    told: McpServerStatus | None = None
    """What those who follow were told last."""
    collisions: tuple[Collision, ...] = ()
    offered: tuple[ToolContribution, ...] = ()
    withheld: tuple[WithheldTool, ...] = ()
    made: dict[tuple[str, str], ToolContribution] = field(factory=dict)
    """The contributions by name and hash, so that a tool that stays is the same object."""
    extras: tuple[ToolContribution, ...] = ()
    extras_for: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        return self.config.enabled and self.config.problem is None

    @property
    def state(self) -> State:
        if self.removed:
            return "removed"
        if not self.config.enabled:
            return "disabled"
        if self.config.problem is not None:
            return "failed"
        return self.server.last_state if self.server is not None else "starting"

    @property
    def error(self) -> str | None:
        own = self.server.error if self.server is not None else None
        return self.config.problem or self.damaged or own

    def defines_otherwise(self, tool: ToolDefinition) -> bool:
        """Whether its last listing has another definition of a tool."""
        return any(
            now.name == tool.name and now.hash != tool.hash for now in self.known.listed or ()
        )

    @property
    def unsettled(self) -> bool:
        """Whether its tools are not known yet, and may come."""
        return self.usable and self.known.listed is None and self.state == "starting"

    @property
    def expecting(self) -> bool:
        """Whether tools may come that are not offered yet: its first ones, or those of a change."""
        lists_again = self.usable and self.server is not None and self.server.lists_again
        return self.unsettled or lists_again
