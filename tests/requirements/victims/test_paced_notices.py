"""Disruption budgets, rates and limits while notices wait (R15.1, R15.8, R15.10, R16.5, R16.6, R16.7)."""

from typing import Final

import pytest
from tenure.v1 import decision_pb2
from tenure.v1.decide_pb2 import DecideResponse

from tests.requirements.answers import bound, decisions, evicted, outcome
from tests.requirements.cluster import ClusterText
from tests.requirements.conftest import Decide
from tests.requirements.victims.notice_story import Caller, notice, one_gpu, told, withdrawn

PACED: Final = "options: {maxNotice: 1h, evictionRates: [{name: hourly, rate: 1/h, burst: 1%s}]}\n"


def budget(cluster: ClusterText, allowed: int, opens_in: int = 0) -> ClusterText:
    """Set the only disruption budget, which all pods of `v...` name."""
    del cluster.snapshot.disruption_budgets[:]
    row = cluster.snapshot.disruption_budgets.add(name="b", allowed=allowed)
    if opens_in:
        row.next_allowed_time.seconds = cluster.snapshot.now.seconds + opens_in
    for pod in cluster.snapshot.pods:
        if pod.uid.startswith("v") and not pod.disruption_budgets:
            pod.disruption_budgets.append("b")
    return cluster


def two_pairs() -> ClusterText:
    """`v1` and `v2` run on one GPU each, which `p1` and `p2` want."""
    cluster = ClusterText().node("n1").node("n2").queue("q")
    cluster.runs("v1", "q", node="n1").runs("v2", "q", node="n2")
    cluster.waits("p1", "q", priority=75).waits("p2", "q", priority=75)
    return notice(notice(cluster, "v1", "2m"), "v2", "2m")


def reason(answer: DecideResponse, pod_group: str) -> str:
    """Reason code of the outcome of a pod group."""
    (found,) = [each.reason.code for each in answer.outcomes if each.pod_group == pod_group]
    return decision_pb2.ReasonCode.Name(found).removeprefix("REASON_CODE_")


def tokens(answer: DecideResponse) -> tuple[int, int]:
    """Tokens of the only rate before and after a cycle, in thousandths."""
    (rate,) = answer.eviction_rates
    return rate.before_milli, rate.after_milli


def test_no_notice_is_given_that_a_budget_forbids(decide: Decide) -> None:
    answer = Caller(budget(one_gpu(), 0), decide).cycle()
    assert (told(answer), reason(answer, "p")) == ([], "DISRUPTION_BUDGET")


def test_announced_victims_spend_their_budgets_until_they_are_evicted(decide: Decide) -> None:
    caller = Caller(budget(two_pairs(), 1), decide)
    answer = caller.cycle("1m")
    assert (len(told(answer)), reason(answer, "p2")) == (1, "DISRUPTION_BUDGET")
    answer = caller.cycle("1m")
    assert (told(answer), reason(answer, "p2")) == ([], "DISRUPTION_BUDGET")
    answer = caller.cycle()
    assert (len(evicted(answer)), told(answer), reason(answer, "p2")) == (1, [], "DISRUPTION_BUDGET")


def test_notice_is_withdrawn_when_its_budget_closes_and_the_budget_is_named(decide: Decide) -> None:
    cluster = budget(one_gpu(), 1)
    caller = Caller(cluster, decide)
    assert told(caller.cycle("1m")) == ["v-0"]
    budget(cluster, 0)
    answer = caller.cycle("10m")
    assert (withdrawn(answer), evicted(answer)) == (["v-0"], [])
    (status,) = answer.in_flight_group_statuses
    assert status.state == decision_pb2.IN_FLIGHT_GROUP_STATE_CANCELLED
    assert (status.reason.code, "disruption budget b" in status.reason.message) == (
        decision_pb2.REASON_CODE_NOT_NEEDED,
        True,
    )
    assert reason(caller.cycle(), "p") == "DISRUPTION_BUDGET"


@pytest.mark.parametrize("opens_in", [60, 61])
def test_budget_that_opens_before_the_eviction_is_asked_again_then(decide: Decide, opens_in: int) -> None:
    """A budget spares a victim as of the time of its eviction."""
    cluster = budget(one_gpu(), 1)
    caller = Caller(cluster, decide)
    caller.cycle("1m")
    budget(cluster, 0, opens_in)
    answer = caller.cycle("1m")
    assert withdrawn(answer) == ([] if opens_in == 60 else ["v-0"])
    if opens_in == 60:
        assert withdrawn(caller.cycle()) == ["v-0"]  # it did not open


