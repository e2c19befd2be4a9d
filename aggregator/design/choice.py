"""The choice: what the mechanisms of the catalogue make of a question, weighed, and the best of it.

One idea: nothing is taken on its name. Whatever is handed out has been made, certified at the level asked for, and
weighed by the error of its own integers.

What all of them cost side by side: plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from aggregator.design.catalogue import CATALOGUE, LIP, Mechanism, Question
from aggregator.estimate.decoders import NotInvertible, decoder_of
from aggregator.estimate.decoders.decoder import Floats
from aggregator.estimate.error import expected_mse, lip_mse, prior_mse
from protocol import notions
from protocol.channels import Channel
from protocol.errors import BadData, HalftruthError
from protocol.notions import Certificate, HighLow, Information, Notion

AUTO = "auto"
"""The name of a choice among all."""

SPARE_BITS = 8
"""What a choice allows an output beyond log2 k bits."""

SAME = 5e-4
"""Relative differences of errors below this are not worth telling."""

ROUNDING = 1e-9
"""Relative differences of errors below this are of rounding; then fewer bits decide, and then the catalogue's order."""

AS_GOOD = 0.999
"""LIP mechanisms that reach this part of the best one's gain are as good, and the unbiased estimate decides."""


class Unsuited(HalftruthError):
    """A wish that no mechanism, or not the one named, can meet. The text names what would do."""


@dataclass(frozen=True)
class Candidate:
    """A mechanism's channel for one question, certified and weighed.

    Attributes:
        raw_mse: expected squared error of the unbiased histogram of one report, summed over the values; NaN where the
            channel has no unbiased estimate.
        weight: the most people one report can count for; NaN likewise.
        person_mse: LIP only: expected squared error of one person's histogram when the prior is right.
    """

    mechanism: Mechanism
    channel: Channel
    certificate: Certificate
    raw_mse: float
    weight: float
    person_mse: float | None

    @property
    def error(self) -> float:
        """What mechanisms for one question are compared by."""
        return self.raw_mse if self.person_mse is None else self.person_mse

    def within(self, most_bits: int) -> bool:
        """Whether an output is short enough."""
        return self.channel.output_bits <= most_bits

    def beside(self, choice: Candidate, most_bits: int) -> str:
        """Why ``choice`` is preferred to this one."""
        if not self.within(most_bits):
            return f"needs {self.channel.output_bits} bits, more than {most_bits}"
        if math.isnan(self.error) or math.isnan(choice.error):
            return "has no unbiased estimate"
        ratio = self.error / choice.error
        return "the same error" if abs(ratio - 1) < SAME else f"{ratio:.4g} times the error"


def candidates(
    question: Question, p: Sequence[float] | Floats | None = None, mechanisms: Sequence[Mechanism] | None = None
) -> Iterator[tuple[Mechanism, Candidate | str]]:
    """The channel of every one of ``mechanisms``, all if not given, for ``question``; or why it has none.

    Args:
        p: the shares to expect; where not given the question's, else the prior of a LIP notion, else even.
    """
    p = question.shares if p is None else p
    for mechanism in CATALOGUE if mechanisms is None else mechanisms:
        recipe = mechanism.recipe(question)
        if isinstance(recipe, str):
            yield mechanism, recipe
            continue
        try:
            yield mechanism, weigh(mechanism, recipe(), question.notion, p)
        except BadData as reason:
            yield mechanism, str(reason)


def weigh(
    mechanism: Mechanism, channel: Channel, notion: Notion, p: Sequence[float] | Floats | None = None
) -> Candidate:
    """Certify and weigh a channel.

    Args:
        p: the shares to expect; the prior of a LIP notion, else even, where not given.
    Raises:
        BadData: it does not keep the notion.
    """
    certificate = notions.certify(channel, notion)
    prior = notion.prior if isinstance(notion, Information) else None
    if p is None and prior is not None:
        p = [weight / sum(prior) for weight in prior]
    raw_mse = weight = math.nan
    with suppress(NotInvertible):
        raw_mse, weight = expected_mse(channel, p), decoder_of(channel, p).weight
    person = None if prior is None or channel.unary else lip_mse(channel, prior)
    return Candidate(mechanism, channel, certificate, raw_mse, weight, person)


