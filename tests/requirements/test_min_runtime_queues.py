"""Whose minimum runtime applies, decided by a server: the examples of the proposals and their rules.

Each case is decided twice: a second before the minimum ends, and at its end.
"""

from itertools import product
from typing import Any, Final

import pytest
from tenure.v1.decide_pb2 import WARNING_CODE_MISSING_START_TIME

from tests.requirements.answers import evicted, evicting_actions, verdict
from tests.requirements.cluster import NOW, ClusterText, seconds, tree
from tests.requirements.conftest import Decide
from tests.requirements.profiles import changed_profile, client_of, configuration

QUEUES: Final = {
    "A": "",
    "B": "A",
    "C": "B",
    "D": "B",
    "leaf1": "C",
    "leaf2": "C",
    "leaf3": "D",
    "Z": "",
    "leaf9": "Z",
}
"""The queue tree of the proposal, with another top-level queue."""
EXAMPLE: Final = {"B": "600s", "D": "60s", "leaf1": "0s", "leaf2": "180s"}
DEFAULT: Final = "77s"


def defaults(**arguments: Any) -> str:
    values = {"defaultPreemptMinRuntime": DEFAULT, "defaultReclaimMinRuntime": DEFAULT, **arguments}
    return configuration({"minruntime": values})


LCA, QUEUE, UNSET = (
    defaults(reclaimResolveMethod="lca"),
    defaults(reclaimResolveMethod="queue"),
    defaults(),
)


def contested(action: str, asks: str, victim: str, values: dict[str, Any], ran: str) -> ClusterText:
    """`old` of queue `victim` uses the only GPU, which `new` of queue `asks` needs."""
    field = f"{action}_min_runtime"
    cluster = tree(QUEUES, asks, values={field: values}).node()
    return cluster.runs("old", victim, ran=ran).waits("new", asks, priority=75 if action == "preempt" else 50)


RECLAIM: Final = {
    "example 1: leaf1 from leaf3, the 60s of D": (LCA, "leaf1", "leaf3", EXAMPLE, "60s", "queue D"),
    "example 2: leaf1 from leaf2, its own 180s": (LCA, "leaf1", "leaf2", EXAMPLE, "180s", "queue leaf2"),
    "example 3: leaf3 from leaf1, the 600s of B that C inherits": (
        LCA,
        "leaf3",
        "leaf1",
        EXAMPLE,
        "600s",
        "queue B",
    ),
    "one step down is the leaf itself": (LCA, "leaf2", "leaf1", {"leaf1": "5s"}, "5s", "queue leaf1"),
    "one step down is an inner queue": (LCA, "leaf3", "leaf2", {"C": "9s"}, "9s", "queue C"),
    "a leaf's value does not reach a cousin": (
        LCA,
        "leaf3",
        "leaf2",
        {"leaf2": "1h", "C": "9s"},
        "9s",
        "queue C",
    ),
    "the first one further up": (LCA, "leaf1", "leaf2", {"A": "5s"}, "5s", "queue A"),
    "no queue has one: the node pool's": (LCA, "leaf1", "leaf2", {}, DEFAULT, "default of minruntime"),
    "another top level: the victim's top level": (LCA, "leaf9", "leaf2", {"A": "30s"}, "30s", "queue A"),
    "another top level without one: the node pool's": (
        LCA,
        "leaf9",
        "leaf2",
        EXAMPLE,
        DEFAULT,
        "default of minruntime",
    ),
    "a queue overrides the node pool, downwards": (
        LCA,
        "leaf1",
        "leaf2",
        {"leaf2": "7s"},
        "7s",
        "queue leaf2",
    ),
    "a queue overrides the node pool, upwards": (LCA, "leaf1", "leaf2", {"C": "2h"}, "2h", "queue C"),
    "a child overrides its parent": (LCA, "leaf1", "leaf2", {"C": "2h", "leaf2": "7s"}, "7s", "queue leaf2"),
    "of three levels the nearest": (
        LCA,
        "leaf1",
        "leaf2",
        {"A": "3h", "B": "2h", "C": "1h", "leaf2": "7s"},
        "7s",
        "queue leaf2",
    ),
    "unset inherits through two levels": (LCA, "leaf1", "leaf2", {"B": "20s"}, "20s", "queue B"),
    "no method is lca": (UNSET, "leaf3", "leaf2", {"leaf2": "1h", "C": "9s"}, "9s", "queue C"),
    "by queue: the victim's own, whoever asks": (
        QUEUE,
        "leaf9",
        "leaf2",
        EXAMPLE,
        "180s",
        "queue leaf2",
    ),
    "by queue: also for a cousin": (QUEUE, "leaf3", "leaf2", EXAMPLE, "180s", "queue leaf2"),
    "by queue: inherited": (QUEUE, "leaf9", "leaf3", {"A": "5s"}, "5s", "queue A"),
    "by queue: the node pool's": (QUEUE, "leaf9", "leaf3", {}, DEFAULT, "default of minruntime"),
}


