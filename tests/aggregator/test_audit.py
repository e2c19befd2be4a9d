"""The audit of a campaign: its declared notion, every other notion, and the options of an analyst."""

from __future__ import annotations

import io
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.image import imread
from pyarrow import parquet
from rich.console import Console

from aggregator.anonymity import ReleaseError, anonymity_of_reports, anonymity_of_table
from aggregator.author.audit import audit, levels_request
from aggregator.author.privacy_section import notion_of
from aggregator.author.pufferfish_file import ScenarioError, read_scenarios
from aggregator.author.toml_section import DraftError, Section
from aggregator.author.trade_off import trade_offs
from aggregator.author.value_table import ValueTableError, read_prior
from aggregator.estimate.personal import PersonalTally
from aggregator.estimate.tally import Tally
from aggregator.estimate.transcript import SILENT, TranscriptTally
from aggregator.families.bits.recipe import oue
from aggregator.present.listing import audit_table
from edge_sdk.campaigns.audit import audit as own_audit
from protocol import exact, levels
from protocol.campaign import Campaign, seal_campaign
from protocol.channels import Blocks, Channel, Hadamard
from protocol.domain import Buckets, Domain, Grid, Items, Values
from protocol.errors import DomainError, Uncertified
from protocol.keys import SigningKey
from protocol.levels import LevelsRequest, Metric, structure_of
from protocol.notions import Classes, Graded, HighLow, Ldp, Lip, Notion, Promise
from protocol.personal import lip_response
from protocol.views import plain_views
from tests.aggregator.command import printed, run
from tests.aggregator.matrix import dense
from tests.edge_sdk.conftest import response
from tests.edge_sdk.test_black_box import QUESTIONS
from tests.edge_sdk.test_black_box import unsigned_campaign as mechanism_campaign
from tests.families.graded import graded

NAT = exact.NANONATS
LABELS = Values(("none", "primary", "secondary", "bachelor"))
SCENARIOS = {
    "secrets": ["ill", "well"],
    "pairs": [["ill", "well"]],
    "scenarios": [
        {"name": "winter", "joint": {"ill": {"none": 0.3, "primary": 0.1}, "well": {"bachelor": 6}}},
        {"joint": {"ill": {"none": 1}, "well": {"none": 1, "bachelor": 1}}},
    ],
}


