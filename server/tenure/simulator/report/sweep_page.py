"""A sweep as one HTML page: the frontier as a picture, and a table of all points."""

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any, Final

from tenure.simulator.comparison import Policy, Spread
from tenure.simulator.jobs import Trace, left_out_text
from tenure.simulator.report import charts
from tenure.simulator.report.figures import is_duration, spread_text
from tenure.simulator.report.page import Table, figure_sections, render_template, wait_tables
from tenure.simulator.runs import MAX_BAD_LINES
from tenure.simulator.sweeps.frontier import PointResult
from tenure.simulator.sweeps.study import QUOTA, Study

_DIGITS: Final = 4
"""Significant digits of a mean."""
_KINDS: Final = {"frontier": "#0072b2", "beaten": "#999999", "constraint not kept": "#d55e00"}
"""Kinds of points, and their colors."""
_BEST, _BEATEN, _BROKEN = _KINDS
MAX_COMPARED: Final = 8
"""Points whose figures are side by side."""


def point_text(spread: Spread | None, path: str = "") -> str:
    """Mean, and the standard deviation over the seeds, of the figure at a path; a time is written as one."""
    if spread is None:
        return "-"
    if is_duration(path):
        return spread_text("duration", spread)
    digits = max(_DIGITS - 1 - floor(log10(abs(spread.mean))), 0) if spread.mean else _DIGITS - 1
    deviation = f" ± {spread.deviation:,.{digits}f}" if spread.runs > 1 else ""
    return f"{spread.mean:,.{digits}f}{deviation}"


def head_of(study: Study) -> list[str]:
    """Columns of the table of points."""
    lasts = [key if key.startswith(QUOTA) else key.rpartition(".")[2] for key in study.vary]
    names = lasts if len(set(lasts)) == len(lasts) else list(study.vary)
    return ["Point", *names, *study.figures, "Frontier"]


def cells_of(result: PointResult) -> list[str]:
    """The row of a point."""
    values = [str(value) for value in result.point.values.values()]
    why = "yes" if result.is_best else "; ".join(result.broken) or "no"
    if result.violations:
        why += f"; {result.violations} protections not kept"
    return [
        str(result.point.number),
        *values,
        *[point_text(each, path) for path, each in result.figures.items()],
        why,
    ]


def render_sweep(
    study: Study,
    trace: Trace,
    results: Sequence[PointResult],
    runs: Mapping[int, Sequence[Mapping[str, Any]]],
) -> str:
    """The page; `trace` is that of the first run, and `runs` has the JSON of the runs of each point, by seed.

    Names in it are escaped.
    """
    import markupsafe

    policies = _compared(results, runs)
    pictures = []
    if len(study.goals) > 1 and any(result.is_best for result in results):
        svg = markupsafe.Markup(charts.render(frontier_chart(study, results)))  # noqa: S704 (escaped there)
        text = "Each point is the mean over its seeds; the line joins the points that no other one beats."
        text += " Gray lines are the standard deviation over the seeds." * (len(study.seeds) > 1)
        pictures.append({"title": "Frontier", "definition": text, "svg": svg})
    seeds = ", ".join(str(seed) for seed in study.seeds)
    text = (
        f"Mean over the seeds {seeds} and standard deviation. Figures are named by their path in the JSON of "
        "a run; GPU time is in hours. The configuration of point 1 is point-1.yaml."
    )
    best = [result for result in results if result.is_best]
    frontier = Table("Points of the frontier", text, head_of(study), [cells_of(result) for result in best])
    others = "All points." if len(best) < len(results) else ""
    points = Table("Points", others, head_of(study), [cells_of(result) for result in results])
    return render_template(
        title=f"Sweep: {study.trace}",
        summary=f"{len(results):,} points, {len(results) * len(study.seeds):,} runs.",
        notes=[_note(policies), *trace.notes],
        left_out=left_out_text(trace.bad_lines),
        bad_lines=[(bad.where, bad.problem) for bad in trace.bad_lines[:MAX_BAD_LINES]],
        pictures=pictures,
        sentences=[_verdict(study, results)],
        points=[frontier, points] if best and others else [points._replace(definition=text)],
        tables=[table for table in wait_tables(policies) if table.rows],
        names=[policy.name for policy in policies],
        sections=figure_sections(policies),
    )


