"""From a draft to an estimate, in a new folder: plan, sign, simulate the people, count their reports, estimate.

python run_a_survey.py commute.toml town
"""

import os
import sys
import time
from pathlib import Path

from aggregator import Study, Truth, audit, ingest, plan, read_draft, read_question, simulate
from protocol import SigningKey, open_campaign, public_line, seal_campaign

if len(sys.argv) != 3:
    sys.exit("usage: python run_a_survey.py DRAFT.toml NEW_FOLDER")
draft, folder = map(Path, sys.argv[1:])
if folder.exists():
    sys.exit(f"{folder} exists: name a new folder")
folder.mkdir()

# The plan compares all mechanisms by the exact error of their channels, for 2,000 reports.
chosen = plan(read_question(draft), reports=2_000).chosen
print(f"{chosen.mechanism}: standard error of a share {chosen.se:.1%} with 2,000 reports")

# Make the campaign: compute channel and certificate, then sign. Devices trust the public key.
key = SigningKey(os.urandom(32))
signed = open_campaign(seal_campaign(read_draft(draft), key), [key.public])
(folder / "author.pub").write_text(public_line(key.public))
(folder / f"{draft.stem}.campaign").write_bytes(signed.data)
print(f"plain LDP level of one report, in nats: {audit(signed.campaign).as_json()['levels']['ldp']}")

# Simulate the people: each has a device with its own key. Real devices run edge_sdk.
people = Truth(answers=("on foot", "bicycle", "bus", "train", "car"), counts=(200, 350, 450, 100, 900))
now = int(time.time())
period = signed.campaign.period_at(now)
with (folder / "reports.htr").open("wb") as file:
    for sent in simulate(signed.campaign, signed.id, people, range(period, period + 1)):
        file.write(sent.reports)

# Collect and estimate: verify every signature, and count each report once.
study = Study.create(folder / "study")
study.import_campaign(signed.data, [key.public], draft.stem)
counted = ingest(study, [folder / "reports.htr"], now=now)
print(f"{counted.accepted:,} reports counted, {sum(counted.refused.values())} refused")

estimate = study.estimate(draft.stem, confidence=0.9)
for value, share, low, high in zip(people.answers, estimate.share, estimate.low, estimate.high, strict=True):
    print(f"{value:8} {share:6.1%}   90% interval {low:6.1%} to {high:6.1%}")
