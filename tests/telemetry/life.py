"""The life of a few decisions: a gang runs, yields to somebody urgent, and runs again."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tenure.client.kubernetes.transport import Transport

from tests.kube.adapting import adapting, arguments
from tests.kube.cluster import Cluster, eventually
from tests.kube.controlplane import ControlPlane
from tests.kube.definitions import KAI_POD_GROUP
from tests.telemetry.served import METRICS_INTERVAL, telling_server

GANG: Final = 2
"""Pods of 4 GPUs on a node of 8."""


@contextmanager
def telling_adapter(plane: ControlPlane, cluster: Cluster, folder: Path, collector: str) -> Iterator[None]:
    """An adapter and the server that it asks, both of which tell a collector at HOST:PORT everything."""
    file, endpoint = folder / "adapter.yaml", f"http://{collector}"
    telemetry = {"otlpEndpoint": endpoint, "metricsInterval": METRICS_INTERVAL}
    file.write_text(json.dumps({"adapter": {}, "telemetry": telemetry}))
    with telling_server(folder, otlpEndpoint=endpoint, metricsInterval=METRICS_INTERVAL) as (_, server):
        told = arguments(plane, server, cluster.namespace)
        with adapting(folder / "adapter.log", *told, "--config", str(file)):
            yield


@contextmanager
def live_cluster(transport: Transport) -> Iterator[Cluster]:
    """A namespace of its own, and a node, a queue and priorities for those who live there."""
    cluster = Cluster(transport, "life")
    cluster.node("life", gpus=8)
    cluster.queue("q")
    cluster.priorities(low=10, high=90)
    try:
        yield cluster
    finally:
        cluster.clear(KAI_POD_GROUP)


def live(cluster: Cluster) -> None:
    """On a node of 8 GPUs: bound, evicted for somebody of higher priority, and bound again."""
    cluster.workload("gang", GANG, 4, annotations={"kai.scheduler/requeue-delay": "soon"})
    eventually(lambda: cluster.running("gang") == GANG)
    eventually(lambda: cluster.noted("gang").get("last-start-timestamp"))
    cluster.workload("urgent", 1, 8, priority="high")
    eventually(lambda: cluster.running("urgent") == 1)
    cluster.again("gang", GANG, 4)
    cluster.end("urgent")
    eventually(lambda: cluster.running("gang") == GANG)
    eventually(lambda: cluster.noted("gang").get("waited-after-evictions"))
