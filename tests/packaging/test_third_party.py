"""Distributions of strangers: installed by pip, used through the installed command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

pytestmark = pytest.mark.timeout(300)

THIRD_PARTY = Path(__file__).parents[1] / "third_party"
ACME = THIRD_PARTY / "acme-tools"
BROKEN = sorted((THIRD_PARTY / "broken").iterdir())


@pytest.fixture(scope="module", params=["wheel", "editable"])
def acme(request: pytest.FixtureRequest, builder: Any, installed: Any) -> Iterator[Any]:
    """An environment with toolcrib and acme-tools, by wheel and in place; clean afterwards."""
    before = installed.files()
    if request.param == "wheel":
        installed.pip("install", *builder.wheels(ACME))
    else:
        installed.pip("install", "-e", str(ACME))
    yield installed
    installed.pip("uninstall", "-y", "acme-tools")
    assert installed.files() == before
    assert not installed.names("plugins") & {"acme-count", "acme-guard", "acme-stamp"}
    assert "AcmeCount" not in installed.names("tools")


def test_the_source_tree_is_not_used(installed: Any) -> None:
    code = "import toolcrib, toolcrib_os; print(toolcrib.__file__); print(toolcrib_os.__file__)"
    for file in installed.check(installed.path("python"), "-c", code).split():
        assert Path(file).is_relative_to(installed.folder)


def test_the_wheel_carries_what_is_no_python(installed: Any) -> None:
    files = {Path(file).as_posix() for file in installed.files()}
    for end in ("toolcrib/py.typed", "toolcrib_os/bash/description.md", "toolcrib_os/py.typed"):
        assert any(file.endswith(end) for file in files), end
    templates = [file for file in files if "/toolcrib/cli/templates/" in file]
    assert any(file.endswith(".gitignore.tmpl") for file in templates)


def test_its_tools_appear_and_work(acme: Any, tmp_path: Path) -> None:
    (listed,) = [tool for tool in acme.json("tools") if tool["name"] == "AcmeCount"]
    assert listed["plugin"] == "acme-count"
    assert listed["source"] == "plugin"
    assert "Files over 1000000 bytes are refused." in listed["description"]
    assert listed["parameters"]["required"] == ["path"]
    (tmp_path / "a.txt").write_text("one two\nthree\n", "utf-8")
    flags = ("--workspace", str(tmp_path), "--mode", "yolo")
    done = acme.call("AcmeCount", flags=flags, path="a.txt", unit="words")
    assert (done["outcome"], done["output"]) == ("executed", "3 words (stamped by acme)")


def test_its_plugins_are_listed_with_distribution_and_version(acme: Any) -> None:
    plugins = {p["name"]: p for p in acme.json("plugins") if p["distribution"] == "acme-tools"}
    assert set(plugins) == {
        "acme-count",
        "acme-crate",
        "acme-guard",
        "acme-profiles",
        "acme-shout",
        "acme-stamp",
    }
    assert {(p["version"], p["status"]) for p in plugins.values()} == {("1.2.3", "loaded")}
    assert plugins["acme-guard"]["hooks"] == ["before_execute"]
    assert plugins["acme-shout"]["contributions"] == ["AcmeShout"]
    assert not any(p["failures"] for p in plugins.values())


def test_its_configuration_section_reaches_the_tool(acme: Any, tmp_path: Path) -> None:
    (tmp_path / "toolcrib.toml").write_text("[acme]\nmax_bytes = 10\n", "utf-8")
    (tmp_path / "a.txt").write_text("longer than ten bytes", "utf-8")
    user = {"TOOLCRIB_CONFIG": str(tmp_path / "toolcrib.toml")}
    (listed,) = [tool for tool in acme.json("tools", **user) if tool["name"] == "AcmeCount"]
    assert "Files over 10 bytes" in listed["description"]
    flags = ("--workspace", str(tmp_path), "--mode", "yolo")
    done = acme.call("AcmeCount", flags=flags, variables=user, path="a.txt")
    assert done["is_error"]
    assert "10 bytes" in done["output"]


def test_its_before_execute_speaks_on_builtin_tools_too(acme: Any) -> None:
    done = acme.call("Bash", command="echo acme-secret")
    assert (done["outcome"], done["is_error"]) == ("vetoed", True)
    assert "acme-guard" in done["output"]
    assert acme.call("Bash", command="echo harmless")["output"].startswith("harmless")


def test_its_runtime_is_where_calls_act(acme: Any, tmp_path: Path) -> None:
    flags = ("--workspace", str(tmp_path), "--mode", "yolo")
    there = (*flags, "--runtime", "acme-crate")
    assert acme.call("Bash", flags=there, command="echo $ACME")["output"] == "crate\n"
    assert acme.call("Write", flags=there, path="a.txt", content="x")["is_error"]
    assert not acme.call("Write", flags=there, path="crate/a.txt", content="x")["is_error"]
    assert not acme.call("Write", flags=flags, path="a.txt", content="x")["is_error"]
    (plugin,) = [p for p in acme.json("plugins") if p["name"] == "acme-crate"]
    assert plugin["runtimes"] == ["acme-crate"]


def test_its_feature_is_a_switch(acme: Any) -> None:
    assert "AcmeShout" not in acme.names("tools")
    (decision,) = acme.json("explain", "AcmeShout")
    assert (decision["active"], decision["filter"]) == (False, "feature")
    assert "acme-extras" in decision["remedy"]
    assert "AcmeShout" in acme.names("tools", TOOLCRIB_FEATURE_ACME_EXTRAS="1")


def test_its_profile_leaves_its_tools_alone(acme: Any) -> None:
    assert acme.names("tools", "--profile", "acme-review") == {"AcmeCount", "Read"}
    (decision,) = acme.json("explain", "Bash", "--profile", "acme-review")
    assert (decision["active"], decision["filter"]) == (False, "profile")
    done = acme.call("Bash", flags=("--profile", "acme-review"), command="echo ran")
    assert done["outcome"] == "preflight-rejected"


def test_without_somebody_to_ask_a_strange_tool_does_not_run(acme: Any) -> None:
    done = acme.call("AcmeCount", flags=("--mode", "manual"), path="a.txt")
    assert (done["outcome"], done["is_error"]) == ("vetoed", True)


@pytest.mark.parametrize(
    "variables",
    [{"TOOLCRIB_DISABLE_PLUGIN_AUTOLOAD": "1", "TOOLCRIB_PLUGINS": "acme-count"}, {}],
    ids=["named", "all"],
)
def test_autoload_can_be_limited_to_named_plugins(acme: Any, variables: dict[str, str]) -> None:
    loaded = {n for n in acme.names("plugins", **variables) if n.startswith("acme-")}
    assert (loaded == {"acme-count"}) is bool(variables)


@pytest.mark.parametrize("name", ["acme-guard", "acme-tools"])
def test_it_can_be_blocked_by_plugin_and_by_distribution(
    acme: Any, name: str, tmp_path: Path
) -> None:
    config = tmp_path / "user.toml"
    config.write_text(f'[plugins]\nblocked = ["{name}"]\n', "utf-8")
    plugins = {p["name"]: p for p in acme.json("plugins", TOOLCRIB_CONFIG=str(config))}
    assert plugins["acme-guard"]["status"] == "blocked"
    assert plugins["acme-guard"]["blocked_by"] == name
    assert plugins["acme-count"]["status"] == ("blocked" if name == "acme-tools" else "loaded")


def test_its_types_are_checked_against_the_installed_package(
    installed: Any, tmp_path: Path
) -> None:
    """The marker `py.typed` and the lazy names of `toolcrib` serve a strict type checker."""
    pytest.importorskip("mypy")
    installed.mypy(ACME, cache=tmp_path)


Status = Literal["loaded", "failed", "blocked"]
FAULTS: list[tuple[str, Status, str | None, str]] = [
    ("broken-import", "failed", "import", "a_module_that_nobody_has_installed"),
    ("broken-exit", "failed", "import", "sys.exit"),
    ("broken-slow", "blocked", None, ""),
    ("broken-clash-tool", "loaded", "duplicate", "os-read"),
    ("broken-clash-plugin", "failed", "duplicate", "acme-tools"),
    ("broken-unknown-hook", "failed", "unknown-hook", "before_execute"),
    ("broken-version", "failed", "version", "99"),
    ("broken-contribute", "loaded", "contribute", "contribute_tool of broken-contribute"),
    ("broken-when", "loaded", "hook", "when of broken-when"),
    ("broken-factory", "loaded", "hook", "broken_hooks.nowhere"),
    ("broken-profile", "loaded", "contribute", "contribute_profile of broken-profile"),
]


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the slow plugin would leave a mark, and the configuration that blocks it."""
    folder = tmp_path_factory.mktemp("marks")
    (folder / "user.toml").write_text('[plugins]\nblocked = ["broken-slow"]\n', "utf-8")
    return folder


