"""Pod groups: from rows to specs that the model links."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.codec.annotations import PREEMPTIBILITY, preemptibility, requeue_terms
from tenure.server.codec.checks import MISSING, amount, duration, known_enum, time, time_read
from tenure.server.codec.limits import MAX_COUNT
from tenure.server.codec.subgroups import check_minimum, decode_sub_groups, minimum
from tenure.server.codec.topologies import Levels, decode_constraint
from tenure.server.codec.violations import Findings, shown
from tenure.server.codec.workloadrows import PodGroupRow
from tenure.solver.model.guard import EVICTING_ACTIONS
from tenure.solver.model.specs import PodGroupSpec, SubGroupSpec
from tenure.solver.model.workload import Preemptibility, TopologyConstraint
from tenure.v1 import snapshot_pb2 as pb

_MODES: Final = dict(enumerate(Preemptibility))
"""Modes by their number in the contract, which is quicker than to make them of it."""
_KNOWN: Final = frozenset(_MODES)
_NO_ACTIONS: Final[frozenset[str]] = frozenset()


class _Parts:
    """How a pod group is divided, which few say. Fields as in PodGroupSpec."""

    def __init__(
        self, i: int, message: pb.PodGroup, min_member: int | None, levels: Levels, findings: Findings
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

    def __init__(self, i: int, message: pb.PodGroup, findings: Findings) -> None:
        is_set, opt_outs = message.HasField, message.opt_outs
        self.last_eviction = _time(i, message, "last_eviction_time", findings)
        self.stale_since = _time(i, message, "stale_since", findings)
        self.staleness_grace: int | None = None
        if is_set("staleness_grace_period"):
            self.staleness_grace = _staleness_grace(i, message, findings)
        self.preemption_delay = _span(i, message, "preemption_delay", findings)
        self.requeue = requeue_terms(i, message, findings)
        self.opt_outs = _opt_outs(i, opt_outs, findings) if opt_outs else _NO_ACTIONS
        self.eviction_count = amount(message.eviction_count, findings, i, "eviction_count", MAX_COUNT)
        self.waited_after_evictions = _span(i, message, "waited_after_evictions", findings)


def decode_pod_groups(rows: Sequence[PodGroupRow], levels: Levels, findings: Findings) -> list[PodGroupSpec]:
    """One spec per pod group; `levels` are those of the topologies that constraints may name."""
    return [_decode_pod_group(i, row, levels, findings) for i, row in enumerate(rows)]


def _decode_pod_group(i: int, row: PodGroupRow, levels: Levels, findings: Findings) -> PodGroupSpec:
    min_member = row.min_member
    message = pb.PodGroup.FromString(row.more) if row.more else None
    mode, unknown_mode = _preemptibility(i, row, message, findings)
    if min_member is not None:
        check_minimum(min_member, "min_member", findings, i)
    parts = _UNDIVIDED if message is None else _Parts(i, message, min_member, levels, findings)
    creation, last_start = 0, None
    if row.has_creation:
        creation = time_read(row.creation[0], row.creation[1], findings, i, "creation_time")
    else:
        findings.add(i, "creation_time", MISSING)
    if row.has_last_start:
        last_start = time_read(row.last_start[0], row.last_start[1], findings, i, "last_start_time")
    terms = _NO_TERMS if message is None else _Terms(i, message, findings)
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
        terms.staleness_grace,
        terms.preemption_delay,
        terms.requeue,
        terms.opt_outs,
        terms.eviction_count,
        terms.waited_after_evictions,
        unknown_mode,
    )


def _preemptibility(
    i: int, row: PodGroupRow, message: pb.PodGroup | None, findings: Findings
) -> tuple[Preemptibility, str]:
    """Field, else annotation; what cannot be read is taken for non-preemptible, and told."""
    if number := row.preemptibility:
        known = known_enum(number, _KNOWN, findings, i, "preemptibility")
        return (_MODES[number] if known else Preemptibility.UNSPECIFIED), ""
    if message is None:
        return Preemptibility.UNSPECIFIED, ""
    text = message.annotations.get(PREEMPTIBILITY, "")
    mode = preemptibility(text)
    if mode is not None:
        return mode, ""
    known_values = "Preemptible, Non-Preemptible or Semi-Preemptible"
    problem = f"annotation {PREEMPTIBILITY}: {shown(text)} is unknown; write {known_values}"
    return Preemptibility.NON_PREEMPTIBLE, problem


def _opt_outs(i: int, actions: Sequence[str], findings: Findings) -> frozenset[str]:
    for at, action in enumerate(actions):
        if action not in EVICTING_ACTIONS:
            problem = f"{shown(action)} is not an action to opt out of; known: {', '.join(EVICTING_ACTIONS)}"
            findings.add(i, f"opt_outs[{at}]", problem)
    return frozenset(actions)


def _time(i: int, message: pb.PodGroup, name: str, findings: Findings) -> int | None:
    """None when unset."""
    if not message.HasField(name):
        return None
    moment: Timestamp = getattr(message, name)
    return time(moment, findings, i, name)


def _span(i: int, message: pb.PodGroup, name: str, findings: Findings) -> int:
    """Zero when unset."""
    if not message.HasField(name):
        return 0
    span: Duration = getattr(message, name)
    return duration(span, findings, i, name)


def _staleness_grace(i: int, message: pb.PodGroup, findings: Findings) -> int:
    """Nanoseconds, negative for ever; unset it is the profile's."""
    return duration(message.staleness_grace_period, findings, i, "staleness_grace_period", negative=True)


_UNDIVIDED: Final = _Parts(0, pb.PodGroup(), None, {}, Findings("pod_groups"))
_NO_TERMS: Final = _Terms(0, pb.PodGroup(), Findings("pod_groups"))
