"""The chart: every choice of values gives a configuration that is read, and a pod that may do little."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from grpc_health.v1.health_pb2 import HealthCheckResponse
from pydantic.alias_generators import to_camel
from tenure.client.kubernetes.ledger.notes import ANNOTATIONS
from tenure.client.kubernetes.settings import AdapterSettings
from tenure.server.settings import TelemetrySection, load_settings
from tenure.server.settings.adapter import load_adapter_settings

from tests.kube.processes import free_port
from tests.server.running import serving_process
from tests.server.test_health import health
from tests.shipping.charts import (
    CHART,
    MANIFESTS,
    ROOT,
    VALUES,
    containers,
    only,
    pod,
    rendered,
    run,
    said,
    template,
)

pytestmark = pytest.mark.kube

EVERY = pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
NOT_IN_VALUES = {
    *("server", "tlsCa", "tlsCert", "tlsKey", "tokenFile", "insecureBeyondLoopback"),
    *("kubeconfig", "context", "namespace", "probesListen"),
}
"""What an adapter in a pod beside its server has no choice about."""


@EVERY
def test_helm_finds_no_fault(values: tuple[str, ...]) -> None:
    ended = run("helm", "lint", "--strict", "--quiet", str(CHART), *said(values))
    assert ended.returncode == 0, ended.stdout + ended.stderr


@EVERY
def test_server_and_adapter_read_their_configuration(values: tuple[str, ...], tmp_path: Path) -> None:
    objects = rendered(values)
    files = {name: tmp_path / name for name in only(objects, "ConfigMap")["data"]}
    for name, file in files.items():
        file.write_text(only(objects, "ConfigMap")["data"][name])
    assert set(files) == {f"{name}.yaml" for name in containers(objects)}
    if "server.yaml" in files:
        assert load_settings(files["server.yaml"]).security.health_listen == "0.0.0.0:50052"
    if "adapter.yaml" in files:
        adapter = load_adapter_settings(files["adapter.yaml"], {}).adapter
        assert adapter.namespace == "tenure-system"
        assert (adapter.server == "127.0.0.1:50051") is ("server.yaml" in files)


@pytest.mark.parametrize("choice", ["defaults", "alone, in clear text", "with metrics"])
def test_a_server_starts_as_its_container_is_told_and_is_found_by_its_probes(
    choice: str, tmp_path: Path
) -> None:
    objects = rendered(VALUES[choice])
    container, file = containers(objects)["server"], tmp_path / "server.yaml"
    probed = {container[f"{kind}Probe"]["grpc"]["port"] for kind in ("startup", "liveness", "readiness")}
    text = only(objects, "ConfigMap")["data"]["server.yaml"].replace("/var/lib/tenure", str(tmp_path))
    moved = {port["containerPort"]: free_port() for port in container["ports"]}
    for inside, outside in moved.items():
        text = text.replace(f"0.0.0.0:{inside}", f"127.0.0.1:{outside}")
    file.write_text(text)
    command, config, *options = container["args"]
    assert (command, config) == ("serve", "--config=/etc/tenure/server.yaml")
    address = f"127.0.0.1:{moved[probed.pop()]}"
    with (
        serving_process("--config", str(file), *options, "--listen", "127.0.0.1:0"),
        grpc.insecure_channel(address) as channel,
    ):
        assert health(channel) == HealthCheckResponse.SERVING
    assert not probed


@EVERY
def test_containers_write_nowhere_and_get_no_privilege(values: tuple[str, ...]) -> None:
    objects = rendered(values)
    spec = pod(objects)["spec"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["runAsUser"] == 65532
    for container in containers(objects).values():
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])


@EVERY
def test_only_the_adapter_gets_a_token_of_the_api_server(values: tuple[str, ...]) -> None:
    objects = rendered(values)
    assert pod(objects)["spec"]["automountServiceAccountToken"] is False
    projected = {volume["name"] for volume in pod(objects)["spec"]["volumes"] if "projected" in volume}
    for name, container in containers(objects).items():
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert bool(mounted & projected) is (name == "adapter")


def test_a_server_with_an_adapter_is_reached_from_within_its_pod_alone() -> None:
    objects = rendered(())
    assert "--listen=127.0.0.1:50051" in containers(objects)["server"]["args"]
    assert "Service" not in {item["kind"] for item in objects}
    assert only(objects, "NetworkPolicy")["spec"]["ingress"] == []


def test_a_server_alone_has_no_rights() -> None:
    kinds = {item["kind"] for item in rendered(VALUES["alone, in clear text"])}
    assert kinds == {
        *("ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount")
    }


@EVERY
def test_every_file_of_the_configuration_is_mounted(values: tuple[str, ...]) -> None:
    objects = rendered(values)
    volumes = {volume["name"] for volume in pod(objects)["spec"]["volumes"]}
    mounted = set()
    for name, container in containers(objects).items():
        folders = {mount["mountPath"] for mount in container["volumeMounts"]}
        mounted |= {mount["name"] for mount in container["volumeMounts"]}
        text = only(objects, "ConfigMap")["data"][f"{name}.yaml"]
        named = {str(Path(file).parent) for file in re.findall(r": (/\S+)", text)}
        assert named <= folders
    assert mounted == volumes


def test_an_adapter_shows_a_server_elsewhere_who_it_is() -> None:
    objects = rendered(VALUES["an adapter of a server elsewhere"])
    adapter = yaml.safe_load(only(objects, "ConfigMap")["data"]["adapter.yaml"])["adapter"]
    assert {key for key in adapter if key.startswith(("tls", "token"))} == {
        *("tlsCa", "tlsCert", "tlsKey", "tokenFile")
    }
    ports = [rule["ports"] for rule in only(objects, "NetworkPolicy")["spec"]["egress"]]
    assert [{"port": 50051}] in ports


def test_pods_are_replaced_when_their_configuration_changes() -> None:
    one, other = (pod(rendered(values)) for values in ((), VALUES["an own profile"]))
    assert one["metadata"]["annotations"] != other["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (("replicas=two",), "at '/replicas': got string, want integer"),
        (("replicas=0",), "at '/replicas': minimum: got 0, want 1"),
        (("replica=1",), "additional properties 'replica' not allowed"),
        (("adapter.config.nodepool=a",), "additional properties 'nodepool' not allowed"),
        (("adapter.config.clusterId=",), "at '/adapter/config/clusterId': minLength: got 0, want 1"),
        (("adapter.config.workloadApi=slurm",), "value must be one of 'auto', 'kai', 'volcano'"),
        (("adapter.config.leaseDuration=15",), "at '/adapter/config/leaseDuration': "),
        (("server.config.records.path=/x",), "additional properties 'records' not allowed"),
        (("server.config.server.tlsCert=/x",), "at '/server/config/server/tlsCert': "),
        (("image.digest=sha256:12",), "at '/image/digest': "),
        (("adapter.enabled=false",), "set server.tls.secretName, or server.insecureBeyondLoopback=true"),
        (("server.tls.secretName=tls",), "set adapter.enabled=false, or leave them out"),
        (("adapter.server=a:1",), "set adapter.tls.secretName, or adapter.insecureBeyondLoopback=true"),
        (("adapter.server=a",), "at '/adapter/server': "),
        (("adapter.tls.secretName=tls",), "set adapter.server, or leave them out"),
        (
            ("adapter.server=a:1", "adapter.insecureBeyondLoopback=true", "adapter.tls.clientCert=true"),
            "adapter.tls.clientCert needs adapter.tls.secretName",
        ),
        (
            ("adapter.enabled=false", "server.insecureBeyondLoopback=true", "server.tls.clientCa=true"),
            "server.tls.clientCa needs server.tls.secretName",
        ),
        (("records.claimName=claim",), "set replicas=1, or let records end with their pods"),
    ],
)
def test_values_that_would_not_do_are_refused(values: tuple[str, ...], told: str) -> None:
    ended = run("helm", "template", "tenure", str(CHART), *said(values))
    assert ended.returncode != 0
    assert told in ended.stderr


def known(*keys: str) -> set[str]:
    """Keys that the schema permits in a part of the values."""
    part: dict[str, Any] = SCHEMA
    for key in keys:
        part = part["properties"][key]
    part = SCHEMA["$defs"]["telemetry"] if part.get("$ref") == "#/$defs/telemetry" else part
    assert part["additionalProperties"] is False
    return set(part["properties"])


def test_the_schema_knows_all_settings_but_those_of_the_chart_itself() -> None:
    assert known("adapter", "config") == set(map(to_camel, AdapterSettings.model_fields)) - NOT_IN_VALUES
    telemetry = set(map(to_camel, TelemetrySection.model_fields)) - {"metricsListen"}
    assert known("adapter", "telemetry") == known("server", "config", "telemetry") == telemetry


def test_every_default_has_a_place_in_the_schema() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(values) == known() - {"global"}
    for name in ("image", "server", "adapter", "records", "metrics", "networkPolicy"):
        assert set(values[name]) == known(name)


def test_the_chart_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == project["version"]


def test_the_policy_of_pod_groups_knows_every_annotation_that_is_written() -> None:
    text = (CHART / "templates/admissionpolicy.yaml").read_text()
    assert all(f'"{name}"' in text for name in ANNOTATIONS)


def test_the_plain_manifests_are_those_of_the_chart() -> None:
    assert (MANIFESTS / "tenure.yaml").read_text() == template(()), "python -m tests manifests --update"


def test_kustomize_builds_them_and_their_namespace() -> None:
    ended = run("kustomize", "build", str(MANIFESTS))
    assert ended.returncode == 0, ended.stderr
    built = {(item["kind"], item["metadata"]["name"]): item for item in yaml.safe_load_all(ended.stdout)}
    charted = {(item["kind"], item["metadata"]["name"]): item for item in rendered(())}
    assert built.pop(("Namespace", "tenure-system"))
    assert built == charted
