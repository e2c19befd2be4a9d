"""Declared priors: the disclosure and the cost of a declaration, and the private choice of a prior."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import permutations

import pytest

from aggregator.families.hadamard.recipe import hadamard
from edge_sdk.__main__ import main
from edge_sdk.budget.ledger import EntryKind
from edge_sdk.errors import BudgetRefused, ConsentMissing
from protocol import envelope, exact, keys, personal
from protocol.campaign import open_campaign
from protocol.errors import CampaignError, NotInDomain, NotionError
from protocol.notions.declared_prior import DeclaredPrior
from protocol.notions.information import Lip
from protocol.notions.notion import certify
from protocol.report import Enrolment
from protocol.views import plain_views
from tests.edge_sdk.conftest import AUTHOR, LABELS, Dice, agreed, campaign
from tests.edge_sdk.test_roles import NAT, PRIOR, K, of_declared

NOTION = DeclaredPrior(NAT, K)
LISTED = personal.candidate_priors(K)
OFFERED = hadamard(K, NAT)


def of_offered() -> bytes:
    """Return a campaign that offers an LDP channel beside the rule's response."""
    return of_declared(views=plain_views(OFFERED))


def weights_of(prior) -> dict[str, int]:
    return dict(zip(LABELS, prior, strict=True))


# The disclosure by a declaration


@pytest.mark.parametrize("data", [of_declared(), of_offered()], ids=["response", "offered"])
@pytest.mark.parametrize("prior", [(1,) * K, (4, 2, 1, 1, 1, 1), (500, 500, 1, 1, 1, 1)])
def test_posteriors_and_costs_of_a_declaration_follow_bayes(open_device, data: bytes, prior) -> None:
    """Posteriors and costs are computed for the channel that a reader of the enrolment derives; posteriors are within a
    factor e^level of the shares."""
    device = open_device(lifetime=100)
    joined = device.join(data).campaign_id
    preview = device.declaration(joined, weights_of(prior))
    channel = NOTION.channel_of(prior, device.campaign(joined).channel)
    certificate = certify(channel, Lip(NAT, prior))
    assert (preview.cost_nanonats, preview.worst_case_nanonats, preview.declared_before) == (
        certificate.cost,
        6 * certificate.cost,
        False,
    )
    factor = exact.exp_above(NAT)
    for x, one in enumerate(preview.values):
        posteriors = [
            Fraction(prior[x] * channel.weight(x, y), sum(prior[z] * channel.weight(z, y) for z in range(K)))
            for y in range(channel.output_count)
            if any(channel.weight(z, y) for z in range(K))
        ]
        assert (one.label, one.before) == (LABELS[x], Fraction(prior[x], sum(prior)))
        assert (one.lowest, one.highest) == (min(posteriors), max(posteriors))
        assert one.before / factor <= one.lowest <= one.before <= one.highest <= one.before * factor
    assert device.ledger == []
    assert device.budget.reserved == 0
    device.consent(joined, prior=weights_of(prior))
    assert device.budget.reserved_nanonats == preview.worst_case_nanonats


@pytest.mark.parametrize("data", [of_declared(), of_offered()], ids=["response", "offered"])
def test_terms_and_previews_state_the_cost_of_the_uniform_or_the_declared_prior(open_device, data: bytes) -> None:
    """Before consent, terms and preview have the cost of the uniform prior, or of the prior that was declared before
    the campaign was forgotten."""
    device = open_device(lifetime=100)
    joined = device.join(data).campaign_id

    def stated() -> tuple[float, float, float]:
        terms = device.terms(joined)
        return terms.cost, terms.worst_case, device.preview(joined).cost

    uniform = device.declaration(joined)
    assert stated() == (uniform.cost, uniform.worst_case, uniform.cost)
    device.consent(joined, prior=PRIOR)
    reserved = device.budget.reserved
    device.forget(joined)
    device.join(data)
    declared = device.declaration(joined)
    assert stated() == (declared.cost, declared.worst_case, declared.cost)
    assert reserved == declared.worst_case