@pytest.mark.parametrize(
    ("file", "asks", "victim", "values", "minimum", "source"), RECLAIM.values(), ids=RECLAIM
)
def test_reclaim_minimum_is_that_of_this_queue(
    file: str, asks: str, victim: str, values: dict[str, Any], minimum: str, source: str, decide: Decide
) -> None:
    last = seconds(minimum) - 1
    within = decide(contested("reclaim", asks, victim, values, f"{last}s"), file)
    assert (evicted(within), within.next_wake_time.seconds) == ([], NOW + 1)
    at_end = decide(contested("reclaim", asks, victim, values, minimum), file)
    assert (evicted(at_end), evicting_actions(at_end)) == (["old-0"], ["reclaim"])
    found = verdict(at_end, "minruntime")
    assert (found.source, found.until.seconds) == (source, NOW)


PREEMPT: Final = {
    "example 1: leaf1 has its own 300s": ("leaf1", {"B": "600s", "leaf1": "300s"}, "300s", "queue leaf1"),
    "example 2: leaf2 inherits the 600s of B": ("leaf2", {"B": "600s", "leaf1": "300s"}, "600s", "queue B"),
    "no queue has one: the node pool's": ("leaf9", {"B": "600s"}, DEFAULT, "default of minruntime"),
    "a queue overrides the node pool": ("leaf9", {"Z": "5s"}, "5s", "queue Z"),
    "a child overrides its parent": ("leaf2", {"C": "600s", "leaf2": "5s"}, "5s", "queue leaf2"),
}


@pytest.mark.parametrize(("leaf", "values", "minimum", "source"), PREEMPT.values(), ids=PREEMPT)
def test_preempt_minimum_is_that_of_this_queue(
    leaf: str, values: dict[str, Any], minimum: str, source: str, decide: Decide
) -> None:
    last = seconds(minimum) - 1
    within = decide(contested("preempt", leaf, leaf, values, f"{last}s"), LCA)
    assert (evicted(within), within.next_wake_time.seconds) == ([], NOW + 1)
    at_end = decide(contested("preempt", leaf, leaf, values, minimum), LCA)
    assert (evicted(at_end), evicting_actions(at_end)) == (["old-0"], ["preempt"])
    found = verdict(at_end, "minruntime")
    assert (found.source, found.until.seconds) == (source, NOW)


ACTIONS: Final = {"reclaim": ("leaf1", "leaf2"), "preempt": ("leaf2", "leaf2")}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("values", [{}, {"A": "0s"}], ids=["nothing is configured", "an explicit zero"])
def test_zero_is_the_default_and_protects_nobody(action: str, values: dict[str, Any], decide: Decide) -> None:
    """The file configures no arguments; nor does a server without a file."""
    for file in ("", configuration()):
        assert evicted(decide(contested(action, *ACTIONS[action], values, "0s"), file)) == ["old-0"]


@pytest.mark.parametrize("action", ACTIONS)
def test_an_explicit_zero_is_not_unset(action: str, decide: Decide) -> None:
    """The zero of the leaf stops the inheritance of the hour."""
    asks, victim = ACTIONS[action]
    for values, expected in (({"B": "1h"}, []), ({"B": "1h", "leaf2": "0s"}, ["old-0"])):
        assert evicted(decide(contested(action, asks, victim, values, "1s"), LCA)) == expected


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("other", ACTIONS)
def test_each_action_uses_its_own_minimum(action: str, other: str, decide: Decide) -> None:
    asks, victim = ACTIONS[action]
    cluster = tree(QUEUES, asks, values={f"{other}_min_runtime": {"A": "1h"}}).node()
    cluster.runs("old", victim, ran="1m").waits("new", asks, priority=75 if action == "preempt" else 50)
    assert evicted(decide(cluster)) == ([] if action == other else ["old-0"])


