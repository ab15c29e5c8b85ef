"""Not searching again for what was just found to have no solution.

A pod group that asks for exactly what another one of its queue asked for, while nothing has changed, meets
the same victims in the same order, and the same protections. Where the other found no room, this one finds
none either: it takes its turn after the other would have, and by then others can only have taken more. What
the other was told is then true of this one, until when somebody is protected as well.

Validators are different: they may allow what they did not allow the other, because more had taken their turns
before it. So what was rejected by them is concluded from only where pod groups similar to one that failed are
to be skipped, as those are that meet no protection (`search/similar_failures.py`).
"""

from collections.abc import Hashable, Sequence

from tenure.solver.actions.victim_rules import VictimRules
from tenure.solver.framework.session import Session
from tenure.solver.model.rejection import Rejection
from tenure.solver.model.workload import PodGroup


class FailedSearchCache:
    """Searches of one action that failed since the last commit."""

    def __init__(self, session: Session, rules: VictimRules) -> None:
        self._session = session
        self._rules = rules
        self._failed: dict[Hashable, Rejection] = {}
        self._commits = 0
        chains = session.chains
        self._is_plain = not (
            session.cluster.claims or chains.allows_placement or chains.zones or chains.allows_victim
        )
        """Whether room is a matter of amounts alone, and victims one of queues and guards."""

    def find(self, pod_group: int, tasks: Sequence[int]) -> Rejection | None:
        """What became of the same search before."""
        self._discard_stale()
        return self._failed.get(self._key(pod_group, tasks)) if self._failed else None

    def add(self, pod_group: int, tasks: Sequence[int], rejection: Rejection) -> None:
        """The search failed, and this is what was said of it."""
        key = self._key(pod_group, tasks)
        if key is not None:
            self._discard_stale()
            self._failed[key] = rejection

    def _discard_stale(self) -> None:
        if self._commits != len(self._session.commits):
            self._failed.clear()
            self._commits = len(self._session.commits)

    def _key(self, pod_group: int, tasks: Sequence[int]) -> Hashable | None:
        """What makes two searches the same; None: there is none like this."""
        session, group = self._session, self._session.cluster.pod_groups[pod_group]
        shapes = {session.cluster.tasks[task].shape.index for task in tasks}
        kind, rule = session.guards.cache_key(pod_group), self._rules.rule_key(pod_group)
        if (
            kind is None
            or rule is None
            or len(shapes) > 1
            or not (self._is_plain and self._is_new_and_simple(group))
        ):
            return None
        is_firm = session.cores.has_firm_request(pod_group, tasks)
        return (group.queue, group.priority, is_firm, kind, rule, len(tasks), *shapes)

    def _is_new_and_simple(self, group: PodGroup) -> bool:
        """One pod set that may go anywhere, of which nothing runs or is promised room."""
        is_simple = len(group.root.members) == 1 and group.root.members == group.pod_sets
        is_bound = group.root.topology is not None or any(s.topology is not None for s in group.pod_sets)
        return is_simple and not is_bound and not self._session.ledger.active_used[group.pod_sets[0].index]
