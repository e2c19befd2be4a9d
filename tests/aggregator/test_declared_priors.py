"""Campaigns that offer an LDP channel besides the response of each declared prior: reports are decoded by the
channel used."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.estimate.classes import pooled_decoder
from aggregator.estimate.estimator import estimate
from aggregator.estimate.personal import PersonalDecoder, PersonalTally, takes_offered
from aggregator.families.hadamard.recipe import hadamard
from aggregator.intake.ingest import ingest
from aggregator.truth_file import Truth
from protocol import personal
from protocol.campaign import Campaign
from protocol.domain import Values
from protocol.keys import SigningKey
from protocol.notions import DeclaredPrior
from protocol.report import Enrolment, Report
from protocol.views import plain_views
from tests.aggregator.matrix import dense
from tests.aggregator.simulated import population

NAT, K, OPENS = 10**9, 10, 1_700_000_000
NOTION = DeclaredPrior(NAT, K)
OFFERED = hadamard(K, NAT)
FLAT = (1,) * K  # a person with this prior answers through the response
STEEP = (500, 500, *FLAT[2:])  # a person with this prior answers through the offered channel
CAMPAIGN = Campaign(
    "Crops", "Which?", "", "Council", Values(tuple(f"v{x}" for x in range(K))), NOTION, "lip-response or hadamard",
    plain_views(OFFERED), OPENS, OPENS + 10**6, 10**6, 1, 1, "open",
)  # fmt: skip


def test_floats_and_integers_choose_the_same_channel():
    """For each of 300 random priors, floats choose the channel that the protocol's integers choose; both channels
    occur."""
    generator = np.random.default_rng(1)
    pull = generator.dirichlet(np.full(K, 0.1), 300) + generator.dirichlet(np.full(K, 0.1), 300)
    priors = (1 + 10**4 * pull).astype(np.int64)
    found = takes_offered(priors, NAT, OFFERED)
    assert found.tolist() == [NOTION.channel_of(tuple(prior), OFFERED) == OFFERED for prior in priors.tolist()]
    assert 0 < found.sum() < len(found)


def test_the_decoder_is_that_of_the_dense_channels():
    """forward, backward, posterior mean and the unbiased estimate equal those computed from each person's matrix."""
    priors, generator = np.array([FLAT, STEEP]), np.random.default_rng(2)
    channels = [NOTION.channel_of(prior, OFFERED) for prior in (FLAT, STEEP)]
    assert channels == [personal.lip_response(FLAT, NAT), OFFERED]
    m = OFFERED.output_count
    distributions = np.zeros((2, K, m))
    for distribution, one in zip(distributions, channels, strict=True):
        distribution[:, : one.output_count] = dense(one)
    members = np.array([0.3, 0.7])
    decoder = PersonalDecoder(priors, NAT, members, OFFERED)
    p, w = generator.dirichlet(np.ones(K)), generator.normal(size=2 * m)
    mixture = np.hstack([share * distribution for share, distribution in zip(members, distributions, strict=True)])
    np.testing.assert_allclose(decoder.forward(p), p @ mixture, atol=1e-14)
    np.testing.assert_allclose(decoder.backward(w), mixture @ w, atol=1e-12)
    assert (mixture.max(axis=0) <= decoder.ceiling + 1e-12).all()
    joint = generator.dirichlet(np.ones(2 * K)).reshape(2, K)
    share = np.concatenate([row @ distribution for row, distribution in zip(joint, distributions, strict=True)])
    np.testing.assert_allclose(decoder.invert(share), joint.sum(axis=0), atol=1e-12)
    posterior = sum(
        mass * (prior / prior.sum() * distribution[:, y]) / (prior / prior.sum() @ distribution[:, y])
        for prior, distribution, part in zip(priors, distributions, share.reshape(2, m), strict=True)
        for y, mass in enumerate(part)
        if mass
    )
    np.testing.assert_allclose(decoder.posterior_mean(share), posterior, atol=1e-12)
    counts = generator.multinomial(1000, share)
    steps = decoder.binomial_steps(counts, 1000)
    raw = steps.base + (steps.heights * steps.counts).sum(axis=0) / 1000
    np.testing.assert_allclose(raw, decoder.invert(counts / 1000), atol=1e-9)
    moments = (counts / 1000) @ np.array([decoder.adjoint(unit) for unit in np.eye(K)]).T ** 2
    np.testing.assert_allclose(decoder.variances(counts / 1000), moments - raw**2, rtol=1e-9)


