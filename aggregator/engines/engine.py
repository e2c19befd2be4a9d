"""What can be asked of every engine, and the error of one that cannot do its work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from protocol.errors import HalftruthError

if TYPE_CHECKING:  # whoever asks only whether an engine has a name needs no tables
    from aggregator.estimate.tally import Tally
    from aggregator.intake.ingest import IngestResult
    from aggregator.storage.places import Place
    from aggregator.study import Study
    from protocol.campaign import SignedCampaign


class EngineError(HalftruthError):
    """The engine cannot do the work: it is not installed, not there, or has lost its workers."""


class Engine(Protocol):
    """What can be asked of every engine."""

    def ingest(
        self, study: Study, paths: Iterable[str | Place], *, now: int, progress: Callable[[int], None] | None = None
    ) -> IngestResult:
        """As ``aggregator.intake.ingest.ingest``."""

    def tally(self, study: Study, campaign: SignedCampaign, period: int | None = None) -> Tally:
        """As ``aggregator.estimates.Estimates.tally``."""

    def spans(self, study: Study, campaign: SignedCampaign, spans: Sequence[tuple[int, int]]) -> Iterator[Tally]:
        """As ``aggregator.estimates.Estimates.spans``."""
