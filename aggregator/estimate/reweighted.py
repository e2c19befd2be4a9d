"""Decoder of classes with weights that differ from the classes' shares of the reports.

    raw = sum over classes of w_c raw_c

The weights w are known beforehand, or follow from the number of reports of each class, which is public. So the class
sizes are taken as fixed, and only the variation within classes is random.

``class_weights`` computes weights from known shares of the population; ``precision_pooling`` computes weights by
precision, for classes with the same shares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggregator.estimate.classes import ClassesDecoder
from aggregator.families.decoder import Decoder, Floats, Integers


class ReweightedDecoder(ClassesDecoder):
    """A ``ClassesDecoder`` with given weights of the classes.

    Attributes:
        weights: (C,) w, with the sum one; 0 for a class without reports.
        factors: (C,) the weight of a report of each class: the weight of the class divided by its share of the reports.
    """

    weights: Floats
    factors: Floats

    def __init__(self, decoders: Sequence[Decoder], members: Floats, priors: Floats | None, weights: Floats) -> None:
        super().__init__(decoders, members, priors)
        self.weights = weights
        self.factors = np.divide(weights, members, out=np.zeros_like(members), where=members > 0)

    @property
    def parts(self) -> Floats:
        return self.weights

    @property
    def scales(self) -> Floats:
        return self.factors

    def _invert(self, mean_features: Floats) -> Floats:
        return self.factors[:, np.newaxis] * super()._invert(mean_features)

    def _moments(self, mean_features: Floats) -> Floats:
        return self.factors[:, np.newaxis] ** 2 * super()._moments(mean_features)

    def adjoint(self, v: Floats) -> Floats:
        return np.repeat(self.factors, [decoder.features for decoder in self.decoders]) * super().adjoint(v)

    def variances(self, mean_features: Floats) -> Floats:
        present = self.members > 0
        within = (
            self._moments(mean_features)[present]
            - self._invert(mean_features)[present] ** 2 / self.members[present, np.newaxis]
        )
        variances: Floats = within.sum(axis=0)
        return variances

    def variance(self, v: Floats, mean_features: Floats) -> float:
        variance = 0.0
        for part, contributions, member in zip(
            np.split(mean_features, self._cuts), np.split(self.adjoint(v), self._cuts), self.members, strict=True
        ):
            variance += float(part @ contributions**2) - (float(part @ contributions) ** 2 / member if member else 0.0)
        return variance

    def covariances(self, v: Floats, mean_features: Floats) -> Floats:
        """Return the covariance of one report's contribution to each share with that to v . raw, shape (k,)."""
        phi, present = self.adjoint(v), self.members > 0
        both, alone = self._invert(mean_features * phi)[present], self._invert(mean_features)[present]
        parts = zip(np.split(mean_features, self._cuts), np.split(phi, self._cuts), strict=True)
        means = np.array([part @ contributions for part, contributions in parts])[present] / self.members[present]
        covariances: Floats = both.sum(axis=0) - means @ alone
        return covariances

    def _contributions(self, counts: Integers) -> tuple[Floats, Integers]:
        contributions, times = super()._contributions(counts)
        of_class = [len(decoder.binomial_steps(part, 1).heights) + 1 for decoder, part in self._parts(counts)]
        return contributions * np.repeat(self.factors, of_class)[:, np.newaxis], times

    @property
    def people_per_report(self) -> float:
        return max(float(f) * decoder.people_per_report for f, decoder in zip(self.factors, self.decoders, strict=True))
