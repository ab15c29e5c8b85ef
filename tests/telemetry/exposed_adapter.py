"""What an adapter told on its page for Prometheus, after a round of its work went well and a list did not."""

import json
from contextlib import closing
from pathlib import Path
from urllib.error import URLError

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from tenure.client.kubernetes.transport import Transport

from tests.kube.adapting import adapting, arguments
from tests.kube.cluster import eventually
from tests.kube.definitions import define_kinds
from tests.kube.fake.server import serving
from tests.server.running import server_here
from tests.telemetry.life import live_cluster
from tests.telemetry.programs import free_port
from tests.telemetry.served import page

LISTS_REFUSED = 2


def expose_adapter(folder: Path) -> dict[str, Metric]:
    """Families of the page by name."""
    file, port = folder / "adapter.yaml", free_port()
    telemetry = {"metricsListen": f"127.0.0.1:{port}"}
    file.write_text(json.dumps({"adapter": {}, "telemetry": telemetry}))
    with (
        serving(folder) as api,
        closing(Transport(api.kubeconfig())) as transport,
        server_here() as (_, server),
    ):
        define_kinds(transport)
        api.faults.refuse("GET", "/api/v1/nodes", 500, times=LISTS_REFUSED)
        with live_cluster(transport) as cluster:
            told = arguments(api, server, cluster.namespace)
            with adapting(folder / "adapter.log", *told, "--config", str(file)):
                cluster.workload("gang", 2, 4)
                return eventually(lambda: _families_after_a_round(port))


def _families_after_a_round(port: int) -> dict[str, Metric]:
    """Nothing, as long as nothing was bound and annotated."""
    try:
        found = {family.name: family for family in text_string_to_metric_families(page(port))}
    except (URLError, ConnectionError):
        return {}
    calls = found.get("tenure_adapter_api_call_duration_seconds")
    written = {(one.labels["method"], one.labels["resource"]) for one in calls.samples} if calls else set()
    return found if ("PATCH", "podgroups") in written else {}
