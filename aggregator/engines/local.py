"""The local engine, which runs on the threads of this process.

It calls the library's functions directly. The results of the Dask engine must be equal to its results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from aggregator.estimate.tally import Tally
from aggregator.intake import ingest as intake
from aggregator.intake.ingest import IngestResult, Progress
from aggregator.storage.paths import StoragePath
from aggregator.study import Study
from protocol.campaign import SignedCampaign


@dataclass(frozen=True)
class Local:
    """The engine that verifies on threads and counts with the tables' query engine.

    Attributes:
        threads: the number of verifying threads; one for each processor if None.
    """

    threads: int | None = None

    def ingest(
        self, study: Study, paths: Iterable[str | StoragePath], *, now: int, progress: Progress | None = None
    ) -> IngestResult:
        """Verify, deduplicate and count reports."""
        return intake.ingest(study, paths, now=now, threads=self.threads, progress=progress)

    def tally(self, study: Study, signed: SignedCampaign, period: int | None = None) -> Tally:
        """Return the tally of a period, or of each device's latest period."""
        return study.tally(signed, period)

    def spans(self, study: Study, signed: SignedCampaign, spans: Sequence[tuple[int, int]]) -> Iterator[Tally]:
        return study.spans(signed, spans)