@pytest.fixture(scope="module")
def broken(builder: Any, own_wheel: str, marks: Path) -> Any:
    """An environment with acme-tools and every broken distribution at once."""
    environment = builder.environment("broken")
    environment.pip("install", own_wheel, *builder.wheels(ACME, *BROKEN))
    variables = {
        **environment.variables,
        "TOOLCRIB_CONFIG": str(marks / "user.toml"),
        "BROKEN_SLOW_MARKS": str(marks),
    }
    return type(environment)(environment.folder, builder.pip, variables)


@pytest.fixture(scope="module")
def reported(broken: Any) -> list[dict[str, Any]]:
    """What `toolcrib plugins --json` says of all of them."""
    plugins: list[dict[str, Any]] = broken.json("plugins")
    return plugins


@pytest.mark.parametrize(("name", "status", "stage", "reason"), FAULTS, ids=[f[0] for f in FAULTS])
def test_a_broken_plugin_is_named_with_its_fault(
    name: str, status: Status, stage: str | None, reason: str, reported: list[dict[str, Any]]
) -> None:
    (plugin,) = [p for p in reported if name in (p["name"], p["distribution"])]
    assert plugin["status"] == status
    stages = {failure["stage"] for failure in plugin["failures"]}
    assert stages == ({stage} if stage else set())
    assert all(reason in failure["reason"] for failure in plugin["failures"])


