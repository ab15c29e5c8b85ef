"""Which actions minruntime guards against, and which of the two values counts in each."""

from dataclasses import replace

import pytest
from tenure.solver.cycle import decide
from tenure.solver.framework.profile import PluginSetting, Profile
from tenure.solver.model.duration import SECOND
from tenure.solver.model.guard import EVICTING_ACTIONS, Scope
from tenure.solver.model.placement import TaskStatus
from tenure.solver.registry import default_profile
from tenure.solver.testing import NOW, ClusterBuilder

from tests.unit.plugins.four_actions import in_the_way, taken
from tests.unit.plugins.minruntime.company import company, guarding

JOB = 0
PREEMPTORS = {"rival": 1, "sibling": 2}
"""Who asks: a pod group of another department, and one of the job's own queue."""


def contested() -> ClusterBuilder:
    """The job has run for 5 minutes, of 10 within its queue, and of an hour against others."""
    builder = company({"started_ago": "5m"}, preempt={"a1": "10m"}, reclaim={"a": "1h"})
    return builder.pending("rival", queue="b").pending("sibling", queue="a1", priority=75)


ACTIONS: dict[str, tuple[str, ...]] = {
    "": EVICTING_ACTIONS,
    "reclaim,preempt": ("reclaim", "preempt"),
    " requeue , consolidation ": ("consolidation", "requeue"),
    "preempt": ("preempt",),
}


@pytest.mark.parametrize(("text", "guarded"), ACTIONS.items(), ids=str)
@pytest.mark.parametrize("other", ["rival", "sibling"])
def test_it_guards_against_the_actions_of_the_profile_whoever_asks(
    text: str, guarded: tuple[str, ...], other: str
) -> None:
    session = guarding(contested(), **({"actions": text} if text else {}))
    verdicts = {
        action: session.guards.verdicts(action, PREEMPTORS[other], JOB)
        for action in (*EVICTING_ACTIONS, "allocate", "stalegangeviction")
    }
    assert tuple(action for action, found in verdicts.items() if found) == guarded
    assert {found[0].scope for found in verdicts.values() if found} == {Scope.CORE}


ENDS = {
    ("preempt", "sibling"): 5,
    ("reclaim", "rival"): 55,
    ("consolidation", "sibling"): 5,
    ("consolidation", "rival"): 55,
    ("requeue", "sibling"): 5,
    ("requeue", "rival"): 55,
}


@pytest.mark.parametrize(("asked", "minutes"), ENDS.items(), ids=str)
def test_within_a_leaf_queue_the_preempt_value_counts_between_two_the_reclaim_value_r12_49(
    asked: tuple[str, str], minutes: int
) -> None:
    action, other = asked
    (verdict,) = guarding(contested()).guards.verdicts(action, PREEMPTORS[other], JOB)
    assert verdict.until == NOW + minutes * 60 * SECOND


def ten_minutes(*actions: str, **arguments: str) -> Profile:
    """The default profile with a minimum of ten minutes for everybody; after allocate only these actions."""
    values = {"defaultPreemptMinRuntime": "10m", "defaultReclaimMinRuntime": "10m", **arguments}
    minruntime = PluginSetting("minruntime", values)
    default = default_profile()
    plugins = tuple(minruntime if each.name == "minruntime" else each for each in default.plugins)
    return replace(default, actions=("allocate", *actions), plugins=plugins)


CHOICES = {
    "by default, within its minimum": ({}, "9m", set()),
    "by default, at its end": ({}, "10m", {"consolidation", "requeue"}),
    "those of the proposal only": ({"actions": "reclaim, preempt"}, "9m", {"consolidation", "requeue"}),
    "one of them": ({"actions": "requeue"}, "9m", {"consolidation"}),
}


@pytest.mark.parametrize(("arguments", "ran", "expected"), CHOICES.values(), ids=CHOICES)
def test_consolidation_and_requeue_take_within_the_minimum_if_the_profile_says_so_d7_14(
    arguments: dict[str, str], ran: str, expected: set[str]
) -> None:
    found = set()
    for action in ("consolidation", "requeue"):
        cluster = in_the_way(action, started_ago=ran, expected_runtime="5m")
        decision = decide(cluster, ten_minutes(action, **arguments))
        found |= {how for how, _ in taken(cluster, decision)}
    assert found == expected


def test_a_stale_gang_is_ended_within_its_minimum_d7_14() -> None:
    builder = ClusterBuilder().node("n", gpus=3).queue("q")
    builder.pod_group("gang", queue="q", min_member=3, started_ago="9m", stale_ago="5m")
    builder.running("gang", gpus=1, node="n", count=2).pods("gang", TaskStatus.FAILED)
    cluster = builder.build()
    found = taken(cluster, decide(cluster, ten_minutes("stalegangeviction")))
    assert found == [("stalegangeviction", "gang-0"), ("stalegangeviction", "gang-1")]
