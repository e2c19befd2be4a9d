"""The role of a person: a class, named openly or chosen privately for a charge, or a declared prior."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from edge_sdk import BudgetPolicy
from edge_sdk.__main__ import main
from edge_sdk.budget.ledger import EntryKind
from edge_sdk.campaigns.joined import Joined
from edge_sdk.campaigns.terms import share_text
from edge_sdk.cli.output import lines_for_people, readable_terms
from edge_sdk.errors import BudgetRefused, ConsentMissing
from protocol import envelope, exact, keys, personal
from protocol.campaign import Campaign, open_campaign, seal_campaign
from protocol.channels import Blocks
from protocol.domain import NumberRange, Values
from protocol.errors import CampaignError, NotInDomain, NotionError, ReportError
from protocol.notions.classes import Classes
from protocol.notions.declared_prior import DeclaredPrior
from protocol.notions.information import Lip
from protocol.notions.pairwise import Ldp
from protocol.report import Enrolment, Report
from protocol.views import plain_views
from tests.edge_sdk.conftest import AUTHOR, LABELS, OPENS, WEEK, Dice, agreed, campaign
from tests.families.wave import wave

NAT = exact.NANONATS
PRIORS = ((50, 20, 10, 10, 5, 5), (5, 5, 10, 10, 20, 50), (1, 1, 1, 1, 1, 1))
NAMES = ("workers", "students", "others")
LEVELS = (NAT, 2 * NAT, NAT // 2)
K = len(LABELS)


def made(channel, **changes) -> bytes:
    fields = {
        "title": "Highest education", "question": "Which?", "purpose": "", "organisation": "Town library",
        "domain": Values(LABELS), "mechanism": "lip", "views": plain_views(channel), "opens": OPENS,
        "closes": OPENS + 10 * WEEK,
        "period_seconds": WEEK, "answers_per_period": 1, "minimum_devices": 1, "enrolment": "open",
    }  # fmt: skip
    return seal_campaign(Campaign(**{**fields, **changes}), AUTHOR)


def of_classes(**changes) -> bytes:
    """Return a campaign with a prior and a level for each of three classes."""
    notion = Classes.of(tuple(map(Lip, LEVELS, PRIORS)))
    channels = tuple(map(personal.lip_response, PRIORS, LEVELS))
    runs = tuple((block, K) for block in (1, 2, 3))
    return made(**{"notion": notion, "channel": Blocks(0, runs, channels), "classes": NAMES, **changes})


def of_levels() -> bytes:
    """Return a campaign with a level for each of two classes, and no priors."""
    channel = Blocks(0, ((1, K), (2, K)), (personal.choice_channel(K, NAT), personal.choice_channel(K, 2 * NAT)))
    return made(notion=Classes.of((Ldp(NAT), Ldp(2 * NAT))), channel=channel, classes=("careful", "open"))


def of_declared(**changes) -> bytes:
    """Return a campaign for declared priors."""
    notion = DeclaredPrior(NAT, K)
    return made(**{"notion": notion, "channel": notion.channel_of(notion.uniform), **changes})


def outputs(data: bytes, reports: list[bytes]) -> list[int]:
    campaign = open_campaign(data, [AUTHOR.public]).campaign
    return [Report.decode(envelope.decode(report).unverified).outputs(campaign, None)[0] for report in reports]


def nanonats(data: bytes, place: int) -> int:
    return open_campaign(data, [AUTHOR.public]).campaign.certificates[place].cost


# Classes


def test_consent_needs_a_class_of_the_campaign(open_device) -> None:
    """Consent to a campaign with classes needs a class, and refuses one that the campaign does not have."""
    device = open_device()
    joined = device.join(of_classes()).campaign_id
    with pytest.raises(ConsentMissing, match="workers, students, others"):
        device.consent(joined)
    with pytest.raises(CampaignError, match="workers, students, others"):
        device.consent(joined, as_class="strangers")
    with pytest.raises(CampaignError, match="asks for no prior"):
        device.consent(joined, as_class="workers", prior={"none": 1})
    assert not device.consented(joined)
    assert device.budget.reserved == 0
    plain = device.join(campaign()).campaign_id
    with pytest.raises(CampaignError, match="has no classes of people: leave the class out"):
        device.consent(plain, as_class="workers")


@pytest.mark.parametrize("place", range(3))
def test_costs_and_outputs_are_those_of_the_class(open_device, clock, place: int) -> None:
    """Reservation, charge, terms, preview and every output are those of the person's class."""
    data, device = of_classes(), open_device()
    joined = agreed(device, data, as_class=NAMES[place])
    cost = nanonats(data, place)
    assert device.budget.reserved_nanonats == 6 * cost
    terms = device.terms(joined)
    assert (terms.member_of, terms.level, terms.cost_nanonats) == (NAMES[place], LEVELS[place] / NAT, cost)
    receipts = []
    for period in range(10):
        clock.now = OPENS + period * WEEK
        receipts.append(device.answer(joined, LABELS[period % K]))
    assert {receipt.cost_nanonats for receipt in receipts} == {0, cost}
    assert {y // K for y in outputs(data, [receipt.envelope for receipt in receipts])} == {place}
    assert device.budget.spent_nanonats == 6 * cost
    preview = device.preview(joined)
    assert (preview.cost_nanonats, preview.report_bytes) == (cost, max(len(one.envelope) for one in receipts))


@pytest.mark.parametrize("place", range(2))
def test_a_number_is_charged_by_the_channel_of_its_class(open_device, place: int) -> None:
    """With two classes that have a wave channel each, the preview, the charge and the output are those of the wave of
    the person's class; a number outside the range is refused without a charge."""
    levels, names = (NAT, 2 * NAT), ("town", "village")
    waves = tuple(wave(20, 2, level) for level in levels)
    notion = Classes.of(tuple(map(Ldp, levels)))
    data = made(
        Blocks(0, ((1, 20), (2, 20)), waves), notion=notion, domain=NumberRange.of(0, 19, unit="km"), classes=names
    )
    device = open_device()
    joined = agreed(device, data, as_class=names[place])
    cost = nanonats(data, place)
    assert levels[place] * 0.99 < cost <= levels[place]
    preview = device.preview(joined, 7)
    assert (preview.cost_nanonats, device.terms(joined).level) == (cost, levels[place] / NAT)
    one, everybody = waves[place], range(20)
    posteriors = [Fraction(one.weight(7, y), sum(one.weight(x, y) for x in everybody)) for y in range(one.output_count)]
    assert preview.posterior.after == max(posteriors)
    assert preview.fits_true == Fraction(sum(sorted(one.weight(7, y) for y in range(one.output_count))[-5:]), 2**128)
    with pytest.raises(NotInDomain):
        device.answer(joined, 20)
    assert device.budget.spent_nanonats == 0
    receipt = device.answer(joined, 7)
    assert (receipt.cost_nanonats, device.budget.spent_nanonats) == (cost, cost)
    (output,) = outputs(data, [receipt.envelope])
    assert output // waves[0].output_count == place


def test_the_terms_list_every_class_before_consent(open_device) -> None:
    """Before a class is named, the terms list all classes, and the costs are those of the costliest class."""
    data, device = of_classes(), open_device()
    terms = device.join(data)
    assert [one.name for one in terms.classes] == list(NAMES)
    assert [one.cost * NAT for one in terms.classes] == pytest.approx([nanonats(data, place) for place in range(3)])
    assert terms.member_of is None
    assert terms.worst_case == max(one.worst_case for one in terms.classes)
    assert "shows openly" in terms.promise.text()
    assert open_device().join(campaign()).classes == ()


def test_people_see_the_name_of_each_class_once(open_device) -> None:
    """For people, the terms contain a class's translated name only if it differs from the name."""
    terms = open_device().join(of_classes())
    german = replace(terms, classes=(replace(terms.classes[0], shown="Arbeiter"), *terms.classes[1:]))
    rows = [row for row in lines_for_people(readable_terms(german.as_json())) if row.startswith("  name ")]
    assert [row.split("  ")[1:3] for row in rows] == [
        ["name workers", "translated Arbeiter"],
        ["name students", "level 2 nats"],
        ["name others", "level 0.5 nats"],
    ]


def test_a_class_cannot_change_until_the_campaign_is_forgotten(open_device, place) -> None:
    """A second consent with the same class changes nothing, another class is refused until the campaign is forgotten,
    and the class survives a restart."""
    data = of_classes()
    with open_device(place) as device:
        joined = agreed(device, data, as_class="students")
        device.consent(joined)
        device.consent(joined, as_class="students")
        with pytest.raises(CampaignError, match="'students'"):
            device.consent(joined, as_class="workers")
    with open_device(place) as device:
        assert device.terms(joined).member_of == "students"
        device.answer(joined, LABELS[0])
        device.forget(joined)
        device.join(data)
        device.consent(joined, as_class="workers")
        assert device.terms(joined).member_of == "workers"


def test_random_bytes_and_report_lengths_do_not_depend_on_the_class(open_device) -> None:
    """For every class and answer, the same number of random bytes is drawn and reports have the same length."""
    data, seen = of_classes(), set()
    for name in NAMES:
        for label in LABELS:
            dice = Dice()
            device = open_device(urandom=dice)
            joined = agreed(device, data, as_class=name)
            seen.add((len(device.answer(joined, label).envelope), tuple(dice.asked)))
    assert len(seen) == 1


# The charged choice


def test_the_choice_is_charged_and_kept(open_device, place) -> None:
    """The choice of a class reserves and charges its level in addition to the worst case of the class. It is not drawn
    again until the campaign is forgotten, and a draw after that is charged again."""
    data, dice = of_classes(), Dice(4)
    with open_device(place, urandom=dice) as device:
        joined = device.join(data).campaign_id
        name = device.choose_class(joined, 0.7, {"none": 9, "primary": 4})
        cost = nanonats(data, NAMES.index(name))
        assert device.budget.spent_nanonats == 700_000_000
        assert device.budget.reserved_nanonats == 6 * cost
        entries = [(entry.kind, entry.nanonats) for entry in device.ledger]
        assert entries == [(EntryKind.RESERVE, 6 * cost + 700_000_000), (EntryKind.CHARGE, 700_000_000)]
        assert device.terms(joined).member_of == name
        for _ in range(20):
            assert device.choose_class(joined, 0.7, {"doctorate": 9}) == name
        assert device.budget.spent_nanonats == 700_000_000
    with open_device(place) as device:
        assert device.choose_class(joined, 5.0) == name
        device.forget()
        device.join(data)
        device.choose_class(joined, 0.7, {"none": 9})
        assert device.budget.spent_nanonats == 1_400_000_000, "a second draw after forgetting must be charged"


def test_the_choice_follows_its_channel(open_device) -> None:
    """For every draw, the chosen class is exactly the channel's sample for the nearest class."""
    for draw in range(40):
        rand = (draw * 2**64 // 40).to_bytes(8, "big")
        asked = iter([bytes(32), bytes(8), rand])
        device = open_device(urandom=lambda count, asked=asked: next(asked))
        joined = device.join(of_classes()).campaign_id
        expected = personal.choice_channel(3, NAT).sample(1, rand)
        assert device.choose_class(joined, 1.0, {"doctorate": 3, "master": 1}) == NAMES[expected]


def test_the_choice_depends_on_earlier_answers_of_this_device(open_device) -> None:
    """If ``choose_class`` gets no history, it uses this device's answers about the same values; at a high level it
    nearly always chooses the nearest class."""
    chosen = Counter()
    for seed in range(8):
        device = open_device(urandom=Dice(seed))
        other = agreed(device, campaign())
        device.answer(other, "doctorate")
        chosen[device.choose_class(device.join(of_classes()).campaign_id, 20.0)] += 1
    # Any other result has a probability below 10^-7.
    assert chosen == {"students": 8}


def test_a_refusal_does_not_depend_on_the_draw(open_device) -> None:
    """Before the draw, the budget must have room for the choice and the costliest class; a refusal charges nothing."""
    data = of_classes()
    most = max(nanonats(data, place) for place in range(3)) * 6
    for seed in range(6):
        device = open_device(lifetime=(most + NAT - 1) / NAT, urandom=Dice(seed))
        joined = device.join(data).campaign_id
        with pytest.raises(BudgetRefused):
            device.choose_class(joined, 1.0)
        assert device.ledger == []
        device = open_device(lifetime=(most + NAT) / NAT, urandom=Dice(seed))
        assert device.choose_class(device.join(data).campaign_id, 1.0) in NAMES


def test_the_choice_counts_in_a_window(open_device) -> None:
    """A window cap counts the choice as well as the answers."""
    data = of_classes()
    answers = nanonats(data, 1)
    window = BudgetPolicy(lifetime=1000, window=(1, (answers + NAT - 1) / NAT))
    device = open_device(budget=window)
    with pytest.raises(BudgetRefused, match="window"):
        device.choose_class(device.join(data).campaign_id, 1.0)
    other = campaign(level=NAT // 10)
    for spare, fits in ((0, True), (-1, False)):
        device = open_device()
        name = device.choose_class(device.join(data).campaign_id, 1.0)
        cap = nanonats(data, NAMES.index(name)) + NAT + nanonats(other, 0) + spare
        device.lower_caps(BudgetPolicy(window=(1, cap / NAT)))
        if fits:
            device.join(other)
        else:
            with pytest.raises(BudgetRefused, match="window"):
                device.join(other)


def test_a_choice_needs_priors_and_a_level(open_device) -> None:
    """A choice is refused for classes without priors, campaigns without classes, invalid levels, unknown values and
    negative counts."""
    device = open_device()
    for data, fault in ((of_levels(), "name the class"), (campaign(), "no classes of people: leave the class out")):
        with pytest.raises(CampaignError, match=fault):
            device.choose_class(device.join(data).campaign_id, 1.0)
    joined = device.join(of_classes()).campaign_id
    with pytest.raises(NotionError):
        device.choose_class(joined, 0.0)
    with pytest.raises(NotInDomain):
        device.choose_class(joined, 1.0, {"baker": 1})
    with pytest.raises(ReportError):
        device.choose_class(joined, 1.0, {"none": -1})
    assert device.ledger == []


# Declared priors

PRIOR = {"none": 8, "primary": 4, "secondary": 2, "bachelor": 2, "master": 2, "doctorate": 2}


def test_a_declared_prior_makes_the_channel(open_device) -> None:
    """The enrolment contains the prior in lowest terms, and cost and output are those of the channel designed for
    it."""
    data, dice = of_declared(), Dice(3)
    device = open_device(urandom=dice)
    joined = device.join(data).campaign_id
    assert device.terms(joined).declares_prior
    device.consent(joined, prior=PRIOR)
    [(sealed,)] = device._store.rows("SELECT envelope FROM outbox")
    assert Enrolment.open(envelope.decode(sealed)).prior == (4, 2, 1, 1, 1, 1)
    notion = DeclaredPrior(NAT, K)
    certificate = notion.certificate_of((4, 2, 1, 1, 1, 1))
    assert certificate.cost != notion.certificate_of(notion.uniform).cost
    assert device.budget.reserved_nanonats == 6 * certificate.cost
    receipt = device.answer(joined, "none")
    assert receipt.cost_nanonats == certificate.cost
    expected = notion.channel_of((4, 2, 1, 1, 1, 1)).sample(0, dice.given[-1])
    assert outputs(data, [receipt.envelope]) == [expected]


def test_an_incomplete_prior_is_refused(open_device) -> None:
    """Consent without a prior is refused, and so is a prior that misses a value, has an invalid weight or has a value
    outside the domain."""
    device = open_device()
    joined = device.join(of_declared()).campaign_id
    with pytest.raises(ConsentMissing, match="weight for every value"):
        device.consent(joined)
    for wrong in ({"none": 1}, {**PRIOR, "none": 0}, {**PRIOR, "none": 2**21}, {**PRIOR, "none": 1.5}):
        with pytest.raises(ReportError):
            device.consent(joined, prior=wrong)
    with pytest.raises(NotInDomain):
        device.consent(joined, prior={**PRIOR, "baker": 1})
    assert not device.consented(joined)


def test_a_declaration_stays_after_forgetting(open_device, place) -> None:
    """The study keeps the first prior, so forgetting does not let a device declare another."""
    data = of_declared()
    with open_device(place) as device:
        joined = agreed(device, data, prior=PRIOR)
        first = device.enrolment(joined)
        device.forget(joined)
        device.join(data)
        with pytest.raises(CampaignError, match="declared"):
            device.consent(joined, prior={**PRIOR, "none": 9})
        device.consent(joined)
        assert device.enrolment(joined) == first
        device.answer(joined, "none")


def test_a_campaign_with_a_damaged_declaration_can_be_forgotten(open_device) -> None:
    """A campaign can be forgotten even if its declaration is damaged, because forgetting does not read the
    declaration."""
    device = open_device()
    joined = agreed(device, of_declared(), prior=PRIOR)
    device.answer(joined, "none")
    with device._store.transaction():
        device._store.execute("UPDATE declared SET prior = x'ff'")
    device.forget(joined)
    assert device.campaigns == []
    assert device.budget.spent > 0
    assert device.budget.reserved == 0


def test_a_prior_is_stored_only_with_a_consent(open_device) -> None:
    device = open_device(lifetime=4.5)
    joined = device.join(of_declared(closes=OPENS + 3 * WEEK)).campaign_id
    with pytest.raises(BudgetRefused):
        device.consent(joined, prior=PRIOR)
    device.consent(joined, prior=dict.fromkeys(LABELS, 1))


def test_a_second_round_adds_to_the_first(open_device) -> None:
    """Two rounds of one question cost the sum of their LDP levels in one ledger, even if the second one declares
    LIP."""
    first = campaign()
    notion = Lip(NAT, (70, 10, 8, 7, 3, 2))
    second = made(title="Round two", notion=notion, channel=personal.lip_response(notion.prior, NAT))
    costs = [nanonats(data, 0) for data in (first, second)]
    assert costs[1] > NAT, "the LDP level must be charged, because LIP levels do not add up"
    device = open_device()
    for data in (first, second):
        joined = agreed(device, data)
        device.answer(joined, "none")
    assert device.budget.spent_nanonats == sum(costs)
    tight = open_device(lifetime=6 * sum(costs) / NAT - 0.001)
    tight.consent(tight.join(first).campaign_id)
    with pytest.raises(BudgetRefused):
        tight.join(second)


# The command line


def test_the_command_line_names_a_class(tmp_path, capsys) -> None:
    """The options --class, --choose-class, --history and --prior of consent have the same effect as the device's
    methods; a missing option is named."""
    now = {"opens": 0, "closes": 2**39, "period_seconds": 2**38}
    (tmp_path / "author.pub").write_text(keys.public_line(AUTHOR.public) + "\n")
    (tmp_path / "prior.csv").write_text("value,count\n" + "".join(f"{label},{n}\n" for label, n in PRIOR.items()))
    for name, data in (("classes", of_classes(**now)), ("declared", of_declared(**now))):
        (tmp_path / name).write_bytes(data)
    store = ["--store", str(tmp_path / "store")]

    def run(*arguments: object) -> int:
        return main([*store, *map(str, arguments)])

    assert run("budget", "--lifetime", 100) == 0
    assert run("join", tmp_path / "classes", "--trust", tmp_path / "author.pub") == 0
    capsys.readouterr()
    joined = open_campaign((tmp_path / "classes").read_bytes(), [AUTHOR.public]).id.hex()
    assert run("consent", joined) == 1
    assert "workers, students, others" in capsys.readouterr().err
    assert run("consent", joined, "--choose-class", "nan") == 2
    for option in ("--prior", "--history"):
        # A public prior and a secret history are never mistaken for each other.
        choice = ("--choose-class", 1) if option == "--prior" else ("--class", "students")
        assert run("consent", joined, *choice, option, tmp_path / "prior.csv") == 2
        assert "--history" in capsys.readouterr().err
    assert run("consent", joined, "--choose-class", 1, "--history", tmp_path / "prior.csv", "--json") == 0
    assert '"class": "' in capsys.readouterr().out
    assert run("forget", joined) == 0
    assert run("join", tmp_path / "classes", "--trust", tmp_path / "author.pub") == 0
    assert run("consent", joined, "--class", "students") == 0
    assert "class: students" in capsys.readouterr().out
    ident = open_campaign((tmp_path / "declared").read_bytes(), [AUTHOR.public]).id.hex()
    assert run("join", tmp_path / "declared", "--trust", tmp_path / "author.pub") == 0
    (tmp_path / "wrong.csv").write_text("value,count\nnone,many\n")
    assert run("consent", ident, "--prior", tmp_path / "wrong.csv") == 2
    assert "many" not in capsys.readouterr().err
    assert run("consent", ident, "--prior", tmp_path / "prior.csv") == 0
    assert run("answer", ident, "none") == 0


def test_a_joined_campaign_has_the_costliest_class() -> None:
    """Before a class is named, a joined campaign has the channel of the costliest class, and its repr shows no
    secret."""
    joined = Joined.open(of_classes(), [AUTHOR.public], bytes(range(32)))
    assert not joined.complete
    assert bytes(range(32)).hex() not in repr(joined)
    assert repr(bytes(range(32))) not in repr(joined)
    assert joined.channel == personal.lip_response(PRIORS[1], LEVELS[1]), (
        "before a class is named, the costliest one must count"
    )


@pytest.mark.parametrize(
    ("share", "text"),
    [(Fraction(1, 3), "33.3"), (Fraction(1), "100"), (Fraction(1, 10**7), "0.00001"), (Fraction(1, 8), "12.5")],
)
def test_a_share_has_three_significant_digits(share, text):
    """A share is written in percent with three significant digits, without an exponent."""
    assert share_text(share) == text


def test_the_terms_state_the_shares_that_the_promise_assumes(open_device):
    """Once a person has chosen a class, the terms state the prior of this class, the largest share first. Without a
    prior, the promise assumes no shares."""
    device = open_device()
    joined = device.join(of_classes()).campaign_id
    assert device.terms(joined).assumed == ()
    device.consent(joined, as_class="students")
    shares = tuple((LABELS[x], Fraction(PRIORS[1][x], 100)) for x in (5, 4, 2, 3, 0, 1))
    terms = device.terms(joined)
    assert terms.assumed == shares
    assert terms.as_json()["assumed_percent"] == dict(
        zip(dict(shares), ("50", "20", "10", "10", "5", "5"), strict=True)
    )
    for data in (of_levels(), of_declared(), campaign()):
        other = open_device()
        assert other.terms(other.join(data).campaign_id).assumed == ()
        other.close()
