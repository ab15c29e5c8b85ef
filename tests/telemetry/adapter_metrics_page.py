"""The metrics page of an adapter after a successful reconcile and a failed list request."""

import json
from contextlib import closing
from pathlib import Path
from urllib.error import URLError

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from tenure.kubernetes.api.transport import Transport

from tests.kubernetes.adapter_process import adapter_arguments, run_adapter
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.environment.resource_definitions import define_kinds
from tests.kubernetes.fake_api_server.server import run_fake_api_server
from tests.server.servers import run_server
from tests.telemetry.decision_life import run_live_cluster
from tests.telemetry.external_programs import free_port
from tests.telemetry.telemetry_server import fetch_metrics

LISTS_REJECTED = 2
POD_GROUPS = "podgroups.scheduling.run.ai"
_CALLS, _CHANGES = "tenure_adapter_api_call_duration_seconds", "tenure_adapter_object_changes"


def collect_adapter_metrics(folder: Path) -> dict[str, Metric]:
    """Return the metric families of the page by name."""
    file, port = folder / "adapter.yaml", free_port()
    telemetry = {"metricsListen": f"127.0.0.1:{port}"}
    file.write_text(json.dumps({"adapter": {}, "telemetry": telemetry}))
    with (
        run_fake_api_server(folder) as api,
        closing(Transport(api.kubeconfig())) as transport,
        run_server() as (_, server),
    ):
        define_kinds(transport)
        api.faults.refuse("GET", "/api/v1/nodes", 500, times=LISTS_REJECTED)
        with run_live_cluster(transport) as cluster:
            arguments = adapter_arguments(api, server, cluster.namespace)
            with run_adapter(folder / "adapter.log", *arguments, "--config", str(file)):
                cluster.workload("gang", 2, 4)
                return wait_until(lambda: _families_after_reconcile(port))


def _families_after_reconcile(port: int) -> dict[str, Metric]:
    """Return the families; empty until an annotation was written and the watch returned the change."""
    try:
        found = {family.name: family for family in text_string_to_metric_families(fetch_metrics(port))}
    except (URLError, ConnectionError):
        return {}
    written = ("PATCH", "podgroups") in _labels(found, _CALLS, "method", "resource")
    returned = (POD_GROUPS,) in _labels(found, _CHANGES, "resource")
    return found if written and returned else {}


def _labels(families: dict[str, Metric], name: str, *labels: str) -> set[tuple[str, ...]]:
    samples = families[name].samples if name in families else ()
    return {tuple(sample.labels[label] for label in labels) for sample in samples}
