"""Properties of the page: it loads no other file, has every result, and is the same every time."""

import base64
import hashlib
import html
import json
import math
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from aggregator.author.audit import audit, levels_request
from aggregator.estimate.estimator import estimate
from aggregator.estimate.names import METHODS
from aggregator.estimate.tally import Tally
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.registry import decoder_of
from aggregator.families.response.recipe import randomized_response
from aggregator.intake.refusals import RefusalReason
from aggregator.present import page_method, page_numbers, page_reports
from aggregator.present.markup import Html, tag
from aggregator.present.page import digest, page
from aggregator.present.page_promise import promise_section
from aggregator.present.shown_shares import decimals, listed_values, percent
from aggregator.quantity import upper_bound
from protocol import exact
from protocol.campaign import Campaign
from protocol.channels import Blocks
from protocol.domain import Buckets, Grid, Items, Values
from protocol.exact import NANONATS
from protocol.notions import Classes, Ldp, Lip
from protocol.personal import lip_response
from protocol.views import plain_views
from tests.aggregator.campaigns import campaign_of_draft
from tests.aggregator.command import run
from tests.aggregator.test_cli import COUNTS, DRAFT
from tests.aggregator.test_estimate_result import SINGULAR

COLOURS = Values(("red", "green", "blue"))
MANY = Values(tuple(f"item {x}" for x in range(300)))
TOWN = Grid(40_000_000, 40_300_000, -4_000_000, -3_600_000, 100_000)
DOMAINS = {
    "values": COLOURS,
    "many": MANY,
    "buckets": Buckets.of([-1.5, 0, 2.5]),
    "items": Items(2, ("bread", "milk", "tea")),
    "grid": TOWN,
}
PNG = b"\x89PNG\r\n\x1a\n"
VOID = {"meta", "img", "source", "wbr"}


class Parsed(HTMLParser):
    """The page as a browser parses it: its elements, attributes and texts; every element is closed in its place."""

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes, self.names, self.words = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def unsigned_campaign(domain, notion=None, title="Colours", channel=None):
    channel = channel or hadamard(domain.size, NANONATS)
    return Campaign(title, "Q?", "", "O", domain, notion or Ldp(NANONATS), "hadamard", plain_views(channel),
                    10**9, 2 * 10**9, 86400, 1, 100, "open")  # fmt: skip


def draft(privacy, domain='kind = "values"\nvalues = ["a", "b", "c"]', more=""):
    """Return a campaign from the parts of its draft."""
    text = f'title = "T"\nquestion = "Q?"\norganisation = "O"\n[domain]\n{domain}\n{privacy}\n[schedule]\n'
    text += f"opens = 2026-12-01\ncloses = 2027-03-01\nperiod_days = 7\n{more}"
    return campaign_of_draft(text)


def tally(campaign, n=2000, refused=None):
    distribution = decoder_of(campaign.channel).forward(
        np.full(campaign.channel.input_count, 1 / campaign.channel.input_count)
    )
    counts = np.random.default_rng(4).multinomial(n, distribution / distribution.sum())
    return Tally(counts, n, refused or {}, 7)


def written(campaign, n=2000, refused=None, truth=None, period=None, method=None):
    """Return the parsed page, the estimate on it, and its text."""
    counted = tally(campaign, n, refused)
    found = estimate(campaign, counted, method=method)
    text = page(found, audit(campaign), counted, period=period, truth=truth)
    return Parsed(text), found, text


@pytest.mark.parametrize("kind", DOMAINS)
@pytest.mark.parametrize("rehearsal", [False, True])
def test_the_page_is_complete_and_loads_no_other_file(kind, rehearsal):
    """All elements are closed, ids are unique, links stay on the page, and pictures are in it; nothing else has a
    source."""
    campaign = unsigned_campaign(DOMAINS[kind])
    size = len(estimate(campaign, tally(campaign)).share)
    parsed, _, text = written(campaign, truth=np.full(size, 1 / size) if rehearsal else None)
    ids = [value for _, name, value in parsed.attributes if name == "id"]
    links = [value for _, name, value in parsed.attributes if name == "href"]
    assert len(set(ids)) == len(ids)
    assert links
    assert set(links) <= {f"#{name}" for name in ids}
    assert not {"script", "link", "iframe", "object", "image", "use"} & set(parsed.names)
    marks = 12 if isinstance(campaign.domain, Grid) else 0  # the map has 12 cells
    chart = parsed.names.count("svg") - 2 * marks
    assert chart == 4, "expected a mark for each cell of both maps, and the chart of hypothesis tests with three lines"
    pictures = [value for _, key, value in parsed.attributes if key in ("src", "srcset")]
    for picture in pictures:
        head, _, data = picture.partition(",")
        assert head == "data:image/png;base64"
        assert base64.b64decode(data, validate=True).startswith(PNG)
        text = text.replace(f'="{picture}"', "")
    assert len(pictures) == 2, "expected a picture for a wide screen and one for a phone"
    assert not [name for _, name, _ in parsed.attributes if name == "style" or name.startswith("on")]
    assert not re.search(r"https?:|//|url\(|@import|src=", text)
    assert len(text.encode()) + sum(map(len, pictures)) < 200_000


