"""What preferred pod affinity of pods, and of those near, makes of each node (semantics R3.68).

Pods are equal here if they are of one class. For each class that asks for nodes, the weights of its terms and
of those of other classes are added once for each class that they concern, and a node has one sum. Placed pods
alone change sums: a move changes the sums of a class when that asks next, for the nodes of the domains that
it concerns. So a term that matches no placed pod costs nothing, and a pod costs the same with many terms as
with one (R3.78).
"""

from collections.abc import Mapping, Sequence
from typing import Final, final

from tenure.solver.model.constraints import PodAffinityTerm
from tenure.solver.model.placement import Placement
from tenure.solver.plugin_api.context import PluginContext
from tenure.solver.plugin_api.presence import EFFECTS, PodRelation, Presences, presence_of_other
from tenure.solver.plugins.nodes.affinity_classes import AffinityClass, AffinityClasses

_EFFECTS: Final = EFFECTS[PodRelation.ATTRACTS]
_MAX_MOVES: Final = 1 << 16
"""Moves that are kept for classes which ask again. Other classes count everything again."""

Weights = Mapping[str, int]
"""By topology key, the weight of one pod in the domain of a node."""


class NodeSums:
    """The sum of weights of each node for one class."""

    def __init__(self, weights: Mapping[AffinityClass, Weights], nodes: int) -> None:
        self.weights: Final = weights
        """Weights of the pods of each class."""
        self.by_node: Final = [0] * nodes
        self.domains: dict[tuple[str, str], int] = {}
        """Sums that are not 0 of each domain, by topology key and value."""
        self.seen_moves = -1
        """Number of moves that are counted; -1: it was not counted."""

    @property
    def are_equal(self) -> bool:
        """Whether no placed pod makes a difference."""
        return not self.domains


