"""What came of an eviction, and what is written down of it, with a move and without one."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tenure.solver.cycle import decide
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.column import Column
from tenure.solver.model.decision import Decision, Patch
from tenure.solver.model.duration import SECOND
from tenure.solver.model.memory import EvictionMemory
from tenure.solver.model.placement import TaskStatus
from tenure.solver.testing import NOW, ClusterBuilder, evictions, next_cluster

from tests.unit.plugins.two_memories import GUARD, profile, remembering

MINUTE = 60 * SECOND
NEW, OLD = 0, 1
"""Pod groups, and tasks where each has one, in the order of their names."""


def alone(decision: Decision) -> list[Patch]:
    """Patches about evictions that come with no move."""
    return [patch for group in decision.groups if group.action == GUARD for patch in group.patches]


def remembered(decision: Decision) -> list[EvictionMemory]:
    """What the whole answer says is to be remembered, in order."""
    patches = [patch for group in decision.groups for patch in group.patches]
    return [patch.memory for patch in patches if patch.memory is not None]


def room(gpus: int = 2) -> ClusterBuilder:
    return ClusterBuilder().node("n", gpus=gpus).queue("a").queue("b", quota=0)


def waits(builder: ClusterBuilder) -> None:
    """Nobody makes room for `new`: `old` is gone, and who is there instead is as important."""
    builder.running("other", queue="a", gpus=1, count=2, node="n", priority=90)
    builder.pending("old", queue="a", gpus=1).pending("new", queue="a", gpus=2, priority=90)


def terminates(builder: ClusterBuilder) -> None:
    builder.running("other", queue="a", gpus=1, node="n", priority=90)
    builder.pods("old", TaskStatus.RELEASING, node="n", queue="a", gpus=1)
    builder.pending("new", queue="a", gpus=2, priority=90)


def is_held(builder: ClusterBuilder) -> None:
    """Others make room, and `new` is promised it."""
    builder.pods("other", TaskStatus.RELEASING, node="n", queue="a", gpus=1, count=2)
    builder.pending("old", queue="a", gpus=2).pending("new", queue="a", gpus=2, priority=90)


def is_bound(builder: ClusterBuilder) -> None:
    builder.pending("old", queue="a", gpus=2).pending("new", queue="a", gpus=2, priority=90)


def is_being_bound(builder: ClusterBuilder) -> None:
    """It is bound, its start is written down, and nobody has seen it run."""
    builder.pending("old", queue="a", gpus=2)
    builder.pending("new", queue="a", gpus=2, priority=90, started_ago="1s")
    builder.in_flight("f", beneficiary="new", binds={"new-0": "n"})


def started_since(builder: ClusterBuilder) -> None:
    builder.pending("old", queue="a", gpus=2)
    builder.running("new", queue="a", gpus=1, count=2, node="n", priority=90, started_ago="1s")


def started_in_part(builder: ClusterBuilder) -> None:
    """Elastic: it has what it needs and wants more."""
    builder.pending("old", queue="a", gpus=2)
    builder.pod_group("new", queue="a", priority=90, min_member=1, started_ago="1s")
    builder.running("new", gpus=1, node="n").pending("new", gpus=4)


def started_with_it(builder: ClusterBuilder) -> None:
    """Elastic: it asked for more in the cycle in which it started, and did not get that."""
    builder.pending("old", queue="a", gpus=2)
    builder.pod_group("new", queue="a", priority=90, min_member=1, started_ago="2s")
    builder.running("new", gpus=1, node="n").pending("new", gpus=4)


def ran_before(builder: ClusterBuilder) -> None:
    """Elastic: it ran when it asked for more, and did not get it."""
    builder.pending("old", queue="a", gpus=2)
    builder.pod_group("new", queue="a", priority=90, min_member=1, started_ago="1h")
    builder.running("new", gpus=1, node="n").pending("new", gpus=4)


def has_all(builder: ClusterBuilder) -> None:
    """It ran when it asked for more, and nothing of it waits any longer."""
    builder.pending("old", queue="a", gpus=2)
    builder.running("new", queue="a", gpus=1, count=2, node="n", priority=90, started_ago="1h")


def has_no_pods(builder: ClusterBuilder) -> None:
    builder.running("old", queue="a", gpus=1, node="n")
    builder.pods("new", TaskStatus.SUCCEEDED, queue="a", gpus=1)


FATES: dict[str, tuple[Callable[[ClusterBuilder], None], str]] = {
    "the victim is gone and the preemptor waits": (waits, "failed"),
    "pods of the victim terminate": (terminates, "open"),
    "the preemptor is promised room": (is_held, "open"),
    "the preemptor is bound, and binding may fail": (is_bound, "open"),
    "a binding of the preemptor is in flight, and may fail": (is_being_bound, "open"),
    "the preemptor runs": (started_since, "of use"),
    "the preemptor runs and wants more": (started_in_part, "of use"),
    "the preemptor started before and still wants more": (started_with_it, "failed"),
    "the preemptor ran before and still wants more": (ran_before, "failed"),
    "the preemptor ran before and has all it wants": (has_all, "of use"),
    "the preemptor asks no more": (has_no_pods, "open"),
}


@pytest.mark.parametrize(("story", "fate"), FATES.values(), ids=FATES)
@pytest.mark.parametrize("failures", [0, 3])
def test_a_cycle_finds_out_what_came_of_an_eviction(
    story: Callable[[ClusterBuilder], None], fate: str, failures: int
) -> None:
    builder = room()
    story(builder)
    failed = "10m" if failures else ""
    cluster = remembering(
        builder.build(), "old", "new", evicted="2s", failed=failed, failures=failures, unsettled=True
    )
    (before,) = cluster.eviction_memory
    settled = {
        "failed": [before._replace(failures=failures + 1, last_failure=NOW, unsettled=False)],
        "of use": [before._replace(failures=0, last_failure=None, unsettled=False)],
        "open": [],
    }[fate]
    assert [patch.memory for patch in alone(decide(cluster, profile()))] == settled


@pytest.mark.parametrize("evicted", ["0s", "-1s", "-9h"])
def test_nothing_is_found_out_of_what_is_yet_to_come(evicted: str) -> None:
    builder = room()
    waits(builder)
    cluster = remembering(builder.build(), "old", "new", evicted=evicted, unsettled=True)
    assert alone(decide(cluster, profile())) == []


def test_what_is_known_is_not_written_again() -> None:
    builder = room()
    waits(builder)
    cluster = remembering(builder.build(), "old", "new", evicted="9m", failed="8m", failures=2)
    assert alone(decide(cluster, profile())) == []


def grows() -> Cluster:
    """`new` runs, and there is room for two pods more."""
    builder = room(3).pending("old", queue="a", gpus=2)
    builder.pod_group("new", queue="a", priority=90, min_member=1)
    return builder.running("new", gpus=1, node="n").pending("new", gpus=1, count=2).build()


def test_growth_is_of_use_by_the_decision_itself() -> None:
    """No snapshot tells which pod of a running pod group is new; two that are bound are noted once."""
    fields = {"evicted": "2s", "failed": "9m", "failures": 4, "unsettled": True}
    decision = decide(remembering(grows(), "old", "new", **fields), profile())
    assert [(group.action, len(group.bindings)) for group in decision.groups] == [("allocate", 1)] * 2
    assert remembered(decision) == [EvictionMemory(OLD, NEW, NOW - 2 * SECOND)]


@pytest.mark.parametrize("evicted", ["0s", "-1m"])
def test_growth_says_nothing_of_an_eviction_that_is_not_past(evicted: str) -> None:
    cluster = remembering(grows(), "old", "new", evicted=evicted, unsettled=True)
    assert remembered(decide(cluster, profile())) == []


def in_the_way() -> Cluster:
    """`old` holds what `new`, which is more important, wants."""
    builder = room().running("old", queue="a", gpus=2, node="n")
    return builder.pending("new", queue="a", gpus=2, priority=90).build()


def test_a_binding_that_fails_gives_nobody_credit() -> None:
    """Evicted, bound, not started, and outrun by the victim."""
    first = decide(in_the_way(), profile("preempt"))
    assert list(evictions(first)) == [OLD]
    cluster = next_cluster(in_the_way(), first, SECOND)
    second = decide(cluster, profile("preempt"))
    assert [step.task for group in second.groups for step in group.bindings] == [NEW]
    assert remembered(second) == []
    cluster = next_cluster(cluster, second, SECOND)
    new, old = cluster.tasks
    swapped = Column([replace(new, placement=old.placement), replace(old, placement=new.placement)])
    third = decide(replace(cluster, tasks=swapped), profile("preempt"))
    assert list(evictions(third)) == []
    assert remembered(third) == [EvictionMemory(OLD, NEW, NOW, 1, NOW + 2 * SECOND)]


def test_an_eviction_is_remembered_with_what_was_known_of_the_pair() -> None:
    cluster = remembering(in_the_way(), "old", "new", evicted="9m", failed="8m", failures=2)
    assert remembered(decide(cluster, profile("preempt"))) == [
        EvictionMemory(OLD, NEW, NOW, 2, NOW - 8 * MINUTE, unsettled=True)
    ]


def test_a_failure_is_counted_even_if_nothing_keeps_from_trying_again() -> None:
    cluster = remembering(in_the_way(), "old", "new", evicted="1s", unsettled=True)
    decision = decide(cluster, profile("preempt", backoff="0s"))
    assert remembered(decision) == [EvictionMemory(OLD, NEW, NOW, 1, NOW, unsettled=True)]
    assert alone(decision) == []


def test_who_moves_is_remembered_like_who_goes() -> None:
    builder = ClusterBuilder().node("n1", gpus=2).node("n2", gpus=1).queue("a")
    builder.running("old", queue="a", gpus=1, node="n1").pending("new", queue="a", gpus=2)
    decision = decide(builder.build(), profile("consolidation"))
    assert [step.moves for group in decision.groups for step in group.evictions] == [True]
    assert remembered(decision) == [EvictionMemory(OLD, NEW, NOW, unsettled=True)]
