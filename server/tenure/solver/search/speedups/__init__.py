"""What only saves time: fast components of the search, and what states facts about one.

Each has a switch.
"""

from collections.abc import Collection
from typing import Final

from tenure.solver.search.pod_group_lists import AllPending
from tenure.solver.search.search_components import SearchComponents
from tenure.solver.search.speedup import Speedup
from tenure.solver.search.speedups.candidate_sharing import SharedCandidates
from tenure.solver.search.speedups.failed_search_cache import FailedSearchCache
from tenure.solver.search.speedups.first_victim import FirstVictim
from tenure.solver.search.speedups.node_index import IndexedNodes, NodeIndex
from tenure.solver.search.speedups.pod_group_index import PodGroupIndex
from tenure.solver.search.speedups.pruning import Pruning
from tenure.solver.search.speedups.relocation_bound import Relocations
from tenure.solver.search.speedups.simulation_order import FewPending
from tenure.solver.search.victim_entries import CheckedCandidates

_USE_NODE_INDEX: Final = frozenset(("node_index", "reclaim_bound", "pruning"))
_USE_POD_GROUP_INDEX: Final = frozenset(("pod_group_index", "simulation_order", "candidate_sharing"))


def attach(components: SearchComponents, names: Collection[str]) -> None:
    """Replace plain components by these speedups; add the others. No result of a search changes."""
    session, gangs, entries = components.session, components.gangs, components.victim_entries
    if not _USE_POD_GROUP_INDEX.isdisjoint(names):
        lists = PodGroupIndex(session, gangs)
        if "pod_group_index" in names:
            components.pod_groups = lists
            components.simulation_order = AllPending(session, gangs, lists)
            components.candidates = CheckedCandidates(session, lists, entries)
        if "simulation_order" in names:
            components.simulation_order = FewPending(session, lists)
        if "candidate_sharing" in names:
            components.candidates = SharedCandidates(session, lists, entries)
    speedups: list[Speedup] = []
    if not _USE_NODE_INDEX.isdisjoint(names):
        index = NodeIndex.of(session)
        if "node_index" in names:
            components.node_order = IndexedNodes(session, index)
        with_fits, with_bound = "pruning" in names, "reclaim_bound" in names
        if with_fits or with_bound:
            speedups.append(Pruning(session, components, index, with_fits=with_fits, with_bound=with_bound))
        if with_fits:
            speedups.append(Relocations(session, index))
    if "failed_search_cache" in names:
        speedups.append(FailedSearchCache(session))
    if "first_victim" in names:
        speedups.append(FirstVictim(session, components))
    components.speedups = tuple(speedups)
