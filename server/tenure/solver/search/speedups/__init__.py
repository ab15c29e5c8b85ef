"""What only saves time: fast implementations of parts of the search, and oracles; each has a switch."""

from collections.abc import Collection
from typing import Final

from tenure.solver.search.oracle import Oracle, SearchParts
from tenure.solver.search.pod_group_lists import AllPending
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


def attach(parts: SearchParts, names: Collection[str]) -> None:
    """Replace plain parts by these speedups, and add oracles. The result of every search stays the same."""
    session, gangs, entries = parts.session, parts.gangs, parts.victim_entries
    if not _USE_POD_GROUP_INDEX.isdisjoint(names):
        lists = PodGroupIndex(session, gangs)
        if "pod_group_index" in names:
            parts.pod_groups = lists
            parts.simulation_order = AllPending(session, gangs, lists)
            parts.candidates = CheckedCandidates(session, lists, entries)
        if "simulation_order" in names:
            parts.simulation_order = FewPending(session, lists)
        if "candidate_sharing" in names:
            parts.candidates = SharedCandidates(session, lists, entries)
    oracles: list[Oracle] = []
    if not _USE_NODE_INDEX.isdisjoint(names):
        index = NodeIndex.of(session)
        if "node_index" in names:
            parts.node_order = IndexedNodes(session, index)
        with_fits, with_bound = "pruning" in names, "reclaim_bound" in names
        if with_fits or with_bound:
            oracles.append(Pruning(session, parts, index, with_fits=with_fits, with_bound=with_bound))
        if with_fits:
            oracles.append(Relocations(session, index))
    if "failed_search_cache" in names:
        oracles.append(FailedSearchCache(session))
    if "first_victim" in names:
        oracles.append(FirstVictim(session, parts))
    parts.oracles = tuple(oracles)
