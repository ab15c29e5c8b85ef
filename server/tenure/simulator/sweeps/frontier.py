"""What the runs of a sweep say: figures of each point over its seeds, and the points that none beats."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tenure.simulator.comparison import Spread, spread_of
from tenure.simulator.jobs import TraceError
from tenure.simulator.sweeps.study import Goal, Point, Study


class PointResult(NamedTuple):
    """A point with its figures, by their paths."""

    point: Point
    figures: Mapping[str, Spread | None]
    """None: a run has no such figure, such as a mean over no jobs."""
    broken: Sequence[str]
    """Constraints that it does not keep, for people."""
    violations: int
    """Protections that were not kept, in all runs."""
    is_best: bool
    """On the frontier: it keeps the constraints, and no other that does is better in one goal and as good in
    all others.
    """


def evaluate(
    study: Study, points: Sequence[Point], runs: Mapping[int, Sequence[Mapping[str, Any]]]
) -> list[PointResult]:
    """Results in the order of the points; `runs` has the JSON of the runs of each point, by seed.

    Raises TraceError for a figure that no run has.
    """
    paths = study.figures
    found = []
    for point in points:
        each = runs[point.number]
        figures = {path: spread_of([_value(run["metrics"], path) for run in each]) for path in paths}
        violations = sum(len(run["violations"]) for run in runs[point.number])
        found.append(PointResult(point, figures, _broken(study, figures), violations, False))
    for path in paths:
        if all(each.figures[path] is None for each in found):
            raise TraceError(f"goals and constraints: no run has the figure {path}")
    fit = [each for each in found if not each.broken and _scores(study.goals, each) is not None]
    return [
        each._replace(is_best=each in fit and not any(_beats(study.goals, other, each) for other in fit))
        for each in found
    ]


def _value(metrics: Any, path: str) -> float | None:
    """Keys may contain points themselves, as names of queues do."""
    if not path:
        return float(metrics) if isinstance(metrics, int | float) else None
    if not isinstance(metrics, Mapping):
        return None
    for key, inner in metrics.items():
        if path == key or path.startswith(f"{key}."):
            value = _value(inner, path[len(key) + 1 :])
            if value is not None:
                return value
    return None


def _broken(study: Study, figures: Mapping[str, Spread | None]) -> list[str]:
    broken = []
    for each in study.constraints:
        spread = figures[each.figure]
        if spread is None:
            broken.append(f"{each.figure} is not known")
        elif each.least is not None and spread.mean < each.least:
            broken.append(f"{each.figure} below {each.least:g}")
        elif each.most is not None and spread.mean > each.most:
            broken.append(f"{each.figure} above {each.most:g}")
    return broken


def _scores(goals: Sequence[Goal], result: PointResult) -> list[float] | None:
    """Smaller is better; None: a goal is not known."""
    scores = []
    for goal in goals:
        spread = result.figures[goal.figure]
        if spread is None:
            return None
        scores.append(spread.mean if goal.better == "lower" else -spread.mean)
    return scores


def _beats(goals: Sequence[Goal], one: PointResult, other: PointResult) -> bool:
    first_scores, other_scores = _scores(goals, one), _scores(goals, other)
    assert first_scores is not None
    assert other_scores is not None
    return first_scores != other_scores and all(
        a <= b for a, b in zip(first_scores, other_scores, strict=True)
    )
