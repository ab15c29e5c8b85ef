"""Elastic pod groups within their minimum runtime: always victims, and never below their minimum.

Two rules decide, and each is alone in some of these cases. The filter makes a pod group a victim or not: a
gang that needs all of its pods never is. The validator judges a set of victims: it counts what is left.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import pytest
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.scenario import Batch, Scenario, ScenarioBuilder
from tenure.v1.decide_pb2 import DecideResponse
from tenure.v1.decision_pb2 import OUTCOME_KIND_DELAYED, REASON_CODE_MIN_RUNTIME

from tests.requirements.answers import evicted, outcome
from tests.requirements.cluster import NOW, ClusterText, tree
from tests.requirements.conftest import Decide
from tests.requirements.profiles import changed_profile, client_of

PARENTS: Final = {"a": "", "b": ""}
ACTIONS: Final = ["reclaim", "preempt"]


def contested(action: str, pods: int, minimum: int, ran: str, wanted: int) -> ClusterText:
    """`old` uses a whole node and is protected for five minutes. The gang `new` needs some of its GPUs."""
    asks = "a" if action == "preempt" else "b"
    cluster = tree(PARENTS, asks, gpus=8, values={f"{action}_min_runtime": {"a": "5m"}}).node(gpus=pods)
    cluster.runs("old", "a", pods=pods, minimum=minimum, ran=ran)
    return cluster.waits("new", asks, pods=wanted, priority=75)


FILTER: Final = {
    "a gang that needs all of its pods is no victim": (3, 3, "1m", 1, []),
    "nor is one that is below its minimum": (2, 3, "1m", 1, []),
    "an elastic one loses a pod beyond its minimum": (3, 2, "1m", 1, ["old-2"]),
    "all pods beyond its minimum": (4, 2, "1m", 2, ["old-2", "old-3"]),
    "a gang is a victim at the end of its minimum runtime": (3, 3, "5m", 1, ["old-0", "old-1", "old-2"]),
}
VALIDATOR: Final = {
    "not one more, though the first alone would do": (3, 2, "1m", 2),
    "pods taken for the first of a gang count for the last": (3, 1, "1m", 3),
    "not below the minimum for many": (6, 3, "4m59s", 4),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(("pods", "minimum", "ran", "wanted", "expected"), FILTER.values(), ids=FILTER)
def test_filter_makes_an_elastic_pod_group_a_victim_and_no_other(
    pods: int, minimum: int, ran: str, wanted: int, expected: list[str], action: str, decide: Decide
) -> None:
    assert evicted(decide(contested(action, pods, minimum, ran, wanted))) == expected


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(("pods", "minimum", "ran", "wanted"), VALIDATOR.values(), ids=VALIDATOR)
def test_validator_rejects_what_would_leave_less_than_the_minimum(
    pods: int, minimum: int, ran: str, wanted: int, action: str, decide: Decide
) -> None:
    """One GPU less is granted from the same pod group: the filter alone does not prevent these evictions."""
    assert evicted(decide(contested(action, pods, minimum, ran, wanted))) == []
    assert len(evicted(decide(contested(action, pods, minimum, ran, pods - minimum)))) == pods - minimum


@pytest.mark.parametrize("action", ACTIONS)
def test_filter_alone_reports_that_a_gang_is_protected_and_until_when(action: str, decide: Decide) -> None:
    """Without the filter no pod of the gang could be taken either, but nothing would say why."""
    answer = decide(contested(action, 3, 3, "1m", 1))
    (found,) = [each for each in answer.outcomes if each.pod_group == "new"]
    assert (found.kind, found.reason.code) == (OUTCOME_KIND_DELAYED, REASON_CODE_MIN_RUNTIME)
    assert found.reason.until.seconds == NOW + 240


@pytest.mark.parametrize("action", ACTIONS)
def test_filter_alone_spares_the_search_a_pod_group_that_is_protected_whole(
    action: str, decide: Decide
) -> None:
    """The surplus of a pod group that opts out of the action is not even considered."""
    cluster = contested(action, 3, 2, "1h", 1)
    cluster.group("old").opt_out_actions.append(action)
    counters = decide(cluster).counters
    assert (counters.victims_considered, counters.generated, counters.simulated) == (0, 0, 0)
    cluster.group("old").ClearField("opt_out_actions")
    assert decide(cluster).counters.victims_considered > 0


class RunningVictims:
    """A generator of another package: it proposes all running pods of pod groups, whatever protects them."""

    def __init__(self, context: PluginContext, arguments: Mapping[str, str]) -> None:
        self._groups, self._ledger = context.cluster.pod_groups, context.ledger

    def scenarios(self, builder: ScenarioBuilder) -> Iterator[Scenario]:
        for _ in builder.outer_scenarios():
            victims = dict.fromkeys(batch.pod_group for batch in builder.potential)
            yield builder.scenario([Batch(each, self._running(each)) for each in victims])

    def _running(self, pod_group: int) -> tuple[int, ...]:
        tasks = self._groups[pod_group].tasks
        return tuple(task for task in tasks if self._ledger.placement(task).status.is_active_allocated)


def decide_with_running_victims(cluster: ClusterText) -> DecideResponse:
    """The decision of a profile in which no other generator proposes victims."""
    profile = changed_profile(more=["running"])
    generators = {"sg-nodelocalgreedy", "sg-multinodegang"}
    plugins = tuple(each for each in profile.plugins if each.name not in generators)
    with client_of(replace(profile, plugins=plugins), {"running": RunningVictims}) as client:
        return client.decide(cluster.snapshot)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(("ran", "expected"), [("4m59s", []), ("5m", ["old-0", "old-1", "old-2"])])
def test_validator_alone_protects_the_minimum_from_a_generator_that_ignores_it(
    ran: str, expected: list[str], action: str
) -> None:
    """The filter lets the elastic pod group pass, and the only scenario takes all of it."""
    assert evicted(decide_with_running_victims(contested(action, 3, 2, ran, 2))) == expected


@pytest.mark.parametrize("action", ACTIONS)
def test_all_of_it_may_be_evicted_once_the_minimum_runtime_has_passed(action: str, decide: Decide) -> None:
    assert evicted(decide(contested(action, 3, 1, "4m59s", 3))) == []
    assert evicted(decide(contested(action, 3, 1, "5m", 3))) == ["old-0", "old-1", "old-2"]


@pytest.mark.parametrize("action", ACTIONS)
def test_another_victim_is_found_where_the_validator_rejects_a_set(action: str, decide: Decide) -> None:
    """`old` gives its surplus and nothing more; `other` gives the rest."""
    cluster = contested(action, 3, 2, "1m", 2)
    cluster.snapshot.nodes[0].allocatable.gpu_milli = 4_000
    cluster.runs("other", "a", ran="1h")
    assert evicted(decide(cluster)) == ["old-2", "other-0"]


def test_two_preemptors_together_do_not_take_the_minimum(decide: Decide) -> None:
    """Each alone needs no more than the surplus of one pod."""
    cluster = tree(PARENTS, "b", gpus=8, values={"reclaim_min_runtime": {"a": "5m"}}).node(gpus=2)
    cluster.runs("old", "a", pods=2, minimum=1, ran="1m").waits("first", "b").waits("second", "b")
    answer = decide(cluster)
    assert evicted(answer) == ["old-1"]
    assert outcome(answer, "first") == "WAITING_FOR_VICTIMS"
    assert outcome(answer, "second") != "WAITING_FOR_VICTIMS"


@pytest.mark.parametrize(("wanted", "expected"), [(2, ["old-1", "old-2"]), (3, [])])
def test_every_sub_group_retains_its_own_minimum(wanted: int, expected: list[str], decide: Decide) -> None:
    """Three pods in one subgroup and one in the other, with a minimum of one each."""
    cluster = tree(PARENTS, "b", gpus=8, values={"reclaim_min_runtime": {"a": "5m"}}).node(gpus=4)
    cluster.runs("old", "a", pods=3, ran="1m", sub_groups={"many": 1, "few": 1}, sub_group="many")
    cluster.pods("old", "RUNNING", node="n", sub_group="few")
    assert evicted(decide(cluster.waits("new", "b", pods=wanted))) == expected


def test_terminating_pod_does_not_count_as_left(decide: Decide) -> None:
    cluster = tree(PARENTS, "b", gpus=8, values={"reclaim_min_runtime": {"a": "5m"}}).node("n1").node("n2")
    cluster.runs("old", "a", node="n1", ran="1m").pods("old", "STUCK_IN_RELEASING", node="n2")
    assert evicted(decide(cluster.waits("new", "b"))) == []


@pytest.mark.parametrize(("ran", "expected"), [("4m59s", []), ("5m", ["old-0", "old-1"])])
def test_validator_alone_counts_no_terminating_pod_as_left(ran: str, expected: list[str]) -> None:
    """Of two running pods and a terminating one the minimum is one: it is not the one that ends anyway."""
    cluster = contested("reclaim", 2, 1, ran, 2).node("n2")
    cluster.pods("old", "STUCK_IN_RELEASING", node="n2")
    assert evicted(decide_with_running_victims(cluster)) == expected


def test_remaining_time_depends_on_the_preemptor(decide: Decide) -> None:
    """The two hours of the leaf count for a sibling, the minute of the department for a cousin."""
    parents = {"org": "", "a": "org", "a1": "a", "a2": "a", "b": "org", "b1": "b"}
    found = {}
    for asks in ("a2", "b1"):
        cluster = tree(parents, asks, gpus=8, values={"reclaim_min_runtime": {"a": "1m", "a1": "2h"}}).node(
            gpus=2
        )
        cluster.runs("old", "a1", pods=2, minimum=1).waits("new", asks, pods=2)
        found[asks] = evicted(decide(cluster))
    assert found == {"a2": [], "b1": ["old-0", "old-1"]}
