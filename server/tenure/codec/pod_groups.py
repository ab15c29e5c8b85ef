"""Pod groups: from rows to specs that the model links.

The sub groups of a pod group: from messages to specs that the model links.
"""

from collections.abc import Sequence
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.codec.annotations import PREEMPTIBILITY, preemptibility, requeue_terms
from tenure.codec.checks import MISSING, amount, check_enum, check_wire_time, duration, time
from tenure.codec.queues import Levels, decode_constraint, tree_problems
from tenure.solver.model.facts import PodGroupSpec, SubGroupSpec
from tenure.solver.model.workload import Preemptibility, TopologyConstraint
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_COUNT
from tenure.wire.rows import PodGroupRow
from tenure.wire.violations import ViolationCollector, quote_name


def decode_sub_groups(
    i: int, messages: Sequence[pb.SubGroup], levels: Levels, findings: ViolationCollector
) -> tuple[SubGroupSpec, ...]:
    """One spec per sub group of the pod group at `i`. Names are compared in lower case (semantics R1.52)."""
    names = [message.name.lower() for message in messages]
    parents = [message.parent.lower() for message in messages]
    problems = tree_problems(list(zip(names, parents, strict=True)))
    first = {name: at for at, name in reversed(list(enumerate(names)))}
    inner = set(parents)
    specs = []
    for at, message in enumerate(messages):
        field = f"sub_groups[{at}]"
        if not names[at]:
            findings.add(i, f"{field}.name", MISSING)
        elif (earlier := first[names[at]]) != at:
            findings.add(
                i, f"{field}.name", f"{quote_name(message.name)} is already used by sub_groups[{earlier}]"
            )
        if at in problems:
            findings.add(i, f"{field}.parent", problems[at])
        specs.append(_decode_sub_group(i, f"{field}.", message, names[at] in inner, levels, findings))
    return tuple(specs)


def minimum(
    message: pb.PodGroup | pb.SubGroup, name: str, findings: ViolationCollector, i: int, prefix: str = ""
) -> int | None:
    """The `min_member` or `min_sub_group` of a message; None when unset."""
    if not message.HasField(name):
        return None
    value: int = getattr(message, name)
    check_minimum(value, f"{prefix}{name}", findings, i)
    return value


def check_minimum(value: int, field: str, findings: ViolationCollector, i: int) -> None:
    """Note a minimum that is negative."""
    if value < 0:
        findings.add(i, field, f"{value} is negative")


def _decode_sub_group(
    i: int, prefix: str, message: pb.SubGroup, is_inner: bool, levels: Levels, findings: ViolationCollector
) -> SubGroupSpec:
    min_member = minimum(message, "min_member", findings, i, prefix)
    min_sub_groups = minimum(message, "min_sub_group", findings, i, prefix)
    if is_inner and min_member is not None:
        findings.add(i, f"{prefix}min_member", "is for leaves: use min_sub_group on one with sub groups")
    if not is_inner and min_sub_groups is not None:
        findings.add(i, f"{prefix}min_sub_group", "is for those with sub groups: use min_member on a leaf")
    topology: TopologyConstraint | None = None
    if message.HasField("topology_constraint"):
        constraint = message.topology_constraint
        topology = decode_constraint(constraint, levels, findings, i, f"{prefix}topology_constraint")
    return SubGroupSpec(message.name, message.parent, min_member, min_sub_groups, topology)


_MODES: Final = dict(enumerate(Preemptibility))
"""Modes by their number in the contract, which is quicker than to make them of it."""
_KNOWN: Final = frozenset(_MODES)
_NO_ACTIONS: Final[frozenset[str]] = frozenset()


class _Parts:
    """How a pod group is divided, which few say. Fields as in PodGroupSpec."""

    def __init__(
        self,
        i: int,
        message: pb.PodGroup,
        min_member: int | None,
        levels: Levels,
        findings: ViolationCollector,
    ) -> None:
        self.min_sub_groups = minimum(message, "min_sub_group", findings, i)
        if min_member is not None and self.min_sub_groups is not None:
            findings.add(i, "min_sub_group", "cannot be set together with min_member")
        self.sub_groups: tuple[SubGroupSpec, ...] = ()
        if messages := message.sub_groups:
            self.sub_groups = decode_sub_groups(i, messages, levels, findings)
        self.topology: TopologyConstraint | None = None
        if message.HasField("topology_constraint"):
            constraint = message.topology_constraint
            self.topology = decode_constraint(constraint, levels, findings, i, "topology_constraint")


