"""The interface of all engines, and the error that they raise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from protocol.errors import HalftruthError

if TYPE_CHECKING:  # only type checkers import them: the check of an engine's name must not load the tables
    from aggregator.estimate.tally import Tally
    from aggregator.intake.ingest import IngestResult, Progress
    from aggregator.storage.paths import StoragePath
    from aggregator.study import Study
    from protocol.campaign import SignedCampaign


class EngineError(HalftruthError):
    """The engine is missing or cannot be reached, or its workers cannot do the work. The text names the reason."""


class Engine(Protocol):
    def ingest(
        self, study: Study, paths: Iterable[str | StoragePath], *, now: int, progress: Progress | None = None
    ) -> IngestResult:
        """Verify, deduplicate and count reports; see ``aggregator.intake.ingest.ingest``."""

    def tally(self, study: Study, signed: SignedCampaign, period: int | None = None) -> Tally:
        """Return the tally of a period, or of each device's latest period; see
        ``aggregator.estimates.Estimates.tally``."""

    def spans(self, study: Study, signed: SignedCampaign, spans: Sequence[tuple[int, int]]) -> Iterator[Tally]:
        """Yield the tally of each span of periods; see ``aggregator.estimates.Estimates.spans``."""
