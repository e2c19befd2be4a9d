"""The estimate of a campaign: shares with standard errors and intervals, and the influence of forged reports.

An estimate has all that is needed to judge it: unbiased and consistent shares, standard errors, intervals for one value
and for all values together, refused reports, the influence of a forged report, and warnings.

Linear queries such as means: query. How it is printed: present.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aggregator.estimate import distribution, interval, likelihood
from aggregator.estimate.class_weights import weigh
from aggregator.estimate.classes import pooled
from aggregator.estimate.linear import solve
from aggregator.estimate.method import WITHOUT_INVERSE, MethodRefused, consistent, default_method, require_method
from aggregator.estimate.minimum import devices_of, require_enough
from aggregator.estimate.names import POOLS
from aggregator.estimate.personal import PersonalTally
from aggregator.estimate.pooled import Pooled
from aggregator.estimate.prior_test import PriorTest, prior_test
from aggregator.estimate.reported import Reported
from aggregator.estimate.resolutions import Resolution, Views, resolutions
from aggregator.estimate.robust import LARGEST, robust
from aggregator.estimate.screen import screen
from aggregator.estimate.shared import NotShared, shared
from aggregator.estimate.tally import Tally
from aggregator.estimate.transcript import TranscriptTally
from aggregator.estimate.view_screen import screen_views
from aggregator.estimate.weighting import KnownMargin, MarginRefused, Weighting
from aggregator.families.decoder import Decoder, Floats, NotInvertible
from aggregator.inspection import view_name
from protocol import exact
from protocol.campaign import Campaign, SignedCampaign
from protocol.domain import Form, Items, Line
from protocol.notions import Information, MutualInformation
from protocol.views import is_plain

VIEW_METHODS = ("projection", "linear")
"""The methods of campaigns whose devices are asked for views: the first where nobody asks for one."""

MOVED = 5e-4
"""Shares that differ by less are reported as equal."""

WITHOUT_BARS = "shares without error bars"
"""Start of the warning about shares without standard errors."""

UNKNOWN = 0.5
"""Above this standard error, the interval covers all possible shares: nothing is known about the value."""

WRONG_PRIOR = "map"
"""The method where the outputs contradict the prior and nobody asked for one: it leaves the prior as far as they do."""

VALUE_KINDS = {
    "values": "value",
    "ordered": "value",
    "grid": "cell",
    "buckets": "randomly rounded number",
    "number": "number",
    "date": "date",
    "items": "item",
}
"""What one value of each kind of domain is called in tables for programs."""

ROUNDED = (
    "a share is of the answers rounded to that number, not of a bin between two: each device rounds its answer to one "
    "of the two numbers around it at random, the nearer one more often, so that means and sums are unbiased"
)

ONE_DEVICE = (
    "all reports come from one device, or from very few: they do not say how far other people are from it, so there "
    "are no errors and no intervals"
)


@dataclass(frozen=True)
class Influence:
    """A bound on how far forged reports can move a share.

    Attributes:
        people_per_report: the most people that one report counts for in a raw estimate; NaN without one.
        reports: n.
        asked: how many forged reports somebody wants to know the influence of; None: nobody asked.
    """

    people_per_report: float
    reports: int
    asked: int | None = None

    def share_of(self, forged: int) -> float:
        """Return the most that ``forged`` of the reports can add to the unbiased share of a value."""
        return forged * self.people_per_report / self.reports

    def as_json(self) -> dict[str, Any]:
        """The influence of one report, of one in a thousand, of one in a hundred, and of as many as were asked for."""
        usual = {1, math.ceil(self.reports / 1000), math.ceil(self.reports / 100)}
        crowds = sorted(usual if self.asked is None else usual | {self.asked})
        return {
            "people_per_report": _number(self.people_per_report),
            "share_per_report": _number(self.share_of(1)),
            "forged": [
                {
                    "reports": forged,
                    "people": _number(forged * self.people_per_report),
                    "share": _number(self.share_of(forged)),
                }
                for forged in crowds
            ],
        }


@dataclass(frozen=True)
class Estimate:
    """The shares of a campaign's values.

    All arrays are (k,), fractions. ``raw``, ``se`` and the intervals are NaN at values that the channel does not tell
    apart, which a warning then says.

    Attributes:
        terms: the campaign.
        campaign_id: its id; empty where the campaign was not signed.
        reports: n, the outputs counted.
        method: one of ``method.METHODS``.
        level: of the intervals, such as 0.95.
        share: the consistent distribution.
        raw: the unbiased estimate; may be negative or above one.
        se: standard error of ``raw``.
        low, high: interval of each value by itself; within 0 .. 1, and never without ``share``.
        all_low, all_high: intervals that hold for all values together, likewise.
        rejected: envelopes refused, by reject class.
        version: of the study's table the tally was read from.
        influence: of forged reports.
        warnings: what a reader must know before using the numbers.
        devices: how many sent the reports; None where that is not known, of a class whose devices have several each.
        where: the class of people that it is of; None: everybody.
        pool: one of ``POOLS``.
        prior: (k,) what was expected before any report, where the campaign says it.
        prior_test: whether the outputs look as the prior predicts; None where that cannot be told.
        rough: (k,) where few reports weigh so much that ``se`` is no usual error: the law is far from normal.
        resolutions: of a campaign with views, the shares at each, the coarsest first; the last is that of the values.
        weighting: what weights by known margins did; None without weights.
    """

    terms: Campaign
    campaign_id: bytes
    reports: int
    method: str
    level: float
    share: Floats
    raw: Floats
    se: Floats
    low: Floats
    high: Floats
    all_low: Floats
    all_high: Floats
    rejected: Mapping[str, int]
    version: int | None
    influence: Influence
    warnings: tuple[str, ...]
    devices: int | None
    where: str | None = None
    pool: str = POOLS[0]
    prior: Floats | None = None
    prior_test: PriorTest | None = None
    rough: NDArray[np.bool_] | None = None
    resolutions: tuple[Resolution, ...] = ()
    weighting: Weighting | None = None

    @property
    def size(self) -> int:
        """The number of values that are shown: k, of item sets the items."""
        return len(self.share)

    def at(self, resolution: str) -> Estimate | Resolution:
        """The shares at one resolution.

        Args:
            resolution: the name of one of ``resolutions``.
        Returns:
            of the finest, and of a campaign without views, the estimate itself.
        """
        return next((each for each in self.resolutions[:-1] if each.name == resolution), self)

    @property
    def added(self) -> float | None:
        """Total variation between the prior and the estimate; None without a prior."""
        return None if self.prior is None else float(np.abs(self.share - self.prior).sum() / 2)

    @property
    def value_kind(self) -> str:
        """The kind of the values in one or two words."""
        return VALUE_KINDS["buckets" if self.note else self.terms.domain.kind]

    @property
    def note(self) -> str | None:
        """A note on the meaning of the values; "" if their names are clear."""
        domain = self.terms.domain
        return ROUNDED if isinstance(domain, Line) and domain.rounds_randomly else None

    @property
    def epsilon(self) -> float:
        """The declared level of the campaign's notion, nats."""
        return exact.nats(self.terms.notion.level)

    @property
    def above_zero(self) -> NDArray[np.bool_]:
        """(k,) whether a value's simultaneous interval lies above zero: it surely occurs."""
        above: NDArray[np.bool_] = self.all_low > 0
        return above

    def label(self, x: int) -> str:
        """The name of value ``x``.

        Args:
            x: a value's number, 0 .. k - 1.
        Returns:
            Its label as text.
        """
        return self.terms.domain.label(x)

    def as_json(self) -> dict[str, Any]:
        """The machine-readable form; its keys are a contract.

        Returns:
            A mapping for ``json.dumps``; shares as fractions.
        """
        return {
            "campaign": self.terms.title,
            "campaign_id": self.campaign_id.hex(),
            "reports": self.reports,
            "devices": self.devices,
            "class": self.where,
            "pool": self.pool,
            "weights": None if self.weighting is None else self.weighting.as_json(),
            "notion": self.terms.notion.name,
            "epsilon": self.epsilon,
            "method": self.method,
            "confidence": self.level,
            "table_version": self.version,
            "value_kind": self.value_kind,
            "note": self.note,
            **self._items(),
            "values": _rows(self, map(self.label, range(self.size)), self.prior),
            "resolutions": [
                {
                    "resolution": each.name,
                    "reports": each.reports,
                    "values": _rows(each, map(each.label, range(each.size))),
                }
                for each in self.resolutions[:-1]
            ],
            "prior_test": None if self.prior_test is None else self.prior_test.as_json(),
            "added_to_prior": self.added,
            "rejected": dict(self.rejected),
            "influence": self.influence.as_json(),
            "warnings": list(self.warnings),
        }

    def _items(self) -> dict[str, Any]:
        """Return the note on an item set: its shares are of items, numbered from 1 if they have no names."""
        domain = self.terms.domain
        if not isinstance(domain, Items):
            return {}
        numbered = [1, domain.count] if isinstance(domain.labels, int) else None
        return {"items": {"count": domain.count, "padding": domain.padding, "numbered": numbered}}


