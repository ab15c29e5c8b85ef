"""Topologies, and the constraints that refer to them: from messages to the model."""

from collections.abc import Mapping, Sequence

from tenure.server.codec.checks import MISSING
from tenure.server.codec.violations import Findings, shown
from tenure.solver.model.cluster import Topology
from tenure.solver.model.workload import TopologyConstraint
from tenure.v1 import snapshot_pb2 as pb

Levels = Mapping[str, Sequence[str]]
"""The levels of each topology by its name."""


def decode_topologies(messages: Sequence[pb.Topology], findings: Findings) -> tuple[Topology, ...]:
    """The topologies by name."""
    for i, message in enumerate(messages):
        if not message.levels:
            findings.add(i, "levels", "must have at least one level")
        for at, level in enumerate(message.levels):
            if not level:
                findings.add(i, f"levels[{at}]", MISSING)
            elif level in message.levels[:at]:
                findings.add(i, f"levels[{at}]", f"{shown(level)} is already a level")
    return tuple(sorted((Topology(m.name, tuple(m.levels)) for m in messages), key=lambda found: found.name))


def decode_constraint(
    message: pb.TopologyConstraint, levels: Levels, findings: Findings, index: int, field: str
) -> TopologyConstraint:
    """A constraint of the pod group at `index`, whose topology and levels must exist."""
    known = levels.get(message.topology)
    if not message.topology:
        findings.add(index, f"{field}.topology", MISSING)
    elif known is None:
        findings.add(index, f"{field}.topology", f"there is no topology {shown(message.topology)}")
    elif not message.required_level and not message.preferred_level:
        findings.add(index, f"{field}.required_level", "is required when preferred_level is empty")
    for name in ("required_level", "preferred_level"):
        level: str = getattr(message, name)
        if level and known is not None and level not in known:
            findings.add(index, f"{field}.{name}", f"{shown(level)} is no level of that topology")
    return TopologyConstraint(message.topology, message.required_level, message.preferred_level)
