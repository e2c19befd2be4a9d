"""The commands for joining: trusted authors, campaigns and links.

Each command uses the methods of ``Device`` and returns the result by name.

The module parser lists the arguments. The commands for joined campaigns are in the module commands.
"""

from __future__ import annotations

import argparse
import string
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from edge_sdk.campaigns.files import campaign_file, closing_file, key_file, naming_file_in_errors
from edge_sdk.cli.exit_codes import FAILED, NOT_YET
from edge_sdk.cli.output import Incomplete, Printed, Usage, readable_terms
from edge_sdk.device import Device
from edge_sdk.errors import AmbiguousCampaign, NotJoined
from protocol import keys

# At run time, these are imported only by the commands that need them.
if TYPE_CHECKING:
    from protocol.link import Link


def join(options: argparse.Namespace) -> Printed:
    """``join FILE|LINK``: join a campaign; return its terms."""
    if "://" in options.campaign:
        return _join_by_link(options)
    file = Path(options.campaign)
    data = campaign_file(file)
    with Device.open(options.store, map(key_file, options.trust)) as device, naming_file_in_errors(file):
        terms = device.join(data, options.address)
        return _terms(device, terms.campaign_id, options)


def _join_by_link(options: argparse.Namespace) -> Printed:
    """Join the campaign of a link; ask the person first, because its host learns the network address."""
    from edge_sdk.transport.download import fetch_invited
    from protocol.link import Link

    link = Link.parse(options.campaign)
    passed = {"--address": options.address is not None, "--trust": bool(options.trust)}
    option_names = [name for name, is_given in passed.items() if is_given]
    if option_names:
        raise Usage(
            f"{' and '.join(option_names)} cannot be combined with a link, which names the address and the author's "
            "key: pass the link alone"
        )
    with Device.open(options.store) as device:
        if not options.yes:
            _require_agreed(link, device.trusted)
        terms = device.accept(fetch_invited(link))
        return _terms(device, terms.campaign_id, options)