def unbiased(found: Estimate | Resolution) -> Floats:
    """(k,) the unbiased estimates where there are any, else the consistent shares."""
    return np.where(np.isnan(found.raw), found.share, found.raw)


def _rows(shown: Estimate | Resolution, labels: Iterable[str], prior: Floats | None = None) -> list[dict[str, Any]]:
    """The machine-readable form of each value or district."""
    columns = [shown.share, shown.raw, shown.se, shown.low, shown.high, shown.all_low, shown.all_high]
    names = ["estimate", "raw", "se", "low", "high", "simultaneous_low", "simultaneous_high"]
    if prior is not None:
        columns.append(prior)
        names.append("prior")
    rows = zip(*(column.tolist() for column in columns), strict=True)
    above = shown.above_zero
    rough = np.zeros(shown.size, dtype=np.bool_) if shown.rough is None else shown.rough
    return [
        {
            "value": label,
            **{name: _number(number) for name, number in zip(names, row, strict=True)},
            "above_zero": None if math.isnan(shown.all_low[x]) else bool(above[x]),
            "se_rough": bool(rough[x]),
        }
        for x, (label, row) in enumerate(zip(labels, rows, strict=True))
    ]


def estimate(
    campaign: Campaign | SignedCampaign,
    tally: Tally,
    *,
    method: str | None = None,
    level: float = 0.95,
    forged: int | None = None,
    where: str | None = None,
    pool: str = POOLS[0],
    margins: Sequence[KnownMargin] = (),
) -> Estimate:
    """The shares of ``campaign``'s values from a tally of its reports.

    Args:
        method: one of ``method.METHODS``; None takes ``default_method``.
        level: of the intervals.
        forged: a number of forged reports to state the influence of, beside the usual ones.
        where: the class that ``classes.within`` has cut campaign and tally down to, if it has.
        pool: one of ``POOLS``: how classes are put together.
        margins: known shares of the population by class, to weight the classes to.
    Raises:
        MarginRefused: the classes cannot be weighted to the margins.
        NotShared: classes cannot be pooled by precision.
        NotEnough: fewer devices than the campaign waits for.
        MethodRefused: an unknown method, or one that the campaign does not support.
        NotInvertible: no unbiased estimate exists and the method is made of one.
    """
    signed = campaign if isinstance(campaign, SignedCampaign) else None
    terms = campaign.terms if isinstance(campaign, SignedCampaign) else campaign
    if isinstance(terms.domain, Form):
        raise MethodRefused(f"{terms.title!r} is a form: it has estimates of its questions and tables, and none of all")
    if not 0 < level < 1:
        raise ValueError("the level of an interval lies between 0 and 1")
    if forged is not None and not 0 <= forged <= tally.reports:
        raise ValueError(f"0 to {tally.reports} of the reports may be forged")
    if not is_plain(terms.views):
        if margins:
            raise MarginRefused(
                "a campaign that asks for views is not weighted to margins: ask for one class with --where"
            )
        if pool != POOLS[0]:
            raise NotShared("a campaign that asks for views pools its classes by heads: leave out --pool")
        return _of_views(terms, signed.id if signed else b"", tally, method, level, forged, where)
    decoder, prior = reader_of(terms, tally)
    reported = Reported.of(terms.domain)

    counts, n = tally.counts, tally.reports
    share = counts / n
    groups = tally.groups if tally.groups is not None and tally.groups.dependent else None
    if method is not None:
        require_method(method, prior, decoder)
    if pool == "precision":
        decoder = shared(decoder, share, n, dependent=groups is not None)
        method = method or "projection"
    weighting = None
    if margins:
        method = _weighted_method(method, pool, where, by_value=decoder.by_value)
        decoder, weighting = weigh(decoder, share, margins, dependent=groups is not None)
        prior = None
    warnings = list(tally.warnings) if isinstance(tally, TranscriptTally) else []
    tested = None if prior is None else prior_test(decoder, prior, counts, n, 1 if groups is None else groups.most)
    if tested is not None and tested.rejected:
        method = method or WRONG_PRIOR
        warnings.append(_contradicted(tested, method, decoder))
    rough = None
    try:
        linear = solve(decoder, tally)
    except NotInvertible as reason:
        method = method or default_method(decoder, prior, None)
        if method not in WITHOUT_INVERSE:
            raise
        # Conservative: every device is taken to have the largest number of reports.
        worth = n if groups is None else n / groups.most
        raw, se, weight, warning = _identified_part(decoder, share, worth, prior, str(reason))
        warnings.append(warning)
        low, high = interval.normal(raw, se, 1 - level)
        all_low, all_high = interval.normal(raw, se, (1 - level) / reported.count)
        shares = consistent(method, decoder, share, n, None, prior, warnings, reported)
    else:
        raw, se = linear.raw, linear.se
        method = method or default_method(decoder, prior, se, ordered=terms.domain.ordered)
        low, high = linear.intervals(1 - level)
        all_low, all_high = linear.intervals((1 - level) / reported.count)
        if linear.between is not None and not linear.between.freedom:
            warnings.append(ONE_DEVICE)
        weight, rough = decoder.weight, linear.rough[: reported.count]
        shares = consistent(method, decoder, share, n, (raw, se), prior, warnings, reported)
    unknown = int(np.count_nonzero(se > UNKNOWN))
    if unknown:
        warnings.append(
            f"at {unknown} of {decoder.inputs} values the standard error is above {UNKNOWN:.0%} (up to "
            f"{np.nanmax(se):.0%}): the shares printed there are noise. More reports, fewer values, or a channel "
            "with less noise would help"
        )
    warnings += () if weighting is None else weighting.warnings
    findings = screen(decoder, counts, n, *(() if groups is None else (groups.devices, groups.most)))
    warnings.extend(findings)
    if findings and decoder.inputs <= LARGEST and decoder.one_hot and not isinstance(decoder, Pooled):
        with suppress(NotInvertible):
            less = robust(decoder, share, math.ceil(n if groups is None else n / groups.most), reported)
            warnings.append(_beside(terms, reported, distribution.project(decoder.invert(share), reported), less))
    if method == "mmse" and tested is None:
        outside = int(np.count_nonzero((shares < all_low) | (shares > all_high)))
        if outside:
            warnings.append(
                f"the prior looks wrong: at {outside} of {decoder.inputs} values the MMSE estimate, which depends on "
                f"it, lies outside the simultaneous {level:.0%} intervals, which do not depend on it. More reports do "
                "not correct this; use method 'map' or 'projection'"
            )
    columns = (shares, raw, se, low, high, all_low, all_high)
    weight *= reported.factor
    shares, raw, se, low, high, all_low, all_high = map(reported.shares, columns)
    if method != "linear":
        shares = reported.possible(shares)
    return Estimate(
        terms, signed.id if signed else b"", n, method, level, shares, raw, se,
        *interval.possible(low, high, se, shares), *interval.possible(all_low, all_high, se, shares),
        tally.rejected, tally.version, Influence(weight, n, forged), tuple(warnings),
        n if groups is None else groups.devices if where is None else None, where, pool,
        prior if reported.count == decoder.inputs else None, tested, rough, weighting=weighting,
    )  # fmt: skip


