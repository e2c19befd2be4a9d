"""Read a sensor several times, as a unit does in a day, and write the readings under one signature.

    python sensor_unit.py town/load.campaign town/gateways.pub unit 24

The last argument is the number of readings. The program does not wait between them, so it ends at once.
A unit that only reads a file needs no program: `python -m edge_sdk run unit.toml` (docs/UNIT.md).
"""

import os
import sys
import time
from pathlib import Path

from edge_sdk import BudgetPolicy, Device
from edge_sdk.errors import QuotaReached
from protocol import public_from_line

# The last edge of the campaign: a higher load is reported as this one.
LARGEST = 8.0

if len(sys.argv) != 5:
    sys.exit("usage: python sensor_unit.py CAMPAIGN AUTHOR.pub STORE READINGS")
campaign, author, store, readings = sys.argv[1:]
trusted = public_from_line(Path(author).read_text())

with Device.open(store, trust=[trusted], budget=BudgetPolicy(lifetime=8.0)) as device:
    terms = device.join(Path(campaign).read_bytes())
    device.consent(terms.campaign_id)  # the owner read the terms when they installed the unit
    spent = device.budget.spent
    for _ in range(int(readings)):
        load = min(os.getloadavg()[0], LARGEST)
        try:
            device.collect(terms.campaign_id, f"{load:.2f}")  # a real unit calls time.sleep(3600) after this line
        except QuotaReached:
            break  # all slots of this period are filled; the next period has new ones
    print(f"readings: {device.collected(terms.campaign_id)}, at a cost in nats of {device.budget.spent - spent:g}")
    print(f"reports: {device.bundle(terms.campaign_id)}")
    if len(device.outbox):
        upload = Path(store) / f"{time.time():.0f}.htr"  # a new file for each run
        print(f"envelopes in {upload}: {device.outbox.export(upload)}")
