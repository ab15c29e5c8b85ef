"""A disruption budget that a tenant writes for running pods keeps what is lent for a time only."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.adapter_process import adapter_arguments, run_adapter
from tests.kubernetes.cluster import UserCluster, wait_until
from tests.kubernetes.environment.control_plane import ControlPlane
from tests.kubernetes.environment.disruption_controller import allow_disruptions
from tests.server.servers import run_server_process

pytestmark = pytest.mark.kube

PATIENCE_SECONDS: Final = 8


@pytest.fixture
def patient_server(tmp_path: Path) -> Iterator[str]:
    """A server with this patience for disruption budgets."""
    file = tmp_path / "server.yaml"
    file.write_text(f"options: {{budgetPatience: {PATIENCE_SECONDS}s}}\n")
    with run_server_process("--config", str(file)) as (_, address):
        yield address


def test_budget_of_a_tenant_holds_for_the_patience_only(
    cluster: UserCluster, plane: ControlPlane, tenant: Transport, patient_server: str, tmp_path: Path
) -> None:
    cluster.queue("lends", gpus=8)
    cluster.queue("borrows", gpus=0)
    flags = adapter_arguments(plane, patient_server, cluster.namespace)
    with run_adapter(tmp_path / "adapter.log", *flags, "--eviction-mode", "patient"):
        cluster.workload("guest", pods=2, gpus=4, queue="borrows")
        wait_until(lambda: cluster.running("guest") == 2)
        spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "guest"}}}
        budgets = f"/apis/policy/v1/namespaces/{cluster.namespace}/poddisruptionbudgets"
        tenant.post(budgets, {"metadata": {"name": "mine"}, "spec": spec})
        allow_disruptions(cluster.transport)
        cluster.workload("owner", pods=1, gpus=4, queue="lends")
        wait_until(lambda: cluster.reasons_of("owner") == "DisruptionBudget")
        assert cluster.running("guest") == 2
        wait_until(lambda: cluster.running("owner") == 1)
