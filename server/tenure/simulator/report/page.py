"""Runs as one HTML page that works offline: no script, no outside reference, pictures as SVG with text."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

from tenure.process.version import package_version
from tenure.simulator.comparison import Policy, value_at
from tenure.simulator.jobs import WHOLE_GPU, left_out_text
from tenure.simulator.metrics import DEFINITIONS
from tenure.simulator.report import charts
from tenure.simulator.report.figures import (
    SECTIONS,
    Figure,
    definition_of,
    difference_text,
    figure_text,
    group_names,
    spread_text,
)
from tenure.simulator.report.stories import MAX_CHANGES, Change, collect_stories, compare
from tenure.simulator.report.verdict import noise_text, summary_text, verdicts
from tenure.simulator.runs import MAX_BAD_LINES, Run, by_policy
from tenure.solver.plugin_api.profile import Profile
from tenure.wire.violations import escape_control_characters

MAX_VIOLATIONS: Final = 20
_PARTS: Final = (
    *("notes", "verdicts", "noise", "violations", "left_out", "bad_lines", "points", "sections", "names"),
    *("pictures", "tables", "stories", "inputs", "sentences"),
)
P95: Final = "p95 and p99: 95 % and 99 % of the jobs wait at most this long."
_WAITS: Final = (
    ("Jobs", "count", ("jobs",)),
    ("Mean wait", "duration", ("wait", "mean")),
    ("p95 wait", "duration", ("wait", "p95")),
    ("p99 wait", "duration", ("wait", "p99")),
    ("Longest wait", "duration", ("wait", "max")),
    ("Mean slowdown", "number", ("bounded_slowdown", "mean")),
    ("Evictions", "count", ("evictions",)),
)
_ENTITLEMENT: Final = (
    ("Allocated (GPU h)", "hours", "allocated"),
    ("Entitled (GPU h)", "hours", "entitled"),
    ("Shortfall", "ratio", "shortfall"),
    ("Excess", "ratio", "excess"),
    ("Longest below 90 %", "duration", "longest_below"),
)


class Table(NamedTuple):
    """A table of the page."""

    title: str
    definition: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def render_page(runs: Sequence[Run]) -> str:
    """The page. Runs of equal names are one policy with several seeds.

    Differences are to the first policy, seed by seed. Names in it are escaped.
    """
    groups = by_policy(runs)
    firsts = [group[0] for group in groups.values()]
    policies = [Policy(name, [run.metrics for run in group]) for name, group in groups.items()]
    first = firsts[0]
    trace, cluster = first.input.trace, first.input.cluster
    gpus = sum(node.allocatable.gpu_milli for node in cluster.nodes) / WHOLE_GPU
    summary = (
        f"{len(trace.jobs):,} jobs in {len(first.results.queue_names)} queues on "
        f"{len(cluster.nodes):,} nodes with {gpus:,g} GPUs."
    )
    return render_template(
        title="Simulation: " + ", ".join(groups),
        summary=summary,
        verdicts=verdicts(policies),
        sentences=[summary_text(policies[0])] if len(policies) == 1 else [],
        noise=noise_text(policies) if len(policies) > 1 else "",
        notes=[*_seed_notes(next(iter(groups.values()))), *trace.notes],
        violations=_violations(runs),
        left_out=left_out_text(trace.bad_lines),
        bad_lines=[(bad.where, bad.problem) for bad in trace.bad_lines[:MAX_BAD_LINES]],
        names=list(groups),
        sections=figure_sections(policies),
        pictures=_pictures(firsts, policies),
        tables=[table for table in (*wait_tables(policies), *_tables(firsts, policies)) if table.rows],
        stories=[{"name": run.input.name, "stories": collect_stories(run)} for run in firsts],
        inputs=_inputs(list(groups.values())),
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


def _seed_notes(group: Sequence[Run]) -> list[str]:
    if len(group) == 1:
        return []
    seeds = [str(run.input.settings.seed) for run in group]
    return [
        f"Figures are means over the seeds {', '.join(seeds)}, with the standard deviation. A difference is "
        "that of two runs with the same seed, so what luck does to both alike is not in it.",
        f"Numbers of jobs, lines over time and single jobs are those of seed {seeds[0]}.",
    ]


def _violations(runs: Sequence[Run]) -> list[str]:
    return [
        f"{run.input.name}, seed {run.input.settings.seed}: {found.eviction.victim} was evicted although "
        f"{found.rule}."
        for run in runs
        for found in run.violations[:MAX_VIOLATIONS]
    ]


def figure_sections(policies: Sequence[Policy]) -> list[dict[str, Any]]:
    """All figures of policies side by side, with differences to the first one."""
    return [
        {"title": title, "rows": [_row(figure, policies) for figure in figures]}
        for title, figures in SECTIONS
    ]


def _row(figure: Figure, policies: Sequence[Policy]) -> dict[str, Any]:
    return {
        "title": figure.title,
        "cells": [
            (figure_text(figure, policy), number and difference_text(figure, policies[0], policy))
            for number, policy in enumerate(policies)
        ],
        "definition": definition_of(figure),
    }


def _pictures(runs: Sequence[Run], policies: Sequence[Policy]) -> list[dict[str, Any]]:
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
            "Time from submission to the first start." + _error_bars(policies),
            charts.wait_chart(policies, "wait", "Wait", is_time=True),
        ),
        (
            "Bounded slowdown by size",
            "Turnaround over runtime, with short runtimes counted as 10 s." + _error_bars(policies),
            charts.wait_chart(policies, "bounded_slowdown", "Bounded slowdown"),
        ),
        (
            "Evictions over time",
            "Pod groups that decisions evict, by day and action. Colors are those of actions here.",
            charts.eviction_chart(runs),
        ),
    ]
    for run in runs:
        if any(totals.entitled for totals in run.results.queues.values()):
            text = "Black: allocated GPUs. Gray: the smaller one of fair share and demand."
            found.append((f"Shares of the queues, {run.input.name}", text, charts.queue_chart(run)))
    # The SVG has texts of the trace, which its renderer escapes.
    return [
        {"title": title, "definition": text, "svg": markupsafe.Markup(charts.render(spec))}  # noqa: S704
        for title, text, spec in found
        if spec is not None
    ]


def _error_bars(policies: Sequence[Policy]) -> str:
    return " Bars are means over the seeds, lines the standard deviation." * (len(policies[0].metrics) > 1)


def wait_tables(policies: Sequence[Policy]) -> list[Table]:
    """Waits by size, by queue, and by priority if there are several."""
    tables = [_waits("Jobs by size", "by_size", policies), _waits("Jobs by queue", "by_queue", policies)]
    if len(group_names("by_priority", policies)) > 1:
        tables.append(_waits("Jobs by priority", "by_priority", policies))
    return tables


def _waits(title: str, key: str, policies: Sequence[Policy]) -> Table:
    """One row for each group of jobs and policy, so that policies are below each other."""
    several = len(policies) > 1
    heads = [title.rpartition(" ")[2].capitalize(), *["Run"] * several, *[what for what, _, _ in _WAITS]]
    rows = [
        [
            name if policy is policies[0] else "",
            *[policy.name] * several,
            *[spread_text(kind, policy.spread(value_at(key, name, *path))) for _, kind, path in _WAITS],
        ]
        for name in group_names(key, policies)
        for policy in policies
    ]
    text = f"Waits to the first start, bounded slowdown, and evictions that ended a segment. {P95}"
    return Table(title, text, heads, rows)


def _tables(runs: Sequence[Run], policies: Sequence[Policy]) -> list[Table]:
    tables = []
    for policy in policies:
        rows = [
            (
                name,
                *[
                    spread_text(kind, policy.spread(value_at("queues", name, key)))
                    for _, kind, key in _ENTITLEMENT
                ],
            )
            for name in policy.metrics[0]["queues"]
        ]
        heads = ("Queue", *[title for title, _, _ in _ENTITLEMENT])
        text = "The entitlement is the smaller one of fair share and demand, of each cycle. " + " ".join(
            f"{title}: {DEFINITIONS[key]}" for title, _, key in _ENTITLEMENT if key in DEFINITIONS
        )
        tables.append(Table(f"Entitlement, {policy.name}", text, heads, rows))
    for run in runs[1:]:
        losers, winners = compare(runs[0], run)
        for what, changes in (("lose", losers), ("gain", winners)):
            title = f"Jobs that {what} most from {runs[0].input.name} to {run.input.name}"
            heads = ("Job", "Queue", "GPUs", runs[0].input.name, run.input.name, "Difference")
            rows_of = [_cells(change) for change in changes]
            text = f"Turnaround of the {MAX_CHANGES} jobs with the largest differences."
            tables.append(Table(title, text, heads, rows_of))
    return tables


def _cells(change: Change) -> tuple[str, ...]:
    return change.job, change.queue, f"{change.gpus:g}", change.before, change.after, change.difference


def _inputs(groups: Sequence[Sequence[Run]]) -> list[list[str]]:
    described = [[run.to_json() for run in group] for group in groups]
    rows = [["policy", *[str(group[0]["policy"]) for group in described]]]
    rows += [
        [f"arguments of {name}", *[_arguments(group[0], name) for group in groups]]
        for name in dict.fromkeys(name for group in groups for name in _plugins(group[0]))
    ]
    rows.append(["version of Tenure", *[package_version()] * len(groups)])
    rows.append(["input digest", *[_listed(run["input_digest"] for run in group) for group in described]])
    for key in described[0][0]["settings"]:
        rows.append([key, *[_listed(run["settings"][key] for run in group) for group in described]])
    rows.append(["cycles", *[_listed(f"{run.results.cycles:,}" for run in group) for group in groups]])
    return rows


def _plugins(run: Run) -> dict[str, Mapping[str, str]]:
    """Arguments of the plugins that have any, by name."""
    if not isinstance(run.input.policy, Profile):
        return {}
    return {plugin.name: plugin.arguments for plugin in run.input.policy.plugins if plugin.arguments}


def _arguments(run: Run, name: str) -> str:
    return ", ".join(f"{key}: {value}" for key, value in _plugins(run).get(name, {}).items()) or "-"


def _listed(values: Iterable[str]) -> str:
    """Different values, each once."""
    return "; ".join(dict.fromkeys(values))
