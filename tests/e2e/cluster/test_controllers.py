"""Pods that the real controllers of Deployments, StatefulSets, Jobs and CronJobs make, replace and count."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.cluster.story import RUN_FOR, Story
from tests.kubernetes.cluster import wait_until

pytestmark = pytest.mark.kube


def test_rolling_update_replaces_the_pods_of_a_deployment_that_fills_its_node(story: Story) -> None:
    story.node("n1", gpus=3)
    one_by_one = {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}}
    story.deployment("web", replicas=3, gpus=1, spec=one_by_one)
    wait_until(lambda: story.running("web") == 3)
    before = set(story.pods("web"))
    change = {"spec": {"template": {"metadata": {"labels": {"release": "2"}}}}}
    story.change("Deployment", "web", change)
    wait_until(lambda: len(story.live("web").keys() - before) == 3 and story.running("web") == 3)
    wait_until(lambda: story.object("Deployment", "web")["status"].get("updatedReplicas") == 3)


def test_evicted_pod_of_a_stateful_set_returns_under_its_name(story: Story) -> None:
    story.node("n1", gpus=3)
    story.stateful_set("db", replicas=3, gpus=1)
    wait_until(lambda: story.running("db") == 3)
    first = story.pods("db")["db-1"]["metadata"]["uid"]
    story.evict("db-1")
    wait_until(lambda: story.pods("db").get("db-1", {}).get("metadata", {}).get("uid", first) != first)
    wait_until(lambda: story.running("db") == 3)


def test_job_runs_all_its_pods_through_a_node_that_takes_two(story: Story) -> None:
    story.node("n1", gpus=2)
    story.job("many", pods=4, gpus=1, annotations={RUN_FOR: "1s"}, spec={"completions": 6})
    wait_until(lambda: story.object("Job", "many")["status"].get("succeeded") == 6)
    assert len(story.pods("many")) == 6


def test_failed_pod_of_a_job_is_replaced_and_its_resources_are_used_again(story: Story) -> None:
    story.node("n1", gpus=1)
    fails = {RUN_FOR: "1s", "kwok.test/exit-code": "1"}
    story.job("fails", pods=1, gpus=1, annotations=fails, spec={"backoffLimit": 1})
    wait_until(lambda: story.object("Job", "fails")["status"].get("failed") == 2)
    story.job("after", pods=1, gpus=1)
    wait_until(lambda: story.running("after") == 1)


def test_missed_run_of_a_cron_job_starts(story: Story) -> None:
    story.node("n1", gpus=1)
    story.cron_job("nightly", "0 * * * *", gpus=1, spec={"concurrencyPolicy": "Forbid"})
    hours_ago = datetime.now(UTC) - timedelta(hours=2)
    last = {"status": {"lastScheduleTime": hours_ago.isoformat(timespec="seconds")}}
    story.change("CronJob", "nightly", last, "/status")
    wait_until(lambda: story.running("nightly") == 1)
    (pod,) = story.pods("nightly").values()
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "Job"