def _require_agreed(link: Link, trusted: list[keys.AuthorKey]) -> None:
    """Show the host and the author of a link, and continue only if the person confirms.

    Raises:
        Usage: standard input is not a terminal, so the person cannot confirm.
        Incomplete: the person does not agree.
    """
    fingerprint = link.fingerprint_text
    names = [author.name for author in trusted if author.fingerprint_text == fingerprint]
    whose = f"{names[0] or 'an author without a name'}, whom you trust" if names else "not an author you trust"
    print(f"host: {link.host}\nauthor: {fingerprint} ({whose})", file=sys.stderr)
    if not sys.stdin.isatty():
        raise Usage(
            "no campaign was fetched: standard input is not a terminal, so nobody can confirm; add --yes to confirm"
        )
    print(
        "The host will see your network address. Fetch the campaign from the host? [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Incomplete("the study was not contacted, and nothing was stored", {}, FAILED)


def trust(options: argparse.Namespace) -> Printed:
    """``trust [add|remove KEY]``: add or remove a trusted author; return all of them."""
    if options.verb is not None and options.key is None:
        raise Usage(f"trust {options.verb} has no key: write trust add FILE|ID, or trust remove FINGERPRINT")
    if options.verb != "add" and options.name is not None:
        raise Usage("--name is only for trust add: leave it out")
    with Device.open(options.store) as device:
        if options.verb == "add":
            file = Path(options.key)
            of_a_campaign = not file.is_file() and set(options.key.lower()) <= set(string.hexdigits)
            author = (
                keys.AuthorKey(device.terms(find_campaign_id(device, options.key)).author)
                if of_a_campaign
                else key_file(file)
            )
            device.trust_author(keys.AuthorKey(author.public, author.name if options.name is None else options.name))
        elif options.verb == "remove":
            device.distrust_author(_trusted(device, options.key))
        signed = Counter(device.terms(campaign_id).author for campaign_id in device.campaigns)
        rows = [
            {"name": author.name, "key": author.fingerprint_text, "campaigns": signed[author.public]}
            for author in device.trusted
        ]
        return {"authors": rows}


def _trusted(device: Device, beginning: str) -> bytes:
    """Return the trusted key whose fingerprint begins with ``beginning``.

    Raises:
        Usage: no fingerprint or more than one begins with these characters.
    """
    matches = [
        author.public for author in device.trusted if beginning and author.fingerprint_text.startswith(beginning)
    ]
    if len(matches) != 1:
        number, remedy = ("more than one", "more characters") if matches else ("no", "the beginning")
        raise Usage(
            f"{number} trusted key has a fingerprint that begins with the given characters: give {remedy} of a "
            "fingerprint that the command 'trust' lists"
        )
    return matches[0]


def terms(options: argparse.Namespace) -> Printed:
    """``terms ID``: return the terms of a joined campaign."""
    with Device.open(options.store) as device:
        return _terms(device, find_campaign_id(device, options.id), options)


def close(options: argparse.Namespace) -> Printed:
    """``close FILE``: close a campaign early; return its id, title and closing time."""
    notice = closing_file(options.file)
    with Device.open(options.store) as device, naming_file_in_errors(options.file):
        closed = device.close_early(notice)
        return {"campaign": closed.campaign_id.hex(), "title": closed.title, "closed_early": closed.closed_early}


def _terms(device: Device, campaign_id: bytes, options: argparse.Namespace) -> Printed:
    """Return the terms in the requested language."""
    printed = device.terms(campaign_id, options.language).as_json()
    return printed if options.json else readable_terms(printed)


def follow(options: argparse.Namespace) -> Printed:
    """``follow ID``: join and agree to the study's next campaign; return its id.

    Raises:
        Incomplete: the study has no suitable campaign (yet), or the campaign has no address.
    """
    from edge_sdk.campaigns import succession

    with Device.open(options.store) as device:
        campaign_id = find_campaign_id(device, options.id)
        author = device.records.campaigns.find(campaign_id).signed.author
    with Device.open(options.store, [author]) as device:
        next_id = succession.follow(device, campaign_id, time.time())
        if next_id is None and not device.addresses(campaign_id):
            raise Incomplete(
                "the campaign has no address, so no study was asked for its next campaign: set one with the command "
                "'address ID URL'",
                {},
                NOT_YET,
            )
        if next_id is None:
            raise Incomplete(
                "the study has no next campaign that the permission covers (see follow --help): read the terms of any "
                "other campaign, and agree to it",
                {},
                NOT_YET,
            )
        return {"campaign": campaign_id.hex(), "followed_by": next_id.hex()}


def address(options: argparse.Namespace) -> Printed:
    """``address ID [URL]``: set the address of a campaign's reports if given; return the addresses."""
    with Device.open(options.store) as device:
        campaign_id = find_campaign_id(device, options.id)
        if options.url is not None:
            device.set_address(campaign_id, options.url)
        return {"campaign": campaign_id.hex(), "addresses": list(device.addresses(campaign_id))}


def find_campaign_id(device: Device, beginning: str) -> bytes:
    """Return the id of the joined campaign that begins with the hex digits ``beginning``.

    Raises:
        NotJoined: no id begins with these digits.
        AmbiguousCampaign: more than one id begins with them, or ``beginning`` is empty, for example because a variable
            of a script is not set.
    """
    if not beginning:
        raise AmbiguousCampaign(
            "the id is empty: name the campaign by the beginning of its id, as the command 'ledger' lists it"
        )
    matches = [campaign_id for campaign_id in device.campaigns if campaign_id.hex().startswith(beginning.lower())]
    if not matches:
        raise NotJoined(
            "no joined campaign has an id that begins with the given text; the command 'ledger' lists the ids"
        )
    if len(matches) > 1:
        raise AmbiguousCampaign(
            "more than one joined campaign has an id that begins with the given digits: give more digits; the command "
            "'ledger' lists the ids"
        )
    return matches[0]
