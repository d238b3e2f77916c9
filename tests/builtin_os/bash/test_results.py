"""What a command gives back: output, exit code, notes, and errors before it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolcrib.testing import ToolHarness


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("echo out; echo err >&2; echo out", "out\nerr\nout\n"),
        ("a=(1 2 3); echo ${a[@]:1}", "2 3\n"),
        ("cat <<'END'\n$HOME 'x'\nEND", "$HOME 'x'\n"),
        ("printf 'no newline'", "no newline"),
        ("echo '世界 🌍'", "世界 🌍\n"),
        ("printf '\\033[31mred\\033[0m\\n'", "red\n"),
        ("for i in $(seq 1 1000); do printf '\\r%d%%' $i; done", "1000%"),
        ("printf 'a\\r\\nb\\r\\n'", "a\nb\n"),
        ("printf 'a\\0b'", "a␀b"),
        ("printf 'ok\\xff'", "ok�"),
        ("printf '\\xc3'; sleep 0.2; printf '\\xa9'", "é"),
        ("printf '\\xe4\\xb8'", "�"),
        ("cat; echo end", "end\n"),
        ('read line; echo "$? $line"', "1 \n"),
    ],
)
async def test_output_is_text_in_the_order_of_writing(
    crib: ToolHarness, command: str, output: str
) -> None:
    """Streams are merged, escape codes and rewritten states are gone, UTF-8 is put together."""
    done = await crib.call("Bash", command=command)
    assert (done.outcome, done.result.is_error) == ("executed", False)
    assert done.result.output == output


async def test_lone_surrogates_reach_the_shell_as_replacement(crib: ToolHarness) -> None:
    done = await crib.call("Bash", command="echo '#\ud800#'")
    assert done.result.output == "#\ufffd#\n"


async def test_success_without_output_says_something(crib: ToolHarness) -> None:
    done = await crib.call("Bash", command="true")
    assert not done.result.is_error
    assert done.result.output


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        ("echo before; exit 3", ["before\n", "exit code 3"]),
        ("no_such_command_xyz", ["no_such_command_xyz", "127"]),
        ("echo alive; kill -9 $$", ["alive\n", "SIGKILL", "memory", "137"]),
        ("sh -c 'kill -SEGV $$'; exit $?", ["139", "SIGSEGV"]),
        ("exit 255", ["255"]),
        ("head -c1 </dev/tty", ["terminal"]),
        ("if [ -f x", ["exit code 2"]),
    ],
)
async def test_failure_tells_its_code_and_cause(
    crib: ToolHarness, command: str, facts: list[str]
) -> None:
    done = await crib.call("Bash", command=command)
    assert (done.outcome, done.result.is_error) == ("executed", True)
    for fact in facts:
        assert fact in str(done.result.output)


async def test_note_holds_exit_code_and_duration(crib: ToolHarness) -> None:
    done = await crib.call("Bash", command="exit 7")
    assert done.result.note is not None
    assert "exit code 7" in done.result.note
    assert "ms" in done.result.note


async def test_each_call_gets_a_fresh_shell(crib: ToolHarness, workspace: Path) -> None:
    (workspace / "sub").mkdir()
    await crib.call("Bash", command="x=1; cd sub")
    done = await crib.call("Bash", command='echo "[$x]"; pwd')
    assert done.result.output == f"[]\n{workspace}\n"


async def test_environment_says_that_nobody_watches(crib: ToolHarness) -> None:
    done = await crib.call(
        "Bash", command='echo "$TERM/$NO_COLOR/$GIT_TERMINAL_PROMPT/$PAGER/${SHELL##*/}"'
    )
    assert done.result.output == "dumb/1/0/cat/bash\n"


async def test_secrets_of_toolcrib_stay_out(workspace: Path) -> None:
    """Commands inherit the environment, and no token of toolcrib itself."""
    environ = {"TOOLCRIB_SERVE_TOKEN": "s3cret", "KEPT": "yes"}
    async with ToolHarness(workspace, environ=environ) as crib:
        done = await crib.call("Bash", command="env")
    assert "s3cret" not in str(done.result.output)
    assert "KEPT=yes\n" in str(done.result.output)


async def test_pager_does_not_wait(crib: ToolHarness) -> None:
    done = await crib.call("Bash", command="seq 1 300 >f; ${PAGER:-less} f | tail -1")
    assert done.result.output == "300\n"


async def test_output_beyond_the_budget_is_saved(crib: ToolHarness) -> None:
    """Head and tail stay, the exit code is not cut away."""
    done = await crib.call("Bash", command="seq 1 20000; exit 5")
    text = str(done.result.output)
    assert done.result.is_error and done.result.truncated
    assert text.endswith("exit code 5.")
    path = text.split("output_path: ")[1].split("\n")[0]
    saved = Path(path).read_text()
    assert saved == "".join(f"{n}\n" for n in range(1, 20001))


async def test_a_line_of_any_length_passes(crib: ToolHarness) -> None:
    """A line of 300,000 characters is no error, and saved whole."""
    done = await crib.call("Bash", command="head -c 300000 /dev/zero | tr '\\0' x; echo; echo end")
    text = str(done.result.output)
    assert not done.result.is_error
    path = text.split("output_path: ")[1].split("\n")[0]
    assert Path(path).read_text() == "x" * 300_000 + "\nend\n"


async def test_whoever_watches_sees_the_output_come(crib: ToolHarness) -> None:
    seen = []

    def listen(event: object) -> None:
        update = getattr(event, "update", None)
        if update is not None and update.kind == "stdout":
            seen.append(update.text)

    crib.session.subscribe(listen)
    await crib.call("Bash", command="echo one; sleep 0.1; echo two")
    assert seen == ["one\n", "two\n"]


async def test_cwd_is_where_the_command_runs(crib: ToolHarness, workspace: Path) -> None:
    (workspace / "sub dir").mkdir()
    for cwd in ("sub dir", str(workspace / "sub dir")):
        done = await crib.call("Bash", command="pwd -P", cwd=cwd)
        assert done.result.output == f"{workspace.resolve()}/sub dir\n"


async def test_cwd_keeps_the_spelling_of_the_workspace(crib: ToolHarness, workspace: Path) -> None:
    """A link inside the workspace is followed, and pwd shows the name that was given."""
    (workspace / "real").mkdir()
    (workspace / "link").symlink_to("real")
    done = await crib.call("Bash", command="pwd; pwd -P", cwd="link")
    assert done.result.output == f"{workspace}/link\n{workspace.resolve()}/real\n"


@pytest.mark.parametrize("cwd", ["/", "..", "/tmp"])
async def test_cwd_outside_is_refused(crib: ToolHarness, workspace: Path, cwd: str) -> None:
    done = await crib.call("Bash", command="touch ran", cwd=cwd)
    assert (done.outcome, done.result.is_error) == ("resolution-failed", True)
    assert repr(cwd) in str(done.result.output)


async def test_cwd_that_leads_outside_by_a_link_is_refused(
    crib: ToolHarness, workspace: Path, tmp_path: Path
) -> None:
    (workspace / "out").symlink_to(tmp_path)
    done = await crib.call("Bash", command="touch ran", cwd="out")
    assert done.result.is_error
    assert not (tmp_path / "ran").exists()


async def test_missing_cwd_is_named_and_nothing_runs(crib: ToolHarness, workspace: Path) -> None:
    (workspace / "file").touch()
    for cwd in ("gone", "file"):
        done = await crib.call("Bash", command=f"touch {workspace}/ran", cwd=cwd)
        assert done.result.is_error
        assert repr(cwd) in str(done.result.output)
    assert not (workspace / "ran").exists()


async def test_a_deleted_directory_harms_only_calls_in_it(
    crib: ToolHarness, workspace: Path
) -> None:
    """A command may delete the directory it runs in; later ones run; without a root none can."""
    (workspace / "t").mkdir()
    done = await crib.call("Bash", command="rmdir ../t; echo gone", cwd="t")
    assert done.result.output == "gone\n"
    done = await crib.call("Bash", command="pwd")
    assert done.result.output == f"{workspace}\n"
    os.rmdir(workspace)
    done = await crib.call("Bash", command="cd /")
    assert done.result.is_error
    assert str(workspace) in str(done.result.output)


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"command": ""}, "command"),
        ({"command": " \n"}, "command"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "echo x", "timeout": 0}, "timeout"),
        ({"command": "echo x", "timeout": -1}, "timeout"),
        ({"command": "echo x", "timeout": 1.5}, "timeout"),
        ({"command": "echo x", "disable_timeout": True}, "run_in_background"),
    ],
)
async def test_bad_arguments_never_start_a_shell(
    crib: ToolHarness, arguments: dict[str, object], fact: str
) -> None:
    done = await crib.call("Bash", arguments)
    assert (done.outcome, done.result.is_error) == ("preflight-rejected", True)
    assert fact in str(done.result.output)


async def test_a_timeout_above_the_maximum_is_cut_and_said(crib: ToolHarness) -> None:
    done = await crib.call("Bash", command="echo x", timeout=120_000)
    assert done.result.output == "x\n"
    assert done.result.note is not None
    assert "120000" in done.result.note and "300" in done.result.note


async def test_a_command_too_long_for_the_system_is_explained(crib: ToolHarness) -> None:
    done = await crib.call("Bash", command=": " + "x" * 3_000_000)
    assert done.result.is_error
    assert "3000002" in str(done.result.output)


async def test_limits_come_from_the_configuration(
    workspace: Path,
) -> None:
    config = {"bash": {"default_timeout_s": 7, "max_timeout_s": 9}}
    async with ToolHarness(workspace, config=config) as crib:
        (bash,) = (tool for tool in crib.session.tools() if tool.name == "Bash")
        assert "7 unless given, at most 9" in bash.description
        done = await crib.call("Bash", command="echo x", timeout=10)
    assert done.result.note is not None and "9" in done.result.note


SESSION = """
import asyncio, json, sys, toolcrib

async def main():
    calls = [
        {"name": "Bash", "arguments": {"command": "echo \\xe9"}},
        {"name": "Grep", "arguments": {"pattern": "\\xe9", "output_mode": "content"}},
    ]
    async with toolcrib.open_session(sys.argv[1], mode="yolo", autoload=False) as session:
        done = {each.name: each.result.output async for each in session.execute(calls)}
    print(json.dumps(done))

asyncio.run(main())
"""


def test_programs_get_their_arguments_in_any_locale(workspace: Path, tmp_path: Path) -> None:
    """Python 3.14 and older encode them as the locale says, when nobody asks for UTF-8."""
    (workspace / "a.txt").write_text("é\n", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", SESSION, str(workspace)]
    ran = subprocess.run(command, env={**os.environ, **plain}, capture_output=True, check=True)
    assert json.loads(ran.stdout) == {"Bash": "é\n", "Grep": "a.txt:1:é"}
