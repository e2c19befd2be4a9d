"""Catalogue of the mechanisms that the planner compares, the most widely useful first.

Mechanisms that need more entries of the draft (``choice.TABLE``, ``choice.GAUSSIAN``) are not in it.

Each family lists its mechanisms beside its recipe; ``aggregator.families.registry`` names them in the order in which
authors see them. ``choice`` finds the best mechanism for a question.
"""

from __future__ import annotations

import importlib

from aggregator.families.mechanism import Mechanism
from aggregator.families.registry import RECIPES


def _catalogue() -> tuple[Mechanism, ...]:
    """Return the mechanisms of all recipes, in the order of the registry.

    Raises:
        ValueError: a recipe lists a mechanism that the registry does not name, or the registry names a mechanism that
            no recipe lists.
    """
    mechanisms = {
        (mechanism.name, module): mechanism
        for module in dict.fromkeys(RECIPES.values())
        for mechanism in importlib.import_module(f"aggregator.families.{module}").MECHANISMS
    }
    if differing := mechanisms.keys() ^ RECIPES.items():
        names = ", ".join(sorted({name for name, _ in differing}))
        raise ValueError(
            f"RECIPES and the lists MECHANISMS of the recipes must agree; add to one or the other: {names}"
        )
    return tuple(mechanisms[entry] for entry in RECIPES.items())


CATALOGUE = _catalogue()
"""The mechanisms that the planner compares, in the order of the registry."""