class _Terms:
    """What became of a pod group, and what is agreed about it, which few say. Fields as in PodGroupSpec."""

    def __init__(
        self, i: int, message: pb.PodGroup, guarded_actions: Sequence[str], findings: ViolationCollector
    ) -> None:
        is_set, opt_out_actions = message.HasField, message.opt_out_actions
        self.last_eviction = _time(i, message, "last_eviction_time", findings)
        self.stale_since = _time(i, message, "stale_since", findings)
        self.staleness_grace_period: int | None = None
        if is_set("staleness_grace_period"):
            self.staleness_grace_period = _staleness_grace(i, message, findings)
        self.preemption_delay = _span(i, message, "preemption_delay", findings)
        self.requeue = requeue_terms(i, message, findings)
        self.opt_out_actions = (
            _opt_out_actions(i, opt_out_actions, guarded_actions, findings)
            if opt_out_actions
            else _NO_ACTIONS
        )
        self.eviction_count = amount(message.eviction_count, findings, i, "eviction_count", MAX_COUNT)
        self.total_eviction_wait = _span(i, message, "total_eviction_wait", findings)


def decode_pod_groups(
    rows: Sequence[PodGroupRow], levels: Levels, guarded_actions: Sequence[str], findings: ViolationCollector
) -> list[PodGroupSpec]:
    """One spec per pod group; `levels` are those of the topologies that constraints may name,
    `guarded_actions` those that pod groups may opt out of."""
    return [_decode_pod_group(i, row, levels, guarded_actions, findings) for i, row in enumerate(rows)]


def _decode_pod_group(
    i: int, row: PodGroupRow, levels: Levels, guarded_actions: Sequence[str], findings: ViolationCollector
) -> PodGroupSpec:
    min_member = row.min_member
    message = pb.PodGroup.FromString(row.more) if row.more else None
    mode, unknown_mode = _preemptibility(i, row, message, findings)
    if min_member is not None:
        check_minimum(min_member, "min_member", findings, i)
    parts = _UNDIVIDED if message is None else _Parts(i, message, min_member, levels, findings)
    creation, last_start = 0, None
    if row.has_creation:
        creation = check_wire_time(row.creation[0], row.creation[1], findings, i, "creation_time")
    else:
        findings.add(i, "creation_time", MISSING)
    if row.has_last_start:
        last_start = check_wire_time(row.last_start[0], row.last_start[1], findings, i, "last_start_time")
    terms = _NO_TERMS if message is None else _Terms(i, message, guarded_actions, findings)
    return PodGroupSpec(
        row.uid,
        row.queue,
        row.name or row.uid,
        row.namespace,
        row.priority,
        mode,
        min_member,
        parts.min_sub_groups,
        parts.sub_groups,
        parts.topology,
        creation,
        last_start,
        terms.last_eviction,
        terms.stale_since,
        terms.staleness_grace_period,
        terms.preemption_delay,
        terms.requeue,
        terms.opt_out_actions,
        terms.eviction_count,
        terms.total_eviction_wait,
        unknown_mode,
    )


def _preemptibility(
    i: int, row: PodGroupRow, message: pb.PodGroup | None, findings: ViolationCollector
) -> tuple[Preemptibility, str]:
    """Field, else annotation; what cannot be read is taken for non-preemptible, and told."""
    if number := row.preemptibility:
        known = check_enum(number, _KNOWN, findings, i, "preemptibility")
        return (_MODES[number] if known else Preemptibility.UNSPECIFIED), ""
    if message is None:
        return Preemptibility.UNSPECIFIED, ""
    text = message.annotations.get(PREEMPTIBILITY, "")
    mode = preemptibility(text)
    if mode is not None:
        return mode, ""
    known_values = "Preemptible, Non-Preemptible or Semi-Preemptible"
    problem = f"annotation {PREEMPTIBILITY}: {quote_name(text)} is unknown; write {known_values}"
    return Preemptibility.NON_PREEMPTIBLE, problem


def _opt_out_actions(
    i: int, actions: Sequence[str], known: Sequence[str], findings: ViolationCollector
) -> frozenset[str]:
    for at, action in enumerate(actions):
        if action not in known:
            problem = f"{quote_name(action)} is not an action to opt out of; known: {', '.join(known)}"
            findings.add(i, f"opt_out_actions[{at}]", problem)
    return frozenset(actions)


def _time(i: int, message: pb.PodGroup, name: str, findings: ViolationCollector) -> int | None:
    """None when unset."""
    if not message.HasField(name):
        return None
    moment: Timestamp = getattr(message, name)
    return time(moment, findings, i, name)


def _span(i: int, message: pb.PodGroup, name: str, findings: ViolationCollector) -> int:
    """Zero when unset."""
    if not message.HasField(name):
        return 0
    span: Duration = getattr(message, name)
    return duration(span, findings, i, name)


def _staleness_grace(i: int, message: pb.PodGroup, findings: ViolationCollector) -> int:
    """Nanoseconds, negative for ever; unset it is the profile's."""
    return duration(message.staleness_grace_period, findings, i, "staleness_grace_period", negative=True)


_UNDIVIDED: Final = _Parts(0, pb.PodGroup(), None, {}, ViolationCollector("pod_groups"))
_NO_TERMS: Final = _Terms(0, pb.PodGroup(), (), ViolationCollector("pod_groups"))
