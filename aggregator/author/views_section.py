"""Read ``[views]``: devices are asked for different views of the answer, such as a map at several resolutions.

    [views]
    resolutions = [[25, 0.2], [5, 0.3], [1, 0.5]]    # cells on a side of a square, and the share of the devices
    districts = ["districts.geojson", 0.2]           # without or with squares: the polygons of a file
    devices = 100000                                 # expected number, for which missing shares are chosen

Without shares (``resolutions = [25, 5, 1]``) the planner chooses them, and with ``resolutions = "auto"`` the squares as
well. Each view has its own channel; for the mechanism ``auto``, it is the best channel for the view's number of values.

``aggregator.planner.resolutions`` chooses the shares, and ``protocol.views`` defines views.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np

from aggregator.author.classes import class_choice, class_questions, side_by_side
from aggregator.author.districts_file import read_districts
from aggregator.author.toml_section import (
    DraftError,
    Section,
    file_of,
    finite_number,
    normalised,
    toml_text,
    whole_number,
)
from aggregator.estimate.classes import even_decoder
from aggregator.families.decoder import NotInvertible
from aggregator.families.mechanism import PlannedQuestion
from aggregator.planner.choice import AUTO, Unsuited, chosen_channel
from aggregator.planner.resolutions import best_weights
from protocol.channels import Channel
from protocol.domain import Domain, Form, Grid, Values
from protocol.notions import Classes, Graded
from protocol.views import MAX_WEIGHT, Coarse, Districts, Identity, Map, QuestionsMap, View

GRID_FACTOR, LIST_FACTOR = 5, 4
"""With ``auto``, the number of districts on a side (or in a row) that form one district of the next coarser
resolution."""
FEWEST = 16
"""Minimum number of districts of the coarsest resolution of ``auto``."""
EXPECTED_DEVICES = 100_000
"""Default of the expected number of devices."""
T = TypeVar("T", int, str)
_RESOLUTIONS = "whole numbers, or of lists of a whole number and a share of the devices, such as [25, 0.2]"
_SHARE = "a whole number, or a list of a whole number and a share of the devices, such as [25, 0.2]"
_FILE_SHARE = 'a file, or a list of a file and a share of the devices, such as ["map.geojson", 0.2]'


def views_of(
    section: Section, mechanism: str, question: PlannedQuestion, folder: Path, expected: int = EXPECTED_DEVICES
) -> tuple[str, tuple[View, ...]]:
    """Return the names of the mechanisms and the views of ``[views]``, the coarsest first.

    Args:
        mechanism: the name of the mechanism for all channels, or ``auto`` for the best mechanism of each view.
        question: the domain and the notion of the campaign.
        folder: the folder to which the names of files in the draft are relative.
        expected: the number of devices for which shares are chosen, if the section has no ``devices``.
    Raises:
        DraftError, BadData: an entry is invalid. The text names it.
        OSError: a file cannot be read.
    """
    notions = question.notion.notions if isinstance(question.notion, Classes) else (question.notion,)
    if any(isinstance(notion, Graded) and not notion.carries_views for notion in notions):
        raise DraftError(
            "[views] and [privacy] pairs cannot be combined: a district contains values with different budgets, so a "
            "pair of budgets does not define which districts are protected. Leave out pairs, or give the bound of "
            'every pair of values with notion = "pairwise"'
        )
    if not question.notion.carries_views:
        raise DraftError(
            "[views] needs one of the notions ldp, pairwise, minid and avgid, in every class, not "
            f"{next(notion.name for notion in notions if not notion.carries_views)}: leave out the section"
        )
    maps_and_shares = sorted(
        _maps_and_shares(section, question.domain, folder), key=lambda pair: pair[0].input_count(question.domain)
    )
    devices = whole_number(section, "devices", expected)
    section.refuse_unknown()
    maps, shares = [map_ for map_, _ in maps_and_shares], [share for _, share in maps_and_shares]
    _require_nested(maps, question.domain)
    named_channels = [channel_of(mechanism, question, map_) for map_ in maps]
    channels = [channel for _, channel in named_channels]
    known_shares = [share for share in shares if share is not None]
    if known_shares and len(known_shares) < len(shares):
        raise DraftError("[views] gives a share to some views and none to others: give all or none")
    classes = len(notions) if isinstance(question.notion, Classes) else 0
    weights = _weights(known_shares) if known_shares else chosen_weights(channels, devices, classes)
    views = tuple(View(weight, map_, channel) for weight, map_, channel in zip(weights, maps, channels, strict=True))
    return named_once(name for name, _ in named_channels), views


def named_once(names: Iterable[str]) -> str:
    """Return the mechanisms' names without repetitions, as one text.

    An element may list several names, one for each class.
    """
    return ", ".join(dict.fromkeys(mechanism for name in names for mechanism in name.split(", ")))


def chosen_weights(channels: Sequence[Channel], devices: int, class_count: int = 0) -> tuple[int, ...]:
    """Return the weights that the planner chooses for views with these channels, the coarsest first.

    Args:
        devices: the expected number of devices.
        class_count: the number of classes, of equal size; 0 without classes.
    Raises:
        DraftError: a channel has no unbiased estimate.
    """
    decoders = [even_decoder(channel, class_count) for channel in channels]
    sizes = [decoder.input_count for decoder in decoders]
    try:
        distributions = [decoder.forward(np.full(decoder.input_count, 1 / decoder.input_count)) for decoder in decoders]
        variances = [
            float(decoder.variances(distribution).mean())
            for decoder, distribution in zip(decoders, distributions, strict=True)
        ]
    except NotInvertible as reason:
        raise DraftError(
            "[views] has no shares, and the error by which they are chosen cannot be computed: give each view a share "
            f"({reason})"
        ) from None
    weights = best_weights(sizes, variances, devices)
    factor = math.gcd(*weights)
    return tuple(weight // factor for weight in weights)


def coarsened(question: PlannedQuestion, map_: Map) -> PlannedQuestion:
    """Return the question for which a view needs a channel.

    Raises:
        NotionError: the notion would protect no pair of the view's values.
    """
    if isinstance(map_, Identity):
        return question
    size = map_.input_count(question.domain)
    notion = question.notion.coarsened(partial(map_.input, question.domain), size)
    return replace(question, domain=Values(tuple(str(number) for number in range(1, size + 1))), notion=notion)


def _maps_and_shares(section: Section, domain: Domain, folder: Path) -> list[tuple[Map, Fraction | None]]:
    """Return the map of each view, and its share of the devices; None without a share."""
    maps_and_shares: list[tuple[Map, Fraction | None]] = []
    if "districts" in section:
        file, share = _pair(section, section.take("districts", (str, list), "a file, or a file and a share"), str)
        maps_and_shares.append((_districts(folder, file, domain), share))
    if section.holds("resolutions", str):
        written = section.take("resolutions", str, "")
        if written.strip().lower() != AUTO:
            raise DraftError(
                f'[views] resolutions must be a list of {_RESOLUTIONS}, or "{AUTO}", not {toml_text(written)}'
            )
        factors: list[tuple[int, Fraction | None]] = [(factor, None) for factor in _automatic(domain)]
    elif "resolutions" in section or not maps_and_shares:
        entries = section.list_of("resolutions", (int, list), _RESOLUTIONS)
        factors = [_pair(section, entry, int) for entry in entries]
    else:
        factors = [(1, None)]
        if maps_and_shares[0][1] is not None:
            factors = [(1, 1 - maps_and_shares[0][1])]
    if len({factor for factor, _ in factors}) < len(factors):
        raise DraftError("[views] resolutions lists a number twice: leave one out")
    if 1 not in dict(factors):
        raise DraftError(
            "[views] resolutions lacks 1, which asks for the answer itself: add it, or make [domain] coarser if no "
            "device should be asked for it"
        )
    for factor, share in factors:
        if factor < 1:
            raise DraftError(f"[views] resolutions must be whole numbers of at least 1, not {factor}")
        maps_and_shares.append((Identity() if factor == 1 else Coarse(factor), share))
    if len(maps_and_shares) < 2:
        raise DraftError(
            f"[views] needs at least two views, not {len(maps_and_shares)}: add one, or leave out the section"
        )
    return maps_and_shares


def _pair(section: Section, entry: object, kind: type[T]) -> tuple[T, Fraction | None]:
    """Return a view's entry without its share, and the share; None if the entry has no share."""
    if isinstance(entry, kind) and not isinstance(entry, bool):
        return entry, None
    if isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], kind) and not isinstance(entry[0], bool):
        if isinstance(entry[1], int | Decimal) and not isinstance(entry[1], bool):
            share = finite_number(section, "resolutions" if kind is int else "districts", entry[1])
            if 0 < share < 1:
                return entry[0], share
        raise DraftError(f"[views] a share of the devices must be above 0 and below 1, not {toml_text(entry[1])}")
    expected = _SHARE if kind is int else _FILE_SHARE
    raise DraftError(f"[views] a view must be {expected}, not {toml_text(entry)}")


