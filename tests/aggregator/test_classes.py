"""Estimates for people of several classes, and for people with declared priors, against dense matrices."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.author.value_table import ValueTableError
from aggregator.estimate import interval
from aggregator.estimate.classes import _contributions_of, pooled_decoder
from aggregator.estimate.estimator import estimate
from aggregator.estimate.method import MethodRefused
from aggregator.estimate.personal import PersonalDecoder, PersonalTally
from aggregator.estimate.query import weighted_mean
from aggregator.estimate.tally import Tally
from aggregator.families.decoder import BinomialSteps
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.intake import columns, enrolments
from aggregator.intake.ingest import ingest
from aggregator.simulation import classes_of, shuffled
from aggregator.truth_file import Truth, read_truth
from protocol import codec, envelope, personal
from protocol.campaign import Campaign
from protocol.channels import Blocks
from protocol.domain import Values
from protocol.envelope import Kind
from protocol.errors import BadData
from protocol.keys import SigningKey, key_id
from protocol.notions.classes import Classes
from protocol.notions.declared_prior import DeclaredPrior
from protocol.notions.information import Lip
from protocol.notions.pairwise import Ldp
from protocol.report import Enrolment, Report, pack
from protocol.views import plain_views
from tests.aggregator.simulated import population
from tests.altered import flipped

NAT = 10**9
AUTHOR = SigningKey(bytes(range(32)))
OPENS, WEEK = 1_800_000_000, 604_800
LABELS = ("wheat", "rye", "oats", "hay", "flax")
K = len(LABELS)
NAMES = ("farmers", "gardeners", "others")
PRIORS = ((50, 20, 10, 10, 10), (1, 1, 1, 4, 4), (3, 3, 2, 1, 1))
LEVELS = (NAT, 2 * NAT, 3 * NAT // 2)


def unsigned_campaign(channel, **changes) -> Campaign:
    fields = {
        "title": "Crops", "question": "What do you grow?", "purpose": "", "organisation": "Council",
        "domain": Values(LABELS), "mechanism": "lip", "views": plain_views(channel), "opens": OPENS,
        "closes": OPENS + 4 * WEEK,
        "period_seconds": WEEK, "answers_per_period": 2, "minimum_devices": 1, "enrolment": "open",
    }  # fmt: skip
    return Campaign(**{**fields, **changes})


def of_classes(**changes) -> Campaign:
    notion = Classes.of(tuple(map(Lip, LEVELS, PRIORS)))
    channels = tuple(map(personal.lip_response, PRIORS, LEVELS))
    blocks = Blocks(0, tuple((block, K) for block in (1, 2, 3)), channels)
    return unsigned_campaign(**{"notion": notion, "channel": blocks, "classes": NAMES, **changes})


def of_declared() -> Campaign:
    notion = DeclaredPrior(NAT, K)
    return unsigned_campaign(notion=notion, channel=notion.channel_of(notion.uniform))


def tallies() -> dict[str, tuple[Campaign, Tally]]:
    """Return campaigns with tallies: LIP classes and classes of mixed families, with few and many reports, and declared
    priors."""
    generator = np.random.default_rng(5)
    blocks = Blocks(0, ((1, K), (2, K)), (hadamard(K, NAT), randomized_response(K, 2 * NAT)))
    mixed = unsigned_campaign(notion=Classes.of((Ldp(NAT), Ldp(2 * NAT))), channel=blocks, classes=("careful", "open"))
    found = {}
    for name, campaign in (("lip", of_classes()), ("mixed", mixed)):
        for n in (7, 4000):
            distribution = generator.dirichlet(np.full(campaign.channel.output_count, 3.0))
            found[f"{name}-{n}"] = campaign, Tally.of(generator.multinomial(n, distribution))
    priors = np.array([*PRIORS, (1, 1, 1, 1, 1)])
    counts = generator.multinomial(900, np.full(priors.size, 1 / priors.size))
    levels = (NAT, NAT // 2, NAT, NAT // 3)
    found["declared"] = of_declared(), PersonalTally(counts, 900, declared=np.column_stack([levels, priors]))
    return found


TALLIES = tallies()
each = pytest.mark.parametrize("name", TALLIES)


def matrices_of(campaign: Campaign, tally: Tally) -> list[np.ndarray]:
    """Return Q of each class, from the integer weights."""
    if isinstance(tally, PersonalTally):
        rows = tally.declared.tolist()
        # A declared level of 0 means the campaign's level.
        channels = [campaign.notion.channel_of(prior, None, level % NAT) for level, *prior in rows]
    else:
        channels = campaign.channel.channels
    return [
        np.array([[one.weight(x, y) / 2**one.scale for y in range(one.output_count)] for x in range(K)])
        for one in channels
    ]


def left_inverses(campaign: Campaign, tally: Tally) -> list[np.ndarray]:
    """Return the unbiased decoding matrix, (m, k), of each class."""
    if isinstance(tally, PersonalTally):
        return [np.linalg.inv(distribution) for distribution in matrices_of(campaign, tally)]
    return [np.array([decoder_of(one).adjoint(unit) for unit in np.eye(K)]).T for one in campaign.channel.channels]


@each
def test_forward_and_backward_are_those_of_the_dense_mixture(name: str) -> None:
    """forward and backward multiply with the mixture of the classes' channels, weighted by the classes' shares of the
    reports."""
    campaign, tally = TALLIES[name]
    decoder, distributions = pooled_decoder(campaign, tally), matrices_of(campaign, tally)
    mixture = np.hstack(
        [share * distribution for share, distribution in zip(decoder.members, distributions, strict=True)]
    )
    squares = np.hstack(
        [share * distribution**2 for share, distribution in zip(decoder.members, distributions, strict=True)]
    )
    p, w = np.random.default_rng(1).dirichlet(np.ones(K)), np.random.default_rng(2).normal(size=decoder.features)
    np.testing.assert_allclose(decoder.forward(p), p @ mixture, atol=1e-14)
    np.testing.assert_allclose(decoder.forward_squares(p), p @ squares, atol=1e-14)
    np.testing.assert_allclose(decoder.backward(w), mixture @ w, atol=1e-13)
    assert (mixture.max(axis=0) <= decoder.ceiling + 1e-12).all()


@each
def test_the_estimate_is_unbiased_for_any_values_of_each_class(name: str) -> None:
    """The decoder maps the expected features of any shares of class and value to the sum of these shares over the
    classes."""
    campaign, tally = TALLIES[name]
    decoder, distributions = pooled_decoder(campaign, tally), matrices_of(campaign, tally)
    joint = np.random.default_rng(3).dirichlet(np.ones(len(distributions) * K)).reshape(len(distributions), K)
    share = np.concatenate([row @ distribution for row, distribution in zip(joint, distributions, strict=True)])
    np.testing.assert_allclose(decoder.invert(share), joint.sum(axis=0), atol=1e-12)


@each
def test_invert_adjoint_and_variances_are_those_of_one_report(name: str) -> None:
    """Each report adds a row of its class's left inverse; the estimate, a query and their variances are moments of
    these rows."""
    campaign, tally = TALLIES[name]
    decoder, share = pooled_decoder(campaign, tally), tally.counts / tally.reports
    rows = np.vstack(left_inverses(campaign, tally))
    v = np.random.default_rng(4).normal(size=K)
    raw = share @ rows
    np.testing.assert_allclose(decoder.invert(share), raw, atol=1e-12)
    np.testing.assert_allclose(decoder.adjoint(v), rows @ v, atol=1e-11)
    np.testing.assert_allclose(decoder.variances(share), share @ rows**2 - raw**2, atol=1e-11)
    assert decoder.query(v, share) == pytest.approx(raw @ v)
    assert decoder.variance(v, share) == pytest.approx(share @ (rows @ v) ** 2 - (raw @ v) ** 2)
    assert decoder.people_per_report == pytest.approx(np.abs(rows).max())


@each
def test_a_report_reaches_the_steps_up_to_its_contribution(name: str) -> None:
    """The steps add up to the estimate, and a report reaches a step of a value if and only if its contribution to the
    value is at least the sum of the base and of the steps up to this one."""
    campaign, tally = TALLIES[name]
    decoder, rows = pooled_decoder(campaign, tally), np.vstack(left_inverses(campaign, tally))
    steps = decoder.binomial_steps(tally.counts, tally.reports)
    raw = decoder.invert(tally.counts / tally.reports)
    np.testing.assert_allclose(steps.base + (steps.heights * steps.counts).sum(axis=0) / tally.reports, raw)
    np.testing.assert_allclose(steps.base, rows.min(axis=0), atol=1e-11)
    top = steps.base + np.cumsum(steps.heights[::-1], axis=0)[::-1]
    for x in range(K):
        for step in np.flatnonzero(steps.heights[:, x]):
            reaching = tally.counts[rows[:, x] >= top[step, x] - 1e-9].sum()
            assert steps.counts[step, x] == reaching


@each
def test_posterior_means_use_the_prior_and_channel_of_each_class(name: str) -> None:
    """The MMSE estimate is the mean of P_c(x|y) over the reports, with the prior and channel of each report's class.

    Without priors it is refused.
    """
    campaign, tally = TALLIES[name]
    decoder = pooled_decoder(campaign, tally)
    if decoder.priors is None:
        assert decoder.prior is None
        with pytest.raises(MethodRefused):
            estimate(campaign, tally, method="mmse")
        return
    expected, at = np.zeros(K), 0
    for prior, distribution in zip(decoder.priors, matrices_of(campaign, tally), strict=True):
        for y in range(distribution.shape[1]):
            posterior = prior * distribution[:, y]
            expected += tally.counts[at] / tally.reports * posterior / posterior.sum()
            at += 1
    np.testing.assert_allclose(decoder.posterior_mean(tally.counts / tally.reports), expected, atol=1e-12)
    found = estimate(campaign, tally, method="mmse")
    np.testing.assert_allclose(found.share, expected, atol=1e-12)


@each
def test_projection_and_map_give_a_distribution(name: str) -> None:
    """Projection, and map if there are priors, give shares that sum to 1; em assumes one channel and is refused.

    With priors, a weighted query is the weighted sum of the MMSE shares, and of the unbiased shares.
    """
    campaign, tally = TALLIES[name]
    for method in ["projection"] + (["map"] if pooled_decoder(campaign, tally).priors is not None else []):
        found = estimate(campaign, tally, method=method)
        assert found.share.sum() == pytest.approx(1)
        assert (found.low <= found.high).all()
    with pytest.raises(MethodRefused, match="'em' needs one channel"):
        estimate(campaign, tally, method="em")
    if pooled_decoder(campaign, tally).priors is not None:
        mmse = estimate(campaign, tally, method="mmse").share
        assert weighted_mean(campaign, tally, [1, 0, 0, 0, 2]).mmse == pytest.approx(mmse[0] + 2 * mmse[4])
        raw = estimate(campaign, tally, method="linear").raw
        assert weighted_mean(campaign, tally, [1, 0, 0, 0, 2]).estimate == pytest.approx(raw[0] + 2 * raw[4])


def test_the_posterior_mode_is_more_accurate_than_the_mean_under_wrong_priors() -> None:
    """With wrong priors, the posterior mode has less than a quarter of the error of the posterior mean.

    The counts are the expected ones of 10^6 reports, from which projection has an error below 10^-4.
    """
    campaign = of_classes()
    truth = np.array([[0.02, 0.1, 0.2, 0.0, 0.0], [0.3, 0.0, 0.0, 0.0, 0.03], [0.05, 0.05, 0.05, 0.1, 0.1]])
    distributions = matrices_of(campaign, Tally.of(np.zeros(15, dtype=np.int64)))
    share = np.concatenate([row @ distribution for row, distribution in zip(truth, distributions, strict=True)])
    tally = Tally.of(np.round(share * 10**6).astype(np.int64))
    shares = {method: estimate(campaign, tally, method=method).share for method in ("mmse", "map", "projection")}
    error = {method: np.abs(found - truth.sum(axis=0)).sum() for method, found in shares.items()}
    assert error["projection"] < 1e-4
    assert error["map"] < 0.25 * error["mmse"]


def test_intervals_have_nominal_coverage() -> None:
    """In 400 surveys of 600 people in classes with different distributions, at most 7.5% of the 95% intervals miss.

    There are k * 400 = 2,000 intervals. If each missed a value's share independently with probability 5%, more than 150
    misses would have a probability below 10^-6. A failure means that the standard errors of classes are too small.
    """
    campaign, generator = of_classes(), np.random.default_rng(11)
    truth = np.array([[0.3, 0.1, 0.1, 0.0, 0.0], [0.0, 0.0, 0.05, 0.1, 0.15], [0.1, 0.05, 0.02, 0.02, 0.01]])
    distributions = matrices_of(campaign, Tally.of(np.zeros(15, dtype=np.int64)))
    distribution = np.concatenate([row @ one for row, one in zip(truth, distributions, strict=True)])
    missed = 0
    for _ in range(400):
        tally = Tally.of(generator.multinomial(600, distribution))
        decoder, share = pooled_decoder(campaign, tally), tally.counts / 600
        raw, se = decoder.invert(share), interval.standard_errors(decoder, share, 600)
        low, high = interval.intervals(decoder.binomial_steps(tally.counts, 600), raw, se, 0.05)
        missed += int(((truth.sum(axis=0) < low) | (truth.sum(axis=0) > high)).sum())
    assert missed <= 150


def test_the_float_decoder_of_declared_priors_agrees_with_the_integers() -> None:
    """Cover and truth of the vectorised decoder equal those of the integer channels to 10^-12.

    The priors are 40 random ones, the uniform one, and one that gives almost all the mass to a single value.
    """
    generator = np.random.default_rng(6)
    priors = np.vstack([generator.integers(1, 3000, (40, 7)), [[1] * 7], [[9000] + [1] * 6]])
    for level in (10**6, NAT, 6 * NAT):
        decoder = PersonalDecoder(priors, level, np.full(len(priors), 1 / len(priors)))
        for row, prior in enumerate(priors.tolist()):
            channel = personal.lip_response(prior, level)
            cover = np.array([channel.cover_of(y) for y in range(7)]) / 2**64
            np.testing.assert_allclose(decoder._cover[row], cover, atol=1e-12)
            assert decoder._truth[row, 0] == pytest.approx(channel.truth / 2**64, abs=1e-12)


def test_a_step_of_height_zero_does_not_change_the_possible_contributions() -> None:
    """The possible contributions of a report, and how many reports make each, do not depend on the count of a step of
    height 0."""
    heights = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.0]])
    counts = np.array([[4, 9], [10, 5], [6, 1]])
    levels, times = _contributions_of(BinomialSteps(np.array([-1.0, 0.0]), heights, counts, 10))
    for x, distribution in ((0, {2.0: 4, 0.0: 2, -1.0: 4}), (1, {3.0: 5, 0.0: 5})):
        found = Counter()
        for level, count in zip(levels[:, x].tolist(), times[:, x].tolist(), strict=True):
            found[level] += count
        assert +found == distribution


def test_a_campaign_without_classes_is_not_pooled() -> None:
    """pooled is None if all people answer through one channel; declared priors need a tally by prior."""
    campaign = unsigned_campaign(notion=Ldp(NAT), channel=randomized_response(K, NAT))
    assert pooled_decoder(campaign, Tally.of(np.ones(K, dtype=np.int64))) is None
    with pytest.raises(ValueError, match="PersonalTally, not a Tally"):
        pooled_decoder(of_declared(), Tally.of(np.ones(K, dtype=np.int64)))


# End to end


def test_estimates_of_simulated_classes_contain_their_shares(study_of, tmp_path) -> None:
    """Simulated people of three classes are ingested and tallied by class, and the intervals contain their shares."""
    made, signed = study_of(of_classes())
    (tmp_path / "truth.csv").write_text(
        "value,count,class\nwheat,500,farmers\nhay,300,gardeners\nflax,100,gardeners\nrye,100,others\n"
    )
    truth = read_truth(tmp_path / "truth.csv", signed.campaign.domain, NAMES)
    assert truth.class_indices == (0, 1, 1, 2)
    batch = tmp_path / "batch.htr"
    batch.write_bytes(b"".join(sent.reports for sent in population(signed.campaign, signed.id, truth, 0, seed=4)))
    result = ingest(made, [batch], now=OPENS)
    assert (result.read, result.accepted, result.refused) == (1000, 1000, {})
    found = estimate(signed, made.tally(signed), confidence=0.999)
    np.testing.assert_array_equal(pooled_decoder(signed.campaign, made.tally(signed)).members, [0.5, 0.4, 0.1])
    shares = truth.shares(signed.campaign.domain)
    assert ((found.simultaneous_low <= shares) & (shares <= found.simultaneous_high)).all()  # the seed is fixed


def test_people_without_a_named_class_are_spread_evenly() -> None:
    """Without a column of classes each person's class is drawn uniformly at random, and the same seed gives the same
    classes."""
    campaign = of_classes()
    truth = Truth(("wheat", "rye"), (4000, 2000))
    order = shuffled(truth, 3)
    drawn = classes_of(campaign, truth, order, 3)
    assert drawn == classes_of(campaign, truth, order, 3)
    assert all(abs(count - 2000) < 200 for count in Counter(drawn).values())  # 200 is 5.5 standard errors


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("wheat,5,strangers", "must be a class of the campaign"),
        ("barley,5,farmers", "'barley' is not one of"),
        ("wheat,-5,farmers", "at least 0, not -5"),
        ("wheat,farmers", "the row has 2 cells"),
        ("wheat,0,others", "has no people"),
    ],
)
def test_a_file_of_classes_is_read_strictly(tmp_path, row: str, message: str) -> None:
    """Unknown classes and values, negative counts, a missing cell and a file without people are refused."""
    (tmp_path / "truth.csv").write_text(f"value,count,class\n{row}\n")
    with pytest.raises(ValueTableError, match=message):
        read_truth(tmp_path / "truth.csv", Values(LABELS), NAMES)


def test_declared_priors_work_from_enrolment_to_estimate(study_of, tmp_path) -> None:
    """Priors are declared at enrolment, reports are counted by prior, and the estimate uses each person's prior."""
    made, signed = study_of(of_declared())
    priors = ((8, 1, 1, 1, 1), (1, 1, 1, 256, 1), (1, 2, 3, 4, 5))
    truth = Truth(("wheat", "hay", "flax"), (300, 200, 100), priors=priors)
    batch = tmp_path / "batch.htr"
    batch.write_bytes(b"".join(sent.reports for sent in population(signed.campaign, signed.id, truth, 0, seed=1)))
    result = ingest(made, [batch], now=OPENS)
    assert (result.read, result.accepted, result.refused, result.keys_added) == (600, 600, {}, 600)
    tally = made.tally(signed)
    assert tally.reports == 600
    by_prior = dict(zip(map(tuple, tally.priors.tolist()), tally.members.tolist(), strict=True))
    assert by_prior == pytest.approx({priors[0]: 1 / 2, priors[1]: 1 / 3, priors[2]: 1 / 6})
    found = estimate(signed, tally, confidence=0.999)
    shares = truth.shares(signed.campaign.domain)
    assert ((found.simultaneous_low <= shares) & (shares <= found.simultaneous_high)).all()  # the seed is fixed
    again = made.tally(signed, period=0)
    np.testing.assert_array_equal(np.sort(again.counts), np.sort(tally.counts))
    assert made.tally(signed, period=2).reports == 0


