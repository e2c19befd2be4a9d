"""Choose the mechanism with the least expected error for a question.

The channel of each mechanism is designed and certified at the requested level. Channels are compared by the expected
error that their integers give.

``plan`` shows the comparison of all mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from aggregator.estimate.error import decoder_mse, lip_mse, prior_mse, report_mae
from aggregator.estimate.query import expected_variance
from aggregator.families.decoder import NotInvertible
from aggregator.families.mechanism import LIP, Mechanism, PlannedQuestion
from aggregator.planner.catalogue import CATALOGUE
from aggregator.planner.ordered_error import simulated_error
from aggregator.quantity import quantity, rounded
from protocol import notions
from protocol.channels import Channel
from protocol.domain import Line
from protocol.errors import BadData, HalftruthError
from protocol.notions import Certificate, DeclaredPrior, HighLow, Ldp, Lip
from protocol.spelling import suggestion

AUTO = "auto"
"""The name with which a draft lets the planner choose the mechanism."""

TABLE, GAUSSIAN = "table", "gaussian"
"""Mechanisms with additional entries of the draft: the rows of the channel, and sigma of the Gaussian. They are not in
the catalogue, and make no channel of a class, a view or a form."""

SPARE_BITS = 8
"""The number of bits beyond log2 k that ``auto`` allows for an output if a report may contain many outputs."""

SINGLE_BITS = 62
"""The number of bits that ``auto`` always allows for an output if a report contains a single output. They add eight
bytes to a report of about a hundred bytes, and subset selection never needs more."""

SAME = 5e-4
"""Relative differences of errors below this are reported as equal."""

ROUNDING = 1e-9
"""Relative differences of errors below this come from rounding; then the number of bits decides, and after it the
catalogue's order."""

EQUAL_GAIN = 0.999
"""LIP mechanisms with at least this fraction of the best gain (see ``families.table.prior_table``) are treated as
equal; the unbiased estimate then decides."""

ESTIMABLE_ERROR = 1.01
"""A LIP mechanism with an unbiased estimate is preferred if its error is at most this times the least error."""

WAVE = "wave"
"""The mechanism without an estimate of single values; it is compared by the errors of the mean, the distribution and
ranges only."""

ORDERED = {
    "distribution": ("distance", "the distribution", "of the range"),
    "ranges": ("in_range", "a range's share", "of the people"),
}
"""The goals of ordered values, each with the field of the simulated error that is compared, the name of the quantity,
and the noun to which a percentage of this error refers."""


class Unsuited(HalftruthError, ValueError):
    """No mechanism applies to the question, or the named mechanism does not. The text names a remedy."""


