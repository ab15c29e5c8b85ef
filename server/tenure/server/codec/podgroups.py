"""Pod groups: from messages to specs that the model links."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from tenure.server.codec.annotations import PREEMPTIBILITY, preemptibility, requeue_terms
from tenure.server.codec.checks import MISSING, amount, duration, known_enum, time
from tenure.server.codec.limits import MAX_COUNT
from tenure.server.codec.subgroups import decode_sub_groups, minimum
from tenure.server.codec.topologies import Levels, decode_constraint
from tenure.server.codec.violations import Findings, shown
from tenure.solver.model.guard import EVICTING_ACTIONS
from tenure.solver.model.specs import PodGroupSpec, SubGroupSpec
from tenure.solver.model.workload import Preemptibility, TopologyConstraint
from tenure.v1 import snapshot_pb2 as pb

_MODES: Final = dict(enumerate(Preemptibility))
"""Modes by their number in the contract, which is quicker than to make them of it."""
_KNOWN: Final = range(len(_MODES))
_NOTHING: Final[frozenset[str]] = frozenset()


def decode_pod_groups(
    messages: Sequence[pb.PodGroup], levels: Levels, findings: Findings
) -> list[PodGroupSpec]:
    """One spec per pod group; `levels` are those of the topologies that constraints may name."""
    return [_decode_pod_group(i, message, levels, findings) for i, message in enumerate(messages)]


def _decode_pod_group(i: int, message: pb.PodGroup, levels: Levels, findings: Findings) -> PodGroupSpec:
    """Fields that most leave unset are asked for by presence, which costs less than to read them."""
    uid, is_set = message.uid, message.HasField
    mode, unknown_mode = _preemptibility(i, message, findings)
    min_member = minimum(message, "min_member", findings, i)
    min_sub_groups = minimum(message, "min_sub_group", findings, i) if is_set("min_sub_group") else None
    if min_member is not None and min_sub_groups is not None:
        findings.add(i, "min_sub_group", "cannot be set together with min_member")
    sub_groups: tuple[SubGroupSpec, ...] = ()
    if messages := message.sub_groups:
        sub_groups = decode_sub_groups(i, messages, levels, findings)
    topology: TopologyConstraint | None = None
    if is_set("topology_constraint"):
        constraint = message.topology_constraint
        topology = decode_constraint(constraint, levels, findings, i, "topology_constraint")
    if not is_set("creation_time"):
        findings.add(i, "creation_time", MISSING)
    opt_outs = message.opt_outs
    return PodGroupSpec(
        uid,
        message.queue,
        message.name or uid,
        message.namespace,
        message.priority,
        mode,
        min_member,
        min_sub_groups,
        sub_groups,
        topology,
        time(message.creation_time, findings, i, "creation_time"),
        _time(i, message, "last_start_time", findings) if is_set("last_start_time") else None,
        _time(i, message, "last_eviction_time", findings) if is_set("last_eviction_time") else None,
        _time(i, message, "stale_since", findings) if is_set("stale_since") else None,
        _staleness_grace(i, message, findings) if is_set("staleness_grace_period") else None,
        _span(i, message, "preemption_delay", findings) if is_set("preemption_delay") else 0,
        requeue_terms(i, message, findings),
        _opt_outs(i, opt_outs, findings) if opt_outs else _NOTHING,
        amount(message.eviction_count, findings, i, "eviction_count", MAX_COUNT),
        _span(i, message, "waited_after_evictions", findings) if is_set("waited_after_evictions") else 0,
        unknown_mode,
    )


def _preemptibility(i: int, message: pb.PodGroup, findings: Findings) -> tuple[Preemptibility, str]:
    """Field, else annotation; what cannot be read is taken for non-preemptible, and told."""
    if number := message.preemptibility:
        known = known_enum(number, _KNOWN, findings, i, "preemptibility")
        return (_MODES[number] if known else Preemptibility.UNSPECIFIED), ""
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


def _time(i: int, message: pb.PodGroup, name: str, findings: Findings) -> int:
    moment: Timestamp = getattr(message, name)
    return time(moment, findings, i, name)


def _span(i: int, message: pb.PodGroup, name: str, findings: Findings) -> int:
    span: Duration = getattr(message, name)
    return duration(span, findings, i, name)


def _staleness_grace(i: int, message: pb.PodGroup, findings: Findings) -> int:
    """Nanoseconds, negative for ever; unset it is the profile's."""
    return duration(message.staleness_grace_period, findings, i, "staleness_grace_period", negative=True)
