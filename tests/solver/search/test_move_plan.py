"""Few moves make way: slot by slot, and pods may take the place of others in turn (semantics R6.39)."""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import CycleResult
from tenure.solver.plugin_api.profile import SPEEDUPS
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder


def consolidate(builder: ClusterBuilder, **options: object) -> CycleResult:
    profile = default_profile()
    changed = replace(profile.options, **options)  # type: ignore[arg-type]
    return answer(builder.build(), replace(profile, actions=("consolidation",), options=changed))


def new_nodes(builder: ClusterBuilder, decision: CycleResult) -> dict[str, str]:
    """Nodes to which the only decision moves pods."""
    cluster, (group,) = builder.build(), decision.groups
    moved = {step.task for step in group.evictions}
    return {
        cluster.tasks[step.task].facts.uid: cluster.nodes[step.node].facts.name
        for step in group.reservations
        if step.task in moved
    }


def in_turn(spare: int = 1) -> ClusterBuilder:
    """The pod of two GPUs fits only where one of a single GPU is, and that one on a node for single ones."""
    builder = ClusterBuilder().queue("q", quota=16)
    builder.node("wide", gpus=4, cpus=64).node("middle", gpus=2, cpus=64).node(
        "narrow", gpus=1, cpus=64 * spare
    )
    builder.running("large", queue="q", priority=50, node="wide", gpus=2)
    builder.running("small", queue="q", priority=50, node="middle", gpus=1)
    return builder.pending("job", queue="q", priority=50, gpus=4)


@pytest.mark.parametrize("speedups", [(), SPEEDUPS], ids=["plain", "speedups"])
def test_pods_take_the_place_of_others_in_turn_r6_39(speedups: tuple[str, ...]) -> None:
    decision = consolidate(in_turn(), speedups=speedups)
    assert new_nodes(in_turn(), decision) == {"large-0": "middle", "small-0": "narrow"}


def test_moves_end_where_the_last_pod_has_no_place_r6_39() -> None:
    assert consolidate(in_turn(spare=0)).groups == ()


def beyond_the_most(first: int = 20) -> ClusterBuilder:
    """Only the pod on the last node has a place elsewhere; those of newer pod groups fill their nodes."""
    builder = ClusterBuilder().queue("q", quota=200).node("old", gpus=4).node("rest", gpus=1)
    builder.running("oldest", queue="q", priority=50, node="old", gpus=1)
    for number in range(first):
        builder.node(f"n{number}", gpus=4)
        builder.running(f"new-{number}", queue="q", priority=50, node=f"n{number}", gpus=4)
    return builder.pending("job", queue="q", priority=50, gpus=4)


def test_a_pod_group_behind_the_most_that_may_move_is_moved_alone_r6_39() -> None:
    decision = consolidate(beyond_the_most(), max_consolidation_victims=2)
    assert new_nodes(beyond_the_most(), decision) == {"oldest-0": "rest"}


def many_movers() -> ClusterBuilder:
    """Three pods of different pod groups make way for one."""
    builder = ClusterBuilder().queue("q", quota=16).node("full", gpus=4).node("empty", gpus=3)
    for name in ("a", "b", "c"):
        builder.running(name, queue="q", priority=50, node="full", gpus=1)
    return builder.pending("job", queue="q", priority=50, gpus=4)


@pytest.mark.parametrize(("most", "starts"), [(2, False), (3, True)])
def test_no_more_pod_groups_move_than_are_permitted_r2_4(most: int, starts: bool) -> None:
    assert bool(consolidate(many_movers(), max_consolidation_victims=most).groups) == starts
