"""Constraints of newly placed pods on the pods around them, judged on the facts of the model.

Pods that were there before may break each other's constraints; the generators place them anywhere. Selectors
have labels only, and all pods one namespace.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import HostPort, PodAffinityTerm, TopologySpread
from tenure.solver.model.decision import CycleResult
from tenure.solver.model.placement import Placement, TaskStatus
from tenure.solver.model.workload import Task
from tenure.solver.testing import placements

ABSENT: Final = (TaskStatus.PENDING, TaskStatus.PIPELINED)


def find_broken_constraints(cluster: Cluster, decision: CycleResult) -> Iterator[str]:
    """Selected nodes, host ports, anti-affinity in both directions, and topology spread of new pods."""
    after = placements(cluster, decision.groups)
    new = sorted({s.task for g in decision.groups for s in (*g.bindings, *g.reservations)})
    new = [task for task in new if after[task].status.is_active_allocated]
    for index in new:
        task, node = cluster.tasks[index], after[index].node
        labels = cluster.nodes[node].facts.labels
        if any(labels.get(key) != value for key, value in task.shape.constraints.node_selector):
            yield f"{task.facts.name} is on a node that it does not select"
        for spread in task.shape.constraints.topology_spread:
            yield from _find_skew(cluster, after, new, task, spread)
        for other in cluster.tasks:
            if other.index != index and _is_seen(cluster, after, index, other.index):
                yield from _find_conflicts(cluster, task, node, other, after[other.index].node)
        yield from _find_distance(cluster, after, new, task, node)


def _is_seen(cluster: Cluster, after: Sequence[Placement], new: int, other: int) -> bool:
    """Whether the other pod is there when the new one starts: also a victim if it starts now, and a pod that
    was terminating before in any case.
    """
    status = after[other].status
    if after[new].status is TaskStatus.PIPELINED:
        return status.is_active_allocated or _terminates(cluster, after, other)
    return status not in ABSENT


def _terminates(cluster: Cluster, after: Sequence[Placement], task: int) -> bool:
    """Whether it was terminating before, and no decision that is in flight evicts it."""
    if after[task].status not in (TaskStatus.RELEASING, TaskStatus.STUCK_IN_RELEASING):
        return False
    evicted = {step.task for group in cluster.in_flight for step in group.evictions}
    return task not in evicted and not cluster.tasks[task].placement.is_allocated


def _find_distance(
    cluster: Cluster, after: Sequence[Placement], new: Sequence[int], task: Task, node: int
) -> Iterator[str]:
    """A required affinity without a pod that provides: one that stays, or has a reservation as well.

    What a pod that is bound now needs may be evicted by a later decision.
    """
    terms, is_bound = task.shape.constraints.pod_affinity, after[task.index].status is TaskStatus.BINDING
    places = dict[int, int]()
    for other in cluster.tasks:
        if other.index == task.index or not all(_selects(term, other) for term in terms):
            continue
        before, now = other.placement, after[other.index]
        if now.is_allocated or (now.status is TaskStatus.PIPELINED and not is_bound):
            places[other.index] = now.node
        elif is_bound and before.is_allocated:
            places[other.index] = before.node
    if all(_selects(term, task) for term in terms) and set(places) <= set(new):
        return  # it may be the first of them
    for term in terms:
        domains = [each.facts.labels.get(term.topology_key) for each in cluster.nodes]
        domain = domains[node]
        if domain is None or domain not in [domains[place] for place in places.values()]:
            yield f"{task.facts.name}: nothing that it requires is in {domain}"


def _find_conflicts(cluster: Cluster, task: Task, node: int, other: Task, place: int) -> Iterator[str]:
    both = f"{task.facts.name} beside {other.facts.name}"
    mine, theirs = task.shape.constraints, other.shape.constraints
    if node == place and any(_is_same_port(a, b) for a in mine.host_ports for b in theirs.host_ports):
        yield f"{both}: equal host ports"
    pairs = [(term, other) for term in mine.pod_anti_affinity]
    pairs += [(term, task) for term in theirs.pod_anti_affinity]
    for term, selected in pairs:
        domains = [cluster.nodes[each].facts.labels.get(term.topology_key) for each in (node, place)]
        if domains[0] is not None and domains[0] == domains[1] and _selects(term, selected):
            yield f"{both}: anti-affinity in {domains[0]}"


def _find_skew(
    cluster: Cluster, after: Sequence[Placement], new: Sequence[int], task: Task, spread: TopologySpread
) -> Iterator[str]:
    """More pods than the skew permits even if all other new ones of the selector were placed before.

    The pods of a domain are those that stay there and the new ones with the same spread. In other domains,
    all that were there or are new.
    """
    selector = task.shape.constraints.node_selector
    domains = {
        node.index: node.facts.labels[spread.topology_key]
        for node in cluster.nodes
        if spread.topology_key in node.facts.labels
        and all(node.facts.labels.get(key) == value for key, value in selector)
    }
    low: Counter[str] = Counter(dict.fromkeys(domains.values(), 0))
    high: Counter[str] = Counter(low)
    for each in cluster.tasks:
        if not _selects(spread, each):
            continue
        before, now = each.placement, after[each.index]
        if each.index in new:
            if now.node in domains:
                high[domains[now.node]] += 1
                low[domains[now.node]] += each.shape.constraints == task.shape.constraints
        elif now.status.is_active_allocated and now.node in domains:
            low[domains[now.node]] += 1
        if before.status.is_active_allocated and before.node in domains:
            high[domains[before.node]] += 1
    least = min(high.values()) if len(high) >= spread.min_domains else 0
    domain = domains.get(after[task.index].node)
    if domain is None:
        yield f"{task.facts.name} is in no domain of its topology spread"
    elif low[domain] - least > spread.max_skew and _selects(spread, task):
        yield f"{task.facts.name}: {low[domain]} pods in {domain}, {least} in another domain"


def _is_same_port(one: HostPort, other: HostPort) -> bool:
    if (one.port, one.protocol) != (other.port, other.protocol):
        return False
    return one.ip == other.ip or not (one.ip and other.ip)


def _selects(term: PodAffinityTerm | TopologySpread, task: Task) -> bool:
    return set(term.match_labels) <= set(task.facts.labels)
