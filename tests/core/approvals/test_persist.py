"""An allow rule is written into the right file, or the file stays as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.approvals.files import edit_file
from toolcrib.approvals.persist import forget_rule, offered_scopes, remember_rule
from toolcrib.errors import ConfigError, RuleError
from toolcrib.rules import literal_rule, match_path_rule, parse_rule

if TYPE_CHECKING:
    from core.approvals.conftest import Home

RULE = "Bash(make test)"


def remember(home: Home, scope: str, pattern: str = RULE, **more: bool) -> str:
    return remember_rule(
        pattern,
        scope=scope,  # type: ignore[arg-type]
        workspace_root=home.workspace,
        environ=home.environ,
        **more,
    )


def forget(home: Home, scope: str, pattern: str = RULE) -> tuple[str, ...]:
    return forget_rule(
        pattern,
        scope=scope,  # type: ignore[arg-type]
        workspace_root=home.workspace,
        environ=home.environ,
    )


def allowed(home: Home) -> list[tuple[str, str]]:
    return [(rule.pattern, rule.source) for rule in home.rules() if rule.decision == "allow"]


def leftovers(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_the_first_rule_of_a_user_makes_the_file_and_its_folder(home: Home) -> None:
    place = remember(home, "user")
    assert place == f"{home.user_file}:1"
    assert home.user_file.parent.stat().st_mode & 0o777 == 0o700
    assert home.user_file.stat().st_mode & 0o777 == 0o600
    assert allowed(home) == [(RULE, f"{home.user_file}:1")]
    assert leftovers(home.user_file.parent) == ["toolcrib.toml"]


def test_a_rule_joins_those_that_are_there(home: Home) -> None:
    text = '# mine\n[permission]\nallow = [\n  "Read", # always\n]\ndeny = "Bash(rm *)"\n'
    home.write_user(text).chmod(0o640)
    assert remember(home, "user") == f"{home.user_file}:5"
    assert allowed(home) == [("Read", f"{home.user_file}:4"), (RULE, f"{home.user_file}:5")]
    assert home.user_file.read_text() == text.replace("ways\n", f'ways\n  "{RULE}",\n')
    assert home.user_file.stat().st_mode & 0o777 == 0o640


def test_a_rule_is_not_written_twice(home: Home) -> None:
    first = remember(home, "user")
    written = home.user_file.stat().st_mtime_ns
    assert remember(home, "user", f" {RULE} ") == first
    assert home.user_file.stat().st_mtime_ns == written


def test_the_file_that_a_variable_names_is_the_users(home: Home, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[tools]\ndisabled = []\n")
    environ = {**home.environ, "TOOLCRIB_CONFIG": str(own)}
    place = remember_rule(RULE, scope="user", workspace_root=home.workspace, environ=environ)
    assert place.startswith(f"{own}:")
    assert not home.user_file.exists()


def test_a_link_goes_on_pointing_to_the_file(home: Home, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text("# dots\n")
    home.user_file.parent.mkdir(parents=True)
    home.user_file.symlink_to(real)
    remember(home, "user")
    assert home.user_file.is_symlink()
    assert RULE in real.read_text()


def test_a_byte_order_mark_and_windows_line_ends_stay(home: Home) -> None:
    home.write_user("\ufeff[permission]\r\nallow = []\r\n")
    remember(home, "user")
    assert home.user_file.read_bytes() == (
        b'\xef\xbb\xbf[permission]\r\nallow = ["Bash(make test)"]\r\n'
    )


@pytest.mark.parametrize(
    "text", ["[permission\n", "a = 1\na = 2\n", "permission = 3\n", "x = '\\xff'\n\0"]
)
def test_a_file_with_an_error_is_not_touched(home: Home, text: str) -> None:
    home.write_user(text)
    with pytest.raises(ConfigError) as error:
        remember(home, "user")
    assert str(home.user_file) in str(error.value)
    assert home.user_file.read_text() == text
    assert leftovers(home.user_file.parent) == ["toolcrib.toml"]


def test_a_file_that_is_not_text_is_not_touched(home: Home) -> None:
    home.write_user("")
    home.user_file.write_bytes(b"# caf\xe9\n")
    with pytest.raises(ConfigError):
        remember(home, "user")
    assert home.user_file.read_bytes() == b"# caf\xe9\n"


@pytest.mark.parametrize("pattern", ["", "Bash(", "(x)", "Bash()", "Bash(\ud800)"])
def test_what_is_no_rule_to_allow_by_is_refused(home: Home, pattern: str) -> None:
    with pytest.raises(RuleError):
        remember(home, "user", pattern)
    assert not home.user_file.exists()


@given(subject=st.text(min_size=1, max_size=30))
def test_any_subject_can_be_written_down(
    subject: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The rule that is read back is the rule that was given."""
    from toolcrib.config.load import load_settings

    root = tmp_path_factory.mktemp("home")
    environ = {"HOME": str(root), "TOOLCRIB_STATE": str(root / "state"), "XDG_CONFIG_HOME": ""}
    rule = literal_rule("Bash", subject)
    remember_rule(rule, scope="user", workspace_root=root, environ=environ)
    (read,) = load_settings(workspace=root, environ=environ).permission.rules
    assert read.pattern == rule.strip()


