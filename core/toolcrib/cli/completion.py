"""`toolcrib completion`: the script that teaches a shell to complete the command."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(
    epilog="""\b
Examples:
  toolcrib completion bash >> ~/.bashrc
  toolcrib completion zsh >> ~/.zshrc
  toolcrib completion fish > ~/.config/fish/completions/toolcrib.fish
"""
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell."""
    completion = get_completion_class(shell)
    assert completion is not None
    root = ctx.find_root().command
    click.echo(completion(root, {}, "toolcrib", "_TOOLCRIB_COMPLETE").source())
