"""docs/get-started/quickstart-kubernetes.md: its manifests lead to the bindings and evictions shown."""

import re
from typing import Any, Final

import yaml

from tests.kubernetes.adapter.adapter_stage import AdapterStage
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.binaries import ROOT
from tests.kubernetes.environment.resource_definitions import KAI_POD_GROUP

PAGE: Final = (ROOT / "docs/get-started/quickstart-kubernetes.md").read_text()
QUEUES, TRAIN_A, TRAIN_B = (
    list(yaml.safe_load_all(block)) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
)


def test_gang_starts_and_gives_its_surplus_to_the_other_queue(stage: AdapterStage) -> None:
    cluster = stage.cluster
    for queue in QUEUES:
        cluster.make(f"/apis/{queue['apiVersion']}/queues", queue)
    submit(cluster, *TRAIN_A)
    assert len(stage.dry_run_output()) == 8
    assert stage.writes() == []
    with stage.adapter():
        wait_until(lambda: cluster.running("train-a") == 8)
        submit(cluster, *TRAIN_B)
        wait_until(lambda: cluster.running("train-b") == 4)
        wait_until(lambda: len(cluster.events("Evicted")) == 4)
    assert cluster.running("train-a") == 4
    assert all(pod.startswith("train-a-") for pod in stage.sent("eviction"))


def submit(cluster: UserCluster, group: dict[str, Any], job: dict[str, Any]) -> None:
    """Create a pod group, and the pods that the controller of its job would create."""
    group["metadata"]["namespace"] = cluster.namespace
    cluster.transport.post(cluster.path(KAI_POD_GROUP), group)
    template = job["spec"]["template"]
    for index in range(job["spec"]["parallelism"]):
        meta = {**template["metadata"], "name": f"{job['metadata']['name']}-{index}"}
        cluster.transport.post(cluster.pods_path, {"metadata": meta, "spec": template["spec"]})
