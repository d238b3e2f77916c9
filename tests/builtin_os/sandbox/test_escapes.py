"""Ways out of the sandbox, tried through the real tools: each fails, and the session goes on."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap exists for Linux only"),
    pytest.mark.timeout(120),
]


async def goes_on(inside: Any) -> None:
    """The session still works: commands run, and write to the workspace."""
    assert "still here" in await inside.bash("echo still here > proof.txt; cat proof.txt")
    assert (inside.machine.workspace / "proof.txt").read_text() == "still here\n"


@contextmanager
def listener(family: int, address: Any) -> Iterator[tuple[socket.socket, list[bool]]]:
    """A server of the host, which notes whether anybody connected."""
    connected: list[bool] = []
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.bind(address)
        server.listen()
        server.settimeout(0.05)
        over = threading.Event()

        def accept() -> None:
            while not over.is_set():
                try:
                    server.accept()[0].close()
                    connected.append(True)
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield server, connected
        finally:
            time.sleep(0.1)
            over.set()
            thread.join()


WRITES = {
    "absolute path": "echo x > {outside}/new",
    "parent folders": "echo x > ../outside/new",
    "an existing file": "echo x >> {outside}/file.txt",
    "symbolic link": "ln -s {outside} link; echo x > link/new",
    "hard link": "ln {home}/.profile hard && echo x >> hard",
    "root of itself": "echo x > /proc/self/root{outside}/new",
    "root of the first process": "echo x > /proc/1/root{outside}/new",
    "working directory of the first process": "echo x > /proc/1/cwd/../outside/new",
    "root of a host process": "echo x > /proc/{victim}/root{outside}/new",
    "removing": "rm -rf {outside} {home}",
    "moving": "mv {outside} {outside}2; mv {home}/.profile .",
    "remounting": "mount -o remount,rw / ; mount -o remount,rw,bind / ; echo x > {outside}/new",
    "binding": "mkdir m; mount --bind {root} m; echo x > m/outside/new",
    "unmounting": "umount -l {root}; umount -l /; umount /home /root; echo x > {outside}/new",
    "chroot": "chroot {root} /bin/sh -c 'echo x > /outside/new'; chroot /proc/1/root touch /x",
    "own namespaces": "unshare -Urm sh -c 'mount -o remount,rw /; echo x > {outside}/new'",
    "namespaces of a host process": "nsenter -t {victim} -a touch {outside}/new",
    "a device": "mknod disk b 254 0 && cat disk | head -c 10 && echo x > disk",
    "permissions": "chmod -R 777 {outside}; chown -R 12345 {outside}; echo x > {outside}/new",
    "times": "touch -d 2001-01-01 {outside}/file.txt",
    "attributes": "setfattr -n user.x -v y {outside}/file.txt; chattr +i {outside}/file.txt",
    "profile of the shell": "echo 'touch {outside}/new' >> {home}/.profile",
    "timed jobs": "(crontab -l; echo '* * * * * touch {outside}/new') | crontab -; "
    "echo '* * * * * root touch {outside}/new' > /etc/cron.d/new",
    "system": "echo x > /etc/toolcrib-escape; echo x > /usr/bin/toolcrib-escape",
}


@pytest.mark.parametrize("way", WRITES)
async def test_writing_outside_fails(
    way: str, inside: Any, victim: subprocess.Popen[bytes]
) -> None:
    """Nothing outside of the workspace is made, changed, moved or removed."""
    machine = inside.machine

    def state() -> list[tuple[str, bytes, os.stat_result]]:
        found = []
        for path in (machine.outside / "file.txt", machine.home / ".profile"):
            found.append((str(path), path.read_bytes(), path.stat()))
        return [
            (name, data, os.stat_result([*stat[:7], 0, stat[8], 0])) for name, data, stat in found
        ]

    before = state()
    await inside.bash(
        WRITES[way].format(
            outside=machine.outside, home=machine.home, root=machine.root, victim=victim.pid
        )
    )
    assert state() == before
    assert not (machine.outside / "new").exists()
    assert not Path("/etc/toolcrib-escape").exists()
    assert not Path("/usr/bin/toolcrib-escape").exists()
    assert not Path("/etc/cron.d/new").exists()
    await goes_on(inside)


READS = {
    "private key": "cat {home}/.ssh/id_ed25519; ls -la {home}/.ssh",
    "docker login": "cat {home}/.docker/config.json",
    "netrc": "cat {home}/.netrc; cat ~/.netrc",
    "state of toolcrib": "cat {home}/.local/state/toolcrib/*",
    "another home": "find {root}/outside -type f | xargs cat; cat {root}/outside/file.txt",
    "environment": "env; export -p; cat /proc/self/environ | tr '\\0' '\\n'",
    "environments of all": "cat /proc/*/environ | tr '\\0' '\\n'",
    "root of others": "cat /proc/1/root{home}/.netrc /proc/self/root{home}/.netrc",
    "through a link": "ln -s {home}/.ssh keys; cat keys/id_ed25519; cp -rL keys copy; cat copy/*",
    "copying": "cp -r {home}/.ssh . ; cat .ssh/*; tar c {home} | strings | grep secret",
    "unmounting": "umount {home}/.ssh; cat {home}/.ssh/id_ed25519",
    "memory": "cat /dev/mem /dev/kmem /proc/kcore 2>&1 | head -c 1000 | strings",
    "disks": "for d in /dev/sd* /dev/vd* /dev/nvme*; do head -c 100 $d; done; ls /dev",
    "passwords": "cat /etc/shadow; ls /etc/ssh/*_key && cat /etc/ssh/*_key",
    "workspace": "echo x; cat .env; cat sub/.env.local; cat sub/id_rsa",
}


@pytest.mark.parametrize("way", READS)
async def test_reading_a_secret_fails(way: str, inside: Any) -> None:
    """No command gets to see a secret."""
    machine = inside.machine
    (machine.workspace / "sub").mkdir()
    for name in (".env", "sub/.env.local", "sub/id_rsa"):
        (machine.workspace / name).write_text(machine.secret)
    output = await inside.bash(READS[way].format(home=machine.home, root=machine.root))
    assert "root:$" not in output and "PRIVATE KEY" not in output
    await goes_on(inside)


async def test_hidden_from_file_tools(inside: Any) -> None:
    """Read, Grep, Glob, Write and Edit see no more than commands do."""
    machine = inside.machine
    for path in (
        machine.home / ".netrc",
        machine.home / ".docker/config.json",
        machine.outside / "file.txt",
        machine.home / ".local/state/toolcrib/trusted.txt",
    ):
        assert (await inside.call("Read", path=str(path))).is_error
        for tool in ("Grep", "Glob"):
            await inside.call(tool, pattern="secret", path=str(path))
            await inside.call(tool, pattern="secret", path=str(path.parent))
    new = machine.outside / "new"
    assert (await inside.call("Write", path=str(new), content="x")).is_error
    assert not new.exists()
    profile = machine.home / ".profile"
    edit = {"path": str(profile), "old_string": "022", "new_string": "000"}
    assert (await inside.call("Edit", **edit)).is_error
    assert profile.read_text() == "umask 022\n"
    assert not (await inside.call("Write", path="new.txt", content="x")).is_error
    assert (machine.workspace / "new.txt").read_text() == "x"


async def test_environment_of_host_processes(inside: Any, victim: subprocess.Popen[bytes]) -> None:
    """A process of the host is not even there."""
    output = await inside.bash(
        f"cat /proc/{victim.pid}/environ; cat /proc/*/environ | tr '\\0' '\\n'; ls /proc"
    )
    assert "victims-own-secret" not in output
    assert str(victim.pid) not in output.split()
    await goes_on(inside)


CONNECT = """
import socket, sys
with socket.socket({family}) as s:
    s.settimeout(2)
    s.connect({address!r})
    print("connected")
