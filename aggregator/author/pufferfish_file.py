"""Pufferfish files: secrets, pairs and scenarios as JSON, with answers from a campaign's domain.

    {"secrets": ["ill", "well"],
     "pairs": [["ill", "well"]],
     "scenarios": [{"name": "winter", "joint": {"ill": {"stays home": 3, "goes out": 1}, "well": {"goes out": 6}}}]}

A scenario gives the joint weight of each secret with each answer; a weight that is not named is 0, and only proportions
matter. Without ``pairs``, every two secrets are a pair. Weights are exact: 0.1 is a tenth.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

from aggregator.author.toml_section import MAX_FILE_BYTES, toml_text
from aggregator.author.value_table import ValueTableError, input_of, not_a_value
from protocol import exact
from protocol.domain import Domain
from protocol.errors import NotInDomain, NotionError
from protocol.levels import Pufferfish, Scenario


class ScenarioError(ValueTableError):
    """A Pufferfish file is invalid. The text names the file and the entry."""


def read_scenarios(path: Path, domain: Domain) -> Pufferfish:
    """Return the secrets, pairs and scenarios in a JSON file.

    Raises:
        ScenarioError: the file is too long or has another format, an unknown secret or answer, or a weight that is not
            a number of at least 0.
        OSError: the file cannot be read.
    """
    if (size := path.stat().st_size) > MAX_FILE_BYTES:
        raise ScenarioError(
            f"{path.name} must be at most {MAX_FILE_BYTES:,} bytes, and has {size:,}: leave out scenarios, or weights "
            "of 0"
        )
    try:
        value = json.loads(path.read_text(encoding="utf-8"), parse_float=exact.rational, parse_constant=exact.rational)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(
            f"{path.name} is not a JSON file: {error}. Correct it, or name a file of secrets and scenarios as JSON"
        ) from None
    try:
        return _pufferfish(value, domain)
    except (ScenarioError, NotionError) as error:
        raise ScenarioError(f"{path.name}: {error}") from None


def _pufferfish(value: Any, domain: Domain) -> Pufferfish:
    _require_entries(value, "the file", ("secrets", "scenarios"), "pairs")
    secrets = value["secrets"]
    if not isinstance(secrets, list) or not all(isinstance(secret, str) for secret in secrets):
        raise ScenarioError(f"secrets must be a list of names, not {toml_text(secrets)}")
    number = {secret: place for place, secret in enumerate(secrets)}
    for place, secret in enumerate(secrets):
        if number[secret] != place:
            raise ScenarioError(f"secrets lists {toml_text(secret)} twice: leave one out")
    pairs = value.get("pairs", [list(pair) for pair in combinations(secrets, 2)])
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ScenarioError(f"pairs must be a list of lists of two secrets, not {toml_text(pairs)}")
    scenarios = value["scenarios"]
    if not isinstance(scenarios, list):
        raise ScenarioError(f"scenarios must be a list, not {toml_text(scenarios)}")
    return Pufferfish(
        tuple(secrets),
        tuple((_known(number, pair[0]), _known(number, pair[1])) for pair in pairs),
        tuple(_scenario(scenario, place, number, domain) for place, scenario in enumerate(scenarios, 1)),
    )


def _require_entries(value: Any, subject: str, required: Sequence[str], optional: str) -> None:
    """Refuse a value that is not an object, lacks a needed entry, or has an entry that is neither needed nor
    ``optional``."""
    if not isinstance(value, dict):
        raise ScenarioError(
            f"{subject} must be an object with the entries {' and '.join(required)}, not {toml_text(value)}"
        )
    for entry in required:
        if entry not in value:
            raise ScenarioError(f"{subject} has no entry {entry!r}: add it")
    for entry in value:
        if entry not in (*required, optional):
            known = ", ".join((*required, optional))
            raise ScenarioError(f"{subject} has an unknown entry {toml_text(entry)}; expected one of: {known}")


def _scenario(value: Any, place: int, number: Mapping[str, int], domain: Domain) -> Scenario:
    _require_entries(value, f"scenario {place}", ("joint",), "name")
    name = value.get("name", f"scenario {place}")
    if not isinstance(name, str):
        raise ScenarioError(f"scenario {place}: name must be text, not {toml_text(name)}")
    if not isinstance(value["joint"], dict):
        raise ScenarioError(
            f"scenario {place}: joint must be an object with the weights of answers for each secret, not "
            f"{toml_text(value['joint'])}"
        )
    distributions = [[Fraction(0)] * domain.size for _ in number]
    for secret, answers in value["joint"].items():
        if not isinstance(answers, dict):
            raise ScenarioError(
                f"{name[:40]}: {secret[:40]!r} must have an object of answers and their weights, not "
                f"{toml_text(answers)}"
            )
        joint = distributions[_known(number, secret)]
        for text, weight in answers.items():
            joint[_input(domain, text)] += _weight(weight, f"{name[:40]}, {text[:40]!r}")
    denominator = math.lcm(*(weight.denominator for joint in distributions for weight in joint))
    return Scenario(name, tuple(tuple(int(weight * denominator) for weight in joint) for joint in distributions))


def _known(number: Mapping[str, int], secret: Any) -> int:
    if not isinstance(secret, str) or secret not in number:
        raise ScenarioError(f"{str(secret)[:40]!r} is not one of the secrets: correct it, or add it to secrets")
    return number[secret]


def _input(domain: Domain, text: str) -> int:
    try:
        return input_of(domain, domain.parse(text))
    except NotInDomain as error:
        raise ScenarioError(not_a_value(domain, text, error)) from None


def _weight(value: Any, subject: str) -> Fraction:
    try:
        weight = exact.rational(value)
    except ValueError as error:
        raise ScenarioError(f"{subject}: {error}") from None
    if weight < 0:
        raise ScenarioError(f"{subject}: the weight is negative; write a weight of 0 or more")
    return weight
