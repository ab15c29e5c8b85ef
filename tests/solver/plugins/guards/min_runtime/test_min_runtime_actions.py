"""Actions that minruntime applies to, and the value that each of them uses."""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.verdict import ProtectionScope
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.registry import BUILT_IN, default_profile
from tenure.solver.testing import NOW, ClusterBuilder
from tenure.terms.durations import SECOND

from tests.solver.plugins.guards.evicting_actions import contested_cluster, evictions_of
from tests.solver.plugins.guards.min_runtime.departments import open_min_runtime_session, two_departments

JOB = 0
PREEMPTORS = {"rival": 1, "sibling": 2}
"""Preemptors: a pod group of another department, and one of the job's own queue."""


def contested_departments() -> ClusterBuilder:
    """The job has run for 5 minutes. Its minimum is 10 minutes within its queue, else an hour."""
    builder = two_departments({"started_ago": "5m"}, preempt={"a1": "10m"}, reclaim={"a": "1h"})
    return builder.pending("rival", queue="b").pending("sibling", queue="a1", priority=75)


ACTIONS: dict[str, tuple[str, ...]] = {
    "": BUILT_IN.guarded.names,
    "reclaim,preempt": ("reclaim", "preempt"),
    " requeue , consolidation ": ("consolidation", "requeue"),
    "preempt": ("preempt",),
}


@pytest.mark.parametrize(("text", "guarded"), ACTIONS.items(), ids=str)
@pytest.mark.parametrize("other", ["rival", "sibling"])
def test_guarded_actions_are_those_of_the_profile_for_any_preemptor(
    text: str, guarded: tuple[str, ...], other: str
) -> None:
    session = open_min_runtime_session(contested_departments(), **({"actions": text} if text else {}))
    verdicts = {
        action: session.guards.verdicts(BUILT_IN.actions[action], PREEMPTORS[other], JOB)
        for action in (*BUILT_IN.guarded.names, "allocate", "stalegangeviction")
    }
    assert tuple(action for action, found in verdicts.items() if found) == guarded
    assert {found[0].scope for found in verdicts.values() if found} == {ProtectionScope.CORE}


ENDS = {
    ("preempt", "sibling"): 5,
    ("reclaim", "rival"): 55,
    ("consolidation", "sibling"): 5,
    ("consolidation", "rival"): 55,
    ("requeue", "sibling"): 5,
    ("requeue", "rival"): 55,
}


@pytest.mark.parametrize(("asked", "minutes"), ENDS.items(), ids=str)
def test_preempt_minimum_counts_within_a_leaf_queue_and_reclaim_minimum_between_two_r12_49(
    asked: tuple[str, str], minutes: int
) -> None:
    action, other = asked
    (verdict,) = open_min_runtime_session(contested_departments()).guards.verdicts(
        BUILT_IN.actions[action], PREEMPTORS[other], JOB
    )
    assert verdict.until == NOW + minutes * 60 * SECOND


def ten_minutes(*actions: str, **arguments: str) -> Profile:
    """The default profile with a default minimum of ten minutes. Only these actions run after allocate."""
    values = {"defaultPreemptMinRuntime": "10m", "defaultReclaimMinRuntime": "10m", **arguments}
    minruntime = PluginConfig("minruntime", values)
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
def test_consolidation_and_requeue_evict_within_the_minimum_unless_guarded_d7_14(
    arguments: dict[str, str], ran: str, expected: set[str]
) -> None:
    found = set()
    for action in ("consolidation", "requeue"):
        cluster = contested_cluster(action, started_ago=ran, expected_runtime="5m")
        decision = answer(cluster, ten_minutes(action, **arguments))
        found |= {how for how, _ in evictions_of(cluster, decision)}
    assert found == expected


def test_stale_gang_is_evicted_within_its_minimum_runtime_d7_14() -> None:
    builder = ClusterBuilder().node("n", gpus=3).queue("q")
    builder.pod_group("gang", queue="q", min_member=3, started_ago="9m", stale_ago="5m")
    builder.running("gang", gpus=1, node="n", count=2).pods("gang", TaskStatus.FAILED)
    cluster = builder.build()
    found = evictions_of(cluster, answer(cluster, ten_minutes("stalegangeviction")))
    assert found == [("stalegangeviction", "gang-0"), ("stalegangeviction", "gang-1")]
