"""Tallies and estimates of the counted reports of a study.

``counting`` computes tallies from rows, and ``estimate`` computes an estimate from a tally. ``study`` adds campaigns
and keys to a study.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from deltalake import DeltaTable

from aggregator.counting import Counting, Counts, periods
from aggregator.estimate.names import POOLS
from aggregator.estimate.span import all_periods
from aggregator.estimate.tally import Tally
from aggregator.holdings import Holdings
from aggregator.storage import tables
from aggregator.storage.tables import REPORTS, StudyError
from protocol.campaign import SignedCampaign

if TYPE_CHECKING:
    from pathlib import Path

    from aggregator.estimate.ordered_comparison import OrderedComparison
    from aggregator.estimate.ordered_result import OrderedStatistics
    from aggregator.estimate.weighting import KnownMargin
    from aggregator.present.notebook import NotebookEstimate, NotebookForm
    from protocol.campaign import Campaign
    from protocol.domain import Answer


class Estimates(Holdings):
    """The counted reports of a study, with their tallies and estimates."""

    def _reports(self) -> DeltaTable:
        """Return the table of counted reports."""
        return tables.snapshot(self.path / REPORTS)

    def _counting(self, signed: SignedCampaign) -> Counting:
        return Counting(self, signed, self._reports())

    def tally(self, signed: SignedCampaign, period: int | None = None) -> Tally:
        """Return the counted outputs of a campaign.

        Args:
            signed: a campaign of this study.
            period: a period; default: the latest period of each device. A device repeats the output that it drew for a
                value, so the noise of its reports in several periods is not independent, and counting all of them would
                understate the error. With transcripts, each report is a new draw, and all reports of a device count as
                one. If a device may report several times in a period, the tally also has the counts by groups of
                devices, from which the error is computed.
        Returns:
            The count of each output (of each bit, if outputs are bit vectors) and the number of outputs; with
            transcripts, the number of devices by transcript.
        """
        return self._counting(signed).tally(period)

    def spans(self, signed: SignedCampaign, spans: Sequence[tuple[int, int]]) -> Iterator[Tally]:
        """Yield a tally for each span of periods: the outputs of each device's latest period in the span.

        All tallies have the same groups of devices and come from one version of the table. Therefore tallies can be
        compared, although many devices occur in several of them.

        Args:
            signed: a campaign of this study.
            spans: the first and the last period of each span; with transcripts, each span is a single period.
        Returns:
            One tally for each span, in their order.
        Raises:
            StudyError: a span of several periods, with transcripts.
        """
        return self._counting(signed).spans(spans)

    def periods(self, signed: SignedCampaign) -> dict[int, int]:
        """Return the number of outputs in each period that has outputs.

        Args:
            signed: a campaign of this study.
        Returns:
            The number of outputs by period.
        """
        return periods(self._reports(), signed.id.hex())

    def counts(self, signed: SignedCampaign) -> Counts:
        """Return the counted outputs by period.

        Each period counts all reports of all devices, including devices that reported in other periods.

        Args:
            signed: a campaign of this study.
        Returns:
            The count of each output by period.
        """
        return self._counting(signed).counts()

    def estimate(
        self,
        campaign: str,
        *,
        period: int | None = None,
        class_name: str | None = None,
        method: str | None = None,
        confidence: float = 0.95,
        pool: str = POOLS[0],
        margins: Path | None = None,
    ) -> NotebookEstimate:
        """Estimate the distribution behind the reports of a campaign.

        Args:
            campaign: its name in the study, its id in hex, or the beginning of exactly one id.
            period: one period; the latest period of each device if not given, with transcripts all periods.
            class_name: the name of one class of people; all people if not given.
            method: one of ``aggregator.estimate.names.METHODS``; chosen for the campaign if not given.
            confidence: the confidence level of the intervals, between 0 and 1.
            pool: one of ``aggregator.estimate.names.POOLS``: how classes are pooled.
            margins: a TOML file of known shares of the population by class, which the reports are weighted to.
        Returns:
            Shares as fractions, (k,), with intervals. The result has the methods ``table()``, ``plot()`` and
            ``as_json()``.
        Raises:
            StudyError: the study has no such campaign, or several; or the campaign has no such period.
            NoSuchClass: the campaign has no class ``class_name``.
            NotEnough: fewer devices have answered than the campaign's minimum.
            MethodRefused: an unknown method, or one that the campaign does not support; or the campaign is a form: use
                ``question`` or ``cross``.
            PoolingRefused: the classes cannot be pooled by precision.
            NotInvertible: no unbiased estimate exists, and the method needs one.
            BadData: the file of margins is invalid, or the reports cannot be weighted to the margins.
            OSError: the file of margins cannot be read.
            ValueError: ``confidence`` is not between 0 and 1.
        """
        from aggregator.estimate import estimator  # an ingest and a status need no estimators
        from aggregator.present.notebook import NotebookEstimate

        signed, tally = self._campaign_and_tally(campaign, period, class_name)
        estimate = estimator.estimate(
            signed,
            tally,
            method=method,
            confidence=confidence,
            class_name=class_name,
            pool=pool,
            margins=_margins(signed.campaign, margins),
        )
        return NotebookEstimate(**vars(estimate), period=period, tally=tally)

    def question(
        self,
        campaign: str,
        name: str,
        *,
        period: int | None = None,
        class_name: str | None = None,
        confidence: float = 0.95,
        margins: Path | None = None,
    ) -> NotebookForm:
        """Estimate the shares of one question of a form, from all devices that were asked it.

        Args:
            campaign: as in ``estimate``.
            name: the name of the question.
            period: as in ``estimate``.
            class_name: as in ``estimate``.
            confidence: as in ``estimate``.
            margins: a TOML file of known shares of the population by questions or by class, which the reports are
                weighted to.
        Returns:
            Shares as fractions among the people who answered, with intervals. The result has the methods ``table()``,
            ``plot()`` and ``as_json()``.
        Raises:
            NotOfForm: the campaign is not a form, or has no such question.
            NotAsked: no counted report is about this question, or its mechanism does not distinguish the values; with
                margins, no view asks it together with the question of a margin.
            StudyError, NoSuchClass, NotEnough, NotInvertible, BadData, OSError, ValueError: as in ``estimate``.
        """
        return self._of_form(campaign, (name,), period, class_name, confidence, margins)

    def cross(
        self,
        campaign: str,
        rows: str,
        columns: str,
        *,
        period: int | None = None,
        class_name: str | None = None,
        confidence: float = 0.95,
        margins: Path | None = None,
    ) -> NotebookForm:
        """Estimate the table of two questions of a form, and test whether they are associated.

        Args:
            campaign: as in ``estimate``.
            rows: the name of the question whose values are the rows.
            columns: the name of the question whose values are the columns.
            period: as in ``estimate``.
            class_name: as in ``estimate``.
            confidence: as in ``estimate``.
            margins: as in ``question``.
        Returns:
            Shares of the cells as fractions among the people who answered both, row by row, with intervals. The result
            has the attribute ``association`` and the methods ``table()``, ``plot()`` and ``as_json()``.
        Raises:
            NotAsked: no device that has answered was asked both questions, or a mechanism does not distinguish the
                values.
            NotOfForm, StudyError, NoSuchClass, NotEnough, NotInvertible, BadData, OSError, ValueError: as in
                ``question``.
        """
        return self._of_form(campaign, (rows, columns), period, class_name, confidence, margins)

    def _of_form(
        self,
        campaign: str,
        names: tuple[str, ...],
        period: int | None,
        class_name: str | None,
        confidence: float,
        margins: Path | None,
    ) -> NotebookForm:
        from aggregator.estimate.form_result import estimate_form
        from aggregator.present.notebook import NotebookForm

        signed, tally = self._campaign_and_tally(campaign, period, class_name)
        known = _margins(signed.campaign, margins)
        form_estimate = estimate_form(signed, tally, names, confidence=confidence, margins=known, class_name=class_name)
        return NotebookForm(**vars(form_estimate))

    def ordered(
        self,
        campaign: str,
        *,
        quantiles: Sequence[float] = (),
        cdf: bool = False,
        bins: Sequence[Answer] = (),
        above: Answer | None = None,
        between: tuple[Answer, Answer] | None = None,
        mean: bool = False,
        period: int | None = None,
        class_name: str | None = None,
        method: str | None = None,
        confidence: float = 0.95,
        margins: Path | None = None,
    ) -> OrderedStatistics:
        """Estimate quantiles, the distribution function and shares of ranges of numbers, dates or ordered values.

        Args:
            quantiles: the quantiles to estimate, as fractions between 0 and 1.
            cdf: whether to return the distribution function.
            bins: values where one bin ends and the next begins; a value at an edge is in the upper bin.
            above: a value; the share of people above it is estimated.
            between: two values; the share of people from the first to the second is estimated, both included.
            mean: whether to return the mean; for numbers and dates only.
            campaign: as in ``estimate``.
            period: as in ``estimate``.
            class_name: as in ``estimate``.
            method: as in ``estimate``.
            confidence: as in ``estimate``.
            margins: as in ``estimate``.
        Returns:
            Each requested result with its interval; results that were not requested are empty or None. The result has
            the method ``as_json()``.
        Raises:
            NotOrdered: the values have no order, the channel does not preserve the order, a range contains no value, or
                a quantile is not between 0 and 1.
            NotInDomain: an end of a range is outside the campaign's range, and the campaign does not clamp.
            NotANumber: the mean of values that are neither numbers nor dates.
            StudyError, NoSuchClass, NotEnough, MethodRefused, NotInvertible, BadData, OSError, ValueError: as in
                ``estimate``.
        """
        from aggregator.estimate.ordered import ordered_statistics

        signed, tally = self._campaign_and_tally(campaign, period, class_name)
        return ordered_statistics(
            signed,
            tally,
            quantiles=quantiles,
            cdf=cdf,
            bins=bins,
            above=above,
            between=between,
            mean=mean,
            method=method,
            confidence=confidence,
            class_name=class_name,
            margins=_margins(signed.campaign, margins),
        )

    def ordered_by_class(
        self,
        campaign: str,
        *,
        quantiles: Sequence[float] = (),
        cdf: bool = False,
        bins: Sequence[Answer] = (),
        above: Answer | None = None,
        between: tuple[Answer, Answer] | None = None,
        mean: bool = False,
        period: int | None = None,
        method: str | None = None,
        confidence: float = 0.95,
    ) -> OrderedComparison:
        """Estimate quantiles, the distribution function and shares of ranges for each class, and the differences of
        classes.

        The arguments are those of ``ordered`` without ``class_name`` and ``margins``.

        Returns:
            ``sides`` has the results of each class, and ``differences`` those of each class minus those of the first
            class, each with its interval. The result has the method ``as_json()``.
        Raises:
            NotOrdered: the campaign has no classes, or as in ``ordered``.
            NotInDomain, NotANumber, StudyError, NotEnough, MethodRefused, NotInvertible, ValueError: as in ``ordered``.
        """
        from aggregator.estimate.ordered import ordered_statistics
        from aggregator.estimate.ordered_comparison import by_class

        def ask(signed: SignedCampaign, tally: Tally, name: str | None) -> OrderedStatistics:
            return ordered_statistics(
                signed,
                tally,
                quantiles=quantiles,
                cdf=cdf,
                bins=bins,
                above=above,
                between=between,
                mean=mean,
                method=method,
                confidence=confidence,
                class_name=name,
            )

        return by_class(*self._campaign_and_tally(campaign, period, None), ask)

    def _campaign_and_tally(
        self, campaign: str, period: int | None, class_name: str | None
    ) -> tuple[SignedCampaign, Tally]:
        """Return the campaign and the tally for an estimate, restricted to a class if one is named."""
        from aggregator.estimate.classes import signed_of_class

        signed = self.campaign(campaign)
        if period is not None and not 0 <= period < signed.campaign.periods:
            raise StudyError(
                f"{signed.campaign.title!r} has no period {period:,}: it has {all_periods(signed.campaign.periods)}"
            )
        return signed_of_class(signed, self.tally(signed, period), class_name)


def _margins(campaign: Campaign, file: Path | None) -> tuple[KnownMargin, ...]:
    """Return the known margins in a file; empty without a file."""
    from aggregator.population import read_population

    return () if file is None else read_population(file, campaign)