def _automatic(domain: Domain) -> list[int]:
    """Return the resolutions of ``auto``: 1, and the powers of ``GRID_FACTOR`` (without a grid, ``LIST_FACTOR``) whose
    views have at least ``FEWEST`` districts.

    Raises:
        DraftError: the domain is too small for a coarser view.
    """
    base = GRID_FACTOR if isinstance(domain, Grid) else LIST_FACTOR
    factors = [1]
    while (factor := factors[-1] * base) < domain.size and Coarse(factor).input_count(domain) >= FEWEST:
        factors.append(factor)
    if len(factors) < 2:
        raise DraftError(
            f'[views] resolutions = "{AUTO}": {domain.size} values are too few for a coarser view; leave out [views]'
        )
    return factors


def _districts(folder: Path, file: str, domain: Domain) -> Districts:
    if not isinstance(domain, Grid):
        raise DraftError('[views] districts need [domain] kind = "grid": leave out districts')
    return read_districts(file_of(folder, file, "[views] districts"), domain)


def channel_of(mechanism: str, question: PlannedQuestion, map_: Map) -> tuple[str, Channel]:
    """Return the name of the mechanism and the channel of a view; with classes, the names and the combined channel.

    Raises:
        DraftError: the mechanism has no channel for the view.
        NotionError: the notion would protect no pair of the view's values.
    """
    try:
        of_view = coarsened(question, map_)
        if isinstance(of_view.notion, Classes):
            return side_by_side(
                [class_choice(mechanism, class_question) for class_question in class_questions(of_view)]
            )
        return chosen_channel(mechanism, of_view)
    except Unsuited as error:
        size = map_.input_count(question.domain)
        unordered = ", whose order is not used" if _ordered(question.domain, map_) else ""
        raise DraftError(f"[mechanism] for the view of {size:,} values{unordered}: {error}") from None