def hadamard(k: int, level: int = NAT) -> Hadamard:
    odds = exact.exp_lower(level)
    return Hadamard((odds << 64) // (odds + (1 << exact.EXP_BITS)), k)


def unsigned_campaign(channel: Channel, notion: Notion | None = None, domain: Domain = LABELS) -> Campaign:
    notion = notion or Ldp(NAT)
    return Campaign(
        "T", "Q?", "", "Library", domain, notion, "by hand", plain_views(channel), 0, 10**6, 10**6, 1, 10, "open"
    )


def audited(campaign: Campaign, folder, *words: object, code: int = 0) -> str:
    """Audit a signed campaign on the command line; return the output."""
    path = folder / "c.campaign"
    path.write_bytes(seal_campaign(campaign, SigningKey(bytes(32))))
    return printed("audit", path, *words, code=code)


def test_the_audit_of_randomised_response_equals_the_closed_forms(tmp_path):
    """The levels, deltas and posterior bound of k-ary randomised response in audit --json equal their closed forms."""
    k, odds = 4, math.e
    truth, lie = odds / (odds + k - 1), 1 / (odds + k - 1)
    found = json.loads(
        audited(unsigned_campaign(response(k)), tmp_path, "--json", "--epsilon", "0.25", "--radius", "0.05")
    )
    levels = found["levels"]
    assert found["certified"] is True
    assert found["prior"] == "uniform"
    assert found["ball"] == 0.05
    assert levels["declared"] == levels["ldp"] == 1.0
    assert levels["differential-identifiability"] == pytest.approx(1, abs=1e-8)
    assert levels["lip"] == pytest.approx(max(math.log(truth * k), -math.log(lie * k)), abs=1e-8)
    mutual = math.log(k) + truth * math.log(truth) + (k - 1) * lie * math.log(lie)
    assert levels["mutual-information"] == pytest.approx(mutual, abs=1e-8)
    assert found["mutual_information_bits"] == pytest.approx(mutual / math.log(2), abs=1e-8)
    assert levels["maximal-leakage"] == pytest.approx(math.log(k * truth), abs=1e-8)
    mean = 0.25 - 0.05 * 1  # the worst prior moves a mass of 0.05 away from the true input
    assert levels["lip-ball"] == pytest.approx(
        max(math.log(truth / (mean * truth + (1 - mean) * lie)), math.log((0.3 * truth + 0.7 * lie) / lie)), abs=1e-8
    )
    (row,) = found["delta"]
    assert row["ldp"] == pytest.approx(truth - math.exp(0.25) * lie, abs=1e-8)
    lip = max(math.exp(-0.25) * truth - 0.25, (k - 1) * (0.25 - math.exp(0.25) * lie))
    assert row["lip"] == pytest.approx(lip, abs=1e-8)
    assert found["posterior"]["after"] == pytest.approx(truth, abs=1e-12)
    assert found["missing"].keys() == {"geo", "pufferfish"}
    assert not {"geo", "pufferfish"} & levels.keys()


def test_the_campaigns_prior_is_the_default_for_lip(tmp_path):
    """A LIP campaign is audited under its own prior unless another is given, and the JSON states which prior was
    used."""
    prior = (4, 3, 2, 1)
    campaign = unsigned_campaign(response(4), Lip(NAT, prior))
    found = json.loads(audited(campaign, tmp_path, "--json"))
    assert found["prior"] == "campaign"
    assert found["levels"]["lip"] == exact.nats(campaign.certificate.audited_level)
    assert {"mse", "mse_bound"} <= found.keys()
    file = tmp_path / "prior.csv"
    file.write_text("value,count\nnone,4\nprimary,3\nsecondary,2\nbachelor,1\n", encoding="utf-8")
    same = json.loads(audited(unsigned_campaign(response(4)), tmp_path, "--json", "--prior", file))
    assert same["levels"]["lip"] == found["levels"]["lip"]
    assert same["prior"] == str(file)
    assert json.loads(audited(campaign, tmp_path, "--json", "--prior", "uniform"))["prior"] == "uniform"


def test_an_unbounded_level_is_null_and_a_missing_one_has_a_reason(tmp_path):
    """An unbounded level is null; a level that is not computed is absent, with the reason."""
    notion = HighLow(NAT, 4, (1, 2))
    inner = hadamard(2)
    cover = -(-(inner.truth << (128 - inner.scale) << exact.EXP_BITS) // exact.exp_lower(NAT))
    channel = Blocks.over(cover, [0, 1, 1, 0], hadamard)
    found = json.loads(audited(unsigned_campaign(channel, notion), tmp_path, "--json"))
    assert found["levels"]["ldp"] is None
    assert found["levels"]["high-low"] == pytest.approx(1, abs=1e-8)
    assert found["levels"]["lip"] is None
    assert found["levels"]["mutual-information"] > 0
    assert "no distance" in found["missing"]["geo"]
    assert "geo" not in found["levels"]
    shown = audited(unsigned_campaign(channel, notion), tmp_path)
    assert "no bound" in shown
    assert "Pufferfish: not computed" in shown


def test_distances_come_from_the_domain(tmp_path):
    """Buckets are audited per unit, or per step on request, and grids per degree; other metrics are refused."""
    hours = unsigned_campaign(response(4), domain=Buckets.of([0, 5, 20, 50]))
    assert json.loads(audited(hours, tmp_path, "--json"))["levels"]["geo"] == pytest.approx(1 / 5, abs=1e-8)
    steps = json.loads(audited(hours, tmp_path, "--json", "--metric", "steps"))
    assert (steps["levels"]["geo"], steps["metric"]) == (pytest.approx(1, abs=1e-8), "steps")
    town = unsigned_campaign(response(4), domain=Grid(0, 2 * 10**5, 0, 2 * 10**5, 10**5))
    assert json.loads(audited(town, tmp_path, "--json", "--metric", "degrees"))["levels"]["geo"] == pytest.approx(10)
    assert "steps or degrees" in audited(town, tmp_path, "--metric", "miles", code=65)
    assert "no distance" in audited(unsigned_campaign(response(4)), tmp_path, "--metric", "steps", code=65)
    with pytest.raises(DomainError, match="numbers or steps"):
        levels_request(hours, metric="degrees")


def test_pufferfish_names_the_worst_case(tmp_path):
    """The bound for a pair of secrets is the one of the worst scenario, and the audit names that scenario."""
    path = tmp_path / "scenarios.json"
    path.write_text(json.dumps(SCENARIOS), encoding="utf-8")
    found = json.loads(audited(unsigned_campaign(response(4)), tmp_path, "--json", "--pufferfish", path))
    assert found["pufferfish"] == {"secret": "well", "other": "ill", "scenario": "winter", "output": 3}
    assert found["levels"]["pufferfish"] == pytest.approx(1, abs=1e-8)
    assert "'well' against 'ill', winter" in audited(unsigned_campaign(response(4)), tmp_path, "--pufferfish", path)
    asked = read_scenarios(path, LABELS)
    assert asked.scenarios[0].joint == ((3, 1, 0, 0), (0, 0, 0, 60))
    assert asked.scenarios[1].name == "scenario 2"
    unpaired = {name: value for name, value in SCENARIOS.items() if name != "pairs"}
    path.write_text(json.dumps(unpaired), encoding="utf-8")
    assert read_scenarios(path, LABELS) == asked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a JSON file"),
        ("[" * 10**5, "not a JSON file"),
        ("\x00", "not a JSON file"),
        ("[]", "an object with the entries secrets"),
        ('{"secrets": []}', "no entry 'scenarios'"),
        ('{"secrets": [], "scenarios": [], "more": 1}', "unknown entry 'more'; expected one of: secrets, scenarios"),
        ('{"secrets": [1], "scenarios": []}', "list of names"),
        ('{"secrets": ["a", "b"], "pairs": ["ab"], "scenarios": []}', "lists of two secrets"),
        ('{"secrets": ["a", "b"], "pairs": [["a", "c"]], "scenarios": []}', "'c' is not one of"),
        ('{"secrets": ["a", "b"], "scenarios": {}}', "scenarios must be a list, not {}"),
        ('{"secrets": ["a", "b"], "scenarios": [1]}', "scenario 1 must be an object"),
        ('{"secrets": ["a"], "scenarios": [{"name": 1, "joint": {}}]}', "name must be text, not 1"),
        ('{"secrets": ["a"], "scenarios": [{"joint": []}]}', "joint must be an object"),
        ('{"secrets": ["a", "b"], "scenarios": [{"joint": {"a": 1}}]}', "'a' must have an object of answers"),
        ('{"secrets": ["a", "b"], "scenarios": [{"joint": {"c": {"none": 1}}}]}', "'c' is not one of"),
        ('{"secrets": ["a", "b"], "scenarios": [{"joint": {"a": {"nobody": 1}}}]}', "'nobody' is not one of"),
        ('{"secrets": ["a", "b"], "scenarios": [{"joint": {"a": {"none": -1}}}]}', "the weight is negative"),
        ('{"secrets": ["a", "b"], "scenarios": [{"joint": {"a": {"none": true}}}]}', "a number is expected"),
        ('{"secrets": ["a", "b"], "scenarios": [{"joint": {"a": {"none": NaN}}}]}', "not a JSON file"),
        ('{"secrets": ["a", "b"], "scenarios": [{"joint": {"a": {"none": 1}}}]}', "no scenario allows both"),
        ('{"secrets": ["a", "a"], "scenarios": [{"joint": {"a": {"none": 1}}}]}', "lists 'a' twice"),
    ],
)
def test_a_scenario_file_is_read_strictly(tmp_path, text, message):
    """An invalid Pufferfish file is refused with its fault, and the command's error names the file."""
    path = tmp_path / "s.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=message):
        read_scenarios(path, LABELS)
    assert "s.json" in audited(unsigned_campaign(response(4)), tmp_path, "--pufferfish", path, code=65)


