"""Choice of the decoder for a campaign's tally, and of the prior that the campaign's notion declares."""

from __future__ import annotations

import numpy as np

from aggregator.estimate.classes import pooled_decoder
from aggregator.estimate.minimum import require_enough
from aggregator.estimate.personal import PersonalTally
from aggregator.estimate.shown_inputs import ShownInputs
from aggregator.estimate.tally import Tally
from aggregator.estimate.transcript import TranscriptTally
from aggregator.families.decoder import Decoder, Floats
from protocol.campaign import Campaign
from protocol.notions import Lip, MutualInformation


def decoder_and_prior(campaign: Campaign, tally: Tally) -> tuple[Decoder, Floats | None]:
    """Return the decoder of a campaign's tally, and the prior of a person whose class is unknown; None without a prior.

    Raises:
        NotEnough: too few devices for the campaign.
        ValueError: the tally was counted for another channel.
    """
    features = campaign.channel.features * (len(tally.priors) if isinstance(tally, PersonalTally) else 1)
    features = len(tally.chains) if isinstance(tally, TranscriptTally) else features
    if tally.counts.shape != (features,):
        raise ValueError(
            f"the tally is of another channel: its counts have shape {tally.counts.shape}, not ({features},); tally "
            "the reports of this campaign"
        )
    require_enough(campaign, tally)
    classes = pooled_decoder(campaign, tally)
    prior = _prior_of(campaign) if classes is None else classes.prior
    return classes or ShownInputs.of(campaign.domain).decoder(campaign.channel, prior), prior


def _prior_of(campaign: Campaign) -> Floats | None:
    """Return the prior of a campaign for LIP or mutual information; None for other notions."""
    if not isinstance(campaign.notion, (Lip, MutualInformation)):
        return None
    weights: Floats = np.array(campaign.notion.prior, dtype=np.float64)
    weights /= weights.sum()
    return weights