"""


async def test_network_of_the_host(inside: Any) -> None:
    """A server of the host gets no connection."""
    with listener(socket.AF_INET, ("127.0.0.1", 0)) as (server, connected):
        port = server.getsockname()[1]
        output = await inside.bash(
            f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected; ip addr; ip route"
        )
        await inside.python(CONNECT.format(family="socket.AF_INET", address=("127.0.0.1", port)))
    assert not connected and "connected" not in output
    await goes_on(inside)


async def test_abstract_socket(inside: Any) -> None:
    """Sockets without a file belong to the network of the host."""
    name = f"\0toolcrib-{os.getpid()}"
    with listener(socket.AF_UNIX, name) as (_, connected):
        await inside.python(CONNECT.format(family="socket.AF_UNIX", address=name))
    assert not connected
    await goes_on(inside)


@pytest.mark.parametrize("where", ["/tmp", "/run", "home", "/opt", "workspace"])
async def test_socket_file(where: str, inside: Any) -> None:
    """The sockets of agents, displays and services are out of reach, wherever they lie."""
    machine = inside.machine
    folder = {"home": str(machine.home), "workspace": str(machine.workspace)}.get(where, where)
    if not os.access(folder, os.W_OK):
        pytest.skip(f"no socket can be made in {folder} by this user")
    path = f"{folder}/toolcrib-{os.getpid()}.sock"
    with listener(socket.AF_UNIX, path) as (_, connected):
        try:
            await inside.python(CONNECT.format(family="socket.AF_UNIX", address=path))
        finally:
            os.unlink(path)
    assert not connected
    await goes_on(inside)


async def test_names_and_raw_sockets(inside: Any) -> None:
    """Names are not looked up, and no odd family of sockets can be made."""
    output = await inside.python(
        """
