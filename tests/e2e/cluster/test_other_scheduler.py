"""Pods of the real kube-scheduler on the nodes of ours: each counts what the other uses."""

import pytest

from tests.e2e.cluster.story import THEIRS, Story
from tests.kubernetes.cluster import wait_until

pytestmark = pytest.mark.kube


def test_pods_of_kube_scheduler_count_as_what_they_use(story: Story) -> None:
    story.node("n1", gpus=8)
    story.deployment("theirs", replicas=5, gpus=1, scheduler=THEIRS)
    wait_until(lambda: story.running("theirs") == 5)
    story.gang("gang", pods=4, gpus=1)
    wait_until(lambda: story.reasons_of("gang"))
    assert story.live("gang") == {}
    story.scale("Deployment", "theirs", 4)
    wait_until(lambda: story.running("gang") == 4)
    assert story.running("theirs") == 4


def test_kube_scheduler_counts_our_pods_and_both_fill_the_node(story: Story) -> None:
    story.node("n1", gpus=8)
    story.deployment("ours", replicas=8, gpus=1)
    wait_until(lambda: story.running("ours") == 8)
    story.deployment("theirs", replicas=4, gpus=1, scheduler=THEIRS)
    wait_until(lambda: list(story.waiting("theirs").values()) == ["Unschedulable"] * 4)
    story.scale("Deployment", "ours", 5)
    wait_until(lambda: story.running("theirs") == 3)
    story.scale("Deployment", "ours", 8)
    wait_until(lambda: list(story.waiting("ours").values()) == ["Unschedulable"] * 3)
    assert (story.running("ours"), story.running("theirs")) == (5, 3)
    story.scale("Deployment", "theirs", 0)
    wait_until(lambda: story.running("ours") == 8)


def test_pods_of_a_daemon_set_leave_less_for_ours(story: Story) -> None:
    story.daemon_set("agent", cpu="60", scheduler=THEIRS)
    story.node("n1")
    wait_until(lambda: story.running("agent") == 1)
    story.deployment("ours", replicas=2, gpus=0, cpu="3")
    wait_until(lambda: story.running("ours") == 1)
    wait_until(lambda: list(story.waiting("ours").values()) == ["Unschedulable"])
