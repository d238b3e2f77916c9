"""Names of files that hold secrets: those that are never opened, and those worth a question."""

from __future__ import annotations

# A sensitive path holds one of these; looking for them first keeps ordinary paths cheap.
_HINTS = (".env", "id_", "credentials")

_KEY_NAMES = ("id_rsa", "id_ed25519", "id_ecdsa")
_EXEMPT = frozenset(
    (".env.example", ".env.sample", ".env.template", *(f"{name}.pub" for name in _KEY_NAMES))
)
_EXACT = frozenset((".env", *_KEY_NAMES, "credentials"))
_PREFIXES = (*_KEY_NAMES, "credentials")
_COPY_SUFFIXES = frozenset(
    (
        ".bak",
        ".backup",
        ".copy",
        ".disabled",
        ".key",
        ".old",
        ".orig",
        ".pem",
        ".save",
        ".tmp",
    )
)
_CLOUD_STORES = ("/.aws/credentials", "/.gcp/credentials")
# `credentials_store.py` is code that handles secrets, not a secret.
_SOURCE_SUFFIXES = (
    *(".c", ".cc", ".cpp", ".cs", ".dart", ".ex", ".go", ".h", ".hpp", ".java", ".js", ".jsx"),
    *(".kt", ".lua", ".m", ".mjs", ".php", ".proto", ".py", ".pyi", ".rb", ".rs", ".scala"),
    *(".svelte", ".swift", ".ts", ".tsx", ".vue"),
)

_STORE_NAMES = frozenset(
    (
        ".envrc",
        ".git-credentials",
        ".netrc",
        ".npmrc",
        ".pgpass",
        ".pypirc",
        "_netrc",
        "application_default_credentials.json",
        "id_dsa",
    )
)
_STORE_SUFFIXES = (".p12", ".pfx", ".keystore", ".jks")
_STORE_PATHS = ("/.kube/config", "/.docker/config.json")
_SSH_PUBLIC = frozenset(("authorized_keys", "config", "known_hosts", "known_hosts.old"))


def is_sensitive_file(path: str) -> bool:
    """Tell whether a path names a secret that no file tool opens.

    Pure and case-insensitive: `.env` files, private keys and cloud credentials, and their copies.
    """
    folded = path.lower()
    if not any(hint in folded for hint in _HINTS):
        return False
    whole, name = _split(folded)
    if name in _EXEMPT:
        return False
    if name in _EXACT or name.startswith(".env."):
        return True
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            rest = name[len(prefix) :]
            if rest in _COPY_SUFFIXES:
                return True
            if rest[:1] in ("-", "_") and not rest.endswith(_SOURCE_SUFFIXES):
                return True
    return whole.endswith(_CLOUD_STORES) or any(f"{store}/" in whole for store in _CLOUD_STORES)


def is_secret_store(path: str) -> bool:
    """Tell whether a path names a file that often holds a secret, which is worth a question.

    Pure and case-insensitive; does not repeat the names of `is_sensitive_file`.
    """
    whole, name = _split(path.lower())
    if name in _STORE_NAMES or name.endswith(_STORE_SUFFIXES) or whole.endswith(_STORE_PATHS):
        return True
    if name.endswith(".json") and ("service-account" in name or "service_account" in name):
        return True
    in_ssh = whole[: -len(name) - 1].endswith("/.ssh")
    return in_ssh and name not in _SSH_PUBLIC and not name.endswith(".pub")


def _split(folded: str) -> tuple[str, str]:
    """Give the path with a leading and without a trailing slash, and its last name.

    A backslash separates too: a Windows spelling of a secret is a secret on every system.
    """
    whole = "/" + folded.replace("\\", "/").rstrip("/")
    return whole, whole[whole.rindex("/") + 1 :]
