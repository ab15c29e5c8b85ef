"""Pod affinity terms, topology spread and host ports, as far as a snapshot can represent them.

Terms may select pods of other namespaces by name. Which namespaces have other labels is not observed: an
affinity that depends on it blocks the pod, and an anti-affinity is read as one against all namespaces.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from tenure.kubernetes.constraints.affinity import Unrepresentable, requirement
from tenure.kubernetes.objects.pod import (
    LabelSelector,
    PodAffinityTerm,
    PodSpec,
    SelectorRequirement,
    TopologySpreadConstraint,
)
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_EXPRESSIONS, MAX_SPREADS

ALWAYS: Final = "Always"
"""Restart policy of sidecars."""
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""Label of each namespace with its name, which the API server sets."""
_POSITIVE: Final = "In"


def affinity_terms(terms: Iterable[PodAffinityTerm], namespace: str) -> list[pb.PodAffinityTerm]:
    """Terms of pod affinity that must all hold, for a pod of a namespace. Raises Unrepresentable."""
    rows = []
    for term in terms:
        if term.label_selector is None:
            raise Unrepresentable("its pod affinity has no label selector, which selects no pods")
        names = _namespaces(term, namespace)
        if names is None:
            raise Unrepresentable(f"its pod affinity has a namespaceSelector other than by {_NAME_LABEL}")
        if not names:
            raise Unrepresentable("its pod affinity has a namespaceSelector that selects no namespace")
        rows.append(_term(term, term.label_selector, names, namespace))
    return rows


def anti_affinity_terms(terms: Iterable[PodAffinityTerm], namespace: str) -> list[pb.PodAffinityTerm]:
    """Terms of pod anti-affinity, for a pod of a namespace. Raises Unrepresentable.

    One that depends on labels of namespaces is read as one for all namespaces, which are more.
    One that selects no namespace keeps no pod away.
    """
    return [
        _term(term, term.label_selector, names, namespace)
        for term in terms
        if term.label_selector is not None and (names := _namespaces(term, namespace)) != []
    ]


def topology_spread(
    spec: PodSpec, labels: Mapping[str, str], when_unsatisfiable: str
) -> Iterator[pb.TopologySpread]:
    """Topology spread of a pod with these labels, of one kind. Raises Unrepresentable."""
    if len(spec.topology_spread_constraints) > MAX_SPREADS:
        raise Unrepresentable(f"it has more than {MAX_SPREADS} topology spread constraints")
    for one in spec.topology_spread_constraints:
        if one.when_unsatisfiable == when_unsatisfiable:
            row = pb.TopologySpread(
                topology_key=one.topology_key,
                max_skew=one.max_skew,
                min_domains=one.min_domains or 0,
                counts_unselected_nodes=one.node_affinity_policy == "Ignore",
                omits_tainted_nodes=one.node_taints_policy == "Honor",
            )
            _select(row, _spread_selector(one, labels))
            yield row


def host_ports(spec: PodSpec) -> list[pb.HostPort]:
    """Host ports of containers and sidecars, sorted and each once."""
    sidecars = (one for one in spec.init_containers if one.restart_policy == ALWAYS)
    ports = {
        (port.host_port, port.protocol, port.host_ip)
        for container in (*spec.containers, *sidecars)
        for port in container.ports
        if port.host_port > 0
    }
    return [pb.HostPort(port=port, protocol=protocol, ip=ip) for port, protocol, ip in sorted(ports)]


def selected_keys(rows: Iterable[pb.PodAffinityTerm | pb.TopologySpread]) -> Iterator[str]:
    """Keys of the labels that terms refer to."""
    for row in rows:
        yield from row.match_labels
        for one in row.match_expressions:
            yield one.key


def _spread_selector(one: TopologySpreadConstraint, labels: Mapping[str, str]) -> LabelSelector:
    """The selector with the labels of the pod that `matchLabelKeys` names."""
    selector = one.label_selector or LabelSelector()
    added = [
        SelectorRequirement(key, _POSITIVE, [labels[key]]) for key in one.match_label_keys if key in labels
    ]
    if one.label_selector is None or not added:
        return selector
    return LabelSelector(selector.match_labels, [*selector.match_expressions, *added])


def _term(
    term: PodAffinityTerm, selector: LabelSelector, names: Sequence[str] | None, namespace: str
) -> pb.PodAffinityTerm:
    """The row of a term for pods of these namespaces; None: of all."""
    if not term.topology_key:
        raise Unrepresentable("its pod affinity has no topology key")
    own = names is not None and list(names) == [namespace]
    row = pb.PodAffinityTerm(
        topology_key=term.topology_key,
        namespaces=() if own else names,
        all_namespaces=names is None or "*" in names,
    )
    if row.all_namespaces:
        row.ClearField("namespaces")
    _select(row, selector)
    return row


def _namespaces(term: PodAffinityTerm, namespace: str) -> list[str] | None:
    """Namespaces of a term; "*": all; None: they depend on labels of namespaces.

    Without names and selector it is the own namespace; a selector that selects none leaves the names.
    """
    selector = term.namespace_selector
    if selector is None:
        return sorted(set(term.namespaces)) or [namespace]
    if not selector.match_labels and not selector.match_expressions:
        return ["*"]
    named = _names(selector)
    return None if named is None else sorted({*term.namespaces, *named})


def _names(selector: LabelSelector) -> set[str] | None:
    """Names of namespaces that a selector lists; None: it is not a list."""
    found: set[str] | None = None
    for key, values in (
        *((key, [value]) for key, value in selector.match_labels.items()),
        *((one.key, one.values if one.operator == _POSITIVE else []) for one in selector.match_expressions),
    ):
        if key != _NAME_LABEL or not values:
            return None
        found = set(values) if found is None else found & set(values)
    return found


def _select(row: pb.PodAffinityTerm | pb.TopologySpread, selector: LabelSelector) -> None:
    if len(selector.match_expressions) > MAX_EXPRESSIONS:
        raise Unrepresentable(f"a selector of pods has more than {MAX_EXPRESSIONS} expressions")
    row.match_labels.update(selector.match_labels)
    row.match_expressions.extend(map(requirement, selector.match_expressions))
