"""The errors of a form's tables if each device is asked one pair of questions.

`python -m benchmarks.forms DATA` reads UCI Adult from the folder DATA. It prints the total variation of the 36 tables
of nine questions beside their targets, and the squared error of eight yes/no questions. Then it rewrites the section of
docs/BENCHMARKS.md.

No reports are made. The number of devices with each view is drawn with the views' weights, and the counts of a view are
drawn from the exact distribution of its channel's outputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import TypeAlias

import numpy as np

from aggregator.estimate.distribution import project, total_variation
from aggregator.estimate.form import pooled_question
from aggregator.estimate.form_table import CrossTable
from aggregator.estimate.form_view import FormView
from aggregator.families.decoder import Floats
from aggregator.families.mechanism import PlannedQuestion
from aggregator.families.registry import decoder_of
from aggregator.planner.choice import AUTO, chosen_channel
from aggregator.reproduce.simulated_people import drawn_tally, values
from benchmarks import page
from protocol import exact
from protocol.notions import Ldp

FILE = "adult_categorical.npz"
SURVEYS = 10
SMALL_SURVEYS = 600
PEOPLE = 48_842
LEVELS = ("1", "2", "4")
TARGETS = {PEOPLE: (0.196, 0.120, 0.066), 1_000_000: (0.087, 0.052, 0.025)}
"""The target total variation at each of ``LEVELS``, by number of people."""

OVER = 1.05
"""Limit of a distance, as a multiple of its target. A squared error may not exceed its target."""

YES_NO = 8
YES_NO_PEOPLE = 100_000
YES_NO_TARGETS = {"all pairs": (23.5, 105.0), "single questions": (19.0, None)}

ViewQuestions: TypeAlias = tuple[tuple[int, ...], ...]
TrueShares: TypeAlias = Callable[[tuple[int, ...]], Floats]
"""The true shares of the cells of some questions."""


class SimulatedSurvey:
    """Simulated surveys of a form.

    Args:
        sizes: the number of values of each question.
        views: the questions that each part of the people is asked; all parts are equally large.
        level: the privacy level in nats.
    """

    def __init__(self, sizes: Sequence[int], views: ViewQuestions, level: str) -> None:
        self.sizes, self.views = tuple(sizes), views
        notion = Ldp(exact.level_from(level))
        counts = {self._size(questions) for questions in views}
        self.channels = {k: chosen_channel(AUTO, PlannedQuestion(values(k), notion))[1] for k in counts}
        self.decoders = {k: decoder_of(channel) for k, channel in self.channels.items()}

    def _size(self, questions: tuple[int, ...]) -> int:
        return int(np.prod([self.sizes[question] for question in questions]))

    def answers(self, truth: TrueShares, n: int, rng: np.random.Generator) -> list[FormView]:
        """Return the answers of ``n`` people, counted by view."""
        parts = rng.multinomial(n, np.full(len(self.views), 1 / len(self.views)))
        form_views = []
        for questions, part in zip(self.views, parts.tolist(), strict=True):
            k = self._size(questions)
            tally = drawn_tally(self.channels[k], self.decoders[k], truth(questions), part, rng)
            form_views.append(FormView(questions, tuple(self.sizes[q] for q in questions), self.decoders[k], tally))
        return form_views


def tables_of(views: Sequence[FormView]) -> list[CrossTable]:
    """Return the table of two questions for each view; every view must ask exactly two questions."""
    questions = sorted({question for view in views for question in view.questions})
    pooled = {question: pooled_question(views, question) for question in questions}
    return [CrossTable(view, *(pooled[question] for question in view.questions)) for view in views]


def nine_questions(codes: Sequence[Floats], sizes: Sequence[int]) -> tuple[list[tuple[str, ...]], dict[str, float]]:
    """Return the rows of the table of nine questions, and the figures for the text beside it, by name."""
    pairs = tuple(combinations(range(len(sizes)), 2))
    cells = {
        (i, j): np.bincount(codes[i] * sizes[j] + codes[j], minlength=sizes[i] * sizes[j]) / len(codes[0])
        for i, j in pairs
    }
    shares = [np.bincount(code, minlength=size) / len(code) for code, size in zip(codes, sizes, strict=True)]
    apart = {(i, j): np.outer(shares[i], shares[j]).ravel() for i, j in pairs}
    rows, seconds = [], 0.0
    for place, level in enumerate(LEVELS):
        survey, rng = SimulatedSurvey(sizes, pairs, level), np.random.default_rng(1)
        for n, targets in TARGETS.items():
            figures, associations, covered = [], 0, 0
            for number in range(SURVEYS):
                views = survey.answers(lambda pair: cells[pair[0], pair[1]], n, rng)
                began = time.process_time()
                tables = tables_of(views)
                estimated = [table.share for table in tables]
                seconds = max(seconds, time.process_time() - began)
                for table, share in zip(tables, estimated, strict=True):
                    true = cells[table.view.questions[0], table.view.questions[1]]
                    raw = project(table.view.linear.raw)
                    estimates = (share.ravel(), raw.ravel(), table.unrelated.ravel())
                    figures.append([total_variation(estimate, true) for estimate in estimates])
                    intervals = table.cells()
                    low, high = intervals.simultaneous_low, intervals.simultaneous_high
                    covered += bool(((low <= true) & (true <= high)).all())
                    if not number:
                        associations += table.association.significant
            mine, raw_figure, none = np.mean(figures, axis=0)
            rows.append(
                (f"{n:,}", level, _beside(mine, targets[place], 3, OVER), f"{raw_figure:.3f}", f"{none:.3f}",
                 f"{associations} of {len(pairs)}", f"{covered} of {SURVEYS * len(pairs)}")
            )  # fmt: skip
            print(*rows[-1], sep="  ", flush=True)
    survey, rng = SimulatedSurvey(sizes, pairs, LEVELS[0]), np.random.default_rng(2)
    significant, tried = 0, 0
    while tried < 400:
        tables = tables_of(survey.answers(lambda pair: apart[pair[0], pair[1]], PEOPLE, rng))
        significant, tried = significant + sum(t.association.significant for t in tables), tried + len(tables)
    independent = float(np.mean([total_variation(apart[pair], cells[pair]) for pair in pairs]))
    return rows, {"found": significant, "tried": tried, "seconds": seconds, "independent": independent}


def _beside(measured: float, target: float | None, places: int, slack: float = 1.0) -> str:
    """Return a figure with its target in brackets, and its excess over the target, in percent, if it is above
    ``target * slack``."""
    if target is None:
        return f"{measured:.{places}f}"
    over = "" if measured <= target * slack else f", {100 * (measured / target - 1):.1f}% over"
    return f"{measured:.{places}f} [{target:g}{over}]"


def yes_no() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table of eight yes/no questions, which two kinds of people answer differently."""
    sizes, kinds = (2,) * YES_NO, np.linspace([0.2, 0.5], [0.6, 0.9], YES_NO)

    def truth(questions: tuple[int, ...]) -> Floats:
        of_kinds = [np.array([1.0]), np.array([1.0])]
        for question in questions:
            of_kinds = [
                np.outer(of_kind, [1 - yes, yes]).ravel()
                for of_kind, yes in zip(of_kinds, kinds[question], strict=True)
            ]
        return np.asarray((of_kinds[0] + of_kinds[1]) / 2)

    for name, views in (
        ("all pairs", tuple(combinations(range(YES_NO), 2))),
        ("single questions", tuple((question,) for question in range(YES_NO))),
    ):
        survey, rng = SimulatedSurvey(sizes, views, LEVELS[0]), np.random.default_rng(3)
        one_way, two_way = [], []
        for _ in range(SMALL_SURVEYS):
            answered = survey.answers(truth, YES_NO_PEOPLE, rng)
            for question in range(YES_NO):
                one_way.append(((pooled_question(answered, question).share - truth((question,))) ** 2).sum())
            if name == "all pairs":
                for table in tables_of(answered):
                    two_way.append(((table.share.ravel() - truth(table.view.questions)) ** 2).sum())
        targets = YES_NO_TARGETS[name]
        errors = [YES_NO_PEOPLE * float(np.mean(squares)) if squares else None for squares in (one_way, two_way)]
        yield (
            name,
            *(
                "" if error is None else _beside(error, target, 1)
                for error, target in zip(errors, targets, strict=True)
            ),
        )


def main() -> None:
    """Measure, print the figures, and write the section of docs/BENCHMARKS.md."""
    folder = page.folder_with(FILE, ", the categorical columns of UCI Adult")
    small = page.print_rows(yes_no())
    with np.load(folder / FILE) as data:
        names = [name for name in data.files if f"{name}_names" in data.files]
        codes = [data[name].astype(np.int64) for name in names]
        sizes = [len(data[f"{name}_names"]) for name in names]
    rows, beside = nine_questions(codes, sizes)
    print(beside)
    page.write(
        "forms", Path(__file__).with_suffix(".md"), **beside,
        surveys=SURVEYS, small=SMALL_SURVEYS, people=YES_NO_PEOPLE,
        table=page.table(("people", "nats", "as estimated", "raw", "no association", "found", "held"), rows),
        yes_no=page.table(("each device is asked for one of", "error of a question", "error of a table"), small),
    )  # fmt: skip


if __name__ == "__main__":
    main()