def test_the_policy_of_the_page_allows_only_its_style_and_pictures():
    """The page's policy allows its style by hash and embedded pictures, and nothing else."""
    parsed, _, text = written(unsigned_campaign(COLOURS))
    (policy,) = [value for _, name, value in parsed.attributes if name == "content" and "default-src" in value]
    style = re.search("<style>(.*)</style>", text, re.S).group(1)
    hashed = re.fullmatch(r"default-src 'none'; img-src data:; style-src 'sha256-([\w+/]+=)'", policy).group(1)
    assert hashed == base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


def test_markup_of_an_author_is_shown_as_text():
    """Markup in a title, question, purpose, organisation or label is shown as text."""
    evil = "<script>alert(1)</script><b \"&amp;'>"
    campaign = Campaign(evil, evil, evil, evil, Values((evil, "</svg>", "']]>")), Ldp(NANONATS), evil,
                     plain_views(hadamard(3, NANONATS)), 10**9, 2 * 10**9, 86400, 1, 100, "open")  # fmt: skip
    parsed, _, text = written(campaign, truth=np.array([0.5, 0.25, 0.25]))
    assert not {"script", "b"} & set(parsed.names)
    assert "<script" not in text
    assert parsed.words.count(evil) >= 5
    assert "</svg>" in parsed.words
    assert tag("p", evil, title=evil) == tag("p", Html(html.escape(evil)), title=evil)
    assert ("p", "title", evil) in Parsed(tag("p", title=evil)).attributes


def test_the_same_study_gives_the_same_bytes(monkeypatch):
    """Two pages of one estimate are equal, and pages differ if a count, a refusal or the period differs; no clock is
    read."""
    monkeypatch.setattr("time.time", lambda: pytest.fail("the page read the clock"))
    campaign = unsigned_campaign(COLOURS)
    assert (
        written(campaign, refused={"late": 1, "early": 2})[2] == written(campaign, refused={"early": 2, "late": 1})[2]
    )
    texts = {written(campaign, **differs)[2] for differs in ({}, {"n": 2001}, {"refused": {"late": 1}}, {"period": 3})}
    assert len(texts) == 4


def test_the_digest_is_of_the_documented_json_text():
    """The digest is SHA-256 of the documented JSON text, which omits reasons that refused no report."""
    counted = Tally(np.array([3, 4]), 7, {"late": 2, "early": 0}, 5)
    text = '{"campaign":"0102","counts":[3,4],"period":null,"rejected":{"late":2},"reports":7}'
    assert digest(counted, b"\x01\x02", None) == hashlib.sha256(text.encode()).hexdigest()
    assert digest(counted, b"\x01\x02", 6) == hashlib.sha256(text.replace("null", "6").encode()).hexdigest()
    parsed, _, _ = written(unsigned_campaign(COLOURS), period=2)
    assert digest(tally(unsigned_campaign(COLOURS)), b"", 2) in parsed.text


@pytest.mark.parametrize("kind", DOMAINS)
def test_every_number_of_the_estimate_is_on_the_page(kind):
    """Each value's row has the figures of the JSON, in percent and rounded to the standard error."""
    parsed, found, text = written(unsigned_campaign(DOMAINS[kind]))
    shown = listed_values(found, page_numbers.MAX_PAGE_ROWS, page_numbers.MAX_PAGE_ROWS)
    places = decimals(found, shown)
    (body,) = re.findall(r'class="numbers">.*?<tbody>(.*?)</tbody>', text)
    body = re.sub(r'<span class="label">(.*?)</span>', lambda found: found[1].replace("<wbr>", ""), body)
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in body.split("</tr>")[:-1]]
    assert [row[0].split("<span")[0] for row in rows] == [found.label(x) for x in shown]
    values = found.as_json()["values"]
    names = ("estimate", "low", "high", "raw", "se", "simultaneous_low", "simultaneous_high")
    for x, row in zip(shown, rows, strict=True):
        figures = [figure for cell in row[1:] for figure in cell.split(" to ")]
        assert figures == [percent(values[x][name], places) for name in names]
    assert f"{found.reports:,} reports" in parsed.text


