"""The API server accepts every field of the shipped manifests; their pods meet restricted security."""

from contextlib import suppress
from typing import Any

import pytest
import yaml
from tenure.kubernetes.api.api_errors import ApiError, Conflict
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.environment.manifests import collection
from tests.packaging.charts import MANIFESTS, NAMESPACE, VALUES, pod, render_chart

pytestmark = pytest.mark.kube

_STRICTLY = {"dryRun": "All", "fieldValidation": "Strict"}


@pytest.fixture(scope="session")
def shipped_namespace(transport: Transport) -> Transport:
    """An API server with the shipped namespace."""
    item = yaml.safe_load((MANIFESTS / "namespace.yaml").read_text())
    with suppress(Conflict):
        transport.post(collection(item, NAMESPACE), item, {"fieldValidation": "Strict"})
    return transport


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_every_object_is_accepted(shipped_namespace: Transport, values: tuple[str, ...]) -> None:
    for item in render_chart(values):
        namespace = item["metadata"].get("namespace", NAMESPACE)
        shipped_namespace.post(collection(item, namespace), item, _STRICTLY)


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_pods_are_accepted_in_a_restricted_namespace(
    shipped_namespace: Transport, values: tuple[str, ...]
) -> None:
    shipped_namespace.post(f"/api/v1/namespaces/{NAMESPACE}/pods", controller_pod(values), _STRICTLY)


def test_misspelled_or_privileged_pod_is_rejected(shipped_namespace: Transport) -> None:
    misspelt, root = controller_pod(()), controller_pod(())
    misspelt["spec"]["containers"][0]["securitycontext"] = {}
    root["spec"]["securityContext"]["runAsUser"] = 0
    for item, message in ((misspelt, "securitycontext"), (root, "violates PodSecurity")):
        with pytest.raises(ApiError, match=message):
            shipped_namespace.post(f"/api/v1/namespaces/{NAMESPACE}/pods", item, _STRICTLY)


def controller_pod(values: tuple[str, ...]) -> dict[str, Any]:
    """Build a pod as the deployment controller creates it."""
    made = pod(render_chart(values))
    return {"apiVersion": "v1", "kind": "Pod", **made, "metadata": {**made["metadata"], "name": "tenure-0"}}