@pytest.mark.parametrize("action", ACTIONS)
def test_the_plugin_works_when_it_is_listed_and_only_then(action: str, decide: Decide) -> None:
    cluster = contested(action, *ACTIONS[action], {"A": "1h"}, "1m")
    assert evicted(decide(cluster, configuration())) == []
    with client_of(changed_profile(without="minruntime")) as client:
        assert evicted(client.decide(cluster.snapshot)) == ["old-0"]


@pytest.mark.parametrize(("department", "expected"), [("2h", []), ("1m", ["old-0"])])
def test_values_within_a_subtree_do_not_affect_queues_outside(
    department: str, expected: list[str], decide: Decide
) -> None:
    """The department's value counts for a cousin, whatever its administrators set in its leaves."""
    for own, sibling in product((None, "0s", "3h"), repeat=2):
        inside = {leaf: value for leaf, value in (("leaf2", own), ("leaf1", sibling)) if value}
        values = {"C": department, **inside}
        assert evicted(decide(contested("reclaim", "leaf3", "leaf2", values, "1h"), LCA)) == expected


START: Final = {
    "nothing says when it started": (None, ["old-0"]),
    "within": ("4m59s", []),
    "at the end": ("5m", ["old-0"]),
    "after it": ("6m", ["old-0"]),
}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(("ran", "expected"), START.values(), ids=START)
def test_protection_counts_from_the_start_and_ends_at_its_time(
    ran: str | None, expected: list[str], action: str, decide: Decide
) -> None:
    cluster = contested(action, *ACTIONS[action], {"A": "5m"}, ran or "1h")
    if ran is None:
        cluster.group("old").ClearField("last_start_time")
    answer = decide(cluster)
    assert evicted(answer) == expected
    assert (WARNING_CODE_MISSING_START_TIME in [each.code for each in answer.warnings]) is (ran is None)


def test_example_of_20_of_30_seconds(decide: Decide) -> None:
    """It is not reclaimed after 20s; the response names the time from which it may be."""
    answer = decide(contested("reclaim", "leaf1", "leaf2", {"leaf2": "30s"}, "20s"))
    assert (evicted(answer), answer.next_wake_time.seconds) == ([], NOW + 10)
    (protection,) = [each for each in answer.protections if each.until.seconds == NOW + 10]
    assert (protection.guard, protection.pod_group, protection.source) == ("minruntime", "old", "queue leaf2")
    assert "reclaim" in protection.actions
    assert evicted(decide(contested("reclaim", "leaf1", "leaf2", {"leaf2": "30s"}, "30s"))) == ["old-0"]


OTHERS: Final = {
    "by default, within": ("", "9m", []),
    "by default, at the end": ("", "10m", ["consolidation", "requeue"]),
    "those of the proposal only": ("reclaim, preempt", "9m", ["consolidation", "requeue"]),
    "one of the others": ("requeue", "9m", ["consolidation"]),
}


@pytest.mark.parametrize(("actions", "ran", "expected"), OTHERS.values(), ids=OTHERS)
def test_the_minimum_holds_for_the_other_actions_unless_they_are_taken_out(
    actions: str, ran: str, expected: list[str], decide: Decide
) -> None:
    file = configuration({"minruntime": {"actions": actions}} if actions else {})
    values: dict[str, Any] = {"preempt_min_runtime": "10m", "reclaim_min_runtime": "10m"}
    moved = ClusterText().node("n1", gpus=2).node("n2", gpus=2).queue("q", **values)
    moved.runs("fixed", "q", node="n2", mode="NON_PREEMPTIBLE").runs("old", "q", node="n1", ran=ran)
    moved.waits("new", "q", gpus=2)
    late = ClusterText().node().queue("b", quota=1).queue("a", quota=1, **values)
    late.runs("old", "a", ran=ran, expected_runtime="5m").waits("new", "b", priority=75)
    found = [
        *evicting_actions(decide(moved, file, "allocate", "consolidation")),
        *evicting_actions(decide(late, file, "allocate", "requeue")),
    ]
    assert found == expected


def test_a_stale_gang_is_evicted_within_its_minimum(decide: Decide) -> None:
    cluster = ClusterText().node(gpus=3).queue("q", preempt_min_runtime="1h", reclaim_min_runtime="1h")
    cluster.runs("gang", "q", pods=2, minimum=3, ran="9m").pods("gang", "FAILED")
    cluster.group("gang").stale_since.seconds = NOW - 300
    assert evicted(decide(cluster)) == ["gang-0", "gang-1"]