def _weighted_method(method: str | None, pool: str, where: str | None, *, by_value: bool) -> str:
    """Return the method of an estimate that is weighted to known margins."""
    if pool != POOLS[0] or where is not None:
        raise MarginRefused("known margins weight all classes: they go neither with --pool precision nor with --where")
    methods = VIEW_METHODS if by_value else ("smooth",)
    method = method or methods[0]
    if method not in methods:
        raise MethodRefused(
            f"an estimate weighted to known margins has method {' or '.join(methods)} here, not {method[:40]!r}"
        )
    return method


def _of_views(
    terms: Campaign,
    campaign_id: bytes,
    tally: Tally,
    method: str | None,
    level: float,
    forged: int | None,
    where: str | None,
) -> Estimate:
    """The estimate of a campaign whose devices are asked for views, with every resolution of it."""
    require_enough(terms, tally)
    method = method or VIEW_METHODS[0]
    if method not in VIEW_METHODS:
        raise MethodRefused(
            f"a campaign whose devices are asked for views of the answer has method {' or '.join(VIEW_METHODS)}, not "
            f"{method[:40]!r}"
        )
    views = Views.of(terms, tally.by_view)
    found = resolutions(terms, views, level=level, method=method)
    warnings: list[str] = []
    for one in views.asked:
        part, name = one.tally, view_name(terms.domain, one.view)
        if one.linear is None:
            warnings.append(f"no device with the view of {name} has answered: the view is left out")
            continue
        groups = part.groups if part.groups is not None and part.groups.dependent else None
        if one.linear.between is not None and not one.linear.between.freedom:
            warnings.append(f"{name}: {ONE_DEVICE}")
        screened = screen(
            one.decoder, part.counts, part.reports, *(() if groups is None else (groups.devices, groups.most))
        )
        warnings.extend(f"{name}: {finding}" for finding in screened)
    devices = np.array([devices_of(part) for part in tally.by_view])
    if (chosen := screen_views([view.weight for view in terms.views], devices)) is not None:
        warnings.append(chosen)
    weight = max(one.decoder.weight * tally.reports / one.tally.reports for one in views.asked if one.linear)
    finest = found[-1]
    if np.isnan(finest.raw).all():
        warnings.append(
            "there are no reports at the finest resolution: each district's share is spread evenly over its values, "
            "without error bars"
        )
    return Estimate(
        terms, campaign_id, tally.reports, method, level, finest.share, finest.raw, finest.se, finest.low, finest.high,
        finest.all_low, finest.all_high, tally.rejected, tally.version, Influence(weight, tally.reports, forged),
        tuple(warnings), devices_of(tally), where=where, rough=finest.rough, resolutions=tuple(found),
    )  # fmt: skip


