"""Pod groups of Kubernetes itself (`scheduling.k8s.io`).

Such an object has no queue and no preemptibility: users write them on the object or on its pods, as with a
derived pod group. Any user of a namespace may create and delete it, so an object that cannot be read as a
whole keeps its row: its pods on nodes count in their queue, and only pending pods wait.
"""

from collections.abc import Sequence
from typing import Final

from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.native import DisruptionMode, PodGroup
from tenure.kubernetes.objects.pod import Pod
from tenure.kubernetes.observe.derived_pod_groups import Origin, derived_row
from tenure.kubernetes.observe.pod_group_rows import Levels
from tenure.kubernetes.observe.snapshot_scope import NEVER, Priorities, SnapshotScope
from tenure.kubernetes.owners.gangs import NO_GANG, Gang
from tenure.kubernetes.owners.owner_object import OwnerObject
from tenure.kubernetes.rows.pods import uses_resources
from tenure.kubernetes.rows.row_table import readable
from tenure.v1 import snapshot_pb2 as pb

API: Final = "scheduling.k8s.io"
_WHOLE: Final = "PodGroup"
"""The disruption mode of 1.36 that evicts all pods together."""


def native_pod_group_row(
    group: PodGroup,
    pods: Sequence[Pod],
    priorities: Priorities,
    levels: Levels,
    config: SnapshotScope,
    warnings: list[str],
) -> pb.PodGroup | None:
    """The row of a pod group, without stored annotations; None: no pod of this scheduler ever named it.

    Others may schedule such an object, and a row without pods gets a condition.
    """
    meta, spec = group.metadata, group.spec
    if not pods and names.SIGNATURE not in meta.annotations:
        return None
    labels = [pod.metadata.labels for pod in pods[:1]]
    if not config.has({**next(iter(labels), {}), **meta.labels}):
        return None
    place = OwnerObject(meta, priority_class=spec.priority_class_name)
    origin = Origin(meta.uid, meta, None, _gang(group, pods), chain=(place,))
    row = derived_row(origin, pods, priorities, levels, config, warnings)
    row.never_evicts |= spec.preemption_policy == NEVER
    topology = _topology(group, levels)
    if topology is not None:
        row.topology_constraint.CopyFrom(topology)
    return row


def unsupported(group: PodGroup, levels: Levels) -> str:
    """Why pending pods of a pod group wait: a field that a snapshot cannot express; "": there is none."""
    spec, policy = group.spec, group.spec.scheduling_policy
    keys = _topology_keys(group)
    what = ""
    if spec.resource_claims:
        what = "spec.resourceClaims"
    elif spec.parent_composite_pod_group_name:
        what = "spec.parentCompositePodGroupName"
    elif policy.gang is None and policy.basic is None:
        what = "spec.schedulingPolicy without gang and basic"
    elif len(keys) > 1:
        what = "spec.schedulingConstraints.topology with several keys"
    elif keys and _topology(group, levels) is None:
        what = f"spec.schedulingConstraints.topology: key {keys[0]!r}, a level of no Topology,"
    return readable(f"{what} of pod group {group.metadata.name!r} is not supported") if what else ""


def missing(name: str, *, is_served: bool) -> str:
    """Why pods wait whose pod group is not read."""
    why = "does not exist"
    if not is_served:
        why = f"is not supported by this API server: name one in the annotation {names.KAI_POD_GROUP}"
    return readable(f"its pod group {name!r} of {API} {why}")


def _gang(group: PodGroup, pods: Sequence[Pod]) -> Gang:
    """How many pods run together: `minCount`, or all that run if they are evicted together."""
    policy, mode = group.spec.scheduling_policy, group.spec.disruption_mode
    least = policy.gang.min_count if policy.gang is not None else 0
    is_whole = mode.all is not None if isinstance(mode, DisruptionMode) else mode == _WHOLE
    if is_whole:
        least = max(least, sum(uses_resources(pod) and not pod.metadata.deletion_timestamp for pod in pods))
    return Gang(least) if least else NO_GANG


def _topology_keys(group: PodGroup) -> list[str]:
    constraints = group.spec.scheduling_constraints
    return [one.key for one in constraints.topology] if constraints is not None else []


def _topology(group: PodGroup, levels: Levels) -> pb.TopologyConstraint | None:
    """The constraint by the first topology, by name, that has the key as a level; None: there is none."""
    keys = _topology_keys(group)
    known = sorted(name for name, of in levels.items() if keys and keys[0] in of)
    if len(keys) != 1 or not known:
        return None
    return pb.TopologyConstraint(topology=known[0], required_level=levels[known[0]][keys[0]])
