"""Pods by namespace, labels and constraints, and which of them a term selects.

Building it takes time in proportion to the tasks and the terms of the shapes, whatever selects what. Pods
are found by one label of a term, and terms by one of their labels: that of the fewest pods.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from tenure.solver.model.cluster import Cluster
from tenure.solver.model.constraints import Constraints, Labels, PodAffinityTerm, TopologySpread
from tenure.solver.plugin_api.presence import EFFECTS, FOR_RESERVED, PodRelation, Presence

Terms = tuple[PodAffinityTerm, ...]


class TermUse(NamedTuple):
    """What classes are made for: which constraints tell pods apart, and which terms concern others."""

    key: Callable[[Constraints], object]
    """Pods with equal labels and keys are of one class."""
    mutual: Callable[[Constraints], Terms]
    """Terms that also count for pods of the namespace that they select."""


def _required_key(constraints: Constraints) -> object:
    return (
        constraints
        if constraints.topology_spread
        else (constraints.pod_affinity, constraints.pod_anti_affinity)
    )


def _preferred_key(constraints: Constraints) -> object:
    return constraints if constraints.preferred_spread else constraints.preferred_pods


def _preferred_terms(constraints: Constraints) -> Terms:
    return tuple(dict.fromkeys(one.term for one in constraints.preferred_pods))


REQUIRED: Final = TermUse(_required_key, lambda constraints: constraints.pod_anti_affinity)
PREFERRED: Final = TermUse(_preferred_key, _preferred_terms)


class MatchingPods:
    """Pods that a term selects, or that have it, counted by the value of a topology key.

    Those that provide, block or count `now`, when a binding is applied, and `later`, when victims have left.
    """

    def __init__(self, topology_key: str, relation: PodRelation) -> None:
        self.topology_key = topology_key
        self.effects: Final = EFFECTS[relation]
        """By presence of a pod."""
        self._for_reserved: Final = FOR_RESERVED[relation]
        self.now: Counter[str] = Counter()
        self.later: Counter[str] = Counter()
        self.passing: Counter[str] = Counter()
        """Of `later`, those for which a pod with a reservation waits."""

    def count(self, value: str, presence: Presence, number: int) -> None:
        """Add this number of pods in a domain; a negative number removes pods."""
        effect = self.effects[presence]
        if effect.now:
            self.now[value] += number
        if effect.later:
            self.later[value] += number
            if not self._for_reserved[presence].later:
                self.passing[value] += number


class SpreadCounts:
    """Pods that a topology spread counts, by domain."""

    def __init__(self, spread: TopologySpread, domains: Sequence[str | None]) -> None:
        """`domains`: that of each node; None: the node does not count."""
        self.spread = spread
        self._domains = domains
        self._counts: dict[str, int] = {domain: 0 for domain in domains if domain is not None}
        self._sizes: Counter[int] = Counter({0: len(self._counts)})
        """Number of domains by number of pods."""
        self._least = 0

    def count(self, node: int, number: int) -> None:
        """Add this number of pods to the domain of a node; a negative number removes pods."""
        domain = self._domains[node]
        if domain is None:
            return
        before = self._counts[domain]
        after = self._counts[domain] = before + number
        self._sizes[before] -= 1
        self._sizes[after] += 1
        if not self._sizes[before]:
            del self._sizes[before]
        if after < self._least:
            self._least = after
        elif before == self._least and before not in self._sizes:
            self._least = after if after == before + 1 else min(self._sizes)

    def domain(self, node: int) -> str | None:
        """Domain of a node; None: it does not count."""
        return self._domains[node]

    def pods(self, domain: str) -> int:
        """Number of pods in a domain."""
        return self._counts.get(domain, 0)

    def skew(self, domain: str) -> int:
        """How many more pods the domain has than the domain with the fewest."""
        has_enough = len(self._counts) >= self.spread.min_domains
        return self.pods(domain) - (self._least if has_enough else 0)


class AffinityClass:
    """Pods with the same namespace, labels and constraints on other pods."""

    def __init__(self, namespace: str, labels: Labels, constraints: Constraints) -> None:
        self.namespace = namespace
        self.labels = labels
        self.label_set = frozenset(labels)
        self.constraints = constraints
        self.tasks: list[int] = []
        self.others: list[tuple[int, int, bool]] = []
        """Node and number of pods that are no tasks, and whether these are terminating."""
        self.memberships: dict[MatchingPods, None] = {}
        """Counts that include the tasks."""
        self.spread_memberships: dict[SpreadCounts, None] = {}
        """Counts for topology spread that include the tasks."""


class Namespace:
    """Classes of a namespace. Terms of others count for pods of their own namespace only."""

    def __init__(self, name: str, use: TermUse) -> None:
        self._name = name
        self._use = use
        self.classes: dict[tuple[Labels, int], AffinityClass] = {}
        """By labels and number of the constraints."""
        self._is_indexed = False
        self._by_label: dict[tuple[str, str], list[AffinityClass]] = {}
        self._by_number: dict[int, list[AffinityClass]] = {}
        self._numbers: dict[PodAffinityTerm, list[int]] = {}
        """Numbers of the constraints that include a mutual term for the namespace."""
        self._terms = TermIndex()

    def with_labels(self, labels: Labels) -> list[AffinityClass]:
        """Classes with all these labels."""
        self._index()
        found: Iterable[AffinityClass] = self.classes.values()
        if labels:
            found = self._by_label.get(min(labels, key=self._count_classes), ())
        return [kind for kind in found if kind.label_set.issuperset(labels)]

    def with_term(self, term: PodAffinityTerm) -> list[AffinityClass]:
        """Classes with this mutual term."""
        self._index()
        return [kind for number in self._numbers[term] for kind in self._by_number[number]]

    def terms_for(self, kind: AffinityClass) -> Iterator[PodAffinityTerm]:
        """Mutual terms that select the class."""
        self._index()
        return self._terms.selecting(kind)

    def _count_classes(self, label: tuple[str, str]) -> int:
        return len(self._by_label.get(label, ()))

    def _index(self) -> None:
        """Index classes and terms, once."""
        if self._is_indexed:
            return
        self._is_indexed = True
        for (_, number), kind in self.classes.items():
            self._by_number.setdefault(number, []).append(kind)
            for label in kind.labels:
                self._by_label.setdefault(label, []).append(kind)
        for number, kinds in self._by_number.items():
            for term in self._use.mutual(kinds[0].constraints):
                if term.has_namespace(self._name, self._name):
                    self._numbers.setdefault(term, []).append(number)
        for term in self._numbers:
            self._terms.add(term, self._count_classes)


class TermIndex:
    """Terms by one of their labels."""

    def __init__(self) -> None:
        self._by_label: dict[tuple[str, str], list[PodAffinityTerm]] = {}
        self._without_labels: list[PodAffinityTerm] = []

    def add(self, term: PodAffinityTerm, frequency: Callable[[tuple[str, str]], int]) -> None:
        """Add a term under its rarest label."""
        if term.match_labels:
            self._by_label.setdefault(min(term.match_labels, key=frequency), []).append(term)
        else:
            self._without_labels.append(term)

    def selecting(self, kind: AffinityClass) -> Iterator[PodAffinityTerm]:
        """Terms with labels or expressions that select the class, in whatever namespace."""
        for term in self._without_labels:
            if term.selects(kind.labels):
                yield term
        for label in kind.labels:
            for term in self._by_label.get(label, ()):
                if term.selects(kind.labels):
                    yield term


class AffinityClasses:
    """All classes of a cluster for one use."""

    def __init__(self, cluster: Cluster, use: TermUse) -> None:
        self._use = use
        self._namespaces: dict[str, Namespace] = {}
        self._numbers: dict[object, int] = {}
        self._of_constraints: dict[int, int] = {}
        """Number of each object with constraints, so that these are hashed once."""
        names = [group.facts.namespace for group in cluster.pod_groups]
        self.of_task: list[AffinityClass] = []
        for task in cluster.tasks:
            kind = self._class(names[task.pod_group], task.facts.labels, task.shape.constraints)
            kind.tasks.append(task.index)
            self.of_task.append(kind)
        shared: dict[Terms, Constraints] = {}
        for node in cluster.nodes:
            for pods in node.other_pods:
                terms = pods.anti_affinity
                constraints = shared.get(terms)
                if constraints is None:
                    constraints = shared[terms] = Constraints(pod_anti_affinity=terms)
                kind = self._class(pods.namespace, pods.labels, constraints)
                kind.others.append((node.index, pods.number, pods.is_terminating))
        self._shared = shared

    def selected(self, terms: Terms, own: str, check: Callable[[], None]) -> list[AffinityClass]:
        """Classes that all these terms of a pod in its own namespace select; calls `check` for each."""
        labels = tuple(sorted({label for term in terms for label in term.match_labels}))
        found: list[AffinityClass] = []
        for name, namespace in self._in_scope(terms[0], own):
            if all(term.has_namespace(name, own) for term in terms):
                for kind in namespace.with_labels(labels):
                    check()
                    if all(not term.expressions or term.selects(kind.labels) for term in terms):
                        found.append(kind)
        return found

    def counted(self, spread: TopologySpread, own: str) -> list[AffinityClass]:
        """Classes of a namespace that a topology spread counts."""
        kinds = self._namespaces[own].with_labels(spread.match_labels)
        return [kind for kind in kinds if spread.selects(kind.labels)]

    def owners_of_terms(self, kind: AffinityClass) -> Iterator[tuple[PodAffinityTerm, list[AffinityClass]]]:
        """Mutual terms that select a class, and the classes of its namespace that have them."""
        namespace = self._namespaces[kind.namespace]
        for term in namespace.terms_for(kind):
            yield term, namespace.with_term(term)

    def _in_scope(self, term: PodAffinityTerm, own: str) -> Iterable[tuple[str, Namespace]]:
        if term.all_namespaces:
            return self._namespaces.items()
        names = term.namespaces or (own,)
        return [(name, self._namespaces[name]) for name in names if name in self._namespaces]

    def _class(self, name: str, labels: Labels, constraints: Constraints) -> AffinityClass:
        """The class of a pod, added if it is new."""
        number = self._of_constraints.get(id(constraints))
        if number is None:
            key = self._use.key(constraints)
            number = self._of_constraints[id(constraints)] = self._numbers.setdefault(key, len(self._numbers))
        namespace = self._namespaces.get(name)
        if namespace is None:
            namespace = self._namespaces[name] = Namespace(name, self._use)
        kind = namespace.classes.get((labels, number))
        if kind is None:
            kind = namespace.classes[labels, number] = AffinityClass(name, labels, constraints)
        return kind