def _beside(terms: Campaign, reported: Reported, whole: Floats, less: Floats) -> str:
    """Return a sentence that compares a robust estimate with the projection of all reports."""
    whole, less = (reported.possible(reported.shares(column)) for column in (whole, less))
    most = np.argsort(-np.abs(whole - less), kind="stable")[:3].tolist()
    told = [
        f"{terms.domain.label(x)}: {less[x]:.2%}, not {whole[x]:.2%}" for x in most if abs(whole[x] - less[x]) >= MOVED
    ]
    if not told:
        return (
            "a robust estimate (projected) is nearly the same: no output is much more frequent than the others explain"
        )
    return (
        "a robust estimate (projected), with each count limited to what the other outputs explain, gives "
        f"{'; '.join(told)}. The estimate above counts every report"
    )


def _identified_part(
    decoder: Decoder, share: Floats, n: float, prior: Floats | None, reason: str
) -> tuple[Floats, Floats, float, str]:
    """Return raw estimates, standard errors, weight and a warning for a channel without an inverse."""
    nothing = np.full(decoder.inputs, np.nan)
    even = np.full(decoder.inputs, 1 / decoder.inputs)
    if not decoder.by_value or decoder.inputs * decoder.features > likelihood.MOST_CELLS:
        return nothing, nothing, math.nan, f"{WITHOUT_BARS}: {reason}"
    fit = likelihood.em(decoder, share, math.ceil(n), even if prior is None else prior)
    found = likelihood.identified_values(decoder, share, fit.share)
    lost = int(np.count_nonzero(~found.identified))
    warning = f"{WITHOUT_BARS} at {lost} of {decoder.inputs} values that the channel does not distinguish: {reason}"
    return found.raw, np.sqrt(found.variance / n), found.weight, warning


