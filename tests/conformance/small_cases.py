"""Builds small cases in the case format of the reference, with every default applied."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.conformance.cases import Case, Json
from tests.conformance.task_table import ON_NODE

GB = 10**9
NO_LIMIT = -1.0
PLUGINS = (
    "predicates",
    "proportion",
    "priority",
    "elastic",
    "nodeavailability",
    "gpusharingorder",
    "gpupack",
    "resourcetype",
    "subgrouporder",
    "taskorder",
    "nodeplacement",
    "minruntime",
    "sg-nodelocalgreedy",
    "sg-multinodegang",
)

Place = tuple[str, str | None]
"""Status and node of a task."""

PENDING: Place = ("Pending", None)


def node(name: str, gpus: int) -> Json:
    """Build a node with this many GPUs and ample amounts of all other resources."""
    amounts = {"cpu_milli": 1_000_000, "memory_bytes": 1000 * GB, "gpus": gpus, "pods": 110, "mig": {}}
    return {
        "name": name,
        "labels": {"kai.scheduler/type": name},
        "allocatable": amounts,
        "dra_gpus": 0,
        "gpu_memory_mib": 100,
        "gpu_memory_synced": True,
        "mig_strategy": None,
    }


def queue(name: str, quota: float, order: int = 0, parent: str | None = "default", **fields: Any) -> Json:
    """Build a queue with a quota of GPUs; CPU and memory are not limited."""
    free = {"quota": NO_LIMIT, "limit": NO_LIMIT, "over_quota_weight": 1.0}
    return {
        "uid": name,
        "parent": parent,
        "priority": 100,
        "creation_offset_s": 60.0 * order,
        "build_order": order,
        "gpu": {"quota": quota, "limit": NO_LIMIT, "over_quota_weight": 1.0},
        "cpu_milli": free,
        "memory_mb": {**free, "quota_bytes": NO_LIMIT, "limit_bytes": NO_LIMIT},
        "preempt_min_runtime_s": None,
        "reclaim_min_runtime_s": None,
        **fields,
    }


def job(
    name: str, queue: str, places: Sequence[Place], gpus: float = 1, priority: int = 50, **fields: Any
) -> Json:
    """Build a gang whose tasks each request this many GPUs, or a fraction of one."""
    part = {"name": "default", "min_available": len(places), "topology_constraint": None}
    return {
        "name": name,
        "uid": name,
        "namespace": "",
        "queue": queue,
        "priority": priority,
        "preemptible": priority < 100,
        "creation_offset_s": -60.0,
        "build_order": 0,
        "stale_since_offset_s": None,
        "staleness_grace_period_s": None,
        "preemption_delay_s": None,
        "keep_evicted_pods_releasing": False,
        "sub_group_tree": {
            "name": "",
            "min_sub_groups": None,
            "topology_constraint": None,
            "sub_groups": [],
            "pod_sets": [part],
        },
        "tasks": [task(f"{name}-{index}", place, gpus) for index, place in enumerate(places)],
        **fields,
    }


def task(uid: str, place: Place, gpus: float) -> Json:
    """Build a task with one CPU, 1 GB and GPUs. Below 1 GPU, it has a fraction of a device of its own."""
    is_share = 0 < gpus < 1
    portion = gpus if is_share else float(gpus > 0)
    return {
        "uid": uid,
        "name": uid,
        "state": place[0],
        "node": place[1],
        "sub_group": "default",
        "order_label": None,
        "gpu_groups": [f"device-{uid}"] if is_share and place[0] in ON_NODE else [],
        "node_affinity_names": [],
        "request": {
            "type": "Fraction" if is_share else "Regular",
            "cpu_milli": 1000,
            "memory_bytes": GB,
            "gpus": 0.0 if is_share else gpus,
            "mig_requests": {},
            "gpu": {"count": max(1, int(gpus)), "portion": portion, "gpus": gpus, "gpu_memory_mib": 0},
        },
    }


def expect(status: str, node: str | None = None, gpus: float = 1, **fields: Any) -> Json:
    """Build the expectations for a job whose tasks request this many GPUs in total."""
    return {
        "status": status,
        "node": node,
        "gpus_required": gpus,
        "gpus_accepted": None,
        "cpu_milli_required": None,
        "memory_bytes_required": None,
        "last_start_set": False,
        "last_start_older_than_s": None,
        "error_message": None,
        "numa_zones": None,
        **fields,
    }


def case(
    name: str,
    nodes: Sequence[Json],
    queues: Sequence[Json],
    jobs: Sequence[Json],
    expected: Mapping[str, Json],
    actions: Sequence[str] = ("allocate",),
    calls: tuple[int, int, int] = (0, 0, 0),
    **fields: Any,
) -> Case:
    """Build a case with these expectations, and with bounds on binds, evictions and pipelined tasks."""
    data = {
        "id": f"own/{name}",
        "kind": "scheduling",
        "tags": [f"runs_{action}" for action in actions],
        "run": {"mode": "single_session", "actions": list(actions)},
        "config": _config(),
        "nodes": list(nodes),
        "queues": [*queues, queue("default", NO_LIMIT, order=99, parent=None)],
        "jobs": [{**job, "build_order": order} for order, job in enumerate(jobs)],
        "topologies": [],
        "expected": {
            "matcher": "MatchExpectedAndRealTasks",
            "jobs": dict(expected),
            "tasks": {},
            "nodes": {},
            "calls_max_per_session": dict(zip(("binds", "evictions", "pipelines"), calls, strict=True)),
        },
        **fields,
    }
    return Case(data["id"], data["kind"], frozenset(data["tags"]), data)


def _config() -> Json:
    plugins = [{"name": name, "arguments": {}, "loaded": True} for name in PLUGINS]
    return {
        "tiers": [plugins],
        "params": {
            "max_consolidation_preemptees": -1,
            "allow_consolidating_reclaim": True,
            "use_scheduling_signatures": False,
            "global_staleness_grace_period_s": 60.0,
            "queue_label_key": "kai.scheduler/queue",
        },
    }