import socket
for family, kind in ((socket.AF_PACKET, socket.SOCK_RAW), (socket.AF_INET, socket.SOCK_RAW),
                     (40, socket.SOCK_STREAM), (38, socket.SOCK_SEQPACKET)):
    try:
        socket.socket(family, kind)
        print("made", family, kind)
    except OSError as error:
        print("refused")
try:
    print("found", socket.getaddrinfo("example.org", 80))
except OSError:
    print("unknown")
"""
    )
    assert output.count("refused") == 4 and "made" not in output and "found" not in output
    await goes_on(inside)


KILLS = {
    "signal": "kill -9 {pid}; kill -TERM -{pid}; kill -0 {pid} && echo reached",
    "all": "kill -9 -1",
    "by name": "pkill -9 -f 'sleep 600'; killall -9 sleep",
    "debugger": "gdb -p {pid} -batch; strace -p {pid} & sleep 0.2",
    "host": "kill -9 {host}",
}


@pytest.mark.parametrize("way", KILLS)
async def test_killing_a_host_process(
    way: str, inside: Any, victim: subprocess.Popen[bytes]
) -> None:
    """Processes outside live on."""
    output = await inside.bash(KILLS[way].format(pid=victim.pid, host=os.getpid()))
    assert victim.poll() is None and "reached" not in output
    await goes_on(inside)


async def test_tracing_a_host_process(inside: Any, victim: subprocess.Popen[bytes]) -> None:
    """Neither ptrace nor the memory calls reach a process outside."""
    output = await inside.python(
        f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print("traced" if libc.ptrace(16, {victim.pid}, 0, 0) == 0 else "refused")
"""
    )
    assert "traced" not in output and victim.poll() is None
    await goes_on(inside)


BOMBS = {
    "shell": ":(){ :|:& };:; sleep 30",
    "perl": "perl -e 'fork while 1'",
    "slow": "for i in $(seq 500); do sleep 30 & done; wait",
}