def test_budget_that_opened_again_permits_the_eviction(decide: Decide) -> None:
    cluster = budget(one_gpu(), 1)
    caller = Caller(cluster, decide)
    caller.cycle("1m")
    budget(cluster, 0, 60)
    caller.cycle("1m")
    budget(cluster, 1)
    assert evicted(caller.cycle()) == ["v-0"]
    assert bound(caller.cycle()) == ["p-0"]


def test_rate_is_charged_with_the_notice_and_not_again(decide: Decide) -> None:
    """R16.7: pacing bounds what is announced."""
    caller = Caller(two_pairs(), decide, PACED % "")
    answer = caller.cycle("1m")
    assert (len(told(answer)), tokens(answer)) == (1, (1_000, 0))
    assert reason(answer, "p2") == "EVICTION_RATE"
    answer = caller.cycle("1m")
    assert (told(answer), evicted(answer), tokens(answer)) == ([], [], (16, 16))
    answer = caller.cycle()
    assert (told(answer), len(evicted(answer)), tokens(answer)) == ([], 1, (33, 33))
    (step,) = [each.evict for each in decisions(answer) if each.HasField("evict")]
    assert [rate.name for rate in step.eviction_rates] == ["hourly"]  # a report returns what it paid


@pytest.mark.parametrize(
    ("scope", "change", "after"),
    [
        ("", "held", 1_000),
        ("", "gone", 1_000),
        (", scope: victimQueue, queue: q", "gone", 1_000),
        (", scope: preemptorQueue, queue: q", "held", 1_000),
        (", scope: preemptorQueue, queue: q", "gone", 16),
        (", unit: podGroups", "held", 1_000),
        ("", "the victim ended", 16),
    ],
)
def test_tokens_of_a_withdrawn_notice_are_given_back(
    scope: str, change: str, after: int, decide: Decide
) -> None:
    """R16.7. What ended by itself stays paid, and so does what cannot be attributed any more."""
    cluster = one_gpu()
    caller = Caller(cluster, decide, PACED % scope)
    assert tokens(caller.cycle("1m")) == (1_000, 0)
    pods = cluster.snapshot.pods
    if change == "held":
        cluster.group("p").held_by = 1
    elif change == "gone":
        cluster.snapshot.pod_groups.remove(cluster.group("p"))
        pods.remove(next(pod for pod in pods if pod.uid == "p-0"))
    else:
        pods.remove(next(pod for pod in pods if pod.uid == "v-0"))
    answer = caller.cycle()
    assert tokens(answer)[1] == after
    (state,) = cluster.snapshot.eviction_rates
    assert state.tokens_milli == (after if after == 1_000 else 0)


def test_limit_of_a_cycle_counts_new_notices_only(decide: Decide) -> None:
    """R15.10."""
    cluster = two_pairs()
    caller = Caller(cluster, decide, "options: {maxNotice: 1h, maxDisruptedPerCycle: 1}\n")
    answer = caller.cycle("1m")
    assert (len(told(answer)), reason(answer, "p2")) == (1, "EVICTION_RATE")
    assert len(told(caller.cycle("1m"))) == 1
    assert len(evicted(caller.cycle("1m"))) == 1
    assert len(evicted(caller.cycle())) == 1


def test_validators_are_asked_again_when_the_notice_is_over(decide: Decide) -> None:
    """R16.6: `poor` may reclaim from `rich`; meanwhile a pod of `rich` is replaced by one of `poor`."""
    cluster = ClusterText().node(gpus=2).queue("rich", quota=1).queue("poor", quota=1)
    cluster.runs("v", "rich").runs("keeps", "rich").waits("p", "poor")
    for name in ("v", "keeps"):
        notice(cluster, name, "2m")
    caller = Caller(cluster, decide)
    (first,) = told(caller.cycle("1m"))
    pods = cluster.snapshot.pods
    pods.remove(next(pod for pod in pods if pod.uid in {"v-0", "keeps-0"} - {first}))
    cluster.runs("taken", "poor")
    assert withdrawn(caller.cycle("1m")) == []
    answer = caller.cycle()
    assert (withdrawn(answer), evicted(answer)) == ([first], [])


def test_group_without_reservations_is_withdrawn(decide: Decide) -> None:
    """A caller whose notice failed for one pod sends the others without reservations: they hear that."""
    cluster = one_gpu()
    caller = Caller(cluster, decide)
    caller.cycle("1m")
    del cluster.snapshot.in_flight_groups[0].reservations[:]
    answer = caller.cycle()
    assert (withdrawn(answer), outcome(answer, "p")) == (["v-0"], "DELAYED")
