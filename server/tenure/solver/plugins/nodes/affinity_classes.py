"""Tasks by namespace, labels and affinity terms, and which of them a term selects.

Building it takes time in proportion to the tasks and the terms of the shapes, whatever selects what. Tasks
are found by one label of a term, and terms by one of their labels: that of the fewest tasks.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import Labels, PodAffinityTerm

Terms = tuple[PodAffinityTerm, ...]


class MatchingPods:
    """Pods that a term selects, or that have it, counted by the value of a topology key."""

    def __init__(self, topology_key: str) -> None:
        self.topology_key = topology_key
        self.counts: Counter[str] = Counter()

    def count(self, values: Iterable[str], sign: int) -> None:
        """Add pods with these values, or remove them with sign -1."""
        for value in values:
            self.counts[value] += sign


class AffinityClass:
    """Tasks with the same namespace, labels and terms."""

    def __init__(self, namespace: str, labels: Labels, affinity: Terms, anti_affinity: Terms) -> None:
        self.namespace = namespace
        self.labels = frozenset(labels)
        self.affinity_terms = affinity
        self.anti_affinity_terms = anti_affinity
        self.matches_own_affinity = all(term.selects(labels) for term in affinity)
        """Whether the first of them may be placed on any node."""
        self.tasks: list[int] = []
        self.memberships: dict[MatchingPods, None] = {}
        """Counts that include the tasks."""
        self.is_counted = False
        """Whether `affinity` and `anti_affinity` have their counts."""
        self.affinity: list[MatchingPods] = []
        self.anti_affinity: list[MatchingPods] = []


class Namespace:
    """Classes of a namespace, and the counts of its terms."""

    def __init__(self) -> None:
        self.selections: dict[tuple[Labels, str], MatchingPods] = {}
        """Pods with these labels, by labels and topology key."""
        self.owners: dict[PodAffinityTerm, MatchingPods] = {}
        """Pods with this anti-affinity term."""
        self._classes: dict[tuple[Labels, int], AffinityClass] = {}
        """By labels and number of the terms."""
        self._is_indexed = False
        self._by_label: dict[tuple[str, str], list[AffinityClass]] = {}
        self._by_number: dict[int, list[AffinityClass]] = {}
        self._numbers: dict[PodAffinityTerm, list[int]] = {}
        """Numbers of the terms that include an anti-affinity term."""
        self._terms_by_label: dict[tuple[str, str], list[PodAffinityTerm]] = {}
        """Anti-affinity terms, each by its rarest label."""
        self._terms_for_all: list[PodAffinityTerm] = []
        """Anti-affinity terms without labels."""

    def find(self, name: str, labels: Labels, number: int, terms: tuple[Terms, Terms]) -> AffinityClass:
        """The class of a task, added if it is new; `name` is that of the namespace."""
        kind = self._classes.get((labels, number))
        if kind is None:
            kind = self._classes[labels, number] = AffinityClass(name, labels, *terms)
        return kind

    def selected(self, labels: Labels) -> list[AffinityClass]:
        """Classes with all these labels."""
        self._index()
        found: Iterable[AffinityClass] = self._classes.values()
        if labels:
            found = self._by_label.get(self._rarest(labels), ())
        return [kind for kind in found if kind.labels.issuperset(labels)]

    def with_term(self, term: PodAffinityTerm) -> list[AffinityClass]:
        """Classes with this anti-affinity term."""
        self._index()
        return [kind for number in self._numbers[term] for kind in self._by_number[number]]

    def terms_against(self, kind: AffinityClass) -> Iterator[PodAffinityTerm]:
        """Anti-affinity terms that select the class."""
        self._index()
        yield from self._terms_for_all
        for label in kind.labels:
            for term in self._terms_by_label.get(label, ()):
                if kind.labels.issuperset(term.match_labels):
                    yield term

    def _rarest(self, labels: Labels) -> tuple[str, str]:
        """The label that the fewest classes have."""
        return min(labels, key=self._count_classes)

    def _count_classes(self, label: tuple[str, str]) -> int:
        return len(self._by_label.get(label, ()))

    def _index(self) -> None:
        """Index classes and terms, once."""
        if self._is_indexed:
            return
        self._is_indexed = True
        for (_, number), kind in self._classes.items():
            self._by_number.setdefault(number, []).append(kind)
            for label in kind.labels:
                self._by_label.setdefault(label, []).append(kind)
        for number, kinds in self._by_number.items():
            for term in kinds[0].anti_affinity_terms:
                self._numbers.setdefault(term, []).append(number)
        for term in self._numbers:
            if term.match_labels:
                self._terms_by_label.setdefault(self._rarest(term.match_labels), []).append(term)
            else:
                self._terms_for_all.append(term)


def classify(cluster: Cluster) -> tuple[dict[str, Namespace], Sequence[AffinityClass]]:
    """All namespaces by name, and the class of every task."""
    names = [group.facts.namespace for group in cluster.pod_groups]
    namespaces: dict[str, Namespace] = {}
    numbers: dict[tuple[Terms, Terms], int] = {}
    of_constraints: dict[int, tuple[int, tuple[Terms, Terms]]] = {}
    """Number and terms of each object with constraints, so that terms are hashed once."""
    kinds: list[AffinityClass] = []
    for task in cluster.tasks:
        constraints, name = task.shape.constraints, names[task.pod_group]
        known = of_constraints.get(id(constraints))
        if known is None:
            terms = (constraints.pod_affinity, constraints.pod_anti_affinity)
            number = numbers.setdefault(terms, len(numbers))
            known = of_constraints[id(constraints)] = (number, terms)
        namespace = namespaces.get(name)
        if namespace is None:
            namespace = namespaces[name] = Namespace()
        kind = namespace.find(name, task.facts.labels, known[0], known[1])
        kind.tasks.append(task.index)
        kinds.append(kind)
    return namespaces, kinds
