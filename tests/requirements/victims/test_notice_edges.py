"""Which evictions are announced, and what changes between a notice and its eviction (R16.6, R16.7, R16.8)."""

import pytest
from google.protobuf.duration_pb2 import Duration
from tenure.v1.simulate_pb2 import SimulateRequest

from tests.requirements.answers import bound, decisions, evicted, evicting_actions, patches
from tests.requirements.cluster import ClusterText, seconds
from tests.requirements.conftest import Decide
from tests.requirements.profiles import Servers
from tests.requirements.requeue_clusters import REQUEUE, contended
from tests.requirements.victims.notice_story import NOTICES, Caller, notice, one_gpu, told, withdrawn


def test_requeue_is_announced_and_its_delay_counts_from_the_eviction(decide: Decide) -> None:
    """R16.7, R16.8."""
    cluster = notice(contended(requeue_delay="10m"), "old", "2m")
    caller = Caller(cluster, decide, actions=REQUEUE)
    answer = caller.cycle("2m")
    assert (told(answer), evicted(answer), patches(answer, "requeue_not_before")) == (["old-0"], [], {})
    assert not any(each.HasField("requeue") for each in decisions(answer))
    now = cluster.snapshot.now.seconds
    answer = caller.cycle()
    assert (evicted(answer), evicting_actions(answer)) == (["old-0"], ["requeue"])
    (requeue,) = [each.requeue for each in decisions(answer) if each.HasField("requeue")]
    assert (requeue.pod_group, requeue.contender, requeue.not_before.seconds) == ("old", "new", now + 600)
    assert patches(answer, "requeue_not_before")["old"].seconds == now + 600
    assert bound(caller.cycle()) == ["new-0"]


def test_stale_gang_has_nothing_to_save(decide: Decide) -> None:
    """R16.8."""
    cluster = ClusterText().node().queue("q").runs("v", "q", minimum=2)
    notice(cluster, "v", "2m").group("v").stale_since.seconds = cluster.snapshot.now.seconds - 3_600
    answer = Caller(cluster, decide, actions=("stalegangeviction",)).cycle()
    assert (told(answer), evicted(answer)) == ([], ["v-0"])


def test_only_pods_that_were_told_are_evicted(decide: Decide) -> None:
    """R16.6: a victim grows between its notice and its eviction."""
    cluster = ClusterText().node(gpus=2).queue("q").runs("v", "q").waits("p", "q", priority=75, gpus=2)
    caller = Caller(notice(cluster, "v", "2m"), decide)
    assert told(caller.cycle("2m")) == ["v-0"]
    cluster.node("more").pods("v", "RUNNING", node="more")
    grown = [pod for pod in cluster.snapshot.pods if pod.pod_group == "v"]
    assert len(grown) == 2
    assert evicted(caller.cycle()) == ["v-0"]


@pytest.mark.parametrize("ends", ["1m59s", "2m", "3m"])
def test_beneficiary_that_is_gone_when_the_notice_is_over_evicts_no_pod(ends: str, decide: Decide) -> None:
    cluster = one_gpu()
    caller = Caller(cluster, decide)
    caller.cycle(ends)
    cluster.snapshot.pod_groups.remove(cluster.group("p"))
    cluster.snapshot.pods.remove(next(pod for pod in cluster.snapshot.pods if pod.uid == "p-0"))
    answer = caller.cycle()
    assert (withdrawn(answer), evicted(answer)) == (["v-0"], [])


def test_protection_that_began_while_the_caller_was_away_is_respected(decide: Decide) -> None:
    """R16.6: carried out late, guards are asked again."""
    cluster = one_gpu()
    caller = Caller(cluster, decide)
    caller.cycle("4m")
    cluster.snapshot.queues[0].preempt_min_runtime.CopyFrom(Duration(seconds=seconds("3h")))
    answer = caller.cycle()
    assert (withdrawn(answer), evicted(answer)) == (["v-0"], [])


def test_simulation_shows_the_notice_and_then_the_eviction(servers: Servers) -> None:
    cluster = one_gpu()
    request = SimulateRequest(snapshot=cluster.snapshot, cycles=4, interval=Duration(seconds=60))
    answers = servers.client(NOTICES).simulate(request).cycles
    assert [told(each) for each in answers] == [["v-0"], [], [], []]
    assert [evicted(each) for each in answers] == [[], [], ["v-0"], []]
    assert [bound(each) for each in answers] == [[], [], [], ["p-0"]]
