"""A cluster in terms of names, to compare clusters whose rows have different slots."""

from dataclasses import fields
from typing import Any

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.placement import NOWHERE
from tenure.solver.model.workload import Member, PodGroup, PodSet, Task


def name_cluster(cluster: Cluster) -> dict[str, object]:
    """The facts of the cluster in its order, without unused slots."""
    groups = [group for group in cluster.pod_groups if group.facts.uid]
    tasks = [task for task in cluster.tasks if task.facts.uid]
    _check_indices(cluster)
    rest = {f.name: getattr(cluster, f.name) for f in fields(cluster)}
    return {
        **rest,
        "pod_groups": [_group(cluster, group) for group in groups],
        "by age": [group.facts.uid for group in sorted(groups, key=lambda group: group.rank)],
        "tasks": [_task(cluster, task) for task in tasks],
        "eviction_history": [
            (_uid(cluster, m.victim), _uid(cluster, m.preemptor), m[2:]) for m in cluster.eviction_history
        ],
        "in_flight": [
            group._replace(
                beneficiary=_uid(cluster, group.beneficiary),
                **{
                    kind: [_step(cluster, step) for step in getattr(group, kind)]
                    for kind in ("evictions", "reservations", "bindings")
                },
            )
            for group in cluster.in_flight
        ],
        "delayed": [_uid(cluster, group) for group in cluster.delayed],
        "doubts": [
            (doubt.code, [_uid(cluster, group) for group in doubt.pod_groups], doubt.message)
            for doubt in cluster.warnings
        ],
    }


def _check_indices(cluster: Cluster) -> None:
    """Check that rows are in the order of uids and refer to each other, whatever their slots."""
    for rows in (cluster.pod_groups, cluster.tasks):
        assert [row.index for row in rows] == list(range(len(rows)))
        uids = [row.facts.uid for row in rows if row.facts.uid]
        assert uids == sorted(set(uids))
    used = [pod_set.index for group in cluster.pod_groups for pod_set in group.pod_sets]
    assert len(used) == len(set(used))
    for group in cluster.pod_groups:
        for pod_set in group.pod_sets:
            for task in pod_set.tasks:
                assert cluster.tasks[task].pod_set == pod_set.index
                assert cluster.tasks[task].pod_group == group.index


def _group(cluster: Cluster, group: PodGroup) -> dict[str, object]:
    facts = {f.name: getattr(group, f.name) for f in fields(group) if f.name not in ("index", "rank")}
    facts["tasks"] = [cluster.tasks[task].facts.uid for task in group.tasks]
    facts["pod_sets"] = [_member(cluster, pod_set) for pod_set in group.pod_sets]
    facts["root"] = _member(cluster, group.root)
    return facts


def _member(cluster: Cluster, member: Member) -> tuple[Any, ...]:
    if isinstance(member, PodSet):
        uids = [cluster.tasks[task].facts.uid for task in member.tasks]
        return member.name, member.min_available, uids, member.topology
    inner = [_member(cluster, each) for each in member.members]
    return member.name, inner, member.min_sub_groups, member.topology


def _task(cluster: Cluster, task: Task) -> dict[str, object]:
    facts = {f.name: getattr(task, f.name) for f in fields(task) if f.name != "index"}
    group = cluster.pod_groups[task.pod_group]
    facts["pod_group"] = group.facts.uid
    facts["pod_set"] = [s.name for s in group.pod_sets if s.index == task.pod_set]
    return facts


def _step(cluster: Cluster, step: Any) -> object:
    task = "" if step.task == NOWHERE else cluster.tasks[step.task].facts.uid
    return step._replace(task=task, pod_group=_uid(cluster, step.pod_group))


def _uid(cluster: Cluster, pod_group: int) -> str:
    return "" if pod_group == NOWHERE else cluster.pod_groups[pod_group].facts.uid
