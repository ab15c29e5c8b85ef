"""Rows of KAI and Volcano pod groups (semantics R1.50 to R1.60, R8.1, R9.1, R9.5).

A pod group that a server would reject has no such row: its pending pods wait, and those on nodes have another
one (`stand_ins`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.kubernetes.objects import kai, names, volcano
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.objects.times import read_duration, timestamp
from tenure.kubernetes.observe.annotations.fields import COSTS, STORED, read_fields
from tenure.kubernetes.observe.snapshot_scope import Priorities
from tenure.kubernetes.observe.wishes import (
    LONGEST_ANNOTATION,
    Place,
    priority_classes_of,
    queue_of,
    read_durations,
    read_preemptibility,
)
from tenure.kubernetes.rows.pods import started_at, uses_resources
from tenure.terms.reasons import GUARDED_ACTIONS
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_COUNT, MAX_DURATION_SECONDS, MAX_SUB_GROUPS

DEFAULT_GRACE_SECONDS: Final = 30
"""Termination grace period of pods that set none, in Kubernetes."""
Levels = Mapping[str, Mapping[str, str]]
"""Node labels of levels, by topology and by what names a level: the node label itself, or its alias."""
VOLCANO_DEFAULT_QUEUE: Final = "default"
"""Queue of Volcano pod groups that name none."""
_MAX_DEPTH: Final = 32
_MOST_MEMBERS: Final = 2**31 - 1


class UnusablePodGroup(Exception):
    """The pod group can have no row. The message explains why."""


def kai_pod_group_row(
    group: kai.PodGroup, pods: Sequence[Pod], priorities: Priorities, levels: Levels, warnings: list[str]
) -> pb.PodGroup:
    """The row of a KAI pod group, without stored annotations. Raises UnusablePodGroup."""
    meta, spec = group.metadata, group.spec
    place = Place(meta, spec.preemptibility, spec.priority_class_name)
    row = pb.PodGroup(
        uid=meta.uid,
        name=meta.name,
        namespace=meta.namespace,
        queue=spec.queue or queue_of([place]),
        priority=priorities.of_pod_group(priority_classes_of([place]), pods, warnings),
        creation_time=timestamp(meta.creation_timestamp),
        staleness_grace_period=_span("stalenessGracePeriod", spec.staleness_grace_period, warnings),
        preemption_delay=_span("preemptionDelay", spec.preemption_delay, warnings),
        sub_groups=_sub_groups(spec.sub_groups, levels),
        topology_constraint=constraint_of(spec.topology_constraint, levels),
    )
    read_spans(row, meta.annotations, warnings)
    if spec.min_sub_group and row.sub_groups:
        row.min_sub_group = count(spec.min_sub_group)
    elif not row.sub_groups:
        row.min_member = count(1 if spec.min_member is None else spec.min_member)
    row.never_evicts = priorities.never_evicts(priority_classes_of([place]), pods)
    read_preemptibility(row, [place], warnings)
    read_durations(row, meta.annotations)
    read_fields(row, COSTS, meta.annotations, warnings)
    return row


def volcano_pod_group_row(
    group: volcano.PodGroup, pods: Sequence[Pod], priorities: Priorities, warnings: list[str]
) -> pb.PodGroup:
    """The row of a Volcano pod group, likewise; tasks with minimums are subgroups."""
    meta, spec = group.metadata, group.spec
    place = Place(meta, spec.preemptibility, spec.priority_class_name)
    row = pb.PodGroup(
        uid=meta.uid,
        name=meta.name,
        namespace=meta.namespace,
        queue=spec.queue or queue_of([place]) or VOLCANO_DEFAULT_QUEUE,
        priority=priorities.of_pod_group(priority_classes_of([place]), pods, warnings),
        creation_time=timestamp(meta.creation_timestamp),
        never_evicts=priorities.never_evicts(priority_classes_of([place]), pods),
    )
    if spec.min_task_member:
        tasks = dict.fromkeys(map(task_of, pods), 0) | spec.min_task_member
        lowered = {name.lower(): minimum for name, minimum in tasks.items() if name}
        if len(lowered) > MAX_SUB_GROUPS:
            raise UnusablePodGroup(f"it has {len(lowered):,} tasks, more than {MAX_SUB_GROUPS:,}")
        row.sub_groups.extend(
            pb.SubGroup(name=name, min_member=count(minimum)) for name, minimum in sorted(lowered.items())
        )
    else:
        row.min_member = count(1 if spec.min_member is None else spec.min_member)
    read_spans(row, meta.annotations, warnings)
    read_preemptibility(row, [place], warnings)
    read_durations(row, meta.annotations)
    read_fields(row, COSTS, meta.annotations, warnings)
    return row


def task_of(pod: Pod) -> str:
    """Task of a Volcano pod; "": none."""
    return pod.metadata.annotations.get(names.VOLCANO_TASK, "")


def count(number: int) -> int:
    """A number of members within the limits of a snapshot."""
    return min(max(number, 0), _MOST_MEMBERS)


_SPANS: Final = {
    "staleness_grace_period": names.STALENESS_GRACE_PERIOD,
    "preemption_delay": names.PREEMPTION_DELAY,
}
"""Annotations by the fields that they set."""


def read_spans(row: pb.PodGroup, annotations: Mapping[str, str], warnings: list[str]) -> None:
    """Set the durations that the spec leaves unset from annotations. A negative delay counts as 0 (R9.1)."""
    for field, key in _SPANS.items():
        text = annotations.get(key, "").strip()
        if text and not row.HasField(field):
            span = _span(f"annotation {key}", text, warnings)
            if span is not None:
                getattr(row, field).CopyFrom(span)
    if row.HasField("preemption_delay") and row.preemption_delay.ToNanoseconds() <= 0:
        row.ClearField("preemption_delay")


def _span(field: str, text: str | None, warnings: list[str]) -> Duration | None:
    if text is None:
        return None
    span = read_duration(text)
    if span is None:
        warnings.append(f"{field}: {text[:64]!r} is not a duration")
    return span


def constraint_of(constraint: kai.TopologyConstraint | None, levels: Levels) -> pb.TopologyConstraint | None:
    """A constraint by node labels. Raises UnusablePodGroup if nothing can meet it (semantics R9.21)."""
    if constraint is None or constraint == kai.TopologyConstraint():
        return None
    name = constraint.topology
    wanted = [constraint.required_topology_level, constraint.preferred_topology_level]
    if not name:
        raise UnusablePodGroup(f"it names level {next(filter(None, wanted))!r}, but no topology")
    if name not in levels:
        raise UnusablePodGroup(f"topology {name!r} does not exist, or cannot be used")
    if not any(wanted):
        raise UnusablePodGroup(f"its constraint on topology {name!r} has no level")
    for level in filter(None, wanted):
        if level not in levels[name]:
            raise UnusablePodGroup(f"topology {name!r} has no level {level!r}")
    required, preferred = (levels[name][level] if level else "" for level in wanted)
    return pb.TopologyConstraint(topology=name, required_level=required, preferred_level=preferred)


def constraint_in(annotations: Mapping[str, str], levels: Levels) -> pb.TopologyConstraint | None:
    """The topology constraint that annotations of a workload state, likewise; None: they state none."""
    return constraint_of(kai.TopologyConstraint(*constraint_texts(annotations)), levels)


def constraint_texts(annotations: Mapping[str, str]) -> tuple[str, str, str]:
    """Topology, required and preferred level as annotations state them."""
    keys = (names.TOPOLOGY, names.TOPOLOGY_REQUIRED, names.TOPOLOGY_PREFERRED)
    topology, required, preferred = [annotations.get(key, "").strip() for key in keys]
    return topology, required, preferred


def _sub_groups(groups: Sequence[kai.SubGroup], levels: Levels) -> list[pb.SubGroup]:
    """Subgroups. Their names are compared in lower case (R1.52). Raises UnusablePodGroup."""
    parents = {group.name.lower(): (group.parent or "").lower() for group in groups}
    if "" in parents or len(parents) != len(groups):
        raise UnusablePodGroup("names of its subgroups are empty or repeated")
    if len(groups) > MAX_SUB_GROUPS:
        raise UnusablePodGroup(f"it has {len(groups):,} subgroups, more than {MAX_SUB_GROUPS:,}")
    for name in parents:
        _check_ancestors(name, parents)
    inner = frozenset(parents.values())
    return [_sub_group(group, group.name.lower() in inner, levels) for group in groups]


def _check_ancestors(name: str, parents: Mapping[str, str]) -> None:
    above = name
    for _ in range(_MAX_DEPTH):
        above = parents[above]
        if not above:
            return
        if above not in parents:
            raise UnusablePodGroup(f"parent {above!r} of subgroup {name!r} does not exist")
    raise UnusablePodGroup(f"subgroup {name!r} contains itself, or is more than {_MAX_DEPTH} levels deep")


def _sub_group(group: kai.SubGroup, is_inner: bool, levels: Levels) -> pb.SubGroup:
    """Minimum of a subgroup: of pods in a leaf, else of subgroups. 0 and unset mean all (R1.51)."""
    row = pb.SubGroup(
        name=group.name,
        parent=group.parent or "",
        topology_constraint=constraint_of(group.topology_constraint, levels),
    )
    if is_inner and group.min_sub_group:
        row.min_sub_group = count(group.min_sub_group)
    elif not is_inner and group.min_member is not None:
        row.min_member = count(group.min_member)
    return row


_CAUSES: Final = (*sorted(GUARDED_ACTIONS), "stale_gang", "reservation", "time_limit", "external")
_MOST_OWNERS: Final = 64
_MOST_CAUSES: Final = 32
"""More than there are."""


def read_annotations(row: pb.PodGroup, annotations: Mapping[str, str], warnings: list[str]) -> None:
    """Set fields from stored annotations. An unreadable value counts as unset (semantics R1.60)."""
    read_fields(row, STORED, annotations, warnings)
    _read_counts(row, annotations.get(names.EVICTIONS, ""), warnings)
    if owners := annotations.get(names.BACKFILL_FOR):
        row.backfill_for.pod_groups.extend(filter(None, owners.split(",")[:_MOST_OWNERS]))
    if text := annotations.get(names.GRANT):
        _read_grant(row, text, warnings)
    if stated := annotations.get(names.REQUEUE_NOT_BEFORE):
        row.annotations[names.REQUEUE_NOT_BEFORE] = stated[:LONGEST_ANNOTATION]


def write_counts(counts: pb.EvictionCounts) -> str:
    """Evictions by cause as a text: `preempt=1,reclaim=2`."""
    return ",".join(f"{cause}={count}" for cause, count in sorted(counts.by_cause.items()))


def write_grant(grant: pb.Grant) -> str:
    """What a pod group was given resources under, as a text."""
    return json_format.MessageToJson(grant, indent=None, sort_keys=True)


def _read_grant(row: pb.PodGroup, text: str, warnings: list[str]) -> None:
    """Set the grant. One that cannot be read gives nothing."""
    try:
        json_format.Parse(text, row.grant, ignore_unknown_fields=True)
    except json_format.ParseError:
        warnings.append(f"annotation {names.GRANT}: {text[:64]!r} is no grant: nothing counts as given")
        row.grant.Clear()


def _read_counts(row: pb.PodGroup, text: str, warnings: list[str]) -> None:
    """Set evictions by cause. A part that cannot be read is left out."""
    for part in filter(None, text.split(",")[:_MOST_CAUSES]):
        cause, _, count = part.partition("=")
        if cause in _CAUSES and count.isascii() and count.isdecimal() and len(count) <= len(str(MAX_COUNT)):
            row.evictions.by_cause[cause] = min(int(count), MAX_COUNT)
        else:
            warnings.append(f"annotation {names.EVICTIONS}: {part[:32]!r} is not a cause and a number")


def limit_start_time(row: pb.PodGroup, pods: Iterable[Pod], now: Timestamp, is_signed: bool) -> None:
    """Limit the start time to facts: it is not after the minimum number of pods ran, and not in the future.

    Status has whole seconds, so a time within the same second is not later. Without a start time, that of the
    pods protects the pod group. Without pods that run, only one that the adapter signed counts.
    """
    starts = sorted(filter(None, (started_at(pod) for pod in pods if uses_resources(pod))))
    if starts:
        needed = row.min_member if row.HasField("min_member") else len(starts)
        fact = timestamp(starts[max(min(needed, len(starts)), 1) - 1])
        if not row.HasField("last_start_time") or row.last_start_time.seconds > fact.seconds:
            row.last_start_time.CopyFrom(fact)
    elif not is_signed or row.last_start_time.ToNanoseconds() > now.ToNanoseconds():
        row.ClearField("last_start_time")


def set_termination_grace(row: pb.PodGroup, pods: Iterable[Pod]) -> None:
    """Set how long its pods on nodes may take to terminate; not if all have the default grace period."""
    spans = {pod.spec.termination_grace_period_seconds for pod in pods if uses_resources(pod)}
    given = [DEFAULT_GRACE_SECONDS if span is None else span for span in spans]
    if any(span != DEFAULT_GRACE_SECONDS for span in given):
        row.termination_grace.seconds = min(max(given), MAX_DURATION_SECONDS)