@final
class Attraction:
    """Follows every move of pods that concern others."""

    def __init__(self, context: PluginContext, classes: AffinityClasses, presences: Presences) -> None:
        self._context = context
        self._classes = classes
        self._presences = presences
        self._labels = [node.facts.labels for node in context.cluster.nodes]
        self._of_class: dict[AffinityClass, NodeSums | None] = {}
        self._placed: dict[AffinityClass, dict[int, int]] = {}
        """Number of placed pods by node, of the classes that concern a class which has asked."""
        self._moves: list[tuple[AffinityClass, int, int]] = []
        """The latest changes of these numbers: class, node and difference."""
        self._forgotten = 0
        """Number of moves before these."""
        self._owners: dict[tuple[str, PodAffinityTerm], list[tuple[AffinityClass, int]]] = {}
        """Classes with a preferred term, and its weight for them, by namespace and term."""
        self._nodes_of: dict[str, dict[str, list[int]]] = {}
        """Nodes by topology key and value."""

    def sums(self, kind: AffinityClass) -> NodeSums | None:
        """The sums of a class, as of now; None: neither its pods nor others prefer to be near each other."""
        found = self._of_class.get(kind)
        if found is None:
            if kind in self._of_class:
                return None
            found = self._of_class[kind] = self._weigh(kind)
            if found is None:
                return None
        self._update(found)
        return found

    def on_move(self, task: int, before: Placement, after: Placement) -> None:
        """Count the task as it is after the move."""
        kind = self._classes.of_task[task]
        placed = self._placed.get(kind)
        if placed is None:
            return
        changes: dict[int, int] = {}
        for placement, difference in ((before, -1), (after, 1)):
            for node, presence in self._presences.of(task, placement):
                if _EFFECTS[presence].later:
                    changes[node] = changes.get(node, 0) + difference
        for node, difference in changes.items():
            if difference:
                self._add(placed, node, difference)
                self._moves.append((kind, node, difference))
        if len(self._moves) > _MAX_MOVES:
            self._forgotten += len(self._moves)
            self._moves.clear()

    def _weigh(self, kind: AffinityClass) -> NodeSums | None:
        """Which classes concern a class, by its own terms and by theirs."""
        found: dict[AffinityClass, dict[str, int]] = {}
        own, check = kind.constraints.preferred_pods, self._context.check_stop
        by_selector: dict[PodAffinityTerm, dict[str, int]] = {}
        for each in own:
            weights = by_selector.setdefault(each.term._replace(topology_key=""), {})
            weights[each.term.topology_key] = weights.get(each.term.topology_key, 0) + each.weight
        for selector, weights in by_selector.items():
            check()
            for other in self._classes.selected((selector,), kind.namespace, check):
                _merge(found.setdefault(other, {}), weights)
        has_terms = bool(own)
        for term, owners in self._classes.owners_of_terms(kind):
            has_terms = True
            for other, weight in self._owners_of(kind.namespace, term, owners):
                check()
                _merge(found.setdefault(other, {}), {term.topology_key: weight})
        if not has_terms:
            return None
        for other in found:
            if other not in self._placed:
                self._placed[other] = self._count(other)
        return NodeSums(found, len(self._labels))

    def _owners_of(
        self, namespace: str, term: PodAffinityTerm, owners: Sequence[AffinityClass]
    ) -> list[tuple[AffinityClass, int]]:
        found = self._owners.get((namespace, term))
        if found is None:
            found = self._owners[namespace, term] = [
                (owner, sum([one.weight for one in owner.constraints.preferred_pods if one.term == term]))
                for owner in owners
            ]
        return found

    def _count(self, kind: AffinityClass) -> dict[int, int]:
        """Placed pods of a class by node."""
        placed: dict[int, int] = {}
        ledger, check = self._context.ledger, self._context.check_stop
        for task in kind.tasks:
            check()
            for node, presence in self._presences.of(task, ledger.placement(task)):
                if _EFFECTS[presence].later:
                    self._add(placed, node, 1)
        for node, number, is_terminating in kind.others:
            if _EFFECTS[presence_of_other(is_terminating)].later:
                self._add(placed, node, number)
        return placed

    def _add(self, placed: dict[int, int], node: int, number: int) -> None:
        left = placed.get(node, 0) + number
        if left:
            placed[node] = left
        else:
            del placed[node]

    def _update(self, sums: NodeSums) -> None:
        """Count what moved since the class asked last, or everything, if that is new or less."""
        total = self._forgotten + len(self._moves)
        if sums.seen_moves == total:
            return
        changes: dict[tuple[str, str], int] = {}
        if not self._is_less(sums, total - sums.seen_moves):
            for kind, node, number in self._moves[sums.seen_moves - self._forgotten :]:
                self._context.check_stop()
                if (weights := sums.weights.get(kind)) is not None:
                    self._note(changes, weights, node, number)
        else:
            changes = {domain: -amount for domain, amount in sums.domains.items()}
            for kind, weights in sums.weights.items():
                for node, number in self._placed[kind].items():
                    self._context.check_stop()
                    self._note(changes, weights, node, number)
        sums.seen_moves = total
        for domain, amount in changes.items():
            if amount:
                self._change(sums, domain, amount)

    def _is_less(self, sums: NodeSums, moves: int) -> bool:
        """Whether counting everything is less than counting these latest moves, if they are known."""
        if sums.seen_moves < self._forgotten:
            return True
        if moves <= len(sums.weights):
            return False
        return moves > len(sums.domains) + sum([1 + len(self._placed[kind]) for kind in sums.weights])

    def _note(self, changes: dict[tuple[str, str], int], weights: Weights, node: int, number: int) -> None:
        labels = self._labels[node]
        for key, weight in weights.items():
            value = labels.get(key)
            if value is not None:
                domain = (key, value)
                changes[domain] = changes.get(domain, 0) + weight * number

    def _change(self, sums: NodeSums, domain: tuple[str, str], amount: int) -> None:
        after = sums.domains.get(domain, 0) + amount
        if after:
            sums.domains[domain] = after
        else:
            del sums.domains[domain]
        by_node = sums.by_node
        for node in self._nodes_with(domain[0])[domain[1]]:
            by_node[node] += amount

    def _nodes_with(self, key: str) -> dict[str, list[int]]:
        """Nodes by their value of a topology key."""
        found = self._nodes_of.get(key)
        if found is None:
            found = self._nodes_of[key] = {}
            for node, labels in enumerate(self._labels):
                if (value := labels.get(key)) is not None:
                    found.setdefault(value, []).append(node)
        return found


def _merge(into: dict[str, int], weights: Weights) -> None:
    for key, weight in weights.items():
        into[key] = into.get(key, 0) + weight
