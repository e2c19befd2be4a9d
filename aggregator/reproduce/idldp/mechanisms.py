"""The mechanisms that the figures of Gu et al. 2020 compare, and functions that several figures use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aggregator.families.decoder import Floats
from aggregator.reproduce.data import Baskets, DataFolder
from aggregator.reproduce.experiment import Curve, Setting
from aggregator.reproduce.idldp.points import GRADED, LABEL
from aggregator.reproduce.idldp.surveys import (
    USUAL,
    ExactErrors,
    ItemHolders,
    ItemSurvey,
    Parts,
    campaign,
    exact_survey_errors,
    simulated_survey,
)
from protocol.channels import Bits, Channel

ROLES = {"RAPPOR": "free", "OUE": "ldp", "IDUE": "published", "IDUE opt1": "other", "IDUE opt2": "other"}
"""Name and role of each mechanism's curve."""

RECIPES = {
    "RAPPOR": "rappor", "OUE": "oue", "IDUE": "idue", "IDUE opt1": "idue-opt1", "IDUE opt2": "idue-opt2", LABEL: GRADED,
}  # fmt: skip
COMPARED = ("RAPPOR", "OUE", "IDUE")

BAYES = "IDUE, empirical Bayes"
PLAIN_BAYES = "OUE, empirical Bayes"
SHRUNK = {"OUE": PLAIN_BAYES, "IDUE": BAYES}
"""The mechanisms whose reports are also decoded by empirical Bayes, with the name of that estimate."""

FLOOR = "lower bound of unbiased estimates from bits"
SIMULATED = ", simulated"


def read_baskets(data: DataFolder, name: str) -> Baskets:
    return data.clothing() if name == "Clothing" else data.baskets(name.lower())


def partly_read_remark(people: ItemHolders) -> str:
    """Return a remark if only a part of the data was read; "" otherwise."""
    return (
        ""
        if ", whole" in people.label
        else "; only a part of the data is used, so the numbers cannot be compared with the paper's"
    )


def unary_channel(channel: Channel) -> Bits:
    """Return the channel as the channel of a unary encoding."""
    if not isinstance(channel, Bits):
        raise ValueError(f"a channel of bit vectors is expected, not {channel.family}")
    return channel


def repeated_surveys(
    people: ItemHolders, length: int, eps: float, name: str, setting: Setting, parts: Parts = USUAL
) -> list[ItemSurvey]:
    """Return simulated surveys, one for each repetition of the setting."""
    item_campaign = campaign(people.size, length, eps, RECIPES[name], parts)
    return [simulated_survey(people, length, item_campaign, setting.generator) for _ in range(setting.repeats)]


def exact_errors(people: ItemHolders, length: int, eps: float, name: str, parts: Parts = USUAL) -> ExactErrors:
    """Return the exact errors of a mechanism. OUE and RAPPOR have the same integers with and without dummies."""
    padded = 0 if name in ("RAPPOR", "OUE") else length
    return exact_survey_errors(
        people, length, unary_channel(campaign(people.size, padded, eps, RECIPES[name], parts).channel)
    )


def estimated(name: str, surveys: Sequence[ItemSurvey]) -> dict[str, list[Floats]]:
    """Return the unbiased estimates of surveys and, for the mechanisms in ``SHRUNK``, those of empirical Bayes, by name
    of their curve."""
    estimates = {name + SIMULATED: [survey.raw for survey in surveys]}
    return estimates | ({SHRUNK[name]: [survey.shrunk for survey in surveys]} if name in SHRUNK else {})


def method_curves(
    x: Sequence[float],
    errors: Mapping[str, Sequence[float]],
    exact: Iterable[str] = COMPARED,
    simulated: Iterable[str] = ("IDUE",),
) -> tuple[Curve, ...]:
    """Return the curves of the mechanisms, of empirical Bayes and of graded projective response.

    Args:
        errors: the errors by name of the curve.
        exact: the mechanisms whose exact errors are shown.
        simulated: the mechanisms whose simulated errors are shown.
    """
    return (
        *(Curve(name, x, errors[name], ROLES[name]) for name in exact),
        *(Curve(name + SIMULATED, x, errors[name + SIMULATED], ROLES[name], marks=True) for name in simulated),
        Curve(PLAIN_BAYES, x, errors[PLAIN_BAYES], "server"),
        Curve(BAYES, x, errors[BAYES], "ours"),
        Curve(LABEL, x, errors[LABEL], "ours"),
    )
