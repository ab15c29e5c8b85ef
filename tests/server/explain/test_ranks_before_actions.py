"""Ranks and protections are those before the first action: notices and in-flight groups are settled."""

from dataclasses import replace
from typing import Final

import pytest
from tenure.server.explain.protected_until import protected_until
from tenure.solver.diagnosis.replay import CycleReplay
from tenure.solver.diagnosis.victim_rank import victim_ranks
from tenure.solver.model.cluster import Cluster
from tenure.solver.registry import default_profile
from tenure.solver.testing import ClusterBuilder
from tenure.terms.durations import SECOND

from tests.server.explain.pending_cases import index

MINUTE: Final = 60 * SECOND
_DEFAULT: Final = default_profile()
PROFILE: Final = replace(
    _DEFAULT, options=replace(_DEFAULT.options, max_notice=10 * MINUTE, default_notice=5 * MINUTE)
)


def contested(*, has_in_flight_groups: bool) -> Cluster:
    """The last notice of `old` was just withdrawn, so pod group `new` takes `low`."""
    builder = ClusterBuilder().queue("q").node("n", gpus=1).node("k", gpus=1)
    builder.node("m", gpus=3 if has_in_flight_groups else 1)
    builder.pod_group("old", queue="q", priority=50, last_notice_ago="1m", started_ago="1h")
    builder.running("old", node="n", gpus=1)
    builder.running("top", queue="q", node="m", gpus=1, priority=95, started_ago="1h")
    builder.running("low", queue="q", node="k", gpus=1, priority=60, started_ago="2h")
    builder.pending("new", queue="q", gpus=1, priority=90)
    for name in ("a", "b") if has_in_flight_groups else ():
        builder.pending(name, queue="q", gpus=1, priority=92)
        builder.in_flight(f"of {name}", beneficiary=name, reserves={f"{name}-0": "m"})
    return builder.build()


@pytest.mark.parametrize("has_in_flight_groups", [False, True])
def test_next_victim_is_not_one_in_its_notice_cooldown(has_in_flight_groups: bool) -> None:
    cluster = contested(has_in_flight_groups=has_in_flight_groups)
    replay = CycleReplay(cluster, PROFILE)
    ranks = victim_ranks(replay)
    assert ranks[index(cluster, "old")].next_for == ()
    assert len(ranks[index(cluster, "low")].next_for) == 1
    text = protected_until(replay, index(cluster, "old")).text.operator
    assert "next for" not in text
