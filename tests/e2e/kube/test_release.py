"""helm itself installs the chart, changes it and takes it away, on a real API server."""

import json
from collections.abc import Callable

import pytest
from tenure.client.kubernetes.failures import NotFound

from tests.e2e.kube.installed import collection
from tests.kube.cluster import Cluster
from tests.kube.controlplane import ControlPlane
from tests.shipping.charts import CHART, Object, rendered, run, said

pytestmark = pytest.mark.kube

Helm = Callable[..., str]


@pytest.fixture
def helm(plane: ControlPlane, bare: Cluster) -> Helm:
    """Runs helm on the namespace of the story."""

    def ran(*arguments: str) -> str:
        where = ("--namespace", bare.namespace, "--kubeconfig", str(plane.kubeconfig()))
        ended = run("helm", *arguments, *where)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return ran


def there(cluster: Cluster, item: Object) -> Object | None:
    """The object of a release as it is, if it is."""
    path = f"{collection(item, cluster.namespace)}/{item['metadata']['name']}"
    try:
        found: Object = json.loads(cluster.transport.get(path))
    except NotFound:
        return None
    return found


def test_a_release_comes_changes_and_goes_without_a_trace(bare: Cluster, helm: Helm) -> None:
    name, chart = bare.namespace, str(CHART)
    objects = rendered((), release=name, namespace=name)
    assert "get lease tenure\n" in helm("install", name, chart)
    assert [item["kind"] for item in objects if there(bare, item) is None] == []

    changed = ("adapter.config.nodePool=gpu", "networkPolicy.enabled=false")
    helm("upgrade", name, chart, *said(changed))
    (deployment,) = (item for item in objects if item["kind"] == "Deployment")
    now = there(bare, deployment)
    assert now is not None
    assert now["metadata"]["generation"] == 2
    assert [item["kind"] for item in objects if there(bare, item) is None] == ["NetworkPolicy"]

    helm("uninstall", name)
    assert [item["kind"] for item in objects if there(bare, item) is not None] == []
