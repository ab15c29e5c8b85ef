"""Pictures as Vega-Lite specifications, rendered to SVG without a browser and without scripts."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from tenure.simulator.comparison import Policy, spread_of
from tenure.simulator.jobs import WHOLE_GPU
from tenure.simulator.metrics import SIZES
from tenure.simulator.results import Results, SeriesPoint
from tenure.simulator.runs import Run
from tenure.terms.durations import SECOND

MAX_POINTS: Final = 300
"""Points of a line; intervals are merged to have no more."""
MAX_QUEUES: Final = 15
WIDTH: Final = 640
_DAY: Final = 86_400 * SECOND
_DATES: Final = {"format": "%d %b %H:%M", "tickCount": 6, "labelOverlap": True}
_CONFIG: Final = {
    "font": "sans-serif",
    "axis": {"labelFontSize": 11, "titleFontSize": 11},
    "legend": {"labelFontSize": 11, "titleFontSize": 11, "orient": "top"},
    "view": {"stroke": "#bbbbbb"},
}

_TIME_LABELS: Final = (
    "datum.value == 0 ? '0' : "
    "datum.value >= 172800 ? format(datum.value / 86400, '.3~g') + 'd' : "
    "datum.value >= 7200 ? format(datum.value / 3600, '.3~g') + 'h' : "
    "datum.value >= 120 ? format(datum.value / 60, '.3~g') + 'm' : format(datum.value, '.3~g') + 's'"
)
_TIME_STEPS: Final = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800),
    *[3_600 * hours for hours in (1, 2, 3, 6, 12, 24, 48, 120, 240, 480, 1_200)],
)
"""Seconds between two marks of an axis with times."""
_MOST_MARKS: Final = 8
RUN_COLORS: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f6000", "#5b2c83")
"""Colors of the runs in all pictures, in their order. Nothing else has one of them."""
_ACTION_COLORS: Final = {
    "reclaim": "#7a0018",
    "preempt": "#c8566b",
    "requeue": "#d9a5ae",
    "consolidation": "#404040",
    "reservation": "#8c8c8c",
    "stalegangeviction": "#b8b8b8",
    "timelimit": "#d8d8d8",
}
_OTHER_ACTION: Final = "#000000"

Spec = dict[str, Any]


def render(spec: Spec) -> str:
    """SVG of a specification."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec))


