"""What people see with kubectl: conditions, the status of queues, and nothing that flaps."""

import json
import os
import shlex
import time
from collections import Counter

import pytest
from tenure.client import Client
from tenure.kubernetes.apply.conditions import camel
from tenure.terms.reasons import ReasonCode
from tenure.v1.explain_pb2 import ExplainRequest, WhyPending

from tests.cluster.whole_cluster import WholeCluster
from tests.e2e.cluster.kubectl import Kubectl
from tests.e2e.cluster.story import Story
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.environment.audit_log import AuditLog
from tests.repository.snippets import SHELL, commands, snippets

pytestmark = pytest.mark.kube

GROUPS, QUEUES = "podgroups.scheduling.run.ai", "queues.scheduling.run.ai"
PAGE = "docs/operate/kubernetes-adapter.md"
STILL_SECONDS = float(os.environ.get("STILL_SECONDS", "20"))
"""How long nothing is written. Ten minutes: `STILL_SECONDS=600 pytest -m kube -k unchanged_cluster`."""


@pytest.fixture
def kubectl(cluster: WholeCluster) -> Kubectl:
    return Kubectl(cluster.plane.kubeconfig())


def line_of_page(begin: str) -> list[str]:
    """Arguments of kubectl on the line of the page of the adapter that begins so."""
    blocks = [each for each in snippets() if each.page == PAGE and each.language in SHELL]
    (line,) = [line for block in blocks for line in commands(block) if line.startswith(begin)]
    return shlex.split(line)[1:]


def explanation(cluster: WholeCluster, pod_group: str) -> tuple[str, str]:
    """Code and detail of the first reason that `tenure explain` has for a pending pod group."""
    with Client(cluster.tenure.address) as client:
        state, snapshot = client.get_state(cluster.tenure.cluster_id)
        (uid,) = (row.uid for row in snapshot.pod_groups if row.name == pod_group)
        answer = client.explain(ExplainRequest(state=state, why_pending=WhyPending(pod_group=uid)))
    first = answer.reasons[0]
    return camel(ReasonCode(first.code).name), first.message


def test_kubectl_waits_for_a_pod_group_and_describes_why_it_is_pending(
    story: Story, cluster: WholeCluster, kubectl: Kubectl
) -> None:
    story.node("n1")
    story.gang("train", pods=2, gpus=2)
    within = ("-n", story.namespace)
    kubectl.output(*within, *line_of_page("kubectl wait"))
    assert story.bound("train") == 2
    (condition,) = story.group("train")["status"]["conditions"]
    described = kubectl.output(*within, *line_of_page("kubectl describe podgroups"))
    assert condition["message"] in " ".join(described.split())
    story.gang("large", pods=2, gpus=6)
    kubectl.output(*within, "wait", "--timeout=60s", f"{GROUPS}/large", "--for=condition=Scheduled=False")
    wait_until(lambda: story.group("large")["status"]["conditions"][0]["reason"] != "NotReady")
    (condition,) = story.group("large")["status"]["conditions"]
    described = " ".join(kubectl.output(*within, "describe", f"{GROUPS}/large").split())
    assert condition["message"] in described
    code, detail = explanation(cluster, "large")
    assert condition["reason"] == code
    assert condition["message"].endswith(f": {detail}.")


def test_queue_has_its_amounts_and_kubectl_waits_for_them(
    story: Story, cluster: WholeCluster, kubectl: Kubectl
) -> None:
    story.node("n1")
    story.queue("top", gpus=8)
    story.queue("leaf", gpus=4, parentQueue=story.full("top"))
    story.queue("lost", parentQueue="nowhere")
    story.gang("runs", pods=3, gpus=2, queue="leaf")
    wait_until(lambda: story.running("runs") == 3)
    story.gang("waits", pods=2, gpus=2, queue="leaf")
    top, leaf = (f"{QUEUES}/{story.full(name)}" for name in ("top", "leaf"))
    for queue in (top, leaf):
        gpus = "--for=jsonpath={.status.allocated.nvidia\\.com/gpu}=6"
        kubectl.output("wait", "--timeout=60s", queue, gpus)
        kubectl.output("wait", "--timeout=60s", queue, "--for=condition=Ready")
    requested = "--for=jsonpath={.status.requested.nvidia\\.com/gpu}=10"
    kubectl.output("wait", "--timeout=60s", top, requested)
    status = json.loads(kubectl.output("get", top, "-o", "json"))["status"]
    assert status["childQueues"] == [story.full("leaf")]
    lost = f"{QUEUES}/{story.full('lost')}"
    kubectl.output("wait", "--timeout=60s", lost, "--for=condition=Ready=False")
    assert "Its parent does not exist" in kubectl.output("describe", lost)
    assert "Fair share: cpu=" in kubectl.output("describe", leaf)
    heads, *rows = kubectl.output(*line_of_page("kubectl get queues")).splitlines()
    assert heads.split() == ["NAME", "GPUS", "REQUESTED", "FAIR"]
    (row,) = [row.split(maxsplit=3) for row in rows if row.startswith(f"{story.full('top')} ")]
    assert (row[1:3], row[3].startswith("Fair share: ")) == (["6", "10"], True)


@pytest.mark.timeout(300 + STILL_SECONDS)
def test_unchanged_cluster_causes_no_write_but_of_the_lease(
    story: Story, cluster: WholeCluster, audit: AuditLog
) -> None:
    def written() -> Counter[str]:
        writes = audit.all_writes(cluster.tenure.user)
        return Counter(write.resource for write in writes if write.resource != "leases")

    story.node("n1")
    story.gang("runs", pods=2, gpus=2)
    story.gang("large", pods=2, gpus=6)
    story.job("huge", pods=1, gpus=9)
    wait_until(lambda: story.running("runs") == 2)
    wait_until(lambda: story.reasons_of("large") and story.waiting("huge"))
    before = written()
    while time.sleep(6) or written() != before:  # longer than the quiet time of a status
        before = written()
    time.sleep(STILL_SECONDS)
    assert written() == before
    assert {"queues/status", "podgroups/status", "pods/status"} <= before.keys()
