"""The device in a browser: the time of an answer and an audit in Chromium, and the size of a page."""

from __future__ import annotations

import gzip
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import brotli

from aggregator.page.document import document, page_code
from benchmarks.device import AUTHOR, OPENS, campaign
from protocol.campaign import open_campaign
from tests.edge_sdk.conftest import AUTHOR as SIGNER
from tests.web.campaigns import EDUCATION
from tests.web.chromium import chromium

WEB = Path(__file__).parents[1] / "edge_sdk" / "web"
ANSWERS, AUDITS = 100, 5

TIMED = """async ([author, data, opens, answers, audits]) => {
  const { Device } = await import("/edge_sdk/web/device.js");
  const { lowerCaps } = await import("/edge_sdk/web/lowering.js");
  const { openCampaign } = await import("/edge_sdk/web/campaign.js");
  const bytes = (text) => Uint8Array.from(text.match(/../g), (digits) => parseInt(digits, 16));
  const timed = async (work, times) => {
    const found = [];
    for (let i = 0; i < times; i++) {
      const start = performance.now();
      await work(i);
      found.push(performance.now() - start);
    }
    return found.sort((one, other) => one - other);
  };
  const trusted = [bytes(author)];
  const audited = await timed(() => openCampaign(bytes(data), { trusted }), audits);
  let now = opens;
  const device = await Device.open({ trust: trusted, clock: () => now });
  await lowerCaps(device, { lifetime: 10n ** 15n });
  const { campaignId } = await device.join(bytes(data));
  await device.consent(campaignId);
  const answered = await timed(async (i) => {
    now = opens + 60 * i;
    await device.answer(campaignId, `${25.1 + 0.2 * i},-100`);
  }, answers);
  return [audited, answered];
}"""


def bare() -> bytes:
    """Return all modules of the browser's device, without comments and indentation."""
    paths = [path for path in sorted(WEB.rglob("*.js")) if path.parent.name != "page"]
    code = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    return re.sub(r"\n\s*", "\n", re.sub(r"/\*\*.*?\*/|(?<!:)//[^\n]*", "", code, flags=re.DOTALL)).encode()


def run() -> Iterator[tuple[str, str]]:
    """Yield the figures, with targets in brackets."""
    yield "all modules of the device without comments, gzipped", f"{len(gzip.compress(bare(), 9)) / 1000:.1f} kB"
    html = document(open_campaign(EDUCATION, [SIGNER.public]), page_code(), served=True)
    yield (
        "the document of a campaign, by brotli [at most 60 kB]",
        f"{len(brotli.compress(html.encode())) / 1000:.1f} kB",
    )
    yield "the document of a campaign, gzipped", f"{len(gzip.compress(html.encode(), 9)) / 1000:.1f} kB"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, chromium(Path(profile)) as browser:
        arguments = [AUTHOR.public.hex(), campaign().hex(), OPENS, ANSWERS, AUDITS]
        audited, answered = browser.page().evaluate(TIMED, arguments)
    yield "opening and auditing a campaign of k = 43,750 [under 1 s]", f"{audited[AUDITS // 2]:.0f} ms"
    late = answered[95 * ANSWERS // 100]
    yield (
        "an answer on the disk [under 50 ms]",
        f"median {answered[ANSWERS // 2]:.0f} ms, 95th percentile {late:.0f} ms",
    )