@dataclass(frozen=True)
class Candidate:
    """The certified channel of a mechanism for one question, with its expected errors.

    Attributes:
        raw_mse: the expected squared error of the unbiased estimate from one report, summed over the values; for
            item sets, that of the shares of people who have each item. NaN if the channel has no unbiased estimate.
        people_per_report: the largest number of people that one report can count for; NaN if the channel has no
            unbiased estimate.
        mean_variance: for numbers, the variance of one report's contribution to the mean, NaN without an unbiased
            estimate; None for other values.
        person_mse: for LIP, the expected squared error of the posterior as an estimate of one person's value if the
            prior is right; NaN for bit vectors, whose posteriors are not computed; None for other notions.
        report_mae: for LIP of two values, the mean absolute error of a report taken as the answer; otherwise None.
    """

    mechanism: Mechanism
    channel: Channel
    certificate: Certificate
    raw_mse: float
    people_per_report: float
    person_mse: float | None
    mean_variance: float | None = None
    report_mae: float | None = None

    @property
    def error(self) -> float:
        """The error by which mechanisms for one question are compared: ``person_mse`` for LIP, and ``raw_mse``
        for other notions; NaN if it is not known."""
        return self.raw_mse if self.person_mse is None else self.person_mse

    def within(self, max_bits: int) -> bool:
        """Return whether an output has at most ``max_bits`` bits."""
        return self.channel.output_bits <= max_bits

    def reason_not_chosen(self, choice: Candidate, max_bits: int, goal: str = "", *, compared: bool = False) -> str:
        """Return the reason why ``choice`` is preferred to this candidate, in words.

        Args:
            goal: the goal of the analysis; "" without one.
            compared: whether this is the best candidate for single values, with which the wave is compared.
        """
        if not self.within(max_bits):
            return f"needs {self.channel.output_bits} bits, more than {max_bits}"
        if goal == "mean" and self.mean_variance is not None and choice.mean_variance is not None:
            if math.isnan(self.mean_variance):
                return "has no unbiased estimate of the mean"
            return choice.compared("error of the mean", math.sqrt(self.mean_variance / choice.mean_variance))
        if self.person_mse is not None and math.isnan(self.person_mse):
            return "bit vectors: the error of the posterior is not computed"
        if math.isnan(self.error):
            return "has no unbiased estimate"
        if choice.mechanism.name == WAVE:
            if compared:
                return "best for single values, with a larger simulated error than wave"
            return "not compared with wave: another mechanism is better for single values"
        return choice.compared("squared error", self.error / choice.error)

    def compared(self, error: str, ratio: float) -> str:
        """Return in words that another candidate's ``error`` is ``ratio`` times that of this candidate."""
        if abs(ratio - 1) < SAME:
            return f"the same {error} as {self.mechanism.name}"
        return f"{error} {rounded(ratio, 4)} times that of {self.mechanism.name}"


def candidates(
    question: PlannedQuestion, mechanisms: Sequence[Mechanism] | None = None
) -> Iterator[tuple[Mechanism, Candidate | str]]:
    """Yield each mechanism with its candidate for ``question``, or with the reason why it has none.

    Args:
        mechanisms: the mechanisms to try; by default all.
    """
    for mechanism in CATALOGUE if mechanisms is None else mechanisms:
        recipe = mechanism.recipe_for(question)
        if isinstance(recipe, str):
            yield mechanism, recipe
            continue
        try:
            channel = recipe()
            missing = question.missing(channel)
            yield mechanism, _unsupported(missing) if missing else evaluate(mechanism, channel, question)
        except BadData as reason:
            yield mechanism, str(reason)


def _unsupported(missing: Sequence[str]) -> str:
    """Return the reason for refusing a channel with families that the devices do not support."""
    families = f"family {missing[0]}" if len(missing) == 1 else f"families {' and '.join(missing)}"
    return f"its channel needs the {families}, which [mechanism] families does not list"


def evaluate(mechanism: Mechanism, channel: Channel, question: PlannedQuestion) -> Candidate:
    """Return a certified channel with its expected errors at the question's shares; if the question has none, at the
    prior of a LIP notion, otherwise at equal shares.

    Raises:
        BadData: the channel does not satisfy the notion.
    """
    notion, shown_inputs = question.notion, question.shown_inputs
    certificate = notions.certify(channel, notion)
    prior = notion.prior if isinstance(notion, Lip) else None
    reference = None if prior is None else [weight / sum(prior) for weight in prior]
    expected_shares = reference if question.shares is None else question.shares
    raw_mse = people_per_report = math.nan
    decoder = shown_inputs.decoder(channel, reference)
    with suppress(NotInvertible):
        raw_mse = decoder_mse(decoder, expected_shares, shown_inputs)
        people_per_report = decoder.people_per_report * shown_inputs.factor
    numbers = question.domain.points if isinstance(question.domain, Line) else None
    mean_variance = None if numbers is None else math.nan
    if numbers is not None:
        with suppress(NotInvertible):
            distributions = (
                None if shares is None else np.asarray(shares, dtype=np.float64)
                for shares in (reference, expected_shares)
            )
            mean_variance = expected_variance(decoder, [*map(float, numbers)], *distributions)
    person_mse = None if prior is None else math.nan if channel.unary else lip_mse(channel, prior, shown_inputs)
    mae = None if prior is None else report_mae(channel, prior)
    return Candidate(mechanism, channel, certificate, raw_mse, people_per_report, person_mse, mean_variance, mae)


