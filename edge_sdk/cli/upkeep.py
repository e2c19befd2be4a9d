"""The commands for the store and the unit: budget, adopt, doctor, clock, run.

These commands are for the device's owner; those for the person are in the module commands. The module parser lists the
arguments.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from edge_sdk.budget.policy import BudgetPolicy
from edge_sdk.cli.output import Printed, Usage, readable_terms
from edge_sdk.device import Device
from protocol import exact

# At run time, these are imported only by the commands that need them.
if TYPE_CHECKING:
    from edge_sdk.rollback.key_store import KeyStore


def budget(options: argparse.Namespace) -> Printed:
    """``budget``: lower caps if given; return the caps in force, and the amounts spent, reserved and remaining.

    A line on stderr names each given cap that is above the one in force.
    """
    try:
        window = (int(options.window[0]), float(options.window[1])) if options.window else None
    except ValueError:
        raise Usage(
            "--window needs a whole number of seconds and a number of nats (see docs/GLOSSARY.md), for example "
            "--window 86400 1.5"
        ) from None
    try:
        policy = BudgetPolicy(options.lifetime, options.per_campaign, window)
    except ValueError as error:
        raise Usage(f"invalid cap: {error}") from None
    with Device.open(options.store, budget=policy) as device:
        in_force = {(cap.kind, cap.seconds): cap for cap in device.budget.caps}
        for requested_cap in policy.caps():
            cap_in_force = in_force[requested_cap.kind, requested_cap.seconds]
            if cap_in_force.nanonats < requested_cap.nanonats:
                stays = f"{cap_in_force} stays at {exact.in_nats(cap_in_force.nanonats)}"
                print(f"edge_sdk: a cap can only be lowered: {stays}", file=sys.stderr)
        committed = device.budget.spent_nanonats + device.budget.reserved_nanonats
        if committed > in_force["lifetime", 0].nanonats:
            print(
                f"edge_sdk: the lifetime cap is below the {exact.in_nats(committed)} spent and reserved: joined "
                "campaigns cannot be answered",
                file=sys.stderr,
            )
        return {
            "caps": [{"kind": cap.kind, "seconds": cap.seconds, "nats": cap.nats} for cap in device.budget.caps]
            if options.json
            else {str(cap).removeprefix("the "): cap.nats for cap in device.budget.caps},
            "spent": device.budget.spent,
            "reserved": device.budget.reserved,
            "remaining": device.budget.remaining,
        }


def adopt(options: argparse.Namespace) -> Printed:
    """``adopt``: adopt the store if necessary; return whether it was adopted, and the amounts spent and remaining.

    If there is neither a store nor a checkpoint of one, a new store is created, as by every command.
    """
    from edge_sdk.errors import StoreDamaged, StoreRestored
    from edge_sdk.store.sqlite import DATABASE_FILE

    folder, named_key_store = store(options), key_store(options)
    existed = (Path(folder) / DATABASE_FILE).exists()
    try:
        device, adopted = Device.open(folder, key_store=named_key_store), False
    except (StoreRestored, StoreDamaged):
        device, adopted = Device.adopt(folder, key_store=named_key_store), True
    with device:
        printed: Printed = {"adopted": adopted, "spent": device.budget.spent, "remaining": device.budget.remaining}
        if not adopted:
            printed["next"] = (
                "nothing to do: this store is neither restored nor damaged"
                if existed
                else "nothing was adopted: the folder had no store, so a new one was created; if you meant another "
                "folder, name it after --store"
            )
        return printed


def doctor(options: argparse.Namespace) -> Printed:
    """``doctor``: return the guarantees and limits of this store."""
    with Device.open(options.store) as device:
        return {**device.doctor()}


def clock(options: argparse.Namespace) -> Printed:
    """``clock [--set]``: with ``--set``, accept the current time; return the latest recorded time of each campaign with
    consent, before which a unit does not answer."""
    from edge_sdk.answers.answering import latest_recorded_time

    with Device.open(options.store) as device:
        lowered = device.set_clock() if options.set else []
        records = device.records
        numbers = {campaign_id: records.campaigns.number(campaign_id) for campaign_id in device.campaigns}
        agreed = [campaign_id for campaign_id, number in numbers.items() if records.consents.find(number) is not None]
        return {
            **(
                {"times_lowered": [campaign_id.hex() for campaign_id in lowered]} if options.set or options.json else {}
            ),
            "campaigns": [
                {"campaign": campaign_id.hex(), "latest_recorded_time": latest_recorded_time(records, campaign_id)}
                for campaign_id in agreed
            ],
        }


def run(options: argparse.Namespace) -> Printed:
    """``run CONFIG``: replace this process by the unit; with ``--check``, return its plan."""
    from edge_sdk.unit import config, dry_run

    try:
        configuration = config.read_configuration(options.configuration, options.check)
        planned = dry_run.unit_plan(configuration)
    except config.ConfigurationRefused as error:
        raise Usage(str(error)) from None
    if not options.check:
        # execv replaces this process, so that the modules of the command line do not stay in memory for months.
        os.execv(sys.executable, [sys.executable, "-m", "edge_sdk.unit.daemon", str(options.configuration)])  # noqa: S606
    return {**(planned if options.json else readable_terms(planned)), **dry_run.tried(configuration)}


def store(options: argparse.Namespace) -> str:
    """Return the name of the store's folder.

    Raises:
        Usage: the options name no store.
    """
    if options.store is None:
        option = "--key-store" if options.key_store else "--checkpoint"
        raise Usage(f"{option} is given without a store: name the store with --store")
    return str(options.store)


def key_store(options: argparse.Namespace) -> KeyStore | None:
    """Return the key store that the options name; None if they name none.

    Raises:
        Usage: the option does not fit the other options.
    """
    from edge_sdk.rollback.file_store import FileKeyStore
    from edge_sdk.rollback.known_key_stores import key_store_of

    folder = Path(store(options))
    if options.checkpoint and options.key_store not in (None, "file"):
        raise Usage("--checkpoint is only for a file key store: leave it out for the keyring and the Keystore")
    if options.key_store in ("keyring", "android"):
        return key_store_of(f"{options.key_store} {folder.absolute()}", folder)
    return FileKeyStore(folder, options.checkpoint) if options.key_store or options.checkpoint else None
