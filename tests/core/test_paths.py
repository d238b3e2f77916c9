"""Path arguments: what they resolve to, which are refused, and where their links lead."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from posixpath import normpath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolcrib.errors import PathSecurityError
from toolcrib.paths import (
    Operation,
    Workspace,
    is_secret_store,
    is_sensitive_file,
    resolve_path_access,
)


def refusal(workspace: Workspace, path: str, operation: Operation = "read") -> PathSecurityError:
    """The error that resolving a path ends in."""
    with pytest.raises(PathSecurityError) as caught:
        workspace.resolve(path, operation)
    return caught.value


WS = Workspace("/ws", additional_dirs=("/lib",), home_dir="/home/u")


class TestSensitiveNames:
    @pytest.mark.parametrize(
        "path",
        [
            ".env",
            "a/.ENV.Local",
            "id_rsa",
            "id_rsa-old",
            "ID_ED25519.OLD",
            "credentials",
            "x/credentials",
            "credentials-prod",
            "credentials_eu.json",
            "credentials.bak",
            "x/.AWS/credentials",
            ".aws/credentials/part",
            r"C:\app\.env",
            ".env/",
        ],
    )
    def test_secrets_and_their_copies_are_sensitive(self, path: str) -> None:
        assert is_sensitive_file(path)

    @pytest.mark.parametrize(
        "path",
        [
            "",
            "/",
            ".env.example",
            ".env.TEMPLATE",
            "id_ed25519.pub",
            "credentials.json",
            "credentials.py",
            ".envrc",
            ".env_example",
            "id_rsa2",
            "server.key.example",
            "my.env",
        ],
    )
    def test_look_alikes_are_not_sensitive(self, path: str) -> None:
        assert not is_sensitive_file(path)

    @pytest.mark.parametrize("path", ["credentials_provider.ts", "src/id_rsa_test.go"])
    def test_source_files_about_secrets_are_not_sensitive(self, path: str) -> None:
        assert not is_sensitive_file(path)

    @pytest.mark.parametrize(
        "path",
        [
            "/home/u/.netrc",
            ".npmrc",
            "~/.kube/config",
            ".docker/config.json",
            "a/id_dsa",
            "cert.P12",
            "my-service-account-1.json",
            "/home/u/.ssh/work",
        ],
    )
    def test_usual_stores_of_secrets_are_worth_a_question(self, path: str) -> None:
        assert is_secret_store(path)
        assert not is_sensitive_file(path)

    @pytest.mark.parametrize(
        "path", ["kube/config", "config.json", "/home/u/.ssh/config", ".ssh/work.pub", "a.pem", ""]
    )
    def test_ordinary_files_are_no_stores(self, path: str) -> None:
        assert not is_secret_store(path)


class TestResolve:
    @pytest.mark.parametrize(
        ("path", "expected", "outside"),
        [
            ("a.py", "/ws/a.py", False),
            (".", "/ws", False),
            ("a/./b/../c", "/ws/a/c", False),
            ("src/", "/ws/src/", False),
            (" a ", "/ws/ a ", False),
            ("a\\b", "/ws/a\\b", False),
            ("a\nb\tc", "/ws/a\nb\tc", False),
            ("../lib/x", "/lib/x", False),
            ("//etc///hosts", "/etc/hosts", True),
            ("/ws-evil/a", "/ws-evil/a", True),
            ("~", "/home/u", True),
            ("~/n.txt", "/home/u/n.txt", True),
            ("~bob/a", "/ws/~bob/a", False),
            ("file:///ws/a%20b.txt", "/ws/a b.txt", False),
            ("FILE://localhost/etc/hosts", "/etc/hosts", True),
            ("./http://x", "/ws/http:/x", False),
        ],
    )
    def test_result(self, path: str, expected: str, outside: bool) -> None:
        resolved = WS.resolve(path, "read")
        assert (resolved.raw, resolved.path, resolved.outside_workspace) == (
            path,
            expected,
            outside,
        )

    @pytest.mark.parametrize("operation", ["read", "write", "search"])
    def test_a_relative_path_may_not_leave(self, operation: Operation) -> None:
        error = refusal(WS, "../x", operation)
        assert error.code == "PATH_OUTSIDE_WORKSPACE"
        assert error.path == "../x"
        assert "absolute" in str(error)

    @pytest.mark.parametrize("path", [".env", "/etc/.env", "~/.ssh/id_rsa", "file:///ws/.env"])
    def test_secrets_are_refused_inside_and_outside(self, path: str) -> None:
        assert refusal(WS, path).code == "PATH_SENSITIVE"

    def test_a_secret_is_told_before_a_wrong_place(self) -> None:
        assert refusal(WS, "../.env").code == "PATH_SENSITIVE"

    def test_a_search_may_start_at_a_secret(self) -> None:
        assert WS.resolve(".env", "search", check_sensitive=False).path == "/ws/.env"

    @pytest.mark.parametrize(
        "path",
        [
            "",
            "a\0b",
            "a\x1bb",
            "a\x7f",
            "\ud800",
            "x" * 5000,
            "é" * 3000,
            "http://host/a",
            "attachment://1",
            "s3://bucket/key",
            "file://host/share",
            "file:///a%00b",
        ],
    )
    def test_what_is_no_path_is_invalid(self, path: str) -> None:
        error = refusal(WS, path)
        assert error.code == "PATH_INVALID"
        assert len(str(error)) < 600

    def test_undecodable_file_names_can_be_given(self) -> None:
        name = os.fsdecode(b"caf\xe9.txt")
        assert WS.resolve(name, "read").path == f"/ws/{name}"

    def test_a_relative_working_directory_is_invalid(self) -> None:
        for cwd in ("ws", ""):
            with pytest.raises(PathSecurityError) as caught:
                resolve_path_access(
                    "a.py", cwd=cwd, workspace_dir="/ws", operation="read", home_dir=None
                )
            assert caught.value.code == "PATH_INVALID"

    def test_a_workspace_is_absolute(self) -> None:
        with pytest.raises(ValueError, match="absolute"):
            Workspace("ws")
        with pytest.raises(ValueError, match="absolute"):
            Workspace("/ws", additional_dirs=("lib",))

    @given(st.text(alphabet="a./~\\", max_size=20))
    def test_a_relative_path_never_escapes(self, path: str) -> None:
        try:
            resolved = WS.resolve(path, "read")
        except PathSecurityError:
            return
        assert normpath(resolved.path) == (resolved.path.rstrip("/") or "/")
        assert resolved.outside_workspace != WS.contains(resolved.path)
        if resolved.outside_workspace:
            assert path.startswith(("/", "~"))

    @given(st.text(max_size=60))
    def test_any_text_resolves_or_is_refused(self, path: str) -> None:
        try:
            assert WS.resolve(path, "write").path.startswith("/")
        except PathSecurityError as error:
            assert error.path == path


class TestWorkspace:
    @pytest.mark.parametrize(
        ("path", "shown"),
        [
            ("/ws/src/a.py", "src/a.py"),
            ("/ws", "."),
            ("/ws/", "."),
            ("/lib/x", "/lib/x"),
            ("/ws-evil/a", "/ws-evil/a"),
        ],
    )
    def test_paths_are_shown_relative_to_the_root(self, path: str, shown: str) -> None:
        assert WS.display(path) == shown

    def test_the_whole_disk_may_be_the_workspace(self) -> None:
        everything = Workspace("/")
        assert everything.contains("/")
        assert everything.contains("/etc/hosts")
        assert everything.display("/etc/hosts") == "etc/hosts"
        assert everything.display("/") == "."

    def test_containment_counts_segments_and_case(self) -> None:
        assert WS.contains("/ws")
        assert WS.contains("/lib/a")
        assert not WS.contains("/ws/../etc")
        assert not WS.contains("/wsx")
        assert not WS.contains("/WS")


@pytest.fixture
def real(tmp_path: Path) -> Workspace:
    """A workspace `ws` beside a folder `out`, on the disk."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "out").mkdir()
    return Workspace(str(tmp_path / "ws"))


