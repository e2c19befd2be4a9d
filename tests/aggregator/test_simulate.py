"""Laws of simulated people: they are devices in everything but consent."""

import numpy as np
import pytest

from aggregator.design import mechanisms
from aggregator.sheet import SheetError
from aggregator.simulate import CHUNK, Truth, population, read_truth
from protocol import envelope, exact
from protocol.campaign import Campaign
from protocol.domain import Buckets, Grid, Values
from protocol.envelope import Kind
from protocol.keys import key_id
from protocol.notions import Ldp
from protocol.report import Enrolment, Report

ID = bytes(range(16))


def terms(domain, enrolment="enrolled"):
    channel = mechanisms.hadamard(domain.size, exact.NANONATS)
    return Campaign("T", "Q?", "", "O", domain, Ldp(exact.NANONATS), "hadamard", channel,
                    10**9, 2 * 10**9, 86400, 1, 1, enrolment)  # fmt: skip


COLOURS = Values(("red", "green", "blue"))


def test_every_person_sends_one_signed_report_under_a_key_of_their_own():
    """A population of n sends n reports, each verifying under a different enrolled key."""
    (sent,) = population(terms(COLOURS), ID, Truth(("red", "blue"), (30, 20)), period=3)
    publics = {}
    for item in envelope.read_batch(sent.enrolments):
        introduced = Enrolment.open(item)
        publics[key_id(introduced.public)] = introduced.public
    reports = [Report.decode(item.open(publics[item.key_id])) for item in envelope.read_batch(sent.reports)]
    assert len(reports) == len(publics) == sent.people == 50
    assert {(report.campaign_id, report.period, report.slot) for report in reports} == {(ID, 3, 0)}


def test_an_open_campaign_hears_enrolment_before_report():
    """In a campaign that takes any key, each report follows the enrolment of its key."""
    (sent,) = population(terms(COLOURS, "open"), ID, Truth(("red",), (5,)), period=0)
    kinds = [item.kind for item in envelope.read_batch(sent.reports)]
    assert kinds == [Kind.ENROLMENT, Kind.REPORT] * 5


def test_a_seed_repeats_everything_whatever_the_number_of_processes():
    """The bytes of a seed are the same on one process and on two; another seed gives others."""
    truth = Truth(("red", "green"), (CHUNK, 100))
    one, two, other = (
        b"".join(sent.reports + sent.enrolments for sent in population(terms(COLOURS), ID, truth, 0, seed, processes))
        for seed, processes in ((1, 1), (1, 2), (2, 1))
    )
    assert one == two != other


def test_without_a_seed_nothing_repeats():
    """Two populations without a seed share no key."""
    truth = Truth(("red",), (20,))
    first, second = (next(population(terms(COLOURS), ID, truth, 0)) for _ in range(2))
    ids = [{item.key_id for item in envelope.read_batch(sent.reports)} for sent in (first, second)]
    assert not ids[0] & ids[1]


def test_true_shares_follow_stochastic_rounding():
    """A number between two edges counts for both by its distance, so the mean of the shares is the people's mean."""
    domain = Buckets.of([0, 10, 40])
    truth = Truth((domain.parse("5"), domain.parse("25"), domain.parse("40")), (1, 2, 1))
    shares = truth.shares(domain)
    assert shares.sum() == pytest.approx(1)
    assert shares @ np.array([0, 10, 40]) == pytest.approx((5 + 25 + 25 + 40) / 4)


def test_a_truth_file_is_read_by_its_domain(tmp_path):
    """Positions may be quoted or not; a cell's label reads back as that cell."""
    grid = Grid(0, 10**6, 0, 10**6, 250_000)
    path = tmp_path / "t.csv"
    path.write_text('value,count\n"0.1,0.1",3\n0.9,0.1,4\n', encoding="utf-8")
    shares = read_truth(path, grid).shares(grid)
    assert shares[0] == pytest.approx(3 / 7)
    assert shares[12] == pytest.approx(4 / 7)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "header"),
        ("colour,count\nred,1\n", "header"),
        ("value,count\nred\n", "line 2"),
        ("value,count\nred,1\nmauve,2\n", "line 3"),
        ("value,count\nred,-1\n", "whole number"),
        ("value,count\nred,1.5\n", "whole number"),
        ("value,count\nred,nan\n", "is a number"),
        ("value,count\n", "nobody"),
        ("value,count\nred,0\n", "nobody"),
    ],
)
def test_a_wrong_truth_file_is_named(tmp_path, text, named):
    """Whatever is wrong with a file of true counts, the error says where."""
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SheetError, match=named):
        read_truth(path, COLOURS)


def test_truth_that_is_no_text_is_refused(tmp_path):
    """A file of arbitrary bytes is an error, not a traceback."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"value,count\n\xff\xfe\x00,1\n")
    with pytest.raises(SheetError):
        read_truth(path, COLOURS)