def test_the_first_rule_of_a_project_makes_its_file_and_trusts_it(home: Home) -> None:
    """The user has said what may be done here, and nobody else has said anything."""
    remember(home, "project")
    assert home.trust_store.is_trusted(home.workspace)
    assert allowed(home) == [(RULE, f"{home.project_file}:1")]
    assert leftovers(home.workspace) == ["toolcrib.toml"]


def test_a_trusted_project_takes_a_rule(home: Home) -> None:
    home.write_project("[tools]\n")
    assert remember(home, "project").startswith(f"{home.project_file}:")
    assert [pattern for pattern, _ in allowed(home)] == [RULE]


@pytest.mark.parametrize("text", ["", "[permission]\nallow = ['Bash']\n"])
def test_a_project_that_came_with_a_file_is_never_trusted_by_an_answer(
    home: Home, text: str
) -> None:
    home.write_project(text, trusted=False)
    with pytest.raises(ConfigError):
        remember(home, "project")
    assert home.project_file.read_text() == text
    assert not home.trust_store.is_trusted(home.workspace)


@pytest.mark.parametrize("name", ["ws/.mcp.json", "ws/.toolcrib/mcp.json", ".mcp.json"])
def test_a_project_that_brings_servers_is_never_trusted_by_an_answer(home: Home, name: str) -> None:
    """They would be started then, and nobody was asked about that."""
    (home.root / ".git").mkdir()
    file = home.root / name
    file.parent.mkdir(exist_ok=True)
    file.write_text('{"mcpServers": {"x": {"command": "anything"}}}')
    assert "project" not in offered_scopes(home.workspace, home.environ)
    with pytest.raises(ConfigError) as caught:
        remember(home, "project")
    assert str(file) in str(caught.value)
    assert not home.project_file.exists()
    assert not home.trust_store.is_trusted(home.workspace)
    home.trust_store.trust(home.workspace)
    assert "project" in offered_scopes(home.workspace, home.environ)
    assert remember(home, "project") == f"{home.project_file}:1"


def test_a_link_to_nothing_counts_as_a_file_that_came_with_the_project(
    home: Home, tmp_path: Path
) -> None:
    home.project_file.symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(ConfigError):
        remember(home, "project")
    assert not (tmp_path / "elsewhere.toml").exists()
    assert not home.trust_store.is_trusted(home.workspace)


def test_a_project_that_cannot_be_trusted_gets_no_file(home: Home) -> None:
    """Or it would look like one that came with the project."""
    (home.root / "state").write_text("in the way")
    with pytest.raises(OSError):
        remember(home, "project")
    assert leftovers(home.workspace) == []


def test_a_folder_that_anybody_may_write_in_is_not_trusted(home: Home) -> None:
    home.workspace.chmod(0o777)
    with pytest.raises(ConfigError):
        remember(home, "project")
    assert not home.project_file.exists()
    assert not home.trust_store.is_trusted(home.workspace)


def test_a_path_in_the_project_is_written_as_seen_from_it(home: Home) -> None:
    home.write_project("")
    remember(home, "project", f"Write({home.workspace}/src/a.py)", about_path=True)
    assert [pattern for pattern, _ in allowed(home)] == ["Write(src/a.py)"]