def test_a_report_without_a_declared_prior_is_of_an_unknown_key(study_of, tmp_path) -> None:
    """An enrolment without the required prior is malformed, so reports under its key are refused as from an unknown
    key."""
    made, signed = study_of(of_declared())
    envelopes = []
    for number, prior in enumerate([None, (1, 2), (1, 2, 3, 4, 5)]):
        key = SigningKey.for_campaign(bytes([number]) * 32, signed.id)
        envelopes += [
            Enrolment(signed.id, key.public, prior).seal(key),
            Report(signed.id, 0, 0, 1, pack([2], signed.campaign.channel.output_bits)).seal(key),
        ]
    key = SigningKey.for_campaign(bytes([9]) * 32, signed.id)
    envelopes.append(envelope.seal(Kind.ENROLMENT, key, codec.encode([signed.id, key.public, [2, 2, 2, 2, 2]])))
    (tmp_path / "batch.htr").write_bytes(b"".join(envelopes))
    result = ingest(made, [tmp_path / "batch.htr"], now=OPENS)
    assert result.accepted == result.keys_added == 1
    assert result.refused == {"malformed": 3, "unknown-key": 2}
    assert result.read == 6


weights = st.lists(st.integers(1, 70_000), min_size=2, max_size=30) | st.lists(st.integers(0, 5), max_size=3)


