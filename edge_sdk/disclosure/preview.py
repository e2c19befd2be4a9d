"""The disclosure by a person's reports, and by one more report.

Everything is computed on the device, for the person only, from the drawn outputs and the person's history. Nothing is
drawn, charged or stored.

The module posterior computes the posterior after one report, and exposure the sum of the levels of many draws.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from edge_sdk.campaigns.consent import no_consent, sends_enrolment
from edge_sdk.disclosure.exposure import CampaignExposure, Exposure, ViewChannel
from edge_sdk.disclosure.posterior import Posterior, fit_probabilities, posterior_bound, posterior_of
from protocol import exact
from protocol.channels import Channel
from protocol.domain import DITHER_BYTES, Answer, Form
from protocol.notions import Certificate, MinId
from protocol.views import Identity, QuestionsMap

if TYPE_CHECKING:
    from edge_sdk.campaigns.joined import Joined
    from edge_sdk.records import Records
    from protocol.campaign import Campaign


@dataclass(frozen=True)
class Preview:
    """The size, the cost and the possible disclosure of an answer, computed on the device for the person only.

    Attributes:
        report_bytes: maximum length of the report, the same for every answer; early reports are a few bytes shorter.
        waiting_bytes: length of the campaign's waiting envelopes; before consent, maximum length of the enrolment if
            the device sends one.
        upload_bytes: total length of the campaign's next upload.
        fits_true: probability that a report fits the answer if the answer is true (see
            ``posterior.fit_probabilities``). If no answer is given, this and all other probabilities are for the answer
            that one report can make most probable (see ``posterior.posterior_of``). In a campaign with views, "the
            answer" means its value in this device's view, here and below. Before consent, view and class are not fixed:
            a form then uses the view and class whose report reveals most, another campaign with classes the class with
            the largest worst case. Until a prior is declared, the uniform prior is used.
        fits_other: a lower bound of the probability that a report fits this answer if another answer is true. The
            disclosure follows from ``fits_true`` and ``fits_other`` together.
        posterior: the probabilities of the answer for an observer whose prior is this person's history.
        cost_nanonats: the charge for this answer; if no answer is given, the charge for a fresh output.
        group: the group or district that the answer counts as, if this device's view coarsens answers; "" if it does
            not, or if no answer is given. The probabilities are for this group.
    """

    report_bytes: int
    waiting_bytes: int
    upload_bytes: int
    fits_true: Fraction
    fits_other: Fraction
    posterior: Posterior
    cost_nanonats: int
    group: str = field(default="", repr=False)

    @property
    def cost(self) -> float:
        """The charge for this answer in nats."""
        return exact.nats(self.cost_nanonats)


def preview(records: Records, campaign_id: bytes, value: Answer | None, now: int) -> Preview:
    """Return the size, the cost and the possible disclosure of an answer (see ``Device.preview``)."""
    joined = records.joined_in_role(campaign_id)
    number = records.campaigns.number(campaign_id)
    if isinstance(joined.campaign.domain, Form) and records.consents.find(number) is None:
        if value is not None:
            # The numbers would reveal which questions this device is asked.
            raise no_consent(joined)
        return _of_every_view(joined, sends_enrolment(records, joined, number))
    earlier, period = records.transcripts.of(number), _period_near(joined.campaign, now)
    if earlier:
        joined = joined.for_report(earlier, max(period, earlier[-1][0] + 1))
    channel, certificate = joined.shown.channel, joined.shown.certificate
    x = cost = None
    is_repeat = False
    if value is not None:
        x = joined.input(value, _dither(records, number))
        memo_row = records.memo.recall(number, x)
        is_repeat = memo_row is not None and memo_row.period == period
        cost = 0 if memo_row is not None and (joined.campaign.transcript is None or is_repeat) else certificate.cost
    # With one answer per period, the same answer in this period gives the same report and adds nothing to the outbox.
    adds_nothing = is_repeat and joined.campaign.answers_per_period == 1
    waiting_bytes = sum(map(len, records.outbox.envelopes(number)))
    with_enrolment = sends_enrolment(records, joined, number)
    if with_enrolment and records.consents.find(number) is None:
        waiting_bytes += joined.longest_enrolment
    posterior = posterior_of(channel, certificate.ldp_level, records.memo.counts(number), x)
    return Preview(
        joined.longest_report,
        waiting_bytes,
        waiting_bytes + (0 if adds_nothing else joined.longest_report),
        *fit_probabilities(channel, posterior.x),
        posterior,
        certificate.cost if cost is None else cost,
        "" if x is None or isinstance(joined.map, Identity | QuestionsMap) else joined.label(x),
    )


def _of_every_view(joined: Joined, with_enrolment: bool) -> Preview:
    """Return the preview for the view and class in which a report reveals most; before consent it is the same for every
    device.

    Args:
        with_enrolment: whether the device will send an enrolment as well.
    """
    campaign = joined.campaign
    waiting_bytes = joined.longest_enrolment if with_enrolment else 0
    class_indexes = range(max(1, len(campaign.classes)))
    certificates: dict[Channel, Certificate] = {
        campaign.channel_of(class_index, view): campaign.certificate_of(class_index, view)
        for class_index in class_indexes
        for view in range(len(campaign.views))
    }
    bounds = {
        channel: posterior_bound(Fraction(1, channel.input_count), certificate.ldp_level)
        for channel, certificate in certificates.items()
    }
    channel, *others = sorted(certificates, key=bounds.__getitem__, reverse=True)
    highest = posterior_of(channel, certificates[channel].ldp_level, {})
    for other in others:
        if bounds[other] <= highest.after:
            break
        posterior = posterior_of(other, certificates[other].ldp_level, {})
        if posterior.after > highest.after:
            channel, highest = other, posterior
    return Preview(
        joined.longest_report,
        waiting_bytes,
        waiting_bytes + joined.longest_report,
        *fit_probabilities(channel, highest.x),
        highest,
        max(map(campaign.cost_of, class_indexes)),
    )


def exposure(records: Records, campaign_id: bytes) -> Exposure:
    """Return a bound on the disclosure by all reports about the same values (see ``Device.exposure``)."""
    campaigns = records.campaigns
    joined = campaigns.find(campaign_id)
    domain = joined.campaign.domain
    alike = [known for known in campaigns.ids() if campaigns.find(known).campaign.domain == domain]
    forgotten = records.ledger.forgotten()
    revealed = tuple(_of_campaign(records, known, forgotten.pop(campaigns.number(known), 0)) for known in alike)
    gone = sum(spent for number, spent in forgotten.items() if not campaigns.is_joined(number))
    return Exposure(domain, _dither(records, campaigns.number(campaign_id)), revealed, gone, joined.map)


def _of_campaign(records: Records, campaign_id: bytes, carried: int) -> CampaignExposure:
    """Return the exposure by one campaign's draws.

    Args:
        carried: an upper bound of the nanonats charged for draws before the campaign was forgotten and joined again.
    """
    joined, number = records.joined_in_role(campaign_id), records.campaigns.number(campaign_id)
    campaign = joined.campaign
    draws: Counter[ViewChannel] = Counter()
    if campaign.transcript:
        draws.update(
            ViewChannel(joined.map, drawn.channel) for drawn in joined.as_drawn(records.transcripts.of(number))
        )
        # An LDP level is at most twice the LIP level that was charged.
        carried *= 2
    else:
        draws[ViewChannel(joined.map, joined.channel)] = len(records.memo.counts(number))
    consent = records.consents.find(number)
    extra = carried + (0 if consent is None else consent.choice)
    # If a level is infinite, the charge for a draw bounds only some pairs.
    unbounded = carried and any(certificate.ldp_level is None for certificate in campaign.certificates)
    notion = campaign.notion if isinstance(campaign.notion, MinId) and not campaign.notion.unbounded_pairs else None
    return CampaignExposure(campaign_id, campaign.title, campaign.domain, draws, None if unbounded else extra, notion)


def _dither(records: Records, number: int) -> bytes:
    """Return the person's dither; before consent an arbitrary one, since nothing is stored."""
    consent = records.consents.find(number)
    return bytes(DITHER_BYTES) if consent is None else consent.dither


def _period_near(campaign: Campaign, now: int) -> int:
    """Return the current period; before the opening the first, after the closing the last."""
    return min(max(0, (now - campaign.opens) // campaign.period_seconds), campaign.periods - 1)
