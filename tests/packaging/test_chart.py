"""The chart: all values render a valid configuration and a pod with minimal permissions."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import grpc
import pytest
import yaml
from grpc_health.v1.health_pb2 import HealthCheckResponse
from pydantic.alias_generators import to_camel
from tenure.kubernetes.apply.annotations import ANNOTATIONS
from tenure.kubernetes.settings import AdapterSettings, load_adapter_settings
from tenure.server.settings import TelemetrySection, load_settings

from tests.child_processes import free_port
from tests.console.console_process import process
from tests.packaging.charts import (
    CHART,
    MANIFESTS,
    ROOT,
    VALUES,
    containers,
    only_object,
    pod,
    render_chart,
    run,
    template,
    value_arguments,
)
from tests.server.servers import run_server_process
from tests.server.test_grpc_server_health import health

pytestmark = pytest.mark.kube

EVERY = pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
NOT_IN_VALUES = {
    *("server", "tlsCa", "tlsCert", "tlsKey", "tokenFile", "allowPlaintext"),
    *("kubeconfig", "context", "namespace", "healthListen"),
}
"""Settings that are fixed for an adapter in a pod with its server."""


@EVERY
def test_helm_lint_passes(values: tuple[str, ...]) -> None:
    ended = run("helm", "lint", "--strict", "--quiet", str(CHART), *value_arguments(values))
    assert ended.returncode == 0, ended.stdout + ended.stderr


@EVERY
def test_server_and_adapter_read_their_configuration(values: tuple[str, ...], tmp_path: Path) -> None:
    objects = render_chart(values)
    files = {name: tmp_path / name for name in only_object(objects, "ConfigMap")["data"]}
    for name, file in files.items():
        file.write_text(only_object(objects, "ConfigMap")["data"][name])
    assert set(files) == {f"{name}.yaml" for name in containers(objects).keys() - {"console"}}
    if "server.yaml" in files:
        assert load_settings(files["server.yaml"]).security.health_listen == "0.0.0.0:50052"
    if "adapter.yaml" in files:
        adapter = load_adapter_settings(files["adapter.yaml"], {}).adapter
        assert adapter.namespace == "tenure-system"
        assert (adapter.server == "127.0.0.1:50051") is ("server.yaml" in files)


@pytest.mark.parametrize("choice", ["defaults", "alone, in clear text", "with metrics"])
def test_server_starts_with_the_container_arguments_and_its_probes_pass(choice: str, tmp_path: Path) -> None:
    objects = render_chart(VALUES[choice])
    container, file = containers(objects)["server"], tmp_path / "server.yaml"
    probed = {container[f"{kind}Probe"]["grpc"]["port"] for kind in ("startup", "liveness", "readiness")}
    text = only_object(objects, "ConfigMap")["data"]["server.yaml"].replace("/var/lib/tenure", str(tmp_path))
    moved = {port["containerPort"]: free_port() for port in container["ports"]}
    for inside, outside in moved.items():
        text = text.replace(f"0.0.0.0:{inside}", f"127.0.0.1:{outside}")
    file.write_text(text)
    command, config, *options = container["args"]
    assert (command, config) == ("serve", "--config=/etc/tenure/server.yaml")
    address = f"127.0.0.1:{moved[probed.pop()]}"
    with (
        run_server_process("--config", str(file), *options, "--listen", "127.0.0.1:0"),
        grpc.insecure_channel(address) as channel,
    ):
        assert health(channel) == HealthCheckResponse.SERVING
    assert not probed


@EVERY
def test_containers_have_read_only_filesystems_and_no_privileges(values: tuple[str, ...]) -> None:
    objects = render_chart(values)
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
    objects = render_chart(values)
    assert pod(objects)["spec"]["automountServiceAccountToken"] is False
    projected = {volume["name"] for volume in pod(objects)["spec"]["volumes"] if "projected" in volume}
    for name, container in containers(objects).items():
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert bool(mounted & projected) is (name == "adapter")


def test_server_with_adapter_is_reachable_only_within_its_pod() -> None:
    objects = render_chart(())
    assert "--listen=127.0.0.1:50051" in containers(objects)["server"]["args"]
    assert "Service" not in {item["kind"] for item in objects}
    assert only_object(objects, "NetworkPolicy")["spec"]["ingress"] == []


@pytest.mark.parametrize("choice", ["a console", "a console for tenants"])
def test_console_starts_with_the_container_arguments(choice: str) -> None:
    command, *options = containers(render_chart(VALUES[choice]))["console"]["args"]
    listen = next(option for option in options if option.startswith("--listen="))
    options[options.index(listen)] = "--listen=127.0.0.1:0"
    with process(command, *options) as (_, address):
        assert urlopen(f"{address}healthz", timeout=20).read() == b"ok"


def test_console_is_off_and_then_reached_by_a_port_forward_only() -> None:
    assert "console" not in containers(render_chart(()))
    objects = render_chart(VALUES["a console"])
    assert "--listen=127.0.0.1:8080" in containers(objects)["console"]["args"]
    assert "Service" not in {item["kind"] for item in objects}
    assert only_object(objects, "NetworkPolicy")["spec"]["ingress"] == []


def test_server_without_adapter_has_no_permissions() -> None:
    kinds = {item["kind"] for item in render_chart(VALUES["alone, in clear text"])}
    assert kinds == {
        *("ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount")
    }


@EVERY
def test_every_file_of_the_configuration_is_mounted(values: tuple[str, ...]) -> None:
    objects = render_chart(values)
    volumes = {volume["name"] for volume in pod(objects)["spec"]["volumes"]}
    mounted = set()
    for name, container in containers(objects).items():
        folders = {mount["mountPath"] for mount in container["volumeMounts"]}
        mounted |= {mount["name"] for mount in container["volumeMounts"]}
        files = only_object(objects, "ConfigMap")["data"]
        text = files[f"{name}.yaml"] if name != "console" else "\n".join(container["args"])
        named = {str(Path(file).parent) for file in re.findall(r"(?:: |file=|ca=|cert=|key=)(/\S+)", text)}
        assert named <= folders
    assert mounted == volumes


def test_adapter_of_a_remote_server_sends_its_credentials() -> None:
    objects = render_chart(VALUES["an adapter of a server elsewhere"])
    adapter = yaml.safe_load(only_object(objects, "ConfigMap")["data"]["adapter.yaml"])["adapter"]
    assert {key for key in adapter if key.startswith(("tls", "token"))} == {
        *("tlsCa", "tlsCert", "tlsKey", "tokenFile")
    }
    ports = [rule["ports"] for rule in only_object(objects, "NetworkPolicy")["spec"]["egress"]]
    assert [{"port": 50051}] in ports


def test_pods_are_replaced_when_their_configuration_changes() -> None:
    one, other = (pod(render_chart(values)) for values in ((), VALUES["an own profile"]))
    assert one["metadata"]["annotations"] != other["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("values", "message"),
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
        (("adapter.enabled=false",), "set server.tls.secretName, or server.allowPlaintext=true"),
        (("server.tls.secretName=tls",), "set adapter.enabled=false, or leave them out"),
        (("adapter.server=a:1",), "set adapter.tls.secretName, or adapter.allowPlaintext=true"),
        (("adapter.server=a",), "at '/adapter/server': "),
        (("adapter.tls.secretName=tls",), "set adapter.server, or leave them out"),
        (
            ("adapter.server=a:1", "adapter.allowPlaintext=true", "adapter.tls.clientCert=true"),
            "adapter.tls.clientCert requires adapter.tls.secretName",
        ),
        (
            ("adapter.enabled=false", "server.allowPlaintext=true", "server.tls.clientCa=true"),
            "server.tls.clientCa requires server.tls.secretName",
        ),
        (("records.claimName=claim",), "records.claimName requires replicas=1"),
        (
            ("console.enabled=true", "console.service.enabled=true", "replicas=1"),
            "console.service.enabled requires console.forwardAuthorization",
        ),
        (
            ("console.enabled=true", "console.service.enabled=true", "console.forwardAuthorization=true"),
            "console.service.enabled requires replicas=1 or adapter.server",
        ),
        (
            (
                "console.enabled=true",
                "console.service.enabled=true",
                "console.allowAnonymous=true",
                "replicas=1",
            ),
            "console.service.enabled requires console.hosts",
        ),
    ],
)
def test_invalid_values_are_rejected(values: tuple[str, ...], message: str) -> None:
    ended = run("helm", "template", "tenure", str(CHART), *value_arguments(values))
    assert ended.returncode != 0
    assert message in ended.stderr


def known(*keys: str) -> set[str]:
    """Keys that the schema permits in a section of the values."""
    part: dict[str, Any] = SCHEMA
    for key in keys:
        part = part["properties"][key]
    part = SCHEMA["$defs"]["telemetry"] if part.get("$ref") == "#/$defs/telemetry" else part
    assert part["additionalProperties"] is False
    return set(part["properties"])


def test_schema_contains_all_settings_except_those_set_by_the_chart() -> None:
    assert known("adapter", "config") == set(map(to_camel, AdapterSettings.model_fields)) - NOT_IN_VALUES
    telemetry = set(map(to_camel, TelemetrySection.model_fields)) - {"metricsListen"}
    assert known("adapter", "telemetry") == known("server", "config", "telemetry") == telemetry


def test_every_default_is_in_the_schema() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(values) == known() - {"global"}
    for name in ("image", "server", "adapter", "records", "metrics", "networkPolicy"):
        assert set(values[name]) == known(name)


def test_the_chart_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == project["version"]


def test_pod_group_policy_allows_every_written_annotation() -> None:
    text = (CHART / "templates/admissionpolicy.yaml").read_text()
    assert all(f'"{name}"' in text for name in ANNOTATIONS)


def test_the_plain_manifests_are_those_of_the_chart() -> None:
    assert (MANIFESTS / "tenure.yaml").read_text() == template(()), "python -m tests manifests --update"


def test_kustomize_builds_them_and_their_namespace() -> None:
    ended = run("kustomize", "build", str(MANIFESTS))
    assert ended.returncode == 0, ended.stderr
    built = {(item["kind"], item["metadata"]["name"]): item for item in yaml.safe_load_all(ended.stdout)}
    charted = {(item["kind"], item["metadata"]["name"]): item for item in render_chart(())}
    assert built.pop(("Namespace", "tenure-system"))
    assert built == charted
