"""What happens between a decision and its binding: the group is given up, told, and decided again."""

import time

import pytest

from tests.cluster.whole_cluster import WholeCluster
from tests.e2e.cluster.admission import refused_bindings, unanswered_bindings
from tests.e2e.cluster.story import Story
from tests.kubernetes.adapter.adapter_stage import most_attempts
from tests.kubernetes.cluster import wait_until
from tests.kubernetes.environment.audit_log import AuditLog

pytestmark = pytest.mark.kube

BOUND, REFUSED, NO_WEBHOOK = 201, 422, 500


@pytest.fixture
def bindings(cluster: WholeCluster, audit: AuditLog, story: Story) -> "Bindings":
    return Bindings(cluster, audit, story)


class Bindings:
    """Bindings that the adapter sent in the story."""

    def __init__(self, cluster: WholeCluster, audit: AuditLog, story: Story) -> None:
        self._user, self._audit, self._namespace = cluster.tenure.user, audit, story.namespace

    def statuses(self) -> list[int]:
        """Status of each response, in order."""
        writes = self._audit.writes(self._user, self._namespace)
        return [write.status for write in writes if write.resource == "pods/binding"]


def test_node_cordoned_between_decision_and_binding_gets_no_pod(story: Story, bindings: Bindings) -> None:
    story.node("n1")
    with unanswered_bindings(story):
        story.job("one", pods=1, gpus=1)
        wait_until(lambda: NO_WEBHOOK in bindings.statuses())
        story.change("Node", story.full("n1"), {"spec": {"unschedulable": True}})
        story.node("n2")
    wait_until(lambda: story.running("one") == 1)
    assert list(story.live("one").values()) == ["n2"]
    assert bindings.statuses().count(BOUND) == 1


def test_pod_that_reuses_a_name_is_decided_on_its_own(story: Story, bindings: Bindings) -> None:
    story.node("n1")
    with unanswered_bindings(story):
        story.stateful_set("db", replicas=1, gpus=1)
        wait_until(lambda: NO_WEBHOOK in bindings.statuses())
        first = story.pods("db")["db-0"]["metadata"]["uid"]
        story.transport.delete(f"{story.pods_path}/db-0")
        wait_until(lambda: story.pods("db").get("db-0", {}).get("metadata", {}).get("uid", first) != first)
    wait_until(lambda: story.running("db") == 1)
    assert set(bindings.statuses()) == {NO_WEBHOOK, BOUND}
    assert bindings.statuses().count(BOUND) == 1


def test_refused_binding_is_told_on_its_pod_and_tried_again_after_pauses(
    story: Story, bindings: Bindings
) -> None:
    story.node("n1")
    why = "the security team has not approved this pod"
    began = time.monotonic()
    with refused_bindings(story, "gang-1-", why):
        story.gang("gang", pods=2, gpus=1)
        wait_until(lambda: any(why in note for note in story.event_notes("BindingFailed")))
        assert {name[:7] for name in story.events("BindingFailed")} == {"gang-1-"}
        wait_until(lambda: "Unschedulable" in story.waiting("gang-1").values())
        wait_until(lambda: why in str(story.conditions_of("gang")))
        for name in ("one", "two", "three", "four", "five"):
            story.job(f"other-{name}", pods=1, gpus=1)
            wait_until(lambda name=name: story.running(f"other-{name}") == 1)  # type: ignore[misc]
        assert bindings.statuses().count(REFUSED) <= most_attempts(time.monotonic() - began)
        assert not any(name.startswith("gang-1-") for name in story.live("gang"))
    wait_until(lambda: story.running("gang") == 2)


def test_gang_with_pods_beyond_the_quota_of_its_namespace_waits_for_them(story: Story) -> None:
    story.node("n1")
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}}}
    story.transport.post(f"/api/v1/namespaces/{story.namespace}/resourcequotas", quota)
    wait_until(lambda: story.object("ResourceQuota", "few")["status"].get("hard"))
    story.gang("gang", pods=4, gpus=1)
    wait_until(lambda: len(story.pods("gang")) == 2 and story.reasons_of("gang"))
    assert story.live("gang") == {}
    story.change("ResourceQuota", "few", {"spec": {"hard": {"pods": "9"}}})
    wait_until(lambda: story.running("gang") == 4)
