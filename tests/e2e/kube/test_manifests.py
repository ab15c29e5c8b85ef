"""The API server takes all that is shipped, to the last field, and its pods where security is restricted."""

from contextlib import suppress
from typing import Any

import pytest
import yaml
from tenure.client.kubernetes.failures import ApiFailure, Conflict
from tenure.client.kubernetes.transport import Transport

from tests.e2e.kube.installed import collection
from tests.shipping.charts import MANIFESTS, NAMESPACE, VALUES, pod, rendered

pytestmark = pytest.mark.kube

_STRICTLY = {"dryRun": "All", "fieldValidation": "Strict"}


@pytest.fixture(scope="session")
def shipped(transport: Transport) -> Transport:
    """An API server that has the namespace as it is shipped."""
    item = yaml.safe_load((MANIFESTS / "namespace.yaml").read_text())
    with suppress(Conflict):
        transport.post(collection(item, NAMESPACE), item, {"fieldValidation": "Strict"})
    return transport


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_every_object_is_taken(shipped: Transport, values: tuple[str, ...]) -> None:
    for item in rendered(values):
        shipped.post(collection(item, NAMESPACE), item, _STRICTLY)


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_its_pods_may_run_where_security_is_restricted(shipped: Transport, values: tuple[str, ...]) -> None:
    shipped.post(f"/api/v1/namespaces/{NAMESPACE}/pods", a_pod(values), _STRICTLY)


def test_what_is_misspelt_or_may_do_more_is_not_taken(shipped: Transport) -> None:
    misspelt, root = a_pod(()), a_pod(())
    misspelt["spec"]["containers"][0]["securitycontext"] = {}
    root["spec"]["securityContext"]["runAsUser"] = 0
    for item, told in ((misspelt, "securitycontext"), (root, "violates PodSecurity")):
        with pytest.raises(ApiFailure, match=told):
            shipped.post(f"/api/v1/namespaces/{NAMESPACE}/pods", item, _STRICTLY)


def a_pod(values: tuple[str, ...]) -> dict[str, Any]:
    """As the deployment's controller would make it."""
    made = pod(rendered(values))
    return {"apiVersion": "v1", "kind": "Pod", **made, "metadata": {**made["metadata"], "name": "tenure-0"}}
