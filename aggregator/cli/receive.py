"""The command receive: a service that stores uploads in the study's inbox."""

from __future__ import annotations

import ipaddress
import ssl
import time
from pathlib import Path

import click

from aggregator.cli import arguments, printing
from aggregator.cli.failure import BAD_DATA, Failure
from aggregator.cli.group import halftruth
from aggregator.cli.numbers import WholeNumber
from aggregator.receive import inbox
from aggregator.receive.app import MAX_UPLOAD_BYTES, PER_MINUTE, application
from aggregator.receive.server import BadAddress, Tls, bind, is_loopback, serve, server, url
from aggregator.study import Study


@halftruth.command()
@click.option(
    "--listen", default="127.0.0.1:8700", show_default=True, metavar="HOST:PORT", help="Address and port to listen on."
)
@click.option(
    "--max-bytes",
    type=WholeNumber(1024, 2**26),
    default=MAX_UPLOAD_BYTES,
    help=f"Maximum upload size in bytes. [default: {MAX_UPLOAD_BYTES:,}]",
)
@click.option(
    "--per-minute",
    type=WholeNumber(min=1),
    default=PER_MINUTE,
    show_default=True,
    help="Requests that one client may send per minute; after a pause, up to twice as many in one minute (three times "
    "as many around midnight UTC).",
)
@click.option("--tls-cert", type=arguments.existing, help="Certificate chain, PEM.")
@click.option("--tls-key", type=arguments.existing, help="Secret key of the certificate, PEM.")
@click.option("--forwarded-for", metavar="ADDRESS", help="Trust X-Forwarded-For from this proxy.")
@arguments.as_json
@arguments.in_study_on_disk
def receive(
    ctx: click.Context,
    listen: str,
    max_bytes: int,
    per_minute: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    forwarded_for: str | None,
    as_json: bool,
) -> None:
    """Receive uploads over HTTP until stopped, and store them in the study's inbox; `ingest` without PATHS counts them.

    A device gets an acknowledgement when its upload is on the disk. Addresses of clients are not stored. Times of
    uploads are not stored either, but until `ingest`, the file system has the time at which each upload's file was
    made.
    """
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("only one of --tls-cert and --tls-key is given: give both, or leave out both")
    if forwarded_for is not None:
        _require_address(forwarded_for)
    study = Study.open(arguments.study_folder(ctx))
    inbox.prepare(study.path)
    inbox.sweep(study.path, time.time())
    tls = Tls(tls_cert, tls_key) if tls_cert and tls_key else None
    try:
        running = server(application(study, max_bytes=max_bytes, per_minute=per_minute), tls, forwarded_for)
    except ssl.SSLError as error:
        raise Failure(_tls_fault(error, tls_cert), BAD_DATA) from None
    try:
        bound_socket = bind(listen)
    except BadAddress as error:
        raise click.UsageError(f"--listen: {error}") from None
    with bound_socket as listening:
        if tls is None and not is_loopback(listening):
            printing.warn("without TLS, the network can see who sends reports: use a proxy with TLS, or --tls-cert.")
        address, uploads = url(listening, tls), inbox.inbox_of(study.path)
        if as_json:
            printing.print_json({"url": address, "inbox": str(uploads)})
        else:
            printing.say(f"{address}  uploads go to {uploads}")
        serve(running, listening)


def _tls_fault(error: ssl.SSLError, certificate: Path | None) -> str:
    """Return the text of the error for files that OpenSSL refuses.

    OpenSSL does not name the file, so the certificate alone is loaded again.
    """
    if error.reason == "KEY_VALUES_MISMATCH":
        return "--tls-key is not the key of the certificate in --tls-cert: give the key of this certificate"
    try:
        ssl.create_default_context(cafile=certificate)
    except ssl.SSLError:
        return "--tls-cert has no certificate that OpenSSL can read: give a certificate chain, as a PEM file"
    return "--tls-key has no key that OpenSSL can read: give the secret key of --tls-cert, as a PEM file"


def _require_address(text: str) -> None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        raise click.UsageError(
            f"--forwarded-for {text[:60]!r} is not an IP address: give the proxy's, such as 127.0.0.1"
        ) from None
