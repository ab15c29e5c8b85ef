"""`kubectl tenure` on a whole cluster, with the credentials of a tenant and of an operator."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tenure.kubernetes.api.transport import MERGE_PATCH

from tests.cluster.whole_cluster import WholeCluster
from tests.e2e.cluster.kubectl import Kubectl, KubectlResult
from tests.e2e.cluster.story import Story
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.environment.binaries import ROOT
from tests.kubernetes.environment.control_plane import account_token
from tests.kubernetes.environment.manifests import create

pytestmark = pytest.mark.kube

PAGE = ROOT / "docs/use/kubectl.md"
DONE, NO, INVALID, FORBIDDEN = 0, 1, 2, 4
_RBAC = "rbac.authorization.k8s.io"
_WIDTH = 80


@pytest.fixture(scope="session")
def roles(cluster_and_audit: tuple[WholeCluster, object]) -> None:
    """The roles of the page."""
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for item in yaml.safe_load_all(text):
        create(cluster_and_audit[0].admin, item)


class Person:
    """A user with a kubeconfig, in the namespace of the story."""

    def __init__(self, cluster: WholeCluster, story: Story, account: str) -> None:
        self._kubectl = Kubectl(
            cluster.plane.kubeconfig(account_token(cluster.admin, story.namespace, account))
        )
        self._namespace = story.namespace

    def run(self, *arguments: str) -> KubectlResult:
        """Run a command of the plugin; no line is wider than a terminal."""
        has_namespace = arguments[0] not in ("queues", "migrate")
        within = ("-n", self._namespace) if has_namespace else ()
        result = self._kubectl.run("tenure", *arguments, *within)
        assert "Traceback" not in result.errors, result.errors
        if "json" not in arguments:
            assert all(len(line) <= _WIDTH for line in result.output.splitlines()), result.output
        return result

    def json(self, *arguments: str) -> Any:
        """JSON output of a command that must succeed."""
        result = self.run(*arguments, "--output", "json")
        assert result.code == DONE, result
        return json.loads(result.output)

    def candidates(self, command: str, *words: str) -> list[str]:
        """What kubectl offers to a shell for the last of the words."""
        result = self._kubectl.run("__complete", "tenure", command, "-n", self._namespace, *words)
        assert ":4" in result.output.splitlines(), result
        return [line for line in result.output.splitlines() if line != ":4"]


def add_account(story: Story, name: str, binding: dict[str, Any], role: str, namespaced: bool) -> None:
    """Bind an account of the story to a role."""
    kind = "RoleBinding" if namespaced else "ClusterRoleBinding"
    subject = {"kind": "ServiceAccount", "name": name, "namespace": story.namespace}
    reference = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role}
    meta = {"name": f"{story.namespace}-{name}-{role}", **binding}
    item = {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": meta}
    create(story.transport, {**item, "subjects": [subject], "roleRef": reference}, story.namespace)


@pytest.fixture
def tenant(cluster: WholeCluster, story: Story, roles: None) -> Person:
    """May edit its namespace, and see queues."""
    story.transport.post(
        f"/api/v1/namespaces/{story.namespace}/serviceaccounts", {"metadata": {"name": "tenant"}}
    )
    add_account(story, "tenant", {}, "edit", namespaced=True)
    add_account(story, "tenant", {}, "queues-view", namespaced=False)
    person = Person(cluster, story, "tenant")
    wait_until(lambda: person.run("workloads").code == DONE and person.run("queues").code == DONE)
    return person


@pytest.fixture
def operator(cluster: WholeCluster, story: Story) -> Person:
    story.transport.post(
        f"/api/v1/namespaces/{story.namespace}/serviceaccounts", {"metadata": {"name": "operator"}}
    )
    add_account(story, "operator", {}, "cluster-admin", namespaced=False)
    person = Person(cluster, story, "operator")
    wait_until(lambda: person.run("workloads", "-A").code == DONE)
    return person


@pytest.fixture
def busy(story: Story) -> Story:
    """A node of 8 GPUs with a running gang, one that waits for it, and a Deployment."""
    story.node("n1")
    story.gang("runs", pods=2, gpus=3)
    wait_until(lambda: story.running("runs") == 2)
    story.gang("large", pods=2, gpus=4)
    story.deployment("web", replicas=1, gpus=0)
    wait_until(lambda: story.running("web") == 1)
    wait_until(lambda: story.reasons_of("large") == "NoCapacity")
    return story


def test_tenant_sees_its_workloads_and_why_they_wait(busy: Story, tenant: Person) -> None:
    rows = {row["name"]: row for row in tenant.json("workloads")["workloads"]}
    assert (rows["runs"]["state"], rows["runs"]["running"]) == ("Running", 2)
    assert (rows["large"]["state"], rows["large"]["code"]) == ("Pending", "NoCapacity")
    assert any(row["kind"] == "ReplicaSet" for row in rows.values())
    assert "NoCapacity" in tenant.run("workloads").output
    why = tenant.run("why", "large")
    assert why.code == DONE
    assert "has no capacity: it needs 8 GPUs" in " ".join(why.output.split())
    pod = next(iter(busy.pods("large")))
    assert tenant.run("why", pod).output == why.output
    assert tenant.json("why", "podgroup/large")["explanation"] is None
    assert tenant.run("why", "nothing").code == INVALID


def test_queue_on_an_owner_is_that_of_its_pods(busy: Story, tenant: Person) -> None:
    labels = {"metadata": {"labels": {"kai.scheduler/queue": busy.full("q")}}}
    busy.transport.patch(f"/apis/apps/v1/namespaces/{busy.namespace}/deployments/web", labels, MERGE_PATCH)
    (web,) = (row for row in tenant.json("workloads")["workloads"] if row["kind"] == "ReplicaSet")
    assert web["queue"] == busy.full("q")


def test_shell_completes_names_of_workloads(busy: Story, tenant: Person) -> None:
    assert tenant.candidates("why", "l") == ["large"]
    assert tenant.candidates("set", "min-runtime", "podgroup/r") == ["podgroup/runs"]


def test_tenant_sees_the_queues_as_a_tree_with_bars(busy: Story, tenant: Person) -> None:
    busy.queue("child", gpus=2, parentQueue=busy.full("q"))
    name = busy.full("q")
    rows = wait_until(lambda: _queue(tenant, busy.full("child")) and tenant.json("queues")["queues"])
    row = next(one for one in rows if one["name"] == name)
    assert row["allocated"]["nvidia.com/gpu"] in ("6", "0")  # a queue with a child has no pods of its own
    text = tenant.run("queues").output
    assert f"  {busy.full('child')}" in text
    assert "│" in text or "·" in text


def _queue(person: Person, name: str) -> bool:
    rows = person.json("queues")["queues"]
    return any(row["name"] == name and row["allocated"] for row in rows)


@pytest.mark.parametrize("command", [("protected",), ("what-if", "{manifest}")])
def test_tenant_may_not_ask_about_the_whole_cluster(
    tenant: Person, tmp_path: Path, command: tuple[str, ...]
) -> None:
    manifest = _manifest(tmp_path, "kai-scheduler", 1)
    result = tenant.run(*(part.format(manifest=manifest) for part in command))
    assert (result.code, result.output) == (FORBIDDEN, "")
    assert "list nodes" in result.errors


def test_tenant_sees_nothing_of_other_namespaces(busy: Story, tenant: Person) -> None:
    assert tenant.run("workloads", "-A").code == FORBIDDEN
    kubectl = tenant.run("set", "min-runtime", "pod/none", "1h")
    assert kubectl.code == INVALID


def test_tenant_sets_and_removes_settings(busy: Story, tenant: Person) -> None:
    key = "kai.scheduler/min-runtime"

    def annotations() -> dict[str, str]:
        found: dict[str, str] = busy.object("Deployment", "web")["metadata"].get("annotations", {})
        return found

    assert tenant.run("set", "min-runtime", "deployment/web", "30m", "--dry-run").code == DONE
    assert key not in annotations()
    assert tenant.json("set", "min-runtime", "deployment/web", "30m")["value"] == "30m"
    assert annotations()[key] == "30m"
    assert tenant.run("set", "min-runtime", "deploy/web", "-").code in (DONE, INVALID)
    assert tenant.run("set", "min-runtime", "deployments/web", "-").code == DONE
    assert key not in annotations()
    assert tenant.run("set", "preemptibility", "deployment/web", "non-preemptible").code == DONE
    assert annotations()["kai.scheduler/preemptibility"] == "Non-Preemptible"
    (web,) = (row for row in tenant.json("workloads")["workloads"] if row["kind"] == "ReplicaSet")
    assert web["preemptibility"] == "Non-Preemptible"
    for bad in (("min-runtime", "soon"), ("min-runtime", "0s"), ("preemptibility", "maybe")):
        result = tenant.run("set", bad[0], "deployment/web", bad[1])
        assert (result.code, "VALUE" in result.errors) == (INVALID, True)


def test_operator_sees_the_whole_explanation_and_protections(busy: Story, operator: Person) -> None:
    text = " ".join(operator.run("why", "large").output.split())
    assert "is pending because" in text
    assert operator.json("why", "large")["explanation"]
    assert operator.run("protected").code == DONE
    assert isinstance(operator.json("protected", "-A")["protected"], list)


def test_operator_asks_whether_a_manifest_would_start(busy: Story, operator: Person, tmp_path: Path) -> None:
    before = set(busy.pods())
    fits = operator.json("what-if", _manifest(tmp_path, "kai-scheduler", 1, busy))["pod_groups"]
    assert [(one["starts"], one["nodes"], one["evicted"]) for one in fits] == [("now", [busy.full("n1")], [])]
    large = operator.run("what-if", _manifest(tmp_path, "kai-scheduler", 9, busy))
    assert (large.code, "would not start" in large.output) == (NO, True)
    urgent = operator.json("what-if", _manifest(tmp_path, "kai-scheduler", 8, busy, "urgent"))["pod_groups"]
    (one,) = urgent
    assert one["starts"] == "later"
    assert {(victim["namespace"], victim["pod_group"]) for victim in one["evicted"]} == {
        (busy.namespace, "runs")
    }
    other = operator.run("what-if", _manifest(tmp_path, "default-scheduler", 1, busy))
    assert (other.code, "schedulerName" in other.errors) == (INVALID, True)
    assert set(busy.pods()) == before


def _manifest(
    folder: Path, scheduler: str, gpus: int, story: Story | None = None, priority: str = "train"
) -> str:
    """Write a Job of one pod with this number of GPUs; return its path."""
    queue = story.full("q") if story else "q"
    selector = {"nodeSelector": {"story": story.namespace}} if story else {}
    amounts = {"nvidia.com/gpu": str(gpus), "cpu": "1"}
    container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
    spec = {"schedulerName": scheduler, "restartPolicy": "Never", "containers": [container], **selector}
    template = {"spec": {**spec, "priorityClassName": priority}}
    meta = {"name": "asked", "labels": {"kai.scheduler/queue": queue}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}
    file = folder / f"job-{scheduler}-{gpus}.yaml"
    file.write_text(yaml.safe_dump(job))
    return str(file)
