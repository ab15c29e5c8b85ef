"""The sub groups of a pod group: from messages to specs that the model links."""

from collections.abc import Sequence

from tenure.server.codec.checks import MISSING
from tenure.server.codec.topologies import Levels, decode_constraint
from tenure.server.codec.trees import tree_problems
from tenure.server.codec.violations import Findings, shown
from tenure.solver.model.specs import SubGroupSpec
from tenure.solver.model.workload import TopologyConstraint
from tenure.v1 import snapshot_pb2 as pb


def decode_sub_groups(
    i: int, messages: Sequence[pb.SubGroup], levels: Levels, findings: Findings
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
                i, f"{field}.name", f"{shown(message.name)} is already used by sub_groups[{earlier}]"
            )
        if at in problems:
            findings.add(i, f"{field}.parent", problems[at])
        specs.append(_decode_sub_group(i, f"{field}.", message, names[at] in inner, levels, findings))
    return tuple(specs)


def minimum(
    message: pb.PodGroup | pb.SubGroup, name: str, findings: Findings, i: int, prefix: str = ""
) -> int | None:
    """The `min_member` or `min_sub_group` of a message; None when unset."""
    if not message.HasField(name):
        return None
    value: int = getattr(message, name)
    check_minimum(value, f"{prefix}{name}", findings, i)
    return value


def check_minimum(value: int, field: str, findings: Findings, i: int) -> None:
    """Note a minimum that is negative."""
    if value < 0:
        findings.add(i, field, f"{value} is negative")


def _decode_sub_group(
    i: int, prefix: str, message: pb.SubGroup, is_inner: bool, levels: Levels, findings: Findings
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
