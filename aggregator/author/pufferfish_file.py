"""Pufferfish files: secrets, pairs and scenarios as JSON, read by a campaign's domain.

    {"secrets": ["ill", "well"],
     "pairs": [["ill", "well"]],
     "scenarios": [{"name": "winter", "joint": {"ill": {"stays home": 3, "goes out": 1}, "well": {"goes out": 6}}}]}

A scenario gives the joint weight of each secret with each answer; a weight that is not named is 0, and only proportions
matter. Without ``pairs``, every two secrets are a pair. Weights are exact: 0.1 is a tenth.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

from aggregator.author.value_table import SheetError
from protocol import exact
from protocol.domain import DITHER_BYTES, Domain
from protocol.errors import NotInDomain, NotionError
from protocol.levels import Pufferfish, Scenario

MOST_BYTES = 2**26


class ScenarioError(SheetError):
    """A Pufferfish file cannot be read. The text names the place."""


def read_scenarios(path: Path, domain: Domain) -> Pufferfish:
    """Return the secrets, pairs and scenarios in a JSON file.

    Raises:
        ScenarioError: the file has another format, an unknown secret or answer, or a weight that is not a number.
    """
    if path.stat().st_size > MOST_BYTES:
        raise ScenarioError(f"{path.name} is longer than {MOST_BYTES >> 20} MiB")
    try:
        value = json.loads(path.read_text(encoding="utf-8"), parse_float=exact.rational, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(f"{path.name} is not a JSON file: {error}") from None
    try:
        return _pufferfish(value, domain)
    except (ScenarioError, NotionError) as error:
        raise ScenarioError(f"{path.name}: {error}") from None


def _pufferfish(value: Any, domain: Domain) -> Pufferfish:
    if not isinstance(value, dict) or not {"secrets", "scenarios"} <= value.keys() <= {"secrets", "pairs", "scenarios"}:
        raise ScenarioError(
            "the file is not an object with the entries secrets, scenarios and, optionally, pairs, and no others"
        )
    secrets = value["secrets"]
    if not isinstance(secrets, list) or not all(isinstance(secret, str) for secret in secrets):
        raise ScenarioError("secrets is not a list of names")
    number = {secret: place for place, secret in enumerate(secrets)}
    if len(number) != len(secrets):
        raise ScenarioError("secrets lists a name twice")
    pairs = value.get("pairs", [list(pair) for pair in combinations(secrets, 2)])
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ScenarioError("pairs is not a list of lists of two secrets")
    scenarios = value["scenarios"]
    if not isinstance(scenarios, list):
        raise ScenarioError("scenarios is not a list")
    return Pufferfish(
        tuple(secrets),
        tuple((_known(number, pair[0]), _known(number, pair[1])) for pair in pairs),
        tuple(_scenario(scenario, place, number, domain) for place, scenario in enumerate(scenarios, 1)),
    )


def _scenario(value: Any, place: int, number: Mapping[str, int], domain: Domain) -> Scenario:
    if not isinstance(value, dict) or not {"joint"} <= value.keys() <= {"name", "joint"}:
        raise ScenarioError(
            f"scenario {place} is not an object with the entries joint and, optionally, name, and no others"
        )
    name = value.get("name", f"scenario {place}")
    if not isinstance(name, str) or not isinstance(value["joint"], dict):
        raise ScenarioError(
            f"scenario {place}: name is not text, or joint is not an object with the weights of answers for each secret"
        )
    laws = [[Fraction(0)] * domain.size for _ in number]
    for secret, answers in value["joint"].items():
        if not isinstance(answers, dict):
            raise ScenarioError(
                f"{name[:40]}: {secret[:40]!r} is not followed by an object of answers and their weights"
            )
        joint = laws[_known(number, secret)]
        for text, weight in answers.items():
            joint[_input(domain, text)] += _weight(weight, f"{name[:40]}, {text[:40]!r}")
    whole = math.lcm(*(weight.denominator for joint in laws for weight in joint))
    return Scenario(name, tuple(tuple(int(weight * whole) for weight in joint) for joint in laws))


def _known(number: Mapping[str, int], secret: Any) -> int:
    if not isinstance(secret, str) or secret not in number:
        raise ScenarioError(f"{str(secret)[:40]!r} is not one of the secrets")
    return number[secret]


def _input(domain: Domain, text: str) -> int:
    try:
        return domain.index(domain.parse(text), bytes(DITHER_BYTES))
    except NotInDomain as error:
        raise ScenarioError(f"{text[:40]!r} is not a value of the campaign: {error}") from None


def _weight(value: Any, where: str) -> Fraction:
    try:
        weight = exact.rational(value)
    except ValueError as error:
        raise ScenarioError(f"{where}: {error}") from None
    if weight < 0:
        raise ScenarioError(f"{where}: the weight is negative; write a weight of 0 or more")
    return weight


def _no_number(text: str) -> Fraction:
    raise ValueError(f"{text} is not a number")
