"""The cost of an answer to a form on the device, beside that of an answer to a single question.

The same devices join both campaigns and answer them in turns, so the ratio is comparable between fast and slow
machines. The form has nine questions in 36 pairs; the key of a device decides its pair. The single question has 42
values, as many as the question of the form with the most values.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import median

from aggregator.families.mechanism import PlannedQuestion
from aggregator.planner.choice import AUTO, chosen_channel
from aggregator.reproduce.simulated_people import values
from benchmarks.device import AUTHOR, OPENS, PERIOD, calls, campaign
from benchmarks.ingest import Duration, timed
from edge_sdk import BudgetPolicy, Device
from protocol.campaign import open_campaign, seal_campaign
from protocol.domain import Form, FormQuestion
from protocol.notions import Ldp
from protocol.views import QuestionsMap, View, plain_views

SIZES = (9, 16, 7, 15, 6, 5, 2, 42, 2)
"""Values of the nine questions of UCI Adult."""

SINGLE = 42
LEVEL = Ldp(10**9)
DEVICES, WARM, ANSWERS = 24, 10, 50


def single() -> bytes:
    """Return a signed campaign with one question."""
    mechanism, channel = chosen_channel(AUTO, PlannedQuestion(values(SINGLE), LEVEL))
    plain = open_campaign(campaign(), [AUTHOR.public]).campaign
    return seal_campaign(replace(plain, domain=values(SINGLE), mechanism=mechanism, views=plain_views(channel)), AUTHOR)


def form() -> bytes:
    """Return a signed campaign with nine questions in pairs."""
    domain = Form(tuple(FormQuestion(f"q{place}", f"Question {place}?", values(k)) for place, k in enumerate(SIZES)))
    pairs = tuple(combinations(range(len(SIZES)), 2))
    views = tuple(
        View(1, QuestionsMap((i, j)), chosen_channel(AUTO, PlannedQuestion(values(SIZES[i] * SIZES[j]), LEVEL))[1])
        for i, j in pairs
    )
    plain = open_campaign(campaign(), [AUTHOR.public]).campaign
    return seal_campaign(replace(plain, domain=domain, mechanism=AUTO, views=views), AUTHOR)


def run() -> list[tuple[str, str]]:
    """Return table rows: (name, measured value with its target)."""
    campaigns = single(), form()
    times: tuple[list[Duration], ...] = ([], [])
    counted: tuple[list[int], ...] = ([], [])
    for number in range(DEVICES):
        now = [OPENS]
        with (
            tempfile.TemporaryDirectory(dir=".") as directory,
            Device.open(
                Path(directory) / "store", [AUTHOR.public], BudgetPolicy(lifetime=10**5), clock=lambda now=now: now[0]
            ) as device,
        ):
            campaign_ids = [device.join(data).campaign_id for data in campaigns]
            for campaign_id in campaign_ids:
                device.consent(campaign_id)
            names = device.terms(campaign_ids[1]).asked_names
            for turn in range(WARM + ANSWERS + 1):
                now[0] += PERIOD
                answers = (
                    f"v{(number + turn) % SINGLE}",
                    {name: f"v{(number + turn) % SIZES[int(name[1:])]}" for name in names},
                )
                for place in (0, 1) if turn % 2 else (1, 0):
                    give = partial(device.answer, campaign_ids[place], answers[place])
                    if turn < WARM:
                        give()
                    elif turn < WARM + ANSWERS:
                        times[place].append(timed(give)[0])
                    else:
                        counted[place].append(calls(give)[0])
    elapsed = [median(duration.wall for duration in durations) for durations in times]
    processor = [median(duration.cpu for duration in durations) for durations in times]
    first, second = (median(numbers) for numbers in counted)
    return [
        ("a form's answer / a single question's, processor time [at most 1.3]", f"{processor[1] / processor[0]:.2f}"),
        ("a form's answer / a single question's, elapsed time", f"{elapsed[1] / elapsed[0]:.2f}"),
        (
            "a single question's answer",
            f"{processor[0] * 1e3:.2f} ms of processor time, {elapsed[0] * 1e3:.2f} ms elapsed",
        ),
        ("Python calls with a repeated value: a single question, a form", f"{first:.0f} and {second:.0f}"),
    ]
