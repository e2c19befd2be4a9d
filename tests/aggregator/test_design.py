"""Properties of drafts and recipes: a draft becomes integers that satisfy the level, or is refused with one clear
error."""

import json
import random
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.author.draft import DraftError, read_draft, read_question
from aggregator.author.value_table import ValueTableError
from aggregator.families.blocks.recipe import high_low, in_blocks
from aggregator.families.hadamard.recipe import hadamard
from aggregator.families.response.recipe import published_lip_response, randomized_response
from aggregator.families.rounding import D
from protocol import exact
from protocol.channels import Blocks, Noise, RandomizedResponse, Table, Windows
from protocol.domain import Dates, NumberRange, OrderedValues
from protocol.errors import BadData, Uncertified
from protocol.notions import Block, HighLow, Ldp, Lip, certify
from protocol.personal import lip_response
from tests.aggregator.campaigns import campaign_of_draft

EPSILONS = (0.001, 0.1, 1.0, 2.5, 8.0, 20.0)

DRAFT = """
title = "Highest education"
question = "What is it?"
purpose = "Plan evening classes."
organisation = "Town library"
[domain]
kind = "values"
values = ["none", "primary", "secondary", "bachelor"]
[privacy]
notion = "ldp"
epsilon = 1.0
[schedule]
opens = 2026-12-01
closes = 2027-03-01
period_days = 7
"""


def changed(old, new):
    assert old in DRAFT
    return DRAFT.replace(old, new)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [2, 3, 4, 7, 8, 16, 1000])
def test_ldp_recipes_reach_their_level_and_no_more(size, epsilon):
    """Randomised response and Hadamard response are certified, at the declared level to the nanonat."""
    level = exact.level_from(epsilon)
    for recipe in (randomized_response, hadamard):
        certificate = certify(recipe(size, level), Ldp(level))
        # Up to 20 nats, 64-bit probabilities lose less than 1e-9 nat (MATH 7.2), which rounding up may hide.
        assert level - 1 <= certificate.audited_level <= level


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitive", [(0,), (3,), (0, 1, 2), tuple(range(8)), tuple(range(1, 17))])
def test_high_low_recipe_keeps_its_notion(sensitive, epsilon):
    """High-low Hadamard response has its level to the nanonat for 1, 3, 8 and 16 sensitive values of 17."""
    level = exact.level_from(epsilon)
    notion = HighLow(level, 17, sensitive)
    certificate = certify(high_low(17, sensitive, level, hadamard), notion)
    assert level - 1 <= certificate.audited_level <= level
    assert certificate.ldp_level is None


@pytest.mark.parametrize("blocks", [[0, 0, 1, 1], [0, 1, 0, 1, 2], [0] * 9 + [1] * 2 + [2], [1, 1, 0]])
def test_block_recipe_keeps_its_notion(blocks):
    """Block Hadamard response satisfies its notion for blocks of unequal size, of one value, and of values that are not
    consecutive."""
    notion = Block.over(exact.NANONATS, blocks)
    certificate = certify(in_blocks(blocks, exact.NANONATS, hadamard), notion)
    assert certificate.audited_level == exact.NANONATS


@settings(max_examples=200)
@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=30), st.integers(exact.MIN_LEVEL, 12 * exact.NANONATS))
def test_lip_recipe_satisfies_and_reaches_its_level_for_every_prior(prior, level):
    """The repaired LIP channel has its level to the nanonat under any prior, and an LDP level of at most 2 eps."""
    certificate = certify(lip_response(prior, level), Lip(level, tuple(prior)))
    assert level - 1 <= certificate.audited_level <= level
    assert certificate.ldp_level <= 2 * level + 1


def test_lip_recipe_is_the_binary_optimum_in_both_regimes():
    """For two values the recipe gives the closed forms of the binary optimum (MATH 2.3), to within 2^-63."""
    for epsilon, p in ((1.0, Fraction(1, 100)), (1.0, Fraction(1, 10)), (2.0, Fraction(3, 10)), (1.0, Fraction(2, 5))):
        level = exact.level_from(epsilon)
        E = Fraction(exact.exp_lower(level), 1 << exact.EXP_BITS)
        prior = (p.numerator, p.denominator - p.numerator)
        channel = lip_response(prior, level)
        if p < 1 / (E + 1):
            own, other = E / (E + 1), (1 - E * p) / ((E + 1) * (1 - p))
        else:
            own, other = 1 - (1 - p) / E, p / E
        assert abs(Fraction(channel.weight(0, 0), 1 << 64) - own) < Fraction(2, 1 << 64)
        assert abs(Fraction(channel.weight(1, 0), 1 << 64) - other) < Fraction(2, 1 << 64)


