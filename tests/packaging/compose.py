"""The check `compose`: Docker starts what docker/compose.yaml describes, with the command of the page.

The daemon needs no registry. The image of Tenure is the one that `make image` built. Collector and Prometheus
are real programs in images made here, under the names in the file; that Prometheus is Debian's. The images of
Jaeger and Grafana come from a registry only: a collector that prints its traces and a server of files are in
their place.
"""

import json
import subprocess
import urllib.request
from typing import Any, Final

import yaml
from tenure.client import Client, TenureError

from tests.checks import Counts
from tests.child_processes import Program
from tests.kubernetes.cluster import wait_until
from tests.packaging.docker_daemon import DockerDaemon, run_docker
from tests.packaging.image import built_image
from tests.small_snapshot import small_snapshot
from tests.tools.catalog import CACHE
from tests.tools.tool import ROOT

PAGE: Final = ROOT / "docs/operate/monitoring.md"
FILE: Final = "docker/compose.yaml"
SERVICES: Final = yaml.safe_load((ROOT / FILE).read_text())["services"]
_BASE: Final = "localhost/tenure-run:bookworm"
_PRINTS_TRACES: Final = """
receivers: {otlp: {protocols: {grpc: {endpoint: "0.0.0.0:4317"}}}}
exporters: {debug: {verbosity: detailed}}
service: {pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}
"""
_WRITES: Final = """
import os, pathlib
try:
    pathlib.Path("/opt/tenure/new").write_text("")
    written = True
except OSError:
    written = False
print(os.getuid(), written, pathlib.Path("/var/lib/tenure/records.sqlite").exists())
"""
"""User, whether files of the image can be changed, and whether records are stored."""


def main() -> Counts:
    """Start the services, and look at each. Raises CannotRun without a daemon or an image."""
    image = built_image()["image"]
    (command,) = (line for line in PAGE.read_text().splitlines() if line.startswith("docker compose "))
    cases = (
        _services_run,
        _decisions_are_made,
        _server_is_unprivileged,
        _traces_arrive,
        _metrics_are_read,
        _dashboard_is_mounted,
        _server_ends_in_order,
    )
    failed = 0
    with run_docker() as daemon:
        _provide_images(daemon, image)
        up = Program(
            daemon.folder / "up.log",
            *command.replace(FILE, str(ROOT / FILE)).split(),
            env=dict(daemon.variables),
        )
        try:
            for case in cases:
                try:
                    case(daemon)
                except (AssertionError, OSError, subprocess.CalledProcessError, TenureError) as problem:
                    failed += 1
                    print(f"{case.__name__.strip('_')}: {problem!r}\n{up.output}")
        finally:
            _compose(daemon, "down", "--timeout", "5")
            up.kill()
    return Counts(len(cases) - failed, failed)


def _provide_images(daemon: DockerDaemon, image: str) -> None:
    for name in (image, _BASE):
        daemon.load(name)
    daemon.require_containers(_BASE)
    daemon.docker("tag", image, "docker-tenure")  # what compose calls an image that it builds
    images = {name: each["image"] for name, each in SERVICES.items() if "image" in each}
    collector, prometheus = CACHE / "collector/collector", CACHE / "promtool/prometheus"
    daemon.build(images["collector"], _BASE, {"/collector": collector}, "/collector")
    printing = {"/collector": collector, "/traces.yaml": _PRINTS_TRACES}
    daemon.build(images["jaeger"], _BASE, printing, "/collector", "--config=/traces.yaml")
    reading = ("/prometheus", "--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/data")
    daemon.build(images["prometheus"], _BASE, {"/prometheus": prometheus}, *reading)
    serving = ("python3", "-m", "http.server", "3000", "--directory", "/etc/grafana")
    daemon.build(images["grafana"], _BASE, {}, *serving)


def _compose(daemon: DockerDaemon, *arguments: str) -> str:
    return daemon.docker("compose", "--file", str(ROOT / FILE), *arguments)


def _get(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=5) as response:
        return json.load(response)


def _services_run(daemon: DockerDaemon) -> None:
    def states() -> dict[str, list[str]]:
        lines = _compose(daemon, "ps", "--all", "--format", "{{.Service}} {{.State}} {{.Health}}")
        return {line.split()[0]: line.split()[1:] for line in lines.splitlines()}

    healthy = {name: ["healthy"] if "healthcheck" in each else [] for name, each in SERVICES.items()}
    wait_until(lambda: states() == {name: ["running", *health] for name, health in healthy.items()}, 60)


def _decisions_are_made(_: DockerDaemon) -> None:
    with Client("127.0.0.1:50051") as client:
        assert client.decide(small_snapshot(), timeout=20).groups


def _server_is_unprivileged(daemon: DockerDaemon) -> None:
    assert _compose(daemon, "exec", "tenure", "python", "-c", _WRITES).split() == ["65532", "False", "True"]


def _traces_arrive(daemon: DockerDaemon) -> None:
    wait_until(lambda: "tenure.v1.DecisionService/Decide" in _compose(daemon, "logs", "jaeger"), 30)


def _metrics_are_read(_: DockerDaemon) -> None:
    query = "http://127.0.0.1:9090/api/v1/query?query=tenure_cycle_duration_seconds_count"
    wait_until(lambda: _get(query)["data"]["result"], 60)
    assert _get("http://127.0.0.1:9090/api/v1/rules")["data"]["groups"]


def _dashboard_is_mounted(_: DockerDaemon) -> None:
    assert _get("http://127.0.0.1:3000/dashboards/tenure.json")["panels"]


def _server_ends_in_order(daemon: DockerDaemon) -> None:
    _compose(daemon, "stop", "tenure")
    line = _compose(daemon, "ps", "--all", "--format", "{{.Service}} {{.ExitCode}}")
    assert "tenure 0" in line.splitlines(), line