def locate(workspace: Workspace, path: str, operation: Operation = "read") -> str:
    return workspace.locate(workspace.resolve(path, operation), operation)


def lost(workspace: Workspace, path: str, operation: Operation = "read") -> PathSecurityError:
    """The error that locating a path ends in."""
    with pytest.raises(PathSecurityError) as caught:
        locate(workspace, path, operation)
    return caught.value


class TestLocate:
    def test_a_plain_file_is_where_it_says(self, real: Workspace) -> None:
        Path(real.root, "a.txt").touch()
        assert locate(real, "a.txt") == f"{real.root}/a.txt"

    def test_a_missing_file_is_located_for_reading_and_writing(self, real: Workspace) -> None:
        assert locate(real, "new/b.txt") == f"{real.root}/new/b.txt"
        assert locate(real, "new/b.txt", "write") == f"{real.root}/new/b.txt"

    def test_a_link_inside_is_followed(self, real: Workspace) -> None:
        Path(real.root, "a.txt").touch()
        Path(real.root, "link").symlink_to("a.txt")
        assert locate(real, "link", "write") == f"{real.root}/a.txt"

    def test_a_link_to_a_secret_is_refused_with_its_real_path(self, real: Workspace) -> None:
        Path(real.root, ".env").touch()
        Path(real.root, "notes.txt").symlink_to(".env")
        error = lost(real, "notes.txt")
        assert error.code == "PATH_SENSITIVE"
        assert f"{real.root}/.env" in str(error)

    def test_a_link_to_a_secret_may_be_searched(self, real: Workspace) -> None:
        Path(real.root, ".env").touch()
        Path(real.root, "notes.txt").symlink_to(".env")
        resolved = real.resolve("notes.txt", "search")
        found = real.locate(resolved, "search", check_sensitive=False)
        assert found == f"{real.root}/.env"

    @pytest.mark.parametrize("operation", ["read", "write", "search"])
    def test_a_link_out_of_the_workspace_is_refused(
        self, real: Workspace, operation: Operation
    ) -> None:
        Path(real.root, "out").symlink_to("../out")
        error = lost(real, "out/x.txt", operation)
        assert error.code == "PATH_OUTSIDE_WORKSPACE"

    def test_a_link_into_an_additional_directory_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "ws").mkdir()
        (tmp_path / "out").mkdir()
        (tmp_path / "ws" / "link").symlink_to("../out")
        workspace = Workspace(str(tmp_path / "ws"), additional_dirs=(str(tmp_path / "out"),))
        assert locate(workspace, "link/x", "write") == str(tmp_path / "out" / "x")

    def test_the_workspace_may_be_reached_by_a_link(self, real: Workspace, tmp_path: Path) -> None:
        (tmp_path / "alias").symlink_to("ws")
        workspace = Workspace(str(tmp_path / "alias"))
        found = locate(workspace, "a.txt", "write")
        assert found == f"{real.root}/a.txt"
        assert workspace.display(found) == "a.txt"

    def test_an_outside_path_is_checked_for_secrets_alone(
        self, real: Workspace, tmp_path: Path
    ) -> None:
        (tmp_path / "out" / ".env").touch()
        (tmp_path / "out" / "plain").symlink_to("../ws")
        (tmp_path / "out" / "link").symlink_to(".env")
        assert locate(real, str(tmp_path / "out" / "plain")) == real.root
        assert lost(real, str(tmp_path / "out" / "link")).code == "PATH_SENSITIVE"

    @pytest.mark.parametrize("below", ["", "/deeper/x"])
    def test_a_link_to_nothing_is_missing_to_a_reader_and_refused_to_a_writer(
        self, real: Workspace, below: str
    ) -> None:
        Path(real.root, "link").symlink_to("gone")
        assert locate(real, f"link{below}") == f"{real.root}/gone{below}"
        assert lost(real, f"link{below}", "write").code == "PATH_INVALID"

    @pytest.mark.parametrize("operation", ["read", "write"])
    def test_a_circle_of_links_is_invalid(self, real: Workspace, operation: Operation) -> None:
        Path(real.root, "a").symlink_to("b")
        Path(real.root, "b").symlink_to("a")
        assert lost(real, "a/x", operation).code == "PATH_INVALID"

    def test_a_name_that_no_disk_can_hold_is_invalid(self, real: Workspace) -> None:
        assert lost(real, "x" * 300, "write").code == "PATH_INVALID"

    def test_a_trailing_slash_is_for_directories(self, real: Workspace) -> None:
        Path(real.root, "src").mkdir()
        assert locate(real, "src/", "search") == f"{real.root}/src"
        assert lost(real, "new/", "write").code == "PATH_INVALID"

    def test_a_path_below_a_file_is_left_to_the_tool(self, real: Workspace) -> None:
        Path(real.root, "a.txt").touch()
        assert locate(real, "a.txt/b", "write") == f"{real.root}/a.txt/b"

    @settings(max_examples=150, deadline=None)
    @given(
        links=st.lists(
            st.tuples(
                st.sampled_from(["a", "b", "d/a", "d/b"]),
                st.sampled_from(["a", "b", "d", "..", "../out", "d/a", "../..", "../ws/d", "c"]),
            ),
            max_size=4,
        ),
        path=st.lists(st.sampled_from(["a", "b", "d", "c"]), min_size=1, max_size=4).map("/".join),
        operation=st.sampled_from(["read", "write", "search"]),
    )
    def test_what_is_inside_is_never_located_outside(
        self, links: list[tuple[str, str]], path: str, operation: Operation
    ) -> None:
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder).resolve()
            (base / "ws" / "d").mkdir(parents=True)
            (base / "out").mkdir()
            for name, target in links:
                if not (base / "ws" / name).is_symlink():
                    (base / "ws" / name).symlink_to(target)
            workspace = Workspace(str(base / "ws"))
            try:
                found = locate(workspace, path, operation)
            except PathSecurityError:
                return
            assert workspace.contains(found)
            assert os.path.realpath(found) == found


