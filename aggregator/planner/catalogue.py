"""The catalogue: every mechanism there is, the more widely useful first.

Each family lists its mechanisms beside its recipe; here they are put into the order in which authors see them. Which
one is best for a question: choice. A new family is added to ``CATALOGUE``, and its mechanisms to ``ORDER``.
"""

from __future__ import annotations

from aggregator.families.bits import idue
from aggregator.families.bits import recipe as bits
from aggregator.families.blocks import best
from aggregator.families.graded import recipe as graded
from aggregator.families.hadamard import recipe as hadamard
from aggregator.families.mechanism import Mechanism
from aggregator.families.noise import recipe as noise
from aggregator.families.projective import recipe as projective
from aggregator.families.response import recipe as response
from aggregator.families.sets import recipe as sets
from aggregator.families.table import recipe as table
from aggregator.families.wave import recipe as wave
from aggregator.families.windows import recipe as windows

ORDER = (
    "randomized-response",
    "hadamard",
    "projective",
    "subset",
    "triples",
    "rappor",
    "oue",
    "best-in-blocks",
    "utility-rappor",
    "utility-oue",
    "graded",
    "idue",
    "idue-opt1",
    "idue-opt2",
    "binary-optimum",
    "designed",
    "geometric",
    "wave",
    "planar",
    "lip-response",
    "lip-windows",
    "lip-table",
    "lip-telling",
    "lip-symmetric",
    "lip-published",
    "random-sampling",
    "oue-lip",
    "mutual-information",
)
"""The names of all mechanisms, the more widely useful first: among equals the earlier is taken."""


def _ordered(*families: tuple[Mechanism, ...]) -> tuple[Mechanism, ...]:
    named = {mechanism.name: mechanism for family in families for mechanism in family}
    if named.keys() != set(ORDER):
        raise ValueError(f"the families and the order of the catalogue differ in {sorted(named.keys() ^ set(ORDER))}")
    return tuple(named[name] for name in ORDER)


CATALOGUE = _ordered(
    response.MECHANISMS,
    hadamard.MECHANISMS,
    projective.MECHANISMS,
    sets.MECHANISMS,
    bits.MECHANISMS,
    graded.MECHANISMS,
    idue.MECHANISMS,
    best.MECHANISMS,
    table.MECHANISMS,
    noise.MECHANISMS,
    wave.MECHANISMS,
    windows.MECHANISMS,
)
"""All mechanisms, in that order."""
