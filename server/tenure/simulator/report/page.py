"""Runs as one HTML page that works offline: no script, no outside reference, pictures as SVG with text."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

from tenure.simulator.jobs import WHOLE_GPU
from tenure.simulator.report import charts
from tenure.simulator.report.figures import (
    SECTIONS,
    Figure,
    definition_of,
    duration_text,
    figure_text,
    value_text,
)
from tenure.simulator.report.stories import MAX_CHANGES, Change, compare, tell_stories
from tenure.simulator.runs import Run
from tenure.wire.violations import escape_control_characters

MAX_BAD_LINES: Final = 100
MAX_VIOLATIONS: Final = 20
_PARTS: Final = (
    *("notes", "violations", "bad_lines", "sections", "names"),
    *("pictures", "tables", "stories", "inputs"),
)


class Table(NamedTuple):
    """A table of the page."""

    title: str
    definition: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def render_page(runs: Sequence[Run]) -> str:
    """The page. Differences are to the first run. Names in it are escaped."""
    first = runs[0]
    trace, cluster = first.input.trace, first.input.cluster
    gpus = sum(node.allocatable.gpu_milli for node in cluster.nodes) / WHOLE_GPU
    summary = (
        f"{len(trace.jobs):,} jobs in {len(first.results.queue_names)} queues on "
        f"{len(cluster.nodes):,} nodes with {gpus:,g} GPUs."
    )
    return render_template(
        title="Simulation: " + ", ".join(run.input.name for run in runs),
        summary=summary,
        notes=trace.notes,
        violations=_violations(runs),
        bad_lines=trace.bad_lines[:MAX_BAD_LINES],
        bad_count=len(trace.bad_lines),
        names=[run.input.name for run in runs],
        sections=[
            {"title": title, "rows": [_row(figure, runs) for figure in figures]}
            for title, figures in SECTIONS
        ],
        pictures=_pictures(runs),
        tables=_tables(runs),
        stories=[{"name": run.input.name, "stories": tell_stories(run)} for run in runs],
        inputs=_inputs(runs),
    )


def render_template(**content: Any) -> str:
    """The page with this content; what is not given is left out. Names in it are escaped."""
    import jinja2

    template = files(__package__).joinpath("page.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, finalize=_printable)
    return environment.from_string(template).render({**dict.fromkeys(_PARTS, ()), **content})


def _printable(value: Any) -> Any:
    """Texts of a trace without control characters; markup stays as it is."""
    return escape_control_characters(value) if type(value) is str else value


def _violations(runs: Sequence[Run]) -> list[str]:
    return [
        f"{run.input.name}: {found.eviction.victim} was evicted although {found.rule}."
        for run in runs
        for found in run.violations[:MAX_VIOLATIONS]
    ]


def _row(figure: Figure, runs: Sequence[Run]) -> dict[str, Any]:
    base = figure.of(runs[0].metrics)
    differences = []
    for run in runs[1:]:
        value = figure.of(run.metrics)
        if value is None or base is None:
            differences.append("-")
        else:
            sign = "+" if value > base else "-" if value < base else "±"
            differences.append(sign + value_text(figure.kind, abs(value - base)))
    return {
        "title": figure.title,
        "cells": [figure_text(figure, run.metrics) for run in runs],
        "differences": differences,
        "definition": definition_of(figure),
    }


def _pictures(runs: Sequence[Run]) -> list[dict[str, Any]]:
    import markupsafe

    found: list[tuple[str, str, charts.Spec | None]] = [
        (
            "GPUs over time",
            "Solid and dashed: allocation, and the part of it that became work that was kept.",
            charts.allocation_chart(runs),
        ),
        ("Pending GPUs over time", "GPUs that pods without a node ask for.", charts.pending_chart(runs)),
        (
            "Waits by size",
            "Seconds from submission to the first start.",
            charts.wait_chart(runs, "wait", "Wait (s)"),
        ),
        (
            "Bounded slowdown by size",
            "Turnaround over runtime, with short runtimes counted as 10 s.",
            charts.wait_chart(runs, "bounded_slowdown", "Bounded slowdown"),
        ),
        (
            "Evictions over time",
            "Pod groups that decisions evict, by day and action.",
            charts.eviction_chart(runs),
        ),
    ]
    for run in runs:
        if any(totals.entitled for totals in run.results.queues.values()):
            text = "Allocated GPUs, and the smaller one of fair share and demand."
            found.append((f"Shares of the queues, {run.input.name}", text, charts.queue_chart(run)))
    # The SVG has texts of the trace, which its renderer escapes.
    return [
        {"title": title, "definition": text, "svg": markupsafe.Markup(charts.render(spec))}  # noqa: S704
        for title, text, spec in found
        if spec is not None
    ]


def _tables(runs: Sequence[Run]) -> list[Table]:
    tables = [_waits("Jobs by size", "by_size", runs), _waits("Jobs by queue", "by_queue", runs)]
    for run in runs:
        rows = [
            (
                name,
                value_text("hours", found["allocated"]),
                value_text("hours", found["entitled"]),
                value_text("ratio", found["shortfall"]),
                value_text("ratio", found["excess"]),
                duration_text(found["longest_below"]),
            )
            for name, found in run.metrics["queues"].items()
        ]
        heads = (
            "Queue",
            "Allocated (GPU h)",
            "Entitled (GPU h)",
            "Shortfall",
            "Excess",
            "Longest below 90 %",
        )
        text = "The entitlement is the smaller one of fair share and demand, of each cycle."
        tables.append(Table(f"Entitlement, {run.input.name}", text, heads, rows))
    for run in runs[1:]:
        losers, winners = compare(runs[0], run)
        for what, changes in (("lose", losers), ("gain", winners)):
            title = f"Jobs that {what} most from {runs[0].input.name} to {run.input.name}"
            heads = ("Job", "Queue", "GPUs", runs[0].input.name, run.input.name, "Difference")
            rows_of = [_cells(change) for change in changes]
            text = f"Turnaround of the {MAX_CHANGES} jobs with the largest differences."
            tables.append(Table(title, text, heads, rows_of))
    return [table for table in tables if table.rows]


def _cells(change: Change) -> tuple[str, ...]:
    return change.job, change.queue, f"{change.gpus:g}", change.before, change.after, change.difference


def _waits(title: str, key: str, runs: Sequence[Run]) -> Table:
    heads, rows = [title.rpartition(" ")[2].capitalize(), "Jobs"], []
    for run in runs:
        heads += [
            f"{what} ({run.input.name})" for what in ("Mean wait", "p95 wait", "Mean slowdown", "Evictions")
        ]
    for name in sorted({name for run in runs for name in run.metrics[key]}):
        cells = [name, f"{runs[0].metrics[key].get(name, {}).get('jobs', 0):,}"]
        for run in runs:
            found: dict[str, Any] = run.metrics[key].get(name, {})
            wait, slowdown = found.get("wait", {}), found.get("bounded_slowdown", {})
            cells += [
                duration_text(wait.get("mean")),
                duration_text(wait.get("p95")),
                value_text("number", slowdown.get("mean")),
                f"{found.get('evictions', 0):,}",
            ]
        rows.append(cells)
    return Table(
        title, "Waits to the first start, bounded slowdown, and evictions that ended a segment.", heads, rows
    )


def _inputs(runs: Sequence[Run]) -> list[list[str]]:
    described = [run.to_json() for run in runs]
    rows = [["policy", *[str(run["policy"]) for run in described]]]
    rows.append(["input digest", *[str(run["input_digest"]) for run in described]])
    for key in described[0]["settings"]:
        rows.append([key, *[str(run["settings"][key]) for run in described]])
    rows.append(["cycles", *[f"{run.results.cycles:,}" for run in runs]])
    return rows
