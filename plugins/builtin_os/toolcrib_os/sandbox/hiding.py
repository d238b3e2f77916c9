"""What a command in the sandbox must not see: secrets, other people's homes, sockets, variables."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Collection, Iterator, Mapping
from glob import glob

HOMES = ("/home", "/root", "/Users", "/var/home", "/export/home", "/usr/home")
RUN = ("/run", "/var/run")
TEMPORARY = ("/tmp", "/var/tmp")

_IN_HOME = """
    .ssh .gnupg .aws .azure .gcp .oci .kube .docker .minikube .terraform.d .terraformrc .vault-token
    .netrc _netrc .npmrc .yarnrc .yarnrc.yml .pypirc .condarc .pip .config/pip .config/pypoetry
    .git-credentials .config/git/credentials .config/gh .config/glab-cli .config/hub
    .config/gcloud .config/doctl .config/heroku .config/netlify .netlify .fly .config/op
    .config/rclone .config/containers .config/sops .config/age .config/argocd .config/helm
    .boto .s3cfg .pgpass .my.cnf .mylogin.cnf .databrickscfg .snowflake .kaggle .huggingface
    .cache/huggingface/token .cache/huggingface/stored_tokens .cargo/credentials
    .cargo/credentials.toml .gem/credentials .bundle/config .composer/auth.json
    .config/composer/auth.json .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties
    .nuget/NuGet .config/NuGet .config/github-copilot .claude .claude.json .codex .gemini .ollama
    .config/anthropic .config/openai
    .password-store .local/share/keyrings .local/share/kwalletd .config/keepassxc .config/Bitwarden
    .config/1Password .1password .step .electrum .bitcoin .ethereum
    .mozilla .librewolf .thunderbird .config/google-chrome .config/chromium .config/BraveSoftware
    .config/microsoft-edge .config/vivaldi .config/opera .config/Code .config/Cursor snap .var/app
    .config/Slack .config/discord .config/Signal .local/share/TelegramDesktop
    .bash_history .zsh_history .python_history .psql_history .mysql_history .node_repl_history
    .sqlite_history .lesshst .viminfo .local/share/fish/fish_history
    .Xauthority .ICEauthority .dbus .cache/keyring
""".split()  # noqa: SIM905 - a list of so many names would have one on each line
_IN_SYSTEM = """
    /etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssl/private
    /etc/krb5.keytab /etc/wireguard /etc/kubernetes /etc/rancher /etc/docker
    /etc/NetworkManager/system-connections /var/lib/docker /var/lib/containerd /var/lib/kubelet
    /var/lib/mysql /var/lib/postgresql /var/lib/sss /var/lib/NetworkManager /var/spool/cron
    /var/backups /var/crash /var/mail /var/spool/mail /swapfile /swap.img
""".split()  # noqa: SIM905 - a list of so many names would have one on each line
_PATTERNS = ("/etc/ssh/ssh_host_*_key", "/mnt/?/Users")

_SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|KEY|AUTH(?!OR_)|COOKIE|BEARER|_CREDS?$|_PAT$|_PASS$|_PWD$|_DSN$",
    re.IGNORECASE,
)
# They lead to agents, displays, containers and terminals outside.
_LEADS_OUT = re.compile(
    r"SSH_.*|GPG_.*|DBUS_.*|DISPLAY|WAYLAND_.*|XAUTHORITY|ICEAUTHORITY|SESSION_MANAGER"
    r"|XDG_RUNTIME_DIR|DOCKER_HOST|CONTAINER_HOST|KUBECONFIG|PULSE_.*|NOTIFY_SOCKET|LISTEN_.*"
    r"|TMUX.*|STY|VSCODE_.*|WSL.*|.*_ASKPASS|.*_SOCK|.*_SOCKET"
)
_SECRET_VALUE = re.compile(
    r"://[^/\s@]*:[^/\s@]+@|://[^/\s@:]{16,}@|//hooks\.slack\.com/|/api/webhooks/"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{8,}\.eyJ[\w-]+\."
    r"|\b(?:gh[a-z]_|github_pat_|glpat-|sk-|sk_live_|xox[a-z]-|npm_|hf_|pypi-|AKIA|AIza)[\w-]{16}"
)
# Of the loader and of shells: in a folder that commands write to, it may load what they put there.
_STEERS_PROGRAMS = re.compile(
    r"LD_.*|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|ENV|BASH_ENV|SHELLOPTS|BASHOPTS|PS4"
)


def safe_environment(
    environment: Mapping[str, str], passed_on: Collection[str] = ()
) -> dict[str, str]:
    """The variables without those that hold secrets or lead out of the sandbox."""
    return {
        name: value
        for name, value in environment.items()
        if name in passed_on
        or not (
            _SECRET_NAME.search(name)
            or _LEADS_OUT.fullmatch(name)
            or _SECRET_VALUE.search(value)
            or name.startswith("BASH_FUNC_")
        )
    }


def steers_programs(name: str) -> bool:
    """Whether a variable makes any program that sees it run other code."""
    return _STEERS_PROGRAMS.fullmatch(name) is not None


def own_home(environment: Mapping[str, str]) -> str | None:
    """The real path of the user's home folder."""
    home = environment.get("HOME") or _registered_home()
    return os.path.realpath(home) if home and home.startswith("/") and home != "/" else None


def hidden_places(environment: Mapping[str, str]) -> Iterator[str]:
    """Absolute paths of what to hide on this machine, whether they exist or not."""
    yield from HOMES
    yield from RUN
    yield from _IN_SYSTEM
    for pattern in _PATTERNS:
        yield from glob(pattern)
    registered = _registered_home()
    if registered:
        yield registered
    home = own_home(environment)
    if home:
        yield from (f"{home}/{name}" for name in _IN_HOME)
    yield from toolcrib_folders(environment)


def toolcrib_folders(environment: Mapping[str, str]) -> tuple[str, str]:
    """Where the state and the configuration of toolcrib lie."""
    home = environment.get("HOME") or os.path.expanduser("~")
    # As the core finds them on Linux.
    state = environment.get("XDG_STATE_HOME", "").strip() or f"{home}/.local/state"
    config = environment.get("XDG_CONFIG_HOME", "").strip() or f"{home}/.config"
    return environment.get("TOOLCRIB_STATE") or f"{state}/toolcrib", f"{config}/toolcrib"


def listening_sockets() -> Iterator[str]:
    """The paths of the sockets that programs on this machine listen on.

    A read-only file system does not keep anyone from connecting to them.
    """
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.readlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.rstrip("\n").split(" ", 7)
        path = line.rstrip("\n").partition(" /")[2]
        if len(fields) == 8 and path:
            yield f"/{path}"


def _registered_home() -> str | None:
    try:
        home = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None
    return home if home.startswith("/") and home != "/" else None
