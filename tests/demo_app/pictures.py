"""Make the pictures in README and the guides: app screens, an estimate, and the poster of ``make demo``'s campaign.

A picture of a program is made by running the program, so it shows the real output.

python -m tests.demo_app.pictures

test_screens checks that the screens are complete.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from aggregator.author.draft import read_draft
from aggregator.demo import draft
from aggregator.invite.content import PosterContent
from aggregator.invite.invitation import invite
from aggregator.invite.poster import draw_poster
from edge_sdk import BudgetPolicy, Device
from protocol.campaign import open_campaign, seal_campaign
from protocol.keys import public_line
from tests.demo_app.screen import PHONE, ROOT, Screen, display
from tests.demo_app.test_session import tap
from tests.edge_sdk.conftest import AUTHOR, WEEK, campaign

PICTURES = ROOT / "docs" / "pictures"
DAYS = ("2026-11-01", "2026-12-01")
"""The first and the last day of the campaign on the poster."""
COLOURS = 64
"""The size of a picture's palette. The pictures have few colours, and a palette halves the length of their files."""
BETWEEN, GROUND = 20, "#cbd0cc"
"""The pixels between two screens, and their colour."""


def app(folder: Path) -> None:
    """Draw a person's answer on a phone: the answer, its preview, the sent bytes, the budget."""
    trusted = folder / "analyst.pub"
    trusted.write_text(public_line(AUTHOR.public), encoding="utf-8")
    with Device.open(folder / "phone", [AUTHOR.public], BudgetPolicy(lifetime=8.0)) as device:
        device.consent(device.join(campaign(opens=int(time.time()) - WEEK // 7, periods=2)).campaign_id)
    options = ["--store", folder / "phone", "--trust", trusted, "--language", "en"]
    with display() as number, Screen(number, "demo_app", *options, size=PHONE, shots=folder) as screen:
        screen.wait("campaigns:page")
        tap(screen, "campaign:Highest education")
        tap(screen, "choice:secondary")
        shots = [screen.shot("answer")]
        for touched in ("next", "make", "place:budget"):
            tap(screen, touched)
            shots.append(screen.shot(touched))
        side_by_side(shots).save(PICTURES / "app.png", optimize=True)


def poster(folder: Path) -> None:
    """Draw the invitation to the campaign of ``make demo``, as it is printed."""
    (folder / "education.toml").write_text(draft("Highest education", "ldp", *DAYS, False).replace("enrolled", "open"))
    signed = open_campaign(seal_campaign(read_draft(folder / "education.toml"), AUTHOR), [AUTHOR.public])
    drawn = draw_poster(PosterContent.of(signed, invite(signed, signed.campaign.opens)), "png")
    page = Image.open(io.BytesIO(drawn)).convert("RGB")
    page.resize((page.width // 2, page.height // 2)).quantize(COLOURS).save(PICTURES / "poster.png", optimize=True)


def side_by_side(shots: list[Path]) -> Image.Image:
    """Join pictures of one size in a row."""
    screens = [Image.open(path).convert("RGB") for path in shots]
    width, height = screens[0].size
    row = Image.new("RGB", (BETWEEN + len(screens) * (width + BETWEEN), height + 2 * BETWEEN), GROUND)
    for place, screen in enumerate(screens):
        row.paste(screen, (BETWEEN + place * (width + BETWEEN), BETWEEN))
    return row.quantize(COLOURS)


def estimate(folder: Path) -> None:
    """Simulate the answers of 48,842 people, and draw the estimate."""
    subprocess.run([Path(sys.executable).with_name("halftruth"), "demo", "--out", folder], check=True)
    (drawn,) = folder.glob("*/education.png")
    Image.open(drawn).convert("RGB").quantize(COLOURS).save(PICTURES / "estimate.png", optimize=True)


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        app(Path(made))
        poster(Path(made))
        estimate(Path(made) / "demo")
