"""Audit a campaign file of another author: print its question, and the levels of privacy computed from its channel.

    python audit_received.py town/commute.campaign town/author.pub

The declared level is the author's claim. Every other level is computed from the integers that devices draw with. The
program has a limit for the computed LDP level. Without a public key it prints that the signature is not checked.
"""

import sys
from pathlib import Path

from aggregator import audit
from protocol import HalftruthError, open_campaign, public_from_line, unverified_campaign

MAX_LEVEL = 2.0  # this reader accepts at most 2 nats for one report

if len(sys.argv) not in (2, 3):
    sys.exit("usage: python audit_received.py CAMPAIGN [AUTHOR.pub]")
file, *author = sys.argv[1:]
data = Path(file).read_bytes()
try:
    if author:
        campaign = open_campaign(data, [public_from_line(Path(author[0]).read_text())]).campaign
    else:
        print("the signature is not checked: no public key was named")
        campaign = unverified_campaign(data)
except HalftruthError as error:
    sys.exit(f"refused: {error}")

found = audit(campaign).as_json()
print(
    f"{campaign.organisation} asks: {campaign.question} (values: {campaign.domain.size}, periods: {campaign.periods})"
)
print(f"notion {found['notion']}, mechanism {found['mechanism']}")
for notion, level in found["levels"].items():
    print(f"  {notion}, in nats: {level}" if level is not None else f"  {notion}: no bound")
level = found["levels"].get("ldp")
if level is None:
    sys.exit("refused: the channel has no plain LDP level, because some output rules out some answer")
if level > MAX_LEVEL:
    sys.exit(f"refused: the plain LDP level of a report is {level} nats, above {MAX_LEVEL:g}")
