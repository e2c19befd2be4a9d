"""halftruth's mechanisms, each as a client and a server, and the costs of the whole path of a signed report.

The other libraries' clients only sample an output, so only sampling is compared with them. A device also charges, signs
and stores the answer, and a study verifies it; these costs are measured separately.

``measure`` runs both kinds of mechanisms, and ``mechanisms`` has those of the other libraries.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from mechanisms import bytes_for

from aggregator.estimate.estimator import estimate
from aggregator.estimate.tally import Tally
from aggregator.families.bits import recipe as unary
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.response.recipe import randomized_response
from aggregator.families.sets.recipe import subset_selection
from aggregator.intake.ingest import ingest
from aggregator.planner.choice import AUTO, chosen_channel
from aggregator.simulation import simulate
from aggregator.study import Study
from aggregator.truth_file import Truth
from edge_sdk import BudgetPolicy, Device
from protocol import exact
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.channels import Channel
from protocol.domain import Values
from protocol.keys import SigningKey
from protocol.notions import Ldp
from protocol.views import plain_views

AUTHOR = SigningKey(bytes(range(32)))
OPENS, PERIOD = 1_000_000, 3600
ANSWERS, REPORTS = 200, 5_000


class OwnMechanism:
    """A mechanism of halftruth with the interface of ``LibraryMechanism``: the client only samples an output, and the
    server makes the study's estimate from the outputs."""

    report_memory = 100

    def __init__(
        self, k: int, eps: float, name: str = AUTO, build: Callable[[int, int], Channel] | None = None
    ) -> None:
        self.k, self.mechanism = k, name
        self.domain, level = Values(tuple(f"v{x}" for x in range(k))), exact.level_from(eps)
        if build is None:
            name, self.channel = chosen_channel(AUTO, PlannedQuestion(self.domain, Ldp(level)))
            self.mechanism = f"auto ({name})"
        else:
            self.channel = build(k, level)
        self.campaign = Campaign(
            "T", "Q?", "", "O", self.domain, Ldp(level), name, plain_views(self.channel),
            OPENS, OPENS + ANSWERS * PERIOD, PERIOD, 1, 1, "enrolled",
        )  # fmt: skip
        self.draw_bytes = self.channel.rand_bytes

    @property
    def wire(self) -> int:
        return bytes_for(self.channel.output_bits)

    def client(self, x: int) -> int:
        return self.channel.sample(x, os.urandom(self.draw_bytes))

    def server(self, reports: Sequence[Any]) -> dict[str, Any]:
        study_estimate = estimate(self.campaign, self._tally(reports))
        return {"unbiased": study_estimate.raw, study_estimate.method.replace("-", " "): study_estimate.share}

    def _tally(self, reports: Sequence[Any]) -> Tally:
        if not self.channel.unary:
            return Tally.of(np.bincount(reports, minlength=self.channel.output_count))
        words = b"".join(y.to_bytes(self.wire, "big") for y in reports)
        bits = np.unpackbits(np.frombuffer(words, dtype=np.uint8).reshape(len(reports), -1), axis=1)
        return Tally(bits[:, -self.k :].sum(axis=0, dtype=np.int64), len(reports))


class Auto(OwnMechanism):
    """The channel that ``auto`` chooses, and the whole path of its reports."""

    def path_costs(self) -> dict[str, float]:
        """Return the microseconds of processor time of an answer, of an enrolled key and of a counted report, the
        elapsed microseconds of an answer, and an envelope's bytes.

        An answer is one call of ``Device.answer``: it is drawn, charged, signed and written to the disk. A counted
        report is ingested by one thread from a file (its signature is verified, and it is deduplicated and committed),
        tallied and used in an estimate.
        """
        with tempfile.TemporaryDirectory(dir=".") as directory:
            return self._answers(Path(directory)) | self._counted(Path(directory))

    def _answers(self, folder: Path) -> dict[str, float]:
        now = [float(OPENS)]
        took, waited = [], []
        cap = BudgetPolicy(lifetime=10.0**5)
        with Device.open(folder / "device", [AUTHOR.public], cap, clock=lambda: now[0]) as device:
            campaign_id = device.join(seal_campaign(self.campaign, AUTHOR)).campaign_id
            device.consent(campaign_id)
            values = [device.parse(campaign_id, f"v{x % self.k}") for x in range(ANSWERS)]
            for period, value in enumerate(values):
                now[0] = OPENS + period * PERIOD
                began, clock = time.process_time(), time.perf_counter()
                receipt = device.answer(campaign_id, value)
                took.append(time.process_time() - began)
                waited.append(time.perf_counter() - clock)
        return {
            "answer": float(np.median(took)) * 1e6,
            "answer, elapsed": float(np.median(waited)) * 1e6,
            "envelope": len(receipt.envelope),
        }

    def _counted(self, folder: Path) -> dict[str, float]:
        signed = open_campaign(seal_campaign(self.campaign, AUTHOR), [AUTHOR.public])
        counts = np.bincount(np.arange(REPORTS) % self.k, minlength=self.k)
        truth = Truth(self.domain.labels, tuple(counts.tolist()))
        sent = list(simulate(self.campaign, signed.id, truth, range(1), seed=1))
        (folder / "batch.htr").write_bytes(b"".join(batch.reports for batch in sent))
        study = Study.create(folder / "study")
        study.import_campaign(signed.data, [AUTHOR.public], "peers")
        began = time.process_time()
        study.enrol(b"".join(batch.enrolments for batch in sent), threads=1)
        enrolled = time.process_time()
        ingest_result = ingest(study, [folder / "batch.htr"], now=OPENS, threads=1)
        estimate(signed, study.tally(signed))
        ended = time.process_time()
        if ingest_result.accepted != REPORTS:
            raise RuntimeError(
                f"{ingest_result.accepted} of {REPORTS} reports were accepted, and {ingest_result.refused} refused: "
                "expected all to be accepted; run tests/aggregator/test_intake_ingest.py"
            )
        return {"enrolled": (enrolled - began) / REPORTS * 1e6, "counted": (ended - enrolled) / REPORTS * 1e6}


_BUILT = {
    "randomised response": randomized_response,
    "Hadamard response": hadamard,
    "OUE": unary.oue,
    "subset selection": subset_selection,
}
MECHANISMS = {**{name: partial(OwnMechanism, name=name, build=build) for name, build in _BUILT.items()}, AUTO: Auto}