@pytest.mark.parametrize("way", BOMBS)
async def test_fork_bomb(way: str, inside: Any) -> None:
    """Too many processes are ended all together, and the result says why."""
    result = await inside.call("Bash", command=BOMBS[way], timeout=30)
    assert result.is_error and "processes" in str(result.output)
    await wait_until(lambda: not leftovers(inside))
    await goes_on(inside)


def leftovers(inside: Any) -> list[str]:
    """Processes of the host that work in the workspace."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            cwd = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            continue
        if cwd == str(inside.machine.workspace):
            found.append(pid)
    return found


async def test_thread_bomb(inside: Any) -> None:
    output = await inside.python(
        "import threading, time\n"
        "threading.stack_size(65536)\n"
        "while True: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    assert "processes" in output or "can't start new thread" in output
    await goes_on(inside)


async def test_memory_bomb_of_one(inside: Any) -> None:
    """A process gets no more memory than is allowed."""
    output = await inside.python("x = bytearray(2_000_000_000)\nprint('got', len(x))\n")
    assert "got" not in output and "MemoryError" in output
    await goes_on(inside)


async def test_memory_bomb_of_many(inside: Any) -> None:
    """Nor do many processes together."""
    output = await inside.python(
        "import os, time\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        x = bytearray(b'x') * 100_000_000\n"
        "        time.sleep(30)\n"
        "        os._exit(0)\n"
        "time.sleep(30)\nprint('got it')\n"
    )
    assert "got it" not in output and "memory" in output
    await goes_on(inside)


async def test_full_tmp(inside: Any) -> None:
    """/tmp, /dev/shm and /var/tmp are small, and forgotten at the end."""
    output = await inside.bash(
        "for d in /tmp /var/tmp /dev/shm; do for i in 1 2 3; do "
        "head -c 15000000 /dev/zero > $d/fill$i; done; done; du -sm /tmp /var/tmp /dev/shm; "
        "echo x > /dev/new; echo x > /run/new"
    )
    assert output.count("No space left on device") >= 3
    assert not list(Path("/tmp").glob("fill*")) and not Path("/dev/new").exists()
    assert "fill" not in await inside.bash("ls /tmp /dev/shm")
    await goes_on(inside)


async def test_one_huge_file(inside: Any) -> None:
    result = await inside.call("Bash", command="head -c 100000000 /dev/zero > huge; echo $?")
    assert (inside.machine.workspace / "huge").stat().st_size <= 40 << 20
    assert "File size limit" in str(result.output) or "153" in str(result.output)
    await goes_on(inside)


async def test_full_disk(inside: Any) -> None:
    """A command that writes without end is ended, and told why."""
    result = await inside.call(
        "Bash",
        command="i=0; while :; do i=$((i+1)); head -c 30000000 /dev/zero > f$i; done",
        timeout=60,
    )
    assert "disk_mb" in str(result.output)
    total = sum(file.stat().st_size for file in inside.machine.workspace.glob("f*"))
    assert total < 2 << 30
    await goes_on(inside)


async def test_space_without_writing(inside: Any) -> None:
    """Taking disk space at once, without writing anything, is not possible."""
    output = await inside.bash("fallocate -l 30M big && echo took it; stat -c %b big")
    assert "took it" not in output
    await goes_on(inside)


async def test_floor_of_free_space(limited: Any) -> None:
    """A disk that gets full ends the command that fills it."""
    async with limited(free_disk_mb=1 << 30, disk_mb=1 << 20) as inside:
        result = await inside.call(
            "Bash",
            command="i=0; while [ $i -lt 40 ]; do i=$((i+1)); head -c 30000000 /dev/zero > f$i; "
            "sync; done; sleep 5",
            timeout=60,
        )
        assert "free_disk_mb" in str(result.output)
        assert "here" in await inside.bash("echo here")


async def test_processor_time_of_one(limited: Any) -> None:
    async with limited(cpu_s=1) as inside:
        result = await inside.call("Bash", command="while :; do :; done", timeout=30)
        assert result.is_error and "processor time" in str(result.output)
        await goes_on(inside)


async def test_processor_time_of_many(limited: Any) -> None:
    """Processes that come and go are counted together."""
    async with limited(cpu_s=1) as inside:
        result = await inside.call(
            "Bash",
            command="while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done",
            timeout=30,
        )
        assert "processor time" in str(result.output)
        await goes_on(inside)


async def test_typing_into_the_terminal(inside: Any) -> None:
    """Nothing can be typed for the user, as there is no terminal and the call is refused."""
    output = await inside.python(
        """