def test_lip_recipe_equals_the_published_channel_where_that_is_valid():
    """If every prior share is at least 1 / (e^eps + 1), the published and the repaired recipe agree to 2^-64;
    otherwise the published one is refused."""
    dice = random.Random(7)
    valid = 0
    for _ in range(300):
        prior = tuple(dice.randint(1, 50) for _ in range(dice.choice((2, 3, 5))))
        level = dice.randint(exact.NANONATS // 10, 5 * exact.NANONATS)
        published, repaired = published_lip_response(prior, level), lip_response(prior, level)
        if all(w * (exact.exp_lower(level) + D) >= sum(prior) * D for w in prior):
            valid += 1
            certify(published, Lip(level, prior))
            for y in range(len(prior)):
                assert abs(published.cover_of(y) - repaired.cover_of(y)) <= 1
        else:
            with pytest.raises(Uncertified):
                certify(published, Lip(level, prior))
    assert 30 < valid < 270


def test_a_draft_becomes_the_campaign_it_describes(tmp_path):
    """The campaign has the title, values, notion and schedule of its draft, and the default of each omitted limit."""
    (tmp_path / "d.toml").write_text(DRAFT, encoding="utf-8")
    campaign = read_draft(tmp_path / "d.toml")
    assert (campaign.title, campaign.organisation, campaign.domain.size) == ("Highest education", "Town library", 4)
    assert campaign.notion == Ldp(exact.NANONATS)
    assert (campaign.period_seconds, campaign.periods) == (7 * 86400, 13)
    assert (campaign.answers_per_period, campaign.minimum_devices, campaign.enrolment) == (1, 100, "open")
    assert campaign.certificate.audited_level == exact.NANONATS


STUDY = """
[study]
address = "https://study.example/"
contact = "o@example"
retention = "A year."
notice = "https://example/notice"
[text.zh-Hant]
title = "T"
question = "Q?"
[text.de]
title = "Abschluss"
question = "Welcher?"
values = ["keiner", "Grundschule", "Sekundarstufe", "Bachelor"]
"""


def test_a_draft_sets_addresses_contact_and_languages():
    """[study] and [text.LANGUAGE] become signed fields, with the translations sorted by language.

    One address becomes a list of one.
    """
    plain = campaign_of_draft(DRAFT)
    assert (plain.addresses, plain.contact, plain.notice, plain.language, plain.translations) == ((), "", "", "", ())
    campaign = campaign_of_draft('language = "en"' + DRAFT + STUDY)
    assert campaign.addresses == ("https://study.example",)
    assert (campaign.contact, campaign.retention, campaign.notice) == ("o@example", "A year.", "https://example/notice")
    assert [one.language for one in campaign.translations] == ["de", "zh-hant"]
    german = campaign.texts("de-CH")
    assert (german.title, german.labels[0], german.organisation) == ("Abschluss", "keiner", "Town library")
    listed = campaign_of_draft(DRAFT + '[study]\naddress = ["https://b.example", "http://localhost:1"]\n')
    assert listed.addresses == ("https://b.example", "http://localhost:1")


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ('[study]\naddress = "http://study.example"', "can be read on the way"),
        ('[study]\naddress = "https://me:pw@study.example"', "has credentials"),
        ('[study]\naddress = "https://study.example?a"', "has a query"),
        ("[study]\naddress = 5", "[study] address"),
        ('[study]\nadress = "https://study.example"', "[study] has an unknown entry 'adress'; did you mean 'address'?"),
        ('[study]\naddress = ["https://a", "https://a"]', "listed twice"),
        ('[study]\nnotice = "example"', "a link to a web page must begin with https://"),
        ('[study]\ncontact = "a\u200bb"', "the contact has"),
        ('[text.de]\ntitle = "T"\nquestion = "Q"', "does not name the language"),
        ('[text.de]\ntitle = "T"', "[text.de] question is missing"),
        ('[text.de]\ntitle = "T"\nquestion = "Q"\nwhat = "x"', "[text.de] has an unknown entry 'what'"),
        ('[text.de]\ntitle = "T"\nquestion = "Q"\nvalues = ["a", "a", "b", "c"]', "[text.de] values has 'a' twice"),
        ('[text.de]\ntitle = "T"\nquestion = "Q"\nvalues = ["a"]', "[text.de] values must have 4 texts"),
        ('[text.de]\ntitle = "T"\nquestion = "Q"\n[text.de.values]\nnon = "x"', "'non'; did you mean 'none'?"),
        ('[text.de]\ntitle = "T"\nquestion = "Q"\nclasses = ["a"]', "[text.de] has an unknown entry 'classes'"),
        ('[text.de]\ntitle = "T"\nquestion = "Q"\nunit = "h"', "[text.de] has an unknown entry 'unit'"),
        ('[text.de_AT]\ntitle = "T"\nquestion = "Q"', "[text.de_AT] a language must be a tag"),
    ],
)
def test_a_wrong_study_or_translation_is_named(entries, named):
    """The error for an invalid [study] or [text.LANGUAGE] names the entry or the rule."""
    with pytest.raises(BadData, match=re.escape(named)):
        campaign_of_draft(DRAFT + entries)


