"""Profiles build on each other; what one forbids stays forbidden in those that extend it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.config.load import load_settings
from toolcrib.config.permission import PermissionRule
from toolcrib.errors import ConfigError
from toolcrib.profiles import Profile, resolve_profile


def known(*profiles: Profile) -> dict[str, Profile]:
    return {profile.name: profile for profile in profiles}


def rule(pattern: str) -> PermissionRule:
    return PermissionRule(decision="deny", pattern=pattern)


def test_the_default_profile_needs_no_definition() -> None:
    default = resolve_profile("default", {})
    assert default.tools is None
    assert default.disallowed_tools == ()
    assert default.features == {}


def test_the_default_profile_can_be_defined_anew() -> None:
    assert resolve_profile("default", known(Profile(name="default", tools=("Read",)))).tools == (
        "Read",
    )


@pytest.mark.parametrize(
    ("parent", "child", "result"),
    [
        (None, None, None),
        (("Read",), None, ("Read",)),
        (("Read",), ("Bash",), ("Bash",)),
        (("Read",), ("*",), None),
        (("Read",), (), ()),
        ((), None, ()),
        (("*",), None, None),
        (("*",), ("Read",), ("Read",)),
    ],
)
def test_tools_of_the_child_replace_those_of_the_parent(
    parent: tuple[str, ...] | None,
    child: tuple[str, ...] | None,
    result: tuple[str, ...] | None,
) -> None:
    profiles = known(
        Profile(name="parent", tools=parent), Profile(name="child", extends="parent", tools=child)
    )
    assert resolve_profile("child", profiles).tools == result


def test_a_child_with_every_tool_keeps_what_its_parents_forbid() -> None:
    profiles = known(
        Profile(name="a", disallowed_tools=("Bash",)),
        Profile(name="b", extends="a", tools=("*",), disallowed_tools=("Write", "Bash")),
        Profile(name="c", extends="b", tools=("*",), disallowed_tools=()),
    )
    resolved = resolve_profile("c", profiles)
    assert resolved.tools is None
    assert resolved.disallowed_tools == ("Bash", "Write")


def test_features_merge_and_rules_add_up() -> None:
    profiles = known(
        Profile(
            name="a",
            description="d",
            when_to_use="w",
            features={"plan": True, "todo": True},
            mode="auto",
            rules=(rule("A"),),
        ),
        Profile(name="b", extends="a", features={"todo": False}, rules=(rule("B"),), mode="manual"),
        Profile(name="c", extends="a"),
    )
    b, c = resolve_profile("b", profiles), resolve_profile("c", profiles)
    assert b.features == {"plan": True, "todo": False}
    assert [one.pattern for one in b.rules] == ["A", "B"]
    assert (b.mode, c.mode) == ("manual", "auto")
    assert (c.description, c.when_to_use, c.extends, c.name) == ("d", "w", None, "c")


def test_an_unknown_profile_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="'review'"):
        resolve_profile("reviw", known(Profile(name="review")))


def test_an_unknown_parent_is_named_with_the_chain_and_its_place() -> None:
    profiles = known(
        Profile(name="a", extends="b"), Profile(name="b", extends="missing", source="f.toml:7")
    )
    with pytest.raises(ConfigError) as caught:
        resolve_profile("a", profiles)
    assert (caught.value.file, caught.value.line) == ("f.toml", 7)
    assert "a -> b -> missing" in str(caught.value)


def test_a_cycle_is_named_from_end_to_end() -> None:
    profiles = known(
        Profile(name="start", extends="a"),
        Profile(name="a", extends="b"),
        Profile(name="b", extends="a", source="my-plugin"),
    )
    with pytest.raises(ConfigError) as caught:
        resolve_profile("start", profiles)
    assert caught.value.file == "my-plugin"
    assert "a -> b -> a" in str(caught.value)


def test_a_profile_can_extend_the_default(workspace: Path, tmp_path: Path) -> None:
    file = tmp_path / "user.toml"
    file.write_text(
        """
        [profiles.quiet]
        extends = "default"
        features = ["plan"]
        disallowed_tools = ["Bash"]
        allow = "Read"
        [profiles.quieter]
        extends = "quiet"
        features = { plan = false, todo = true }
        tools = ["*"]
        mode = "manual"
        """
    )
    settings = load_settings(workspace=workspace, environ={}, config_file=file)
    quieter = resolve_profile("quieter", settings.profiles)
    assert quieter.tools is None
    assert quieter.disallowed_tools == ("Bash",)
    assert quieter.features == {"plan": False, "todo": True}
    assert quieter.mode == "manual"
    assert [one.source for one in quieter.rules] == [f"{file}:6"]
    assert quieter.source == f"{file}:7"


NAMES = st.lists(st.sampled_from(["Bash", "Read", "Write", "mcp__gh__*"]), max_size=3).map(tuple)


@given(st.lists(st.tuples(st.none() | NAMES | st.just(("*",)), NAMES), min_size=1, max_size=5))
def test_no_child_loses_a_ban(chain: list[tuple[tuple[str, ...] | None, tuple[str, ...]]]) -> None:
    profiles = known(
        *(
            Profile(
                name=str(depth),
                extends=str(depth - 1) if depth else None,
                tools=tools,
                disallowed_tools=banned,
            )
            for depth, (tools, banned) in enumerate(chain)
        )
    )
    resolved = resolve_profile(str(len(chain) - 1), profiles)
    assert set(resolved.disallowed_tools) == {name for _, banned in chain for name in banned}