def test_a_prior_file_has_a_count_above_zero_for_every_value(tmp_path):
    """A prior needs a count above zero for every value; fractional counts keep their proportions exactly, and are
    refused if the counts must be whole."""
    path = tmp_path / "p.csv"
    path.write_text("value,count\nnone,0.5\nprimary,1\nsecondary,2.25\nbachelor,1\n", encoding="utf-8")
    assert read_prior(path, LABELS) == (2, 4, 9, 4)
    with pytest.raises(ValueTableError, match="line 2: a prior needs a whole count above zero"):
        read_prior(path, LABELS, whole_numbers=True)
    for text, message in (
        ("none,1\n", "no count for 'primary'"),
        ("none,0\n", "above zero"),
        ("nobody,1\n", "'nobody' is not one of the question's 4 values: expected 'none'"),
    ):
        path.write_text("value,count\n" + text, encoding="utf-8")
        with pytest.raises(ValueTableError, match=message):
            read_prior(path, LABELS)


def test_options_out_of_range_are_usage_errors(tmp_path):
    """An --epsilon that is negative, too large or NaN, and a --radius with a radius above 1, are usage errors."""
    for words in (("--epsilon", "-1"), ("--epsilon", "21"), ("--epsilon", "nan"), ("--radius", "1.5")):
        assert words[0] in audited(unsigned_campaign(response(4)), tmp_path, *words, code=2)


