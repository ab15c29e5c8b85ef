"""Gangs that run below their minimum for longer than the grace period are evicted."""

from dataclasses import replace

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.model.decision import PatchKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions
from tenure.terms.durations import SECOND
from tenure.terms.reasons import ReasonCode

MINUTE = 60 * SECOND
SINCE, CLEAR = PatchKind.STALE_SINCE, PatchKind.CLEAR_STALE_SINCE


def stale_gang(
    other: TaskStatus = TaskStatus.FAILED, min_member: int = 3, **options: object
) -> ClusterBuilder:
    """A gang with two running pods and a third pod with the status `other`."""
    builder = ClusterBuilder().node("n").queue("q")
    builder.pod_group("gang", queue="q", min_member=min_member, **options)  # type: ignore[arg-type]
    builder.running("gang", node="n", count=2)
    node = "n" if other.is_active_used else ""
    return builder.pods("gang", other, node=node)


ROWS = {
    "R6.40 just found stale: noted": (stale_gang(), 0, [SINCE]),
    "R6.40 within the grace period": (stale_gang(stale_ago="59s"), 0, []),
    "R6.41 at its very end": (stale_gang(stale_ago="60s"), 2, []),
    "R6.40 its own grace period": (stale_gang(stale_ago="5m", staleness_grace_period=6 * MINUTE), 0, []),
    "R6.40 never, if that is negative": (stale_gang(stale_ago="1d", staleness_grace_period=-1), 0, []),
    "R6.41 at once, if that is 0": (stale_gang(staleness_grace_period=0), 2, [SINCE]),
    "R6.42 whole again: forgotten": (stale_gang(min_member=2, stale_ago="5m"), 0, [CLEAR]),
    "R6.43 non-preemptible ones too": (stale_gang(stale_ago="5m", priority=125), 2, []),
    "R1.58 not stale once a pod succeeded": (stale_gang(TaskStatus.SUCCEEDED, stale_ago="5m"), 0, [CLEAR]),
    "R6.44 terminating pods still count": (stale_gang(TaskStatus.RELEASING, stale_ago="5m"), 0, [CLEAR]),
    "R1.58 not stale when nothing runs": (
        ClusterBuilder().queue("q").pending("gang", queue="q", count=2, min_member=3, stale_ago="5m"),
        0,
        [CLEAR],
    ),
}


@pytest.mark.parametrize(("builder", "evicted", "patches"), ROWS.values(), ids=ROWS)
def test_stale_gang_is_evicted_after_its_grace_period(
    builder: ClusterBuilder, evicted: int, patches: list[PatchKind]
) -> None:
    profile = replace(default_profile(), actions=("stalegangeviction",))
    decision = answer(builder.build(), profile)
    assert len(list(evictions(decision))) == evicted
    assert [patch.kind for group in decision.groups for patch in group.patches] == patches


def odd_subgroup(
    lone: int = 1,
    minimum: int = 2,
    second: int = 0,
    other: str = "waits",
    stale_ago: str = "60s",
    unready: int = 0,
) -> ClusterBuilder:
    """One of two subgroups is required and complete. Of the other one `lone` pods run, with one GPU each, and
    a pod with `second` GPUs is pending.

    There is one GPU more than these use. The other pod group requests two. A node with `unready` GPUs is not
    ready; if it has any, the pending pod selects it.
    """
    builder = ClusterBuilder().node("n", gpus=2 + lone).queue("q")
    builder.node("m", gpus=unready, labels={"is": "m"}, unready="kubelet is not ready")
    builder.pod_group("gang", queue="q", min_sub_groups=1, stale_ago=stale_ago)
    builder.sub_group("gang", "whole", min_member=1).sub_group("gang", "odd", min_member=minimum)
    builder.running("gang", gpus=1, node="n", sub_group="whole")
    builder.running("gang", gpus=1, node="n", sub_group="odd", count=lone)
    if second:
        selector = {"is": "m"} if unready else {}
        builder.pending("gang", gpus=second, sub_group="odd", node_selector=selector)
    if other != "none":
        builder.pending("other", queue="q", gpus={"waits": 2, "starts": 1, "too large": 9}[other])
    return builder


SUBGROUPS = {
    "R6.46 another pod group waits for its capacity": (odd_subgroup(), 1),
    "R6.46 all of its pods": (odd_subgroup(lone=2, minimum=3), 2),
    "R6.46 not within the grace period": (odd_subgroup(stale_ago="59s"), 0),
    "R6.46 not while nobody waits": (odd_subgroup(other="none"), 0),
    "R6.46 not for one that starts without it": (odd_subgroup(other="starts"), 0),
    "R6.46 not for one that cannot start with it": (odd_subgroup(other="too large"), 0),
    "R6.46 not if its other pods may still start": (odd_subgroup(second=2), 0),
    "R6.46 unless no node could hold them": (odd_subgroup(second=9), 1),
    "R6.46 one that is not ready could": (odd_subgroup(second=9, unready=9), 0),
    "R6.46 one that is not ready could not": (odd_subgroup(second=9, unready=8), 1),
    "R6.46 not at its minimum": (odd_subgroup(lone=2), 0),
}


@pytest.mark.parametrize(("builder", "evicted"), SUBGROUPS.values(), ids=SUBGROUPS)
def test_incomplete_subgroup_is_given_up_when_another_pod_group_waits_for_it(
    builder: ClusterBuilder, evicted: int
) -> None:
    decision = answer(builder.build(), default_profile())
    given_up = [group for group in decision.groups if group.reason is ReasonCode.STALE_SUB_GROUP]
    assert [len(group.evictions) for group in given_up] == [evicted] * bool(evicted)
    assert len(list(evictions(decision))) == evicted


@pytest.mark.parametrize(("grace", "evicted"), [(MINUTE, 0), (0, 2), (-1, 0)])
def test_grace_period_of_the_profile_is_the_default_r6_40(grace: int, evicted: int) -> None:
    options = CycleOptions(staleness_grace_period=grace)
    profile = replace(default_profile(), actions=("stalegangeviction",), options=options)
    assert len(list(evictions(answer(stale_gang().build(), profile)))) == evicted


def test_a_gang_with_the_sub_groups_it_requires_is_not_stale_r1_56() -> None:
    builder = ClusterBuilder().node("n").queue("q").pod_group("gang", queue="q", min_sub_groups=1)
    builder.sub_group("gang", "a", min_member=1).sub_group("gang", "b", min_member=1)
    builder.running("gang", node="n", sub_group="a").pods("gang", TaskStatus.FAILED, sub_group="b")
    profile = replace(default_profile(), actions=("stalegangeviction",))
    assert answer(builder.build(), profile).groups == ()
