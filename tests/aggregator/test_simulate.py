"""Properties of simulated people: their reports are those of devices in everything but consent."""

import numpy as np
import pytest

from aggregator import simulation
from aggregator.author.value_table import ValueTableError
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.response.recipe import randomized_response
from aggregator.simulation import simulate
from aggregator.truth_file import Truth, read_truth
from protocol import envelope, exact
from protocol.campaign import Campaign
from protocol.channels import Blocks
from protocol.domain import Buckets, Grid, Values
from protocol.envelope import Kind
from protocol.keys import key_id
from protocol.notions import Ldp
from protocol.notions.classes import Classes
from protocol.report import Enrolment, Report
from protocol.views import plain_views
from tests.aggregator.simulated import population

ID = bytes(range(16))


def unsigned_campaign(domain, enrolment="enrolled"):
    channel = hadamard(domain.size, exact.NANONATS)
    return Campaign("T", "Q?", "", "O", domain, Ldp(exact.NANONATS), "hadamard", plain_views(channel),
                    10**9, 2 * 10**9, 86400, 1, 1, enrolment)  # fmt: skip


COLOURS = Values(("red", "green", "blue"))


def test_every_person_signs_one_report_with_a_different_key():
    """A population of n sends n reports, each of which verifies under a different enrolled key."""
    (sent,) = population(unsigned_campaign(COLOURS), ID, Truth(("red", "blue"), (30, 20)), period=3)
    publics = {}
    for item in envelope.read_batch(sent.enrolments):
        introduced = Enrolment.open(item)
        publics[key_id(introduced.public)] = introduced.public
    reports = [Report.decode(item.open(publics[item.key_id])) for item in envelope.read_batch(sent.reports)]
    assert len(reports) == len(publics) == sent.people == 50
    assert {(report.campaign_id, report.period, report.slot) for report in reports} == {(ID, 3, 0)}


def test_an_open_campaign_gets_each_enrolment_before_its_report():
    """In a campaign that takes any key, the enrolment of each key precedes its report."""
    (sent,) = population(unsigned_campaign(COLOURS, "open"), ID, Truth(("red",), (5,)), period=0)
    kinds = [item.kind for item in envelope.read_batch(sent.reports)]
    assert kinds == [Kind.ENROLMENT, Kind.REPORT] * 5


def test_a_seed_repeats_everything_on_any_number_of_processes(monkeypatch):
    """A seed gives the same bytes on one process and on two; another seed gives others."""
    monkeypatch.setattr(simulation, "CHUNK", 20)
    started, pool = [], simulation.ProcessPoolExecutor
    monkeypatch.setattr(simulation, "ProcessPoolExecutor", lambda n, **how: started.append(n) or pool(n, **how))
    truth = Truth(("red", "green"), (100, 30))
    one, two, other = (
        b"".join(
            sent.reports + sent.enrolments
            for sent in population(unsigned_campaign(COLOURS), ID, truth, 0, seed, processes)
        )
        for seed, processes in ((1, 1), (1, 2), (2, 1))
    )
    assert one == two != other
    assert started == [2]


def test_populations_without_a_seed_differ():
    """Two populations without a seed have no common key."""
    truth = Truth(("red",), (20,))
    first, second = (next(population(unsigned_campaign(COLOURS), ID, truth, 0)) for _ in range(2))
    ids = [{item.key_id for item in envelope.read_batch(sent.reports)} for sent in (first, second)]
    assert not ids[0] & ids[1]


def test_true_shares_follow_stochastic_rounding():
    """A number between two edges counts for both by its distance, so the mean of the true shares is the people's
    mean."""
    domain = Buckets.of([0, 10, 40])
    truth = Truth((domain.parse("5"), domain.parse("25"), domain.parse("40")), (1, 2, 1))
    shares = truth.shares(domain)
    assert shares.sum() == pytest.approx(1)
    assert shares @ np.array([0, 10, 40]) == pytest.approx((5 + 25 + 25 + 40) / 4)


def test_a_truth_file_is_read_by_its_domain(tmp_path):
    """Positions may be quoted or not, and the label of a cell is read as that cell."""
    grid = Grid(0, 10**6, 0, 10**6, 250_000)
    path = tmp_path / "t.csv"
    path.write_text(f'value,count\n"0.1,0.1",3\n0.9,0.1,4\n{grid.label(6)},1\n', encoding="utf-8")
    shares = read_truth(path, grid).shares(grid)
    assert {x: shares[x] for x in np.flatnonzero(shares)} == pytest.approx({0: 3 / 8, 6: 1 / 8, 12: 4 / 8})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "header"),
        ("colour,count\nred,1\n", "header"),
        ("value,count\nred\n", "line 2"),
        ("value,count\nred,1\nmauve,2\n", "line 3"),
        ("value,count\nred,-1\n", "whole number"),
        ("value,count\nred,1.5\n", "whole number"),
        ("value,count\nred,nan\n", "must be a number"),
        ("value,count\n", "has no people"),
        ("value,count\nred,0\n", "has no people"),
        ("value,count\n\udcff\udcfe\0,1\n", "UTF-8"),
    ],
)
def test_a_wrong_truth_file_is_named(tmp_path, text, named):
    """The error for an invalid file of true counts names the line, the header or the rule."""
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(ValueTableError, match=named):
        read_truth(path, COLOURS)


