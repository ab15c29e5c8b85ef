"""Where Tenure has other nodes than kube-scheduler on purpose, each with its reason."""

from copy import deepcopy
from typing import Any, Final

from tests.kubernetes.feasible_nodes.kube_filters import Question

NAMESPACE_LABELS: Final = "labels of namespaces are not observed, apart from their names"
"""A pod affinity that depends on them blocks the pod; an anti-affinity is read as one for all namespaces."""
FOREIGN_TERMS: Final = "an anti-affinity keeps no pods of other namespaces off a node"
"""Otherwise any user of a namespace could keep all pods of others off the nodes of the own ones."""


def as_read(question: Question) -> tuple[Question | None, str]:
    """The question as Tenure reads it, and why it is another one. None: the pod is refused."""
    if any(_by_labels(term) for term in _terms(question.pod, "podAffinity")):
        return None, NAMESPACE_LABELS
    changed = deepcopy(question)
    found, foreign = False, False
    for pod in (changed.pod, *changed.pods):
        for term in filter(_by_labels, _terms(pod, "podAntiAffinity")):
            term["namespaceSelector"] = {}
            found = True
    for pod in changed.pods:
        if pod["metadata"]["namespace"] != question.pod["metadata"]["namespace"]:
            foreign = bool(pod["spec"].get("affinity", {}).pop("podAntiAffinity", None)) or foreign
    if found or foreign:
        return changed, NAMESPACE_LABELS if found else FOREIGN_TERMS
    return question, ""


def _terms(pod: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    affinity = pod["spec"].get("affinity", {}).get(kind, {})
    terms: list[dict[str, Any]] = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", [])
    return terms


def _by_labels(term: dict[str, Any]) -> bool:
    return bool(term.get("namespaceSelector"))
