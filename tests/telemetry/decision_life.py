"""The life of a few decisions: a gang runs, is preempted, and runs again."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.adapter_process import adapter_arguments, run_adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.control_plane import ControlPlane
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP
from tests.telemetry.telemetry_server import METRICS_INTERVAL, run_telemetry_server

GANG: Final = 2
"""Pods of 4 GPUs on a node of 8."""


@contextmanager
def run_telemetry_adapter(
    plane: ControlPlane, cluster: UserCluster, folder: Path, collector: str
) -> Iterator[None]:
    """Run an adapter and its server. Both export all telemetry to a collector at HOST:PORT."""
    file, endpoint = folder / "adapter.yaml", f"http://{collector}"
    telemetry = {"otlpEndpoint": endpoint, "metricsInterval": METRICS_INTERVAL}
    file.write_text(json.dumps({"adapter": {}, "telemetry": telemetry}))
    with run_telemetry_server(folder, otlpEndpoint=endpoint, metricsInterval=METRICS_INTERVAL) as (_, server):
        arguments = adapter_arguments(plane, server, cluster.namespace)
        with run_adapter(folder / "adapter.log", *arguments, "--config", str(file)):
            yield


@contextmanager
def run_live_cluster(transport: Transport) -> Iterator[UserCluster]:
    """Create a namespace with a node, a queue and priority classes."""
    cluster = UserCluster(transport, "life")
    cluster.node("life", gpus=8)
    cluster.queue("q")
    cluster.priorities(low=10, high=90)
    try:
        yield cluster
    finally:
        cluster.clear(KAI_POD_GROUP)


def run_decision_life(cluster: UserCluster) -> None:
    """On a node of 8 GPUs, a gang is bound, evicted for a pod group of higher priority, and bound again."""
    cluster.workload("gang", GANG, 4, annotations={"kai.scheduler/requeue-delay": "soon"})
    wait_until(lambda: cluster.running("gang") == GANG)
    wait_until(lambda: cluster.annotations_of("gang").get("last-start-timestamp"))
    cluster.workload("urgent", 1, 8, priority="high")
    wait_until(lambda: cluster.running("urgent") == 1)
    cluster.again("gang", GANG, 4)
    cluster.end("urgent")
    wait_until(lambda: cluster.running("gang") == GANG)
    wait_until(lambda: cluster.annotations_of("gang").get("total-eviction-wait"))
