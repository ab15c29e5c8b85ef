"""Decode pod groups and their subgroups: facts that are computed by hand. `read_facts` reads the others."""

from collections.abc import Mapping, Sequence
from typing import Final

from tenure.codec.annotations import PREEMPTIBILITY, read_own_preemptibility, requeue_terms
from tenure.codec.checks import MISSING, amount, check_enum, duration, time
from tenure.codec.queues import Levels, decode_constraint, tree_problems
from tenure.codec.read_facts import read_pod_group_facts, read_victim_facts
from tenure.solver.model.facts import NO_VICTIM_FACTS, PodGroupFacts, VictimFacts
from tenure.solver.model.fate import HOLDS_OF_EVICTIONS, NO_EVICTIONS, OTHER_CAUSES, HoldReason
from tenure.solver.model.grant import Grant
from tenure.solver.model.workload_parts import SubGroupFacts, TopologyConstraint
from tenure.terms.preemptibility import (
    Preemptibility,
    PreemptibilityReading,
    PreemptibilitySource,
    read_preemptibility,
)
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_COUNT, MAX_DEPENDENCIES, MAX_SUB_GROUPS
from tenure.wire.rows import PodGroupRow
from tenure.wire.timestamps import nanoseconds
from tenure.wire.violations import ViolationCollector, quote_name


def decode_sub_groups(
    i: int, messages: Sequence[pb.SubGroup], levels: Levels, findings: ViolationCollector
) -> tuple[SubGroupFacts, ...]:
    """Facts about each subgroup of the pod group at `i`. Names are case-insensitive (semantics R1.52)."""
    if len(messages) > MAX_SUB_GROUPS:
        problem = f"are {len(messages)}, more than {MAX_SUB_GROUPS}: use fewer, or several pod groups"
        findings.add(i, "sub_groups", problem)
        return ()
    names = [message.name.lower() for message in messages]
    parents = [message.parent.lower() for message in messages]
    problems = tree_problems(list(zip(names, parents, strict=True)))
    first = {name: at for at, name in reversed(list(enumerate(names)))}
    inner = set(parents)
    specs = []
    for at, message in enumerate(messages):
        findings.step()
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
    """The `min_member` or `min_sub_group` of a message; None if unset."""
    if not message.HasField(name):
        return None
    value: int = getattr(message, name)
    check_minimum(value, f"{prefix}{name}", findings, i)
    return value


def check_minimum(value: int, field: str, findings: ViolationCollector, i: int) -> None:
    """Add a violation if a minimum is negative."""
    if value < 0:
        findings.add(i, field, f"{value} is negative")


def _decode_sub_group(
    i: int, prefix: str, message: pb.SubGroup, is_inner: bool, levels: Levels, findings: ViolationCollector
) -> SubGroupFacts:
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
    return SubGroupFacts(message.name, message.parent, min_member, min_sub_groups, topology)


_FIELDS: Final = {int(mode): read_preemptibility(mode, "") for mode in Preemptibility}
"""Readings of the field by its number."""
_UNSET: Final = _FIELDS[0]
_KNOWN: Final = frozenset(_FIELDS)
_HOLDS: Final = frozenset(HoldReason) - {HoldReason.NOT_BEFORE}
_NO_ACTIONS: Final[frozenset[str]] = frozenset()


class _Parts:
    """Subgroups and topology, which few pod groups have. Attributes as in PodGroupFacts."""

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
        self.sub_groups: tuple[SubGroupFacts, ...] = ()
        if messages := message.sub_groups:
            self.sub_groups = decode_sub_groups(i, messages, levels, findings)
        self.topology: TopologyConstraint | None = None
        if message.HasField("topology_constraint"):
            constraint = message.topology_constraint
            self.topology = decode_constraint(constraint, levels, findings, i, "topology_constraint")


_ANNOTATED: Final = (PreemptibilitySource.ANNOTATION, PreemptibilitySource.LABEL)


class _Agreements:
    """Requeue settings, opt-outs and facts about evictions, which few pod groups have."""

    def __init__(
        self, i: int, message: pb.PodGroup, guarded_actions: Sequence[str], findings: ViolationCollector
    ) -> None:
        opt_out_actions = message.opt_out_actions
        self.requeue = requeue_terms(i, message, findings)
        self.opt_out_actions = (
            _opt_out_actions(i, opt_out_actions, guarded_actions, findings)
            if opt_out_actions
            else _NO_ACTIONS
        )
        self.victim = _victim_facts(i, message, guarded_actions, findings)
        self.grant = _grant(i, message, guarded_actions, findings)


def decode_pod_groups(
    rows: Sequence[PodGroupRow], levels: Levels, guarded_actions: Sequence[str], findings: ViolationCollector
) -> list[PodGroupFacts]:
    """Facts about each pod group.

    `levels` are those of the topologies that constraints can name, `guarded_actions` the actions that pod
    groups can opt out of.
    """
    return [_decode_pod_group(i, row, levels, guarded_actions, findings) for i, row in enumerate(rows)]


def _decode_pod_group(
    i: int, row: PodGroupRow, levels: Levels, guarded_actions: Sequence[str], findings: ViolationCollector
) -> PodGroupFacts:
    findings.step()
    min_member = row.min_member
    message = pb.PodGroup.FromString(row.more) if row.more else None
    read = _preemptibility(i, row, message, findings)
    if min_member is not None:
        check_minimum(min_member, "min_member", findings, i)
    parts = _UNDIVIDED if message is None else _Parts(i, message, min_member, levels, findings)
    agreed = _NO_AGREEMENTS if message is None else _Agreements(i, message, guarded_actions, findings)
    return read_pod_group_facts(
        i,
        row,
        message,
        findings,
        name=row.name or row.uid,
        preemptibility=read.mode,
        unknown_preemptibility=_unknown_preemptibility(message) if read.is_unknown else "",
        is_preemptibility_annotated=read.source in _ANNOTATED,
        min_member=min_member,
        min_sub_groups=parts.min_sub_groups,
        sub_groups=parts.sub_groups,
        topology=parts.topology,
        requeue=agreed.requeue,
        opt_out_actions=agreed.opt_out_actions,
        victim=agreed.victim,
        grant=agreed.grant,
    )


