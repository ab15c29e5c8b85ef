"""Small changes of a cluster, each on a copy: what a person could do to let a pod group start.

Indices do not change, so that results for the copy can be compared with those for the original.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.workload import PodGroup, PodSet


def with_group(cluster: Cluster, pod_group: int, **fields: Any) -> Cluster:
    """Change fields of one pod group."""
    groups = cluster.pod_groups.next_version()
    groups.put(pod_group, replace(groups[pod_group], **fields))
    return replace(cluster, pod_groups=groups)


def single_pod_set(group: PodGroup) -> PodSet | None:
    """The only pod set of a pod group without subgroups."""
    members = group.root.members
    return members[0] if len(members) == 1 and isinstance(members[0], PodSet) else None


def with_minimum(cluster: Cluster, pod_group: int, minimum: int) -> Cluster:
    """Change the minimum of a pod group without subgroups."""
    group = cluster.pod_groups[pod_group]
    part = single_pod_set(group)
    assert part is not None
    smaller = replace(part, min_available=minimum)
    root = replace(group.root, members=(smaller,))
    return with_group(cluster, pod_group, root=root, pod_sets=(smaller,))


def with_larger_bounds(
    cluster: Cluster, bound: str, queues: Iterable[int], resource: int, amount: int
) -> Cluster:
    """Increase `quota` or `limit` of queues for one resource by an amount."""
    changed = list(cluster.queues)
    for queue in queues:
        larger = list(getattr(changed[queue], bound))
        larger[resource] += amount
        field: dict[str, Any] = {bound: (larger[0], larger[1], larger[2])}
        changed[queue] = replace(changed[queue], **field)
    return replace(cluster, queues=tuple(changed))


def with_nodes(cluster: Cluster, like: int, count: int) -> Cluster:
    """Add nodes that are copies of an existing one; they come last in every order."""
    last, first = max(node.name for node in cluster.nodes), len(cluster.nodes)
    new = (replace(cluster.nodes[like], index=first + i, name=f"{last}~{i:09d}") for i in range(count))
    return replace(cluster, nodes=(*cluster.nodes, *new))
