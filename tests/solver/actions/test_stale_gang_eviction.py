"""Gangs that run below their minimum for longer than the grace period are evicted."""

from dataclasses import replace

import pytest
from tenure.solver.cycle import decide
from tenure.solver.model.decision import PatchKind
from tenure.solver.model.placement import TaskStatus
from tenure.solver.plugin_api.profile import CycleOptions
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder, evictions
from tenure.terms.durations import SECOND

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
    decision = decide(builder.build(), profile)
    assert len(list(evictions(decision))) == evicted
    assert [patch.kind for group in decision.groups for patch in group.patches] == patches


@pytest.mark.parametrize(("grace", "evicted"), [(MINUTE, 0), (0, 2), (-1, 0)])
def test_grace_period_of_the_profile_is_the_default_r6_40(grace: int, evicted: int) -> None:
    options = CycleOptions(staleness_grace_period=grace)
    profile = replace(default_profile(), actions=("stalegangeviction",), options=options)
    assert len(list(evictions(decide(stale_gang().build(), profile)))) == evicted


def test_a_gang_with_the_sub_groups_it_requires_is_not_stale_r1_56() -> None:
    builder = ClusterBuilder().node("n").queue("q").pod_group("gang", queue="q", min_sub_groups=1)
    builder.sub_group("gang", "a", min_member=1).sub_group("gang", "b", min_member=1)
    builder.running("gang", node="n", sub_group="a").pods("gang", TaskStatus.FAILED, sub_group="b")
    profile = replace(default_profile(), actions=("stalegangeviction",))
    assert decide(builder.build(), profile).groups == ()