def test_the_json_without_options_has_only_the_certificate_and_the_expected_error():
    """Without options the JSON of an audit has only the entries of the certificate and of the expected error."""
    found = audit(unsigned_campaign(response(4))).as_json()
    assert set(found) == {
        "mechanism", "family", "values", "output_bits", "notion", "levels", "certified", "witness", "cost",
        "worst_case", "raw_mse", "people_per_report", "study", "views",
    }  # fmt: skip
    assert set(found["levels"]) == {"declared", "ldp"}


def test_an_audit_of_10000_values_has_every_level_without_scenarios():
    """The audit of a Hadamard channel of 10,000 values has every level except Pufferfish, which needs scenarios."""
    campaign = unsigned_campaign(hadamard(10_000), domain=Grid(0, 100 * 10**5, 0, 100 * 10**5, 10**5))
    found = audit(campaign, levels_request(campaign, radius=Fraction(1, 20))).as_json()
    assert set(found["missing"]) == {"pufferfish"}
    levels = found["levels"]
    assert levels["mutual-information"] < levels["maximal-leakage"] < levels["ldp"] == 1.0
    assert levels["lip"] < levels["lip-ball"] <= levels["ldp"]
    assert levels["geo"] == levels["ldp"]
    assert [row["ldp"] == 0 for row in found["delta"]] == [False, False, True]


# Every mechanism


def levels_of_cells(campaign: Campaign, prior: tuple[int, ...]) -> dict[str, float]:
    """Return the levels, in nats, computed in floats from all cells of the channel, without the family's closed
    forms."""
    distribution = dense(campaign.channel)
    distribution = distribution[:, distribution.sum(axis=0) > 0]
    p = np.array(prior) / sum(prior)
    mean = p @ distribution
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = np.log(distribution / mean)
        pairs = np.log(distribution[:, None] / distribution[None])
        odds = np.log(distribution[:, None] * p[:, None, None] / (distribution[None] * p[None, :, None]))
    different = ~np.eye(len(p), dtype=bool)
    found = {
        "ldp": float(np.nanmax(pairs)),
        "lip": float(np.nanmax(np.abs(lift))),
        "mutual-information": float(np.nansum(p[:, None] * distribution * np.where(distribution > 0, lift, 0))),
        "maximal-leakage": math.log(distribution.max(axis=0).sum()),
        "differential-identifiability": float(np.nanmax(odds[different])),
        "posterior": float((p[:, None] * distribution / mean).max()),
    }
    if campaign.domain.kind in ("grid", "buckets"):
        metric = Metric.of(campaign.domain)
        distance = [[math.sqrt(metric.square(x, other)) or math.inf for other in range(len(p))] for x in range(len(p))]
        found["geo"] = float((np.nanmax(pairs, axis=2) / distance).max())
    return found


def excess(campaign: Campaign, epsilon: float) -> float:
    """Return delta(epsilon), the maximum over all pairs of rows."""
    distribution = dense(campaign.channel)
    return float(np.maximum(distribution[:, None] - math.exp(epsilon) * distribution[None], 0).sum(axis=2).max())


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_mechanism_is_audited(name):
    """The audit of every mechanism of the catalogue lacks at most geo and Pufferfish.

    Its levels, deltas and posterior bound equal those computed from all cells of the channel. Over a ball, the bound
    equals that of a plain knapsack over all cells.
    """
    campaign = mechanism_campaign(name)
    for prior in ((1,) * campaign.domain.size, tuple(range(2, 2 + campaign.domain.size))):
        asked = levels_request(campaign, prior=prior, radius=Fraction(1, 20))
        made = audit(campaign, asked)
        found = made.as_json()
        assert made.table is not None
        assert set(found["missing"]) <= {"geo", "pufferfish"}
        surveyed = {name: level.nats for name, level in made.table.levels.items()}
        expected = levels_of_cells(campaign, prior)
        assert found["posterior"]["after"] == pytest.approx(expected.pop("posterior"), abs=1e-9)
        for notion, level in expected.items():
            assert (surveyed[notion] is None) == (level == math.inf), notion
            if surveyed[notion] is not None:
                assert level - 1e-9 <= surveyed[notion] <= level + 1e-8, notion
        for row in found["delta"]:
            assert row["ldp"] == pytest.approx(excess(campaign, row["epsilon"]), abs=1e-9)
        by_cells = levels.lip_in_ball(levels.Structure(campaign.channel), prior, Fraction(1, 20))
        assert surveyed["lip-ball"] == by_cells.nats
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(audit_table(made))
    assert campaign.notion.name in console.export_text()


