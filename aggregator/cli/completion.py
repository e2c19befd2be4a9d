"""The command completion, and the completion of campaign names."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from aggregator.cli import printing
from aggregator.cli.group import halftruth
from protocol import codec, envelope
from protocol.envelope import Kind
from protocol.errors import HalftruthError

VARIABLE = "_HALFTRUTH_COMPLETE"
"""The environment variable by which a shell asks click for completions."""

SHELLS = ("bash", "zsh", "fish")


class CampaignName(click.ParamType[str]):
    """An argument that names a campaign of the study by name or id; completion offers the names in the study with their
    titles."""

    name = "campaign"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        folder = ctx.obj or ctx.find_root().params.get("study")
        if not isinstance(folder, Path):  # requests to an object store take too long for a key press
            return []
        from aggregator.study import Study  # imported here because only the completion of names needs it

        try:
            listed = Study.open(folder).listed()
        except (HalftruthError, OSError):  # a shell shows no errors during completion
            return []
        return [
            CompletionItem(entry.name, help=_title(entry.data)) for entry in listed if entry.name.startswith(incomplete)
        ]


def _title(data: bytes) -> str | None:
    """Return the title in a signed campaign, unverified, because an audit would delay the shell; None if the bytes have
    no title."""
    try:
        value = codec.decode(envelope.decode(data).unverified, limit=envelope.MAX_PAYLOAD[Kind.CAMPAIGN])
    except HalftruthError:
        return None
    title = value[0] if isinstance(value, list) and value else None
    return title if isinstance(title, str) else None


@halftruth.command()
@click.argument("shell_name", metavar="SHELL", type=click.Choice(SHELLS))
def completion(shell_name: str) -> None:
    """Print the script that completes commands, options, files and the study's campaigns in SHELL.

    \b
    bash: eval "$(halftruth completion bash)"    in ~/.bashrc
    zsh:  eval "$(halftruth completion zsh)"    in ~/.zshrc
    fish: halftruth completion fish > ~/.config/fish/completions/halftruth.fish

    The campaigns are completed from the study that --study or HALFTRUTH_STUDY names.
    """
    completer = get_completion_class(shell_name)
    if completer is None:
        raise click.UsageError(f"no completion for {shell_name}: expected one of {', '.join(SHELLS)}")
    printing.say(completer(halftruth, {}, "halftruth", VARIABLE).source())
