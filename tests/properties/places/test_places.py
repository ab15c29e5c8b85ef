"""Places of gangs: the oracle, the check, and what repacking keeps (R3.36)."""

from collections import Counter

import pytest
from tenure.v1.snapshot_pb2 import ClusterSnapshot

from tests.properties.places import command
from tests.properties.places.judged_places import (
    Judged,
    Placing,
    bound_nodes,
    engine,
    judge,
    nominated,
    started_pods,
)
from tests.properties.places.most_gpus import FreePlaces, Places, most_gpus
from tests.properties.places.waiting_pods import waiting_snapshot

SEEDS = range(60)


def _fits(snapshot: ClusterSnapshot, found: Places) -> bool:
    """Whether all of these pods fit where they are."""
    places = FreePlaces(snapshot)
    free = {node: list(amounts) for node, amounts in places.free.items()}
    for group in places.waiting:
        for pod in group.pods:
            if pod in found:
                amounts = zip(free[found[pod]], group.amounts, strict=True)
                free[found[pod]] = [has - takes for has, takes in amounts]
    return all(amount >= 0 for amounts in free.values() for amount in amounts)


def _is_gang_kept(snapshot: ClusterSnapshot, given: Counter[str]) -> bool:
    least = {group.uid: group.min_member for group in snapshot.pod_groups}
    return all(number >= least[uid] for uid, number in given.items())


def test_decisions_and_optima_fit_and_keep_gangs_whole_r3_36() -> None:
    better = 0
    for seed in SEEDS:
        snapshot = waiting_snapshot(seed)
        group_of = {pod.uid: pod.pod_group for pod in snapshot.pods}
        found = bound_nodes(engine(Placing.DEFAULT), snapshot)
        given = Counter(group_of[pod] for pod in found)
        best = most_gpus(FreePlaces(snapshot), given)
        most = Counter(group_of[pod] for pod in best)
        assert _fits(snapshot, found), seed
        assert _fits(snapshot, best), seed
        assert _is_gang_kept(snapshot, given), seed
        assert _is_gang_kept(snapshot, most), seed
        assert all(most[uid] >= number for uid, number in given.items()), seed
        first = started_pods(engine(Placing.FIRST), snapshot)
        better += FreePlaces(snapshot).gpus(given) > FreePlaces(snapshot).gpus(first)
    assert better >= 6


def test_optimum_is_what_starts_on_nominated_nodes() -> None:
    judged = 0
    for seed in SEEDS:
        case = judge(Placing.FIRST, seed)
        assert case.most is not None
        assert case.started <= case.most <= case.free
        assert case.certified == case.most, seed
        judged += case.most > case.started
    assert judged > 5


def test_first_pod_group_in_order_is_not_displaced_by_later_ones_r3_36() -> None:
    """Pod groups are tried in queue order, so the first that does not start could not without repacking."""
    for seed in SEEDS:
        snapshot = waiting_snapshot(seed)
        now, first = (started_pods(engine(each), snapshot) for each in (Placing.DEFAULT, Placing.FIRST))
        if now != first:
            gained = [uid for uid in sorted({*now, *first}) if now.get(uid, 0) > first.get(uid, 0)]
            assert gained, seed


def test_certificate_gives_every_pod_its_node() -> None:
    snapshot = waiting_snapshot(4)
    best = most_gpus(FreePlaces(snapshot), {})
    assert nominated(snapshot, best).pods != snapshot.pods
    assert {
        pod.uid: pod.nominated_node for pod in nominated(snapshot, best).pods if pod.nominated_node
    } == best


def test_limits_count_clusters_and_gpus() -> None:
    cases = [Judged(0, 9, 8, 8, 8), Judged(1, 9, 6, 8, 8), Judged(2, 9, 7, None, 7)]
    found = command.summary(cases)
    assert (found.clusters, found.proven, found.at_optimum, found.certified) == (3, 2, 1, 1)
    assert found.part_at_optimum == 0.5
    assert found.stranded == 1 - 14 / 16


def test_command_prints_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(4) == (2, 0) or "seed" in capsys.readouterr().out
    assert command.main(8, first=4, placing=Placing.FIRST).failed == 2
