"""A small valid snapshot for tests to modify, and an environment for child processes."""

import os
import sys
from tempfile import gettempdir

from google.protobuf import text_format
from tenure.v1.snapshot_pb2 import ClusterSnapshot

SMALL = """
cluster_id: "test"
version: 7
now { seconds: 1700000000 }
nodes { name: "n1" allocatable { cpu_milli: 8000 memory_bytes: 64000 gpu_milli: 2000 pods: 10 }
        gpu_memory_mib: 40960 labels { key: "rack" value: "r1" } }
nodes { name: "n2" allocatable { cpu_milli: 8000 memory_bytes: 64000 gpu_milli: 2000 pods: 10 }
        gpu_memory_mib: 40960 labels { key: "rack" value: "r2" } }
queues { name: "top" gpu_milli { quota: 4000 } }
queues { name: "left" parent: "top" gpu_milli { quota: 2000 } }
queues { name: "right" parent: "top" gpu_milli { quota: 2000 limit: -1 over_quota_weight: 1 } }
pod_groups { uid: "runs" name: "runs" queue: "left" min_member: 1 creation_time { seconds: 1600000000 }
             last_start_time { seconds: 1690000000 } }
pod_groups { uid: "waits" name: "waits" queue: "right" min_member: 2 creation_time { seconds: 1600000001 } }
pods { uid: "runs-0" pod_group: "runs" shape: "gpu" status: POD_STATUS_RUNNING node: "n1" }
pods { uid: "runs-1" pod_group: "runs" shape: "half" status: POD_STATUS_RUNNING node: "n1" gpu_groups: "d" }
pods { uid: "waits-0" pod_group: "waits" shape: "gpu" status: POD_STATUS_PENDING }
pods { uid: "waits-1" pod_group: "waits" shape: "gpu" status: POD_STATUS_PENDING }
shapes { id: "gpu" requests { cpu_milli: 1000 memory_bytes: 1000 } gpu { devices: 1 } }
shapes { id: "half" requests { cpu_milli: 1000 memory_bytes: 1000 } gpu { devices: 1 portion_milli: 500 } }
topologies { name: "racks" levels: "rack" }
"""


def small_snapshot() -> ClusterSnapshot:
    """Two nodes of two GPUs, two leaf queues, a running pod group and a pending gang of two."""
    return text_format.Parse(SMALL, ClusterSnapshot())


def child_environment(**variables: str) -> dict[str, str]:
    """Environment of a child process with the import path of this process.

    Its state folder is separate from that of the user, unless XDG_STATE_HOME is set.
    """
    state = {"XDG_STATE_HOME": os.path.join(gettempdir(), "tenure-tests"), **os.environ}
    return {**state, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