def _contradicted(tested: PriorTest, method: str, decoder: Decoder) -> str:
    """Return the warning for a prior that the reports contradict, with advice."""
    found = (
        f"the prior looks wrong: the outputs differ from what it predicts (chi-square {tested.statistic:.0f} where "
        f"{tested.freedom} are expected, p {max(tested.p_value, 1e-16):.1g})"
    )
    if method == "mmse":
        return (
            f"{found}. The estimate depends on the prior, and more reports do not correct this; use method "
            f"{_recovers(decoder)}"
        )
    if method == "map":
        return f"{found}. The estimate departs from the prior where the reports contradict it"
    return found


def _recovers(decoder: Decoder) -> str:
    return "'map' or 'projection'" if isinstance(decoder, Pooled) else "'map', or of many reports 'em'"


def reader_of(terms: Campaign, tally: Tally) -> tuple[Decoder, Floats | None]:
    """Return the decoder for a campaign's tally, and the prior of an unknown person, or None.

    Raises:
        NotEnough: too few devices for the campaign.
    """
    features = terms.channel.features * (len(tally.priors) if isinstance(tally, PersonalTally) else 1)
    features = len(tally.chains) if isinstance(tally, TranscriptTally) else features
    if tally.counts.shape != (features,):
        raise ValueError(f"the tally has {tally.counts.shape} counts, the channel {features} features")
    require_enough(terms, tally)
    classes = pooled(terms, tally)
    prior = prior_of(terms) if classes is None else classes.prior
    return classes or Reported.of(terms.domain).reader(terms.channel, prior), prior


def prior_of(terms: Campaign) -> Floats | None:
    """Return the declared prior of a campaign for LIP or mutual information; None for other notions."""
    if not isinstance(terms.notion, (Information, MutualInformation)):
        return None
    weights: Floats = np.array(terms.notion.prior, dtype=np.float64)
    weights /= weights.sum()
    return weights


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else value
