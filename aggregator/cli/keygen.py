"""The command keygen: an author's key pair."""

from __future__ import annotations

import os
from pathlib import Path

import click

from aggregator.cli import arguments, new_files, printing
from aggregator.cli.group import halftruth
from protocol import keys


@halftruth.command()
@click.argument("name", type=click.Path(path_type=Path))
@click.option("--name", "author_name", default="", help="Name of the author, shown to people; not verified.")
@arguments.as_json
def keygen(name: Path, author_name: str, as_json: bool) -> None:
    """Make a key pair: NAME.key signs campaigns; devices and studies trust NAME.pub."""
    if name.name in ("", ".."):
        raise click.UsageError(
            f"NAME {str(name)!r} names a folder: give a file name without an ending, such as analyst"
        )
    if not name.parent.is_dir():
        raise click.UsageError(f"the folder {name.parent} does not exist: create it first")
    secret, public = name.with_name(name.name + ".key"), name.with_name(name.name + ".pub")
    new_files.require_new(public)
    key = keys.SigningKey(os.urandom(keys.SECRET_BYTES))
    author = keys.AuthorKey(key.public, author_name.strip())
    with new_files.new_file(secret, mode=0o600) as file:
        file.write(key.line().encode())
    with new_files.new_file(public) as file:
        file.write(author.line().encode())
    if as_json:
        printing.print_json(
            {"secret": str(secret), "public": str(public), "name": author.name, "key": author.fingerprint_text}
        )
        return
    printing.say(f"{secret}  keep it secret: it signs campaigns in your name")
    printing.say(f"{public}  give it to devices and studies (key {author.fingerprint_text})")
