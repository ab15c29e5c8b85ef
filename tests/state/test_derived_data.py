"""Derived data that is updated after changes equals derived data that is built from the same cluster."""

from typing import Any, Final

import pytest
from tenure.server.settings.server import DEFAULT_ROWS
from tenure.server.state import full_state
from tenure.server.state.versions import next_state
from tenure.server.state.warm_start import WarmStartCache
from tenure.solver.cycle import decide
from tenure.solver.framework.ledger import Ledger
from tenure.solver.model.cluster import Cluster
from tenure.solver.plugin_api.derived import Derived
from tenure.solver.plugin_api.profile import Profile
from tenure.solver.plugins.proportion.initial_usage import ShareSum
from tenure.solver.plugins.proportion.reclaim_cap import PodGroupSizes
from tenure.solver.registry import default_profile
from tenure.solver.search.speedups.filed_pod_groups import FiledPodGroups
from tenure.solver.search.speedups.node_index import NodeIndex
from tenure.wire.deltas import compute_delta

from tests.properties.generators.draw import SeededDraw
from tests.solver.placement_profiles import with_fragmentation
from tests.state.small_changes import STEPS, first_snapshot, next_snapshot

PROFILES: Final = {"packing": default_profile(), "by fragmentation": with_fragmentation()}
ATTRIBUTES: Final = {
    "PodGroupPhases": ("pending", "held", "running", "stale", "blocked"),
    "InitialUsage": ("allocated", "firm", "request", "impossible", "paths", "kinds", "firm_cores"),
    "NodeSizes": ("_nodes",),
    "_WarningCandidates": ("legacy", "odd", "bad"),
    "_Protected": ("now", "pod_groups"),
    "BudgetedTasks": ("names", "counts"),
    "ShapeCounts": ("counts",),
    "NodeClasses": ("of",),
}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_value_that_followed_equals_one_that_is_built(profile: Profile, seed: int) -> None:
    draw = SeededDraw(seed)
    snapshot = first_snapshot(draw)
    state = full_state("epoch", snapshot, DEFAULT_ROWS)
    compared = 0
    for _ in range(STEPS):
        after = next_snapshot(draw, snapshot)
        state = next_state(state, compute_delta(snapshot, after), 2**30, DEFAULT_ROWS)
        snapshot = after
        followed = values(state.cluster, profile, state.warm_start.fork())
        built = values(state.cluster, profile, WarmStartCache())
        assert followed.keys() == built.keys()
        for spec in built:
            assert followed[spec] == built[spec], spec
        compared += len(built)
        values(state.cluster, profile, state.warm_start)
    assert compared >= 8 * STEPS


def values(cluster: Cluster, profile: Profile, warm_start: WarmStartCache) -> dict[Derived[Any, Any], Any]:
    """The derived data of a session at the end of its cycle."""
    context = decide(cluster, profile, warm_start=warm_start).context
    for group in cluster.pod_groups:
        if group.queue is not None:
            context.pod_groups.key_after_eviction(group.index)
    found = {
        spec: content(value)
        for spec, value in context.session.derived_data._values.items()
        if not isinstance(value, dict)  # the allowed nodes of shapes, filled on demand
    }
    context.close()
    return found


def content(value: Any) -> Any:
    """The parts of a value that sessions read. Counters of moves are omitted: only caches read them."""
    if isinstance(value, Ledger):
        rooms = [(room.idle.vector(), room.releasing.vector()) for room in value.node_infos]
        counts = (value.active_allocated, value.active_used, value.pipelined, value.allocated, value.pending)
        return [*value.placements], rooms, *map(without_trailing_zeros, counts)
    if isinstance(value, FiledPodGroups):
        return filed(value)
    if isinstance(value, NodeIndex):
        return value.free_gpu_milli(), value.free_gpu_bound(), value.nodes_with_free_gpus()
    if isinstance(value, PodGroupSizes):
        return value.most_gpus()
    if isinstance(value, ShareSum):
        return value.share()
    if isinstance(value, list):
        return [content(each) for each in value]
    if isinstance(value, dict):
        return {key: content(each) for key, each in value.items()}
    if isinstance(value, set):
        return frozenset(value)
    known = ATTRIBUTES.get(type(value).__name__)
    return value if known is None else [content(getattr(value, name)) for name in known]


def filed(lists: FiledPodGroups) -> Any:
    """Pod groups with their keys, by list. Kinds have other numbers when they are met in another order."""
    listed = [index for index, queue in enumerate(lists.queues) if queue is not None]
    orders = (
        (lists.pending, lists.reversed),
        (lists.victims, lists.victim_keys),
        (lists.evictable_victims, lists.victim_keys),
    )
    keyed = [{queue: [(keys[i], i) for i in found[queue]] for queue in found} for found, keys in orders]
    alike = {queue: sorted(kinds.values()) for queue, kinds in lists.by_kind.items()}
    after = [lists.keys_after_eviction[index] for index in listed]
    return lists.queues, keyed, alike, after, lists.is_pending, lists.is_victim


def test_first_session_of_a_kept_state_builds_what_played_cycles_need() -> None:
    cluster = full_state("epoch", first_snapshot(SeededDraw(0)), DEFAULT_ROWS).cluster
    leaves = {queue.index for queue in cluster.queues if queue.is_leaf}
    for warm_start, kinds in ((WarmStartCache(), leaves), (None, set[int]())):
        context = decide(cluster, default_profile(), warm_start=warm_start).context
        built = {type(each): each for each in context.session.derived_data._values.values()}
        assert (PodGroupSizes in built) == (warm_start is not None)
        assert built[FiledPodGroups].by_kind.keys() == kinds
        context.close()


def without_trailing_zeros(counts: list[int]) -> list[int]:
    """Remove trailing zeros, because lists by pod set keep their length when pod sets are removed."""
    counts = [*counts]
    while counts and not counts[-1]:
        counts.pop()
    return counts
