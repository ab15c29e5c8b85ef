"""R17.8, R17.23: Explain tells the planned start of a pod group, and whose reserved capacity it waits for."""

import pytest
from tenure.server.explain.why_pending import why_pending
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.model.caller_state import PLANNED_STARTS, PlannedStart
from tenure.solver.model.cluster import Cluster
from tenure.solver.model.workload_parts import Preemptibility
from tenure.solver.testing import ClusterBuilder

from tests.server.explain.pending_cases import index
from tests.solver.reservations.play import MINUTE, Play, profile_with

PROFILE = profile_with()
TODAY = "2025-06-15"
"""Now is 15:06:40."""


def waiting(**end: str) -> Cluster:
    """`old` has half of a node, `big` wants all of it, and `long` has no end."""
    firm = Preemptibility.NON_PREEMPTIBLE
    made = ClusterBuilder().node("n", gpus=4).queue("q")
    made.running("old", queue="q", gpus=2, node="n", started_ago="1h", preemptibility=firm, **end)  # type: ignore[arg-type]
    made.pending("big", queue="q", gpus=4, preemptibility=firm)
    made.pending("long", queue="q", gpus=1, preemptibility=firm)
    play = Play(made.build(), PROFILE, absent=["long"])
    play.cycle(0)
    play.arrive("long")
    return play.cluster


def told(cluster: Cluster, uid: str) -> tuple[str, str]:
    """For tenants and for operators."""
    text = why_pending(CycleReplay(cluster, PROFILE), index(cluster, uid)).text
    return text.tenant, text.operator


@pytest.mark.parametrize(
    ("end", "certainty"),
    [
        ({"time_limit": "2h"}, f" and starts by {TODAY} 16:06:40 UTC, if nothing more important arrives."),
        ({"expected_runtime": "2h"}, f" and starts at about {TODAY} 16:10:00 UTC, if nothing more"),
        ({}, ", but no start is known: what becomes free is kept for it."),
    ],
    ids=["bounded", "expected", "unknown"],
)
def test_owner_is_told_when_and_operators_where(end: dict[str, str], certainty: str) -> None:
    tenant, operator = told(waiting(**end), "big")
    assert f"It has reserved capacity on 1 node{certainty}" in tenant
    assert f"It has reserved capacity on node n{certainty}" in operator


def test_owner_is_told_why_its_start_moved() -> None:
    cluster = waiting(time_limit="2h")
    row = cluster.carried.rows(PLANNED_STARTS)[0]
    assert row.start is not None
    early = row._replace(start=row.start - 30 * MINUTE)
    tenant, _ = told(cluster.carrying(PLANNED_STARTS, (early,)), "big")
    assert "The planned start moved to a later time, because " in tenant


def test_owner_is_told_that_nothing_is_reserved_for_it() -> None:
    cluster = waiting()
    row = PlannedStart("big", cluster.now, cluster.now, paused_until=cluster.now + 60 * MINUTE)
    tenant, _ = told(cluster.carrying(PLANNED_STARTS, (row,)), "big")
    assert f"No capacity is reserved for it until {TODAY} 16:06:40 UTC, because no more" in tenant


def test_others_read_who_is_reserved_only_as_operators() -> None:
    tenant, operator = told(waiting(time_limit="2h"), "long")
    assert "capacity" in tenant
    assert "big" not in tenant
    assert (
        f"Capacity is reserved for pod group big (queue q) that starts by {TODAY} 16:06:40 UTC." in operator
    )


def test_capacity_of_planned_starts_is_not_free_to_others_r13_51() -> None:
    _, operator = told(waiting(time_limit="2h"), "long")
    assert "Of 4 GPUs on nodes that it may use: 2 reserved for other pod groups, 2 of other pods" in operator
    _, own = told(waiting(time_limit="2h"), "big")
    assert "Of 4 GPUs on nodes that it may use: 2 free, 2 of other pods" in own
