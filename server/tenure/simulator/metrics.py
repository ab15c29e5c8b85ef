"""Metrics of a run, from its results alone. `DEFINITIONS` says what each figure is."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from tenure.simulator.job_run import PodTimes, Segment
from tenure.simulator.jobs import WHOLE_GPU
from tenure.simulator.protections import Violation
from tenure.simulator.results import EVICTED, WITHDRAWN, JobResult, Results
from tenure.terms.durations import SECOND
from tenure.v1.pod_group_status_pb2 import UnusableGpus

TAU: Final = 10
"""Seconds below which a runtime counts as so long, in the bounded slowdown."""
GUARANTEE: Final = 3_600 * SECOND
"""Guarantee period of the eviction rate after GFS."""
RETALIATION_TIME: Final = 3_600 * SECOND
"""Time within which an eviction in the other direction is thrash."""
IN_VAIN: Final = 300 * SECOND
"""Time within which a beneficiary must start; the default of options.decisionGroupTimeout."""
SOON: Final = 600 * SECOND
"""Time after a start within which an eviction counts as a repeat."""
SIZES: Final = (("up to 1 GPU", 1), ("2-4 GPUs", 4), ("5-8 GPUs", 8), ("over 8 GPUs", 1 << 62))
_GPU_HOUR: Final = WHOLE_GPU * 3_600 * SECOND
_SHOWN: Final = 10
QUANTILES: Final = (50, 90, 95, 99)
"""In percent."""

Summary = dict[str, float | int | None]

DEFINITIONS: Final = {
    "submitted": "Jobs that were submitted within the run.",
    "completed": "Jobs that ended within the run.",
    "never_started": "Jobs that were submitted and never ran.",
    "wait": "Time from submission to the first start.",
    "total_wait": "Turnaround without the time in which the job ran: waits after evictions add up.",
    "turnaround": "Time from submission to completion.",
    "bounded_slowdown": f"Turnaround over runtime, with runtimes below {TAU} s counted as {TAU} s; at least "
    "1.",
    "makespan": "Time from the first submission to the last completion.",
    "allocation": "Part of the usable GPU time of the whole run in which pods had the GPUs, terminating "
    "pods included.",
    "goodput": "Part of the usable GPU time that became work that was kept.",
    "kept": "GPU hours of work that was completed, or saved by a checkpoint.",
    "usable_gpu_hours": "GPU hours of nodes that were up: the sum of kept, lost, overhead, terminating, "
    "unsaved and idle.",
    "lost": "GPU hours of work that was done and not kept when a segment ended.",
    "overhead": "GPU hours in which pods started, restarted or waited for the rest of their minimum.",
    "terminating": "GPU hours from eviction until the capacity was free.",
    "unsaved": "GPU hours of work that was not saved when the run ended.",
    "idle": "GPU hours of usable GPUs without a pod.",
    "fragmentation": "Part of the free GPUs that the pods of the cluster could not use: mean over their most "
    "frequent requests, in the first cycle of each hour.",
    "unusable_no_cpu": "GPUs that could not be used because their node had too little CPU.",
    "unusable_no_gpu": "GPUs that could not be used because their node had too few or too small ones.",
    "unusable_neither": "GPUs that could not be used because their node had too little of both.",
    "unusable_other_kind": "GPUs that could not be used because the pods may not run on their node.",
    "evictions": "Times that an eviction ended a segment of a job.",
    "evictions_per_job": "Evictions over jobs that started.",
    "jobs_evicted": "Part of the started jobs that were evicted at least once.",
    "eviction_rate_gfs": "Failed over all guarantee periods of 1 h: a full hour or a completion "
    "succeeds, an eviction fails.",
    "barren_segments": "Segments that ended early and kept no work.",
    "in_turn": "Evictions of A for B within 1 h after B was evicted for A.",
    "in_vain": "Evictions whose beneficiary did not start within 5 min.",
    "repeats": "Evictions within 10 min after the victim started.",
    "notices_given": "Notices of an eviction, one for each decision and victim.",
    "notices_withdrawn": "Notices that were withdrawn: the eviction was not needed, or no longer allowed.",
    "notices_carried_out": "Notices after which the pods were evicted. The others were withdrawn, or the job "
    "or the run ended before.",
    "violations": "Evictions of protected work, found outside of the solver. Must be 0.",
    "shortfall": "Part of a queue's entitlement (the smaller one of fair share and demand) that it lacked.",
    "excess": "GPU time beyond the entitlement, as a part of the entitlement.",
    "longest_below": "Longest time below 90 % of the entitlement.",
    "jain": "Jain's index of allocation over entitlement among entitled queues, as mean over time.",
}


def size_of(gpu_milli: int) -> str:
    """Name of the size class of a job."""
    return next(name for name, most in SIZES if gpu_milli <= most * WHOLE_GPU)


def build_metrics(results: Results, violations: Sequence[Violation]) -> dict[str, Any]:
    """All metrics, as JSON. Times are in seconds, GPU time in hours."""
    times = [result.gpu_times for result in results.jobs]
    total = PodTimes(*[sum(amounts) for amounts in zip(*times, strict=True)]) if times else PodTimes()
    started = [result for result in results.jobs if result.first_start is not None]
    evicted = sum(result.evictions for result in results.jobs)
    return {
        "jobs": {
            "submitted": len(results.jobs),
            "started": len(started),
            "completed": sum(result.end is not None for result in results.jobs),
            "never_started": len(results.jobs) - len(started),
        },
        "cluster": {
            "makespan": (results.end - results.start) / SECOND,
            "usable_gpu_hours": results.usable / _GPU_HOUR,
            "allocation": _ratio(results.used, results.usable),
            "goodput": _ratio(total.kept, results.usable),
            "kept": total.kept / _GPU_HOUR,
            "lost": total.lost / _GPU_HOUR,
            "unsaved": total.unsaved / _GPU_HOUR,
            "overhead": total.overhead / _GPU_HOUR,
            "terminating": total.terminating / _GPU_HOUR,
            "idle": (results.usable - results.used) / _GPU_HOUR,
            "unbalanced_milli_gpu_ns": results.used - total.total,
            **_fragmentation(results.samples),
            "jain": results.jain_sum / results.jain_time if results.jain_time else None,
            "node_failures": results.node_failures,
        },
        "evictions": {
            "evictions": evicted,
            "evictions_per_job": _ratio(evicted, len(started)),
            "jobs_evicted": _ratio(sum(result.evictions > 0 for result in results.jobs), len(started)),
            "by_action": _count(eviction.action for eviction in results.evictions),
            "eviction_rate_gfs": _gfs_rate(results.segments),
            "barren_segments": sum(result.barren for result in results.jobs),
            "violations": len(violations),
            "notices_given": len(results.notices),
            "notices_withdrawn": sum(notice.result == WITHDRAWN for notice in results.notices),
            "notices_carried_out": sum(notice.result == EVICTED for notice in results.notices),
            **_thrash(results),
        },
        "all": _of_jobs(results.jobs),
        "by_size": _by(results.jobs, lambda result: size_of(result.job.total_gpu_milli)),
        "by_queue": _by(results.jobs, lambda result: result.job.queue),
        "by_priority": _by(results.jobs, lambda result: str(result.job.priority)),
        "queues": {name: _queue(results, name) for name in results.queue_names},
        "most_delayed": _extremes(results),
        "work": {
            "cycles": results.cycles,
            "skipped_cycles": results.skipped_cycles,
            "decision_groups": dict(sorted(results.decisions.items())),
            "search": dict(sorted(results.counters.items())),
        },
    }


def _fragmentation(samples: Sequence[UnusableGpus]) -> dict[str, float | None]:
    """Part of the free GPUs that the mix could not use, and means in GPUs by cause."""
    causes = {
        "unusable_no_cpu": sum(sample.no_cpu_gpu_milli for sample in samples),
        "unusable_no_gpu": sum(sample.no_gpu_gpu_milli for sample in samples),
        "unusable_neither": sum(sample.neither_gpu_milli for sample in samples),
        "unusable_other_kind": sum(sample.other_kind_gpu_milli for sample in samples),
    }
    free = sum(sample.free_gpu_milli for sample in samples)
    means = {name: cause / len(samples) / WHOLE_GPU if samples else None for name, cause in causes.items()}
    return {"fragmentation": _ratio(sum(causes.values()), free), **means}


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _count(names: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return dict(sorted(found.items()))


def _of_jobs(results: Sequence[JobResult]) -> dict[str, Summary]:
    """Summaries over jobs: waits over those that started, the rest over those that completed."""
    started = [result for result in results if result.first_start is not None]
    ended = [result for result in results if result.end is not None]
    return {
        "wait": _summary(started, lambda result: ((result.first_start or 0) - result.job.submit) / SECOND),
        "total_wait": _summary(ended, lambda result: (_turnaround(result) - result.running_time) / SECOND),
        "turnaround": _summary(ended, lambda result: _turnaround(result) / SECOND),
        "bounded_slowdown": _summary(ended, bounded_slowdown),
    }


def _turnaround(result: JobResult) -> int:
    return (result.end or 0) - result.job.submit


def bounded_slowdown(result: JobResult) -> float:
    """Bounded slowdown of a completed job."""
    return max(1.0, _turnaround(result) / max(result.job.runtime, TAU * SECOND))


def _summary(results: Sequence[JobResult], value: Callable[[JobResult], float]) -> Summary:
    weights = [result.job.total_gpu_milli * result.job.runtime for result in results]
    return summarize([value(result) for result in results], weights)


def _by(results: Sequence[JobResult], key: Callable[[JobResult], str]) -> dict[str, Any]:
    found: dict[str, list[JobResult]] = {}
    for result in results:
        found.setdefault(key(result), []).append(result)
    return {
        name: {
            **_of_jobs(members),
            "jobs": len(members),
            "evictions": sum(member.evictions for member in members),
            "lost": sum(member.gpu_times.lost for member in members) / _GPU_HOUR,
        }
        for name, members in sorted(found.items())
    }


def _queue(results: Results, name: str) -> dict[str, float | None]:
    totals = results.queues[name]
    return {
        "allocated": totals.allocated / _GPU_HOUR,
        "demand": totals.demand / _GPU_HOUR,
        "entitled": totals.entitled / _GPU_HOUR,
        "shortfall": _ratio(totals.shortfall, totals.entitled),
        "excess": _ratio(totals.excess, totals.entitled),
        "longest_below": totals.longest_below / SECOND,
    }


def _gfs_rate(segments: Sequence[Segment]) -> float | None:
    failed = succeeded = 0
    for segment in segments:
        succeeded += (segment.end - segment.start) // GUARANTEE
        if segment.why == "completed":
            succeeded += 1
        else:
            failed += 1
    return _ratio(failed, failed + succeeded)


def _thrash(results: Results) -> dict[str, int]:
    starts: dict[str, list[int]] = {}
    for segment in results.segments:
        starts.setdefault(segment.job, []).append(segment.start)
    for result in results.jobs:
        if result.first_start is not None and result.end is None:
            starts.setdefault(result.job.name, []).append(result.first_start)
    last: dict[tuple[str, str], int] = {}
    retaliatory = in_vain = repeats = 0
    for eviction in results.evictions:
        back = last.get((eviction.beneficiary, eviction.victim))
        retaliatory += back is not None and eviction.time - back <= RETALIATION_TIME
        last[eviction.victim, eviction.beneficiary] = eviction.time
        until = eviction.time + IN_VAIN
        in_vain += not any(eviction.time <= start <= until for start in starts.get(eviction.beneficiary, ()))
        repeats += eviction.time - eviction.last_start < SOON
    return {"in_turn": retaliatory, "in_vain": in_vain, "repeats": repeats}


def _extremes(results: Results) -> list[dict[str, Any]]:
    """The jobs with the longest total wait."""
    ended = [result for result in results.jobs if result.end is not None]
    ended.sort(key=lambda result: (result.running_time - _turnaround(result), result.job.name))
    return [
        {
            "job": result.job.name,
            "queue": result.job.queue,
            "gpus": result.job.total_gpu_milli / WHOLE_GPU,
            "total_wait": (_turnaround(result) - result.running_time) / SECOND,
            "runtime": result.job.runtime / SECOND,
            "evictions": result.evictions,
        }
        for result in ended[:_SHOWN]
    ]


def summarize(values: Sequence[float], weights: Sequence[int]) -> Summary:
    """Count, mean, quantiles and maximum; `weighted_p*` are quantiles of the weight."""
    if not values:
        return {"count": 0}
    pairs = sorted(zip(values, weights, strict=True))
    count = len(pairs)
    found: Summary = {"count": count, "mean": sum(values) / count}
    for percent in QUANTILES:
        found[f"p{percent}"] = pairs[max(-(-percent * count // 100), 1) - 1][0]
    found["max"] = pairs[-1][0]
    total, weight, wanted = sum(weights), 0, list(QUANTILES)
    if total:
        for value, part in pairs:
            weight += part
            while wanted and weight * 100 >= wanted[0] * total:
                found[f"weighted_p{wanted.pop(0)}"] = value
    return found