import fcntl, os
for path in ("/dev/tty", "/dev/pts/0", "/dev/console"):
    try:
        fcntl.ioctl(os.open(path, os.O_RDWR), 0x5412, b"x")
        print("typed")
    except OSError:
        print("refused")
master, slave = os.openpty()
try:
    fcntl.ioctl(slave, 0x5412, b"x")
    print("typed")
except OSError:
    print("refused")
"""
    )
    assert output.count("refused") == 4 and "typed" not in output
    await goes_on(inside)


SYSCALLS = {"x86_64": (248, 250, 321, 425, 298), "aarch64": (217, 219, 280, 425, 241)}


async def test_keys_and_kernel_interfaces(inside: Any) -> None:
    """The key rings of the user, BPF, io_uring and performance events are refused."""
    numbers = SYSCALLS[os.uname().machine]
    output = await inside.python(
        f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for number in {numbers}:
    print("passed" if libc.syscall(number, 0, -3, 0, 0, 0) >= 0 else ctypes.get_errno())
"""
    )
    assert set(output.split()) <= {"1", "38"}
    await goes_on(inside)


async def test_setuid_and_capabilities(inside: Any) -> None:
    """Programs with special rights give none."""
    output = await inside.bash(
        "su -c 'touch /etc/toolcrib-escape' </dev/null; sudo -n touch /etc/toolcrib-escape; "
        "cp /bin/sh shell; chmod 4755 shell; grep -E 'Cap(Prm|Eff|Bnd)|NoNew' /proc/self/status"
    )
    assert output.count("0000000000000000") == 3 and "NoNewPrivs:\t1" in output
    assert not Path("/etc/toolcrib-escape").exists()
    await goes_on(inside)


async def test_new_user_namespace(inside: Any) -> None:
    """There is no way to become root in a namespace of one's own."""
    output = await inside.bash("unshare -U id -u && echo made; unshare -Urm mount && echo made")
    assert "made" not in output
    await goes_on(inside)


async def test_kernel_settings(inside: Any) -> None:
    """Programs that the kernel starts outside cannot be named from inside."""
    before = Path("/proc/sys/kernel/core_pattern").read_text()
    output = await inside.bash(
        "echo '|/tmp/x' > /proc/sys/kernel/core_pattern && echo wrote; "
        "echo c > /proc/sysrq-trigger && echo wrote; "
        "for f in $(find /sys/fs/cgroup -name release_agent) /sys/kernel/uevent_helper; do "
        "echo /tmp/x > $f && echo wrote; done; "
        "mkdir /sys/fs/cgroup/escape && echo wrote; "
        "echo 1000000 > /proc/sys/kernel/pid_max && echo wrote"
    )
    assert "wrote" not in output
    assert Path("/proc/sys/kernel/core_pattern").read_text() == before
    await goes_on(inside)


