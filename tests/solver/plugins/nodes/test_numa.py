"""NUMA zones: pods are placed on nodes that can align them, in the fewest zones (semantics R9.40)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tenure.solver.diagnosis.answer import answer
from tenure.solver.framework.session import Session
from tenure.solver.model.node import NumaPolicy
from tenure.solver.model.placement import TaskStatus
from tenure.solver.model.resources import CPU, GPU
from tenure.solver.plugin_api.profile import PluginConfig, Profile
from tenure.solver.plugins.nodes.numa import Numa, choose_zones, split
from tenure.solver.registry import BUILT_IN, default_profile, with_required_plugins
from tenure.solver.testing import ClusterBuilder, TaskState, apply_decisions, statuses

from tests.solver.sessions import session_state

SINGLE, RESTRICTED, BEST_EFFORT = NumaPolicy.SINGLE_NUMA_NODE, NumaPolicy.RESTRICTED, NumaPolicy.BEST_EFFORT
PENDING, BINDING, RUNNING = TaskStatus.PENDING, TaskStatus.BINDING, TaskStatus.RUNNING
PIPELINED, RELEASING = TaskStatus.PIPELINED, TaskStatus.RELEASING
NUMA = replace(default_profile(), plugins=(*default_profile().plugins, PluginConfig("numa")))

ALIGN = {
    "the lowest zone that fits": (SINGLE, [(4, 1), (4, 1)], [(4, 1), (4, 1)], (3, 1), (0,)),
    "a zone with all resources": (SINGLE, [(4, 1), (4, 1)], [(4, 0), (4, 1)], (3, 1), (1,)),
    "no zone is large enough": (SINGLE, [(4, 1), (4, 1)], [(4, 1), (4, 1)], (6, 0), None),
    "no zone has both": (SINGLE, [(4, 1), (4, 1)], [(4, 0), (0, 1)], (1, 1), None),
    "restricted to one zone": (RESTRICTED, [(4, 1), (4, 1)], [(1, 1), (4, 1)], (3, 1), (1,)),
    "restricted to two zones": (RESTRICTED, [(16, 4), (16, 4)], [(16, 4), (16, 4)], (24, 6), (0, 1)),
    "widths differ": (RESTRICTED, [(16, 4), (16, 4)], [(16, 4), (16, 4)], (10, 6), None),
    "more zones than an empty node would need": (
        RESTRICTED,
        [(4, 0), (4, 0)],
        [(2, 0), (2, 0)],
        (4, 0),
        None,
    ),
    "more than the node has": (RESTRICTED, [(4, 0), (4, 0)], [(4, 0), (4, 0)], (9, 0), None),
    "two of three": (RESTRICTED, [(4, 0)] * 3, [(1, 0), (4, 0), (4, 0)], (8, 0), (1, 2)),
    "best effort in one": (BEST_EFFORT, [(4, 0)] * 2, [(1, 0), (4, 0)], (3, 0), (1,)),
    "best effort in as few as possible": (
        BEST_EFFORT,
        [(4, 0)] * 3,
        [(1, 0), (2, 0), (2, 0)],
        (4, 0),
        (1, 2),
    ),
    "best effort has its limits": (BEST_EFFORT, [(4, 0)] * 2, [(1, 0), (2, 0)], (4, 0), None),
    "nothing to align": (SINGLE, [(4, 1)], [(0, 0)], (0, 0), ()),
}


@pytest.mark.parametrize(("policy", "allocatable", "free", "amounts", "expected"), ALIGN.values(), ids=ALIGN)
def test_zones_are_chosen_as_the_node_would(
    policy: NumaPolicy,
    allocatable: Sequence[tuple[int, int]],
    free: Sequence[tuple[int, int]],
    amounts: tuple[int, int],
    expected: tuple[int, ...] | None,
) -> None:
    request = tuple((slot, amount) for slot, amount in enumerate(amounts) if amount)
    assert choose_zones(policy, allocatable, free, request) == expected


def test_amounts_are_split_over_zones_lowest_first() -> None:
    shares = split((0, 1), [(3, 5), (4, 1)], ((0, 5), (1, 2)))
    assert shares == ((0, ((0, 3), (1, 2))), (1, ((0, 2),)))


def cluster(policy: NumaPolicy = SINGLE, **zone: Any) -> ClusterBuilder:
    """A large node with two small zones. A zone has 4 cores by default."""
    zones = {name: zone or {"cpus": 4} for name in ("z0", "z1")}
    return ClusterBuilder().node("n", gpus=8, numa_policy=policy, numa_zones=zones).queue("q")


def placements_after(builder: ClusterBuilder, *actions: str) -> dict[str, TaskState]:
    built = builder.build()
    return statuses(built, answer(built, replace(NUMA, actions=actions or NUMA.actions)))


def zones_after(builder: ClusterBuilder, profile: Profile = NUMA) -> dict[str, dict[int, dict[int, int]]]:
    """Zones and amounts of every bound or reserved pod, by uid."""
    built = builder.build()
    groups = answer(built, profile).groups
    steps = [step for group in groups for step in (*group.bindings, *group.reservations)]
    return {built.tasks[s.task].facts.uid: {zone: dict(a) for zone, a in s.zones} for s in steps}


def test_zones_fill_up_and_then_the_node_is_full() -> None:
    builder = cluster().pending("job", queue="q", cpus=3, count=3, min_member=1, guaranteed=True)
    assert zones_after(builder) == {"job-0": {0: {CPU: 3000}}, "job-1": {1: {CPU: 3000}}}


REQUESTS = {
    "guaranteed": ({"cpus": 5, "guaranteed": True}, PENDING),
    "not guaranteed": ({"cpus": 5}, BINDING),
    "part of a core": ({"cpus": 4.5, "guaranteed": True}, BINDING),
    "memory is not listed": ({"cpus": 1, "memory_gib": 400, "guaranteed": True}, BINDING),
    "GPUs are not listed": ({"gpus": 8, "guaranteed": True}, BINDING),
}


@pytest.mark.parametrize(("options", "expected"), REQUESTS.values(), ids=REQUESTS)
def test_only_resources_listed_by_the_zones_are_aligned(
    options: Mapping[str, Any], expected: TaskStatus
) -> None:
    assert placements_after(cluster().pending("job", queue="q", **options))["job-0"].status is expected


@pytest.mark.parametrize(("gpus", "expected"), [(2, BINDING), (3, PENDING)])
def test_devices_are_aligned_for_every_pod(gpus: int, expected: TaskStatus) -> None:
    assert placements_after(cluster(gpus=2).pending("job", queue="q", gpus=gpus))["job-0"].status is expected


def test_shares_of_a_gpu_are_not_aligned() -> None:
    builder = cluster(gpus=0).pending("job", queue="q", gpus=0.5)
    assert placements_after(builder)["job-0"].status is BINDING


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(SINGLE, PENDING), (RESTRICTED, BINDING), (BEST_EFFORT, BINDING), (NumaPolicy.NONE, BINDING)],
)
def test_alignment_follows_the_policy_of_the_node(policy: NumaPolicy, expected: TaskStatus) -> None:
    builder = cluster(policy).pending("job", queue="q", cpus=6, guaranteed=True)
    assert placements_after(builder)["job-0"].status is expected


def test_best_effort_nodes_accept_unaligned_pods() -> None:
    builder = cluster(BEST_EFFORT).pending("job", queue="q", cpus=9, guaranteed=True)
    assert zones_after(builder) == {"job-0": {}}


def test_zones_are_ignored_without_the_plugin() -> None:
    builder = cluster().pending("job", queue="q", cpus=6, guaranteed=True)
    assert zones_after(builder, default_profile()) == {"job-0": {}}


def test_node_with_the_fewest_required_zones_is_preferred() -> None:
    builder = cluster(RESTRICTED).pending("job", queue="q", cpus=6, guaranteed=True)
    builder.node("wide", gpus=8, numa_policy=RESTRICTED, numa_zones={"z": {"cpus": 16}})
    assert placements_after(builder)["job-0"] == (BINDING, "wide")


def test_aligning_node_is_preferred_to_one_without_policy() -> None:
    aligned = cluster().node("a", gpus=8).pending("job", queue="q", cpus=4, guaranteed=True)
    assert placements_after(aligned)["job-0"] == (BINDING, "n")
    indifferent = cluster().node("a", gpus=8).pending("job", queue="q", cpus=4)
    assert placements_after(indifferent)["job-0"] == (BINDING, "a")


def running(builder: ClusterBuilder, name: str, zone: str | None, **options: Any) -> ClusterBuilder:
    taken = {zone: {"cpus": 3}} if zone else {}
    return builder.running(
        name, queue="q", node="n", cpus=3, guaranteed=True, numa_placement=taken, **options
    )


def test_victim_frees_its_zone() -> None:
    builder = running(running(cluster(), "old", "z1"), "new", "z0")
    builder.pending("important", queue="q", cpus=3, guaranteed=True, priority=75)
    found = placements_after(builder)
    assert (found["new-0"].status, found["old-0"].status) == (RELEASING, RUNNING)
    assert found["important-0"] == (PIPELINED, "n")
    assert zones_after(builder) == {"important-0": {0: {CPU: 3000}}}


def test_no_pod_is_evicted_when_no_zone_could_fit_the_pod() -> None:
    builder = running(running(cluster(), "a", "z0"), "b", "z1")
    found = placements_after(builder.pending("important", queue="q", cpus=5, guaranteed=True, priority=75))
    assert {name: state.status for name, state in found.items()} == {
        "a-0": RUNNING,
        "b-0": RUNNING,
        "important-0": PENDING,
    }


def test_pod_with_unknown_zone_frees_none() -> None:
    """According to the node each zone has a free core. The zones of the other cores in use are not known."""
    zones = {"z0": {"cpus": 1}, "z1": {"cpus": 1}}
    builder = ClusterBuilder().node("n", numa_policy=SINGLE, numa_zones=zones).queue("q")
    running(builder, "unknown", None)
    assert (
        placements_after(builder.pending("job", queue="q", cpus=3, guaranteed=True, priority=75))[
            "job-0"
        ].status
        is PENDING
    )


def test_zone_of_a_terminating_pod_is_reserved() -> None:
    builder = running(cluster(), "a", "z0")
    builder.pods(
        "b", RELEASING, queue="q", node="n", cpus=3, guaranteed=True, numa_placement={"z1": {"cpus": 3}}
    )
    builder.pending("job", queue="q", cpus=3, guaranteed=True)
    assert placements_after(builder, "allocate")["job-0"] == (PIPELINED, "n")
    assert zones_after(builder) == {"job-0": {1: {CPU: 3000}}}


def test_reserved_zone_is_not_allocated_to_another_pod() -> None:
    """The first pod waits for GPUs of the node. The cores of its zone stay reserved."""
    builder = cluster().pods("old", RELEASING, queue="q", node="n", gpus=8)
    builder.pending("first", queue="q", gpus=8, cpus=3, guaranteed=True, priority=75)
    builder.pending("second", queue="q", cpus=3, guaranteed=True)
    assert zones_after(builder) == {"first-0": {0: {CPU: 3000}}, "second-0": {1: {CPU: 3000}}}


def test_restored_pod_retains_its_zone() -> None:
    """The pod could move to the lower zone z0, but is not restarted for that."""
    session = Session.open(running(cluster(), "a", "z1").build(), with_required_plugins(NUMA), BUILT_IN)
    with session.statement() as statement:
        statement.evict(0)
        zones = session.chains.numa_zone_selectors[0].zones(0, 0, True)
        statement.pipeline(0, 0, (), zones)
        assert session.ledger.placements == [session.cluster.tasks[0].placement]


def test_pod_is_relocated_to_another_zone_of_its_node() -> None:
    builder = cluster(gpus=4)
    builder.running("a", queue="q", node="n", gpus=1, numa_placement={"z0": {"gpus": 1}})
    builder.running("b", queue="q", node="n", gpus=1, numa_placement={"z1": {"gpus": 1}})
    builder.pending("job", queue="q", gpus=4, priority=60)
    built = builder.build()
    decision = answer(built, replace(NUMA, actions=("consolidation",)))
    (group,) = decision.groups
    assert [(evict.relocating, evict.node) for evict in group.evictions] == [(True, 0)]
    assert statuses(built, decision)["job-0"] == (PIPELINED, "n")
    assert all(state.node == "n" for state in statuses(built, decision).values())


def test_next_cycle_counts_placed_zones() -> None:
    built = cluster().pending("job", queue="q", cpus=3, count=2, guaranteed=True).build()
    following = apply_decisions(built, answer(built, NUMA), elapsed=10**9)
    session = Session.open(following, with_required_plugins(NUMA), BUILT_IN)
    assert session.chains.numa_zone_selectors[0].zones(0, 0, False) is None


def test_moves_between_zones_are_undone_exactly() -> None:
    built = running(running(cluster(), "a", "z0"), "b", "z1").pending("c", queue="q", cpus=1).build()
    session = Session.open(built, with_required_plugins(NUMA), BUILT_IN)
    numa = session.chains.numa_zone_selectors[0]
    assert isinstance(numa, Numa)

    def state() -> Any:
        free = [numa._zone_usage.free_zones(0, soon) for soon in (False, True)]
        return session_state(session), [[list(zone) for zone in zones] for zones in free]

    before = state()
    with session.statement() as statement:
        statement.evict(0)
        freed = state()
        statement.pipeline(0, 0, (), ((1, ((CPU, 1000),)),))
        statement.evict(1)
        statement.rollback(1)
        assert state() == freed
    assert state() == before


def test_amounts_of_gpus_are_in_thousandths() -> None:
    builder = cluster(gpus=2).pending("job", queue="q", gpus=2)
    assert zones_after(builder) == {"job-0": {0: {GPU: 2000}}}
