"""Plugins as they are installed: sound ones load, broken ones cost nothing but themselves."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.crib import Crib
from toolcrib.errors import PluginError
from toolcrib.plugins.entry_points import find_plugins
from toolcrib.plugins.loader import PluginHost, wanted_sources

GOOD = """
import toolcrib

@toolcrib.hookimpl
def contribute_tool():
    return toolcrib.ToolContribution(name="{name}", factory="p_nowhere:Tool")
"""


def good(name: str) -> str:
    return GOOD.format(name=name)


def load(**options: Any) -> PluginHost:
    return Crib.load(environ={}, **options).plugins


def reasons(host: PluginHost) -> dict[str, tuple[str, str]]:
    return {failure.plugin: (failure.stage, failure.reason) for failure in host.failures}


def offered(host: PluginHost) -> set[str]:
    return {contribution.name for _, contribution in host.contributions()}


BROKEN = {
    "missing": ("import p_no_such_module", "import", "p_no_such_module"),
    "exits": ("import sys; sys.exit(7)", "import", "7"),
    "raises": ("raise ValueError('bad day')", "import", "bad day"),
    "syntax": ("def", "import", "SyntaxError"),
    "panics": ("class Panic(BaseException): pass\nraise Panic('rust')", "import", "rust"),
    "typo": (
        "import toolcrib\n@toolcrib.hookimpl\ndef before_exekute(call): pass",
        "unknown-hook",
        "'before_execute'",
    ),
    "arguments": (
        "import toolcrib\n@toolcrib.hookimpl\ndef before_execute(cal): pass",
        "register",
        "cal",
    ),
    "future": ("TOOLCRIB_CONTRACT = 99", "version", "update toolcrib"),
    "past": ("TOOLCRIB_CONTRACT = 0", "version", "update the plugin"),
    "odd": ("TOOLCRIB_CONTRACT = 'one'", "version", "'one'"),
    "contributes": (
        "import toolcrib\n@toolcrib.hookimpl\ndef contribute_tool(): return 5/0",
        "contribute",
        "ZeroDivisionError",
    ),
    "rubbish": (
        "import toolcrib\n@toolcrib.hookimpl\ndef contribute_tool(): return ['Read']",
        "contribute",
        "'Read'",
    ),
    "leaves": (
        "import sys, toolcrib\n@toolcrib.hookimpl\ndef contribute_tool(): sys.exit()",
        "contribute",
        "sys.exit",
    ),
}


@pytest.mark.parametrize("kind", sorted(BROKEN))
def test_a_broken_plugin_is_reported_and_the_others_load(install: Any, kind: str) -> None:
    source, stage, told = BROKEN[kind]
    install("p-bad", broken=source)
    install("p-zgood", sound=good("Sound"))
    host = load()
    assert reasons(host)["broken"][0] == stage
    assert told in reasons(host)["broken"][1]
    assert host.records["sound"].status == "loaded"
    assert "Sound" in offered(host)
    assert "permissions" in host.records


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ("[toolcrib]\njust words\n", "entry_points.txt"),
        ("[toolcrib]\nbroken = no module at all:x\n", "no module at all"),
        ("[toolcrib]\nbroken = \n", "ValueError"),
        ("[toolcrib]\nbroken = os:no_such_thing\n", "no_such_thing"),
    ],
)
def test_entry_points_that_make_no_sense_are_reported(install: Any, raw: str, told: str) -> None:
    install("broken", raw=raw)
    install("p-good", sound=good("Sound"))
    host = load()
    assert told in reasons(host)["broken"][1]
    assert "Sound" in offered(host)


@pytest.mark.parametrize(
    "raw", [b"\xff\xfe\0", b"no section = x\n", b"", b"[console_scripts]\nx\n"]
)
def test_the_unreadable_entry_points_of_others_are_no_concern(install: Any, raw: bytes) -> None:
    install("p-strange", raw=raw)
    install("p-good", sound=good("Sound"))
    host = load()
    assert "Sound" in offered(host)
    assert "p-strange" not in reasons(host)


def test_a_plugin_may_be_an_attribute(install: Any, site: Path) -> None:
    (site / "p_holder.py").write_text("class Holder:\n    import p_inner as plugin")
    (site / "p_inner.py").write_text(good("Inner"))
    install("p-attribute", raw="[toolcrib]\ninner = p_holder:Holder.plugin [extra]\n")
    assert "Inner" in offered(load())


def test_our_own_plugins_come_first_and_the_order_is_always_the_same(
    install: Any, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("p-zz", late=good("Late"))
    install("p-aa", b=good("B"), a=good("A"), at=tmp_path / "other")
    monkeypatch.syspath_prepend(str(tmp_path / "other"))
    forwards = find_plugins()
    monkeypatch.setattr(sys, "path", [*reversed(sys.path)])
    assert find_plugins() == forwards
    strangers = [s.name for s in forwards if s.distribution != "toolcrib"]
    assert [name for name in strangers if name in ("late", "a", "b")] == ["a", "b", "late"]
    assert forwards[0].distribution == "toolcrib"


def test_a_name_that_is_taken_names_both(install: Any) -> None:
    install("p-first", same=good("First"))
    install("p-second", same=good("Second"))
    host = load()
    (failure,) = host.failures
    assert failure.stage == "duplicate"
    assert failure.distribution == "p-second"
    assert "'p-first'" in failure.reason
    assert offered(host) >= {"First"}
    assert "Second" not in offered(host)


@pytest.mark.parametrize("by", ["stops", "p-blocked.one", "P_Blocked_One"])
def test_a_blocked_plugin_is_never_imported(install: Any, by: str) -> None:
    install("p-blocked.one", stops="raise SystemExit('imported')")
    host = load(blocked=[by])
    assert host.records["stops"].status == "blocked"
    assert host.records["stops"].blocked_by == by
    assert host.failures == []


def test_the_same_distribution_by_two_ways_counts_once(
    install: Any, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `lib` and `lib64` are on some systems."""
    install("p-once", sound=good("Sound"))
    os.symlink(site, tmp_path / "lib64")
    monkeypatch.syspath_prepend(str(tmp_path / "lib64"))
    host = load()
    assert host.failures == []
    assert host.records["sound"].version == "1.0"


