"""Evicted pods end in their own time, come back from their controllers, and are placed again."""

import time

import pytest

from tests.e2e.cluster.story import AT_DEADLINE, Story
from tests.kubernetes.cluster import wait_until

pytestmark = pytest.mark.kube

PREEMPTIBLE = {"kai.scheduler/preemptibility": "preemptible", "priorityClassName": "train"}
"""Else pods of a Deployment have the class inference."""


def nominated(story: Story, workload: str) -> list[str]:
    """The nominated nodes of pods of a workload; "": none."""
    return [pod["status"].get("nominatedNodeName", "") for pod in story.pods(workload).values()]


def test_evicted_pods_of_a_deployment_return_under_new_names_and_start_when_the_others_end(
    story: Story,
) -> None:
    story.node("n1", gpus=8)
    story.queue("greedy", gpus=4)
    story.queue("modest", gpus=4)
    story.deployment("web", replicas=8, gpus=1, queue="greedy", labels=PREEMPTIBLE)
    wait_until(lambda: story.running("web") == 8)
    before = set(story.pods("web"))
    story.gang("owed", pods=4, gpus=1, queue="modest")
    wait_until(lambda: story.running("owed") == 4)
    wait_until(lambda: len(story.waiting("web")) == 4)
    assert len(before & set(story.live("web"))) == 4
    wait_until(lambda: all(story.waiting("web").values()))
    story.finish("owed")
    wait_until(lambda: story.object("Job", "owed")["status"].get("succeeded") == 4)
    wait_until(lambda: story.running("web") == 8)
    assert len(before & set(story.pods("web"))) == 4


def test_evicted_gang_of_a_job_returns_and_starts_as_a_whole(story: Story) -> None:
    story.node("n1", gpus=4)
    story.node("n2", gpus=4)
    story.gang("gang", pods=4, gpus=2)
    wait_until(lambda: story.running("gang") == 4)
    before = set(story.pods("gang"))
    story.gang("first", pods=1, gpus=4, priority="urgent")
    wait_until(lambda: story.running("first") == 1)
    assert story.live("gang") == {}
    story.finish("first")
    wait_until(lambda: story.running("gang") == 4)
    assert not before & story.live("gang").keys()
    wait_until(lambda: story.object("Job", "first")["status"].get("succeeded") == 1)
    wait_until(lambda: story.annotations_of("gang").get("eviction-count") == "1")


def test_preemptor_starts_when_its_victims_have_used_their_grace_period(story: Story) -> None:
    story.node("n1", gpus=4)
    story.gang("slow", pods=2, gpus=2, annotations=AT_DEADLINE, grace_seconds=12)
    wait_until(lambda: story.running("slow") == 2)
    victims = set(story.pods("slow"))
    story.gang("first", pods=1, gpus=4, priority="urgent")
    wait_until(lambda: not story.live("slow"))
    deadline = max(story.pods("slow")[pod]["metadata"]["deletionTimestamp"] for pod in victims)
    wait_until(lambda: set(story.waiting("first").values()) == {"WaitingForVictims"})
    wait_until(lambda: nominated(story, "first") == [story.full("n1")])
    while victims & (there := story.on_nodes()):
        assert there <= victims
        time.sleep(0.1)
    wait_until(lambda: story.running("first") == 1)
    (first,) = story.pods("first").values()
    assert first["status"]["startTime"] >= deadline
    assert nominated(story, "first") == [""]
    wait_until(lambda: set(story.events("Evicted")) == victims)


def test_budget_of_the_disruption_controller_keeps_victims_until_it_permits(story: Story) -> None:
    story.node("n1", gpus=2)
    story.deployment("web", replicas=2, gpus=1, labels=PREEMPTIBLE)
    story.budget("web", "web", available=2)
    wait_until(lambda: story.running("web") == 2)
    story.gang("first", pods=1, gpus=1, priority="urgent")
    wait_until(lambda: story.reasons_of("first") == "DisruptionBudget")
    assert story.running("web") == 2
    story.change_budget("web", available=1)
    wait_until(lambda: story.running("first") == 1)
    assert story.running("web") == 1
