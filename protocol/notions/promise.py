"""The promise of a notion to a person: its kind, its bounds as decimals rounded up, and its limits.

The device's terms, the app in each language, the aggregator's audit and the HTML page all render this object, so they
state the same bounds.

The module ``sentences`` contains the wording, and ``notion`` defines the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from protocol import exact
from protocol.notions.classes import Classes
from protocol.notions.declared_prior import DeclaredPrior
from protocol.notions.geo import Geo
from protocol.notions.graded import Graded
from protocol.notions.information import RADIUS_UNITS, Lip
from protocol.notions.notion import Certificate, Notion
from protocol.notions.pairwise import HighLow, Matrix, Pairwise
from protocol.notions.sentences import MARKS, SENTENCES
from protocol.notions.transcript import TranscriptPrior


@dataclass(frozen=True)
class Promise:
    """The promise of a notion to a person. A factor is e^level, rounded up by ``exact.factor_above``.

    Attributes:
        notion_name: the notion's name; "classes" until the person has chosen a class.
        factor: the factor of the declared level. For geo, the factor of two answers at twice the smallest distance,
            because a campaign does not say whether its distances are steps, numbers, degrees or kilometres.
        smallest_factor: the factor of the best protected pair of answers, if the notion's pairs may have different
            bounds; else None.
        overall_factor: the factor of any two answers for an observer with any prior, if it exceeds ``factor`` or if the
            declared level assumes a prior. None if ``factor`` already states it, or if it is infinite (``unbounded``).
        unbounded: True if some answers can be distinguished with certainty.
        sensitive_count: for high-low, the number of sensitive answers.
        people, ball_factor: for LIP over a ball of priors, the number of people among 100 who may answer differently,
            which is exact, and the factor in that case.
        of_class: True if the person chose a class, which is public.
        max_outputs: the maximum number of outputs in a report; every factor is for one output.
    """

    notion_name: str
    factor: Fraction
    smallest_factor: Fraction | None = None
    overall_factor: Fraction | None = None
    unbounded: bool = False
    sensitive_count: int = 0
    people: Fraction | None = None
    ball_factor: Fraction | None = None
    of_class: bool = False
    max_outputs: int = 1

    @classmethod
    def of(
        cls, notion: Notion, certificate: Certificate, class_index: int | None = None, *, max_outputs: int
    ) -> Promise:
        """Return the promise of a certified notion.

        Args:
            certificate: the certificate of the channel for the person's answers.
            class_index: index of the person's class; None if the person has not chosen one.
            max_outputs: the maximum number of outputs in a report, ``answers_per_period`` of the campaign.
        """
        if isinstance(notion, Classes):
            if class_index is None:
                return cls(notion.name, exact.factor_above(notion.level))
            notion = notion.notions[class_index]
        level = notion.level
        smallest_factor = people = ball_factor = None
        if isinstance(notion, Graded | Matrix):
            smallest_factor = exact.factor_above(min(level for _, _, level in notion.bounds()))
        if isinstance(notion, Geo):
            nearest, level = (notion.level * times * notion.smallest_gap // notion.unit for times in (1, 2))
            smallest_factor = exact.factor_above(nearest)
        if isinstance(notion, Lip) and certificate.ball_level is not None:
            people, ball_factor = (
                Fraction(100 * notion.radius, RADIUS_UNITS),
                exact.factor_above(certificate.ball_level),
            )
        everybody = certificate.ldp_level
        if isinstance(notion, DeclaredPrior | TranscriptPrior):
            # This bound holds for every prior: the ratio of two answers is a product of two ratios to the prior, each
            # at most e^level. A declared personal level replaces that of the campaign.
            level = min(level, certificate.declared_level)
            everybody = 2 * level
        covered = everybody is not None and isinstance(notion, Pairwise) and everybody <= level
        return cls(
            notion.name,
            exact.factor_above(level),
            smallest_factor,
            None if covered or everybody is None else exact.factor_above(everybody),
            everybody is None,
            len(notion.sensitive) if isinstance(notion, HighLow) else 0,
            people,
            ball_factor,
            class_index is not None,
            max_outputs,
        )

    def text(self, language: str = "en") -> str:
        """Return the promise as text for people.

        Args:
            language: one of ``MARKS``.
        """
        sentences, marks = SENTENCES[language], MARKS[language]
        numbers = {name: exact.decimal_text(number, *marks) for name, number in self._numbers()}
        texts = []
        for key in self._keys():
            sentence = sentences[key]
            text = sentence if isinstance(sentence, str) else sentence[self.sensitive_count != 1]
            texts.append(text.format(count=self.sensitive_count, **numbers))
        return " ".join(texts)

    def _keys(self) -> Iterator[str]:
        """Yield the keys of the promise's sentences, in order."""
        if self.of_class:
            yield "class"
        yield self.notion_name
        if self.ball_factor is not None:
            yield "ball"
        beside = "pairwise" if self.notion_name in ("minid", "avgid") else self.notion_name
        if self.unbounded:
            yield f"{beside}.none"
        elif self.overall_factor is not None:
            yield f"{beside}.less" if f"{beside}.less" in SENTENCES["en"] else "everybody"
        if self.max_outputs > 1 and self.notion_name != "classes":
            yield "bundle"

    def _numbers(self) -> Iterator[tuple[str, Fraction]]:
        """Yield the numbers in the promise's sentences, with their names."""
        numbers = {"factor": self.factor, "least": self.smallest_factor, "overall": self.overall_factor}
        for name, number in {**numbers, "people": self.people, "ball": self.ball_factor}.items():
            if number is not None:
                yield name, number
        if self.max_outputs > 1:
            yield "outputs", Fraction(self.max_outputs)

    def as_json(self) -> dict[str, object]:
        """Return the promise as a JSON object; numbers are decimals written as text, so that they stay exact."""
        numbers = {name: exact.decimal_text(number, group="") for name, number in self._numbers()}
        return {"kind": self.notion_name, **numbers, "unbounded": self.unbounded}