def max_bits_of(question: PlannedQuestion, limit: int | None) -> int:
    """Return the largest number of bits of an output: the requested limit; by default log2 k + ``SPARE_BITS``, and for
    single outputs at least ``SINGLE_BITS``.

    Raises:
        Unsuited: fewer than log2 k bits were requested, which cannot distinguish k values.
    """
    minimum = (question.size - 1).bit_length()
    if limit is not None and limit < minimum:
        inputs = "values" if question.size == question.domain.size else "inputs of the channel"
        raise Unsuited(
            f"{question.size:,} {inputs} need outputs of at least {minimum} bits, not {limit}: use --bits "
            f"{minimum} or more"
        )
    if limit is not None:
        return limit
    return minimum + SPARE_BITS if question.bundled else max(minimum + SPARE_BITS, SINGLE_BITS)


def best_candidate(question: PlannedQuestion, choices: Sequence[Candidate], max_bits: int) -> tuple[Candidate, str]:
    """Return the candidate with the least error within the bit limit, and the reason for the choice.

    Under a prior the error is that of one person's posterior; among candidates with nearly equal errors, the smallest
    error of the unbiased estimate decides. A candidate that can estimate all values without a prior is preferred to
    others with nearly the same error.

    If the campaign has no prior, the goal determines the error. For a mean, the error of the mean is compared. For a
    distribution or ranges, the wave is chosen if its simulated error is less than that of the best candidate for single
    values.

    Raises:
        Unsuited: there is no candidate; or none is within the limit, and then the text names the nearest sufficient
            limit.
    """
    usable = [candidate for candidate in choices if candidate.within(max_bits)]
    if not usable:
        if not choices:
            only = f" with channels of {' or '.join(sorted(question.families))}" if question.families else ""
            action = "allow other families" if question.families else "choose another notion or epsilon"
            raise Unsuited(
                f'no mechanism can be used for this question and notion "{question.notion.name}"{only}: {action}'
            )
        nearest = min(choices, key=lambda candidate: candidate.channel.output_bits)
        raise Unsuited(
            f"no mechanism has outputs of at most {quantity(max_bits, 'bit')}; {nearest.mechanism.name} needs "
            f"{nearest.channel.output_bits}: name it in the draft, or use --bits {nearest.channel.output_bits} or more"
        )
    if question.goal == "mean" and not isinstance(question.notion, Lip):
        means = [(candidate.mean_variance, candidate) for candidate in usable if candidate.mean_variance is not None]
        if means := [(variance, candidate) for variance, candidate in means if not math.isnan(variance)]:
            lowest = min(variance for variance, _ in means) * (1 + ROUNDING)
            as_good = [candidate for variance, candidate in means if variance <= lowest]
            choice = min(as_good, key=lambda candidate: candidate.channel.output_bits)
            if len(means) == 1:
                return choice, "the only usable mechanism with an unbiased estimate of the mean"
            return choice, f"smallest error of the mean, computed exactly, among {len(means)} usable mechanisms"
    weighed = [candidate for candidate in usable if not math.isnan(candidate.error)]
    if isinstance(question.notion, Lip) and weighed:
        lowest = min(candidate.error for candidate in weighed)
        prior_error = prior_mse(question.notion.prior, question.shown_inputs)
        invertible = [
            candidate
            for candidate in weighed
            if candidate.error <= ESTIMABLE_ERROR * lowest and not math.isnan(candidate.raw_mse)
        ]
        if invertible:
            weighed, lowest = invertible, min(candidate.error for candidate in invertible)
        as_good = [
            candidate for candidate in weighed if prior_error - candidate.error >= EQUAL_GAIN * (prior_error - lowest)
        ]
        choice = min(as_good, key=lambda candidate: math.inf if math.isnan(candidate.raw_mse) else candidate.raw_mse)
    else:
        # Without a prior raw_mse is the error. Under a prior, all outputs within the limit are bit vectors.
        choice = best_for_single_values(usable)
        if question.goal in ORDERED and question.domain.ordered:
            return _by_order(choice, usable, question)
    return choice, _reason(choice, usable, question)


