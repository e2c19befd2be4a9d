"""Types of arguments that name files, folders and studies, and the options --study and --json."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from aggregator.storage.paths import StoragePath, is_remote, storage_path
from aggregator.storage.remote import Remote, StoragePathError


class _PathOrBucket(click.Path):
    """A file, a folder or a path in a bucket; a path in a bucket is checked when it is used."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or not is_remote(value):
            return super().convert(value, param, ctx)
        try:
            return storage_path(value)
        except StoragePathError as error:
            self.fail(str(error), param, ctx)


class _NewFolder(click.Path):
    """The type of arguments for a new folder on a disk."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and is_remote(value):
            self.fail(
                f"{value} is in a bucket: name a folder on this machine, and copy that folder to the bucket", param, ctx
            )
        require_utf8(str(value))
        return super().convert(value, param, ctx)


study_path = _PathOrBucket(path_type=Path)
batches = _PathOrBucket(exists=True, readable=True, path_type=Path)
new_folder = _NewFolder(path_type=Path)
existing = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


def _take_study(ctx: click.Context, _: click.Parameter, study: StoragePath | None) -> None:
    """Replace the study that is named before the command by the one that is named after it."""
    if study is not None:
        ctx.obj = study


def in_study(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option --study to a command; it may also be given before the command's name."""
    return _with_study(command, "The study's folder, or s3://BUCKET/FOLDER")


def in_study_on_disk(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option --study to a command that refuses a study in a bucket."""
    return _with_study(command, "The study's folder, on a disk")


def _with_study(command: Callable[..., Any], described: str) -> Callable[..., Any]:
    named = click.option(
        "--study",
        type=study_path,
        expose_value=False,
        is_eager=True,
        callback=_take_study,
        help=f"{described}; may also be given before the command.",
        metavar="DIR",
    )
    return named(click.pass_context(command))


def study_folder(ctx: click.Context) -> StoragePath:
    """Return the folder, or the prefix in a bucket, that --study names."""
    folder = ctx.obj
    if not isinstance(folder, Path | Remote):
        raise click.UsageError("no study is named: give its folder with --study DIR, or set HALFTRUTH_STUDY")
    if isinstance(folder, Path) and folder.exists() and not folder.is_dir():
        raise click.UsageError(f"--study {folder} is a file: name a folder")
    require_utf8(str(folder))
    return folder


def require_utf8(folder: str) -> None:
    """Refuse a folder whose name the storage engine cannot represent."""
    try:
        folder.encode()
    except UnicodeEncodeError:
        raise click.UsageError(f"the name of the study's folder {folder!r} is not UTF-8: rename the folder") from None
