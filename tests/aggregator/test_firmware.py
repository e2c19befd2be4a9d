"""A draft that lists the channel families of its devices uses only these families, or is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from aggregator.author.draft import DraftError, read_draft, read_question
from aggregator.planner.choice import candidates
from protocol.channels import FAMILIES
from tests.aggregator.command import run
from tests.aggregator.test_design import DRAFT
from tests.aggregator.test_form_section import FORM, drafted

MANY = DRAFT.replace('"none", "primary", "secondary", "bachelor"', ", ".join(f'"{x}"' for x in range(40)))
NUMBER = DRAFT.replace(
    '"values"\nvalues = ["none", "primary", "secondary", "bachelor"]', '"number"\nlow = 0\nhigh = 30'
)
BLOCKS = MANY.replace('notion = "ldp"', 'notion = "high-low"\nsensitive = ["1", "2", "3"]')


def written(folder: Path, families: str, draft: str = MANY, more: str = "") -> Path:
    """Write the draft of a campaign whose devices have the given families; return the file."""
    file = folder / "draft.toml"
    file.write_text(f"{draft}[mechanism]\nfamilies = {families}\n{more}", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("draft", "families"),
    [
        *((MANY, [name]) for name in ("response", "hadamard", "projective", "subset", "bits", "triples")),
        (MANY, ["Response", " hadamard "]), (NUMBER, ["response"]), (NUMBER, ["wave"]), (NUMBER, ["noise", "response"]),
        (BLOCKS, ["blocks", "response"]), (BLOCKS, ["blocks", "response", "projective", "hadamard"]),
        (MANY, list(FAMILIES)),
    ],
)  # fmt: skip
def test_auto_chooses_among_the_families_of_the_devices(tmp_path: Path, draft: str, families: list[str]) -> None:
    """The campaign's channels, and those inside blocks, are of the listed families; a list of all families restricts
    nothing."""
    campaign = read_draft(written(tmp_path, json.dumps(families), draft))
    used = {one.family for view in campaign.views for one in (view.channel, *getattr(view.channel, "channels", ()))}
    assert used - {"constant"} <= {name.strip().lower() for name in families}
    if len(families) == len(FAMILIES):
        (tmp_path / "plain.toml").write_text(draft, encoding="utf-8")
        assert campaign == read_draft(tmp_path / "plain.toml")


def test_the_draft_gets_the_best_mechanism_of_the_listed_families(tmp_path: Path) -> None:
    """The draft gets the mechanism of least error among the listed families; a plan gives the reason why others are
    excluded."""
    file = written(tmp_path, '["bits", "response"]')
    found = list(candidates(read_question(file)))
    weighed = [one for _, one in found if not isinstance(one, str)]
    assert {one.channel.family for one in weighed} == {"bits", "response"}
    assert read_draft(file).channel == min(weighed, key=lambda one: one.error).channel
    reasons = {mechanism.name: one for mechanism, one in found if isinstance(one, str)}
    assert reasons["projective"] == "its channel needs the family projective, which [mechanism] families does not list"
    assert "which [mechanism] families does not list" in run("plan", file, "--json").output


def test_forms_and_views_use_the_listed_families(tmp_path: Path) -> None:
    """Each view of a form, and each resolution of a number, has a channel of a listed family."""
    form = read_draft(drafted(tmp_path, FORM, '[mechanism]\nfamilies = ["subset"]\n'))
    assert {view.channel.family for view in form.views} == {"subset"}
    views = written(tmp_path, '["hadamard"]', NUMBER, "[views]\nresolutions = [[10, 0.5], [1, 0.5]]\n")
    assert {view.channel.family for view in read_draft(views).views} == {"hadamard"}


@pytest.mark.parametrize(("high", "size"), [(30, 5), (3, 4)])
def test_a_mean_uses_a_family_that_does_not_support_two_numbers(tmp_path: Path, high: int, size: int) -> None:
    """For a mean, answers are rounded to few numbers that the listed family supports; if the range has fewer numbers
    than that, all its numbers are used."""
    draft = NUMBER.replace("high = 30", f"high = {high}") + '[analysis]\ngoal = "mean"\n'
    file = written(tmp_path, '["subset"]', draft)
    campaign = read_draft(file)
    assert campaign.channel.family == "subset"
    assert campaign.domain.size == read_question(file).size == size
    assert run("plan", file).exit_code == 0


@pytest.mark.parametrize(
    ("families", "more", "message"),
    [
        ('["respnse"]', "", r"""one of table, response.*; did you mean ["']response"""),
        ("[3]", "", "one of table, response"),
        ("[]", "", "a list of names of families"),
        ('"response"', "", "a list of names of families"),
        ('["noise"]', "", 'no mechanism can be used for this question and notion "ldp" with channels of noise'),
        (
            '["response"]',
            'name = "projective"\n',
            '"projective" cannot be used, because its channel needs the family projective',
        ),
    ],
)
def test_unusable_lists_of_families_are_refused(tmp_path: Path, families: str, more: str, message: str) -> None:
    """An unknown family, an empty list, a list without a channel for the notion, and a mechanism of another family are
    refused."""
    with pytest.raises(DraftError, match=message):
        read_draft(written(tmp_path, families, MANY, more))


def test_a_table_of_the_author_needs_the_table_family(tmp_path: Path) -> None:
    """An author's table is refused for devices without the table family."""
    rows = "[[0.4,0.2,0.2,0.2],[0.2,0.4,0.2,0.2],[0.2,0.2,0.4,0.2],[0.2,0.2,0.2,0.4]]"
    table = f'name = "table"\nrows = {rows}\n'
    assert read_draft(written(tmp_path, '["table"]', DRAFT, table)).channel.family == "table"
    with pytest.raises(DraftError, match="families lists response, but the channel needs table: extend"):
        read_draft(written(tmp_path, '["response"]', DRAFT, table))