def test_the_declared_ball_is_shown(tmp_path):
    """A campaign with a declared radius is audited at the prior, over the ball and under every prior; a requested
    ball replaces the declared one."""
    campaign = unsigned_campaign(response(4), Lip(NAT, (4, 3, 2, 1), 5 * 10**7))
    found = json.loads(audited(campaign, tmp_path, "--json"))
    assert found["ball"] == 0.05
    assert found["levels"]["lip"] < found["levels"]["lip-ball"] < found["levels"]["ldp"]
    assert found["levels"]["lip-ball"] == exact.nats(campaign.certificate.ball_level)
    assert audit(campaign).as_json()["levels"]["lip-ball"] == found["levels"]["lip-ball"]
    asked = json.loads(audited(campaign, tmp_path, "--json", "--radius", "0.05"))
    assert asked["levels"]["lip-ball"] == found["levels"]["lip-ball"]
    wider = json.loads(audited(campaign, tmp_path, "--json", "--radius", "0.5"))
    assert (wider["ball"], wider["levels"]["lip-ball"] > found["levels"]["lip-ball"]) == (0.5, True)
    assert "every prior within 0.05" in audited(campaign, tmp_path)
    assert "of at most 5 of 100 people" in Promise.of(campaign.notion, campaign.certificate, max_outputs=1).text()


def test_a_draft_declares_a_radius(tmp_path):
    """[prior] radius is the radius of the notion's ball, rounded up to a billionth; a radius above 1 is refused."""
    prior = {"weights": [Decimal("0.4"), Decimal("0.3"), Decimal("0.2"), Decimal("0.1")]}
    for radius, billionths in (("0.05", 5 * 10**7), ("1", 10**9), ("0", 0), ("1e-10", 1)):
        privacy = Section("privacy", {"notion": "lip", "epsilon": Decimal(1)})
        notion = notion_of(privacy, Section("prior", prior | {"radius": Decimal(radius)}), LABELS, tmp_path)
        assert notion == Lip(NAT, (4, 3, 2, 1), billionths)
    privacy = Section("privacy", {"notion": "lip", "epsilon": Decimal(1)})
    with pytest.raises(DraftError, match="radius"):
        notion_of(privacy, Section("prior", prior | {"radius": Decimal("1.01")}), LABELS, tmp_path)


@pytest.mark.parametrize("domain", [LABELS, Buckets.of([0, 5, 20, 50])])
def test_classes_are_audited(domain):
    """Each level of a campaign with classes is the largest level of any class, because a person's class is public.

    The levels are LDP, LIP, mutual information, maximal leakage and differential identifiability. The audit on
    a device, for the prior of its user, has a LIP level of at most 1 nat.
    """
    channel = Blocks(0, ((1, 4), (2, 4)), (response(4), hadamard(4)))
    campaign = Campaign(
        "T", "Q?", "", "Library", domain, Classes.of((Ldp(NAT), Ldp(NAT))), "by hand", plain_views(channel), 0, 10**6,
        10**6, 1, 10, "open", ("old", "young"),
    )  # fmt: skip
    found = audit(campaign, levels_request(campaign)).as_json()
    assert found["levels"]["classes"] == 1.0
    alone = [levels.table(structure_of(inner), LevelsRequest((1,) * 4)).levels for inner in channel.channels]
    for name in ("ldp", "lip", "mutual-information", "maximal-leakage", "differential-identifiability"):
        assert found["levels"][name] == max(one[name].nats for one in alone), name
    assert set(found["missing"]) == {"pufferfish"} | (set() if isinstance(domain, Buckets) else {"geo"})
    assert own_audit(campaign, {domain.label(1): 3}).table.levels["lip"].nats <= 1.0


