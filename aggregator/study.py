"""The study: the aggregator's directory, or prefix in a bucket, of campaigns, keys and counted reports.

A study is four append-only Delta tables, each named for what it holds; whoever can read the directory can read the
study, with this or with any other engine. What was counted, counts once and for good.

Its campaigns and keys, as others read them: holdings. How files become rows: intake. How rows become tallies: counting.
How a tally becomes an estimate: estimate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from aggregator.counting import Counting, Counts, devices_by_view, outputs_under, periods
from aggregator.estimate.names import POOLS
from aggregator.estimate.tally import Tally
from aggregator.holdings import Holdings, Known, listed_in
from aggregator.inspection import view_name
from aggregator.intake import enrolments
from aggregator.intake.chunk import Chunk, Gathering
from aggregator.intake.framing import frames
from aggregator.intake.rejects import Reject
from aggregator.intake.signatures import verifier
from aggregator.storage import tables
from aggregator.storage.places import Place, Remote, place, sync
from aggregator.storage.tables import CAMPAIGNS, REPORTS, SCHEMAS, StudyError
from protocol.campaign import SignedCampaign, open_campaign
from protocol.closing import open_closing, unverified_closing
from protocol.envelope import Kind
from protocol.errors import CampaignError

if TYPE_CHECKING:
    from pathlib import Path

    from aggregator.estimate.ordered import Ordered
    from aggregator.estimate.weighting import KnownMargin
    from aggregator.present.form_notebook import NotebookForm
    from aggregator.present.notebook import NotebookEstimate
    from protocol.campaign import Campaign
    from protocol.domain import Answer

__all__ = ["CampaignStatus", "EnrolResult", "Study", "StudyError"]

MAX_NAME = 100


@dataclass(frozen=True)
class EnrolResult:
    """What became of a batch of enrolments.

    Attributes:
        added: keys newly registered.
        known: enrolments of keys registered before, or twice in the batch.
        refused: by reject class; "bad-signature" also counts keys that no signature should be trusted under, and keys
            with the key id of another.
    """

    added: int
    known: int
    refused: Mapping[str, int]


@dataclass(frozen=True)
class ViewStatus:
    """How one view of a campaign stands.

    Attributes:
        name: what devices with this view are asked for.
        share: of all devices, by its weight.
        devices: how many have counted reports.
    """

    name: str
    share: float
    devices: int

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {"view": self.name, "share": self.share, "devices": self.devices}


@dataclass(frozen=True)
class CampaignStatus:
    """How one campaign stands.

    Attributes:
        id: in hex.
        opens, closes, open: UTC seconds, and whether devices answer now.
        closed_early: since when its author closed it, UTC seconds; None where they did not.
        keys, revoked: keys registered, and how many of them are revoked, from whatever period on.
        revoked_from: how many are revoked from each period on.
        reports, periods: outputs counted, in all and by period.
        rejected: envelopes refused, by reject class.
        views: of a campaign with several views, the devices with each that have counted reports; else empty.
        warnings: what is wrong with these numbers, a sentence each.
    """

    name: str
    id: str
    title: str
    opens: int
    closes: int
    open: bool
    closed_early: int | None
    keys: int
    revoked: int
    revoked_from: Mapping[int, int]
    reports: int
    periods: Mapping[int, int]
    rejected: Mapping[str, int]
    views: tuple[ViewStatus, ...] = ()
    warnings: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form."""
        return {
            "name": self.name,
            "id": self.id,
            "title": self.title,
            "opens": self.opens,
            "closes": self.closes,
            "open": self.open,
            "closed_early": self.closed_early,
            "keys": self.keys,
            "revoked": self.revoked,
            "revoked_from": {str(period): keys for period, keys in self.revoked_from.items()},
            "reports": self.reports,
            "periods": {str(period): reports for period, reports in self.periods.items()},
            "rejected": dict(self.rejected),
            "views": [view.as_json() for view in self.views],
            "warnings": list(self.warnings),
        }


