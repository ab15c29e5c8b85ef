"""Saves: repeating a search that just failed for an equal preemptor.
Sound: a preemptor of the same queue and priority with an equal request meets the same victims in the same
order, and the same protections, until something is committed. It is placed after the other would have been,
and by then others can only have taken more. A validator may still allow for it what it did not allow for the
other, so a search that reached validators counts only if similar pod groups are skipped anyway (semantics
R5.80). A search in which a filter refused what it may permit when more is placed does not count. Off with
claims, NUMA zones, victim filters, guards whose verdicts are for the pair, and placement filters that name no
kinds of pod groups.
Switch: `failed_search_cache`. Plain: every search.
Compared by: tests/solver/search/speedups/test_failed_search_cache.py, and the check `differential`.
"""

from collections.abc import Hashable
from typing import Any

from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup
from tenure.solver.plugin_api.traits import PlacementKind, traits_of
from tenure.solver.search.search import Search
from tenure.solver.search.speedup import Speedup


class FailedSearchCache(Speedup):
    """Searches that failed since the last commit."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._failed: dict[Hashable, Rejection] = {}
        self._commits = 0
        self._refusals = 0
        """Of filters when the search began, which they may take back."""
        chains = session.chains
        filters: tuple[Any, ...] = chains.placement_filters
        self._kinds: list[PlacementKind] = [each for each in filters if hasattr(each, "placement_kind")]
        others = [gate for gate in (*chains.gates, *chains.capacity_gates) if gate not in filters]
        self._is_enabled = not (
            session.cluster.claims
            or chains.numa_zone_selectors
            or chains.victim_filters
            or len(self._kinds) < len(filters)
            or (bool(filters) and not all(traits_of(gate).gates_by_request for gate in others))
        )
        """Whether capacity is a matter of amounts alone, and victims one of queues and guards."""

    def known_failure(self, search: Search) -> Rejection | None:
        """Result of an equal search."""
        self._discard_stale()
        self._refusals = self._count_refusals()
        return self._failed.get(self._key(search)) if self._failed else None

    def record_failure(self, search: Search, rejection: Rejection, *, was_validated: bool) -> None:
        """Store the result, if it holds for equal searches."""
        if was_validated and not self._session.options.skip_similar_pod_groups:
            return
        if self._count_refusals() != self._refusals:
            return
        key = self._key(search)
        if key is not None:
            self._discard_stale()
            self._failed[key] = rejection

    def _count_refusals(self) -> int:
        return sum([getattr(each, "revocable_refusals", 0) for each in self._kinds])

    def _discard_stale(self) -> None:
        if self._commits != self._session.commit_count:
            self._failed.clear()
            self._commits = self._session.commit_count

    def _key(self, search: Search) -> Hashable | None:
        """Equal searches have equal keys; None: no other search is equal."""
        session, group = self._session, self._session.cluster.pod_groups[search.preemptor]
        if not self._is_enabled or search.rule_key is None or not self._is_new_and_simple(group):
            return None
        if not search.tasks:
            return None
        tasks, number = session.cluster.tasks, len(search.tasks)
        shape = tasks[search.tasks[0]].shape.index
        for task in search.tasks:
            if tasks[task].shape.index != shape:
                return None
        guard_key = session.guards.cache_key(search.preemptor)
        kinds = [each.placement_kind(search.preemptor) for each in self._kinds]
        if guard_key is None or None in kinds:
            return None
        is_firm = session.cores.has_firm_request(search.preemptor, search.tasks)
        may_override = session.disruptions.may_override(search.action, search.preemptor)
        own = (search.action, guard_key, search.rule_key, may_override, *kinds)
        return (own, group.queue, group.facts.priority, is_firm, number, shape)

    def _is_new_and_simple(self, group: PodGroup) -> bool:
        """One pod set without topology constraints, of which no task runs or is pipelined."""
        is_simple = len(group.root.members) == 1 and group.root.members == group.pod_sets
        is_bound = group.root.topology is not None or any(s.topology is not None for s in group.pod_sets)
        return is_simple and not is_bound and not self._session.ledger.active_used[group.pod_sets[0].index]
