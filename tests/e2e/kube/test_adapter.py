"""`tenure adapter` on a real API server: nothing is lost or done twice, whoever is killed."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tenure.client.kubernetes.transport import MERGE_PATCH, Transport

from tests.e2e.command import ROOT, tenure
from tests.e2e.kube.test_observing import create
from tests.kube import binaries
from tests.kube.controlplane import ControlPlane, control_plane
from tests.kube.kubelet import Kubelet
from tests.kube.observe.live import NAMESPACE, define, in_namespace
from tests.kube.observe.world import member, node, pod, pod_group, queue
from tests.server.running import server_here

pytestmark = pytest.mark.kube

_QUEUES = "/apis/scheduling.run.ai/v2/queues"
_GROUPS = f"/apis/scheduling.run.ai/v2alpha2/namespaces/{NAMESPACE}/podgroups"
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
_PATIENCE = 30.0


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with control_plane(binaries.required(), tmp_path_factory.mktemp("plane")) as running:
        yield running


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with server_here() as (_, address):
        yield address


@pytest.fixture(scope="module")
def defined(plane: ControlPlane) -> Iterator[Transport]:
    """An API server with a node of 8 GPUs, one queue and three priorities."""
    opened = Transport(plane.kubeconfig())
    for namespace in (NAMESPACE, "tenure-system"):
        opened.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
    define(opened, "scheduling.run.ai", "v2", "Queue", "queues", namespaced=False)
    define(opened, "scheduling.run.ai", "v2alpha2", "PodGroup", "podgroups", namespaced=True, has_status=True)
    create(opened, "/api/v1/nodes", node("n1"))
    opened.patch("/api/v1/nodes/n1/status", {"status": node("n1")["status"]}, MERGE_PATCH)
    unlimited = {kind: {"quota": -1, "limit": -1} for kind in ("cpu", "memory", "gpu")}
    kind = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue"}
    create(opened, _QUEUES, {**kind, **queue("q", resources=unlimited)})
    for name, value in (("low", 10), ("high", 90)):
        priority = {"metadata": {"name": name}, "value": value}
        create(opened, "/apis/scheduling.k8s.io/v1/priorityclasses", priority)
    yield opened
    opened.close()


class Cluster:
    """A cluster with kubelets that run what is bound; pods take a second to end."""

    def __init__(self, plane: ControlPlane, transport: Transport, server: str) -> None:
        self.transport = transport
        self._arguments = [
            *("--cluster-id", "e2e", "--server", server, "--kubeconfig", str(plane.kubeconfig())),
            *("--lease-duration", "3s"),
        ]

    def dry_run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return tenure("adapter", *self._arguments, "--dry-run", *arguments)

    @contextmanager
    def adapter(self) -> Iterator["subprocess.Popen[str]"]:
        command = [sys.executable, "-m", "tenure.server", "adapter", *self._arguments]
        process = subprocess.Popen(command, cwd=ROOT, text=True, stderr=subprocess.PIPE)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def workload(self, name: str, pods: int, gpus: int, priority: str = "low") -> None:
        kind = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup"}
        group = pod_group(name, minMember=pods, priorityClassName=priority, preemptibility="preemptible")
        create(self.transport, _GROUPS, {**kind, **group})
        for i in range(pods):
            made = in_namespace(pod(f"{name}-{i}", meta=member(name)))
            amounts = {"cpu": "1", "nvidia.com/gpu": str(gpus)}
            made["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
            create(self.transport, _PODS, made)

    def pods(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = json.loads(self.transport.get(_PODS))["items"]
        return items

    def bound(self, name: str) -> int:
        """How many pods of a workload are on a node."""
        mine = (each for each in self.pods() if each["metadata"]["name"].startswith(f"{name}-"))
        return sum("nodeName" in each["spec"] for each in mine)

    def ledger_version(self) -> str:
        ledger = self.transport.get("/api/v1/namespaces/tenure-system/configmaps/tenure-ledger")
        return str(json.loads(ledger)["metadata"]["resourceVersion"])

    def group(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.transport.get(f"{_GROUPS}/{name}"))
        return found

    def events(self, reason: str) -> list[str]:
        """Names of the pods that have an event with this reason, once for each."""
        items = json.loads(self.transport.get(_EVENTS))["items"]
        return sorted(each["regarding"]["name"] for each in items if each["reason"] == reason)


def eventually(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < end, "it does not come about"
        time.sleep(0.05)


@pytest.fixture
def cluster(plane: ControlPlane, defined: Transport, server: str) -> Iterator[Cluster]:
    kubelet = Kubelet(defined, 1.0, time.monotonic)
    thread = threading.Thread(target=kubelet.run)
    thread.start()
    yield Cluster(plane, defined, server)
    for item in json.loads(defined.get(_PODS))["items"]:
        defined.delete(f"{_PODS}/{item['metadata']['name']}", {"gracePeriodSeconds": 0})
    for item in json.loads(defined.get(_GROUPS))["items"]:
        defined.delete(f"{_GROUPS}/{item['metadata']['name']}")
    for item in json.loads(defined.get(_EVENTS))["items"]:
        defined.delete(f"{_EVENTS}/{item['metadata']['name']}")
    kubelet.stop()
    thread.join()


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(cluster: Cluster) -> None:
    cluster.workload("dry", pods=2, gpus=4)
    before = [(each["metadata"]["uid"], each["metadata"]["resourceVersion"]) for each in cluster.pods()]
    told = cluster.dry_run("--output", "json")
    assert told.returncode == 0, told.stderr
    steps = [json.loads(line) for line in told.stdout.splitlines()]
    assert sorted((step["step"], step["pod"], step["node"]) for step in steps if step["step"] == "bind") == [
        ("bind", "dry-0", "n1"),
        ("bind", "dry-1", "n1"),
    ]
    assert "dry" in cluster.dry_run().stdout
    after = [(each["metadata"]["uid"], each["metadata"]["resourceVersion"]) for each in cluster.pods()]
    assert after == before
    leases = "/apis/coordination.k8s.io/v1/namespaces/tenure-system/leases"
    assert not json.loads(cluster.transport.get(leases))["items"]


def test_a_gang_starts_whole_and_yields_whole_and_its_times_are_written_down(cluster: Cluster) -> None:
    with cluster.adapter() as adapter:
        cluster.workload("gang", pods=2, gpus=4)
        eventually(lambda: cluster.bound("gang") == 2)
        eventually(lambda: "annotations" in cluster.group("gang")["metadata"])
        started = cluster.group("gang")["metadata"]["annotations"]["kai.scheduler/last-start-timestamp"]
        cluster.workload("urgent", pods=1, gpus=4, priority="high")
        eventually(lambda: cluster.bound("urgent") == 1)
        noted = cluster.group("gang")["metadata"]["annotations"]
        assert noted["kai.scheduler/last-start-timestamp"] == started
        assert noted["kai.scheduler/last-eviction-timestamp"] > started
        assert noted["tenure.scheduler/eviction-count"] == "1"
        eventually(lambda: cluster.events("Evicted") == ["gang-0", "gang-1"])
        eventually(lambda: cluster.events("Scheduled") == ["gang-0", "gang-1", "urgent-0"])
        adapter.terminate()
        assert adapter.wait(_PATIENCE) == 0


def test_what_cannot_run_is_told_why_on_the_pod_and_the_pod_group(cluster: Cluster) -> None:
    with cluster.adapter():
        cluster.workload("huge", pods=1, gpus=64)
        eventually(lambda: "status" in cluster.group("huge"))
        (told,) = cluster.group("huge")["status"]["schedulingConditions"]
        assert (told["status"], told["reasons"][0]["reason"]) == ("True", "NoNodeMatches")
        (waiting,) = cluster.pods()
        conditions = waiting["status"]["conditions"]
        assert [one["reason"] for one in conditions if one["type"] == "PodScheduled"] == ["Unschedulable"]
        assert cluster.events("NoNodeMatches") == ["huge"]


def test_one_that_is_killed_in_the_middle_is_replaced_and_nothing_happens_twice(cluster: Cluster) -> None:
    with cluster.adapter():
        cluster.workload("gang", pods=4, gpus=2)
        eventually(lambda: cluster.bound("gang") == 4)
    cluster.workload("urgent", pods=2, gpus=4, priority="high")
    before = cluster.ledger_version()
    with cluster.adapter():
        eventually(lambda: cluster.ledger_version() != before)
    with cluster.adapter():
        eventually(lambda: cluster.bound("urgent") == 2)
        eventually(lambda: "annotations" in cluster.group("urgent")["metadata"])
        noted = cluster.group("gang")["metadata"]["annotations"]
    assert noted["tenure.scheduler/eviction-count"] == "1"


def test_a_ledger_that_somebody_else_wrote_is_read_anew(cluster: Cluster) -> None:
    with cluster.adapter():
        cluster.workload("one", pods=1, gpus=1)
        eventually(lambda: cluster.bound("one") == 1)
        time.sleep(1)
        ledger = "/api/v1/namespaces/tenure-system/configmaps/tenure-ledger"
        cluster.transport.patch(ledger, {"metadata": {"labels": {"by": "hand"}}}, MERGE_PATCH)
        cluster.workload("two", pods=1, gpus=1)
        eventually(lambda: cluster.bound("two") == 1)


def test_of_two_adapters_one_acts_and_the_other_takes_over(cluster: Cluster) -> None:
    with cluster.adapter() as first, cluster.adapter():
        cluster.workload("one", pods=1, gpus=1)
        eventually(lambda: cluster.bound("one") == 1)
        first.kill()
        cluster.workload("two", pods=1, gpus=1)
        eventually(lambda: cluster.bound("two") == 1)
        eventually(lambda: "two-0" in cluster.events("Scheduled"))  # that of one-0 may be lost


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--cluster-id", "c", "--kubeconfig", "missing.yaml"], 2, "missing.yaml"),
        ([], 2, "adapter.clusterId: is missing; give it here or as --cluster-id"),
        (["--cluster-id", "c", "--lease-duration", "1s"], 2, "adapter.leaseDuration: must be 3s or longer"),
    ],
)
def test_what_must_be_mended_ends_with_code_2(
    arguments: list[str], code: int, said: str, tmp_path: Path
) -> None:
    ended = tenure("adapter", *arguments)
    assert ended.returncode == code
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