def test_a_path_elsewhere_and_a_command_stay_as_they_are(home: Home) -> None:
    home.write_project("")
    elsewhere, command = f"Write({home.workspace}x/a.py)", f"Bash({home.workspace}/run)"
    remember(home, "project", elsewhere, about_path=True)
    remember(home, "project", command)
    assert [pattern for pattern, _ in allowed(home)] == [elsewhere, command]


@settings(deadline=None)
@given(name=st.text(st.characters(exclude_characters="\0/", codec="utf-8"), min_size=1))
def test_a_relative_rule_covers_the_same_path(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Also when the name looks like a home folder, a pattern or a negation."""
    root = tmp_path_factory.getbasetemp() / "ws(1)"
    root.mkdir(exist_ok=True)
    (root / "toolcrib.toml").unlink(missing_ok=True)
    environ = {"TOOLCRIB_TRUST_WORKSPACE": "1", "TOOLCRIB_STATE": str(root / "state")}
    if name in (".", "..") or name.strip() != name:
        return
    path = f"{root}/{name}"
    remember_rule(
        literal_rule("Read", path),
        scope="project",
        workspace_root=root,
        environ=environ,
        about_path=True,
    )
    import tomllib

    (rule,) = tomllib.loads((root / "toolcrib.toml").read_text())["permission"]["rules"]
    pattern = parse_rule(rule["pattern"]).arg_pattern
    assert pattern is not None and not pattern.startswith("/")
    assert match_path_rule(pattern, path, cwd=str(root), home_dir="/home/u")
    assert not match_path_rule(pattern, f"{root}/other/{name}", cwd=str(root), home_dir="/home/u")
    assert not match_path_rule(pattern, f"/home/u/{name}", cwd=str(root), home_dir="/home/u")


def test_a_rule_is_taken_out_where_it_stands(home: Home) -> None:
    before = "# mine\n[tools]\ndisabled = []\n"
    home.write_user(before)
    remember(home, "user")
    assert forget(home, "user") == (f"{home.user_file}:5",)
    assert home.user_file.read_text() == before
    assert forget(home, "user") == ()


def test_nothing_is_taken_out_of_a_file_that_is_not_there(home: Home) -> None:
    assert forget(home, "user") == ()
    assert forget(home, "project") == ()
    assert not home.user_file.parent.exists()


@pytest.mark.parametrize("decision", ["deny", "ask"])
def test_a_rule_that_denies_or_asks_is_not_taken_out(home: Home, decision: str) -> None:
    text = f'[permission]\n{decision} = ["{RULE}"]\n'
    home.write_user(text)
    assert forget(home, "user") == ()
    assert home.user_file.read_text() == text


@pytest.mark.parametrize("what", ["a pipe", "a device without end", "a huge file"])
def test_what_comes_with_a_workspace_is_not_read_without_end(home: Home, what: str) -> None:
    if what == "a pipe":
        os.mkfifo(home.project_file)
    elif what == "a huge file":
        home.project_file.touch()
        os.truncate(home.project_file, 1 << 40)
    else:
        home.project_file.symlink_to("/dev/zero")
    with pytest.raises(ConfigError):
        forget(home, "project")


def test_everything_is_offered_for_a_fresh_project(home: Home) -> None:
    scopes = offered_scopes(home.workspace, home.environ)
    assert scopes == ("once", "session", "project", "user")
    assert leftovers(home.workspace) == []


def test_a_project_is_offered_when_its_file_is_trusted(home: Home) -> None:
    home.write_project("", trusted=False)
    assert "project" not in offered_scopes(home.workspace, home.environ)
    home.write_project("")
    assert "project" in offered_scopes(home.workspace, home.environ)


def test_a_project_is_not_offered_when_others_may_write_there(home: Home) -> None:
    home.workspace.chmod(0o777)
    assert "project" not in offered_scopes(home.workspace, home.environ)


def test_a_project_whose_file_is_the_users_is_offered_as_such(home: Home) -> None:
    home.write_user("")
    assert offered_scopes(home.user_file.parent, home.environ) == ("once", "session", "user")


@pytest.mark.parametrize("kind", ["a file above", "no disk", "missing", "a folder"])
def test_a_user_whose_file_cannot_be_written_is_not_offered_it(
    home: Home, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "plain").write_text("")
    environ = dict(home.environ)
    if kind == "a file above":
        environ["XDG_CONFIG_HOME"] = str(tmp_path / "plain" / "config")
    elif kind == "no disk":
        environ["XDG_CONFIG_HOME"] = "/proc/sys/config"
    elif kind == "missing":
        environ["TOOLCRIB_CONFIG"] = str(tmp_path / "missing.toml")
    else:
        environ["TOOLCRIB_CONFIG"] = str(tmp_path)
    if kind != "no disk" or os.geteuid() != 0:  # root may write everywhere, until it tries
        assert "user" not in offered_scopes(home.workspace, environ)
    with pytest.raises((OSError, ConfigError)):
        remember_rule(RULE, scope="user", workspace_root=home.workspace, environ=environ)


def test_a_change_of_another_program_is_not_lost(home: Home) -> None:
    """An editor may save while a rule is on its way."""
    home.write_user("# before\n")

    def edit(text: str) -> str:
        home.user_file.write_text("# saved by an editor\n")
        return text + "# ours\n"

    with pytest.raises(ConfigError):
        edit_file(home.user_file, edit)
    assert home.user_file.read_text() == "# saved by an editor\n"
    assert leftovers(home.user_file.parent) == ["toolcrib.toml"]


def test_a_file_that_appears_meanwhile_is_not_replaced(home: Home) -> None:
    def edit(text: str) -> str:
        home.project_file.write_text("# cloned\n")
        return text + "# ours\n"

    with pytest.raises(FileExistsError):
        edit_file(home.project_file, edit, new_mode=0o600)
    assert home.project_file.read_text() == "# cloned\n"


def test_an_edit_that_fails_leaves_the_file(home: Home) -> None:
    home.write_user("# before\n")

    def edit(text: str) -> str:
        raise LookupError

    with pytest.raises(LookupError):
        edit_file(home.user_file, edit)
    assert home.user_file.read_text() == "# before\n"


def python(code: str, *arguments: str, home: Home) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        env={"PATH": os.environ["PATH"], **home.environ},
    )


def test_two_processes_write_without_losing_a_rule(home: Home) -> None:
    code = """
        import os, sys
        from toolcrib.approvals.persist import remember_rule
        for number in range(25):
            rule = f"Bash({sys.argv[2]} {number})"
            remember_rule(rule, scope="user", workspace_root=sys.argv[1], environ=os.environ)
    """
    running = [python(code, str(home.workspace), name, home=home) for name in ("one", "two")]
    assert [process.wait(60) for process in running] == [0, 0]
    wanted = {f"Bash({name} {number})" for name in ("one", "two") for number in range(25)}
    assert {pattern for pattern, _ in allowed(home)} == wanted
    assert leftovers(home.user_file.parent) == ["toolcrib.toml"]


def test_a_process_that_dies_before_the_last_step_leaves_the_old_file(home: Home) -> None:
    home.write_user("# before\n")
    code = """
        import os, signal, sys
        from pathlib import Path
        from toolcrib.approvals.files import edit_file
        rename = os.replace
        os.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
        edit_file(Path(sys.argv[1]), lambda text: text + "# after\\n")
    """
    assert python(code, str(home.user_file), home=home).wait(60) == -signal.SIGKILL
    assert home.user_file.read_text() == "# before\n"
    remember(home, "user")
    assert [pattern for pattern, _ in allowed(home)] == [RULE]


def test_a_full_disk_leaves_the_old_file(home: Home) -> None:
    """As the system says it when a file would grow over its limit."""
    home.write_user("# before\n")
    code = """
        import os, resource, signal, sys
        from pathlib import Path
        from toolcrib.approvals.files import edit_file
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4, 4))
        try:
            edit_file(Path(sys.argv[1]), lambda text: text + "# after\\n")
        except OSError:
            sys.exit(7)
    """
    assert python(code, str(home.user_file), home=home).wait(60) == 7
    assert home.user_file.read_text() == "# before\n"
    assert leftovers(home.user_file.parent) == ["toolcrib.toml"]