def most_bits_of(question: Question, asked: int | None) -> int:
    """The bit limit of an output: what was asked, or ``SPARE_BITS`` beyond log2 k.

    Raises:
        Unsuited: fewer than log2 k bits cannot tell k values apart.
    """
    least = (question.size - 1).bit_length()
    if asked is not None and asked < least:
        raise Unsuited(f"{question.size} values take {least} bits at least, not {asked}: allow {least}")
    return least + SPARE_BITS if asked is None else asked


def best(question: Question, found: Sequence[Candidate], most_bits: int) -> tuple[Candidate, str]:
    """The candidate of least error within the bit limit, and the reason.

    Under a prior the error is one person's; of those as good, the one whose unbiased estimate of all is surest.

    Raises:
        Unsuited: none is left; the text names the nearest wish that can be met.
    """
    short = [one for one in found if one.within(most_bits)]
    if not short:
        if not found:
            raise Unsuited(f'no mechanism keeps notion "{question.notion.name}" for this question')
        nearest = min(found, key=lambda one: one.channel.output_bits)
        raise Unsuited(
            f"no mechanism answers within {most_bits} bits; {nearest.mechanism.name} needs "
            f"{nearest.channel.output_bits}"
        )
    weighed = [one for one in short if not math.isnan(one.error)] or short
    least = min(one.error for one in weighed)
    if isinstance(question.notion, Information):
        alone = prior_mse(question.notion.prior)
        as_good = [one for one in weighed if alone - one.error >= AS_GOOD * (alone - least)]
        choice = min(as_good, key=lambda one: math.inf if math.isnan(one.raw_mse) else one.raw_mse)
    else:
        as_good = [one for one in weighed if one.error <= (1 + ROUNDING) * least] or weighed
        choice = min(as_good, key=lambda one: one.channel.output_bits)
    return choice, _reason(choice, short, question)


def _reason(choice: Candidate, short: Sequence[Candidate], question: Question) -> str:
    if len(short) == 1:
        return "the only one that serves"
    if isinstance(question.notion, HighLow):
        said = "all values equally common" if question.part is None else f"{question.part:g} of the people protected"
        return f"least exact error of {len(short)} that serve, {said}"
    if not isinstance(question.notion, Information):
        return f"least exact error of {len(short)} that serve"
    reason = f"tells most of a person under the prior, of {len(short)} that serve"
    if math.isnan(choice.raw_mse):
        reason += "; it has no unbiased estimate, so no error bars"
    surer = [
        one for one in short if one.raw_mse < choice.raw_mse or math.isnan(choice.raw_mse) > math.isnan(one.raw_mse)
    ]
    if surer:
        surest = min(surer, key=lambda one: one.raw_mse)
        reason += f"; for shares that do not lean on the prior, take {surest.mechanism.name}"
        if not math.isnan(choice.raw_mse):
            reason += f", with {surest.raw_mse / choice.raw_mse:.2g} times its squared error"
    return reason


def chosen(name: str, question: Question) -> tuple[str, Channel]:
    """The mechanism called ``name``, or for ``auto`` the best, and its channel for ``question``.

    Raises:
        Unsuited: there is none of that name, or it does not serve.
    """
    if name == LIP and not isinstance(question.notion, Information):
        raise Unsuited('"lip" does not serve this question: it is made for a prior, notion lip')
    if name in (AUTO, LIP):
        wanted = [one for one in CATALOGUE if name == AUTO or one.name.startswith(LIP)]
        found = [one for _, one in candidates(question, mechanisms=wanted) if not isinstance(one, str)]
        choice, _ = best(question, found, most_bits_of(question, None))
        return choice.mechanism.name, choice.channel
    mechanism = next((one for one in CATALOGUE if one.name == name), None)
    if mechanism is None:
        names = ", ".join([LIP, *(one.name for one in CATALOGUE)])
        raise Unsuited(f"name is {AUTO}, table, or one of {names}; not {name[:60]!r}")
    recipe = mechanism.recipe(question)
    if isinstance(recipe, str):
        others = [one.name for one in CATALOGUE if not isinstance(one.recipe(question), str)]
        raise Unsuited(f'"{name}" does not serve this question: {recipe}. What does: {", ".join(others)}, table')
    try:
        return name, weigh(mechanism, recipe(), question.notion).channel
    except BadData as reason:
        raise Unsuited(f'"{name}" does not serve this question: {reason}') from None