def test_the_first_declaration_stays(open_device) -> None:
    """After forgetting, the first declaration still holds, and another declaration is refused."""
    device = open_device(lifetime=100)
    joined = agreed(device, of_declared(), prior=PRIOR)
    device.forget(joined)
    device.join(of_declared())
    preview = device.declaration(joined)
    assert preview.declared_before
    assert [one.before for one in preview.values] == [Fraction(n, sum(PRIOR.values())) for n in PRIOR.values()]
    with pytest.raises(CampaignError, match="stays valid"):
        device.declaration(joined, weights_of((1,) * K))
    with pytest.raises(CampaignError, match="asks for no prior"):
        device.declaration(device.join(campaign()).campaign_id)


# Personal levels


@pytest.mark.parametrize("data", [of_declared(), of_offered()], ids=["response", "offered"])
def test_a_personal_level_is_declared_and_cannot_change(open_device, place, data: bytes) -> None:
    """The enrolment has the person's own level, costs and posteriors are those of the rule's channel at this level, and
    the level cannot be changed later."""
    with open_device(place, lifetime=100, urandom=Dice(2)) as device:
        joined = device.join(data).campaign_id
        preview = device.declaration(joined, PRIOR, 0.25)
        channel = personal.lip_response((4, 2, 1, 1, 1, 1), NAT // 4)
        assert preview.cost_nanonats == certify(channel, Lip(NAT // 4, (4, 2, 1, 1, 1, 1))).cost
        assert (preview.level, device.declaration(joined, PRIOR).level) == (0.25, 1.0)
        factor = exact.exp_above(NAT // 4)
        assert all(one.before / factor <= one.lowest <= one.highest <= one.before * factor for one in preview.values)
        device.consent(joined, prior=PRIOR, level=0.25)
        assert device.budget.reserved_nanonats == preview.worst_case_nanonats
        terms = device.terms(joined)
        # The factor is e^0.25 = 1.2840, rounded up.
        assert (terms.level, terms.promise.factor) == (0.25, Fraction(129, 100))
        sealed = Enrolment.open(envelope.decode(device.enrolment(joined)))
        assert (sealed.prior, sealed.personal_level) == ((4, 2, 1, 1, 1, 1), NAT // 4)
        assert device.answer(joined, "none").cost_nanonats == preview.cost_nanonats
        device.forget(joined)
        device.join(data)
        with pytest.raises(CampaignError, match="stays valid"):
            device.consent(joined, prior=PRIOR, level=0.5)
        device.consent(joined)
        assert Enrolment.open(envelope.decode(device.enrolment(joined))) == sealed


def test_a_personal_level_is_at_most_the_level_of_the_campaign(open_device) -> None:
    """A personal level above the campaign's or below the protocol's minimum is refused, and so is a level without a
    prior. A level equal to the campaign's is not declared."""
    device = open_device(lifetime=100)
    joined = device.join(of_declared()).campaign_id
    assert device.declaration(joined, PRIOR, 1.0) == device.declaration(joined, PRIOR)
    with pytest.raises(CampaignError, match=r"above the campaign's, 1 nat \(nats: see"):
        device.consent(joined, prior=PRIOR, level=1.5)
    with pytest.raises(NotionError):
        device.consent(joined, prior=PRIOR, level=0.0001)
    with pytest.raises(ConsentMissing):
        device.consent(joined, level=0.5)
    with pytest.raises(CampaignError, match="asks for no prior"):
        device.consent(device.join(campaign()).campaign_id, level=0.5)
    assert not device.consented(joined)
    device.consent(joined, prior=PRIOR, level=1.0)
    assert Enrolment.open(envelope.decode(device.enrolment(joined))).personal_level == 0


# Priors chosen at random, for a charge


def test_the_public_list_has_the_uniform_prior_and_one_for_each_value() -> None:
    """The public list has k + 1 different priors, and each can be declared: the uniform one, and for each value one in
    which it has three quarters."""
    for size in (2, 3, 256):
        listed = personal.candidate_priors(size)
        assert len(set(listed)) == size + 1
        assert listed[0] == (1,) * size
        assert all(personal.canonical_prior(prior) == prior for prior in listed)
        assert [Fraction(prior[x], sum(prior)) for x, prior in enumerate(listed[1:])] == [Fraction(3, 4)] * size


@pytest.mark.parametrize("channel", [NOTION.response, OFFERED], ids=["response", "offered"])
def test_the_costliest_prior_of_a_list_is_no_cheaper_than_any(channel) -> None:
    """The bound that is reserved before the draw holds for every prior of the list. The cost of a prior does not depend
    on the order of its weights."""
    most = NOTION.max_cost(LISTED, channel)
    assert most >= max(NOTION.certificate_of(prior, channel).cost for prior in LISTED)
    some = list(permutations((1, 2, 3, 5, 8, 13)))[::60]
    assert len({certify(personal.lip_response(prior, NAT), Lip(NAT, prior)).cost for prior in some}) == 1


def test_the_choice_of_a_prior_is_charged_once_and_cannot_be_changed(open_device, place) -> None:
    """Level and worst case are reserved, and the level is charged; after forgetting the prior stays and no other is
    drawn."""
    data = of_declared()
    with open_device(place, lifetime=100, urandom=Dice(4)) as device:
        joined = device.join(data).campaign_id
        prior = device.choose_prior(joined, 0.7, {"none": 9, "primary": 1})
        assert tuple(prior.values()) in LISTED
        cost = NOTION.certificate_of(tuple(prior.values())).cost
        assert [(entry.kind, entry.nanonats) for entry in device.ledger] == [
            (EntryKind.RESERVE, 6 * cost + 700_000_000), (EntryKind.CHARGE, 700_000_000)
        ]  # fmt: skip
        assert device.choose_prior(joined, 0.7, {"doctorate": 9}) == prior
        sealed = Enrolment.open(envelope.decode(device.enrolment(joined)))
        assert sealed.prior == tuple(prior.values())
        assert device.budget.spent_nanonats == 700_000_000
        device.forget(joined)
        device.join(data)
        assert device.choose_prior(joined, 0.7, {"doctorate": 9}) == prior
        assert device.budget.spent_nanonats == 700_000_000
        assert device.budget.reserved_nanonats == 6 * cost


def test_the_chosen_prior_is_the_channels_sample(open_device) -> None:
    """For draws over the whole range, the declared prior is exactly the sample around the prior nearest to the
    history."""
    channel = personal.choice_channel(K + 1, 2 * NAT)
    seen = set()
    for draw in range(30):
        rand = (draw * 2**64 // 30).to_bytes(8, "big")
        asked = iter([bytes(32), bytes(8), rand])
        device = open_device(lifetime=100, urandom=lambda count, asked=asked: next(asked))
        joined = device.join(of_declared()).campaign_id
        found = device.choose_prior(joined, 2.0, {"primary": 5, "none": 1})
        # For this history, the second value has three quarters of the weight.
        expected = LISTED[channel.sample(2, rand)]
        assert tuple(found.values()) == expected
        seen.add(expected)
    assert len(seen) > 3


def test_the_choice_of_a_prior_depends_on_earlier_answers(open_device) -> None:
    """If ``choose_prior`` gets no history, it uses this device's answers about the same values; at a high level it
    nearly always chooses the nearest prior."""
    for seed in range(4):
        device = open_device(lifetime=100, urandom=Dice(seed))
        device.answer(agreed(device, campaign()), "doctorate")
        found = device.choose_prior(device.join(of_declared()).campaign_id, 20.0)
        # Any other result has a probability below 10^-7.
        assert found["doctorate"] > 1


@pytest.mark.parametrize("data", [of_declared(), of_offered()], ids=["response", "offered"])
def test_a_refusal_does_not_depend_on_the_drawn_prior(open_device, data: bytes) -> None:
    """Before the draw, the budget must have room for the choice and the costliest prior of the list; a refusal charges
    nothing."""
    channel = open_campaign(data, [AUTHOR.public]).campaign.channel
    most = 6 * NOTION.max_cost(LISTED, channel)
    for seed in range(5):
        device = open_device(lifetime=(most + NAT - 1) / NAT, urandom=Dice(seed))
        joined = device.join(data).campaign_id
        assert device.declaration(joined).chosen_worst_case_nanonats == most
        with pytest.raises(BudgetRefused):
            device.choose_prior(joined, 1.0)
        assert device.ledger == []
        assert not device.declaration(joined).declared_before
        device = open_device(lifetime=(most + NAT) / NAT, urandom=Dice(seed))
        device.choose_prior(device.join(data).campaign_id, 1.0)


def test_an_invalid_choice_of_a_prior_is_refused(open_device) -> None:
    """A choice is refused for a campaign without declared priors, an invalid level, and a history of other values; then
    nothing is declared."""
    device = open_device(lifetime=100)
    with pytest.raises(CampaignError, match="asks for no prior"):
        device.choose_prior(device.join(campaign()).campaign_id, 1.0)
    joined = device.join(of_declared()).campaign_id
    for level in (0.0, 21.0):
        with pytest.raises(NotionError, match="the level of the choice must be from"):
            device.choose_prior(joined, level)
    with pytest.raises(NotInDomain, match="a value that the campaign does not have"):
        device.choose_prior(joined, 1.0, {"baker": 3})
    assert not device.consented(joined)
    assert not device.declaration(joined).declared_before


def test_the_command_line_shows_a_declaration_and_chooses_one(tmp_path, capsys) -> None:
    """`preview --prior` shows the effect of a declaration and stores nothing; `consent --choose-prior` declares a prior
    of the list."""
    data = of_declared(opens=0, closes=2**39, period_seconds=2**38)
    (tmp_path / "author.pub").write_text(keys.public_line(AUTHOR.public) + "\n")
    (tmp_path / "declared").write_bytes(data)
    (tmp_path / "prior.csv").write_text("value,count\n" + "".join(f"{label},{n}\n" for label, n in PRIOR.items()))
    ident = open_campaign(data, [AUTHOR.public]).id.hex()

    def run(*arguments: object) -> int:
        return main(["--store", str(tmp_path / "store"), *map(str, arguments)])

    assert run("budget", "--lifetime", 100) == 0
    assert run("join", tmp_path / "declared", "--trust", tmp_path / "author.pub") == 0
    capsys.readouterr()
    assert run("preview", ident, "--prior", tmp_path / "prior.csv") == 0
    text = capsys.readouterr().out
    assert "value none  before 40%  least after" in text
    assert "permanently" in text
    assert run("preview", ident, "none", "--prior", tmp_path / "prior.csv") == 2
    assert run("preview", ident, "--level", 0.5) == 2
    assert "--level needs --prior" in capsys.readouterr().err
    assert run("preview", ident, "--prior", tmp_path / "prior.csv", "--level", 0.5, "--json") == 0
    assert json.loads(capsys.readouterr().out)["posteriors"][0]["most_after"] < 0.4 * 1.65
    assert run("preview", ident, "--prior", tmp_path / "prior.csv", "--level", "nan") == 2
    capsys.readouterr()
    assert run("consent", ident, "--choose-prior", 0.5, "--history", tmp_path / "prior.csv", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert {f"{label}: {weight}" for label, weight in weights_of(LISTED[0]).items()} & set(printed["prior"])
    assert run("preview", ident, "--prior", tmp_path / "prior.csv") == 65
    assert "stays valid" in capsys.readouterr().err