def test_the_lip_level_of_classes_with_priors_is_the_largest_one():
    """The LIP level of two classes with priors is the larger of their levels, because a person's class is public."""
    priors = (5, 3, 1, 1), (1, 1, 1, 7)
    notion = Classes.of(tuple(Lip(level, prior) for level, prior in zip((NAT, NAT // 2), priors, strict=True)))
    inner = tuple(lip_response(prior, one.level) for one, prior in zip(notion.notions, priors, strict=True))
    campaign = Campaign(
        "T", "Q?", "", "Library", LABELS, notion, "by hand", plain_views(Blocks(0, ((1, 4), (2, 4)), inner)), 0,
        10**6, 10**6, 1, 10, "open", ("old", "young"),
    )  # fmt: skip
    made = audit(campaign, levels_request(campaign))
    found = made.as_json()
    assert found["levels"]["lip"] == pytest.approx(1.0, abs=1e-6)
    assert made.prior == "campaign"
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(audit_table(made))
    assert "no bound" not in console.export_text()


# Anonymity of a release


ROWS = "zip,age,illness\n1,30,flu\n1,30,flu\n1,30,cold\n2,40,flu\n2,40,flu\n3,,cold\n3,,flu\n"


def counted_anonymity(known, sensitive=None):
    """Return k, l and the number of equivalence classes, by a plain count."""
    lines = [line.split(",") for line in ROWS.splitlines()]
    columns = [lines[0].index(name) for name in known]
    classes: dict = {}
    for line in lines[1:]:
        key = tuple(line[column] for column in columns)
        classes.setdefault(key, []).append(line[lines[0].index(sensitive)] if sensitive else None)
    return min(map(len, classes.values())), min(len(set(v)) for v in classes.values()), len(classes)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("known", [("zip",), ("age",), ("zip", "age"), ("illness",)])
def test_anonymity_is_counted(tmp_path, form, known):
    """k is the size of the smallest equivalence class and l the fewest sensitive values in any of them, for CSV and
    Parquet; an empty cell is a value."""
    path = tmp_path / f"rows.{form}"
    if form == "csv":
        path.write_text(ROWS, encoding="utf-8")
    else:
        lines = [line.split(",") for line in ROWS.splitlines()]
        cells = {name: [cell or None for cell in column] for name, *column in zip(*lines, strict=True)}
        parquet.write_table(pa.table(cells), path)
    sensitive = None if known == ("illness",) else "illness"
    found = anonymity_of_table(path, known, sensitive)
    k, diversity, classes = counted_anonymity(known, sensitive)
    assert (found.rows, found.equivalence_classes, found.k) == (7, classes, k)
    assert found.l == (None if sensitive is None else diversity)
    assert set(found.smallest) == set(known)


def test_an_invalid_release_is_refused(tmp_path):
    """A release is refused if the file is not a table, or if no column is named, or if a named column is missing, named
    twice, or both known and sensitive. In a table without rows k is 0."""
    path = tmp_path / "rows.csv"
    path.write_text(ROWS, encoding="utf-8")
    for known, sensitive, message in (
        ((), None, "may know"),
        (("zip",), "zip", "both known and sensitive"),
        (("zip", "zip"), None, "named twice"),
        (("town",), None, "no column 'town': name a column that its header has once"),
    ):
        with pytest.raises(ReleaseError, match=message):
            anonymity_of_table(path, known, sensitive)
    for content in (b"", b"\xff\xfe\x00", b"a,b\n1\n", b"PAR1 no"):
        path.write_bytes(content)
        with pytest.raises(ReleaseError, match=r"rows\.csv"):
            anonymity_of_table(path, ("zip",))
    path.write_text(SigningKey(bytes(32)).line(), encoding="utf-8")
    with pytest.raises(ReleaseError, match=r"rows\.csv is a secret key file: name a CSV or Parquet file$"):
        anonymity_of_table(path, ("zip",))
    path.write_text("zip\n", encoding="utf-8")
    assert anonymity_of_table(path, ("zip",)).k == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name,age,illness\nSmith,30,flu\nJones,40,flu,extra\n", "every row has as many cells as the header"),
        ("Jones,40,flu\nSmith,30,flu\n", "no column 'age'"),
        ("Jones,age,flu\nage,age,age\n", "no column 'illness'"),
        ("name,age,illness\nJones,40,fl\xff", "in UTF-8"),
    ],
)
def test_no_error_of_a_release_quotes_a_row(tmp_path, content, message):
    """An error about a table, such as one with too many cells or without a header, quotes none of its cells."""
    path = tmp_path / "rows.csv"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ReleaseError, match=message) as refused:
        anonymity_of_table(path, ("age",), "illness")
    assert not [cell for cell in ("Jones", "Smith", "40", "flu", "extra") if cell in str(refused.value)]


def test_k_of_reports_is_the_count_of_the_rarest_output():
    """k of reports is the smallest count of an observed output; l is the smallest number of answers that can produce an
    observed output."""
    everyone = anonymity_of_reports(response(4), Tally.of(np.array([5, 0, 3, 9])))
    assert (everyone.rows, everyone.equivalence_classes, everyone.k, everyone.l) == (17, 3, 3, 4)
    assert everyone.smallest == {"output": "2"}
    split = Blocks.over(0, [1, 1, 0, 2, 2, 2], hadamard)
    counts = np.zeros(split.output_count, dtype=np.int64)
    counts[[0, 5]] = 4, 2
    assert anonymity_of_reports(split, Tally.of(counts)).l == 2
    counts[split.output_count - 1] = 50
    found = anonymity_of_reports(split, Tally.of(counts))
    assert (found.k, found.l, found.least_diverse) == (2, 1, {"output": str(split.output_count - 1)})
    assert anonymity_of_reports(split, Tally.of(counts * 0)).k == 0


def test_classes_of_reports_under_declared_priors_and_transcripts_are_named():
    """An equivalence class of reports under declared priors has one declaration and one output. One of transcripts has
    the outputs of all periods."""
    declared = PersonalTally(np.array([4, 0, 7, 5, 2, 9]), 27, declared=np.array([[NAT, 5, 3, 2], [2 * NAT, 1, 1, 8]]))
    found = anonymity_of_reports(response(3), declared)
    assert (found.equivalence_classes, found.k, found.l) == (5, 2, 3)
    assert found.smallest == found.least_diverse == {"prior": "1, 1, 8", "level": "2 nats", "output": "1"}
    transcripts = TranscriptTally(np.array([3, 1]), 4, chains=np.array([[0, 2, 1], [SILENT, 1, 0]]))
    found = anonymity_of_reports(response(3), transcripts)
    assert (found.rows, found.k, found.smallest) == (4, 1, {"outputs": "none, 1, 0"})


def test_the_command_prints_k_and_l(tmp_path):
    """anonymity prints k and l, as JSON and as text, and accepts a k that equals its requested minimum."""
    path = tmp_path / "rows.csv"
    path.write_text(ROWS, encoding="utf-8")
    shown = printed("anonymity", path, "--known", "zip", "--sensitive", "illness", "--json")
    assert json.loads(shown) == {
        "rows": 7, "equivalence_classes": 3, "k": 2, "smallest": {"zip": "2"}, "l": 1, "least_diverse": {"zip": "2"},
    }  # fmt: skip
    assert "the equivalence class of zip '2'" in printed("anonymity", path, "--known", "zip")
    printed("anonymity", path, "--known", "zip", "--at-least-k", 2)
    assert "needs --known" in printed("anonymity", "ed", "--study", tmp_path, "--sensitive", "illness", code=2)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--known", "zip", "--at-least-k", 3), 1, "k is 2, below 3: coarsen the known columns, or withhold"),
        (("--known", "zip", "--sensitive", "illness", "--at-least-l", 2), 1, "l is 1, below 2: coarsen the known"),
        (("--known", "zip", "--at-least-l", 2), 2, "--at-least-l needs --sensitive"),
        ((), 2, "neither --known nor --study is given: a file needs --known columns, a campaign needs --study"),
    ],
)
def test_each_refusal_of_anonymity_names_what_to_do(tmp_path, words, code, message):
    """A value below its minimum and a missing option end with an error that names the remedy."""
    path = tmp_path / "rows.csv"
    path.write_text(ROWS, encoding="utf-8")
    assert message in run("anonymity", path, *words, code=code).stderr