def _preemptibility(
    i: int, row: PodGroupRow, message: pb.PodGroup | None, findings: ViolationCollector
) -> PreemptibilityReading:
    if number := row.preemptibility:
        known = check_enum(number, _KNOWN, findings, i, "preemptibility")
        return _FIELDS[number] if known else _UNSET
    if message is None:
        return _UNSET
    return read_own_preemptibility(message)


def _unknown_preemptibility(message: pb.PodGroup | None) -> str:
    """Problem of an unknown text of the annotation."""
    text = "" if message is None else message.annotations.get(PREEMPTIBILITY, "")
    known = "Preemptible, Non-Preemptible or Semi-Preemptible"
    kind = "label" if message is not None and message.is_preemptibility_label else "annotation"
    return f"{kind} {PREEMPTIBILITY}: {quote_name(text)} is unknown; write {known}"


def _opt_out_actions(
    i: int,
    actions: Sequence[str],
    known: Sequence[str],
    findings: ViolationCollector,
    field: str = "opt_out_actions",
) -> frozenset[str]:
    for at, action in enumerate(actions):
        findings.step()
        if action not in known:
            problem = f"{quote_name(action)} is not an action to opt out of; known: {', '.join(known)}"
            findings.add(i, f"{field}[{at}]", problem)
    return frozenset(actions)


def _grant(
    i: int, group: pb.PodGroup, guarded_actions: Sequence[str], findings: ViolationCollector
) -> Grant | None:
    """What a pod group was given resources under; None: its caller stores no grants."""
    if not group.HasField("grant"):
        return None
    message = group.grant
    known = check_enum(message.preemptibility, _KNOWN, findings, i, "grant.preemptibility")
    mode = Preemptibility(message.preemptibility) if known else Preemptibility.UNSPECIFIED
    check_minimum(message.min_pods, "grant.min_pods", findings, i)
    runtime: int | None = None
    if message.HasField("expected_runtime"):
        runtime = duration(message.expected_runtime, findings, i, "grant.expected_runtime")
    actions = _opt_out_actions(i, message.opt_out_actions, guarded_actions, findings, "grant.opt_out_actions")
    return Grant(message.queue, mode or Preemptibility.PREEMPTIBLE, actions, message.min_pods, runtime)


def _victim_facts(
    i: int, message: pb.PodGroup, guarded_actions: Sequence[str], findings: ViolationCollector
) -> VictimFacts:
    """What it says about its evictions; one object for all pod groups that say nothing."""
    evictions = NO_EVICTIONS
    if message.HasField("evictions"):
        evictions = _evictions(i, message.evictions.by_cause, guarded_actions, findings)
    found = read_victim_facts(
        i,
        message,
        findings,
        held_by=_held_by(i, message, findings),
        depends_on=_depends_on(i, message.depends_on, findings) if message.depends_on else (),
        evictions=evictions,
        backfill_for=_owners(message) if message.HasField("backfill_for") else (),
    )
    return NO_VICTIM_FACTS if found == NO_VICTIM_FACTS else found


def _owners(message: pb.PodGroup) -> tuple[str, ...]:
    return tuple(sorted(set(message.backfill_for.pod_groups)))


def _evictions(
    i: int, counts: Mapping[str, int], guarded_actions: Sequence[str], findings: ViolationCollector
) -> Mapping[str, int]:
    """Evictions by cause: an action that evicts for others, or another known cause."""
    known = (*guarded_actions, *OTHER_CAUSES)
    for cause, count in sorted(counts.items()):
        findings.step()
        field = f"evictions.by_cause[{quote_name(cause)}]"
        if cause not in known:
            findings.add(i, field, f"is no cause of evictions; known: {', '.join(known)}")
        amount(count, findings, i, field, MAX_COUNT)
    return dict(counts)


def _depends_on(i: int, uids: Sequence[str], findings: ViolationCollector) -> tuple[str, ...]:
    if len(uids) > MAX_DEPENDENCIES:
        findings.add(i, "depends_on", f"are {len(uids)}, more than {MAX_DEPENDENCIES}: name fewer")
        return ()
    return tuple(uids)


def _held_by(i: int, message: pb.PodGroup, findings: ViolationCollector) -> HoldReason:
    """What holds a pod group. A release ends a hold by an eviction that is not later (semantics R19.26)."""
    released: int | None = None
    if message.HasField("release_time"):
        released = time(message.release_time, findings, i, "release_time")
    otherwise = HoldReason.NOT_BEFORE if message.HasField("not_before_time") else HoldReason.UNSPECIFIED
    if not message.held_by or not check_enum(message.held_by, _HOLDS, findings, i, "held_by"):
        return otherwise
    reason, evicted = HoldReason(message.held_by), message.last_eviction_time
    if released is None or reason not in HOLDS_OF_EVICTIONS:
        return reason
    is_earlier = released < nanoseconds(evicted.seconds) + evicted.nanos
    return reason if is_earlier and message.HasField("last_eviction_time") else otherwise


_UNDIVIDED: Final = _Parts(0, pb.PodGroup(), None, {}, ViolationCollector("pod_groups"))
_NO_AGREEMENTS: Final = _Agreements(0, pb.PodGroup(), (), ViolationCollector("pod_groups"))
