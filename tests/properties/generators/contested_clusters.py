"""Random clusters that are nearly full and have pending pod groups, so that cycles evict pods.

Every fact that a guard reads is drawn: start times, minimum and expected runtimes, preemptibility, opt-outs,
earlier evictions and waits, and eviction history. Durations are round numbers of minutes. The clock is at
such a time, one nanosecond off or far off, so that ends of protections are met exactly.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tenure.solver.model.caller_state import EvictionRecord
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.requeue import ParsedValue, RequeueSettings
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import ClusterBuilder
from tenure.solver.testing.options import GroupOptions, PodOptions, QueueOptions
from tenure.terms.durations import SECOND, parse_duration

from tests.properties.generators.draw import Draw

MINUTE: Final = 60 * SECOND
ACTIONS: Final = ("reclaim", "preempt", "consolidation", "requeue")
TREES: Final = (
    {"a": "", "b": ""},
    {"top": "", "a": "top", "b": "top"},
    {"x": "", "a": "x", "b": "x", "y": "", "c": "y"},
    {"top": "", "x": "top", "a": "x", "b": "x", "y": "top", "c": "y"},
)
"""Queues and their parents. Queues named `a` to `c` are leaves."""
MINIMUMS: Final = (None, None, "0s", "10m", "30m", "1h")
AGES: Final = ("0s", "5m", "10m", "25m", "30m", "55m", "1h", "2h", None)
EXPECTED: Final = (None, None, "10m", "30m", "1h", "65m", "2h")
REMEMBERED: Final = ("1m", "2m", "5m", "10m", "40m", "1h", "9h")
CLOCKS: Final = (0, 0, 0, -1, 1, 5 * MINUTE, 31 * MINUTE, -20 * MINUTE, -3 * 60 * MINUTE)
"""Offsets of the clock. With large negative offsets all start times are in the future."""
FIRM: Final = (Preemptibility.PREEMPTIBLE,) * 6 + (
    Preemptibility.SEMI_PREEMPTIBLE,
    Preemptibility.SEMI_PREEMPTIBLE,
    Preemptibility.NON_PREEMPTIBLE,
    Preemptibility.UNSPECIFIED,
)


def contested_cluster(draw: Draw) -> Cluster:
    """Two to four nodes, two or three leaf queues, up to ten pod groups."""
    builder = ClusterBuilder()
    tree = draw.choice(TREES)
    for name, parent in tree.items():
        builder.queue(name, **_queue(draw, parent))
    leaves = [name for name in tree if name in "abc"]
    add_pod_groups = _add_fragmented if draw.chance(30) else _add_until_full
    add_pod_groups(draw, builder, leaves)
    cluster = builder.build()
    return replace(
        cluster, now=cluster.now + draw.choice(CLOCKS), eviction_history=_with_eviction_history(draw, cluster)
    )


def _add_until_full(draw: Draw, builder: ClusterBuilder, leaves: Sequence[str]) -> None:
    """Fill the nodes with running pod groups, then add pending ones. Little capacity is left for the last."""
    free = {f"n{number}": draw.choice((2, 2, 3, 4)) for number in range(draw.integer(2, 4))}
    for name, gpus in free.items():
        builder.node(name, gpus=gpus)
    for number in range(draw.integer(3, 7)):
        group, gpus = _running_facts(draw, leaves), draw.choice((1, 1, 1, 2))
        shape = _shape(draw, builder, f"old{number}", group, draw.integer(1, 4))
        _add_running(draw, builder, f"old{number}", shape, gpus, free)
    for number in range(draw.integer(1, 3)):
        gpus, count = draw.choice((1, 2, 2)), draw.choice((1, 1, 2, 3))
        _add_pending(draw, builder, f"new{number}", leaves, gpus, count)


def _add_fragmented(draw: Draw, builder: ClusterBuilder, leaves: Sequence[str]) -> None:
    """Use half of every node, so that a pod that needs a complete node requires a relocation."""
    for number in range(draw.integer(2, 4)):
        builder.node(f"n{number}", gpus=2)
        shape = _shape(draw, builder, f"old{number}", _running_facts(draw, leaves), draw.choice((1, 1, 2)))
        _add_running(draw, builder, f"old{number}", shape, 1, {f"n{number}": 1})
    _add_pending(draw, builder, "new", leaves, 2, 1)


def _queue(draw: Draw, parent: str) -> QueueOptions:
    options: QueueOptions = {"parent": parent, "quota": draw.choice((8, 4, 1, 0))}
    fields = {"preempt_min_runtime": MINIMUMS, "reclaim_min_runtime": MINIMUMS}
    drawn = {name: draw.choice(values) for name, values in fields.items()}
    drawn["expected_runtime"] = draw.choice((None, None, None, "0s", "30m", "1h"))
    return {**options, **{name: value for name, value in drawn.items() if value is not None}}


def _running_facts(draw: Draw, leaves: Sequence[str]) -> GroupOptions:
    return {**_facts(draw, draw.choice(leaves)), "priority": draw.choice((40, 50, 60, 110))}


def _add_running(
    draw: Draw,
    builder: ClusterBuilder,
    name: str,
    pods: Sequence[PodOptions],
    gpus: int,
    free: dict[str, int],
) -> None:
    """Place pods on nodes with free capacity. Pods that do not fit, and a few others, stay pending."""
    status = TaskStatus.RELEASING if draw.chance(4) else TaskStatus.RUNNING
    for pod in pods:
        rooms = [node for node, left in free.items() if left >= gpus]
        if not rooms or draw.chance(3):
            builder.pending(name, gpus=gpus, **pod)
            continue
        node = draw.choice(rooms)
        free[node] -= gpus
        builder.pods(name, status, node=node, gpus=gpus, **pod)


def _add_pending(
    draw: Draw, builder: ClusterBuilder, name: str, leaves: Sequence[str], gpus: int, count: int
) -> None:
    """Add a pod group that is not placed yet."""
    group = {**_facts(draw, draw.choice(leaves)), "priority": draw.choice((75, 90, 50, 120))}
    if draw.chance(10):
        group["preemption_delay"] = draw.choice(("9h", "2h"))
    for pod in _shape(draw, builder, name, group, count):
        builder.pending(name, gpus=gpus, **pod)


def _shape(
    draw: Draw, builder: ClusterBuilder, name: str, group: GroupOptions, count: int
) -> list[PodOptions]:
    """Draw a gang, an elastic pod group, or sub groups on one or two levels; return its pod options."""
    kind = draw.choice(("gang", "elastic", "elastic", "parts", "nested")) if count > 1 else "gang"
    if kind in ("gang", "elastic"):
        low = count if kind == "gang" else draw.integer(0, count - 1)
        builder.pod_group(name, **{**group, "min_member": low})
        return [{}] * count
    if draw.chance(50):
        group["min_sub_groups"] = 1
    builder.pod_group(name, **group)
    names = ["one", "two"] if kind == "parts" else ["one", "two", "alone"]
    around = "" if kind == "parts" else "both"
    if around:
        builder.sub_group(name, around, **({"min_sub_groups": 1} if draw.chance(50) else {}))
    parts: list[PodOptions] = [{"sub_group": names[number % len(names)]} for number in range(count)]
    for part in names:
        size = sum(each["sub_group"] == part for each in parts)
        parent = "" if part == "alone" else around
        builder.sub_group(name, part, parent=parent, min_member=draw.integer(min(size, 1), max(size, 1)))
    return parts


def _facts(draw: Draw, queue: str) -> GroupOptions:
    """Facts that guards read."""
    group: GroupOptions = {
        "queue": queue,
        "preemptibility": draw.choice(FIRM),
        "started_ago": draw.choice(AGES),
        "eviction_count": draw.choice((0, 0, 1, 2, 3)),
        "evictions": draw.choice(({}, {}, {"preempt": 2}, {"stale_gang": 1, "external": 2})),
        "evictions_without_progress": draw.choice((0, 0, 1, 2, 5, 2**30)),
        "total_eviction_wait": draw.choice(("0s", "0s", "1h", "24h", "25h")),
        "requeue": _expected_runtime_fields(draw),
    }
    if draw.chance(25):
        group["opt_out_actions"] = [action for action in ACTIONS if draw.chance(40)]
    if draw.chance(15):
        group["evicted_ago"] = draw.choice(("5m", "1h"))
    return group


def _expected_runtime_fields(draw: Draw) -> RequeueSettings:
    """Expected runtime: set, unset (the queue's applies) or invalid."""
    if draw.chance(5):
        return RequeueSettings(ParsedValue(None, "'long' is not a duration"))
    duration = draw.choice(EXPECTED)
    return RequeueSettings(ParsedValue(None if duration is None else parse_duration(duration)))


def _with_eviction_history(draw: Draw, cluster: Cluster) -> tuple[EvictionRecord, ...]:
    """Eviction records of earlier cycles for a few pairs, all settled."""
    found: dict[tuple[int, int], EvictionRecord] = {}
    groups = [group.index for group in cluster.pod_groups]
    for _ in range(draw.choice((0, 6, 12))):
        victim, preemptor = draw.choice(groups), draw.choice(groups)
        failures = draw.choice((0, 1, 2, 5))
        failed = cluster.now - parse_duration(draw.choice(REMEMBERED)) if failures else None
        evicted = cluster.now - parse_duration(draw.choice(REMEMBERED))
        if victim != preemptor:
            found[victim, preemptor] = EvictionRecord(victim, preemptor, evicted, failures, failed)
    return tuple(found[pair] for pair in sorted(found))
