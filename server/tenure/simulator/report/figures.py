"""The figures that tables and pages show: where each is in the metrics, how it is written, and what it is."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from tenure.simulator.comparison import Policy, Spread, value_at
from tenure.simulator.metrics import DEFINITIONS, SIZES
from tenure.terms.durations import SECOND
from tenure.terms.formatting import format_rough


class Figure(NamedTuple):
    """One figure of a run."""

    title: str
    path: tuple[str, ...]
    kind: str
    """duration (seconds), ratio, hours, count or number."""
    definition: str

    def of(self, metrics: Mapping[str, Any]) -> float | None:
        """Its value; None: there is none."""
        return value_at(*self.path)(metrics)


_PARTS: Final = (("mean", "mean"), ("median", "p50"), ("p95", "p95"), ("p99", "p99"), ("longest", "max"))
"""Names of the figures of a time of jobs, and where they are."""


def _jobs(title: str, key: str) -> list[Figure]:
    kind = "number" if key == "bounded_slowdown" else "duration"
    return [Figure(f"{title}, {name}", ("all", key, part), kind, key) for name, part in _PARTS]


_COUNTS: Final = (
    Figure("Jobs submitted", ("jobs", "submitted"), "count", "submitted"),
    Figure("Jobs completed", ("jobs", "completed"), "count", "completed"),
    Figure("Jobs never started", ("jobs", "never_started"), "count", "never_started"),
)
JOB_FIGURES: Final = (*_COUNTS, *_jobs("Wait", "wait"), *_jobs("Total wait", "total_wait"))
END_FIGURES: Final = (
    *_jobs("Turnaround", "turnaround"),
    *_jobs("Bounded slowdown", "bounded_slowdown"),
)
CLUSTER_FIGURES: Final = (
    Figure("Makespan", ("cluster", "makespan"), "duration", "makespan"),
    Figure("Allocation", ("cluster", "allocation"), "ratio", "allocation"),
    Figure("Goodput", ("cluster", "goodput"), "ratio", "goodput"),
    Figure("Usable GPU hours", ("cluster", "usable_gpu_hours"), "hours", "usable_gpu_hours"),
    Figure("Kept GPU hours", ("cluster", "kept"), "hours", "kept"),
    Figure("Lost GPU hours", ("cluster", "lost"), "hours", "lost"),
    Figure("Overhead GPU hours", ("cluster", "overhead"), "hours", "overhead"),
    Figure("Terminating GPU hours", ("cluster", "terminating"), "hours", "terminating"),
    Figure("Unsaved GPU hours", ("cluster", "unsaved"), "hours", "unsaved"),
    Figure("Idle GPU hours", ("cluster", "idle"), "hours", "idle"),
    Figure("Fragmentation", ("cluster", "fragmentation"), "ratio", "fragmentation"),
    Figure("Unusable GPUs: no CPU", ("cluster", "unusable_no_cpu"), "number", "unusable_no_cpu"),
    Figure("Unusable GPUs: no GPU", ("cluster", "unusable_no_gpu"), "number", "unusable_no_gpu"),
    Figure("Unusable GPUs: neither", ("cluster", "unusable_neither"), "number", "unusable_neither"),
    Figure("Unusable GPUs: other kind", ("cluster", "unusable_other_kind"), "number", "unusable_other_kind"),
    Figure("Jain index", ("cluster", "jain"), "number", "jain"),
)
EVICTION_FIGURES: Final = (
    Figure("Evictions", ("evictions", "evictions"), "count", "evictions"),
    Figure("Evictions per job", ("evictions", "evictions_per_job"), "number", "evictions_per_job"),
    Figure("Jobs evicted", ("evictions", "jobs_evicted"), "ratio", "jobs_evicted"),
    Figure("Eviction rate after GFS", ("evictions", "eviction_rate_gfs"), "ratio", "eviction_rate_gfs"),
    Figure("Barren segments", ("evictions", "barren_segments"), "count", "barren_segments"),
    Figure("Evictions in turn", ("evictions", "in_turn"), "count", "in_turn"),
    Figure("Evictions in vain", ("evictions", "in_vain"), "count", "in_vain"),
    Figure("Evictions soon after a start", ("evictions", "repeats"), "count", "repeats"),
    Figure("Notices given", ("evictions", "notices_given"), "count", "notices_given"),
    Figure("Notices withdrawn", ("evictions", "notices_withdrawn"), "count", "notices_withdrawn"),
    Figure("Notices carried out", ("evictions", "notices_carried_out"), "count", "notices_carried_out"),
    Figure("Protections not kept", ("evictions", "violations"), "count", "violations"),
)
SECTIONS: Final = (
    ("Jobs", JOB_FIGURES),
    ("Jobs that completed", END_FIGURES),
    ("GPU time", CLUSTER_FIGURES),
    ("Evictions", EVICTION_FIGURES),
)


_DURATIONS: Final = ("wait", "total_wait", "turnaround", "makespan", "longest_below")


def is_duration(path: str) -> bool:
    """Whether the figure at a path below `metrics`, such as `all.wait.mean`, is a time in seconds."""
    return any(part in _DURATIONS for part in path.split(".")) and not path.endswith(".count")


def group_names(key: str, policies: Sequence[Policy]) -> list[str]:
    """Names of the groups of jobs of the policies: sizes from small to large, queues by name, priorities from
    high to low. Runs that an earlier version kept may lack a key.
    """
    found = {name for policy in policies for metrics in policy.metrics for name in metrics.get(key, {})}
    if key == "by_priority":
        return sorted(found, key=int, reverse=True)
    sizes = [name for name, _ in SIZES]
    return [name for name in sizes if name in found] if key == "by_size" else sorted(found)


def definition_of(figure: Figure) -> str:
    """One sentence about a figure."""
    return DEFINITIONS[figure.definition]


def figure_text(figure: Figure, policy: Policy) -> str:
    """A figure of a policy, for people."""
    return spread_text(figure.kind, policy.spread(figure.of))


def difference_text(figure: Figure, base: Policy, policy: Policy) -> str:
    """What a policy adds to a figure of another one, for people."""
    found = policy.difference(base, figure.of)
    if found is None:
        return "-"
    if not found.mean and not found.deviation:
        return "±0"
    sign = "+" if found.mean > 0 else "-" if found.mean < 0 else ""
    return sign + spread_text(figure.kind, found._replace(mean=abs(found.mean)))


def spread_text(kind: str, found: Spread | None) -> str:
    """The value of one run, or the mean of several ones with their standard deviation, for people."""
    if found is None:
        return "-"
    if found.runs == 1:
        return value_text(kind, found.mean)
    of_mean = "hours" if kind == "count" else kind  # a mean of counts has a fraction
    return f"{value_text(of_mean, found.mean)} ± {value_text(of_mean, found.deviation)}"


def value_text(kind: str, value: float | None) -> str:
    """A value, for people."""
    if value is None:
        return "-"
    match kind:
        case "duration":
            return duration_text(value)
        case "ratio":
            return f"{value:.1%}"
        case "hours":
            return f"{value:,.1f}"
        case "count":
            return f"{value:,.0f}"
    return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.1f}"


def duration_text(value: float | None) -> str:
    """A duration in seconds, for people; `-` for None."""
    if value is None:
        return "-"
    return format_rough(round(value * SECOND)) if value >= 1 else "0s" if not value else "<1s"
