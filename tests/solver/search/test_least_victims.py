"""What decisions say about the size of their victims, and about what these free (semantics R14.6, R14.23)."""

from dataclasses import replace
from typing import Final

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import DecisionGroup
from tenure.solver.model.verdict import Minimality, VictimMeasure
from tenure.solver.registry import default_profile
from tenure.solver.search.victim_sets.harm import WORST, Harm, deciding_measure
from tenure.solver.testing import ClusterBuilder


def nodes(*free: int) -> ClusterBuilder:
    """Nodes of 8 GPUs, of which so many are free; the others are held by pods of one GPU, each alone."""
    builder = ClusterBuilder().queue("q", quota=-1)
    for number, gpus in enumerate(free):
        builder.node(f"n{number}", gpus=8)
        for pod in range(8 - gpus):
            builder.running(f"n{number}-{pod}", queue="q", priority=50, node=f"n{number}", gpus=1)
    return builder


def decided(builder: ClusterBuilder) -> DecisionGroup:
    profile = replace(default_profile(), actions=("preempt",))
    (group,) = answer(builder.build(), profile).groups
    return group


def known_of(builder: ClusterBuilder) -> tuple[Minimality, int, int]:
    """What is known, the disrupted pods, and the excess."""
    group = decided(builder)
    assert group.victim_set is not None
    return group.victim_set.minimality, len(group.evictions), group.victim_set.excess_gpu_milli


def test_one_needed_victim_is_the_least_r14_6() -> None:
    builder = nodes(0).pending("urgent", queue="q", priority=90, gpus=1)
    assert known_of(builder) == (Minimality.LEAST, 1, 0)


def test_a_bound_by_what_pods_hold_shows_that_no_set_has_fewer_pods_r14_6() -> None:
    builder = nodes(1, 3).pending("urgent", queue="q", priority=90, gpus=8)
    assert known_of(builder) == (Minimality.LEAST, 5, 0)


def test_where_a_larger_pod_runs_elsewhere_the_bound_shows_nothing_r14_6() -> None:
    """One pod of 4 GPUs would do, and has a higher priority: so none of the others can be left out."""
    builder = nodes(4).node("large", gpus=4)
    builder.running("whole", queue="q", priority=60, node="large", gpus=4)
    builder.pending("urgent", queue="q", priority=90, gpus=8)
    assert known_of(builder) == (Minimality.PROVEN, 4, 0)


@pytest.mark.parametrize(("held", "excess"), [(4, 3000), (1, 0)])
def test_what_evicted_pods_release_beyond_the_request_is_told_r14_23(held: int, excess: int) -> None:
    builder = ClusterBuilder().queue("q", quota=-1).node("n", gpus=held)
    builder.running("old", queue="q", priority=50, node="n", gpus=held)
    builder.pending("urgent", queue="q", priority=90, gpus=1)
    assert known_of(builder)[2] == excess


def test_relocated_pods_release_nothing_r14_23() -> None:
    builder = ClusterBuilder().queue("q", quota=-1).node("a", gpus=4).node("b", gpus=3)
    builder.running("old", queue="q", priority=50, node="a", gpus=3)
    builder.pending("new", queue="q", priority=50, gpus=4)
    profile = replace(default_profile(), actions=("consolidation",))
    (group,) = answer(builder.build(), profile).groups
    assert [step.relocating for step in group.evictions] == [True]
    assert group.known_victims() is not None
    assert group.known_victims().excess_gpu_milli == 0  # type: ignore[union-attr]


FIELDS: Final = dict(zip(Harm._fields, tuple(VictimMeasure)[1:], strict=True))


@pytest.mark.parametrize("field", FIELDS)
def test_the_first_measure_that_differs_decides_r14_8(field: str) -> None:
    worse = WORST._replace(names=((1, 1),))
    less = worse._replace(**{field: () if field == "names" else 0})
    assert deciding_measure(less, worse) is FIELDS[field]
    assert deciding_measure(worse, less) is VictimMeasure.UNSPECIFIED
