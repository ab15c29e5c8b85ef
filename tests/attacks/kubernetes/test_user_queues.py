"""Queues of users on a real API server: a policy guards the annotation, and limits hold (R19.10)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tenure.kubernetes.api.api_errors import RequestRejected
from tenure.kubernetes.api.transport import MERGE_PATCH, Transport

from tests.kubernetes.adapter.adapter_stage import Stage
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.control_plane import ControlPlane
from tests.kubernetes.environment.resource_definitions import KAI_QUEUE

pytestmark = pytest.mark.kube

PAGE = (Path(__file__).parents[3] / "docs/operate/security.md").read_text()
SECTION = PAGE.partition("## Queues of users\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL)
ANNOTATION = "example.com/user"
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_PATHS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


def settings_of_the_page() -> Any:
    return yaml.safe_load(BLOCKS[0])["adapter"]["config"]["userQueues"]


@pytest.fixture
def policy(cluster: UserCluster) -> Iterator[None]:
    """The policy of the page, for one namespace: a server goes on applying it for a while after its end.

    Alice and carol may be named there.
    """
    change = {"metadata": {"annotations": {"example.com/users": "alice,carol"}}}
    cluster.transport.patch(f"/api/v1/namespaces/{cluster.namespace}", change, MERGE_PATCH)
    made = list(yaml.safe_load_all(BLOCKS[1]))
    here = {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}
    for item in made:
        if item["kind"] == "ValidatingAdmissionPolicyBinding":
            item["spec"].setdefault("matchResources", {})["namespaceSelector"] = here
        cluster.transport.post(path_of(item), item)
    yield
    for item in made:
        cluster.transport.delete(f"{path_of(item)}/{item['metadata']['name']}")


def path_of(item: Any) -> str:
    return f"{_ADMISSION}/{_PATHS[item['kind']]}"


def named(user: str, queue: str = "q") -> dict[str, str]:
    return {ANNOTATION: user, "kai.scheduler/queue": queue}


def rejection(user: Transport, cluster: UserCluster, name: str) -> str:
    pod = {
        "metadata": {"name": "new", "annotations": named(name)},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    try:
        user.post(cluster.pods_path, pod, {"dryRun": "All"})
    except RequestRejected as failure:
        return str(failure)
    return ""


@pytest.mark.usefixtures("policy")
def test_tenant_names_only_the_users_of_its_namespace(cluster: UserCluster, tenant: Transport) -> None:
    wait_until(lambda: "does not permit this user" in rejection(tenant, cluster, "bob"))
    assert [rejection(tenant, cluster, name) for name in ("alice", "carol", "")] == ["", "", ""]
    cluster.pod("mine", 1, annotations=named("alice"))
    change = {"metadata": {"annotations": {ANNOTATION: "bob"}}}
    with pytest.raises(RequestRejected, match="does not permit this user"):
        tenant.patch(f"{cluster.pods_path}/mine", change, MERGE_PATCH)
    namespace = {"metadata": {"annotations": {"example.com/users": "bob"}}}
    with pytest.raises(RequestRejected):
        tenant.patch(f"/api/v1/namespaces/{cluster.namespace}", namespace, MERGE_PATCH)


def test_each_user_has_its_own_limit(plane: ControlPlane, cluster: UserCluster, server: str) -> None:
    """With the settings of the page; a user cannot take the place of another one by naming its queue."""
    note = {"metadata": {"annotations": {"tenure.scheduler/user-limits": "gpu=2"}}}
    cluster.transport.patch(f"/apis/{KAI_QUEUE.api_version}/queues/q", note, MERGE_PATCH)
    settings = dict.fromkeys(("clusterId", "namespace"), cluster.namespace)
    users = {**settings_of_the_page(), "queues": ["q"]}
    with Stage(plane, cluster, server, {**settings, "userQueues": users}).adapter():
        cluster.pod("first", 2, annotations=named("alice"))
        wait_until(lambda: is_bound(cluster, "first"))
        for name, notes in (
            ("second", named("alice")),
            ("thief", named("mallory", "q/carol")),
            ("anonymous", {"kai.scheduler/queue": "q"}),
        ):
            cluster.pod(name, 1, annotations=notes)
        cluster.pod("other", 2, annotations=named("carol"))
        wait_until(lambda: is_bound(cluster, "other"))
        told = {
            name: wait_until(lambda name=name: condition(cluster, name))  # type: ignore[misc]
            for name in ("second", "thief", "anonymous")
        }
    assert "queue q/alice would exceed its GPU limit" in told["second"]
    assert "queue 'q/carol' is that of a user: name the queue of the team" in told["thief"]
    assert f"its pods need the annotation {ANNOTATION}" in told["anonymous"]
    assert not any(is_bound(cluster, name) for name in told)


def read_pod(cluster: UserCluster, name: str) -> Any:
    return json.loads(cluster.transport.get(f"{cluster.pods_path}/{name}"))


def is_bound(cluster: UserCluster, name: str) -> bool:
    return bool(read_pod(cluster, name)["spec"].get("nodeName"))


def condition(cluster: UserCluster, name: str) -> str:
    found = read_pod(cluster, name)["status"].get("conditions", [])
    texts = [one.get("message", "") for one in found if one["type"] == "PodScheduled"]
    return str(next(iter(texts), ""))
