"""What an author should think twice about before signing.

One idea: a campaign that is certified can still be useless, or easily bent. Each warning names a number that the author
can change and what it would do.

What is forbidden is not here: a campaign that must not exist cannot be constructed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from aggregator.estimate.decoders import NotInvertible, decoder_of
from aggregator.estimate.error import expected_mse
from protocol import exact
from protocol.campaign import Campaign

HEAVY = 20.0
"""People that one report may count for before an author is told."""


def lint(terms: Campaign) -> tuple[str, ...]:
    """What is questionable about a campaign, in words; empty where nothing is."""
    return tuple(_findings(terms))


def _findings(terms: Campaign) -> Iterator[str]:
    channel, size = terms.channel, terms.channel.inputs
    try:
        weight, mse = decoder_of(channel).weight, expected_mse(channel)
    except NotInvertible as reason:
        # What the decoder says of it ends with advice.
        yield f"shares will have no unbiased estimate and no error bars: {reason}"
    else:
        if weight > HEAVY:
            yield (
                f"one report weighs {weight:,.0f} people: whoever sends a few forged ones moves a share at will. A "
                "higher epsilon, fewer values, or a mechanism whose reports speak of many values at once weighs less"
            )
        # The root mean square error of a value beside the even share, people spread evenly.
        error = math.sqrt(mse / size / terms.minimum_reports)
        if error > 1 / size:
            needed = mse * size
            yield (
                f"with {terms.minimum_reports:,} devices, the least you wait for, a share is off by {error:.2%} where "
                f"{size:,} even shares are {1 / size:.2%} each: expect only values well above that to be seen. "
                f"Wait for {_rounded(needed):,} devices, or ask for fewer values"
            )
    if terms.certificate.ldp is None:
        yield (
            f"some answers rule out others for certain, so this has no LDP level: only what {terms.notion.name} "
            f"protects is protected, at a charge of {exact.nats(terms.certificate.cost):g} nats. What people "
            "know of each other outside the notion may complete it"
        )


def _rounded(number: float) -> int:
    """Up to two digits, so that it does not look more exact than it is."""
    unit = 10.0 ** max(0, math.floor(math.log10(number)) - 1)
    return math.ceil(number / unit) * int(unit)
