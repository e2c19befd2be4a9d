"""The values, districts and weights that the options --value and --weights name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from aggregator.author.value_table import not_a_value, read_value_table
from aggregator.cli.failure import BAD_DATA, Failure
from aggregator.estimate.resolutions import FINEST, ValueOrDistrict, name_of
from protocol.campaign import Campaign
from protocol.domain import DITHER_BYTES, Answer, Domain, Items, Line
from protocol.errors import NotInDomain

if TYPE_CHECKING:
    from aggregator.families.decoder import Floats


def value_or_district(campaign: Campaign, text: str) -> ValueOrDistrict:
    """Return the value that ``text`` names, or the district of a coarser resolution with this label.

    Raises:
        Failure: no value and no district has this name.
    """
    domain = campaign.domain
    try:
        return ValueOrDistrict(FINEST, _value(domain, domain.parse(text), "--value"))
    except NotInDomain as error:
        for view in campaign.views:
            for z in range(view.map.input_count(domain)):
                if view.map.label(domain, z) == text:
                    return ValueOrDistrict(name_of(view.map), z)
        also = ", and no district has this name" if len(campaign.views) > 1 else ""
        raise Failure(f"--value: {not_a_value(domain, text, error)}{also}", BAD_DATA) from None


def _value(domain: Domain, answer: Answer, source: str) -> int:
    """Return the input that ``answer`` names. Numbers that would be rounded at random are refused.

    Args:
        source: the option or file that contains the answer, for errors.
    """
    if isinstance(domain, Items):
        members = [x for x in domain.members(answer) if x < domain.item_count]
        if len(members) != 1:
            raise Failure(f"{source} must name a single item, not {len(members)}", BAD_DATA)
        return members[0]
    x = domain.index(answer, bytes(DITHER_BYTES))
    if x != domain.index(answer, b"\xff" * DITHER_BYTES):
        lower = domain.lower_input(answer)[0] if isinstance(domain, Line) else x
        nearest = " or ".join(map(domain.label, (lower, lower + 1)))
        raise Failure(f"{source} has a number that a device would round at random: name {nearest}", BAD_DATA)
    return x


def read_weights(path: Path, domain: Domain) -> Floats:
    """Return the weight of each value from a CSV file, (k,)."""
    import numpy as np

    rows = read_value_table(path, domain, "weight")
    weights: dict[int, float] = {}
    for answer, weight, location in rows:
        x = _value(domain, answer, path.name)
        if x in weights:
            raise Failure(f"{location}: {domain.label(x)!r} has a weight already: leave out one of its rows", BAD_DATA)
        weights[x] = float(weight)
    size = domain.item_count if isinstance(domain, Items) else domain.size
    missing = next((x for x in range(size) if x not in weights), None)
    if missing is not None:
        raise Failure(
            f"{path.name} has no weight for {domain.label(missing)!r}: give each value a weight, which may be 0",
            BAD_DATA,
        )
    return np.array([weights[x] for x in range(size)])
