"""Rows of disruption budgets, and the budgets that each pod on a node spends from.

A PodDisruptionBudget selects pods by labels; rows name the budgets. Only budgets that a pod with a row spends
from have rows. What the API server would refuse is allowed nowhere: a budget that was changed and not counted
since allows nothing, and a pod that several budgets select spends from a further one that allows nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from tenure.kubernetes.api.object_caches import ObjectCaches
from tenure.kubernetes.objects.budgets import DisruptionBudget
from tenure.kubernetes.objects.pod import LabelSelector, Pod, is_ready
from tenure.kubernetes.rows.row_table import RowTable
from tenure.kubernetes.volumes.matching import selects
from tenure.v1 import snapshot_pb2 as pb

SEVERAL: Final = "several PodDisruptionBudgets"
"""Name of the budget of pods that several budgets select: the API server never evicts them."""
_MAX_NAME: Final = 253
"""Characters of a name that a server accepts."""
_ALWAYS: Final = "AlwaysAllow"
_MAX_NAMED: Final = 2
_ANY: Final = ("", "")
"""Label of budgets whose selector has expressions only."""
_NO_BUDGETS: Final[Mapping[str, DisruptionBudget]] = {}


class BudgetIndex:
    """Budgets by namespace and one label of their selectors."""

    def __init__(self, budgets: Iterable[DisruptionBudget] = ()) -> None:
        self._found: defaultdict[tuple[str, tuple[str, str]], dict[str, DisruptionBudget]]
        self._found = defaultdict(dict)
        for budget in budgets:
            self.add(budget)

    def add(self, budget: DisruptionBudget) -> None:
        """Add a budget, if it selects any pods."""
        if budget.spec.selector is not None:
            self._found[_key(budget, budget.spec.selector)][budget.metadata.uid] = budget

    def discard(self, budget: DisruptionBudget) -> None:
        """Remove a budget as it was added."""
        if budget.spec.selector is not None:
            self._found[_key(budget, budget.spec.selector)].pop(budget.metadata.uid, None)

    def selecting(self, pod: Pod) -> list[DisruptionBudget]:
        """Budgets that select a pod, by name."""
        meta, found = pod.metadata, list[DisruptionBudget]()
        for label in (_ANY, *meta.labels.items()):
            for budget in self._found.get((meta.namespace, label), _NO_BUDGETS).values():
                if budget.spec.selector is not None and selects(budget.spec.selector, meta.labels):
                    found.append(budget)
        return sorted(found, key=lambda one: one.metadata.name)


def _key(budget: DisruptionBudget, selector: LabelSelector) -> tuple[str, tuple[str, str]]:
    return budget.metadata.namespace, min(selector.match_labels.items(), default=_ANY)


class DisruptionBudgetRows:
    """For one thread."""

    def __init__(self, caches: ObjectCaches, is_used: bool) -> None:
        """`is_used`: whether evictions respect budgets."""
        self._budgets, self._pods, self._is_used = caches.disruption_budgets, caches.pods, is_used
        self.table: RowTable[pb.DisruptionBudget] = RowTable()
        self._known: dict[str, DisruptionBudget] = {}
        """By uid, as of the last call of `take_changes`."""
        self._index = BudgetIndex()
        self._members: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """Uids of pods by namespace and name."""
        self._places: dict[str, tuple[str, str]] = {}
        """Namespaces and names of pods by uid."""
        self._uses: Counter[str] = Counter()
        """Pods with rows that name each budget."""
        self._named: dict[str, tuple[str, ...]] = {}
        """Budgets that the rows of pods name, by uid."""
        self._noted: set[str] = set()
        """Names of budgets whose rows may be out of date."""

    def put(self, uid: str, pod: Pod | None) -> None:
        """Update a pod; None: it is gone."""
        if (place := self._places.pop(uid, None)) is not None and self._members[place[0]].get(
            place[1]
        ) == uid:
            del self._members[place[0]][place[1]]
        if pod is not None and self._is_used:
            self._places[uid] = (pod.metadata.namespace, pod.metadata.name)
            self._members[pod.metadata.namespace][pod.metadata.name] = uid

    def take_changes(self) -> set[str]:
        """Uids of pods whose budgets may differ since the last call."""
        pods = set[str]()
        for uid in self._budgets.take_changes() if self._is_used else ():
            before, after = self._known.pop(uid, None), self._budgets.find(uid)
            if before is not None:
                self._noted.add(name_of(before))
                self._index.discard(before)
            if after is not None:
                self._noted.add(name_of(after))
                self._index.add(after)
                self._known[uid] = after
            if _selection(before) != _selection(after):
                either = [one.metadata.namespace for one in (before, after) if one is not None]
                pods.update(*(self._members[namespace].values() for namespace in either))
        return pods

    def names(self, pod: Pod) -> list[str]:
        """Budgets that the eviction of a pod spends from; of many the first, and the one for several."""
        found = self._index.selecting(pod) if self._known and pod.spec.node_name else []
        named = [name_of(one) for one in found]
        if len(found) > 1:
            return [*named[:_MAX_NAMED], SEVERAL]
        return named if found and (is_ready(pod) or not _may_evict_unready(found[0])) else []

    def update_rows(self, find_pod: Callable[[str], pb.Pod | None], changed_pods: Iterable[str]) -> None:
        """Update the rows, after those of pods; `changed_pods` are uids of rows that changed."""
        for uid in changed_pods:
            row = find_pod(uid)
            before, after = self._named.pop(uid, ()), () if row is None else tuple(row.disruption_budgets)
            if after:
                self._named[uid] = after
            self._uses.update(after)
            self._uses.subtract(before)
            self._noted.update(before, after)
        budgets = {name_of(one): one for one in self._known.values()} if self._noted else {}
        for name in self._noted:
            if self._uses[name] <= 0:
                del self._uses[name]
                self.table.put(name, None)
            elif name == SEVERAL:
                self.table.put(name, pb.DisruptionBudget(name=SEVERAL))
            else:
                self.table.put(name, self._row(budgets[name]) if name in budgets else None)
        self._noted.clear()

    def _row(self, budget: DisruptionBudget) -> pb.DisruptionBudget:
        status, members = budget.status, self._members[budget.metadata.namespace]
        is_current = status.observed_generation >= budget.metadata.generation
        counted = sorted({members[name] for name in status.disrupted_pods if name in members})
        return pb.DisruptionBudget(
            name=name_of(budget),
            allowed=max(status.disruptions_allowed, 0) if is_current else 0,
            counted_pods=counted,
        )


def name_of(budget: DisruptionBudget) -> str:
    """Name of the row of a budget."""
    name = f"{budget.metadata.namespace}/{budget.metadata.name}"
    return name if len(name) <= _MAX_NAME else budget.metadata.uid


def _selection(budget: DisruptionBudget | None) -> object:
    """What the budgets of pods depend on."""
    return budget and (budget.spec, budget.metadata.namespace, _may_evict_unready(budget))


def _may_evict_unready(budget: DisruptionBudget) -> bool:
    """Whether pods that are not ready are evicted whatever is left, by the rules of the API server."""
    status = budget.status
    if budget.spec.unhealthy_pod_eviction_policy == _ALWAYS:
        return True
    return 0 < status.desired_healthy <= status.current_healthy