def test_every_broken_distribution_has_a_case() -> None:
    entry_points = {
        plugin
        for project in BROKEN
        for plugin in _entry_points((project / "pyproject.toml").read_text("utf-8"))
    }
    tried = {name for name, *_ in FAULTS}
    assert entry_points - tried == {"acme-count", "broken-before", "broken-did"}


def _entry_points(text: str) -> set[str]:
    import tomllib

    return set(tomllib.loads(text)["project"]["entry-points"]["toolcrib"])


def test_a_broken_plugin_costs_nothing_but_itself(
    broken: Any, acme: Any, reported: list[dict[str, Any]]
) -> None:
    """Whatever works without them works beside them."""
    assert acme.names("tools") <= broken.names("tools")
    assert acme.names("tools", "--profile", "acme-review") == broken.names(
        "tools", "--profile", "acme-review"
    )
    sound = {p["name"]: p for p in reported if not p["distribution"].startswith("broken-")}
    alone = {p["name"]: p for p in acme.json("plugins")}
    assert set(sound) == set(alone)
    for name, plugin in alone.items():
        for fact in ("status", "hooks", "contributions", "failures"):
            assert sound[name][fact] == plugin[fact]
    assert broken.call("Bash", command="echo ran")["output"].startswith("ran")


def test_a_blocked_plugin_is_never_imported(
    broken: Any, reported: list[dict[str, Any]], marks: Path
) -> None:
    (slow,) = [p for p in reported if p["name"] == "broken-slow"]
    assert slow["blocked_by"] == "broken-slow"
    (decision,) = broken.json("explain", "broken-slow")
    assert (decision["active"], decision["filter"]) == (False, "plugin")
    assert not (marks / "imported").exists()


def test_a_tool_with_a_taken_name_is_not_used(broken: Any) -> None:
    (listed,) = [tool for tool in broken.json("tools") if tool["name"] == "Read"]
    assert listed["plugin"] == "os-read"
    decisions = [d for d in broken.json("explain") if d["name"] == "Read"]
    assert {(d["plugin"], d["active"]) for d in decisions} == {
        ("os-read", True),
        ("broken-clash-tool", False),
    }


def test_a_raising_before_execute_denies_its_call(broken: Any) -> None:
    done = broken.call("BrokenBefore")
    assert (done["outcome"], done["is_error"]) == ("vetoed", True)
    assert "broken-before" in done["output"]


def test_a_raising_did_execute_leaves_the_output_and_a_note(broken: Any) -> None:
    done = broken.call("BrokenDid")
    assert (done["outcome"], done["output"], done["is_error"]) == (
        "executed",
        "the body ran",
        False,
    )
    assert "broken-did" in done["note"]


def test_no_broken_plugin_writes_to_standard_output(broken: Any) -> None:
    for command in ("tools", "explain", "plugins"):
        done = broken.run(broken.path("toolcrib"), command, "--json")
        assert isinstance(json.loads(done.stdout), list)