class Study(Holdings):
    """A study in a directory or bucket. ``open`` or ``create`` it; every method sees what is committed when called."""

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r})"

    @classmethod
    def open(cls, path: str | Place) -> Study:
        """The study in a directory, or under a prefix of a bucket.

        Args:
            path: a folder, or s3://BUCKET/FOLDER.
        Returns:
            The study; it holds no file open.
        Raises:
            StudyError: no such study, or it cannot be read.
            PlaceError: no such place can be.
        """
        path = place(path)
        if not all(tables.exists(path / name) for name in SCHEMAS):
            raise StudyError(f"{path} is not a study; `halftruth --study {path} import CAMPAIGN --trust KEY` makes one")
        return cls(path)

    @classmethod
    def create(cls, path: str | Place) -> Study:
        """The study in a directory, or under a prefix of a bucket, made where there is none.

        Args:
            path: a folder, or s3://BUCKET/FOLDER.
        Returns:
            The study; one that is there already is opened.
        Raises:
            StudyError: the place cannot be written, or holds something else.
            PlaceError: no such place can be, or it cannot keep two writers apart.
        """
        path = place(path)
        with tables.storage(path / CAMPAIGNS):
            held = path.is_dir() and (isinstance(path, Remote) or any(path.iterdir()))  # a prefix is what is below it
            if held and not any(tables.exists(path / name) for name in SCHEMAS):
                raise StudyError(f"{path} holds other files: name a new or an empty directory for the study")
            if isinstance(path, Remote):
                path.require_conditional_writes()
            else:
                missing = [folder for folder in (path, *path.parents) if not folder.exists()]
                path.mkdir(parents=True, exist_ok=True)
                sync(missing)
        for name in SCHEMAS:
            tables.create(path / name)
        return cls.open(path)

    # Campaigns.

    def import_campaign(self, data: bytes, trusted: Sequence[bytes], name: str) -> SignedCampaign:
        """Take in a signed campaign, under a name. The same campaign again changes nothing.

        Args:
            trusted: public keys of authors.
            name: 1 to 100 printable characters, none of them a space.
        Returns:
            The campaign as the study keeps it.
        Raises:
            BadData: not a campaign, or by nobody trusted.
            StudyError: another campaign has the name.
        """
        signed = open_campaign(data, trusted)
        if not 1 <= len(name) <= MAX_NAME or not name.isprintable() or " " in name:
            raise StudyError(f"a campaign's name is 1 to {MAX_NAME} printable characters without spaces")

        def rows(table: DeltaTable) -> pa.Table:
            listed = listed_in(table)
            if any(there.id == signed.id.hex() for there in listed):
                return SCHEMAS[CAMPAIGNS].empty_table()
            if any(there.name == name for there in listed):
                raise StudyError(f"the study has another campaign named {name!r}: import this one under another name")
            return pa.table([[signed.id.hex()], [name], [signed.author], [data]], schema=SCHEMAS[CAMPAIGNS])

        tables.append(self.path / CAMPAIGNS, rows)
        return signed

    def close_early(self, data: bytes) -> Known:
        """Take in the signed notice that closes a campaign of the study early. The same notice again changes nothing.

        Reports of periods that begin at or after its time are refused from now on; counted ones stay.

        Args:
            data: the signed notice.
        Returns:
            The campaign as the study keeps it.
        Raises:
            BadData: not a notice, not by the campaign's author, or later than one that is known.
            StudyError: the study has no such campaign.
        """
        asked = unverified_closing(data).campaign_id.hex()
        known = self.known(asked)
        closes = open_closing(data, known.campaign).closes

        def rows(table: DeltaTable) -> pa.Table:
            there = next(one for one in listed_in(table) if one.id == asked)
            if there.closes is not None and there.closes < closes:
                raise CampaignError(
                    f"{there.name!r} is closed from an earlier time on: a later notice cannot open it again"
                )
            if there.closes == closes:
                return SCHEMAS[CAMPAIGNS].empty_table()
            return pa.table([[asked], [there.name], [there.author], [data]], schema=SCHEMAS[CAMPAIGNS])

        tables.append(self.path / CAMPAIGNS, rows)
        return self._open(next(one for one in self.listed() if one.id == asked), asked)

    # Keys.

    def enrol(self, data: bytes, *, threads: int | None = None) -> EnrolResult:
        """Register the keys of a batch of enrolments, whoever may enrol by themselves.

        Args:
            data: enrolments, one envelope after another.
        Returns:
            How many keys are new, how many were known, and how many were refused, by reason.
        Raises:
            StudyError: the study cannot be written.
        """
        with verifier(threads) as threads_verifying:
            chunk, refused = _enrolments(data)
            done = enrolments.enrol(self, chunk, threads_verifying, uploaded=False)
        refused.update(done.refused)
        return EnrolResult(done.added, done.known, _by_class(refused))

    def revoke(self, *batches: bytes, since: int = 0) -> int:
        """Revoke the keys of batches of enrolments, whose signatures are not looked at, from a period on.

        Their reports of that period and later ones are refused from now on; counted ones stay. A key that is not
        registered yet is barred likewise. Of several revocations of a key the earliest period holds.

        Args:
            since: a period that the campaigns of all these keys have.
        Returns:
            Keys that were not revoked before, or only from a later period on.
        Raises:
            StudyError: a campaign has no such period, and no key was revoked; or the study cannot be written.
        """
        return enrolments.revoke(self, self._named(batches), since)

    def counted_under(self, *batches: bytes, since: int = 0) -> int:
        """The counted outputs, of a period and later ones, under those keys of the batches that are revoked.

        Args:
            batches: enrolments, as ``revoke`` takes them.
            since: the first period that counts.
        Returns:
            A number of outputs.
        """
        total = 0
        for campaign, keys in self._named(batches).items():
            ids = enrolments.revoked_ids(self, campaign, keys)
            total += outputs_under(self._reports(), campaign, ids, since)
        return total

    def _named(self, batches: Iterable[bytes]) -> dict[str, enrolments.Named]:
        return enrolments.named(self, (_enrolments(data)[0] for data in batches))

    # What was counted.

    def _reports(self) -> DeltaTable:
        """The counted reports that a tally is of."""
        return tables.snapshot(self.path / REPORTS)

    def _counting(self, campaign: SignedCampaign) -> Counting:
        return Counting(self, campaign, self._reports())

    def tally(self, campaign: SignedCampaign, period: int | None = None) -> Tally:
        """The counted outputs of a campaign.

        Args:
            period: only this one; if not given, of each device the outputs of its latest period. A device repeats
                the output it once drew for a value, so over several periods the noise of its reports is not
                independent, and counting them all would understate the error. With transcripts, the reports of a
                device are drawn anew and all count, as one. Where a device may have several in a period, the tally has
                them by groups of devices, which its error comes from.
        Returns:
            How often each output was counted, and of how many devices.
        """
        return self._counting(campaign).tally(period)

    def spans(self, campaign: SignedCampaign, spans: Sequence[tuple[int, int]]) -> Iterator[Tally]:
        """A tally for each span of periods: of each device the outputs of its latest period in the span.

        All are by groups of devices, the same ones, and of one version of the table. So they can be compared, though
        many devices are in several of them.

        Args:
            spans: first and last period of each; with transcripts these are one.
        Returns:
            One tally for each span, in their order.
        Raises:
            StudyError: a span of several periods, with transcripts.
        """
        return self._counting(campaign).spans(spans)

    def periods(self, campaign: SignedCampaign) -> dict[int, int]:
        """The outputs counted in each period that has any.

        Args:
            campaign: of this study.
        Returns:
            By period, a number of outputs.
        """
        return periods(self._reports(), campaign.id.hex())

    def counts(self, campaign: SignedCampaign) -> Counts:
        """The counted outputs by period: all reports of all devices, whatever they said in other periods.

        Args:
            campaign: of this study.
        Returns:
            By period, how often each output was counted.
        """
        return self._counting(campaign).counts()

    def estimate(
        self,
        campaign: str,
        *,
        period: int | None = None,
        where: str | None = None,
        method: str | None = None,
        confidence: float = 0.95,
        pool: str = POOLS[0],
        margins: Path | None = None,
    ) -> NotebookEstimate:
        """Estimate the distribution behind the reports of a campaign.

        Args:
            campaign: its name in the study, its id in hex, or the beginning of one id only.
            period: one period; everybody's latest answer if not given.
            where: the name of one class of people; everybody if not given.
            method: one of ``estimate.names.METHODS``; what suits the campaign if not given.
            confidence: of the intervals, between 0 and 1.
            pool: one of ``estimate.names.POOLS``: how classes are put together.
            margins: a TOML file of known shares of the population by class, which the reports are weighted to.
        Returns:
            Shares as fractions, (k,), with intervals; its ``table()``, ``plot()`` and ``as_json()``.
        Raises:
            StudyError: the study has no such campaign, or several; or the campaign has no such period.
            NotEnough: fewer devices have answered than the campaign waits for.
            MethodRefused: an unknown method, or one that the campaign does not have what it takes for; a form, of which
                ``question`` and ``cross`` are asked.
            BadData: the margins are not those of the campaign, or its reports cannot be weighted to them.
        """
        from aggregator.estimate.result import estimate  # an ingest and a status need no estimators
        from aggregator.present.notebook import NotebookEstimate

        signed, tally = self._asked(campaign, period, where)
        found = estimate(
            signed,
            tally,
            method=method,
            level=confidence,
            where=where,
            pool=pool,
            margins=_margins(signed.terms, margins),
        )
        return NotebookEstimate(**vars(found), period=period, tally=tally)

    def question(
        self,
        campaign: str,
        name: str,
        *,
        period: int | None = None,
        confidence: float = 0.95,
        margins: Path | None = None,
    ) -> NotebookForm:
        """Estimate the shares of one question of a form, from all devices that were asked it.

        Args:
            campaign: as in ``estimate``.
            name: of the question.
            period: as in ``estimate``.
            confidence: as in ``estimate``.
            margins: a TOML file of known shares of the population by questions, which the reports are weighted to.
        Returns:
            Shares as fractions among the people who answered, with intervals; its ``table()``, ``plot()`` and
            ``as_json()``.
        Raises:
            NotOfForm: the campaign is no form, or has no such question.
            NotAsked: no device that has answered was asked this question.
            StudyError, NotEnough
            BadData: the margins are not those of the campaign, or its reports cannot be weighted to them.
        """
        return self._of_form(campaign, (name,), period, confidence, margins)

    def cross(
        self,
        campaign: str,
        rows: str,
        columns: str,
        *,
        period: int | None = None,
        confidence: float = 0.95,
        margins: Path | None = None,
    ) -> NotebookForm:
        """Estimate the table of two questions of a form, and test whether they are associated.

        Args:
            campaign: as in ``estimate``.
            rows: the name of the question whose values are the rows.
            columns: the name of the question whose values are the columns.
            period: as in ``estimate``.
            confidence: as in ``estimate``.
            margins: as in ``question``.
        Returns:
            Shares of the cells as fractions among the people who answered both, row by row, with intervals; its
            ``association``, ``table()``, ``plot()`` and ``as_json()``.
        Raises:
            NotOfForm, NotAsked, StudyError, NotEnough, BadData: as in ``question``.
        """
        return self._of_form(campaign, (rows, columns), period, confidence, margins)

    def _of_form(
        self, campaign: str, names: tuple[str, ...], period: int | None, confidence: float, margins: Path | None
    ) -> NotebookForm:
        from aggregator.estimate.form_result import estimate_form
        from aggregator.present.form_notebook import NotebookForm

        signed, tally = self._asked(campaign, period, None)
        known = _margins(signed.terms, margins)
        return NotebookForm(**vars(estimate_form(signed, tally, names, level=confidence, margins=known)))

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
        where: str | None = None,
        method: str | None = None,
        confidence: float = 0.95,
    ) -> Ordered:
        """Estimate quantiles, the distribution function and shares of ranges of numbers, dates or ordered values.

        Args:
            quantiles: parts of the people, between 0 and 1.
            cdf: whether to return the distribution function.
            bins: values where one bin ends and the next begins; a value at an edge is in the upper bin.
            above: a value; the share of people above it.
            between: two values; the share of people from one to the other, both included.
            mean: whether to return the mean, of numbers.
            campaign: as in ``estimate``.
            period: as in ``estimate``.
            where: as in ``estimate``.
            method: as in ``estimate``.
            confidence: as in ``estimate``.
        Returns:
            Each number with its interval; what was not asked for is empty or None. Its ``as_json()``.
        Raises:
            NotOrdered: the values have no order, or the reports do not tell it, or a range holds no value.
            NotInDomain: an edge outside the campaign's range.
            StudyError, NotEnough, MethodRefused
        """
        from aggregator.estimate.ordered import ordered

        signed, tally = self._asked(campaign, period, where)
        return ordered(
            signed,
            tally,
            quantiles=quantiles,
            cdf=cdf,
            bins=bins,
            above=above,
            between=between,
            mean=mean,
            method=method,
            level=confidence,
            where=where,
        )

    def _asked(self, campaign: str, period: int | None, where: str | None) -> tuple[SignedCampaign, Tally]:
        """The campaign and the tally that an estimate is of, cut down to one class where one is named."""
        from aggregator.estimate.classes import within

        signed = self.campaign(campaign)
        if period is not None and not 0 <= period < signed.terms.periods:
            raise StudyError(
                f"{signed.terms.title!r} has periods 0 to {signed.terms.periods - 1:,}, and not {period:,}"
            )
        tally = self.tally(signed, period)
        if where is not None:
            terms, tally = within(signed.terms, tally, where)
            signed = replace(signed, terms=terms)
        return signed, tally

    def status(self, now: int) -> list[CampaignStatus]:
        """How each campaign stands at a time, in order of their names.

        Args:
            now: UTC seconds.
        Returns:
            One status for each campaign.
        """
        reports = self._reports()
        found = []
        for known in self.campaigns():
            terms, name = known.campaign.terms, known.campaign.id.hex()
            early = known.closes
            views, warnings = _views(reports, known.campaign)
            counted, registry = periods(reports, name), self.registry(name)
            since, keys = np.unique(registry.since[registry.revoked], return_counts=True)
            found.append(
                CampaignStatus(
                    name=known.name,
                    id=name,
                    title=terms.title,
                    opens=terms.opens,
                    closes=terms.closes,
                    open=terms.opens <= now < (terms.closes if early is None else early),
                    closed_early=early,
                    keys=len(registry.ids),
                    revoked=int(keys.sum()),
                    revoked_from=dict(zip(since.tolist(), keys.tolist(), strict=True)),
                    reports=sum(counted.values()),
                    periods=counted,
                    rejected=self.rejected(known.campaign),
                    views=views,
                    warnings=warnings,
                )
            )
        return found


