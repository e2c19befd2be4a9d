"""Draw the two maps of docs/MAPS.md: everybody is asked for the cell, or each person at one of three resolutions.

`python -m benchmarks.map_pictures DATA` reads real check-ins from the folder DATA, and draws the counts of each view
from the exact distribution of its channel's outputs.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from aggregator.author.draft import read_draft
from aggregator.estimate.estimator import estimate
from aggregator.estimate.tally import Tally, ViewsTally
from aggregator.families.decoder import Floats
from aggregator.families.registry import decoder_of
from aggregator.present.plot import draw_estimate
from aggregator.reproduce.simulated_people import drawn_tally
from benchmarks import page
from benchmarks.maps import FILE, true_shares
from protocol.campaign import Campaign

PICTURES = page.PAGE.parent / "pictures"
PEOPLE = 546_659
"""The number of people in docs/MAPS.md, one of those of ``map_surveys.TARGETS``."""
DRAFT = """title = "Last check-in"
question = "Where did you check in last?"
organisation = "Gowalla"
purpose = "A map for the documentation"
[domain]
kind = "grid"
south = 25
north = 50
west = -130
east = -60
step = 0.2
[privacy]
notion = "ldp"
epsilon = 1.0
[schedule]
opens = 2026-11-01
closes = 2026-12-01
"""
VIEWS = f"[views]\nresolutions = [25, 5, 1]\ndevices = {PEOPLE}\n"


def drawn(campaign: Campaign, people: Floats, rng: np.random.Generator) -> Tally:
    """Return the tally of one survey of people who live in the cells with the shares ``people``: (k,)."""
    weights = np.array([view.weight for view in campaign.views])
    parts = []
    for view, n in zip(campaign.views, rng.multinomial(PEOPLE, weights / weights.sum()), strict=True):
        district = [view.map.input(campaign.domain, x) for x in range(len(people))]
        shares = np.bincount(district, people).astype(np.float64)
        parts.append(drawn_tally(view.channel, decoder_of(view.channel), shares, n, rng))
    return parts[0] if len(parts) == 1 else ViewsTally.of_parts(parts, {}, None)


if __name__ == "__main__":
    people = true_shares(page.folder_with(FILE, ": see SOURCES in aggregator.reproduce.data"), "users")
    for name, draft in {"map-cells": DRAFT, "map-views": DRAFT + VIEWS}.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "draft.toml"
            path.write_text(draft, encoding="utf-8")
            campaign = read_draft(path)
        tally = drawn(campaign, people, np.random.default_rng(1))
        draw_estimate(estimate(campaign, tally), PICTURES / f"{name}.png")
