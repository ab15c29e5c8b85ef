"""Pod groups: from messages to specs that the model links."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.codec.annotations import PREEMPTIBILITY, preemptibility, requeue_terms
from tenure.server.codec.checks import MISSING, amount, duration, known_enum, time
from tenure.server.codec.limits import MAX_COUNT
from tenure.server.codec.subgroups import decode_sub_groups, minimum
from tenure.server.codec.topologies import Levels, decode_constraint
from tenure.server.codec.violations import Findings, shown
from tenure.solver.model.guard import EVICTING_ACTIONS
from tenure.solver.model.linking import PodGroupSpec
from tenure.solver.model.workload import Preemptibility, TopologyConstraint
from tenure.v1 import snapshot_pb2 as pb

_KNOWN: Final = range(len(Preemptibility))
_NOTHING: Final[frozenset[str]] = frozenset()


def decode_pod_groups(
    messages: Sequence[pb.PodGroup], levels: Levels, findings: Findings
) -> list[PodGroupSpec]:
    """One spec per pod group; `levels` are those of the topologies that constraints may name."""
    return [_decode_pod_group(i, message, levels, findings) for i, message in enumerate(messages)]


def _decode_pod_group(i: int, message: pb.PodGroup, levels: Levels, findings: Findings) -> PodGroupSpec:
    mode, unknown_mode = _preemptibility(i, message, findings)
    min_member = minimum(message, "min_member", findings, i)
    min_sub_groups = minimum(message, "min_sub_group", findings, i)
    if min_member is not None and min_sub_groups is not None:
        findings.add(i, "min_sub_group", "cannot be set together with min_member")
    sub_groups = decode_sub_groups(i, message.sub_groups, levels, findings) if message.sub_groups else ()
    topology: TopologyConstraint | None = None
    if message.HasField("topology_constraint"):
        constraint = message.topology_constraint
        topology = decode_constraint(constraint, levels, findings, i, "topology_constraint")
    if not message.HasField("creation_time"):
        findings.add(i, "creation_time", MISSING)
    return PodGroupSpec(
        uid=message.uid,
        queue=message.queue,
        name=message.name or message.uid,
        namespace=message.namespace,
        priority=message.priority,
        preemptibility=mode,
        min_member=min_member,
        min_sub_groups=min_sub_groups,
        sub_groups=sub_groups,
        topology=topology,
        creation=time(message.creation_time, findings, i, "creation_time"),
        last_start=_optional_time(i, message, "last_start_time", findings),
        last_eviction=_optional_time(i, message, "last_eviction_time", findings),
        stale_since=_optional_time(i, message, "stale_since", findings),
        staleness_grace=_staleness_grace(i, message, findings),
        preemption_delay=duration(message.preemption_delay, findings, i, "preemption_delay"),
        requeue=requeue_terms(i, message, findings),
        opt_outs=_opt_outs(i, message, findings) if message.opt_outs else _NOTHING,
        eviction_count=amount(message.eviction_count, findings, i, "eviction_count", MAX_COUNT),
        waited_after_evictions=duration(
            message.waited_after_evictions, findings, i, "waited_after_evictions"
        ),
        unknown_preemptibility=unknown_mode,
    )


def _preemptibility(i: int, message: pb.PodGroup, findings: Findings) -> tuple[Preemptibility, str]:
    """Field, else annotation; what cannot be read is taken for non-preemptible, and told."""
    if message.preemptibility:
        known = known_enum(message.preemptibility, _KNOWN, findings, i, "preemptibility")
        return (Preemptibility(message.preemptibility) if known else Preemptibility.UNSPECIFIED), ""
    text = message.annotations.get(PREEMPTIBILITY, "")
    mode = preemptibility(text)
    if mode is not None:
        return mode, ""
    known_values = "Preemptible, Non-Preemptible or Semi-Preemptible"
    problem = f"annotation {PREEMPTIBILITY}: {shown(text)} is unknown; write {known_values}"
    return Preemptibility.NON_PREEMPTIBLE, problem


def _opt_outs(i: int, message: pb.PodGroup, findings: Findings) -> frozenset[str]:
    for at, action in enumerate(message.opt_outs):
        if action not in EVICTING_ACTIONS:
            problem = f"{shown(action)} is not an action to opt out of; known: {', '.join(EVICTING_ACTIONS)}"
            findings.add(i, f"opt_outs[{at}]", problem)
    return frozenset(message.opt_outs)


def _optional_time(i: int, message: pb.PodGroup, name: str, findings: Findings) -> int | None:
    if not message.HasField(name):
        return None
    moment: Timestamp = getattr(message, name)
    return time(moment, findings, i, name)


def _staleness_grace(i: int, message: pb.PodGroup, findings: Findings) -> int | None:
    """Nanoseconds, negative for ever; None when unset, which takes the profile's."""
    if not message.HasField("staleness_grace_period"):
        return None
    return duration(message.staleness_grace_period, findings, i, "staleness_grace_period", negative=True)
