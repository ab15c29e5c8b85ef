"""Decision groups of a cycle in numbers, for metrics, logs and spans."""

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.decision import CycleResult, InFlightGroupState


class GroupSummary(NamedTuple):
    """One decision group."""

    id: str
    action: str
    decisions: int
    """Number of its decisions."""


class NoticeCounts(NamedTuple):
    """Notices of one cycle, in pods by action."""

    given: Mapping[str, int]
    carried_out: Mapping[str, int]
    """Evictions that follow a notice."""
    withdrawn: Mapping[tuple[str, int], int]
    """By action, and ReasonCode of the in-flight group."""
    durations: tuple[tuple[str, int], ...]
    """Action, and nanoseconds from the notices to the evictions, of each decision group with notices."""


NO_NOTICES: Final = NoticeCounts({}, {}, {}, ())


def summarize_groups(
    result: CycleResult, group_ids: list[str]
) -> tuple[tuple[GroupSummary, ...], dict[tuple[str, str], int], dict[tuple[str, str], int]]:
    """Decision groups, their decisions by action and kind, and allowed evictions by guard and action."""
    groups: list[GroupSummary] = []
    decisions: dict[tuple[str, str], int] = {}
    allowed: dict[tuple[str, str], int] = {}
    for id, group in zip(group_ids, result.groups, strict=True):
        action, total = group.action, 0
        for kind, count in (
            ("notify", len(group.notices.evictions)),
            ("withdraw_notice", len(group.notices.withdrawn)),
            ("evict", len(group.evictions)),
            ("requeue", len(group.requeues)),
            ("reserve", len(group.reservations)),
            ("bind", len(group.bindings)),
            ("patch", len(group.patches)),
        ):
            if count:
                total += count
                decisions[action, kind] = decisions.get((action, kind), 0) + count
        for eviction in group.evictions:
            for verdict in eviction.guards:
                key = (verdict.guard, action)
                allowed[key] = allowed.get(key, 0) + 1
        groups.append(GroupSummary(id, action, total))
    return tuple(groups), decisions, allowed


def count_notices(cluster: Cluster, result: CycleResult) -> NoticeCounts:
    """Notices that are given, carried out and withdrawn."""
    reasons = {
        cluster.in_flight[status.group].id: int(status.reason.code)
        for status in result.in_flight
        if cluster.in_flight[status.group].notices
    }
    given, carried_out, withdrawn = Counter[str](), Counter[str](), Counter[tuple[str, int]]()
    durations: list[tuple[str, int]] = []
    for group in result.groups:
        if group.notices.evictions:
            given[group.action] += len(group.notices.evictions)
            durations.append((group.action, group.notices.evict_time - cluster.now))
        if group.fulfills_group in reasons:
            if group.evictions:
                carried_out[group.action] += len(group.evictions)
            if group.notices.withdrawn:
                key = group.action, reasons[group.fulfills_group]
                withdrawn[key] += len(group.notices.withdrawn)
    return NoticeCounts(given, carried_out, withdrawn, tuple(durations))


def pods_with_notice(cluster: Cluster, result: CycleResult) -> Counter[int | None]:
    """Pods whose notice stands after the cycle, by the queue of their pod group."""
    found = Counter[int | None]()
    noticed = [step.task for group in result.groups for step in group.notices.evictions]
    for status in result.in_flight:
        if status.state is InFlightGroupState.IN_FLIGHT:
            noticed += cluster.in_flight[status.group].tasks_with_notice(cluster.tasks)
    for task in noticed:
        found[cluster.pod_groups[cluster.tasks[task].pod_group].queue] += 1
    return found