def test_classes_are_those_of_the_truth_without_a_seed_too():
    """Each person answers in the class that the truth states for their value, with or without a seed.

    At 20 nats an output differs from the answer about twice in 10^9, so a single mismatch is a failure.
    """
    highest = 20 * exact.NANONATS
    rows = tuple((block, 2) for block in (1, 2))
    channel = Blocks(0, rows, (randomized_response(2, highest),) * 2)
    notion = Classes.of((Ldp(highest), Ldp(highest)))
    asked = Campaign("T", "Q?", "", "O", Values(("car", "bus")), notion, "randomized-response", plain_views(channel),
                     10**9, 2 * 10**9, 86400, 1, 1, "enrolled", classes=("town", "village"))  # fmt: skip
    for seed in (None, 3):
        (sent,) = population(asked, ID, Truth(("car", "bus"), (40, 60), (0, 1)), 0, seed=seed)
        reports = [Report.decode(item.unverified).outputs(asked, None)[0] for item in envelope.read_batch(sent.reports)]
        assert sorted(reports) == [0] * 40 + [3] * 60  # cars in the town, buses in the village


def test_a_panel_keeps_its_devices_and_changes_answers_as_often_as_asked():
    """Every device reports in each period, and an answer differs from the last one with probability change (1 - sum
    p^2).

    4,000 people and 3 changes at 20 nats, where outputs are answers: 12,000 pairs of periods, alpha 10^-6 (4.9 sigma)
    for the changes and for each of three shares. A failure means that changes or shares have a distribution other than
    the documented one.
    """
    highest, people, change = 20 * exact.NANONATS, 4000, 0.25
    channel = randomized_response(3, highest)
    asked = Campaign("T", "Q?", "", "O", COLOURS, Ldp(highest), "randomized-response", plain_views(channel),
                     10**9, 2 * 10**9, 86400, 1, 1, "enrolled")  # fmt: skip
    truth = Truth(("red", "green", "blue"), (2400, 1200, 400))
    sent_by: dict[bytes, list[tuple[int, int]]] = {}
    for sent in simulate(asked, ID, truth, range(2, 6), change, seed=5, processes=1):
        for item in envelope.read_batch(sent.reports):
            report = Report.decode(item.unverified)
            sent_by.setdefault(item.key_id, []).append((report.period, report.outputs(asked, None)[0]))
    assert len(sent_by) == people
    assert all([period for period, _ in chain] == [2, 3, 4, 5] for chain in sent_by.values())
    outputs = np.array([[y for _, y in chain] for chain in sent_by.values()])
    shares = np.array([0.6, 0.3, 0.1])
    expected = change * (1 - shares @ shares)
    changed = (outputs[:, 1:] != outputs[:, :-1]).mean()
    assert abs(changed - expected) < 4.9 * np.sqrt(expected * (1 - expected) / (3 * people))
    last = np.bincount(outputs[:, -1], minlength=3) / people
    assert (np.abs(last - shares) < 4.9 * np.sqrt(shares * (1 - shares) / people)).all()


def test_a_panel_without_change_repeats_each_output():
    """A device whose answer stays the same reports the same output in each period, also at 1 nat, where outputs are
    random."""
    (sent,) = simulate(unsigned_campaign(COLOURS), ID, Truth(("red", "blue"), (30, 30)), range(3))
    sent_by: dict[bytes, set[int]] = {}
    for item in envelope.read_batch(sent.reports):
        sent_by.setdefault(item.key_id, set()).add(
            Report.decode(item.unverified).outputs(unsigned_campaign(COLOURS), None)[0]
        )
    assert len(sent_by) == 60
    assert all(len(outputs) == 1 for outputs in sent_by.values())
    assert len(set.union(*sent_by.values())) > 1


def test_a_truth_by_class_is_cut_to_a_class(tmp_path):
    """The truth of one class has only that class's people; a file without classes is the truth of every class."""
    path = tmp_path / "t.csv"
    path.write_text("value,count,class\nred,3,town\nblue,1,town\nblue,5,village\n", encoding="utf-8")
    truth = read_truth(path, COLOURS, ("town", "village", "sea"))
    assert truth.within(0).shares(COLOURS).tolist() == [0.75, 0, 0.25]
    assert truth.within(1).shares(COLOURS).tolist() == [0, 0, 1]
    with pytest.raises(ValueTableError, match="no people of this class"):
        truth.within(2)
    with pytest.raises(ValueTableError, match="no classes"):
        read_truth(path, COLOURS)
    path.write_text("value,count\nred,3\n", encoding="utf-8")
    assert read_truth(path, COLOURS, ("town", "village")).within(1).people == 3