def test_auto_is_projective_for_many_values():
    """At 1 nat `auto` is randomised response for 4 values, and a projective space for 100 values."""
    assert campaign_of_draft(DRAFT).mechanism == "randomized-response"
    many = ", ".join(f'"{x}"' for x in range(100))
    assert campaign_of_draft(changed('"none", "primary", "secondary", "bachelor"', many)).mechanism == "projective"


@pytest.mark.parametrize(
    ("entries", "family"),
    [
        ('notion = "high-low"\nepsilon = 1\nsensitive = ["none"]', Blocks),
        ('notion = "block"\nepsilon = 1\nblocks = [["none", "bachelor"], ["primary"], ["secondary"]]', Blocks),
        ('notion = "lip"\nepsilon = 1\n[prior]\nweights = [0.1, 0.2, 0.3, 0.4]', Table),
        (
            'notion = "lip"\nepsilon = 1\n[prior]\nweights = [0.1, 0.2, 0.3, 0.4]\n[mechanism]\nname = "lip-response"',
            RandomizedResponse,
        ),
        ('notion = "lip"\nepsilon = 1\n[prior]\ncounts = [1, 20, 3, 40]', Windows),
        ('notion = "minid"\nbudgets = {none = 1.0}\ndefault = 2', Table),
        ('notion = "avgid"\nbudgets = {none = 1.0, primary = 1.0}\ndefault = 2\npairs = [[1.0, 2], [1.0, 1.0]]', Table),
        ('notion = "mutual-information"\nepsilon = 0.1\n[prior]\nweights = [0.1, 0.2, 0.3, 0.4]', Table),
        (
            'notion = "ldp"\nepsilon = 2\n[mechanism]\nname = "table"\n'
            "rows = [[0.4,0.2,0.2,0.2],[0.2,0.4,0.2,0.2],[0.2,0.2,0.4,0.2],[0.2,0.2,0.2,0.4]]",
            Table,
        ),
    ],
)
def test_each_notion_is_drafted_with_its_family(entries, family):
    """The draft of each row becomes a certified campaign with a channel of the expected family."""
    assert isinstance(campaign_of_draft(changed('notion = "ldp"\nepsilon = 1.0', entries)).channel, family)


def test_a_sensitive_share_changes_the_channel_and_not_the_notion(tmp_path):
    """`sensitive_share` changes the channel and the shares that a plan assumes; the notion stays the same."""
    labels = json.dumps([f"v{x}" for x in range(100)])
    draft = changed('["none", "primary", "secondary", "bachelor"]', labels).replace("epsilon = 1.0", "epsilon = 2.0")
    draft = draft.replace('"ldp"', '"high-low"\nsensitive = ["v0","v1","v2","v3","v4","v5","v6","v7","v8","v9"]')
    draft += '[mechanism]\nname = "projective"\n'
    made = {}
    for share in (None, "0.1", "0.9"):
        text = draft if share is None else draft.replace("[schedule]", f"sensitive_share = {share}\n[schedule]")
        (tmp_path / "d.toml").write_text(text, encoding="utf-8")
        assert read_question(tmp_path / "d.toml").sensitive_share == (None if share is None else float(share))
        made[share] = read_draft(tmp_path / "d.toml")
    assert len({each.notion for each in made.values()}) == 1
    assert made["0.1"].channel != made["0.9"].channel


def test_grid_blocks_tile_the_grid():
    """A grid of 4 by 5 cells has four whole blocks of 2 by 2 cells, and two that are cut off at its border."""
    campaign = campaign_of_draft(
        changed('kind = "values"\nvalues = ["none", "primary", "secondary", "bachelor"]',
                'kind = "grid"\nsouth = 0\nnorth = 1\nwest = 0\neast = 1.25\nstep = 0.25')
        .replace('notion = "ldp"', 'notion = "block"\nblock_rows = 2\nblock_columns = 2')
    )  # fmt: skip
    assert sorted(len(members) for members in campaign.notion.inputs_by_class) == [2, 2, 4, 4, 4, 4]