def test_personal_levels_work_from_enrolment_to_estimate(study_of, tmp_path):
    """1,200 people with two priors at two levels each are counted and decoded by the prior and level that they
    declared.

    A report with an output that only the offered channel has is refused if its device declared a personal level. An
    enrolment that declares the campaign's own level is malformed. The simultaneous 99.9% intervals contain the true
    shares.
    """
    study, signed = study_of(CAMPAIGN)
    half = NAT // 2
    declared = ((FLAT, 0), (STEEP, 0), (FLAT, half), (STEEP, half))
    priors, levels = zip(*declared, strict=True)
    truth = Truth(("v0", "v1", "v2", "v0"), (400, 200, 300, 300), priors=priors, levels=levels)
    batch = tmp_path / "batch.htr"
    sent = b"".join(one.reports for one in population(signed.campaign, signed.id, truth, 0, seed=3))
    forger = SigningKey.for_campaign(bytes(32), signed.id)
    sent += Enrolment(signed.id, forger.public, personal.canonical_prior(STEEP), half).seal(forger)
    sent += Report.of(signed.id, signed.campaign, 0, 0, [K + 1]).seal(
        forger
    )  # only the offered channel has this output
    greedy = SigningKey.for_campaign(bytes([1]) * 32, signed.id)
    # A declared level must be below the campaign's, and this one is equal to it.
    sent += Enrolment(signed.id, greedy.public, personal.canonical_prior(FLAT), NAT).seal(greedy)
    batch.write_bytes(sent)
    taken = ingest(study, [batch], now=OPENS)
    assert taken.refused == {"malformed": 1}
    tally = study.tally(signed)
    assert (tally.reports, tally.refused["bad-output"]) == (1200, 1)
    members = {
        (tuple(row[1:]), row[0]): share for row, share in zip(tally.declared.tolist(), tally.members, strict=True)
    }
    assert members == pytest.approx(
        {(FLAT, NAT): 1 / 3, (STEEP, NAT): 1 / 6, (FLAT, half): 1 / 4, (STEEP, half): 1 / 4}
    )
    decoder = pooled_decoder(signed.campaign, tally)
    for row, (level, *prior) in enumerate(tally.declared.tolist()):
        # A declared level of 0 means the campaign's level.
        channel = NOTION.channel_of(prior, OFFERED, level % NAT)
        own = np.zeros((len(tally.declared), K))
        own[row] = np.arange(1, K + 1) / 55
        cells = decoder._forward(own).reshape(len(tally.declared), -1)[row]
        distribution = [
            sum((x + 1) / 55 * channel.weight(x, y) for x in range(K)) / 2**channel.scale
            for y in range(channel.output_count)
        ]
        np.testing.assert_allclose(cells[: channel.output_count], distribution, atol=1e-12)
    found = estimate(signed, tally, confidence=0.999)
    shares = truth.shares(signed.campaign.domain)
    assert ((found.simultaneous_low <= shares) & (shares <= found.simultaneous_high)).all()  # the seed is fixed


def test_simulated_reports_of_offered_channels_are_estimated(study_of, tmp_path):
    """600 simulated people of two declared priors are ingested and estimated, each by the channel that they used.

    An output that a person's channel cannot produce is refused as a bad output and not counted. The simultaneous 99.9%
    intervals contain the true shares.
    """
    study, signed = study_of(CAMPAIGN)
    truth = Truth(("v0", "v1"), (400, 200), priors=(FLAT, STEEP))
    batch = tmp_path / "batch.htr"
    sent = b"".join(one.reports for one in population(signed.campaign, signed.id, truth, 0, seed=1))
    forger = SigningKey.for_campaign(bytes(32), signed.id)
    sent += Enrolment(signed.id, forger.public, personal.canonical_prior(FLAT)).seal(forger)
    sent += Report.of(signed.id, signed.campaign, 0, 0, [K + 1]).seal(forger)
    batch.write_bytes(sent)
    ingest(study, [batch], now=OPENS)
    tally = study.tally(signed)
    assert isinstance(tally, PersonalTally)
    assert (tally.reports, tally.refused["bad-output"]) == (600, 1)
    found = estimate(signed, tally, confidence=0.999)
    shares = truth.shares(signed.campaign.domain)
    assert ((found.simultaneous_low <= shares) & (shares <= found.simultaneous_high)).all()  # the seed is fixed
    assert pooled_decoder(signed.campaign, tally).members.sum() == pytest.approx(1)
