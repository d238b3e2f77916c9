"""Servers that come with a plugin, and are there while its feature is on."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from toolcrib import Feature, hookimpl
from toolcrib_features.mcp.layers import read_servers

TOOL = "mcp__plugin-acme_db__query"


@frozen
class Acme:
    """A plugin with a feature `acme` that brings servers."""

    servers: Any

    @hookimpl
    def contribute_feature(self) -> Feature:
        return Feature(name="acme", description="Acme's database.", mcp_servers=self.servers)


async def names(session: Any) -> set[str]:
    await session.settle_tools()
    return {tool.name for tool in session.tools() if tool.source == "mcp"}


async def test_its_tools_are_offered_and_called(place: Any, call: Any) -> None:
    db = place.server("db", "query")
    async with place.session(options={"plugins": [Acme({"db": db.entry})]}) as session:
        assert await names(session) == {TOOL}
        assert not (await call(session, TOOL)).result.is_error
        (config,) = read_servers(session).configs
        assert (config.name, config.source) == ("plugin-acme:db", "feature 'acme'")


async def test_without_its_feature_it_is_not_started(place: Any) -> None:
    db = place.server("db", "query")
    options = {"plugins": [Acme({"db": db.entry})]}
    async with place.session(options=options, features={"acme": False}) as session:
        assert await names(session) == set()
        assert "no feature that is on" in (session.explain(TOOL).reason or "")
    assert db.noted("starts") == []


@pytest.mark.parametrize("enabled", [True, False])
async def test_what_the_user_configures_under_its_name_replaces_it(
    place: Any, enabled: bool
) -> None:
    db, own = place.server("db", "query"), place.server("own", "other")
    place.configure(**{"plugin-acme:db": {**own.entry, "enabled": enabled}})
    async with place.session(options={"plugins": [Acme({"db": db.entry})]}) as session:
        assert await names(session) == ({"mcp__plugin-acme_db__other"} if enabled else set())
    assert db.noted("starts") == []


async def test_a_bad_entry_costs_only_itself(place: Any) -> None:
    db = place.server("db", "query")
    plugin = Acme({"db": db.entry, "bad": {"command": 5}, "worse": "text"})
    async with place.session(options={"plugins": [plugin]}) as session:
        assert await names(session) == {TOOL}
        problems = {one.name: one.problem for one in read_servers(session).configs}
    assert problems["plugin-acme:db"] is None
    assert "5" in str(problems["plugin-acme:bad"]) and problems["plugin-acme:worse"]


async def test_what_is_no_table_costs_the_plugin_its_feature_and_nothing_else(place: Any) -> None:
    db = place.server("db", "query")
    options = {"plugins": [Acme(["db"])]}
    async with place.session(db, options=options) as session:
        assert await names(session) == {"mcp__db__query"}
        assert "mcp_servers" in str(session.crib.plugins.failures)