def test_pairwise_levels_are_read_from_a_file(tmp_path):
    """A matrix of levels is read from a file beside the draft; infinity means no bound, and the channel reaches the
    finite level to 100 nanonats."""
    rows = [["0" if x == y else ("inf" if x == 3 else "1.5") for y in range(4)] for x in range(4)]
    (tmp_path / "levels.csv").write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")
    (tmp_path / "d.toml").write_text(
        changed('notion = "ldp"\nepsilon = 1.0', 'notion = "pairwise"\nmatrix = "levels.csv"'), encoding="utf-8"
    )
    declared = exact.level_from(1.5)
    assert declared - 100 <= read_draft(tmp_path / "d.toml").certificate.audited_level <= declared
    (tmp_path / "levels.csv").write_text("1" * 200_000, encoding="utf-8")
    with pytest.raises(ValueTableError, match=r"levels\.csv is not a CSV file"):
        read_draft(tmp_path / "d.toml")
    (tmp_path / "levels.csv").unlink()
    with pytest.raises(DraftError, match=r"\[privacy\] matrix: there is no file levels\.csv"):
        read_draft(tmp_path / "d.toml")


VALUES = 'kind = "values"\nvalues = ["none", "primary", "secondary", "bachelor"]'
NUMBERS = changed(VALUES, 'kind = "buckets"\nedges = [0, 1, 2, 4, 8]')


def test_numbers_dates_and_orders_are_drafted():
    """A draft of numbers, dates or ordered labels becomes the expected domain; entries that the draft leaves out have
    their defaults."""
    for entries, domain in (
        ('kind = "number"\nlow = 17\nhigh = 90\nunit = "years"', NumberRange(17, 90, 1, 0, unit="years")),
        (
            'kind = "number"\nlow = -0.5\nhigh = 1\nstep = 0.25\nrounding = "random"\nclamp = true',
            NumberRange(-50, 100, 25, 2, rounds_randomly=True, clamps=True),
        ),
        ('kind = "date"\nfirst = 1970-01-03\nlast = 1970-01-17\nstep = 7', Dates(2, 16, 7)),
        (VALUES + "\nordered = true", OrderedValues(("none", "primary", "secondary", "bachelor"))),
    ):
        assert campaign_of_draft(changed(VALUES, entries)).domain == domain


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ('kind = "number"\nlow = 90\nhigh = 17', "lowest number of the range, 90, must be below"),
        ('kind = "number"\nlow = 17\nhigh = 17', "lowest number of the range, 17, must be below"),
        ('kind = "number"\nlow = 0\nhigh = 10\nstep = 3', "divide the range"),
        ('kind = "number"\nlow = 0\nhigh = 10\nstep = 0', "above zero"),
        ('kind = "number"\nlow = 0\nhigh = nan', "finite"),
        ('kind = "number"\nlow = 0\nhigh = 10\nclamp = 1', "clamp must be true if"),
        ('kind = "number"\nlow = 0\nhigh = 10\nrounding = "up"', "nearest, random"),
        ('kind = "number"\nlow = 0\nhigh = 10\nedges = [1, 2]', "unknown entry 'edges'"),
        ('kind = "number"\nlow = 0', "high is missing: it is the highest number"),
        ('kind = "date"\nfirst = 2026-01-01\nlast = 2026-01-01', "first day must be before the last"),
        ('kind = "date"\nfirst = 2026-01-01T10:00:00Z\nlast = 2026-02-01', "has a time"),
        ('kind = "date"\nfirst = "2026-01-01"\nlast = 2026-02-01', "the first day, such as"),
    ],
)
def test_invalid_numbers_are_refused_with_their_entry(entries, named):
    """An invalid domain of numbers or dates is refused, and the error names the section, and the entry or the rule."""
    with pytest.raises(BadData, match=rf"^\[domain\] .*{named}"):
        campaign_of_draft(changed(VALUES, entries))


def test_a_form_as_kind_is_refused_with_the_way_to_write_one():
    """The error for ``kind = "form"``, in any case, says that a form has tables [[question]] and no [domain]; the error
    for another unknown kind does not."""
    with pytest.raises(
        DraftError, match=r"not 'Form'; a form has a table \[\[question\]\] .* no \[domain\] \(docs/FORMS"
    ):
        campaign_of_draft(changed(VALUES, 'kind = "Form"'))
    with pytest.raises(DraftError, match=r"not 'numbr'; did you mean 'number'\?$"):
        campaign_of_draft(changed(VALUES, 'kind = "numbr"'))


def test_a_goal_is_signed_and_has_to_fit():
    """The goal in [analysis] is signed in the campaign. Labels without an order have no mean and no ranges."""
    assert campaign_of_draft(DRAFT).goal == ""
    assert campaign_of_draft(DRAFT + '\n[analysis]\ngoal = "Top"').goal == "top"
    assert campaign_of_draft(NUMBERS + '\n[analysis]\ngoal = "mean"').goal == "mean"
    for goal in ("mean", "ranges"):
        with pytest.raises(DraftError, match="needs numbers"):
            campaign_of_draft(DRAFT + f'\n[analysis]\ngoal = "{goal}"')


