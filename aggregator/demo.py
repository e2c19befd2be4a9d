"""The demonstration: a complete session on real answers.

Every step is a command of the command line (cli.demo prints and runs them). This module writes the input files, and
forges the attacker's reports, for which no command exists.

The people are the 48,842 people of the UCI Adult data set; see data/ATTRIBUTION.md.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from protocol import envelope
from protocol.campaign import SignedCampaign
from protocol.keys import SECRET_BYTES, SigningKey
from protocol.report import Enrolment, Report, pack

DRAFT = """\
title = "{title}"
question = "{question}"
purpose = "Plan evening classes."
organisation = "Town library"

[domain]
{domain}

[privacy]
notion = "{notion}"
epsilon = 1.0

[schedule]
opens = {opens}
closes = {closes}

[limits]
minimum_reports = 1000
enrolment = "{enrolment}"

[study]
address = "{address}"
contact = "survey@library.example"
retention = "until the classes begin"
"""

ENROLLED = {"enrolment": "enrolled", "address": "https://study.example"}
"""The draft's enrolment, and the address to which devices send."""

PAGE_DIVISOR = 40
"""Divisor of the data set's counts. The quotients are the numbers of simulated people who answer before the page is
opened."""

ATTACKS = 400
"""Number of items of each kind in the attacker's batch."""

EDUCATION = "What is the highest level of education you have completed?"
AGE = "How old are you?"
RANGE = 'kind = "number"\nlow = {low}\nhigh = {high}\nunit = "years"'


@dataclass(frozen=True)
class PublicCounts:
    """Counts by one column of the data set.

    Attributes:
        values: the 16 levels of education by years of schooling, or the ages from 17 to 90.
        counts: counts of all 48,842 people.
        published: counts of the 16,281 people of the data set's second file; they serve as an earlier survey.
    """

    values: tuple[str, ...]
    counts: tuple[int, ...]
    published: tuple[int, ...]


def public_counts(column: str = "education") -> PublicCounts:
    """Return the counts by ``education`` or ``age`` that are part of the package."""
    text = resources.files("aggregator").joinpath(f"data/adult_{column}.csv").read_text(encoding="utf-8")
    _, *rows = csv.reader(text.splitlines())
    values, first, second = zip(*rows, strict=True)
    published = tuple(int(count) for count in second)
    return PublicCounts(values, tuple(int(a) + b for a, b in zip(first, published, strict=True)), published)


def draft(title: str, notion: str, opens: str, closes: str, prior: bool, entries: Mapping[str, str] = ENROLLED) -> str:
    """Return the draft of a campaign about education.

    Args:
        prior: whether the published counts are its prior.
        entries: values for the draft's entries ``enrolment`` and ``address``.
    """
    counts = public_counts()
    values = ", ".join(f'"{value}"' for value in counts.values)
    domain = f'kind = "values"\nvalues = [{values}]'
    text = DRAFT.format(
        title=title, question=EDUCATION, domain=domain, notion=notion, opens=opens, closes=closes, **entries
    )
    if prior:
        text += f'\n[prior]\nkind = "campaign"\ncounts = {list(counts.published)}\n'
    return text


def age_draft(opens: str, closes: str) -> str:
    """Return the draft of a campaign about age, a number."""
    values = public_counts("age").values
    domain = RANGE.format(low=values[0], high=values[-1])
    return DRAFT.format(title="Age", question=AGE, domain=domain, notion="ldp", opens=opens, closes=closes, **ENROLLED)


def truth_csv(column: str = "education", every: int = 1) -> str:
    """Return the true counts as a CSV text for `simulate --truth`.

    Args:
        every: a divisor; each count is divided by it and rounded down.
    """
    counts = public_counts(column)
    rows = (f"{value},{count // every}" for value, count in zip(counts.values, counts.counts, strict=True))
    return "\n".join(("value,count", *rows, ""))


@dataclass(frozen=True)
class Attack:
    """The files of an attacker.

    Attributes:
        batch: copies of reports, bytes that are not a report, and altered and forged reports, in turn.
        enrolments: enrolments of the attacker's own devices; the organisation registers them in good faith.
        expected: the number of items by the reason for which the ingest must refuse them.
    """

    batch: bytes
    enrolments: bytes
    expected: dict[str, int]


def attack(signed: SignedCampaign, honest: bytes) -> Attack:
    """Return the files of an attacker who forges reports for a campaign.

    The attacker sees all uploads, generates keys, and owns some enrolled devices.

    Args:
        honest: a batch that the attacker saw.
    """
    overheard = _first_envelopes(honest, 2 * ATTACKS)
    attacker_keys = [SigningKey.for_campaign(os.urandom(SECRET_BYTES), signed.id) for _ in range(ATTACKS)]
    forged: list[tuple[str, Callable[[int], bytes]]] = [
        ("replayed", lambda i: overheard[i]),
        ("malformed", lambda i: b"\xc0 no report " + os.urandom(20).hex().encode()),
        ("bad-signature", lambda i: _altered(overheard[ATTACKS + i])),
        ("unknown-key", lambda i: _report(signed, 0, 0).seal(SigningKey(os.urandom(SECRET_BYTES)))),
        ("late", lambda i: _report(signed, signed.campaign.periods, 0).seal(attacker_keys[i])),
        ("over-quota", lambda i: _report(signed, 0, signed.campaign.answers_per_period).seal(attacker_keys[i])),
    ]
    batch = b"".join(forge(i) for i in range(ATTACKS) for _, forge in forged)
    enrolments = b"".join(Enrolment(signed.id, key.public).seal(key) for key in attacker_keys)
    return Attack(batch, enrolments, {reason: ATTACKS for reason, _ in forged})


def _report(signed: SignedCampaign, period: int, slot: int) -> Report:
    return Report(signed.id, period, slot, 1, pack([0], signed.campaign.output_bits))


def _altered(data: bytes) -> bytes:
    """Return the envelope with one bit of its output changed. The output is the last byte before the 66 bytes of the
    signature."""
    place = len(data) - 66 - 1
    return data[:place] + bytes([data[place] ^ 0x80]) + data[place + 1 :]


def _first_envelopes(data: bytes, count: int) -> list[bytes]:
    envelopes: list[bytes] = []
    offset = 0
    while len(envelopes) < count:
        _, end = envelope.decode_first(data, offset)
        envelopes.append(data[offset:end])
        offset = end
    return envelopes


def write_inputs(folder: Path, opens: str, closes: str) -> None:
    """Write the input files of the session: three drafts and the true counts."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, title, notion, prior in (
        ("education", "Highest education", "ldp", False),
        ("education-lip", "Highest education, with a public prior", "lip", True),
    ):
        text = draft(title, notion, opens, closes, prior)
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    (folder / "counts.csv").write_text(truth_csv(), encoding="utf-8")
    (folder / "age.toml").write_text(age_draft(opens, closes), encoding="utf-8")
    (folder / "ages.csv").write_text(truth_csv("age"), encoding="utf-8")


def write_page_inputs(folder: Path, address: str, opens: str, closes: str) -> None:
    """Write the input files of a study with a page: the draft of a campaign with open enrolment, and the true
    counts of about 1,200 people."""
    folder.mkdir(parents=True, exist_ok=True)
    text = draft("Highest education", "ldp", opens, closes, False, {"enrolment": "open", "address": address})
    (folder / "education.toml").write_text(text, encoding="utf-8")
    (folder / "counts.csv").write_text(truth_csv(every=PAGE_DIVISOR), encoding="utf-8")