def best_for_single_values(usable: Sequence[Candidate]) -> Candidate:
    """Return the candidate whose unbiased estimate has the least error, or that with the fewest bits if none has an
    unbiased estimate."""
    lowest = min((candidate.raw_mse for candidate in usable if not math.isnan(candidate.raw_mse)), default=math.nan)
    as_good = [candidate for candidate in usable if candidate.raw_mse <= (1 + ROUNDING) * lowest] or usable
    return min(as_good, key=lambda candidate: candidate.channel.output_bits)


def _by_order(choice: Candidate, usable: Sequence[Candidate], question: PlannedQuestion) -> tuple[Candidate, str]:
    """Return the wave or ``choice``, whichever has the smaller simulated error for the question's goal, and the reason.

    Args:
        choice: the candidate with the least error for single values.
    """
    reason = _reason(choice, usable, question)
    wave = next((candidate for candidate in usable if candidate.mechanism.name == WAVE), None)
    if wave is None or wave is choice:
        return choice, reason
    errors = [simulated_error(candidate.channel, question.reports) for candidate in (choice, wave)]
    field, noun, percent_of = ORDERED[question.goal]
    choice_error, wave_error = (float(getattr(error, field)) for error in errors)
    if not wave_error < choice_error:
        return (
            choice,
            f"{reason}; simulated error of {noun}: {choice_error:.2%} {percent_of}; wave has {wave_error:.2%}",
        )
    if math.isinf(choice_error):
        return wave, f"the only usable mechanism with an estimate of {noun}"
    return wave, (
        f"smallest simulated error of {noun}: {wave_error:.2%} {percent_of}; {choice.mechanism.name} has "
        f"{choice_error:.2%}"
    )


def _reason(choice: Candidate, usable: Sequence[Candidate], question: PlannedQuestion) -> str:
    if len(usable) == 1:
        return "the only usable mechanism"
    compared = sum(math.isnan(candidate.error) == math.isnan(choice.error) for candidate in usable)
    among = f"among {quantity(compared, 'usable mechanism')}{' with a known error' if compared < len(usable) else ''}"
    exact = f"smallest error, computed exactly, {among}"
    if isinstance(question.notion, HighLow):
        if question.sensitive_share is None:
            return f"{exact}, if all values are equally common"
        return f"{exact}, if {question.sensitive_share:g} of the people have a sensitive value"
    if not isinstance(question.notion, Lip):
        return exact
    if choice.person_mse is not None and math.isnan(choice.person_mse):
        return f"{exact}, all with bit vectors"
    lowest = min(candidate.error for candidate in usable if not math.isnan(candidate.error))
    rank = "least" if choice.error <= (1 + SAME) * lowest else "nearly the least"
    reason = f"{rank} error of one person's posterior under the prior, {among}"
    if math.isnan(choice.raw_mse):
        reason += "; it has no unbiased estimate, so there are no intervals"
    unbiased = [
        candidate
        for candidate in usable
        if candidate.raw_mse < choice.raw_mse or math.isnan(choice.raw_mse) > math.isnan(candidate.raw_mse)
    ]
    if unbiased:
        alternative = min(unbiased, key=lambda candidate: candidate.raw_mse)
        reason += f"; for shares that do not depend on the prior, use {alternative.mechanism.name}"
        if not math.isnan(choice.raw_mse):
            reason += (
                f", whose unbiased estimate has {alternative.raw_mse / choice.raw_mse:.2g} times the squared error"
            )
    return reason


def chosen_channel(name: str, question: PlannedQuestion) -> tuple[str, Channel]:
    """Return the name and the channel of the mechanism called ``name``, or of the best mechanism for ``auto`` and
    ``lip``.

    Raises:
        Unsuited: no mechanism has this name, or it does not apply to the question; for ``auto`` and ``lip``: no
            mechanism applies.
    """
    choice = chosen_candidate(name, question)
    return choice.mechanism.name, choice.channel


