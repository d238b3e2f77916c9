"""Acme's rules for agents: nobody writes below `infra/`, the network is asked for, docs are free.

`protected` in the table `[acme_policy]` of toolcrib.toml names another folder than `infra`.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib import Approve, Ask, CommandAnalysis, Deny, Match, ToolCall, hookimpl, touches_path

NETWORK = frozenset(("curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "telnet"))
NETWORK_VERBS: Mapping[str, frozenset[str]] = {
    "git": frozenset(("clone", "fetch", "pull", "push", "ls-remote", "submodule")),
    "pip": frozenset(("install", "download", "index")),
    "npm": frozenset(("install", "i", "ci", "update", "publish")),
    "docker": frozenset(("pull", "push", "login", "build", "run")),
}
SAME_AS = {"pip3": "pip", "python": "pip", "python3": "pip", "podman": "docker"}


class Infra:
    """Stands behind the deny rules, before anything that somebody or a mode could say yes to."""

    @hookimpl(after="user-configured-deny")
    def check_permission(self, call: ToolCall) -> Deny | Ask | None:
        assert call.session is not None
        folder = call.session.section("acme_policy").get("protected", "infra")
        match touches_path(call, folder + "/**", "write"):
            case Match.YES:
                return Deny(f"{folder}/ is changed by pull requests only")
            case Match.PERHAPS:
                return Ask(f"it may write below {folder}/")
            case _:
                return None


class Network:
    """Stands behind the user's allow rules, so that these can let a command pass."""

    @hookimpl(after="user-configured-allow")
    async def check_permission(self, call: ToolCall) -> Ask | None:
        analysis = call.execution.analysis if call.execution else None
        reached = reaches_out(analysis) if analysis else None
        return Ask(f"{reached} uses the network") if reached else None


class Docs:
    """Stands at the end: what no rule and no mode has decided is free below `docs/`."""

    @hookimpl(before="fallback-ask", tools=["Write", "Edit"])
    def check_permission(self, call: ToolCall) -> Approve | None:
        # Of these tools, which write one file; a command may write there and elsewhere too.
        if touches_path(call, "docs/**", "write") is Match.YES:
            return Approve("docs/ is reviewed before it is published")
        return None


def reaches_out(analysis: CommandAnalysis) -> str | None:
    """The first command of a script that uses the network, or may; None when none does."""
    if analysis.unanalysable:
        return f"a script that cannot be read ({analysis.unanalysable})"
    for command in analysis.commands:
        program = command.program
        if not command.words:  # an assignment or a redirection, alone
            continue
        if program is None or program in NETWORK:
            return command.source
        verbs = NETWORK_VERBS.get(SAME_AS.get(program, program))
        # Any word will do: which one is the verb depends on the options in front of it.
        if verbs and any(not word.literal or word.text in verbs for word in command.words[1:]):
            return command.source
    return None


infra, network, docs = Infra(), Network(), Docs()