@pytest.mark.parametrize(
    "how",
    [
        "setsid sh -c 'sleep 2; touch late' >/dev/null 2>&1 &",
        "(setsid nohup sh -c '(sleep 2; touch late) &' >/dev/null 2>&1 &)",
        "env -i setsid sh -c 'trap \"\" TERM HUP; sleep 2; touch late' >/dev/null 2>&1 & disown",
    ],
)
async def test_daemon_left_behind(how: str, inside: Any) -> None:
    """Nothing goes on after the end of the command."""
    await inside.bash(how)
    await wait_until(lambda: not leftovers(inside))
    await asyncio.sleep(2.2)
    assert not (inside.machine.workspace / "late").exists()
    await goes_on(inside)


async def test_rules_of_toolcrib(inside: Any) -> None:
    """Neither a command nor a file tool plants a configuration, be there one or not."""
    workspace = inside.machine.workspace
    plant = "echo '[sandbox]' > toolcrib.toml; mv x toolcrib.toml; rm -f toolcrib.toml; "
    plant += "mkdir -p .toolcrib; touch .toolcrib/x; mv .toolcrib t; ln -sf /etc toolcrib.toml"
    await inside.script(f"echo '[sandbox]' > x; {plant}")
    await wait_until(lambda: not (workspace / "toolcrib.toml").exists())
    await wait_until(lambda: not (workspace / ".toolcrib").exists())
    assert (await inside.call("Write", path="toolcrib.toml", content="[sandbox]\n")).is_error
    assert not (workspace / "toolcrib.toml").exists()
    (workspace / "toolcrib.toml").write_text("[tools]\ndisabled = []\n")
    await inside.script(f"echo '[sandbox]' > x; {plant}; cp x toolcrib.toml; sed -i s/t/x/ *.toml")
    assert (workspace / "toolcrib.toml").read_text() == "[tools]\ndisabled = []\n"


async def wait_until(condition: Any) -> None:
    """What is left of a command is tidied up behind it, in the background."""
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.01)
    assert condition()


async def test_hooks_of_git(inside: Any) -> None:
    """A repository works, but its hooks and configuration stay."""
    workspace = inside.machine.workspace
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "-q", "."], cwd=workspace, check=True)
    config = (workspace / ".git/config").read_bytes()
    hooks = sorted((workspace / ".git/hooks").iterdir())
    output = await inside.script(
        "echo 'touch x' > .git/hooks/pre-commit; git config core.fsmonitor 'touch y'; "
        "mv .git old; rm -rf .git/hooks; mv .git/hooks h; mv .git/config c; "
        "cp -r .git new && rm -rf .git; git config --file .git/config core.pager x; "
        "ln -sf /tmp .git/hooks; echo done"
    )
    assert "done" in output
    assert (workspace / ".git/config").read_bytes() == config
    assert sorted((workspace / ".git/hooks").iterdir()) == hooks
    hook = await inside.call("Write", path=".git/hooks/pre-commit", content="touch x\n")
    assert hook.is_error
    await goes_on(inside)
    subprocess.run(["rm", "-rf", ".git"], cwd=workspace, check=True)
    subprocess.run(["git", "init", "-q", "."], cwd=workspace, check=True)
    output = await inside.script(
        f"echo a > a; {' '.join(git)} add a && {' '.join(git)} commit -qm first; git log --oneline"
    )
    assert "first" in output


async def test_new_repository(inside: Any) -> None:
    """A command cannot make the workspace a repository with a configuration of its own."""
    workspace = inside.machine.workspace
    await inside.script(
        "git init; mkdir -p .git/hooks; echo x > .git/config; cp -r /etc .git; mv .git g"
    )
    await wait_until(lambda: not (workspace / ".git").exists())
    await goes_on(inside)


async def test_repository_that_points_elsewhere(inside: Any) -> None:
    """git is not sent to another configuration either; whoever tries is ended."""
    workspace = inside.machine.workspace
    subprocess.run(["git", "init", "-q", "."], cwd=workspace, check=True)
    output = await inside.script("mkdir e; echo ../e > .git/commondir; sleep 5; echo survived")
    assert "survived" not in output and "commondir" in output
    assert not (workspace / ".git/commondir").exists()
    await goes_on(inside)