def _verdict(study: Study, results: Sequence[PointResult]) -> str:
    """Which points no other one beats, in a sentence."""
    best = [result for result in results if result.is_best]
    if not best:
        return "No point keeps all constraints."
    goals = " and ".join(goal.figure for goal in study.goals)
    numbers = ", ".join(str(result.point.number) for result in best)
    which = "points" if len(best) > 1 else "point"
    text = f"Frontier: {which} {numbers} of {len(results):,}. {_meaning(goals, len(study.goals), len(best))}"
    for goal in study.goals:
        sign = -1 if goal.better == "higher" else 1
        known = [(each.figures[goal.figure], each) for each in best]
        found = [(sign * spread.mean, each) for spread, each in known if spread is not None]
        if found:
            least = min(found, key=lambda pair: pair[0])[1]
            value = point_text(least.figures[goal.figure], goal.figure)
            text += f" Best {goal.figure}: point {least.point.number} with {value}."
    return text


def _meaning(names: str, goals: int, best: int) -> str:
    """What is said of the points of the frontier."""
    if goals == 1:
        return f"No other point is better in {names}."
    if best == 1:
        return f"No other point is at least as good in {names} and better in one."
    return f"For each of these points, no other one is at least as good in {names} and better in one."


def _compared(
    results: Sequence[PointResult], runs: Mapping[int, Sequence[Mapping[str, Any]]]
) -> list[Policy]:
    """The points whose figures are shown side by side: all, or the first one and those of the frontier."""
    shown = [each for each in results if len(results) <= MAX_COMPARED or each.is_best or each is results[0]]
    return [
        Policy(f"Point {each.point.number}", [run["metrics"] for run in runs[each.point.number]])
        for each in shown[:MAX_COMPARED]
    ]


def _note(policies: Sequence[Policy]) -> str:
    names = ", ".join(policy.name.removeprefix("Point ") for policy in policies)
    return (
        f"All figures of the points {names} over the seeds. A difference is that of two runs with the same "
        "seed, so what luck does to both alike is not in it."
    )


def frontier_chart(study: Study, results: Sequence[PointResult]) -> charts.Spec:
    """The first two goals of all points with their deviation, and a line along the frontier."""
    across, up = study.goals[0].figure, study.goals[1].figure
    rows: list[dict[str, Any]] = []
    for result in results:
        x, y = result.figures[across], result.figures[up]
        if x is not None and y is not None:
            kind = _BEST if result.is_best else _BROKEN if result.broken else _BEATEN
            equal = [row for row in rows if (row["x"], row["y"]) == (x.mean, y.mean)]
            if equal:
                equal[0]["point"] += f", {result.point.number}"
                continue
            row = {"x": x.mean, "y": y.mean, "point": str(result.point.number), "kind": kind}
            for name, spread in (("x", x), ("y", y)):
                row[f"{name}_low"] = max(spread.mean - spread.deviation, min(spread.mean, 0))
                row[f"{name}_high"] = spread.mean + spread.deviation
            rows.append(row)
    axes = {
        name: {
            "field": name,
            "type": "quantitative",
            "title": _title(study, number),
            "scale": {"zero": False},
            "axis": {"tickCount": 8, **(_time_axis(rows, name) if is_duration(path) else {})},
        }
        for number, (name, path) in enumerate((("x", across), ("y", up)))
    }
    best: dict[str, Any] = {"filter": "datum.kind === 'frontier'"}
    kinds: dict[str, Any] = {
        "field": "kind",
        "type": "nominal",
        "title": None,
        "scale": {
            "domain": [kind for kind in _KINDS if any(row["kind"] == kind for row in rows)],
            "range": [color for kind, color in _KINDS.items() if any(row["kind"] == kind for row in rows)],
        },
    }
    named = [] if len(results) <= MAX_COMPARED else [best]
    spreads = [
        {
            "mark": {"type": "rule", "color": "#cccccc"},
            "encoding": {
                **axes,
                name: {**axes[name], "field": f"{name}_low"},
                f"{name}2": {"field": f"{name}_high"},
            },
        }
        for name in axes
        if len(study.seeds) > 1
    ]
    return {
        **charts.base_spec("Points by the first two goals, and the frontier", rows),
        "width": charts.WIDTH,
        "height": 360,
        "layer": [
            *spreads,
            {
                "transform": [best],
                "mark": {"type": "line", "color": "#999999"},
                "encoding": {**axes, "order": {"field": "x"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60},
                "encoding": {
                    **axes,
                    "color": kinds,
                    "shape": {**kinds, "scale": {"domain": kinds["scale"]["domain"]}},
                },
            },
            {
                "transform": named,
                "mark": {"type": "text", "dx": 10, "dy": -8, "align": "left"},
                "encoding": {**axes, "text": {"field": "point"}},
            },
        ],
    }


def _time_axis(rows: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    lows, highs = [row[f"{name}_low"] for row in rows], [row[f"{name}_high"] for row in rows]
    return charts.time_axis(min(lows, default=0), max(highs, default=0))


def _title(study: Study, number: int) -> str:
    goal = study.goals[number]
    return f"{goal.figure} ({goal.better} is better)"
