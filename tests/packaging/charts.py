"""The chart rendered by helm for several sets of values."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.tools.catalog import CACHE

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "docker/helm/tenure"
MANIFESTS: Final = ROOT / "docker/manifests"
NAMESPACE: Final = "tenure-system"
_BUILT: Final = CACHE / "helm/bin"

_STANDALONE: Final = ("adapter.enabled=false",)
VALUES: Final = {
    "defaults": (),
    "alone, with certificates and tokens": (
        *_STANDALONE,
        "server.tls.secretName=tls",
        "server.tls.clientCa=true",
        "server.tokens.secretName=tokens",
    ),
    "alone, in clear text": (*_STANDALONE, "server.allowPlaintext=true"),
    "an adapter of a server elsewhere": (
        "adapter.server=tenure.other.svc:50051",
        "adapter.tls.secretName=tls",
        "adapter.tls.clientCert=true",
        "adapter.token.secretName=token",
        "metrics.enabled=true",
    ),
    "with metrics": ("metrics.enabled=true", "networkPolicy.scrapers[0].namespaceSelector.matchLabels.a=b"),
    "with records that stay": ("records.claimName=claim", "replicas=1"),
    "without records": ("records.enabled=false",),
    "a node pool of Volcano": (
        "adapter.config.nodePool=gpu",
        "adapter.config.workloadApi=volcano",
        "adapter.config.schedulerName=volcano",
        "adapter.config.evictionMode=delete",
        "adapter.sharedGpus=false",
    ),
    "a collector": (
        "server.config.telemetry.otlpEndpoint=http://collector:4317",
        "adapter.telemetry.otlpEndpoint=http://collector:4317",
        "server.env.OTEL_METRICS_EXPORTER=none",
        "networkPolicy.extraEgress[0].ports[0].port=4317",
    ),
    "an own profile": (
        "server.config.actions=allocate",
        "server.config.options.stalenessGracePeriod=2m",
        "server.config.plugins.numa=true",
        "server.config.plugins.evictionlimit.maxEvictions=5",
    ),
    "queues and classes of namespaces": (
        "adapter.config.queueAccess.default=deny",
        "adapter.config.queueAccess.namespaceLabels=true",
        "adapter.config.queueAccess.namespaces.research={research,research-*}",
        "adapter.config.priorityClasses={train,system-*}",
    ),
    "device claims": ("adapter.config.allocateDevices=true",),
    "a console": ("console.enabled=true",),
    "a console behind a proxy": (
        *_STANDALONE,
        "server.tls.secretName=tls",
        "console.enabled=true",
        "console.service.enabled=true",
        "console.forwardAuthorization=true",
        "console.token.secretName=token",
        "console.hosts={console.example.com}",
    ),
    "a console for tenants": (
        "replicas=1",
        "console.enabled=true",
        "console.service.enabled=true",
        "console.allowAnonymous=true",
        "console.tenantQueues={team-a,team-b}",
        "console.hosts={console.example.com}",
    ),
    "nothing around it": (
        "admissionPolicy.enabled=false",
        "tenantPolicies.protectedFields.enabled=false",
        "tenantPolicies.priorityClasses.enabled=false",
        "tenantPolicies.queues.enabled=false",
        "networkPolicy.enabled=false",
        "flowSchemas.enabled=false",
        "podDisruptionBudget.enabled=false",
    ),
}
"""Common sets of values, in the syntax of `--set`."""

Object = dict[str, Any]


def find_program(name: str) -> str:
    """Return the path of helm or kustomize.

    Skips the test if the program is missing; with REQUIRE_KUBE=1 that is a failure.
    """
    built = _BUILT / name
    path = str(built) if built.exists() else shutil.which(name)
    if path is None:
        missing = f"{name} is missing: `python -m tests build helm` builds it"
        (pytest.fail if os.environ.get("REQUIRE_KUBE") == "1" else pytest.skip)(missing)
    return path


def run(name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run helm or kustomize."""
    return subprocess.run(
        [find_program(name), *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def value_arguments(values: tuple[str, ...]) -> list[str]:
    """Return values as arguments of helm."""
    return [word for value in values for word in ("--set", value)]


@cache
def template(values: tuple[str, ...], release: str = "tenure", namespace: str = NAMESPACE) -> str:
    """Return the rendered objects as text."""
    ended = run("helm", "template", release, str(CHART), "--namespace", namespace, *value_arguments(values))
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def render_chart(
    values: tuple[str, ...], release: str = "tenure", namespace: str = NAMESPACE
) -> list[Object]:
    """Return the rendered objects."""
    return [item for item in yaml.safe_load_all(template(values, release, namespace)) if item]


def only_object(objects: list[Object], kind: str) -> Object:
    """Return the only object of a kind."""
    (item,) = (each for each in objects if each["kind"] == kind)
    return item


def pod(objects: list[Object]) -> Object:
    """Return the pod of the deployment."""
    template: Object = only_object(objects, "Deployment")["spec"]["template"]
    return template


def containers(objects: list[Object]) -> dict[str, Object]:
    """Return all containers by name."""
    spec = pod(objects)["spec"]
    return {each["name"]: each for each in (*spec.get("initContainers", ()), *spec["containers"])}
