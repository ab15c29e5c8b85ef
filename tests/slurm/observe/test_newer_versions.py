"""Rows of Slurm 23.02 and later, in the forms that its documentation of data_parser v0.0.40 and later shows.

No such version runs here: these rows are written after the documentation, and not recorded from a cluster.
"""

import json
from typing import Any, Final

import pytest
from tenure.slurm.observe.capacity_rows import node_row
from tenure.slurm.observe.requests import NodeRequest, read_request
from tenure.slurm.observe.rows import read_jobs, read_nodes
from tenure.slurm.observe.tres import Gpus


def of(number: int) -> dict[str, object]:
    return {"set": True, "infinite": False, "number": number}


UNSET: Final = {"set": False, "infinite": False, "number": 0}
JOB: Final[dict[str, Any]] = {
    "job_id": 7,
    "job_state": ["PENDING", "REQUEUED"],
    "user_id": 5,
    "partition": "gpu",
    "submit_time": of(1_800_000_000),
    "time_limit": {"set": False, "infinite": True, "number": 0},
    "priority": of(0),
    "node_count": of(1),
    "max_nodes": of(1),
    "tasks": of(1),
    "memory_per_node": UNSET,
    "memory_per_cpu": of(100),
    "minimum_cpus_per_node": of(1),
    "tasks_per_node": UNSET,
    "sockets_per_node": UNSET,
    "tres_req_str": "cpu=2,mem=200M,node=1,billing=2,gres/gpu=2,gres/gpu:a100=2",
    "tres_per_node": "gres/gpu:a100:2",
    "cpus_per_tres": "",
    "memory_per_tres": "",
    "shared": [],
    "array_job_id": of(0),
    "array_task_id": UNSET,
    "gres_detail": [],
    "restart_cnt": 1,
}
NODE: Final[dict[str, Any]] = {
    "name": "n1",
    "state": ["IDLE"],
    "cpus": 64,
    "real_memory": 512_000,
    "gres": "gpu:a100:8(S:0-1)",
    "gres_used": "gpu:a100:0(IDX:N/A)",
    "active_features": ["a100", "ib"],
    "partitions": ["gpu"],
    "slurmd_start_time": of(1_800_000_000),
}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, NodeRequest(1, 2, 200, Gpus(2, (("a100", 2),)))),
        (
            {"memory_per_node": of(0), "memory_per_cpu": UNSET, "tres_req_str": "cpu=2,mem=500G,node=1"},
            NodeRequest(1, 2, 512_000, Gpus(2, (("a100", 2),))),
        ),
        (
            {"node_count": of(2), "max_nodes": of(4), "tasks": of(2)},
            NodeRequest(2, 1, 100, Gpus(2, (("a100", 2),))),
        ),
        (
            {
                "tres_per_node": "",
                "tres_per_task": "cpu=4",
                "tres_req_str": "cpu=8,mem=1G,node=1",
                "tasks": of(2),
            },
            NodeRequest(1, 8, 800, Gpus()),
        ),
        (
            {"tres_per_node": "", "tres_per_task": "cpu:2,gres/gpu:a100:1", "tasks": of(2)},
            NodeRequest(1, 2, 200, Gpus(2, (("a100", 2),))),
        ),
        (
            {"tres_per_node": "", "tres_per_task": "cpu=2", "tres_per_job": "gres/gpu=2"},
            NodeRequest(1, 2, 200, Gpus(2)),
        ),
        (
            {"tres_per_node": "", "tres_per_task": "cpu=2", "tres_per_socket": "gres/gpu=1"},
            NodeRequest(1, 2, 200, Gpus(2)),
        ),
    ],
    ids=[
        *("plain", "all-memory-of-a-node", "range-of-nodes", "cpus-of-a-task", "gpus-of-a-task"),
        *("gpus-of-a-job-and-cpus-of-a-task", "gpus-of-a-socket-and-cpus-of-a-task"),
    ],
)
def test_requests(fields: dict[str, Any], expected: NodeRequest) -> None:
    (job,) = read_jobs(json.dumps({"jobs": [{**JOB, **fields}], "errors": []}).encode())
    assert (job.state, job.is_held) == ("PENDING", True)
    assert read_request(job) == expected


@pytest.mark.parametrize(
    ("fields", "unready"),
    [
        ({}, []),
        ({"state": ["IDLE", "CLOUD", "POWERED_DOWN"], "slurmd_start_time": of(0)}, []),
        ({"state": ["MIXED", "CLOUD", "POWERING_UP"], "slurmd_start_time": of(0)}, []),
        ({"state": ["IDLE", "POWERING_DOWN"]}, ["POWERING_DOWN"]),
        ({"state": ["IDLE", "NOT_RESPONDING"]}, ["NOT_RESPONDING"]),
        ({"slurmd_start_time": of(0)}, ["NOT_REPORTED"]),
    ],
    ids=["idle", "asleep", "waking", "falling-asleep", "silent", "not-reported"],
)
def test_nodes_that_sleep_can_start_jobs(fields: dict[str, Any], unready: list[str]) -> None:
    (node,) = read_nodes(json.dumps({"nodes": [{**NODE, **fields}], "errors": []}).encode())
    row = node_row(node, (), 0)
    assert list(row.unready_conditions) == unready
    assert row.allocatable.gpu_milli == 8_000
    assert row.labels["feature.slurm.tenure.scheduler/ib"] == "true"
