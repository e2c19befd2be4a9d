"""The tables of docs/MECHANISMS.md: `make tables` writes them, and a test checks that they are current.

A table lies between two comments that name it, and its text depends only on the library.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path

from aggregator.author.audit import audit, levels_request
from aggregator.families.mechanism import PlannedQuestion
from aggregator.planner.catalogue import CATALOGUE
from aggregator.planner.choice import best_candidate, candidates, max_bits_of
from aggregator.planner.plan import plan
from protocol import exact
from protocol.campaign import Campaign
from protocol.domain import Values
from protocol.notions import Block, HighLow, Ldp, Lip, MinId, Notion
from protocol.views import plain_views

PAGE = Path(__file__).parents[2] / "docs" / "MECHANISMS.md"
LEVELS = (0.1, 0.5, 1, 2, 4, 8)


def values(size: int) -> Values:
    return Values(tuple(f"v{x}" for x in range(size)))


def level(epsilon: float) -> int:
    return exact.level_from(epsilon)


def in_nats(epsilon: float) -> str:
    return f"{epsilon:g} {'nat' if epsilon == 1 else 'nats'}"


def zipf(size: int, exponent: float = 1.0) -> tuple[int, ...]:
    """Return integer weights proportional to 1 / rank^exponent."""
    return tuple(math.ceil(2**40 / rank**exponent) for rank in range(1, size + 1))


def grid(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def choices() -> str:
    """Return the table of the mechanisms that ``auto`` selects, with the bits of an output."""

    def cell(question: PlannedQuestion) -> str:
        rows = [row for row in plan(question, 1) if row.candidate is not None]
        return f"{rows[0].mechanism}, {rows[0].candidate.channel.output_bits}"

    rows = []
    for size in (2, 6, 16, 100, 1024):
        rows.append([f"ldp, k = {size:,}", *(cell(PlannedQuestion(values(size), Ldp(level(eps)))) for eps in LEVELS)])
    sensitive = {
        "high-low, 10 of 100": lambda eps: HighLow(level(eps), 100, tuple(range(10))),
        "block, 10 of 10": lambda eps: Block.over(level(eps), [x // 10 for x in range(100)]),
        "minid, 50 of 1,000 at half": lambda eps: MinId.over([level(eps / 2)] * 50 + [level(eps)] * 950),
        "lip, zipf, k = 20": lambda eps: Lip(level(eps), zipf(20)),
    }
    for name, notion in sensitive.items():
        rows.append([name, *(cell(PlannedQuestion(values(notion(1).input_count), notion(eps))) for eps in LEVELS)])
    return grid(["question", *(f"{in_nats(eps)}, bits" for eps in LEVELS)], rows)


def levels() -> str:
    """Return the table of audited levels under five notions (row B8 of the last table of the page).

    Each mechanism is designed for one of five notions, for six values at 1 nat.
    """
    questions: dict[str, Notion] = {
        "ldp": Ldp(level(1)),
        "lip": Lip(level(1), (40, 25, 15, 10, 6, 4)),
        "high-low": HighLow(level(1), 6, (0, 1)),
        "block": Block.over(level(1), [0, 0, 0, 1, 1, 1]),
        "minid": MinId.over([level(1), level(1), *[level(2)] * 4]),
    }
    shown = ("ldp", "lip", "mutual-information", "maximal-leakage", "differential-identifiability")
    rows = []
    for name, notion in questions.items():
        question = PlannedQuestion(values(6), notion)
        for mechanism, one in candidates(question):
            if isinstance(one, str):
                continue
            campaign = Campaign(
                "t", "q", "", "o", question.domain, notion, mechanism.name, plain_views(one.channel), 0, 1, 1, 1, 1,
                "open",
            )  # fmt: skip
            found = audit(campaign, levels_request(campaign)).as_json()["levels"]
            cells = [
                "-" if key not in found else "infinite" if found[key] is None else f"{found[key]:.3f}" for key in shown
            ]
            rows.append([mechanism.name, name, *cells])
    return grid(
        ["mechanism", "made for", "LDP", "LIP", "mutual information", "maximal leakage", "diff. identifiability"], rows
    )


def catalogue() -> str:
    """Return the table of every mechanism, with its description and source."""
    return grid(
        ["name", "report", "source", "decoding n reports"],
        ([f"`{one.name}`", one.description, one.source, one.decoding_cost] for one in CATALOGUE),
    )


def lip_errors() -> str:
    """Return the table of one person's error under LIP: with the prior alone, with the published form if it is valid,
    with the LIP response and with the choice of ``auto``, and the lower bound."""
    from aggregator.estimate.error import lip_mse_bound

    rows = []
    for size, exponent in ((2, 2.0), (6, 1.0), (20, 1.0)):
        prior = zipf(size, exponent)
        alone = 1 - sum((weight / sum(prior)) ** 2 for weight in prior)
        for eps in (0.5, 1, 2, 4):
            question = PlannedQuestion(values(size), Lip(level(eps), prior))
            found = {mechanism.name: one for mechanism, one in candidates(question) if not isinstance(one, str)}
            published = found.get("lip-published")
            choice, _ = best_candidate(question, list(found.values()), max_bits_of(question, None))
            rows.append([
                f"{size}, zipf({exponent:g})", f"{eps:g}", f"{alone:.5f}",
                f"{published.person_mse:.5f}" if published else "not valid",
                f"{found['lip-response'].person_mse:.5f}", f"{choice.person_mse:.5f} ({choice.mechanism.name})",
                f"{lip_mse_bound(level(eps), prior):.5f}",
            ])  # fmt: skip
    return grid(["values", "nats", "prior alone", "published", "lip-response", "auto", "bound"], rows)


def ball_errors() -> str:
    """Return the table of one person's error under LIP for every prior within a radius, for ``auto`` and for other
    mechanisms."""
    from aggregator.estimate.error import lip_mse, prior_mse
    from aggregator.families.table.prior_table import optimal_table
    from protocol import levels as levels_of
    from protocol.notions.information import RADIUS_UNITS

    rows = []
    for size, exponent, eps, radius in (
        (2, 2.0, 1, 0.05), (6, 1.0, 1, 0.05), (6, 1.0, 2, 0.05), (20, 1.0, 1, 0.01), (20, 1.0, 1, 0.05),
        (20, 1.0, 1, 0.2), (20, 1.0, 2, 0.05), (20, 1.0, 4, 0.05),
    ):  # fmt: skip
        prior, nats = zipf(size, exponent), level(eps)
        question = PlannedQuestion(values(size), Lip(nats, prior, round(radius * RADIUS_UNITS)))
        found = {mechanism.name: one for mechanism, one in candidates(question) if not isinstance(one, str)}
        choice, _ = best_candidate(question, list(found.values()), max_bits_of(question, None))
        centre = optimal_table(prior, nats)
        kept = levels_of.lip_in_ball(levels_of.Structure(centre), prior, Fraction(question.notion.radius, RADIUS_UNITS))
        plain = min(
            one.person_mse for name, one in found.items() if not name.startswith("lip") and not one.channel.unary
        )
        rows.append([
            f"{size}, zipf({exponent:g})", f"{eps:g}", f"{radius:g}", f"{prior_mse(prior):.5f}", f"{plain:.5f}",
            f"{found['lip-centre'].person_mse:.5f}", f"{choice.person_mse:.5f} ({choice.mechanism.name})",
            f"{lip_mse(centre, prior):.5f}, level {kept.nats:.3f}",
        ])  # fmt: skip
    return grid(
        [
            "values", "nats", "radius", "prior alone", "best LDP", "lip-centre", "auto",
            "optimum for the prior alone: error, level in the ball (nats)",
        ],
        rows,
    )  # fmt: skip


def projective_orders() -> str:
    """Return the table of projective response's error divided by the smallest possible error, with prime fields only
    and with all fields."""
    from aggregator.families.projective.recipe import geometries, projective_error
    from aggregator.families.sets.recipe import subset_error
    from protocol.channels.projective.field import is_prime

    shown = (0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 4)
    rows = []
    for size in (16, 64, 256, 1000, 43_750):
        cells = []
        for nats in map(level, shown):
            least = min(subset_error(size, ones, nats) for ones in range(1, size // 2 + 1))
            errors = [(projective_error(size, q, t, nats) / least, q) for q, t, _ in geometries(size)]
            alone, (best, order) = min(one for one in errors if is_prime(one[1])), min(errors)
            before = "" if is_prime(order) else f"{alone[0]:.3f}; "
            cells.append(f"{before}{best:.3f}, q = {order}")
        rows.append([f"{size:,}", *cells])
    return grid(["values", *(in_nats(eps) for eps in shown)], rows)


def graded_errors() -> str:
    """Return the table of graded projective response's error for budgets by value, beside those of IDUE and of plain
    LDP at the smallest budget."""
    asked: list[tuple[str, tuple[float, ...], tuple[int, ...]]] = [
        ("minid", (1, 2), (1, 999)),
        ("minid", (1, 2), (50, 950)),
        ("minid", (0.5, 1, 2), (50, 150, 800)),
        ("minid", (1, 2, 4), (10, 90, 900)),
        ("minid", (4, 8), (100, 900)),
        ("minid", (1, 2), (2, 8)),
        ("avgid", (1, 2), (50, 950)),
    ]
    rows = []
    for name, budgets, sizes in asked:
        each = [level(eps) for eps, count in zip(budgets, sizes, strict=True) for _ in range(count)]
        question = PlannedQuestion(values(len(each)), MinId.over(each, name))
        mechanisms = [one for one in CATALOGUE if one.name in ("graded", "idue", "projective")]
        found = {one.name: made for one, made in candidates(question, mechanisms) if not isinstance(made, str)}
        plain, idue, ours = (found[one] for one in ("projective", "idue", "graded"))
        rows.append([
            f"{name}: {', '.join(f'{eps:g}' for eps in budgets)} ({', '.join(map(str, sizes))})",
            *(f"{one.raw_mse / len(each):.3f}" for one in (plain, idue, ours)), f"{ours.raw_mse / idue.raw_mse:.3f}",
            f"{idue.channel.output_bits:,}", f"{ours.channel.output_bits}", f"{ours.channel.order}",
        ])  # fmt: skip
    return grid(
        ["nats (values)", "plain LDP", "IDUE", "graded", "graded / IDUE", "IDUE, bits", "graded, bits", "q"], rows
    )


def projection_weights() -> str:
    """Return the table of the squared error of consistent shares, divided by that of the Euclidean projection: of
    halftruth's shares, and of the nearest shares if squared distances are divided by the variances."""
    import numpy as np

    from aggregator.estimate.distribution import project, project_unequal
    from aggregator.families.registry import decoder_of
    from aggregator.planner.choice import chosen_channel

    size, few, people, surveys = 100, 3, 10_000, 200
    asked: dict[str, tuple[Notion, str]] = {
        f"high-low, {few} sensitive values, 1 nat": (HighLow(level(1), size, tuple(range(few))), "auto"),
        f"high-low, {few} sensitive values, 1 nat, Hadamard": (HighLow(level(1), size, tuple(range(few))), "hadamard"),
        f"minid, {few} values at 1 nat, the others at 2": (
            MinId.over([level(1)] * few + [level(2)] * (size - few)),
            "auto",
        ),
        f"block, blocks of {few} and {size - few} values, 2 nats": (
            Block.over(level(2), [int(x >= few) for x in range(size)]),
            "auto",
        ),
    }
    zipfian = np.array(zipf(size)) / sum(zipf(size))
    shapes = {
        "equal shares": np.full(size, 1 / size),
        f"Zipf(1), most frequent: the {few} values": zipfian,
        f"Zipf(1), rarest: the {few} values": zipfian[::-1],
        f"all people at one of the {few} values": np.eye(size)[0],
        "all people at another value": np.eye(size)[few],
    }
    rows = []
    for name, (notion, mechanism) in asked.items():
        decoder = decoder_of(chosen_channel(mechanism, PlannedQuestion(values(size), notion))[1])
        even = decoder.variances(decoder.forward(shapes["equal shares"]))
        cells = []
        for truth in shapes.values():
            outputs = np.maximum(decoder.forward(truth), 0)
            counts = np.random.default_rng(1).multinomial(people, outputs / outputs.sum(), size=surveys)
            errors = np.zeros(3)
            for share in counts / people:
                raw = decoder.invert(share)
                shares = project(raw), project_unequal(raw, even, people), project(raw, weights=even)
                errors += [((one - truth) ** 2).sum() for one in shares]
            cells.append(f"{errors[1] / errors[0]:.2f}; {errors[2] / errors[0]:.2f}")
        rows.append([name, *cells])
    return grid(["question", *shapes], rows)


TABLES: dict[str, Callable[[], str]] = {
    "catalogue": catalogue,
    "choices": choices,
    "lip-errors": lip_errors,
    "ball-errors": ball_errors,
    "levels": levels,
    "projective-orders": projective_orders,
    "graded-errors": graded_errors,
    "projection-weights": projection_weights,
}


def computed(page: str, name: str) -> str:
    """Return the page with the table ``name`` computed again."""
    frame = re.compile(rf"(<!-- computed: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not frame.search(page):
        raise ValueError(
            f"{PAGE.name} has no place for table {name!r}: expected `<!-- computed: {name} -->` and `<!-- end -->`"
        )
    return frame.sub(lambda found: found[1] + TABLES[name]() + "\n" + found[2], page)


def main() -> None:
    """Write all tables."""
    page = PAGE.read_text(encoding="utf-8")
    for name in TABLES:
        page = computed(page, name)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
