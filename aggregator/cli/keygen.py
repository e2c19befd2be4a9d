"""The command keygen: an author's key pair."""

from __future__ import annotations

import os
from pathlib import Path

import click

from aggregator.cli import shell
from aggregator.cli.shell import FAILED, Failure, halftruth
from protocol import keys


@halftruth.command()
@click.argument("name", type=click.Path(path_type=Path))
@shell.as_json
def keygen(name: Path, as_json: bool) -> None:
    """Make a key pair: NAME.key signs campaigns, NAME.pub is what devices and studies trust."""
    if not name.name:
        raise click.UsageError("NAME is what the files of the pair begin with, as analyst")
    secret, public = name.with_name(name.name + ".key"), name.with_name(name.name + ".pub")
    if public.exists():
        raise Failure(f"{public} exists; it is not overwritten", FAILED)
    key = keys.SigningKey(os.urandom(keys.SECRET_BYTES))
    with shell.new_file(secret, mode=0o600) as file:
        file.write(key.line().encode())
    with shell.new_file(public) as file:
        file.write(keys.public_line(key.public).encode())
    if as_json:
        shell.print_json({"secret": str(secret), "public": str(public), "key": key.id.hex()})
        return
    shell.say(f"{secret}  keep it: whoever has it can sign campaigns in your name")
    shell.say(f"{public}  give it to devices and studies (key {key.id.hex()})")