def _ordered(domain: Domain, map_: Map) -> bool:
    """Return whether the values that a map coarsens or selects have an order, which a view's channel does not use."""
    if isinstance(domain, Form) and isinstance(map_, QuestionsMap):
        return any(domain.questions[position].domain.ordered for position in map_.positions)
    return domain.ordered and not isinstance(map_, Identity)


def _require_nested(maps: Sequence[Map], domain: Domain) -> None:
    """Refuse views that are not nested: each district of a finer view must lie in one district of every coarser
    view."""
    for coarse, fine in pairwise(maps):
        if isinstance(coarse, Coarse) and isinstance(fine, Coarse):
            if coarse.factor % fine.factor:
                raise DraftError(
                    f"[views] resolutions: {coarse.factor} must be a multiple of {fine.factor}, so that each district "
                    "of the finer view lies in one of the coarser view"
                )
            continue
        if isinstance(fine, Identity):
            continue
        parent: dict[int, int] = {}
        for x in range(domain.size):
            if parent.setdefault(fine.input(domain, x), coarse.input(domain, x)) != coarse.input(domain, x):
                label = fine.label(domain, fine.input(domain, x))
                raise DraftError(
                    f"[views] {label!r}, one of the {_described(fine)}, lies in several of the {_described(coarse)}: "
                    "leave out one of the two views"
                )


def _described(map_: Map) -> str:
    return f"squares of resolution {map_.factor}" if isinstance(map_, Coarse) else "districts"


def _weights(shares: Sequence[Fraction]) -> tuple[int, ...]:
    exact = normalised(shares, "[views] the shares of the devices")
    denominator = math.lcm(*(share.denominator for share in exact))
    if denominator > MAX_WEIGHT:
        raise DraftError(
            f"[views] the common denominator of the shares is {denominator}, above {MAX_WEIGHT}: give the shares with "
            "fewer digits"
        )
    return tuple(int(share * denominator) for share in exact)
