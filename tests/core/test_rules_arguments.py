"""Rules about one argument of a call, for tools that have no subject of their own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.errors import RuleError
from toolcrib.rules import arguments_matcher, is_every_call, names_argument
from toolcrib.rules.rule import escape

PROPERTIES = {
    "repo": {"type": "string"},
    "env": {"type": "string", "default": "prod"},
    "count": {"type": "integer"},
    "force": {"type": "boolean"},
    "paths": {"type": "array"},
}


def covers(rule_args: str, **arguments: Any) -> bool | None:
    """What the matcher says; None when it cannot tell."""
    try:
        return arguments_matcher(arguments, PROPERTIES)(rule_args)
    except RuleError:
        return None


@pytest.mark.parametrize(
    ("rule_args", "arguments", "covered"),
    [
        ("repo=acme/*", {"repo": "acme/site"}, True),
        ("repo=acme/*", {"repo": "evil/acme/site"}, False),
        ("repo=acme/*", {}, False),
        ("repo=acme/*", {"repo": None}, False),
        ("repo=acme/{site,shop}", {"repo": "acme/shop"}, True),
        ("repo=*", {"repo": ""}, True),
        ("repo=*", {}, False),
        ("repo=", {"repo": ""}, True),
        ("repo=", {"repo": "x"}, False),
        ("repo=a=b", {"repo": "a=b"}, True),
        ("repo=!acme/*", {"repo": "evil/x"}, True),
        ("repo=!acme/*", {"repo": "acme/x"}, False),
        ("!repo=acme/*", {"repo": "evil/x"}, True),
        ("!repo=acme/*", {"repo": "acme/x"}, False),
        ("!repo=acme/*", {}, None),
        ("env=prod", {}, True),
        ("env=prod", {"env": "test"}, False),
        ("!env=prod", {}, False),
        ("count=5", {"count": 5}, True),
        ("count=5", {"count": 50}, False),
        ("count=5", {"count": 5.0}, None),
        ("force=true", {"force": True}, True),
        ("force=true", {"force": False}, False),
        ("paths=*", {"paths": ["a"]}, None),
        ("repo=x", {"repo": {"name": "x"}}, None),
        ("rpeo=x", {"repo": "x"}, None),
        ("more=x", {"more": "x"}, True),
        ("acme/*", {"repo": "acme/x"}, None),
        ("=x", {"repo": "x"}, None),
        ("", {}, None),
        ("!", {}, None),
        ("!*", {}, None),
        ("*", {}, True),
        ("**", {"paths": ["a"]}, True),
        ("repo=/ws/*", {"repo": "/ws/../etc/passwd"}, None),
        ("repo=/ws/*", {"repo": "/ws/.."}, None),
        ("repo=/ws/*", {"repo": "..\\x"}, None),
        ("repo=/ws/*", {"repo": "/ws/..x"}, True),
        ("repo=/ws/../x", {"repo": "/ws/../x"}, True),
    ],
)
def test_a_rule_is_about_one_argument(
    rule_args: str, arguments: dict[str, Any], covered: bool | None
) -> None:
    assert covers(rule_args, **arguments) is covered


@pytest.mark.parametrize("properties", [None, True, [], {"repo": True}])
def test_a_strange_schema_only_leaves_more_untold(properties: object) -> None:
    assert arguments_matcher({"repo": "x"}, properties)("repo=x")
    with pytest.raises(RuleError):
        arguments_matcher({}, properties)("rpeo=x")


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
CALLS = st.dictionaries(st.sampled_from([*PROPERTIES, "more"]), VALUES | st.lists(VALUES))
RULES = st.text(alphabet="!*?=(){}[]|\\/.ar", max_size=12) | st.builds(
    "{}{}={}".format,
    st.sampled_from(["", "!", "!!"]),
    st.sampled_from([*PROPERTIES, "rpeo"]),
    st.text(alphabet="ab*?!/.", max_size=6),
)


@given(rule_args=RULES, arguments=CALLS)
def test_what_cannot_be_told_is_never_a_no(rule_args: str, arguments: dict[str, Any]) -> None:
    """A rule of another form, or about no argument of the tool, cannot pass for one that is not
    meant; a rule and its opposite are never both about a call, nor both not."""
    told = covers(rule_args, **arguments)
    if not names_argument(rule_args):
        assert told is (True if is_every_call(rule_args) else None)
    elif rule_args.lstrip("!").startswith("rpeo") and "rpeo" not in arguments:
        assert told is None
    elif not rule_args.startswith("!"):
        opposite = covers(f"!{rule_args}", **arguments)
        assert opposite is None or told is not None
        assert opposite is None or opposite is not told


@given(name=st.sampled_from(["repo", "env"]), value=st.text(max_size=20))
def test_an_escaped_value_covers_itself_and_no_other(name: str, value: str) -> None:
    rule_args = f"{name}={escape(value)}"
    assert covers(rule_args, **{name: value})
    assert not covers(rule_args, **{name: f"{value}x"})