def allocation_chart(runs: Sequence[Run]) -> Spec:
    """Allocation and goodput over time, as parts of the usable GPUs."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        points = merge(run.results.series)
        kept = goodput_series(run.results, points)
        for point, good in zip(points, kept, strict=True):
            if point.usable:
                rows.append(_row(point, run, "allocation", point.allocated / point.usable))
                rows.append(_row(point, run, "goodput", good / point.usable))
    return _lines("Allocation and goodput of each run over time", rows, "Part of usable GPUs", _names(runs))


def pending_chart(runs: Sequence[Run]) -> Spec:
    """GPUs that pending pods ask for, over time."""
    rows = [
        _row(point, run, "pending", point.pending / WHOLE_GPU)
        for run in runs
        for point in merge(run.results.series)
    ]
    return _lines("GPUs that pending pods ask for, over time", rows, "GPUs pending", _names(runs))


def time_axis(least: float, most: float) -> dict[str, Any]:
    """Marks and labels of an axis with times from one value to another, in seconds."""
    steps = (step for step in _TIME_STEPS if (most - least) / step <= _MOST_MARKS)
    step = next(steps, _TIME_STEPS[-1])
    marks = list(range(int(least // step) * step, int(most // step) * step + step + 1, step))
    return {"values": marks, "labelExpr": _TIME_LABELS}


def _names(runs: Sequence[Run]) -> list[str]:
    return [run.input.name for run in runs]


def _run_color(names: Sequence[str]) -> dict[str, Any]:
    """The color of each run, whichever of them a picture shows."""
    colors = [RUN_COLORS[number % len(RUN_COLORS)] for number in range(len(names))]
    scale = {"domain": list(names), "range": colors}
    return {"field": "run", "type": "nominal", "sort": None, "title": None, "scale": scale}


def wait_chart(policies: Sequence[Policy], metric: str, title: str, *, is_time: bool = False) -> Spec:
    """Mean and 99th percentile of a metric by size of the job, with the deviation over the seeds."""
    rows = []
    for policy in policies:
        for size, _ in SIZES:
            for what in ("mean", "p99"):
                values = [each["by_size"].get(size, {}).get(metric, {}).get(what) for each in policy.metrics]
                found = spread_of(values)
                if found is not None:
                    low, high = max(found.mean - found.deviation, 0), found.mean + found.deviation
                    row = {"run": policy.name, "size": size, "what": what, "value": found.mean}
                    rows.append({**row, "low": low, "high": high})
    x: dict[str, Any] = {"field": "size", "type": "nominal", "sort": [name for name, _ in SIZES]}
    across = {"x": {**x, "title": None, "axis": {"labelAngle": 0}}, "xOffset": {"field": "run", "sort": None}}
    labels = time_axis(0, max([float(row["high"]) for row in rows], default=0.0)) if is_time else {}
    bars: Spec = {
        "mark": "bar",
        "encoding": {
            **across,
            "y": {"field": "value", "type": "quantitative", "title": title, "axis": labels},
            "color": _run_color([policy.name for policy in policies]),
        },
    }
    lines: Spec = {
        "mark": "rule",
        "encoding": {**across, "y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"}},
    }
    layers = [bars, lines] if any(len(policy.metrics) > 1 for policy in policies) else [bars]
    return {
        **base_spec(f"{title} by size of the job: mean and 99th percentile", rows),
        "facet": {"column": {"field": "what", "type": "nominal", "title": None}},
        "spec": {"width": WIDTH // 2 - 40, "height": 180, "layer": layers},
    }


def queue_chart(run: Run) -> Spec:
    """Allocation against entitlement of each queue over time; the queues with the most demand."""
    results = run.results
    names = sorted(results.queue_names, key=lambda name: (-results.queues[name].demand, name))[:MAX_QUEUES]
    places = {name: results.queue_names.index(name) for name in names}
    rows = []
    for point in merge(results.series, MAX_POINTS // 3):
        for name, i in places.items():
            for what, amounts in (("allocated", point.queues), ("entitled", point.entitled)):
                rows.append(
                    {"time": _time(point), "queue": name, "what": what, "value": amounts[i] / WHOLE_GPU}
                )
    return {
        **base_spec(f"GPUs of each queue against its entitlement over time, {run.input.name}", rows),
        "mark": {"type": "line", "strokeWidth": 1, "interpolate": "step-after"},
        "width": WIDTH // 3 - 40,
        "height": 80,
        "encoding": {
            "facet": {"field": "queue", "type": "nominal", "columns": 3, "sort": names, "title": None},
            "x": {
                "field": "time",
                "type": "temporal",
                "title": None,
                "scale": {"type": "utc"},
                "axis": {**_DATES, "format": "%d %b", "tickCount": 3},
            },
            "y": {"field": "value", "type": "quantitative", "title": "GPUs"},
            "color": {
                "field": "what",
                "type": "nominal",
                "title": None,
                "scale": {"domain": ["allocated", "entitled"], "range": ["#000000", "#a0a0a0"]},
            },
        },
    }


def eviction_chart(runs: Sequence[Run]) -> Spec | None:
    """Evictions by day and action; None: there are none."""
    counts: dict[tuple[str, int, str], int] = {}
    for run in runs:
        for eviction in run.results.evictions:
            key = (run.input.name, eviction.time // _DAY, eviction.action)
            counts[key] = counts.get(key, 0) + 1
    if not counts:
        return None
    rows = [
        {"run": name, "time": _text(day * _DAY), "action": action, "value": count}
        for (name, day, action), count in counts.items()
    ]
    names = _names(runs)
    actions = sorted({action for _, _, action in counts})
    return {
        **base_spec("Evictions by day and action", rows),
        "mark": "bar",
        "width": WIDTH,
        "height": 120,
        "encoding": {
            "row": {"field": "run", "type": "nominal", "sort": names, "title": None},
            "x": {"field": "time", "type": "temporal", "timeUnit": "utcyearmonthdate", "title": None},
            "y": {"field": "value", "type": "quantitative", "title": "Evictions"},
            "color": {
                "field": "action",
                "type": "nominal",
                "title": None,
                "scale": {
                    "domain": actions,
                    "range": [_ACTION_COLORS.get(action, _OTHER_ACTION) for action in actions],
                },
            },
        },
    }


def merge(series: Sequence[SeriesPoint], most: int = MAX_POINTS) -> list[SeriesPoint]:
    """At most so many points, each the mean of neighbors."""
    step = -(-len(series) // most) or 1
    merged = []
    for i in range(0, len(series), step):
        part = series[i : i + step]
        size = len(part)
        columns = list(
            zip(*[(p.usable, p.allocated, p.pending, *p.queues, *p.entitled) for p in part], strict=True)
        )
        means = [sum(column) / size for column in columns]
        queues = len(part[0].queues)
        shares = tuple(means[3 : 3 + queues]), tuple(means[3 + queues :])
        merged.append(SeriesPoint(part[0].start, means[0], means[1], means[2], *shares))
    return merged


def goodput_series(results: Results, points: Sequence[SeriesPoint]) -> list[float]:
    """Milli-GPUs of kept work at each point: the work of a segment is spread over the time that it kept."""
    starts = [point.start for point in points]
    ends = [*starts[1:], max(results.end, starts[-1] + 1)] if starts else []
    sums = [0.0] * len(points)
    gpus = {result.job.name: result.job for result in results.jobs}
    at = 0
    for segment in sorted(results.segments, key=lambda each: each.start):
        job = gpus[segment.job]
        if segment.kept <= 0 or segment.end == segment.start:
            continue
        until = min(segment.end, segment.start + max(segment.kept // job.pods, 1))
        rate = segment.kept * job.gpu_milli / (until - segment.start)
        while at + 1 < len(starts) and starts[at + 1] <= segment.start:
            at += 1
        for i in range(at, len(starts)):
            if starts[i] >= until:
                break
            sums[i] += rate * (min(until, ends[i]) - max(segment.start, starts[i]))
    return [total / max(end - start, 1) for total, start, end in zip(sums, starts, ends, strict=True)]


def base_spec(description: str, rows: Iterable[Mapping[str, Any]]) -> Spec:
    """A specification with data, without marks."""
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "description": description,
        "config": _CONFIG,
        "data": {"values": list(rows)},
    }


def _lines(description: str, rows: list[dict[str, Any]], title: str, names: Sequence[str]) -> Spec:
    encoding: dict[str, Any] = {
        "x": {"field": "time", "type": "temporal", "title": None, "scale": {"type": "utc"}, "axis": _DATES},
        "y": {"field": "value", "type": "quantitative", "title": title},
        "color": _run_color(names),
    }
    if len({row["what"] for row in rows}) > 1:
        encoding["strokeDash"] = {"field": "what", "type": "nominal", "title": None}
    return {
        **base_spec(description, rows),
        "mark": {"type": "line", "strokeWidth": 1.2, "interpolate": "step-after"},
        "width": WIDTH,
        "height": 200,
        "encoding": encoding,
    }


def _row(point: SeriesPoint, run: Run, what: str, value: float) -> dict[str, Any]:
    return {"time": _time(point), "run": run.input.name, "what": what, "value": value}


def _time(point: SeriesPoint) -> str:
    return _text(point.start)


def _text(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds // SECOND, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