def test_an_older_copy_behind_the_first_does_not_count(install: Any, tmp_path: Path) -> None:
    install("p-twice", sound=good("Sound"), version="2.0")
    install("P_Twice", gone=good("Gone"), version="1.0", at=tmp_path / "old")
    sys.path.append(str(tmp_path / "old"))
    try:
        found = [s for s in find_plugins() if s.distribution == "p-twice"]
    finally:
        sys.path.remove(str(tmp_path / "old"))
    assert [(s.name, s.version) for s in found] == [("sound", "2.0")]


def test_what_an_interrupted_uninstall_leaves_hides_nothing(
    install: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("p-left", sound=good("Sound"), version="2.0")
    install("p-left", raw="", version="1.0", at=tmp_path / "rest", metadata=False)
    monkeypatch.syspath_prepend(str(tmp_path / "rest"))
    assert "sound" in load().records


def test_noise_does_not_reach_standard_output(
    install: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    install(
        "p-noisy",
        noisy="print('at import')" + good("Noisy").replace("():", "():\n    print('when asked')"),
    )
    assert "Noisy" in offered(load())
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "at import" in captured.err
    assert "when asked" in captured.err


@pytest.mark.parametrize("named", ["", "only", "p-chosen", "P.Chosen", " only , other"])
def test_without_autoload_only_those_named_are_loaded(install: Any, named: str) -> None:
    install("p-chosen", only=good("Chosen"))
    install("p-other", unwanted="raise SystemExit('imported')")
    environ = {"TOOLCRIB_DISABLE_PLUGIN_AUTOLOAD": "1", "TOOLCRIB_PLUGINS": named}
    sources = wanted_sources(environ, find_plugins())
    assert ("only" in [s.name for s in sources]) is bool(named)
    assert "unwanted" not in [s.name for s in sources]
    assert "permissions" in [s.name for s in sources]
    host = Crib.load(environ=environ).plugins
    assert host.failures == []
    assert ("Chosen" in offered(host)) is bool(named)


def test_autoload_off_loads_our_own_alone(install: Any) -> None:
    install("p-other", unwanted="raise SystemExit('imported')")
    host = load(autoload=False)
    assert host.failures == []
    assert {record.distribution for record in host.records.values()} == {"toolcrib"}


class TestRequired:
    """A plugin that somebody relies on has to work, or nothing runs."""

    @pytest.mark.parametrize(
        ("required", "blocked", "told"),
        [
            (["acme-policy"], [], "not installed"),
            (["feature-stale-guard"], ["feature-stale-guard"], "blocked"),
            (["toolcrib"], [], None),
            (["os-bash", "permissions"], [], None),
        ],
    )
    async def test_a_session_opens_only_with_it(
        self, tmp_path: Path, required: list[str], blocked: list[str], told: str | None
    ) -> None:
        config = {"plugins": {"required": required, "blocked": blocked}}
        if told is None:
            await toolcrib.open_session(tmp_path, autoload=False, overrides=config).aclose()
            return
        with pytest.raises(PluginError, match=told):
            toolcrib.open_session(tmp_path, autoload=False, overrides=config)

    async def test_one_with_a_fault_does_not_count(self, tmp_path: Path) -> None:
        class Guard:
            __name__ = "guard"

            @toolcrib.hookimpl
            def check_permission(self, call: object) -> None: ...

            @toolcrib.hookimpl
            def contribute_tool(self) -> object:
                raise RuntimeError("no licence")

        crib = Crib.load(autoload=False)
        crib.plugins.register(Guard(), "guard")
        with pytest.raises(PluginError, match="no licence"):
            crib.require(["guard"], [])
        await crib.aclose()