def _views(reports: DeltaTable, campaign: SignedCampaign) -> tuple[tuple[ViewStatus, ...], tuple[str, ...]]:
    """How each view of a campaign with several stands, and what is wrong with their numbers."""
    terms = campaign.terms
    if len(terms.views) == 1:
        return (), ()
    from aggregator.estimate.view_screen import screen_views  # a status of plain campaigns needs no estimators

    devices = devices_by_view(reports, campaign)
    found = screen_views([view.weight for view in terms.views], devices)
    total = sum(view.weight for view in terms.views)
    named = zip(terms.views, devices.tolist(), strict=True)
    views = tuple(ViewStatus(view_name(terms.domain, view), view.weight / total, each) for view, each in named)
    return views, () if found is None else (found,)


def _enrolments(data: bytes) -> tuple[Chunk, Counter[tuple[str, Reject]]]:
    """The enrolments of a batch, and what else is in it."""
    gathering = Gathering()
    gathering.add(data, frames(data, final=True))
    chunk = gathering.done()
    strays = chunk.frames.shape[1] - len(chunk.of(Kind.ENROLMENT)) + chunk.garbage
    return chunk, Counter({("", Reject.MALFORMED): strays})


def _by_class(refused: Mapping[tuple[str, Reject], int]) -> Mapping[str, int]:
    classes: Counter[str] = Counter()
    for (_, reject), count in sorted(refused.items()):
        classes[str(reject)] += count
    return MappingProxyType({reject: count for reject, count in classes.items() if count})


def _margins(terms: Campaign, file: Path | None) -> tuple[KnownMargin, ...]:
    """The known margins of a file; none without one."""
    from aggregator.population import read_population

    return () if file is None else read_population(file, terms)