async def test_trap_made_by_a_command_that_ends_at_once(inside: Any) -> None:
    """What a command makes is put aside too when nobody saw the command run."""
    workspace = inside.machine.workspace
    subprocess.run(["git", "init", "-q", "."], cwd=workspace, check=True)
    await inside.script("echo ../e > .git/commondir")
    await wait_until(lambda: not (workspace / ".git/commondir").exists())
    assert list((workspace / ".git").glob("commondir-from-sandbox-*"))
    await wait_until(lambda: not (workspace / ".git/modules").exists())


async def test_secret_in_a_folder_that_is_moved(inside: Any) -> None:
    """A secret stays hidden where it is not looked for, and behind a crowd of files."""
    workspace = inside.machine.workspace
    (workspace / "sub").mkdir()
    (workspace / "sub/.env").write_text(inside.machine.secret)
    assert "node" in await inside.script("mv sub node_modules; ls; cat node_modules/.e*")
    await inside.script("cat node_modules/.e*; touch $(seq 4100); mkdir a; mv node_modules a/b")
    await inside.script("cat a/b/.e*; mv a/b c")
    await inside.script("cat c/.e*")
    assert (workspace / "c/.env").read_text() == inside.machine.secret


async def test_folders_of_git_that_others_swap(inside: Any) -> None:
    """A command cannot make what another one, started meanwhile, mounts by its name."""
    workspace = inside.machine.workspace
    subprocess.run(["git", "init", "-q", "."], cwd=workspace, check=True)
    output = await inside.script(
        "for f in modules worktrees hooks; do mv .git/$f x || ln -sfn /etc .git/$f; "
        "echo x > .git/$f/new; mv .git/$f y; done"
    )
    assert "busy" in output.lower()
    await wait_until(lambda: not (workspace / ".git/worktrees").exists())
    assert (workspace / ".git/hooks").is_dir() and not (workspace / ".git/hooks").is_symlink()


async def test_processes_and_devices_by_file_tools(inside: Any) -> None:
    """File tools see nothing of the processes and the shared memory of the host."""
    for path in ("/proc/self/environ", f"/proc/{os.getpid()}/cmdline", "/dev/shm", "/proc/1/root"):
        assert (await inside.call("Read", path=path)).is_error
        assert (await inside.call("Glob", pattern="*", path=path)).is_error


async def test_race_of_links(inside: Any) -> None:
    """File tools are not led outside by a path that changes all the time."""
    machine = inside.machine
    (machine.workspace / "real").mkdir()
    (machine.workspace / "real/file.txt").write_text("inside\n")
    over = threading.Event()

    def swap() -> None:
        link = machine.workspace / "swap"
        while not over.is_set():
            for target in (machine.workspace / "real", machine.outside):
                new = machine.workspace / "swap.new"
                new.symlink_to(target)
                new.replace(link)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        before = (machine.outside / "file.txt").read_bytes()
        for number in range(40):
            await inside.call("Read", path="swap/file.txt")
            await inside.call("Write", path="swap/file.txt", content=f"{number}\n")
            await inside.call("Write", path="swap/made.txt", content="x")
    finally:
        over.set()
        thread.join()
    assert (machine.outside / "file.txt").read_bytes() == before
    assert not (machine.outside / "made.txt").exists()
    await goes_on(inside)


async def test_swapping_the_working_directory(inside: Any) -> None:
    """A command cannot replace the workspace, nor the folder that it was started in."""
    machine = inside.machine
    (machine.workspace / "sub").mkdir()
    (machine.workspace / "out").symlink_to(machine.outside)
    await inside.bash(f"mv {machine.workspace} {machine.workspace}2; rmdir {machine.workspace}")
    assert machine.workspace.is_dir()
    result = await inside.call("Bash", command="echo x > new", cwd="out")
    assert result.is_error and not (machine.outside / "new").exists()
    await goes_on(inside)
