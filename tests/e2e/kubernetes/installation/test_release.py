"""helm installs, upgrades and uninstalls the chart on a real API server."""

import json
from collections.abc import Callable

import pytest
from tenure.kubernetes.api.api_errors import NotFound

from tests.kubernetes.cluster import UserCluster
from tests.kubernetes.environment.control_plane import ControlPlane
from tests.kubernetes.environment.manifests import collection
from tests.packaging.charts import CHART, Object, render_chart, run, value_arguments

pytestmark = pytest.mark.kube

Helm = Callable[..., str]


@pytest.fixture
def helm(plane: ControlPlane, namespace_only: UserCluster) -> Helm:
    """Run helm in the namespace of the test."""

    def ran(*arguments: str) -> str:
        where = ("--namespace", namespace_only.namespace, "--kubeconfig", str(plane.kubeconfig()))
        ended = run("helm", *arguments, *where)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return ran


def find_object(cluster: UserCluster, item: Object) -> Object | None:
    """Return the current object of a release, or None."""
    path = f"{collection(item, cluster.namespace)}/{item['metadata']['name']}"
    try:
        found: Object = json.loads(cluster.transport.get(path))
    except NotFound:
        return None
    return found


def test_release_installs_upgrades_and_uninstalls_completely(namespace_only: UserCluster, helm: Helm) -> None:
    name, chart = namespace_only.namespace, str(CHART)
    objects = render_chart((), release=name, namespace=name)
    assert "get lease tenure\n" in helm("install", name, chart)
    assert [item["kind"] for item in objects if find_object(namespace_only, item) is None] == []

    changed = ("adapter.config.nodePool=gpu", "networkPolicy.enabled=false")
    helm("upgrade", name, chart, *value_arguments(changed))
    (deployment,) = (item for item in objects if item["kind"] == "Deployment")
    now = find_object(namespace_only, deployment)
    assert now is not None
    assert now["metadata"]["generation"] == 2
    assert [item["kind"] for item in objects if find_object(namespace_only, item) is None] == [
        "NetworkPolicy"
    ]

    helm("uninstall", name)
    assert [item["kind"] for item in objects if find_object(namespace_only, item) is not None] == []