@given(st.lists(st.tuples(weights, st.integers(0, 90), st.integers(0, 7), st.booleans()), min_size=1, max_size=5))
def test_enrolment_columns_equal_the_decoded_enrolments(rows) -> None:
    """Payloads that declare priors are read as ``Enrolment.decode`` reads them, even if one bit is flipped."""
    payloads = []
    for number, (prior, at, bit, damaged) in enumerate(rows):
        payload = codec.encode([bytes(16), bytes([number]) * 32, list(prior)])
        payloads.append(flipped(payload, 8 * (at % len(payload)) + bit) if damaged else payload)
    ends = np.cumsum([len(payload) for payload in payloads])
    starts = ends - [len(payload) for payload in payloads]
    data = np.frombuffer(b"".join(payloads) + bytes(64), dtype=np.uint8)
    expected, ids = [], []
    for payload in payloads:
        try:
            expected.append(Enrolment.decode(payload))
        except BadData:
            expected.append(None)
        ids.append(key_id(payload[21:53]))
    found = columns.decode_enrolments(data, np.frombuffer(b"".join(ids), dtype=np.uint8).reshape(-1, 8), starts, ends)
    assert found.valid.tolist() == [one is not None for one in expected]
    for row, one in enumerate(expected):
        if one is not None:
            assert found.public[row].tobytes() == one.public
            written = found.prior[row]
            assert (written and enrolments.decoded_declaration(written)) == (
                one.prior and (one.prior, one.personal_level)
            )


