"""Campaigns that offer an LDP channel beside the response to each declared prior: decoded as each person answered."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator import simulation
from aggregator.estimate.classes import pooled
from aggregator.estimate.personal import PersonalDecoder, PersonalTally, takes_offered
from aggregator.estimate.result import estimate
from aggregator.families.hadamard.recipe import hadamard
from aggregator.intake.ingest import ingest
from aggregator.study import Study
from protocol import personal
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.domain import Values
from protocol.keys import SigningKey
from protocol.notions import OwnPrior
from protocol.report import Enrolment, Report
from protocol.views import plain_views

NAT, K, OPENS = 10**9, 10, 1_700_000_000
NOTION = OwnPrior(NAT, K)
OFFERED = hadamard(K, NAT)
FLAT = (1,) * K  # who knows nothing answers through the response,
STEEP = (500, 500, *FLAT[2:])  # and who is nearly sure of one in two through the offered channel
TERMS = Campaign(
    "Crops", "Which?", "", "Council", Values(tuple(f"v{x}" for x in range(K))), NOTION, "lip-response or hadamard",
    plain_views(OFFERED), OPENS, OPENS + 10**6, 10**6, 1, 1, "open",
)  # fmt: skip


def test_floats_choose_as_the_integers_do():
    """Of 300 random priors, some nearly at the border, each takes the channel that the protocol's integers give it."""
    generator = np.random.default_rng(1)
    pull = generator.dirichlet(np.full(K, 0.1), 300) + generator.dirichlet(np.full(K, 0.1), 300)
    priors = (1 + 10**4 * pull).astype(np.int64)
    found = takes_offered(priors, NAT, OFFERED)
    assert found.tolist() == [NOTION.channel_of(tuple(prior), OFFERED) == OFFERED for prior in priors.tolist()]
    assert 0 < found.sum() < len(found)


def test_the_decoder_is_that_of_the_dense_channels():
    """Forward, backward, posterior mean and the unbiased estimate are those of each person's own matrix."""
    priors, generator = np.array([FLAT, STEEP]), np.random.default_rng(2)
    channels = [NOTION.channel_of(prior, OFFERED) for prior in (FLAT, STEEP)]
    assert channels == [personal.lip_response(FLAT, NAT), OFFERED]
    m = OFFERED.outputs
    laws = np.zeros((2, K, m))
    for law, one in zip(laws, channels, strict=True):
        law[:, : one.outputs] = [[one.weight(x, y) / 2**one.scale for y in range(one.outputs)] for x in range(K)]
    members = np.array([0.3, 0.7])
    decoder = PersonalDecoder(priors, NAT, members, OFFERED)
    p, w = generator.dirichlet(np.ones(K)), generator.normal(size=2 * m)
    mixture = np.hstack([share * law for share, law in zip(members, laws, strict=True)])
    np.testing.assert_allclose(decoder.forward(p), p @ mixture, atol=1e-14)
    np.testing.assert_allclose(decoder.backward(w), mixture @ w, atol=1e-12)
    assert (mixture.max(axis=0) <= decoder.ceiling + 1e-12).all()
    joint = generator.dirichlet(np.ones(2 * K)).reshape(2, K)
    share = np.concatenate([row @ law for row, law in zip(joint, laws, strict=True)])
    np.testing.assert_allclose(decoder.invert(share), joint.sum(axis=0), atol=1e-12)
    posterior = sum(
        mass * (prior / prior.sum() * law[:, y]) / (prior / prior.sum() @ law[:, y])
        for prior, law, part in zip(priors, laws, share.reshape(2, m), strict=True)
        for y, mass in enumerate(part)
        if mass
    )
    np.testing.assert_allclose(decoder.posterior_mean(share), posterior, atol=1e-12)
    counts = generator.multinomial(1000, share)
    stairs = decoder.staircase(counts, 1000)
    raw = stairs.base + (stairs.heights * stairs.counts).sum(axis=0) / 1000
    np.testing.assert_allclose(raw, decoder.invert(counts / 1000), atol=1e-9)
    moments = (counts / 1000) @ np.array([decoder.adjoint(unit) for unit in np.eye(K)]).T ** 2
    np.testing.assert_allclose(decoder.variances(counts / 1000), moments - raw**2, rtol=1e-9)


def test_an_offered_channel_end_to_end(tmp_path):
    """600 people of two declared priors are simulated, ingested and estimated, each by the channel they answered
    through; an output that a person's channel cannot make is a bad output, not somebody's answer."""
    key = SigningKey(bytes(range(32)))
    signed = open_campaign(seal_campaign(TERMS, key), [key.public])
    study = Study.create(tmp_path / "study")
    study.import_campaign(signed.data, [key.public], "crops")
    truth = simulation.Truth(("v0", "v1"), (400, 200), priors=(FLAT, STEEP))
    batch = tmp_path / "batch.htr"
    sent = b"".join(one.reports for one in simulation.population(signed.terms, signed.id, truth, 0, seed=1))
    forger = SigningKey.for_campaign(bytes(32), signed.id)
    sent += Enrolment(signed.id, forger.public, personal.declared(FLAT)).seal(forger)
    sent += Report.of(signed.id, signed.terms, 0, 0, [K + 1]).seal(forger)
    batch.write_bytes(sent)
    ingest(study, [batch], now=OPENS)
    tally = study.tally(signed)
    assert isinstance(tally, PersonalTally)
    assert (tally.reports, tally.rejected["bad-output"]) == (600, 1)
    found = estimate(signed, tally, level=0.999)
    shares = truth.shares(signed.terms.domain)
    assert ((found.all_low <= shares) & (shares <= found.all_high)).all()  # fixed seed
    assert pooled(signed.terms, tally).members.sum() == pytest.approx(1)
