"""Kill a device just before its SQL statements, or at random moments, and compare its envelopes with its charges.

A child process answers new values in a loop, or collects and bundles them, and dies; then the store is opened again.
One child in ``OUTSIDE`` is killed by a signal from outside after a random delay. The others kill themselves just
before an SQL statement: ``FULL`` runs have one child for each of the first ``MAX_STATEMENTS`` statements of answering,
and one for each of collecting. Run in a separate process, because it forks: ``python -m tests.edge_sdk.crash_run RUNS
SEED DIR``. Prints JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from functools import partial
from itertools import cycle
from pathlib import Path

from edge_sdk import BudgetPolicy, Device
from edge_sdk.campaigns.joined import Joined
from edge_sdk.transport.stored_outbox import MAX_ENVELOPES
from protocol import envelope
from protocol.domain import Grid
from protocol.envelope import Kind
from protocol.report import Report
from tests.edge_sdk.conftest import AUTHOR, OPENS, campaign
from tests.edge_sdk.killed import die_before, run_killed

DOMAIN = Grid(25 * 10**6, 50 * 10**6, -130 * 10**6, -60 * 10**6, 200_000)
PERIOD = 60
MAX_ANSWERS = 12
MAX_STATEMENTS = 120
OUTSIDE = 5
FULL = 2 * MAX_STATEMENTS * OUTSIDE // (OUTSIDE - 1)
BUNDLED = 5
"""Readings that a child collects before it bundles them."""


def answer_until_killed(
    place: Path, joined: Joined, first: int, now: int, dies_at: int | None, collects: bool, pipe: int
) -> None:
    """Run the child: send each envelope, or each collected slot, to the parent as soon as the device returns it."""
    campaign_id = joined.signed.id
    with Device.open(place, clock=lambda: now) as device:
        # The audit happens before the fork, so that a thousand children need not repeat it.
        device.records.campaigns.keep_verified(joined)
        die_before(device._store, dies_at)
        for x in range(first, first + MAX_ANSWERS):
            value = device.parse(campaign_id, DOMAIN.label(x))
            if not collects:
                os.write(pipe, device.answer(campaign_id, value).envelope)
                continue
            os.write(pipe, bytes([device.collect(campaign_id, value).slot]))
            if (x - first) % BUNDLED == BUNDLED - 1:
                device.bundle(campaign_id)
    if dies_at is None:
        # Wait for the kill, in case its signal is late.
        signal.pause()


def exported(device: Device, path: Path) -> list[envelope.Envelope]:
    """Export all waiting envelopes; there may be none if the last children died before they answered."""
    if not len(device.outbox):
        return []
    device.outbox.export(path)
    return list(envelope.read_batch(path.read_bytes()))


def filled(item: envelope.Envelope) -> list[tuple[int, int]]:
    """Return the (period, slot) of each output in a report; an enrolment has none."""
    if item.kind is not Kind.REPORT:
        return []
    report = Report.decode(item.unverified)
    return [(report.period, slot) for slot in range(report.slot, report.slot + report.count)]


def run(runs: int, seed: int, place: Path) -> dict[str, int]:
    """Run all children; return the numbers of sent, charged and queued outputs, and the numbers of faults."""
    dice = random.Random(seed)
    data = campaign("Where", DOMAIN, periods=runs + 1, period_seconds=PERIOD, answers=MAX_ANSWERS)
    with Device.open(place, [AUTHOR.public], BudgetPolicy(lifetime=10**6), clock=lambda: OPENS) as device:
        campaign_id = device.join(data).campaign_id
        device.consent(campaign_id)
        joined = device.records.campaigns.find(campaign_id)
    left = charged = killed = lost = undercharged = overcharged = 0
    everything: list[envelope.Envelope] = []
    collected: list[tuple[int, int]] = []
    deaths = [(collects, statement) for collects in (False, True) for statement in range(MAX_STATEMENTS)]
    dice.shuffle(deaths)
    own_hand = cycle(deaths)
    for turn in range(runs):
        collects, dies_at = (dice.random() < 0.5, None) if turn % OUTSIDE == 0 else next(own_hand)
        child = partial(answer_until_killed, place, joined, charged, OPENS + turn * PERIOD, dies_at, collects)
        died, returned = run_killed(child, 0.01 if dies_at is None else None, dice)
        killed += died
        fresh = [] if collects else list(envelope.read_batch(returned))
        kept = [(turn, slot) for slot in returned] if collects else []
        collected += kept
        with Device.open(place, clock=lambda: OPENS) as device:
            before, charged = charged, round(device.budget.spent)
            queued = device._store.rows("SELECT envelope FROM outbox ORDER BY number DESC LIMIT ?", 2 * MAX_ANSWERS)
            if len(device.outbox) > MAX_ENVELOPES - 2 * MAX_ANSWERS:
                everything += exported(device, place.with_name(f"{turn}.htr"))
        left += len(fresh) + len(kept)
        lost += sum(not any(item.signature in row for (row,) in queued) for item in fresh)
        undercharged += charged - before < len(fresh) + len(kept)
        overcharged += charged - before > len(fresh) + len(kept) + 1
    # More readings may wait than the outbox takes at once.
    with Device.open(place) as device:
        everything += exported(device, place.with_name("rest.htr"))
        while device.collected(campaign_id):
            device.bundle(campaign_id)
            everything += exported(device, place.with_name(f"{device.collected(campaign_id)}.rest.htr"))
    slots = [slot for item in everything for slot in filled(item)]
    lost += len(set(collected) - set(slots))
    return {
        "runs": runs,
        "killed": killed,
        "left": left,
        "charged": charged,
        "queued": len(slots),
        "twice": len(slots) - len(set(slots)),
        "collected": len(collected),
        "bundled": len(slots) - sum(item.kind is Kind.REPORT for item in everything),
        "lost": lost,
        "undercharged": undercharged,
        "overcharged": overcharged,
    }


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