def test_a_prior_is_declared_once(study_of, tmp_path) -> None:
    """If a key declares a prior twice, the first declaration is kept, and later ones change nothing."""
    made, signed = study_of(of_declared())
    key = SigningKey.for_campaign(bytes(32), signed.id)
    for prior in ((1, 2, 3, 4, 256), (5, 1, 1, 1, 1)):
        made.enrol(Enrolment(signed.id, key.public, prior).seal(key))
    report = Report(signed.id, 0, 0, 2, pack([2, 2], signed.campaign.channel.output_bits)).seal(key)
    (tmp_path / "batch.htr").write_bytes(report)
    ingest(made, [tmp_path / "batch.htr"], now=OPENS)
    tally = made.tally(signed)
    assert tally.priors.tolist() == [[1, 2, 3, 4, 256]]
    assert tally.counts.tolist() == [0, 0, 2, 0, 0]


def test_a_revoked_key_keeps_its_prior_and_sends_no_more_reports(study_of, tmp_path) -> None:
    """A revoked key's prior is still used for its counted reports, and the key's new reports are refused."""
    made, signed = study_of(of_declared())
    truth = Truth(("wheat",), (3,))
    (sent,) = population(signed.campaign, signed.id, truth, 0, seed=1)
    (tmp_path / "batch.htr").write_bytes(sent.reports)
    ingest(made, [tmp_path / "batch.htr"], now=OPENS)
    priors = made.tally(signed).priors
    assert priors is not None
    made.revoke(sent.enrolments)
    tally = made.tally(signed)
    assert (tally.reports, tally.priors.tolist()) == (3, priors.tolist())
    (late,) = population(signed.campaign, signed.id, truth, 1, seed=1)
    (tmp_path / "late.htr").write_bytes(late.reports)
    assert ingest(made, [tmp_path / "late.htr"], now=OPENS).refused == {"revoked-key": 3}


def test_simulated_people_answer_by_the_channel_of_their_class() -> None:
    """A simulated person's outputs are in the block of outputs of the person's class."""
    campaign = of_classes(enrolment="enrolled")
    truth = Truth(("wheat", "rye", "oats"), (20, 20, 20), (2, 0, 1))
    (sent,) = population(campaign, bytes(16), truth, 0, seed=2)
    reports = [Report.decode(item.unverified).outputs(campaign, None)[0] for item in envelope.read_batch(sent.reports)]
    order = shuffled(truth, 2)
    assert [y // K for y in reports] == [truth.class_indices[group] for group in order]
    assert len(set(reports)) > 5
