"""Tests change one pod group and check its row in `tenure workloads`."""

import json
from collections.abc import Callable
from io import StringIO

from google.protobuf import text_format
from rich.console import Console
from tenure.cli.workload_rows import WorkloadRow, workload_rows
from tenure.cli.workload_table import print_workloads, workloads_json
from tenure.codec.engine import Engine
from tenure.render.response_view import ResponseView
from tenure.solver.registry import default_profile
from tenure.v1.decide_pb2 import DecideRequest
from tenure.v1.snapshot_pb2 import ClusterSnapshot, PodGroup

NOW = 1_700_000_000
"""22:13:20 UTC."""

SNAPSHOT = """
cluster_id: "test"
version: 1
now { seconds: 1700000000 }
nodes { name: "n1" allocatable { cpu_milli: 80000 memory_bytes: 640000 gpu_milli: 64000 pods: 100 } }
queues { name: "top" }
queues { name: "leaf" parent: "top" }
queues { name: "other" parent: "top" }
pod_groups { uid: "u" name: "job" namespace: "team" queue: "leaf" priority: 50
             creation_time { seconds: 1600000000 } last_start_time { seconds: 1699999400 } }
pods { uid: "p0" pod_group: "u" shape: "gpu" status: POD_STATUS_RUNNING node: "n1" }
pods { uid: "p1" pod_group: "u" shape: "gpu" status: POD_STATUS_RUNNING node: "n1" }
shapes { id: "gpu" requests { cpu_milli: 1000 memory_bytes: 1000 } gpu { devices: 1 } }
"""
"""A preemptible pod group of two pods that started ten minutes ago; one pod is its minimum."""

Change = Callable[[ClusterSnapshot], object]


def with_group(text: str) -> Change:
    """Return the snapshot with these fields of the pod group replaced."""
    fields = text_format.Parse(text, PodGroup())
    return lambda snapshot: snapshot.pod_groups[0].MergeFrom(fields)


def default_snapshot(*changes: Change) -> Change:
    return lambda snapshot: [change(snapshot) for change in changes]


def as_gang(snapshot: ClusterSnapshot) -> None:
    snapshot.pod_groups[0].min_member = 2


def with_protection(snapshot: ClusterSnapshot) -> None:
    """Protect the pod group from its own queue for an hour."""
    snapshot.queues[1].preempt_min_runtime.FromSeconds(3_600)


def as_pending(snapshot: ClusterSnapshot) -> None:
    for pod in snapshot.pods:
        pod.status, pod.node = "POD_STATUS_PENDING", ""


def unchanged(snapshot: ClusterSnapshot) -> None:
    pass


def decide(change: Change) -> tuple[ResponseView, list[WorkloadRow]]:
    snapshot = text_format.Parse(SNAPSHOT, ClusterSnapshot())
    change(snapshot)
    return list_workloads(snapshot)


def list_workloads(
    snapshot: ClusterSnapshot, queue: str | None = None
) -> tuple[ResponseView, list[WorkloadRow]]:
    request = DecideRequest(snapshot=snapshot, include_pod_group_statuses=True)
    view = ResponseView(snapshot, Engine(default_profile()).decide(request).parse())
    return view, workload_rows(view, queue)


def render_table(view: ResponseView, found: list[WorkloadRow], width: int = 200) -> str:
    console = Console(file=StringIO(), width=width)
    print_workloads(console, view, found)
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


def only_json_object(view: ResponseView, found: list[WorkloadRow]) -> dict[str, object]:
    """Return the only object of the JSON output."""
    (facts,) = json.loads(workloads_json(view, found))["workloads"]
    assert isinstance(facts, dict)
    return facts


FIELD = with_group("preemptibility: PREEMPTIBILITY_NON_PREEMPTIBLE")
SEMI = with_group("preemptibility: PREEMPTIBILITY_SEMI_PREEMPTIBLE min_member: 1")