def chosen_candidate(
    name: str, question: PlannedQuestion, channel_types: tuple[type[Channel], ...] = (Channel,)
) -> Candidate:
    """Return the candidate of the mechanism called ``name``, or the best candidate for ``auto`` and ``lip``.

    Args:
        channel_types: the Python types of channels from which ``auto`` and ``lip`` choose.
    Raises:
        Unsuited: as for ``chosen_channel``.
    """
    if name == LIP and not isinstance(question.notion, Lip):
        raise Unsuited(
            f'"{LIP}" needs notion "{LIP}" with a prior, and the notion is "{question.notion.name}": use "{AUTO}"'
        )
    if name in (AUTO, LIP):
        mechanisms = [mechanism for mechanism in CATALOGUE if name == AUTO or mechanism.name.startswith(LIP)]
        applicable = [
            candidate for _, candidate in candidates(question, mechanisms=mechanisms) if not isinstance(candidate, str)
        ]
        fitting = [candidate for candidate in applicable if isinstance(candidate.channel, channel_types)]
        return best_candidate(question, fitting, max_bits_of(question, None))[0]
    mechanism = next((mechanism for mechanism in CATALOGUE if mechanism.name == name), None)
    if mechanism is None:
        if name in (TABLE, GAUSSIAN):
            raise Unsuited(f'"{name}" makes a single channel, and classes, views and forms need several: use "{AUTO}"')
        names = [LIP, *(mechanism.name for mechanism in CATALOGUE)]
        hint = suggestion(name, [AUTO, TABLE, GAUSSIAN, *names])
        advice = hint or f"; name must be {AUTO}, {TABLE}, {GAUSSIAN} or one of {', '.join(names)}"
        raise Unsuited(f"there is no mechanism {name[:60]!r}{advice}")
    recipe = mechanism.recipe_for(question)
    if isinstance(recipe, str):
        others = [mechanism.name for mechanism in CATALOGUE if not isinstance(mechanism.recipe_for(question), str)]
        raise Unsuited(f'"{name}" cannot be used for this question: {recipe}. Use one of: {", ".join([AUTO, *others])}')
    try:
        channel = recipe()
        if missing := question.missing(channel):
            raise Unsuited(
                f'"{name}" cannot be used, because {_unsupported(missing)}: extend the list, or use "{AUTO}"'
            )
        return evaluate(mechanism, channel, question)
    except BadData as reason:
        raise Unsuited(f'"{name}" cannot be used for this question: {reason}. Use "{AUTO}"') from None


def offered_channel(question: PlannedQuestion) -> tuple[str, Channel]:
    """Return the name and the channel that a campaign with declared priors offers besides the ``lip-response`` channel
    of each prior.

    The offered channel is the LDP channel with the least error, without bit vectors, or the ``lip-response`` channel of
    the uniform prior if no such channel applies. A device that declares a prior uses the offered channel or the
    ``lip-response`` channel of its prior, whichever has the smaller error.

    Raises:
        ValueError: the notion is not that of declared priors.
    """
    notion = question.notion
    if not isinstance(notion, DeclaredPrior):
        raise ValueError(
            f'only a campaign with notion "{DeclaredPrior.name}" offers a channel besides lip-response; the notion is '
            f'"{notion.name}"'
        )
    ldp_question = replace(question, notion=Ldp(notion.level))
    serving = []
    for _, candidate in candidates(ldp_question):
        if isinstance(candidate, str) or candidate.channel.unary or math.isnan(candidate.raw_mse):
            continue
        try:
            notions.certify(candidate.channel, notion)
        except BadData:
            continue
        serving.append(candidate)
    if not serving:
        return "lip-response", notion.response
    choice = min(serving, key=lambda candidate: candidate.raw_mse)
    return f"lip-response or {choice.mechanism.name}", choice.channel