class TestViewOfARuntime:
    """What a runtime hides, and where it lets nobody write."""

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        root = tmp_path / "ws"
        (root / "veiled").mkdir(parents=True)
        (root / "veiled" / "a.txt").write_text("a")
        (root / "out").mkdir()
        (root / "way").symlink_to("veiled")
        (root / "out" / "back").symlink_to("../a.txt")
        (root / "a.txt").write_text("a")
        return root

    @pytest.mark.parametrize("path", ["veiled", "veiled/", "./veiled/a.txt", "out/../veiled/new"])
    @pytest.mark.parametrize("operation", ["read", "write", "search"])
    def test_what_is_hidden_is_not_resolved(
        self, root: Path, path: str, operation: Operation
    ) -> None:
        workspace = Workspace(str(root), hidden=(f"{root}/veiled",))
        assert refusal(workspace, path, operation).code == "PATH_HIDDEN"

    @pytest.mark.parametrize("hidden", ["veiled", "way", "veiled/a.txt"])
    def test_links_to_it_are_not_followed(self, root: Path, hidden: str) -> None:
        """However the hidden place is spelled, and whichever name leads to it."""
        workspace = Workspace(str(root), hidden=(f"{root}/{hidden}",))
        for path in ("way/a.txt", "veiled/a.txt"):
            with pytest.raises(PathSecurityError) as caught:
                workspace.locate(workspace.resolve(path, "read"), "read")
            assert (caught.value.code, caught.value.path) == ("PATH_HIDDEN", path)

    def test_names_that_only_begin_alike_are_seen(self, root: Path) -> None:
        workspace = Workspace(str(root), hidden=(f"{root}/veil", f"{root}/a.tx"))
        for path in ("veiled/a.txt", "a.txt"):
            assert workspace.locate(workspace.resolve(path, "read"), "read").endswith("a.txt")

    @pytest.mark.parametrize(
        ("path", "allowed"),
        [
            ("out/new", True),
            ("out/a/b", True),
            ("a.txt", False),
            ("outer", False),
            ("/etc/x", False),
            ("out/back", False),
        ],
    )
    def test_only_below_what_is_writable_is_written(
        self, root: Path, path: str, allowed: bool
    ) -> None:
        workspace = Workspace(str(root), writable=(f"{root}/out",))
        resolved = workspace.resolve(path, "write")
        assert workspace.locate(resolved, "read")
        if allowed:
            assert workspace.locate(resolved, "write") == os.path.realpath(root / path)
        else:
            with pytest.raises(PathSecurityError) as caught:
                workspace.locate(resolved, "write")
            assert caught.value.code == "PATH_READ_ONLY"

    def test_nothing_is_writable_where_no_place_is(self, root: Path) -> None:
        workspace = Workspace(str(root), writable=())
        with pytest.raises(PathSecurityError):
            workspace.locate(workspace.resolve("a.txt", "write"), "write")


def test_what_is_read_only_stays_so_when_a_link_in_its_place_is_removed(tmp_path: Path) -> None:
    """Both the link and what it led to when it was looked at."""
    (tmp_path / "other").write_text("x")
    (tmp_path / "kept").symlink_to("other")
    workspace = Workspace(str(tmp_path), read_only=(f"{tmp_path}/kept",))
    assert not workspace.may_write(f"{tmp_path}/other")
    (tmp_path / "kept").unlink()
    assert not workspace.may_write(f"{tmp_path}/kept")
