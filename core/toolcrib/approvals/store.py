"""The approvals of one session: what its user allowed until it ends."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.config.permission import PermissionRule
from toolcrib.errors import StateError

if TYPE_CHECKING:
    from toolcrib.approvals.table import ApprovalTable


class SessionApprovals:
    """Rules that allow for the rest of a session, shared by its agents.

    They live in the memory of the session. What is written down is for people, who list and revoke
    with `toolcrib permissions` from another process: a row that is gone takes the rule away, a row
    that somebody added gives none. Without the file the rules hold until the session ends.

    Args:
        file: where approvals are written down; made when there is something to write.
        report: told once what is wrong with the file; the log `toolcrib` by default.
    """

    def __init__(
        self,
        file: Path,
        session_id: str,
        workspace: str,
        *,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.file = file
        self.session_id = session_id
        self.workspace = workspace
        self._report = report or logging.getLogger("toolcrib").warning
        self._reported = False
        self._held: dict[int, PermissionRule] = {}
        self._unwritten: dict[str, PermissionRule] = {}
        self._rules: tuple[PermissionRule, ...] = ()
        self._given_for: dict[str, object] = {}
        self._table: ApprovalTable | None = None
        self._version: int | None = None

    def rules(self) -> tuple[PermissionRule, ...]:
        """The rules that hold now."""
        if not self._rules or self._table is None:
            return self._rules
        try:
            version = self._table.version()
            if version != self._version:
                self._take_back(version)
        except StateError as error:
            self._tell(error)
        return self._rules

    def given_for(self, rule: str) -> object:
        """What the tool was defined as when the rule was last remembered."""
        return self._given_for.get(rule)

    def remember(
        self, rules: Sequence[str], *, tool: str, agent: str, defined_as: object = None
    ) -> None:
        """Allow what these rules cover from now on, just as they stand.

        Args:
            tool: of the call that was approved.
            agent: that made it.
            defined_as: what tells the tool from others that may come to have its name.
        """
        self._given_for.update(dict.fromkeys(rules, defined_as))
        held = {rule.pattern for rule in self.rules()}
        for pattern in dict.fromkeys(rules):
            if pattern not in held:
                self._unwritten[pattern] = _allowing(pattern, "session approval (not listed)")
        try:
            self._write(tool, agent)
        except StateError as error:
            self._tell(error)
        self._collect()

    def revoke(self, *rules: str) -> tuple[str, ...]:
        """Take rules back, all of them when none is named, and give those that held."""
        gone = {rule.pattern for rule in self.rules() if not rules or rule.pattern in rules}
        numbers = [number for number, rule in self._held.items() if rule.pattern in gone]
        for pattern in gone:
            self._unwritten.pop(pattern, None)
        for number in numbers:
            del self._held[number]
        self._collect()
        if self._table is not None:
            try:
                self._table.remove(numbers)
            except StateError as error:
                self._tell(error)
        return tuple(gone)

    def close(self) -> None:
        """End the approvals; nothing of the session is left in the file."""
        table, self._table = self._table, None
        self._held.clear()
        self._unwritten.clear()
        self._rules = ()
        if table is not None:
            try:
                try:
                    table.remove_session(self.session_id)
                finally:
                    table.close()
            except StateError as error:
                self._tell(error)

    def _write(self, tool: str, agent: str) -> None:
        if not self._unwritten:
            return
        if self._table is None:
            from toolcrib.approvals.table import ApprovalTable

            self._table = ApprovalTable(self.file)
            self._version = self._table.version()
        for pattern in list(self._unwritten):
            number = self._table.add(
                session=self.session_id,
                workspace=self.workspace,
                tool=tool,
                agent=agent,
                rule=pattern,
            )
            del self._unwritten[pattern]
            self._held[number] = _allowing(pattern, f"session approval {number}")

    def _take_back(self, version: int | None) -> None:
        """Drop the rules whose rows are gone; with the file, all that were written go."""
        assert self._table is not None
        if version is None:
            table, self._table = self._table, None
            self._held.clear()
            self._collect()
            table.close()
            return
        left = self._table.ids(self.session_id)
        self._held = {number: rule for number, rule in self._held.items() if number in left}
        self._version = version
        self._collect()

    def _collect(self) -> None:
        self._rules = (*self._held.values(), *self._unwritten.values())

    def _tell(self, error: StateError) -> None:
        if not self._reported:
            self._reported = True
            self._report(
                f"{error}. What is approved for this session holds until it ends, but "
                "`toolcrib permissions` may neither list nor revoke it; delete the file if it is "
                "damaged"
            )


def _allowing(pattern: str, source: str) -> PermissionRule:
    return PermissionRule(decision="allow", pattern=pattern, source=source)