def test_geo_measures_distances_in_the_metric_of_the_draft():
    """Under geo the bound of a pair is epsilon times the pair's distance divided by ``scale``; the distance is in steps
    or in the domain's numbers."""
    steps = campaign_of_draft(NUMBERS.replace('notion = "ldp"', 'notion = "geo"')).notion
    assert [steps.bound(0, x) for x in range(1, 5)] == [x * exact.NANONATS for x in range(1, 5)]
    wide = campaign_of_draft(NUMBERS.replace('notion = "ldp"', 'notion = "geo"\nmetric = "numbers"\nscale = 2')).notion
    assert [wide.bound(0, x) for x in range(1, 5)] == [x * exact.NANONATS // 2 for x in (1, 2, 4, 8)]


def test_a_larger_sigma_gives_wider_gaussian_noise():
    """`gaussian` needs numbers and a sigma of up to 4,096 steps; a larger sigma gives wider noise."""
    asked = NUMBERS + '[mechanism]\nname = "gaussian"\n'
    narrow, wide = (campaign_of_draft(asked + f"sigma = {sigma}").channel for sigma in (0.8, 1.5))
    assert narrow.weight(0, 0) > wide.weight(0, 0)
    for wrong, named in (("", "sigma is missing"), ("sigma = 0", "sigma"), ("sigma = 1e9", "at most 4,096")):
        with pytest.raises(DraftError, match=named):
            campaign_of_draft(asked + wrong)
    with pytest.raises(DraftError, match="needs numbers, dates or buckets"):
        campaign_of_draft(DRAFT + '[mechanism]\nname = "gaussian"\nsigma = 1')


def test_pufferfish_scenarios_become_noise_for_the_largest_effect_of_a_secret(tmp_path):
    """A Pufferfish file becomes geo-indistinguishability with level epsilon at the distance by which a secret moves an
    answer most."""
    scenario = {"name": "one", "joint": {"ill": {"0": 1, "1": 1}, "well": {"2": 1, "4": 1}}}
    (tmp_path / "scenarios.json").write_text(
        json.dumps({"secrets": ["ill", "well"], "scenarios": [scenario]}), encoding="utf-8"
    )
    (tmp_path / "d.toml").write_text(
        NUMBERS.replace('notion = "ldp"', 'notion = "pufferfish"\nscenarios = "scenarios.json"')
        + '[mechanism]\nname = "geometric"',
        encoding="utf-8",
    )
    campaign = read_draft(tmp_path / "d.toml")
    assert isinstance(campaign.channel, Noise)
    assert campaign.notion.bound(0, 2) == exact.NANONATS  # the secret moves each person by two steps


def test_a_prior_is_read_from_a_csv_file_or_an_earlier_estimate(tmp_path):
    """Prior counts are read from a CSV file, or from an earlier estimate, in which shares below their standard error
    are raised to it."""
    labels = ["none", "primary", "secondary", "bachelor"]
    (tmp_path / "prior.csv").write_text("value,count\n" + "".join(f"{x},{n}\n" for n, x in enumerate(labels, 5)))
    rows = [{"value": x, "estimate": share, "se": 0.01} for x, share in zip(labels, (0, 0.2, 0.3, 0.5), strict=True)]
    (tmp_path / "first.json").write_text(json.dumps({"values": rows}))
    asked = changed('notion = "ldp"', 'notion = "lip"') + "[prior]\n"
    (tmp_path / "d.toml").write_text(asked + 'counts = "prior.csv"')
    assert read_draft(tmp_path / "d.toml").notion.prior == (5, 6, 7, 8)
    (tmp_path / "d.toml").write_text(asked + 'estimate = "first.json"')
    assert read_draft(tmp_path / "d.toml").notion.prior == (10_000, 200_000, 300_000, 500_000)
    for wrong in (float("inf"), float("nan"), "much"):
        (tmp_path / "first.json").write_text(json.dumps({"values": [row | {"estimate": wrong} for row in rows]}))
        with pytest.raises(DraftError, match=r"first\.json must be the output of"):
            read_draft(tmp_path / "d.toml")


@pytest.mark.parametrize(
    "written",
    [
        "0.3333, 0.3333, 0.1667, 0.1667",
        "0.142857142857142857142857, 0.285714285714285714, 0.5714285714285714, 0.0000000000001",
        f"{', '.join(str(1 / (i + 1) / sum(1 / j for j in range(1, 5))) for i in range(4))}",
        "0.25, 0.25, 0.25, 0.251",
    ],
)
def test_rounded_shares_are_a_prior(tmp_path, written):
    """Weights and table rows that sum to 1 within a thousandth are accepted and keep their proportions."""
    shares = [Fraction(share) for share in written.split(", ")]
    (tmp_path / "d.toml").write_text(changed('notion = "ldp"', 'notion = "lip"') + f"[prior]\nweights = [{written}]")
    prior = read_draft(tmp_path / "d.toml").notion.prior
    assert all(
        abs(Fraction(weight, sum(prior)) - share / sum(shares)) <= Fraction(1, 2**50)
        for weight, share in zip(prior, shares, strict=True)
    )
    rows = f"[mechanism]\nname = 'table'\nrows = [[{written}], [{written}], [{written}], [{written}]]"
    (tmp_path / "d.toml").write_text(DRAFT + rows)
    row = read_draft(tmp_path / "d.toml").channel.rows[0]
    assert all(
        abs(Fraction(cell, 2**62) - share / sum(shares)) <= 2**-59 for cell, share in zip(row, shares, strict=True)
    )


def test_names_are_read_in_any_case(tmp_path):
    """Names of notions, domains and mechanisms are accepted in capitals too."""
    (tmp_path / "d.toml").write_text(
        DRAFT.replace('"ldp"', '"LDP"').replace('"values"', '"Values"') + '[mechanism]\nname = "OUE"\n'
    )
    campaign = read_draft(tmp_path / "d.toml")
    assert (campaign.notion.name, campaign.domain.kind, campaign.mechanism) == ("ldp", "values", "oue")


@pytest.mark.parametrize(
    ("draft", "named"),
    [
        ("title = 'a'\ntitle = 'b'", "not TOML"),
        (changed('title = "Highest education"', ""), "title is missing"),
        (changed('title = "Highest education"', "title = 3"), "title"),

        (changed("epsilon = 1.0", "epsilom = 2"), "[privacy] has an unknown entry 'epsilom'; did you mean 'epsilon'?"),
        (changed("epsilon = 1.0", "epsilon = 1.0\nEpsilon = 2"), "unknown entry 'Epsilon'; did you mean 'epsilon'?"),
        (changed("[domain]", "colour = 1\n[domain]"), "the file has an unknown entry 'colour'; expected one of: "),
        (changed("title =", "tittle ="), "the file has an unknown entry 'tittle'; did you mean 'title'?"),
        (changed("[domain]", "[domian]"), "unknown entry 'domian'; did you mean 'domain'?"),
        (changed('notion = "ldp"', 'notion = "high_low"'), "did you mean 'high-low'?"),
        (changed('kind = "values"', 'kind = "value"'), "did you mean 'values'?"),
        (DRAFT + '[mechanism]\nname = "randomised-response"', "did you mean 'randomized-response'?"),
        (DRAFT + '[mechanism]\nname = "table"\nrows = [[0.5, 0.4, 0.05, 0.051002], [1, 0, 0, 0], [0, 1, 0, 0], '
         "[0, 0, 1, 0]]",
         "rows: the cells of row 1 must sum to 1, but sum to 1.001002"),
        (DRAFT + '[mechanism]\nname = "table"\nrows = [[1.1, -0.1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]',
         "rows: a probability in row 1 must be at least 0, not -0.1"),
        (changed('notion = "ldp"', 'notion = "lip"') + "[prior]\nweights = [0.25, 0.25, 0.25, 0.2510001]",
         "must sum to 1, but sum to 1.0010001; whole numbers may have any sum"),
        (changed("epsilon = 1.0", "epsilon = 0"), "epsilon"),
        (changed("epsilon = 1.0", "epsilon = -1"), "epsilon"),
        (changed("epsilon = 1.0", "epsilon = inf"), "epsilon"),
        (changed("epsilon = 1.0", "epsilon = nan"), "epsilon"),
        (changed("epsilon = 1.0", "epsilon = 1000"), "epsilon"),
        (changed("epsilon = 1.0", 'epsilon = "1"'), "epsilon"),
        (changed("epsilon = 1.0", "epsilon = true"), "epsilon"),
        (changed('"none", "primary", "secondary", "bachelor"', '"none"'), "two values"),
        (changed('"primary"', '"none"'), "more than once"),
        (changed('"primary"', '" primary"'), "blanks"),
        (changed('kind = "values"', 'kind = "colours"'), "kind"),
        (changed("closes = 2027-03-01", "closes = 2026-11-01"), "closes"),
        (changed("period_days = 7", "period_days = 0"), "period_days"),
        (changed("period_days = 7", "period_days = 0.00001"), "period_days"),
        (changed("period_days = 7", "period_days = true"), "period_days must be a number of days, such as 7"),
        (changed("opens = 2026-12-01", 'opens = "soon"'), "opens"),
        (changed('notion = "ldp"', 'notion = "lip"'), "weights"),
        (changed('notion = "ldp"', 'notion = "lip"') + "[prior]\nweights = [0.1, 0.2, 0.3, 0.3]", "sum to 0.9"),
        (changed('notion = "ldp"', 'notion = "lip"') + "[prior]\nweights = [0.0, 0.2, 0.4, 0.4]", "entry 1"),
        (changed('notion = "ldp"', 'notion = "lip"') + "[prior]\nweights = [0.5, 0.5]", "one for each value, not 2"),
        (changed('notion = "ldp"', 'notion = "lip"') + "[prior]\nweights = [nan, 0.2, 0.4, 0.4]", "finite"),
        (changed('notion = "ldp"', 'notion = "lip"') + "[prior]\nweights = [1, 2, 3, 4]\nradius = -1e400", "-1E+400"),
        (DRAFT + "[prior]\nweights = [0.1, 0.2, 0.3, 0.4]", "this draft does not use [prior]"),
        (changed('notion = "ldp"', 'notion = "high-low"\nsensitive = ["blue"]'), "'blue'"),

        (changed('notion = "ldp"', 'notion = "block"\nblocks = [["none"], ["none"]]'), "listed twice"),
        (changed('notion = "ldp"', 'notion = "block"\nblocks = [["none", "primary"]]'), "in no block"),
        (changed('notion = "ldp"', 'notion = "high-low"\nsensitive = []'), "names no value"),
        (changed('notion = "ldp"', 'notion = "high-low"\nsensitive = ["none", "primary", "secondary", "bachelor"]'),
         'use notion "ldp" instead'),
        (changed('notion = "ldp"', 'notion = "high-low"\nsensitive = ["none"]\nsensitive_share = 0'),
         "such as 0.1, not 0"),
        (changed('notion = "ldp"', 'notion = "high-low"\nsensitive = ["none"]\nsensitive_share = 10'), "not 10"),
        (changed('notion = "ldp"', 'notion = "high-low"\nsensitive = ["none"]\nsensitive_share = "10%"'), "'10%'"),
        (changed('notion = "ldp"', 'notion = "high-low"\nsensitive = ["none"]\nsensitive_share = nan'), "finite"),
        (changed('notion = "ldp"', 'notion = "high-low"\nsensitive = ["none"]\nsensitive_share = 1e400'), "not 1E+400"),
        (changed("epsilon = 1.0", "epsilon = 1.0\nsensitive_share = 0.1"), "sensitive_share needs"),
        (changed('notion = "ldp"', 'notion = "block"\nblocks = [["none"], ["primary"], ["secondary"], ["bachelor"]]'),
         "alone in its block"),
        (changed('notion = "ldp"\nepsilon = 1.0', 'notion = "minid"\nbudgets = {none = 0.0001}\ndefault = 2'),
         "from 0.001 to 20 nats"),
        (changed('notion = "ldp"', 'notion = "minid"'), "budgets"),
        (changed('notion = "ldp"\nepsilon = 1.0', 'notion = "minid"\nbudgets = {none = 1.0}'), "has no budget"),
        (changed('notion = "ldp"\nepsilon = 1.0', 'notion = "minid"\nbudgets = {nobody = 1.0}\ndefault = 2'), "nobody"),
        (changed('notion = "ldp"\nepsilon = 1.0', 'notion = "minid"\nbudgets = {none = "x"}\ndefault = 2'),
         "[privacy] budgets: a finite number"),
        (changed('notion = "ldp"\nepsilon = 1.0',
                 'notion = "minid"\nbudgets = {none = 1.0}\ndefault = 2\npairs = [[1.0, 3]]'), "no value has"),
        (changed('notion = "ldp"', 'notion = "geo"\nmetric = "numbers"'), "[privacy] metric 'numbers' does not apply"),
        (changed('notion = "ldp"', 'notion = "geo"\nscale = 0'), "[privacy] scale, the distance at which"),
        (changed('notion = "ldp"', 'notion = "geo"\nscale = 1e12') + '[mechanism]\nname = "geometric"', "too low for"),
        (changed('notion = "ldp"', 'notion = "pufferfish"\nscenarios = "nowhere.json"'), "nowhere.json"),
        (changed('notion = "ldp"', 'notion = "lip"') + '[prior]\nestimate = "nowhere.json"', "nowhere.json"),
        (changed('notion = "ldp"', 'notion = "lip"') + '[prior]\ncounts = "nowhere.csv"',
         "[prior] counts: there is no file nowhere.csv"),
        (DRAFT + '[classes.a]\n[classes.b]\nepsilom = 2', "[classes.b] has an unknown entry 'epsilom'; did you mean"),
        (DRAFT + '[classes.a]\nbudgets = {none = 1}\n[classes.b]', "[classes.a] has an unknown entry 'budgets'"),
        (changed("epsilon = 1.0", "epsilon = [1.5, 2026-12-01, true]"), "not [1.5, 2026-12-01, true]"),
        (DRAFT + '[views]\nresolutions = "all"', 'or "auto", not \'all\''),
        (DRAFT + '[views]\ndevices = 5', "resolutions is missing: it is a list of whole numbers"),
        (DRAFT + '[mechanism]\nname = "magic"', "no mechanism 'magic'; name must be auto"),
        (DRAFT + '[mechanism]\nname = "gausian"', "did you mean 'gaussian'?"),
        (DRAFT + '[mechanism]\nname = "table"\n[classes.a]\n[classes.b]', '"table" makes a single channel'),
        (DRAFT + '[mechanism]\nname = "lip"', '"lip" needs notion "lip"'),
        (DRAFT + '[mechanism]\nname = "table"\nrows = [[1, 0], [0, 1]]', "one for each value of the domain, not 2"),
        (DRAFT + '[limits]\nminimum_reports = 0', "minimum_reports"),
        (DRAFT + '[limits]\nenrolment = "some"', "enrolment"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_named(tmp_path, draft, named):
    """Each of these invalid drafts is refused as bad data, and the error names the entry or the fault."""
    (tmp_path / "d.toml").write_text(draft, encoding="utf-8")
    with pytest.raises(BadData) as refused:
        read_draft(tmp_path / "d.toml")
    assert named in str(refused.value)


def test_the_published_lip_channel_is_refused_where_it_breaks_its_definition():
    """`lip-published` is made where it satisfies LIP; for a prior share below 1 / (e^eps + 1) it is refused with the
    reason."""
    skewed = changed('notion = "ldp"', 'notion = "lip"') + '[mechanism]\nname = "lip-published"\n[prior]\n'
    with pytest.raises(DraftError, match="does not satisfy the level for this prior"):
        campaign_of_draft(skewed + "weights = [0.1, 0.2, 0.3, 0.4]")
    made = campaign_of_draft(skewed.replace("epsilon = 1.0", "epsilon = 3.0") + "weights = [0.1, 0.2, 0.3, 0.4]")
    assert made.mechanism == "lip-published"


def test_a_table_above_its_level_is_refused():
    """A draft with a table whose level is above the declared one is refused."""
    rows = "rows = [[0.7,0.1,0.1,0.1],[0.1,0.7,0.1,0.1],[0.1,0.1,0.7,0.1],[0.1,0.1,0.1,0.7]]"
    with pytest.raises(Uncertified):
        campaign_of_draft(DRAFT + f'[mechanism]\nname = "table"\n{rows}')


def rate_distortion(distribution, apart, allowed):
    """Return the least mean distortion with mutual information of at most ``allowed``, by the Blahut-Arimoto
    iteration."""
    steep, flat = 60.0, 0.0
    for _ in range(50):
        price = (steep + flat) / 2
        worth, marginal = np.exp(-price * apart), distribution
        for _ in range(1500):
            rows = worth * marginal
            rows /= rows.sum(axis=1, keepdims=True)
            marginal = distribution @ rows
        joint = distribution[:, None] * rows
        if (joint * np.log(rows / marginal, where=rows > 0, out=np.zeros_like(rows))).sum() > allowed:
            steep = price
        else:
            flat, least = price, float((joint * apart).sum())
    return least


@pytest.mark.parametrize(("distortion", "power"), [("absolute", 1), ("squared", 2), ("wrong", 0)])
def test_the_mean_distortion_is_the_minimum_of_blahut_arimoto(distortion, power):
    """Under mutual information the mean distortion between answer and report, for a domain of buckets, is the minimum
    that Blahut-Arimoto finds.

    Absolute and squared distortion are refused for labels, which have no distance; under LDP a distortion is refused.
    """
    entries = 'notion = "mutual-information"\nepsilon = 0.3\n[prior]\nweights = [0.1, 0.2, 0.3, 0.4]\n[mechanism]\n'
    labels = changed('notion = "ldp"\nepsilon = 1.0', f'{entries}distortion = "{distortion}"')
    numbers = labels.replace('"values"', '"buckets"')
    numbers = numbers.replace('values = ["none", "primary", "secondary", "bachelor"]', "edges = [0, 10, 20, 50]")
    campaign = campaign_of_draft(numbers)
    edges, distribution = np.array([0, 10, 20, 50]), np.array([0.1, 0.2, 0.3, 0.4])
    apart = np.where(np.eye(4), 0, np.abs(edges[:, None] - edges) ** float(power)) / 50.0**power
    rows = np.array(campaign.channel.rows) / 2**62
    found = float((distribution[:, None] * rows * apart).sum())
    assert found == pytest.approx(rate_distortion(distribution, apart, 0.3), rel=1e-4)
    if power:
        with pytest.raises(DraftError, match="needs numbers"):
            campaign_of_draft(labels)
    with pytest.raises(DraftError, match="distortion needs"):
        campaign_of_draft(
            changed('notion = "ldp"\nepsilon = 1.0', 'notion = "ldp"\nepsilon = 1.0\n[mechanism]\ndistortion = "wrong"')
        )