def test_a_long_page_states_the_number_of_omitted_values():
    """If all of 300 values may be zero, the table has 200 of them, marked, and the page states the omission."""
    parsed, found, text = written(unsigned_campaign(MANY))
    assert not (found.simultaneous_low > 0).any()
    together = (
        "0 of 300 values have shares significantly above zero, by the simultaneous 95% intervals of all values; "
        "{} more are shown whose share may be zero."
    )
    assert together.format(200) in parsed.text
    assert text.count("may be zero</span></th>") == 200


def test_a_map_of_43_750_cells_is_small():
    """The page of a large map is under 2 MB even if all neighbours have different shades.

    The text in place of the picture names the cell with the largest share.
    """
    grid = Grid(24_000_000, 41_500_000, -125_000_000, -100_000_000, 100_000)
    campaign = unsigned_campaign(grid)
    counted = Tally(np.random.default_rng(5).integers(0, 100, campaign.channel.features), 0, {}, 7)
    counted = Tally(counted.counts, int(counted.counts.sum()))
    found = estimate(campaign, counted, method="linear")
    parsed = Parsed(text := page(found, audit(campaign), counted))
    assert 100_000 < len(text.encode()) < 2_000_000
    alts = [value for name, key, value in parsed.attributes if (name, key) == ("img", "alt")]
    assert len(alts) == 2
    assert all(found.label(int(np.argmax(found.share))) in alt for alt in alts)


def test_an_estimate_without_intervals_has_dashes_and_a_warning():
    """If no unbiased estimate exists, the page begins with the warning and shows shares with dashes for the
    intervals."""
    counted = Tally(np.array([40, 60]), 100)
    found = estimate(SINGULAR, counted)
    assert found.warnings
    parsed = Parsed(page(found, audit(SINGULAR), counted))
    assert parsed.text.index("Read this first") < parsed.text.index("Results")
    assert found.warnings[0][1:] in parsed.text
    assert "A dash" in parsed.text
    assert "nan" not in parsed.text


def test_refusals_are_explained():
    """Each reason that refused a report has its count and its explanation on the page, and no other reason is there.

    Every possible reason has an explanation.
    """
    parsed, _, _ = written(unsigned_campaign(COLOURS), refused={"replayed": 1234, "unknown-key": 5, "late": 0})
    assert "Refused: 1,239." in parsed.text
    for words in ("1,234", "register their keys"):
        assert words in parsed.text
    assert [name for name, words in page_reports.REFUSED.items() if words in parsed.text] == ["unknown-key", "replayed"]
    assert set(page_reports.REFUSED) == set(RefusalReason)
    # A page of one period leaves out valid reports of other periods, so it must not say that all reports are counted.
    assert "None: no report for this campaign was refused." in written(unsigned_campaign(COLOURS), period=0)[0].text


@pytest.mark.parametrize(
    ("prior", "counted"),
    [
        ("counts = [5, 3, 2]", "9 reports: the latest period of each device"),
        ('kind = "transcript"\ncounts = [5, 3, 2]', "9 devices: all reports of each device"),
    ],
)
def test_the_page_says_which_reports_of_a_device_are_counted(prior, counted):
    """The page without a period counts each device's latest period; with transcripts, it counts all its reports."""
    campaign = draft(f'[privacy]\nnotion = "lip"\nepsilon = 1.0\n[prior]\n{prior}')
    section = page_reports.campaign_section(campaign, 9, None, None)
    assert counted in Parsed(f"<main>{''.join(section)}</main>").text


def test_the_page_explains_the_padding_of_sets():
    """The page of an item set says that sets are filled up with dummies, and what happens to larger sets."""
    _, _, text = written(unsigned_campaign(DOMAINS["items"]))
    words = " ".join(Parsed(text).text.split())
    assert "each device fills its set up to 2 items with dummies, and reports one item of it, chosen at random" in words
    assert "If a set has more items, each of them counts for less" in words
    _, _, text = written(unsigned_campaign(replace(DOMAINS["items"], padding=1)))
    assert text.count("up to 1 item with dummies") == 2


def test_the_influence_of_forged_reports_is_on_the_page():
    """The page states the same influence of forged reports as the JSON."""
    parsed, found, _ = written(unsigned_campaign(COLOURS))
    for forged in found.influence.as_json()["forged"]:
        assert upper_bound(forged["people"], 1) in parsed.words
        assert upper_bound(100 * forged["share"], 3) in parsed.words


