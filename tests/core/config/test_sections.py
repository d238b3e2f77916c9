"""Classes marked with `settings` get the values of their table, with the types of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
import pytest
from annotated_types import Ge, MaxLen
from attrs import field, frozen

from toolcrib import settings
from toolcrib.config.sections import build_entries, build_section, check_section
from toolcrib.errors import ConfigError, ContractError

if TYPE_CHECKING:
    from core.config.conftest import Home


class Level(Enum):
    LOW = "low"
    HIGH = "high"


@frozen
class Server:
    url: str = ""
    ports: list[int] = field(factory=list)


def _short(instance: object, attribute: object, value: str) -> None:
    if len(value) > 3:
        raise ValueError(f"at most 3 characters, not {value!r}")


@settings("probe")
@frozen
class Probe:
    count: int = field(default=1, validator=attrs.validators.ge(1))
    ratio: float = 0.5
    on: bool = False
    name: str = field(default="abc", validator=_short)
    kind: Literal["a", "b", 3] = "a"
    level: Level = Level.LOW
    many: tuple[str, ...] = ()
    pair: tuple[int, str] = (1, "x")
    names: frozenset[str] = frozenset()
    table: Mapping[str, float] = field(factory=dict)
    maybe: int | None = None
    either: int | list[str] = 0
    where: Path = Path(".")
    server: Server = Server()
    servers: list[Server] = field(factory=list)
    anything: Any = None
    limited: Annotated[int, Ge(2)] = 2
    few: Annotated[list[int], MaxLen(2)] = field(factory=list)
    low: int = 0
    high: int = 10

    def __attrs_post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")


def test_an_absent_table_gives_the_defaults(home: Home) -> None:
    assert build_section(Probe, home.load()) == Probe()


GOOD: dict[str, tuple[str, object]] = {
    "count": ("5", 5),
    "ratio": ("2", 2.0),
    "on": ("true", True),
    "name": ("'x'", "x"),
    "kind": ("3", 3),
    "level": ("'high'", Level.HIGH),
    "many": ("['a', 'b']", ("a", "b")),
    "pair": ("[2, 'y']", (2, "y")),
    "names": ("['a', 'a']", frozenset({"a"})),
    "table": ("{ x = 1 }", {"x": 1.0}),
    "maybe": ("7", 7),
    "either": ("['a']", ["a"]),
    "where": ("'/tmp'", Path("/tmp")),
    "server": ("{ url = 'u', ports = [1] }", Server("u", [1])),
    "servers": ("[{ url = 'u' }, {}]", [Server("u"), Server()]),
    "anything": ("{ a = [1] }", {"a": [1]}),
    "limited": ("2", 2),
}


@pytest.mark.parametrize("key", GOOD)
def test_a_value_gets_the_type_of_its_field(key: str, home: Home) -> None:
    text, expected = GOOD[key]
    built = build_section(Probe, home.load(f"[probe]\n{key} = {text}\n"))
    assert getattr(built, key) == expected
    assert type(getattr(built, key)) is type(expected)


BAD: dict[str, tuple[str, str]] = {
    "text for int": ("count = '5'", "count"),
    "bool for int": ("count = true", "count"),
    "float for int": ("count = 1.0", "count"),
    "validator of attrs": ("count = 0", "count"),
    "own validator": ("name = 'long'", "name"),
    "bool for float": ("ratio = true", "ratio"),
    "int for bool": ("on = 1", "on"),
    "int for text": ("name = 1", "name"),
    "not a choice": ("kind = 'c'", "kind"),
    "true is not 1": ("level = true", "level"),
    "not a member": ("level = 'middle'", "level"),
    "a list is no member": ("level = ['low']", "level"),
    "a list is no choice": ("kind = ['a']", "kind"),
    "text for list": ("many = 'a'", "many"),
    "wrong element": ("many = ['a', 1]", "many[1]"),
    "short pair": ("pair = [1]", "pair"),
    "wrong value of a table": ("table = { x = 'y' }", "table.x"),
    "optional": ("maybe = 'x'", "maybe"),
    "neither": ("either = 1.5", "either"),
    "element of a union": ("either = ['a', 1]", "either[1]"),
    "nested": ("server = { url = 1 }", "server.url"),
    "nested unknown key": ("server = { uri = 'x' }", "server.uri"),
    "in a list of tables": ("servers = [{}, { ports = ['x'] }]", "servers[1].ports[0]"),
    "number for table": ("server = 1", "server"),
    "bound": ("limited = 1", "limited"),
    "length": ("few = [1, 2, 3]", "few"),
    "unknown key": ("coumt = 1", "coumt"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_misfit_is_reported_with_its_place(case: str, home: Home) -> None:
    text, key = BAD[case]
    loaded = home.load(f"# probe\n[probe]\n\n{text}\n")
    with pytest.raises(ConfigError) as caught:
        build_section(Probe, loaded)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (str(home.user_file), 4)
    assert problem.key == f"probe.{key}"


def test_an_unknown_key_is_answered_with_the_nearest(home: Home) -> None:
    with pytest.raises(ConfigError, match="'count'"):
        build_section(Probe, home.load("[probe]\ncoumt = 1\n"))


def test_a_check_of_several_fields_is_blamed_on_the_table(home: Home) -> None:
    with pytest.raises(ConfigError) as caught:
        build_section(Probe, home.load("[probe]\nlow = 5\nhigh = 3\n"))
    assert caught.value.key == "probe"
    assert caught.value.line == 1


def test_each_problem_names_the_source_that_wins(home: Home) -> None:
    home.trust()
    loaded = home.load(
        "[probe]\ncount = 'a'\nratio = 'b'\n",
        "[probe]\nratio = 'c'\n",
        env={"TOOLCRIB_PROBE__ON": "maybe"},
    )
    with pytest.raises(ConfigError) as caught:
        build_section(Probe, loaded)
    places = {(problem.key, problem.file, problem.line) for problem in caught.value.problems}
    assert places == {
        ("probe.count", str(home.user_file), 2),
        ("probe.ratio", str(home.project_file), 2),
        ("probe.on", "environment variable TOOLCRIB_PROBE__ON", None),
    }


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("count", "7", 7),
        ("ratio", "1", 1.0),
        ("on", "1", True),
        ("on", "false", False),
        ("name", "12", "12"),
        ("name", "a\nb", "a\nb"),
        ("kind", "b", "b"),
        ("kind", "3", 3),
        ("level", "high", Level.HIGH),
        ("many", '["a", "b"]', ("a", "b")),
        ("maybe", "3", 3),
        ("table", "{x = 1}", {"x": 1.0}),
    ],
)
def test_the_field_decides_what_an_environment_variable_means(
    key: str, text: str, expected: object, home: Home
) -> None:
    loaded = home.load(env={f"TOOLCRIB_PROBE__{key.upper()}": text})
    value = getattr(build_section(Probe, loaded), key)
    assert value == expected
    assert type(value) is type(expected)


def test_a_table_that_is_no_table_is_reported_at_load(home: Home) -> None:
    with pytest.raises(ConfigError) as caught:
        home.load("probe = 1\n")
    assert caught.value.key == "probe"


def test_a_class_without_the_mark_is_its_authors_mistake(home: Home) -> None:
    with pytest.raises(ContractError):
        build_section(Server, home.load())


def test_a_plugin_can_read_more_of_the_permission_table(home: Home) -> None:
    @settings("permission")
    @frozen
    class Guard:
        auto_respects_ask: bool = True

    loaded = home.load(
        "[permission]\ndefault_mode = 'yolo'\ndeny = 'Bash'\nauto_respects_ask = false\n"
    )
    assert build_section(Guard, loaded) == Guard(auto_respects_ask=False)


class TestEntries:
    """An array of tables: each entry an instance, all sources one after the other."""

    @settings("jobs", each_needs=("name",))
    @frozen(kw_only=True)
    class Job:
        name: str = ""
        level: int = field(default=1, validator=attrs.validators.ge(1))

    def test_each_has_its_place(self, home: Home) -> None:
        home.trust()
        loaded = home.load(
            "[[jobs]]\nname = 'a'\n\n[[jobs]]\nname = 'b'\nlevel = 2\n",
            "[[jobs]]\nname = 'c'\n",
            overrides={"jobs": [{"name": "d"}]},
        )
        assert build_entries(self.Job, loaded) == (
            (f"{home.user_file}:1", self.Job(name="a")),
            (f"{home.user_file}:4", self.Job(name="b", level=2)),
            (f"{home.project_file}:1", self.Job(name="c")),
            ("command line", self.Job(name="d")),
        )

    def test_there_may_be_none(self, home: Home) -> None:
        assert build_entries(self.Job, home.load()) == ()

    def test_all_faults_are_told_with_their_lines(self, home: Home) -> None:
        loaded = home.load("[[jobs]]\nlevel = 2\n[[jobs]]\nname = 'b'\nlevel = 0\nlevle = 1\n")
        with pytest.raises(ConfigError) as caught:
            build_entries(self.Job, loaded)
        told = [(problem.line, problem.key) for problem in caught.value.problems]
        assert told == [(1, "jobs[0]"), (6, "jobs[1].levle")]
        assert "'name'" in caught.value.problems[0].text

    def test_one_table_is_no_array(self, home: Home) -> None:
        with pytest.raises(ConfigError, match=r"\[\[jobs\]\]"):
            build_entries(self.Job, home.load("[jobs]\nname = 'a'\n"))

    def test_the_check_reads_them_the_same_way(self, home: Home) -> None:
        check_section(self.Job, home.load("[[jobs]]\nname = 'a'\n"))
        with pytest.raises(ConfigError):
            check_section(self.Job, home.load("[[jobs]]\n"))
        with pytest.raises(ConfigError):
            check_section(Probe, home.load("[probe]\ncount = 'x'\n"))

    def test_a_class_of_one_table_has_no_entries(self, home: Home) -> None:
        with pytest.raises(ContractError):
            build_entries(Probe, home.load())