def test_the_anonymity_of_some_reports_cannot_be_computed():
    """Bit vectors, and channels with too many pairs of values and outputs, are refused with the reason."""
    with pytest.raises(ReleaseError, match=r"bit vectors .* only for a mechanism whose reports are not bit vectors"):
        anonymity_of_reports(oue(4, NAT), Tally.of(np.ones(4, dtype=np.int64)))
    wide = Blocks.over(0, [x // 2 for x in range(3000)], hadamard)
    with pytest.raises(ReleaseError, match="only for a campaign with fewer values or fewer different outputs"):
        anonymity_of_reports(wide, Tally.of(np.ones(wide.output_count, dtype=np.int64)))


@pytest.mark.parametrize("notion", [Ldp(NAT), Lip(3 * NAT, (2,) + (1,) * 16_470)])
def test_a_witness_of_many_bits_is_printed_in_hexadecimal(notion):
    """The output of a unary channel is printed with as many hexadecimal digits as its number of bits needs."""
    channel = oue(16_471, NAT)
    campaign = unsigned_campaign(channel, notion, Items(1, 16_470))
    found = audit(campaign, levels_request(campaign)).as_json()
    json.loads(json.dumps(found))
    output = campaign.certificate.witness.y
    assert int(found["witness"]["output"], 16) == output
    assert len(found["witness"]["output"]) == -(-16_471 // 4)
    assert all(isinstance(worst["output"], str) for worst in found["witnesses"].values())


def test_a_refusal_prints_a_long_output_in_hexadecimal():
    """A refusal prints an output of 16,471 bits in hexadecimal."""
    with pytest.raises(Uncertified, match=r"output [0-9a-f]{4118}"):
        unsigned_campaign(oue(16_471, NAT), Ldp(NAT // 2), Items(1, 16_470))


def every_test(channel: Channel, x: int, other: int) -> list[tuple[Fraction, Fraction]]:
    """Return the (false alarm, missed detection) rates of every deterministic test: one test for each set of
    outputs."""
    one, outputs = 1 << channel.scale, range(channel.output_count)
    found = []
    for chosen in range(1 << channel.output_count):
        alarms = [y for y in outputs if chosen >> y & 1]
        false = Fraction(sum(channel.weight(other, y) for y in alarms), one)
        found.append((false, 1 - Fraction(sum(channel.weight(x, y) for y in alarms), one)))
    return found


@pytest.mark.parametrize("notion", [Ldp(3 * NAT), Graded.over([2 * NAT] * 2 + [3 * NAT] * 4)])
def test_no_test_is_below_the_curve_of_the_best_ones(notion):
    """The curve of the best tests of a graded channel falls from (0, 1) to (1, 0) and is convex.

    Its corners are tests. No test, for any set of outputs, is below the curve, and the curve is nowhere below the
    bounds of the levels and of the notion.
    """
    channel = graded(2, 3, [NAT, NAT, *[2 * NAT] * 4])
    found = trade_offs(unsigned_campaign(channel, notion, Values(tuple("abcdef"))))
    assert len(found) == (1 if isinstance(notion, Ldp) else 2)
    for one in found:
        x, other = (ord(label) - ord("a") for label in (one.answer, one.other))
        false, missed = (np.array(axis) for axis in zip(*one.points, strict=True))
        assert one.points[0] == (0, 1)
        assert one.points[-1] == pytest.approx((1, 0))
        right, down = np.diff(false), -np.diff(missed)
        assert (np.minimum(right, down) > -1e-12).all()
        assert (down[:-1] * right[1:] >= down[1:] * right[:-1] - 1e-12).all()
        tests = every_test(channel, x, other)
        for alarm, miss in tests:
            assert float(miss) >= np.interp(float(alarm), false, missed) - 1e-12
        known = {(round(float(alarm), 12), round(float(miss), 12)) for alarm, miss in tests}
        assert {(round(alarm, 12), round(miss, 12)) for alarm, miss in one.points} <= known
        for forth, back in (one.levels, one.bounds):
            assert forth is not None
            assert back is not None
            assert (missed >= np.maximum(1 - np.exp(forth) * false, np.exp(-back) * (1 - false)) - 1e-8).all()


def test_the_curve_of_the_best_tests_is_drawn(tmp_path):
    """audit --plot writes a picture; for campaigns with classes it explains why it writes none.

    The curve of a campaign with a prior has no bounds of the notion.
    """
    audited(unsigned_campaign(response(4)), tmp_path, "--plot", tmp_path / "tests.png")
    assert imread(tmp_path / "tests.png").shape[0] > 100
    lip = unsigned_campaign(response(4), Lip(2 * NAT, (4, 3, 2, 1)))
    assert trade_offs(lip)[0].bounds == (None, None)
    both = Classes.of((Ldp(NAT), Ldp(NAT)))
    campaign = Campaign(
        "T", "Q?", "", "Library", LABELS, both, "by hand",
        plain_views(Blocks(0, ((1, 4), (2, 4)), (response(4), response(4)))), 0, 10**6, 10**6, 1, 10, "open",
        classes=("a", "b"),
    )  # fmt: skip
    assert "one for each class" in audited(campaign, tmp_path, "--plot", tmp_path / "none.png", code=65)
    assert not (tmp_path / "none.png").exists()