def test_every_method_has_an_explanation():
    """Every method has an explanation for readers outside the field."""
    assert set(page_method.SHARES) == set(METHODS)


@pytest.mark.parametrize(
    ("campaign", "words"),
    [
        (draft('[privacy]\nnotion = "ldp"\nepsilon = 1.0'), ["2.8 times", "to at most 73.2%", "3 nats"]),
        (
            draft('[privacy]\nnotion = "high-low"\nepsilon = 1.0\nsensitive = ["a"]'),
            ["sensitive", "Answers that are not sensitive are not protected"],
        ),
        (
            draft('[privacy]\nnotion = "minid"\nbudgets = { a = 1.0 }\ndefault = 2.0'),
            ["A pair has the protection of its better protected answer."],
        ),
        (
            draft('[privacy]\nnotion = "lip"\nepsilon = 1.0\n[prior]\nweights = [0.5, 0.3, 0.2]'),
            ["in the shares that this survey assumes", "no mechanism is below", "error of one person"],
        ),
        (
            draft('[privacy]\nnotion = "lip"\nepsilon = 1.0\n[prior]\nkind = "own"'),
            ["You state publicly", "reserves the worst case of its own channel"],
        ),
    ],
    ids=["ldp", "high-low", "minid", "lip", "own-lip"],
)
def test_the_page_states_the_promise_in_words_and_in_nats(campaign, words):
    """The page states the promise in words, with the declared, the audited and the LDP level and the worst case."""
    found = audit(campaign)
    text = " ".join(Parsed(f"<main>{''.join(promise_section(found))}</main>").words)
    certificate = campaign.certificate
    for level in (certificate.declared_level, certificate.audited_level):
        assert f"{exact.in_nats(level)}" in text
    assert "no bound" in text if certificate.ldp_level is None else f"{exact.in_nats(certificate.ldp_level)}" in text
    assert f"{exact.in_nats(campaign.worst_case)} over the whole campaign" in text
    for part in words:
        assert part in text


def test_the_best_hypothesis_tests_of_a_report_are_drawn_and_described():
    """The curve of the best hypothesis tests of a report, for randomised response at 1 nat, has a corner at false alarm
    rate 1/(e + 2) and missed detection rate 2/(e + 2).

    The text has the misses at 5% false alarms, for the channel and for the promise, and the promised level.
    """
    parsed, _, text = written(unsigned_campaign(COLOURS, Ldp(NANONATS), channel=randomized_response(3, NANONATS)))
    corner = 1 / (math.e + 2)
    line, _ = re.findall(r'<path d="M([^"]*)" class="pair0"', text)  # the other match is in the legend
    places = [tuple(map(float, place.split())) for place in line.split("L")]
    found = [((x - 60) / 300, 1 - (y - 12) / 300) for x, y in places]
    assert found[0] == (0, 1)
    assert found[-1] == (1, 0)
    assert any(abs(x - corner) < 1e-3 and abs(y - (1 - math.e * corner)) < 1e-3 for x, y in found)
    least = math.floor((1 - math.e * 0.05) * 1000) / 10
    assert f"{least}% at least {least}%" in parsed.text
    assert "promised: 1 nat" in parsed.text


def test_a_page_claims_no_uncertainty_that_reports_lack():
    """If reports can rule out answers, the page does not say that answers only make reports more likely; and it says
    that tests of other answers than the drawn ones may have fewer errors."""
    sensitive = draft('[privacy]\nnotion = "high-low"\nepsilon = 1.0\nsensitive = ["a"]')
    for campaign, uncertain in ((draft('[privacy]\nnotion = "ldp"\nepsilon = 1.0'), True), (sensitive, False)):
        text = written(campaign)[0].text
        assert ("the answer only makes some reports more likely" in text) == uncertain
        assert "Tests of other answers may have fewer errors" in text


def test_a_page_with_classes_has_no_chart_of_hypothesis_tests():
    """A page with classes has no chart of tests, because a chart shows one channel and each class has its own."""
    blocks = Blocks(0, ((1, 3), (2, 3)), (randomized_response(3, NANONATS), randomized_response(3, 2 * NANONATS)))
    notion = Classes.of((Ldp(NANONATS), Ldp(2 * NANONATS)))
    campaign = replace(
        unsigned_campaign(COLOURS), notion=notion, views=plain_views(blocks), classes=("town", "village")
    )
    _, _, text = written(campaign)
    assert 'class="tests"' not in text


