"""A server process with telemetry, and clusters for its requests."""

import json
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest
from tenure.v1 import snapshot_pb2 as pb

from tests.server.servers import run_server_process
from tests.small_snapshot import small_snapshot

METRICS_INTERVAL: Final = "200ms"
NO_OPTIONS: Final[Mapping[str, Any]] = MappingProxyType({})
AMPLE_RATE: Final[Mapping[str, Any]] = MappingProxyType(
    {"evictionRates": [{"name": "ample", "rate": "1000/s", "burst": 1000}]}
)
"""Options with an eviction rate that rejects nothing, so that its metrics exist."""


@contextmanager
def export_immediately() -> Iterator[None]:
    """Processes that start in the context export telemetry immediately."""
    with pytest.MonkeyPatch.context() as patch:
        for queue in ("BSP", "BLRP"):
            patch.setenv(f"OTEL_{queue}_SCHEDULE_DELAY", "50")
        yield


@contextmanager
def run_telemetry_server(
    folder: Path,
    /,
    *,
    solver: str = "thread",
    options: Mapping[str, Any] = NO_OPTIONS,
    plugins: Mapping[str, Any] = NO_OPTIONS,
    actions: str = "",
    **telemetry: Any,
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run `tenure serve` with these keys in section `telemetry`. Yields its address."""
    file = folder / "telling.yaml"
    write_configuration(file, solver=solver, options=options, plugins=plugins, actions=actions, **telemetry)
    arguments = ("--records", str(folder / "records.db"), "--config", str(file))
    with run_server_process(*arguments) as (process, address):
        yield process, address


def write_configuration(
    file: Path,
    *,
    solver: str = "thread",
    options: Mapping[str, Any] = NO_OPTIONS,
    plugins: Mapping[str, Any] = NO_OPTIONS,
    actions: str = "",
    **telemetry: Any,
) -> None:
    """Write the configuration as JSON, which is valid YAML."""
    sections = {"server": {"solverHost": solver}, "telemetry": telemetry}
    sections |= {"options": dict(options), "plugins": dict(plugins)}
    sections |= {"actions": actions} if actions else {}
    file.write_text(json.dumps(sections))


def fetch_metrics(port: int) -> str:
    """Return the Prometheus page."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


def contested_snapshot() -> pb.ClusterSnapshot:
    """The small cluster, full. Pods in `right` can reclaim from `left`, which exceeds its fair share."""
    snapshot = small_snapshot()
    for name, node in (("hog-0", "n1"), ("hog-1", "n2"), ("hog-2", "n2")):
        group = snapshot.pod_groups.add(uid=name, name=name, queue="left", min_member=1)
        group.creation_time.seconds = group.last_start_time.seconds = 1_690_000_000
        group.preemptibility = pb.PREEMPTIBILITY_PREEMPTIBLE
        snapshot.pods.add(
            uid=f"{name}-pod", pod_group=name, shape="gpu", status=pb.POD_STATUS_RUNNING, node=node
        )
    snapshot.pods[1].ClearField("gpu_groups")
    del snapshot.pods[1]
    return snapshot
