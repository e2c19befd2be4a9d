"""The local engine: this process and its threads.

The library's own functions, with nothing between; what other engines must agree with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from aggregator.estimate.tally import Tally
from aggregator.intake import ingest as intake
from aggregator.intake.ingest import IngestResult
from aggregator.storage.places import Place
from aggregator.study import Study
from protocol.campaign import SignedCampaign


@dataclass(frozen=True)
class Local:
    """Verifies on threads, and counts with the tables' own query engine.

    Attributes:
        threads: as many as there are processors if not given.
    """

    threads: int | None = None

    def ingest(
        self, study: Study, paths: Iterable[str | Place], *, now: int, progress: Callable[[int], None] | None = None
    ) -> IngestResult:
        """As ``aggregator.intake.ingest.ingest``."""
        return intake.ingest(study, paths, now=now, threads=self.threads, progress=progress)

    def tally(self, study: Study, campaign: SignedCampaign, period: int | None = None) -> Tally:
        """As ``aggregator.estimates.Estimates.tally``."""
        return study.tally(campaign, period)

    def spans(self, study: Study, campaign: SignedCampaign, spans: Sequence[tuple[int, int]]) -> Iterator[Tally]:
        """As ``aggregator.estimates.Estimates.spans``."""
        return study.spans(campaign, spans)