def test_a_ball_of_priors_is_on_the_page():
    """The page of a LIP campaign with a ball of priors has the level over the ball."""
    prior = (5, 3, 2)
    campaign = unsigned_campaign(COLOURS, Lip(NANONATS, prior, 10**8), channel=lip_response(prior, NANONATS * 3 // 4))
    parsed, _, _ = written(campaign)
    assert "LIP for every prior within 0.1 of the campaign's" in parsed.words
    assert f"{exact.in_nats(campaign.certificate.ball_level)}" in parsed.text


def test_requested_levels_are_on_the_page():
    """The page has the levels of other notions if the audit computed them."""
    campaign = unsigned_campaign(COLOURS)
    counted = tally(campaign)
    found = audit(campaign, levels_request(campaign))
    parsed = Parsed(page(estimate(campaign, counted), found, counted))
    assert exact.in_nats(round(found.table.levels["maximal-leakage"].nats * exact.NANONATS)) in parsed.words
    assert "LIP, uniform prior" in parsed.words


def test_times_and_lengths_are_written_for_any_number_of_seconds():
    """Midnights are written as days, and other times with hour and minute, also after the year 9999."""
    assert page_reports.time_text(86_400 * 365) == "1971-01-01"
    assert page_reports.time_text(86_400 * 365 + 3600) == "1971-01-01 01:00 UTC"
    assert page_reports.time_text(2**40) == "36812-02-20 00:36 UTC"
    assert [page_reports.length_text(seconds) for seconds in (86_400, 7200, 90)] == ["1 day", "2 hours", "90 seconds"]


def test_parts_of_different_campaigns_make_no_page():
    """A page from an audit or a tally of another campaign is refused."""
    campaign, other = unsigned_campaign(COLOURS), unsigned_campaign(COLOURS, title="Other")
    found = estimate(campaign, tally(campaign))
    with pytest.raises(ValueError, match="expected the same campaign"):
        page(found, audit(other), tally(campaign))
    with pytest.raises(ValueError, match="expected the same campaign"):
        page(found, audit(campaign), tally(campaign, 1999))


def test_the_command_writes_a_page_and_overwrites_no_file(tmp_path):
    """`estimate --report` writes the page of its estimate, always the same; it refuses existing files, and estimates
    of one number."""
    draft = DRAFT.replace("Highest education", "Highest <i>education</i>").replace("enrolled", "open")
    (tmp_path / "it.toml").write_text(draft, encoding="utf-8")
    (tmp_path / "counts.csv").write_text(COUNTS, encoding="utf-8")
    run("keygen", tmp_path / "analyst")
    run("campaign", tmp_path / "it.toml", "--key", tmp_path / "analyst.key", "--out", tmp_path / "it.campaign")
    study = ("--study", tmp_path / "lib")
    run(*study, "import", tmp_path / "it.campaign", "--trust", tmp_path / "analyst.pub")
    run("simulate", tmp_path / "it.campaign", "--truth", tmp_path / "counts.csv", "--out", tmp_path / "batch.htr",
        "--seed", 1)  # fmt: skip
    run(*study, "ingest", tmp_path / "batch.htr")
    asked = (*study, "estimate", "it", "--json", "--truth", tmp_path / "counts.csv", "--report")
    found = json.loads(run(*asked, tmp_path / "a.html").stdout)
    run(*asked, tmp_path / "b.html")
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert text == (tmp_path / "b.html").read_text(encoding="utf-8")
    parsed = Parsed(text)
    for word in (found["campaign"], found["campaign_id"], str(found["table_version"])):
        assert word in parsed.words
    assert "400 reports" in parsed.text
    assert "a rehearsal" in parsed.text
    assert "exists" in run(*asked, tmp_path / "a.html", code=1).output
    refused = run(*study, "estimate", "it", "--value", "none", "--report", tmp_path / "c.html", code=2)
    assert "--report" in refused.output
    assert sorted(path.name for path in tmp_path.glob("*.html")) == ["a.html", "b.html"]


@pytest.mark.long
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
@pytest.mark.parametrize("kind", DOMAINS)
def test_a_browser_reports_no_violation_of_the_policy(tmp_path, kind):
    """A browser renders the page with its style and reports no violation of the page's policy."""
    (tmp_path / "it.html").write_text(written(unsigned_campaign(DOMAINS[kind]))[2], encoding="utf-8")
    done = subprocess.run(
        [shutil.which("chromium"), "--headless", "--no-sandbox",
         "--disable-gpu", "--enable-logging=stderr", "--log-level=0",
         f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={tmp_path / 'it.png'}", "--window-size=400,1600",
         (tmp_path / "it.html").as_uri()],
        capture_output=True, text=True, timeout=600, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    assert (tmp_path / "it.png").stat().st_size > 20_000
