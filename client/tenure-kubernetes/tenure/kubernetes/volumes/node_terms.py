"""Sets of nodes as node selector terms: which nodes can use a volume.

Terms that differ in the values of one label are united, so that one volume on each of a thousand nodes is one
term with a thousand values.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Final, NamedTuple

from tenure.kubernetes.constraints.affinity import Unrepresentable, requirement
from tenure.kubernetes.objects import names
from tenure.kubernetes.objects.pod import LabelSelector, NodeSelector, SelectorRequirement
from tenure.v1 import snapshot_pb2 as pb

MAX_TERMS: Final = 500
"""Maximum number of combinations of a pod's own terms and those of its volumes."""
_IN: Final = "In"


class NodeRequirement(NamedTuple):
    """A requirement on a label of a node; its name is the label `names.NODE_NAME_FIELD`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


Term = tuple[NodeRequirement, ...]
"""Requirements that must all hold."""
AnyOf = tuple[Term, ...]
"""Terms; one of them must hold."""
ANYWHERE: Final[AnyOf] = ((),)
NOWHERE: Final[AnyOf] = ()


def term_of(expressions: Iterable[SelectorRequirement]) -> Term:
    """The term of expressions, in order."""
    return tuple(NodeRequirement(one.key, one.operator, tuple(sorted(one.values))) for one in expressions)


def terms_of(selector: NodeSelector | None) -> AnyOf:
    """The terms of a node selector; None selects all nodes, an empty term none."""
    if selector is None:
        return ANYWHERE
    terms = (term_of((*one.match_expressions, *one.match_fields)) for one in selector.node_selector_terms)
    return tuple(filter(None, terms))


def term_of_labels(selector: LabelSelector) -> Term:
    """The term of a label selector; empty selects all nodes."""
    labels = (NodeRequirement(key, _IN, (value,)) for key, value in sorted(selector.match_labels.items()))
    return (*labels, *term_of(selector.match_expressions))


def only_node(name: str) -> AnyOf:
    """One node."""
    return ((NodeRequirement(names.NODE_NAME_FIELD, _IN, (name,)),),)


def unite(terms: Iterable[Term]) -> AnyOf:
    """Terms that select the nodes of all given ones, fewer and in a fixed order."""
    found: set[Term] = set()
    values: dict[tuple[str, Term], set[str]] = {}
    for term in terms:
        last = next((one for one in reversed(term) if one.operator == _IN), None)
        if last is None:
            found.add(term)
        else:
            rest = tuple(one for one in term if one is not last)
            values.setdefault((last.key, rest), set()).update(last.values)
    united = {
        (*rest, NodeRequirement(key, _IN, tuple(sorted(wanted)))) for (key, rest), wanted in values.items()
    }
    return ANYWHERE if () in found else tuple(sorted(found | united))


def matches(any_of: AnyOf, node: str, labels: Mapping[str, str]) -> bool:
    """Whether a node is one of them."""
    known = {**labels, names.NODE_NAME_FIELD: node}
    return any(all(_holds(one, known) for one in term) for term in any_of)


def _holds(one: NodeRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(one.key)
    match one.operator:
        case "In":
            return value in one.values
        case "NotIn":
            return value not in one.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(one, value)
    return False


def _compares(one: NodeRequirement, value: str) -> bool:
    try:
        left, right = int(value), int(one.values[0])
    except (ValueError, IndexError):
        return False
    return left > right if one.operator == "Gt" else left < right


def restrict(row: pb.PodShape, sets: Sequence[AnyOf]) -> None:
    """Restrict a shape to nodes that are in all of the sets. Raises Unrepresentable."""
    wanted = sorted({one for one in sets if one != ANYWHERE}, key=len)
    if not wanted:
        return
    if NOWHERE in wanted:
        raise Unrepresentable("its volumes and devices are for no node")
    own = [[*term.requirements] for term in row.node_affinity] or [[]]
    if len(own) * prod(map(len, wanted)) > MAX_TERMS:
        raise Unrepresentable("its node affinity, volumes and devices have too many combinations of terms")
    volumes = {tuple(dict.fromkeys(one for term in terms for one in term)) for terms in product(*wanted)}
    messages = [[_message(one) for one in term] for term in sorted(volumes)]
    row.ClearField("node_affinity")
    row.node_affinity.extend(
        pb.NodeSelectorTerm(requirements=[*term, *of_volumes]) for term in own for of_volumes in messages
    )


def _message(one: NodeRequirement) -> pb.NodeSelectorRequirement:
    return requirement(SelectorRequirement(one.key, one.operator, [*one.values]))
