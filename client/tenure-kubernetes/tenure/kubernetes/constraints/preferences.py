"""Preferred affinities and topology spread, as far as a snapshot can represent them.

A preference that it cannot represent is left out, with a warning that names its field.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from tenure.kubernetes.constraints.affinity import Unrepresentable, requirement
from tenure.kubernetes.constraints.pod_terms import affinity_terms, topology_spread
from tenure.kubernetes.objects.pod import PodSpec, PreferredSchedulingTerm, WeightedPodAffinityTerm
from tenure.v1 import snapshot_pb2 as pb
from tenure.wire.limits import MAX_PREFERENCES

_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_ANYWAY: Final = "ScheduleAnyway"

Source = TypeVar("Source")
Row = TypeVar("Row")


def add_preferences(
    row: pb.PodShape, spec: PodSpec, namespace: str, labels: Mapping[str, str], warnings: list[str]
) -> None:
    """Add the preferences of a pod with these labels to its shape."""
    affinity = spec.affinity
    row.preferred_node_affinity.extend(
        _read(affinity.node_affinity.preferred, "nodeAffinity", _of_nodes, warnings)
    )
    for rows, terms, kind in (
        (row.preferred_pod_affinity, affinity.pod_affinity.preferred, "podAffinity"),
        (row.preferred_pod_anti_affinity, affinity.pod_anti_affinity.preferred, "podAntiAffinity"),
    ):
        rows.extend(_read(terms, kind, lambda one: _of_pods(one, namespace), warnings))
    try:
        row.preferred_topology_spread.extend(topology_spread(spec, labels, _ANYWAY))
    except Unrepresentable as problem:
        row.ClearField("preferred_topology_spread")
        warnings.append(f"its topologySpreadConstraints with {_ANYWAY} are ignored: {problem}")


def _read(
    terms: Sequence[Source], kind: str, read: Callable[[Source], Iterable[Row]], warnings: list[str]
) -> Iterator[Row]:
    field = f"affinity.{kind}.{_PREFERRED}"
    if len(terms) > MAX_PREFERENCES:
        warnings.append(f"its {field} counts up to [{MAX_PREFERENCES - 1}]; the other terms are ignored")
    for at, term in enumerate(terms[:MAX_PREFERENCES]):
        try:
            yield from read(term)
        except Unrepresentable as problem:
            warnings.append(f"its {field}[{at}] is ignored: {problem}")


def _of_nodes(term: PreferredSchedulingTerm) -> Iterator[pb.PreferredSchedulingTerm]:
    """The row of a term; one without requirements selects no nodes."""
    wanted = (*term.preference.match_expressions, *term.preference.match_fields)
    if wanted:
        preference = pb.NodeSelectorTerm(requirements=[requirement(one) for one in wanted])
        yield pb.PreferredSchedulingTerm(weight=term.weight, preference=preference)


def _of_pods(term: WeightedPodAffinityTerm, namespace: str) -> Iterator[pb.WeightedPodAffinityTerm]:
    """The row of a term; one without a selector selects no pods."""
    if term.pod_affinity_term.label_selector is not None:
        (row,) = affinity_terms([term.pod_affinity_term], namespace)
        yield pb.WeightedPodAffinityTerm(weight=term.weight, term=row)
