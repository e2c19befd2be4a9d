"""Files that the guides show: each is valid for the command that reads it."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from pathlib import Path
from types import SimpleNamespace

import edge_sdk
from aggregator import author
from aggregator.author.draft import read_draft
from aggregator.author.pufferfish_file import read_scenarios
from aggregator.coefficients_file import read_coefficients
from aggregator.population import read_population
from edge_sdk.__main__ import main
from protocol.campaign import seal_campaign
from protocol.domain import Form, FormQuestion, Values
from protocol.keys import public_line
from tests.edge_sdk.conftest import AUTHOR
from tests.test_readme import block, dated_around_today

DOCS = Path(__file__).parents[2] / "docs"


def shown(page: str, first: str, file: Path) -> Path:
    """Write the block of code that begins with a text on a page to a file; return the file."""
    text = (DOCS / page).read_text(encoding="utf-8")
    # The block ends at the three backquotes, or at the first line with a smaller indentation.
    found = re.search(rf"^( *){re.escape(first)}.*\n(?:\1.*\n|\n)*?(?=```|(?!\1|\n)|\Z)", text, re.MULTILINE)
    assert found, first
    file.write_text(textwrap.dedent(found[0]), encoding="utf-8")
    return file


def test_the_draft_of_a_unit_gives_a_campaign_that_the_packaged_unit_answers(tmp_path, capsys) -> None:
    """The campaign of UNIT.md's draft and the packaged configuration pass ``run --check``, and so the caps suffice."""
    draft = shown("UNIT.md", 'title = "Load"', tmp_path / "load-draft.toml")
    draft.write_text(dated_around_today(draft.read_text(encoding="utf-8")), encoding="utf-8")
    (tmp_path / "load.campaign").write_bytes(seal_campaign(read_draft(draft), AUTHOR))
    (tmp_path / "analyst.pub").write_text(public_line(AUTHOR.public))
    configuration = shutil.copy(Path(edge_sdk.__path__[0]) / "units" / "load.toml", tmp_path / "unit.toml")
    assert main(["run", str(configuration), "--check", "--json"]) == 0, capsys.readouterr().err
    checked = json.loads(capsys.readouterr().out)
    assert checked["readings"].startswith("one every 3600 seconds, 168 in a period")
    assert checked["source"] == "gives a reading that the question allows"


def test_the_translation_fits_the_first_draft(tmp_path) -> None:
    """The sections ``[study]`` and ``[text.de]`` of DRAFT.md complete README's draft, and translate its labels."""
    sections = shown("DRAFT.md", "[study]", tmp_path / "sections.toml").read_text(encoding="utf-8")
    draft = tmp_path / "education.toml"
    own = re.sub(r"\[study\].*?(?=\[domain\])", "", block("toml"), flags=re.DOTALL)
    draft.write_text(f'language = "en"\n{own}{sections}', encoding="utf-8")
    campaign = read_draft(draft)
    assert len(campaign.addresses) == 2
    assert campaign.domain_in("de").label(0) == "keiner"


def test_the_scenarios_of_pufferfish_are_valid(tmp_path) -> None:
    """DRAFT.md's scenarios fit a question with the two answers that they name."""
    file = shown("DRAFT.md", '{"secrets"', tmp_path / "secrets.json")
    assert read_scenarios(file, Values(("stays home", "goes out"))).secrets == ("ill", "well")


def test_margins_and_coefficients_are_valid(tmp_path) -> None:
    """ESTIMATES.md's margins fit a form with their two questions; its coefficients fit two classes."""
    questions = {"sex": ("female", "male"), "education": ("none", "primary", "secondary", "bachelor")}
    form = Form(tuple(FormQuestion(name, f"{name}?", Values(labels)) for name, labels in questions.items()))
    file = shown("ESTIMATES.md", "[[margin]]", tmp_path / "population.toml")
    margins = read_population(file, SimpleNamespace(domain=form, classes=()))
    assert [one.shares.tolist() for one in margins] == [[0.51, 0.49], [0.55, 0.45]]
    file = shown("ESTIMATES.md", "[town]", tmp_path / "people.toml")
    town, village = read_coefficients(file, SimpleNamespace(classes=("town", "village")))
    assert (town.weight, town.offset, town.people, village.weight) == (2, 0.5, 61000, 1)


def test_every_entry_of_a_draft_is_explained() -> None:
    """The reader of drafts knows each entry in the table of DRAFT.md, and DRAFT.md or FORMS.md names each entry that it
    takes."""
    pages = [(DOCS / page).read_text(encoding="utf-8") for page in ("DRAFT.md", "FORMS.md")]
    table = pages[0].split("| entry | meaning | default |")[1].split("\n\n")[0]
    first = " ".join(re.findall(r"^\|([^|]*)\|", table, re.MULTILINE))
    source = "\n".join(path.read_text(encoding="utf-8") for path in Path(author.__path__[0]).glob("*.py"))
    known = set(re.findall(r'"(\w+)"', source))
    taken = set(re.findall(r'\.(?:take|flag|choice|list_of)\(\s*"(\w+)"', source))
    assert set(re.findall(r"`(?:\[[^\]]*\] )?(\w+)`", first)) <= known
    assert taken <= set(re.findall(r"\w+", " ".join(re.findall(r"(?<!`)`([^`]+)`(?!`)", "".join(pages)))))
